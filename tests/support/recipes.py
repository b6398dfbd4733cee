"""Two recipes of training, the same for PyTorch and forgenb: sizes, initial values, and the order of the data.

Imports NumPy and what needs nothing else of forgenb. Parameters have PyTorch's names and layouts.
"""

from dataclasses import dataclass
from math import prod

from forgenb import data, random
from forgenb.bench.data import digits
from forgenb.optim import schedules

FIRST = 10
"""Steps whose losses are compared one by one."""


@dataclass(frozen=True)
class Recipe:
    """Adam for `steps` batches at a rate that falls in a line from `peak`.

    `parameters` has each one's shape, and how far from zero it is drawn.
    """

    peak: float
    batch: int
    steps: int
    parameters: dict[str, tuple[tuple[int, ...], float]]

    def rate(self, step):
        """What Adam steps by, the less the closer to the end."""
        return schedules.linear(step, self.steps, self.peak)

    def initial(self, seed):
        """Every parameter by name, drawn evenly between its bounds."""
        return {
            name: random.generator(seed, name).uniform(-bound, bound, shape).astype("float32")
            for name, (shape, bound) in self.parameters.items()
        }


def affine(name, *shape):
    """A weight ``(out, in, ...)`` and a bias, both drawn from up to one over the root of the inputs."""
    bound = prod(shape[1:]) ** -0.5
    return {f"{name}.weight": (shape, bound), f"{name}.bias": (shape[:1], bound)}


def recurrent(name, n_in, n, layers):
    """The matrices and biases of a stack of LSTM layers."""
    shapes = {}
    for i in range(layers):
        shapes |= {f"{name}.weight_ih_l{i}": (4 * n, n if i else n_in), f"{name}.weight_hh_l{i}": (4 * n, n)}
        shapes |= {f"{name}.bias_ih_l{i}": (4 * n,), f"{name}.bias_hh_l{i}": (4 * n,)}
    return {part: (shape, n**-0.5) for part, shape in shapes.items()}


WINDOW, CHANNELS, UNITS, DIGITS = 5, (16, 32), (120, 84), 10
PIXELS = 4 * CHANNELS[1]

LENET = Recipe(
    peak=3e-3,
    batch=32,
    steps=45 * 16,
    parameters={
        **affine("conv1", CHANNELS[0], 1, WINDOW, WINDOW),
        **affine("conv2", CHANNELS[1], CHANNELS[0], WINDOW, WINDOW),
        **affine("full1", UNITS[0], PIXELS),
        **affine("full2", UNITS[1], UNITS[0]),
        **affine("out", DIGITS, UNITS[1]),
    },
)
"""LeNet-5 for 8x8 images: its windows, with a margin that keeps the size, and its units, with relu in between; after
either convolution the largest of 2x2."""


def lenet_layers(nn):
    """Its layers by name; `nn` is PyTorch's or forgenb's, whose arguments are the same."""
    return {
        "conv1": nn.Conv2d(1, CHANNELS[0], WINDOW, padding=WINDOW // 2),
        "conv2": nn.Conv2d(*CHANNELS, WINDOW, padding=WINDOW // 2),
        "full1": nn.Linear(PIXELS, UNITS[0]),
        "full2": nn.Linear(*UNITS),
        "out": nn.Linear(UNITS[1], DIGITS),
    }


ALPHABET = data.CharTokenizer("\n" + "".join(map(chr, range(32, 127))))
CONTEXT, WIDTH, LAYERS = 32, 96, 2

LSTM = Recipe(
    peak=1e-2,
    batch=32,
    steps=250,
    parameters={
        "table.weight": ((len(ALPHABET), WIDTH), 1.0),
        **recurrent("lstm", WIDTH, WIDTH, LAYERS),
        **affine("out", len(ALPHABET), WIDTH),
    },
)
"""The next character by a table, a stack of LSTM layers that begins each window at zero, and an affine layer."""


def images():
    """Images ``(n, 1, 8, 8)`` and their digits: 1440 to train on, and then the 357 that are held out."""
    x, y = digits()
    order = random.generator(0, "digits").permutation(len(x))
    x, y = x.reshape(-1, 1, 8, 8)[order], y[order]
    return (x[:1440], y[:1440]), (x[1440:], y[1440:])


def image_batches(seed):
    """The batches of all steps, each image once an epoch."""
    x, y = images()[0]
    epochs = LENET.steps * LENET.batch // len(x)
    for epoch in range(epochs):
        for rows in random.generator(seed, "order", epoch).permutation(len(x)).reshape(-1, LENET.batch):
            yield x[rows], y[rows]


def characters():
    """Ids of the default text, to train on and the last tenth; the few characters outside ASCII are left out."""
    return data.split(ALPHABET.encode_lossy(data.default_text()))


def text_batches(seed):
    """The batches of all steps: windows drawn anew for each."""
    ids = characters()[0]
    for step in range(LSTM.steps):
        yield data.batch(ids, CONTEXT, LSTM.batch, seed, step)


def held_out_text():
    """Whole batches of windows ``(m, b, t)`` that cover the last tenth, and their targets."""
    inputs, targets = data.windows(characters()[1], CONTEXT)
    whole = len(inputs) // LSTM.batch * LSTM.batch
    return tuple(part[:whole].reshape(-1, LSTM.batch, CONTEXT) for part in (inputs, targets))
