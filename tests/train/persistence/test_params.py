"""Parameters in npz files."""

import os

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError, CheckpointError, TapeError
from forgenb.train import LoadedParams, load_params, save_params


def named(name, values, dtype="float32"):
    return fnb.Parameter(fnb.tensor(np.asarray(values, dtype), name=name))


def line():
    """A small loss of two parameters, and both."""
    w, b = named("w", [[1.0, 2.0], [3.0, 4.0]]), named("b", [0.5, -0.5])
    loss = ((fnb.tensor([[1.0, 1.0]]) @ w + b) ** 2).sum()
    loss.name = "line loss"
    return loss, w, b


def test_round_trip_of_a_tensor(each_backend, tmp_path):
    loss, w, b = line()
    path = save_params(loss, tmp_path / "a.npz")
    assert path == tmp_path / "a.npz"
    wanted = w.tolist(), b.tolist()
    with fnb.no_grad():
        w.assign_(0.0)
        b.assign_(9.0)
    versions = w.memory.version, b.memory.version
    assert load_params(loss, path) == LoadedParams(path, ("w", "b"), (), ())
    assert (w.tolist(), b.tolist()) == wanted
    assert all(t.memory.version > before for t, before in zip((w, b), versions))
    assert w.backend.name == each_backend


def test_round_trip_of_a_module_in_every_dtype(tmp_path):
    model = fnb.nn.Module()
    for dtype in ("float16", "float32", "float64"):
        setattr(model, dtype, named(None, np.arange(6).reshape(2, 3) / 7, dtype))
    model.inner = fnb.nn.Sequential(fnb.nn.Linear(2, 3), fnb.nn.Linear(3, 1))
    model.scalar, model.none = named(None, 0.1), named(None, np.zeros((0, 3)))
    model.inner.freeze()
    wanted = model.state_dict()
    path = save_params(model, str(tmp_path / "m"))
    assert os.listdir(tmp_path) == ["m"]
    for parameter in model.parameters():
        parameter.requires_grad = False
        parameter.assign_(1.0)
    assert load_params(model, path).names == tuple(wanted)
    assert all(np.array_equal(array, wanted[name]) for name, array in model.state_dict().items())


def test_numpy_reads_what_is_saved_and_the_other_way_round(tmp_path):
    loss, w, b = line()
    with np.load(save_params(loss, tmp_path / "a.npz"), allow_pickle=False) as file:
        assert {name: file[name].tolist() for name in file.files} == {"w": w.tolist(), "b": b.tolist()}
    new = {"b": np.float32([7, 8]), "w": np.asfortranarray(np.float32([[1, 2], [3, 5]]))}
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "b.npz", **new)
        load_params(loss, tmp_path / "b.npz")
        assert (w.tolist(), b.tolist()) == (new["w"].tolist(), new["b"].tolist())
        load_params(loss, tmp_path / "a.npz")


def test_equal_parameters_give_equal_files(tmp_path):
    first, second = (save_params(line()[0], tmp_path / name) for name in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_the_name_of_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loss, w, _ = line()
    assert str(save_params(loss)) == "line_loss.npz"
    assert load_params(loss).path == save_params(loss)
    w.name = "../mlp-1: λ!"
    with pytest.raises(ArgumentError, match="save_params cannot store the parameter '../mlp-1: λ!': it has a name"):
        save_params(w)
    w.name = "mlp-1: λ!"
    assert str(save_params(w)) == "mlp_1_λ.npz"
    module = fnb.nn.Linear(2, 2)
    module.name = "head"
    assert str(save_params(module)) == "head.npz"
    assert sorted(os.listdir()) == ["head.npz", "line_loss.npz", "mlp_1_λ.npz"]
    for name in (None, "", "+"):
        loss.name = name
        w.name = "w"
        with pytest.raises(ArgumentError, match="save_params has no name for the file: give a path, or name the root"):
            save_params(loss)
    with pytest.raises(ArgumentError, match="load_params has no name for the file"):
        load_params(fnb.nn.Linear(2, 2))


@pytest.mark.parametrize("call", [save_params, load_params])
def test_names_that_cannot_be_keys(call, tmp_path):
    loss, _, b = line()
    old = save_params(loss, tmp_path / "a.npz").read_bytes()
    for name, message in [
        (None, r"needs a name of every parameter, and one of shape \(2,\) has none"),
        ("", "needs a name of every parameter"),
        ("w", "found two parameters named 'w'"),
        ("/etc/b", "cannot store the parameter '/etc/b': it has a name that is a path"),
        ("b\0", r"cannot store the parameter 'b\\x00': it has a name that is empty, .* or not printable"),
    ]:
        b.name = name
        with pytest.raises(ArgumentError, match=message):
            call(loss, tmp_path / "a.npz")
    assert (tmp_path / "a.npz").read_bytes() == old
    assert os.listdir(tmp_path) == ["a.npz"]


@pytest.mark.parametrize("call", [save_params, load_params])
def test_what_is_no_model_and_no_path(call, tmp_path):
    with pytest.raises(ArgumentError, match="needs a tensor or a module, got list"):
        call([], tmp_path / "a")
    for empty in (fnb.tensor([1.0]), fnb.nn.Module()):
        with pytest.raises(ArgumentError, match="found no parameter, so there is nothing to store"):
            call(empty, tmp_path / "a")
    loss, _, _ = line()
    for path in (3, b"a", "", ".", "a\0b", True):
        with pytest.raises(ArgumentError, match="needs path to be the name of a file, got"):
            call(loss, path)
    loss.backward()
    with pytest.raises(TapeError, match="consumed by backward"):
        call(loss, tmp_path / "a")
    assert os.listdir(tmp_path) == []


def test_strict_is_a_bool(tmp_path):
    with pytest.raises(ArgumentError, match="load_params needs strict to be True or False, got 'no'"):
        load_params(line()[0], save_params(line()[0], tmp_path / "a"), strict="no")


def test_all_differences_are_told_and_nothing_is_loaded(tmp_path):
    loss, w, b = line()
    np.savez(tmp_path / "a.npz", w=np.zeros((2, 3), "float32"), b=np.zeros(2), c=np.zeros(1), d=np.zeros(1))
    with pytest.raises(CheckpointError) as caught:
        load_params(loss, tmp_path / "a.npz")
    for part in (
        "a.npz' does not fit the model: ",
        "w has shape (2, 3), needed is (2, 2)",
        "b has dtype float64, needed is float32",
        "c is unknown here",
        "d is unknown here",
        "Nothing was loaded; give the file of a model of the same sizes and dtypes.",
    ):
        assert part in str(caught.value)
    assert "strict" not in str(caught.value)
    np.savez(tmp_path / "a.npz", w=w.numpy() + 1)
    with pytest.raises(CheckpointError, match="b is missing. Nothing was loaded; with strict=False names that"):
        load_params(loss, tmp_path / "a.npz")
    assert (w.tolist(), b.tolist()) == ([[1, 2], [3, 4]], [0.5, -0.5])


def test_what_both_have(tmp_path):
    loss, w, b = line()
    path = tmp_path / "a.npz"
    np.savez(path, w=w.numpy() + 1, c=np.array([None]))
    assert load_params(loss, path, strict=False) == LoadedParams(path, ("w",), ("b",), ("c",))
    assert (w.tolist(), b.tolist()) == ([[2, 3], [4, 5]], [0.5, -0.5])
    np.savez(path, w=w.numpy()[0], c=np.zeros(1))
    with pytest.raises(CheckpointError, match=r"w has shape \(2,\), needed is \(2, 2\)\. Nothing was loaded"):
        load_params(loss, path, strict=False)
    np.savez(path, c=np.zeros(1))
    assert load_params(loss, path, strict=False) == LoadedParams(path, (), ("w", "b"), ("c",))


def test_a_graph_that_saved_the_old_values_is_not_swept(tmp_path):
    loss, _, _ = line()
    load_params(loss, save_params(loss, tmp_path / "a"))
    with pytest.raises(TapeError, match="changed in place"):
        loss.backward()


def test_a_routine_uses_what_is_loaded(tmp_path):
    w = named("w", [1.0, 2.0])
    run = fnb.compile(lambda: (w * w).sum())
    np.savez(tmp_path / "a.npz", w=np.float32([3, 4]))
    assert run().item() == 5
    load_params(w, tmp_path / "a.npz")
    assert run().item() == 25


def test_neither_is_part_of_a_step(tmp_path):
    w = named("w", [1.0, 2.0])
    path = save_params(w, tmp_path / "a")
    for call in (save_params, load_params):
        with pytest.raises(ArgumentError, match=f"{call.__name__} was called while a step is recorded"):
            fnb.compile(lambda call=call: (call(w, path), (w * w).sum())[1])()


def test_values_that_could_not_be_loaded_are_not_saved(tmp_path):
    loss, w, _ = line()
    old = save_params(loss, tmp_path / "a").read_bytes()
    with fnb.no_grad():
        w.assign_(fnb.tensor([[1.0, 2.0], [3.0, np.inf]]))
    with pytest.raises(CheckpointError, match=r"a' was not written: 'w' has inf at position \(1, 1\)"):
        save_params(loss, tmp_path / "a")
    assert (tmp_path / "a").read_bytes() == old
    assert os.listdir(tmp_path) == ["a"]


def test_a_place_that_cannot_be_written(tmp_path):
    for path in (tmp_path, tmp_path / "none" / "a.npz"):
        with pytest.raises(CheckpointError, match="cannot be written: (it is no regular file|No such file)"):
            save_params(line()[0], path)
    assert os.listdir(tmp_path) == []


def test_buffers_are_no_parameters(tmp_path):
    norm = fnb.nn.BatchNorm(3)
    with np.load(save_params(norm, tmp_path / "a.npz")) as file:
        assert file.files == [name for name, _ in norm.named_parameters()]
