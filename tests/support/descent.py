"""Settings of gradient descent that are checked against PyTorch and closed forms. Imports nothing."""

RATE = 0.1
SETTINGS = {
    "plain": {},
    "decay": {"weight_decay": 0.1},
    "momentum": {"momentum": 0.9},
    "nesterov": {"momentum": 0.9, "nesterov": True},
    "decay and momentum": {"momentum": 0.9, "weight_decay": 0.1},
    "decay and nesterov": {"momentum": 0.9, "weight_decay": 0.1, "nesterov": True},
}
