# %% [markdown]
# # 22. Saving, resuming, reproducing
#
# A training may take days, and machines stop when they like. So its state is written to a file now and then, a
# **checkpoint**, and a training that was cut off goes on from there. How do we know that nothing was forgotten? There
# is a strict test: a training that was interrupted must end with the same *bits* as one that was not. This chapter
# finds out what must be kept, and looks at the file byte by byte.
#
# ## What a training depends on
#
# Here is a small one, with all that usually takes part: a network with dropout, AdamW, and batches in random order.
# `fnb.nn.Sequential`, `fnb.nn.Linear`, `fnb.nn.Tanh`, `fnb.nn.Dropout` and `fnb.optim.AdamW` are known, and `fnb.seed`
# fixes the weights at the start. `fnb.data.Batches` gives the batch of a step. Mind that it is asked *by number*, and
# that the mask of dropout gets its seed by number too.

# %%
import json
import shutil
import tempfile
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import forgenb as fnb

draws = np.random.default_rng(0)
x = draws.normal(size=(60, 8)).astype("float32")
y = np.sin(x.sum(axis=1, keepdims=True))
batches = fnb.data.Batches((x, y), 12, seed=0)
place = Path(tempfile.mkdtemp())
STOP, END = 40, 80


def fresh():
    fnb.seed(0)
    first, last = fnb.nn.Linear(8, 32), fnb.nn.Linear(32, 1)
    net = fnb.nn.Sequential(first, fnb.nn.Tanh(), fnb.nn.Dropout(0.1), last)
    return net, fnb.optim.AdamW(net.named_parameters(), lr=0.02)


def train(net, optimizer, first, last):
    losses = []
    for number in range(first, last):
        rows, heights = batches(number)
        net[2].seed = number
        optimizer.zero_grad()
        loss = ((net(rows) - heights) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def weights(net):
    return np.concatenate([value.ravel() for value in net.state_dict().values()])


net, optimizer = fresh()
straight = train(net, optimizer, 0, END)
goal = weights(net)
print(f"loss {straight[0]:.3f} at first, {straight[-1]:.3f} at last")
assert np.mean(straight[-5:]) < np.mean(straight[:5])

# %% [markdown]
# Now the one that is interrupted. The parameters must be kept, of course. But chapter 13 has shown that AdamW has a
# memory too, two means for each parameter, and it counts its steps. `state_dict` gives all of it, of the network as of
# the optimiser, as arrays by name. `fnb.save` writes arrays by name to a file, with a text or two as `metadata`, and
# `fnb.load` reads them.

# %%
net, optimizer = fresh()
train(net, optimizer, 0, STOP)
state = {f"model.{name}": v for name, v in net.state_dict().items()}
state |= {f"optimizer.{name}": v for name, v in optimizer.state_dict().items()}
checkpoint = place / "stop.safetensors"
fnb.save(checkpoint, state, metadata={"step": str(STOP)})
print(*(f"{name} {value.shape}" for name, value in state.items()), sep="\n")


def part(prefix):
    found = fnb.load(checkpoint)
    return {name.removeprefix(prefix): found[name] for name in found if prefix in name}


def resumed(moments=True, number=STOP):
    net, optimizer = fresh()
    net.load_state_dict(part("model."))
    if moments:
        optimizer.load_state_dict(part("optimizer."))
    return train(net, optimizer, number, number + END - STOP), weights(net)


whole, end = resumed()
without_moments, other_end = resumed(moments=False)
without_number, third_end = resumed(number=0)
assert np.array_equal(end, goal)
assert whole == straight[STOP:]
assert not np.allclose(other_end, goal, atol=1e-3)
assert not np.allclose(third_end, goal, atol=1e-3)
for losses in (without_moments, without_number):
    assert abs(np.mean(losses[-10:]) - np.mean(whole[-10:])) < 0.1

# %% {"mystnb": {"image": {"alt": "Two losses that part at the step of the interruption; the resumed one is covered"}}}
_, axes = plt.subplots(figsize=(7, 3.5))
axes.plot(straight, color="black", label="straight on")
later = range(STOP, END)
axes.plot(later, without_moments, color="crimson", label="without AdamW's memory")
axes.plot(later, whole, "--", color="gold", label="resumed")
axes.set(xlabel="step", ylabel="loss")
axes.legend()
plt.show()

# %% [markdown]
# With everything kept, all bits are the same. Without the optimiser's memory the bits are others, and so they are if
# the *number* of the step is forgotten: the batches and masks of the first steps come once more. Neither looks like a
# mistake. The loss is about as good, which is why such mistakes live long.
#
# ## Random numbers by number
#
# What of the random numbers? An ordinary generator has a state that moves on with each draw, and that state would have
# to be kept too, one for every generator in the program. forgenb has none. `fnb.random.generator` takes a seed, a name
# that says what the numbers are for, and a step, and all three together decide what comes. The numbers of step 1000 are
# there at once, whoever asks, and in whatever order. Chapter 11 does the same with single numbers.


# %%
def three(*key):
    return fnb.random.generator(*key).integers(0, 1000, 3).tolist()


keys = (7, "rows", 1000), (7, "rows", 1001), (7, "masks", 1000), (8, "rows", 1000)
found = [three(*key) for key in keys]
print(found)
assert len({tuple(numbers) for numbers in found}) == 4
assert [three(*key) for key in keys[::-1]] == found[::-1]

# %% [markdown]
# This is how `fnb.data.Batches` shuffles: the order follows from the seed and the number of the *epoch*, one pass over
# all rows, and nothing has to be kept.
#
# ```{literalinclude} /../forgenb/data/epochs.py
# :pyobject: Batches.__call__
# ```
#
# ```{literalinclude} /../forgenb/data/epochs.py
# :pyobject: Batches._order_of
# ```
#
# ## The file, byte by byte
#
# `fnb.save` writes the format **safetensors**, which many programs read. It has three parts: eight bytes with the
# length of the header, the header in JSON, and the numbers of all tensors, one tensor after the other. Integers have
# their low byte first. A few lines read it. And there is nothing in it that could be *run*, as there is in files of
# Python's `pickle`.

# %%
data = checkpoint.read_bytes()
length = int.from_bytes(data[:8], "little")
header, body = json.loads(data[8 : 8 + length]), data[8 + length :]
print(f"{len(data)} bytes: 8, a header of {length}, and {len(body)} of numbers")
print(data[:64])
print("model.0.weight:", header["model.0.weight"])

entry = header["model.0.weight"]
start, stop = entry["data_offsets"]
by_hand = np.frombuffer(body[start:stop], "<f4").reshape(entry["shape"])
assert header["__metadata__"] == {"step": str(STOP)}
assert by_hand.tobytes() == state["model.0.weight"].tobytes()
starts, stops = zip(*sorted(header[name]["data_offsets"] for name in state))
assert (0, *stops) == (*starts, len(body))
assert (8 + length) % 64 == 0

# %% [markdown]
# The tensors fill the rest of the file without a gap. Spaces at the end of the header let them begin at a multiple of
# 64, where they are read faster.
#
# ## What a bad file gives
#
# A copy may break off, a disk may flip a bit, and some files were made to do harm. A reader must believe nothing. What
# a header tells of must be exactly what is there, before anything is allocated. Cut the file off anywhere:
# `fnb.errors.CheckpointError` says what is wrong, and the network is as it was. `fnb.errors.ForgeError` is the parent
# of all of forgenb's errors.


# %%
def tell(error):
    print(textwrap.fill(str(error).replace(f"{place}/", ""), 88))


net, _ = fresh()
before, bad = weights(net), place / "bad.safetensors"
refused = 0
for size in range(0, len(data), 50):
    bad.write_bytes(data[:size])
    try:
        fnb.load(bad)
    except fnb.errors.CheckpointError as error:
        refused, last = refused + 1, error
tell(last)
assert refused == len(range(0, len(data), 50))

foreign = {**part("model."), "3.bias": np.zeros(2, "float32")}
try:
    net.load_state_dict(foreign)
except fnb.errors.ForgeError as error:
    tell(error)
assert np.array_equal(weights(net), before)

# %% [markdown]
# Note the second message: the names were right, one shape was not, and *nothing* was loaded.
#
# But a bit that flips among the numbers makes another number, and safetensors has no checksum. Nobody notices. The
# archives that `fnb.train.save_params` writes are zip files, which have one, so `fnb.train.load_params` does notice.


# %%
def flipped(source, target, at):
    raw = bytearray(source.read_bytes())
    raw[at] ^= 1
    target.write_bytes(raw)


flipped(checkpoint, bad, 8 + length + header["model.0.weight"]["data_offsets"][0])
quiet = fnb.load(bad)["model.0.weight"].numpy()
assert np.sum(quiet != state["model.0.weight"]) == 1

archive = fnb.train.save_params(net, place / "net.npz")
where = archive.read_bytes().index(net.state_dict()["0.weight"].tobytes())
flipped(archive, place / "bad.npz", where)
try:
    fnb.train.load_params(net, place / "bad.npz")
except fnb.errors.CheckpointError as error:
    noticed = str(error)
    tell(error)
assert "0.weight" in noticed
assert np.array_equal(weights(net), before)

# %% [markdown]
# ## The old one or the new one
#
# A crash may also come *while* a checkpoint is written, and a half-written file over the old one would be the worst of
# all. So the new one is written under another name, flushed to the disk, and then renamed. Renaming is done by the
# system in one piece: at any moment there is the old file or the new one.
#
# ```{literalinclude} /../forgenb/storage/files.py
# :pyobject: replacing
# ```

# %%
from forgenb.storage.files import replacing

try:
    with replacing(checkpoint) as file:
        file.write(b"half of a checkp")
        raise RuntimeError("the power is off")
except RuntimeError as error:
    print(error, "-", sorted(found.name for found in place.iterdir()))
assert checkpoint.read_bytes() == data
assert not list(place.glob(".*"))  # nothing is left of the other one

# %% [markdown]
# ## All of it
#
# `fnb.train.Trainer` puts this together: steps by number, masks by number, a folder with a checkpoint after each epoch,
# here every 5 steps. `fnb.train.TrainStep` is one step, compiled. With `resume=True` a `fnb.train.TrainingFolder` goes
# on from its checkpoint, or begins where there is none. So the same lines do both. A `fnb.train.Callback` is told of
# each step; ours pulls the plug in one of them.


# %%
class PowerCut(fnb.train.Callback):
    def on_batch(self, report):
        if report.step == 38:
            raise RuntimeError("the power is off")


def session(folder=None, callbacks=()):
    net, optimizer = fresh()

    def loss(x, y):
        return ((net(x) - y) ** 2).mean()

    step = fnb.train.TrainStep(net, optimizer, loss=loss)
    kept = {"callbacks": callbacks}
    if folder is not None:
        kept["folder"] = fnb.train.TrainingFolder(folder, resume=True)
    reports = fnb.train.Trainer(step, batches, steps=END, **kept).run()
    return reports[0].step, weights(net)


_, uninterrupted = session()
try:
    session(place / "run", [PowerCut()])
except RuntimeError as error:
    print(error)
first, finished = session(place / "run")
print(f"resumed with step {first}; in the folder:")
print(sorted(found.name for found in (place / "run").iterdir()))
assert first == 36
assert np.array_equal(finished, uninterrupted)
shutil.rmtree(place)

# %% [markdown]
# Steps 36 to 38 were lost, and done again with the same bits. That is also what *reproducing* means: the same script,
# run anew, must give the same numbers. What it takes is all in this course: seeds by number (chapter 11), sums whose
# order depends on nothing accidental (chapters 7, 10 and 16), and the full state. Between machines with different
# processors the last bits of a sum may differ; random numbers are the same everywhere.
#
# ## Exercises
#
# Write the functions, then run the file, or `forgenb course check 22`: a judge tries them on hidden inputs. All three
# need only the standard library and NumPy, and `fnb.random.generator`.
#
# **22-1.** `read_tensor(data, name)`: the tensor of a name as a `float32` array, from the bytes `data` of a safetensors
# file. All tensors in it have the dtype `F32`. Do not use `fnb.load`.
#
# **22-2.** `rows_of(step, n, size, seed)`: which of `n` rows the batch of a step has, steps counted from 0. In the
# epoch number `e` the order of the rows is `fnb.random.generator(seed, "rows", e).permutation(n)`, and batches of
# `size` rows are taken from it one after the other. Rows that do not fill a batch are left out of their epoch.
#
# **22-3.** `is_whole(data)`: whether bytes are a complete safetensors file of `F32` tensors. The header must fit, each
# tensor must have as many bytes as its shape says, and together they must fill the rest without gap or overlap, in
# whatever order the header names them. Return `True` or `False`, and never raise.


# %%
def read_tensor(data, name):
    raise NotImplementedError


def rows_of(step, n, size, seed):
    raise NotImplementedError


def is_whole(data):
    raise NotImplementedError


for number, answer in (("22-1", read_tensor), ("22-2", rows_of), ("22-3", is_whole)):
    print(fnb.course.check(number, answer))

# %% [markdown]
# ## Where to go next
#
# This is the last chapter. [What is kept in files](../persistence.md) has every format, and [the
# trainer](../trainer.md) what else a training can do. The source is the next thing to read: you know its parts.
