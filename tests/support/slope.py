"""A model of one slope whose training can be worked out by hand, and short runs of it."""

import numpy as np

import forgenb as fnb
from forgenb import nn, train


class Line(nn.Module):
    """A slope that can be worked out by hand; predictions in training are other ones, so that the mode shows."""

    def __init__(self, start=0.5, dtype="float64"):
        self.slope = fnb.Parameter(fnb.tensor(np.array(start, dtype), name="slope"))
        self.inner = nn.Dropout(0.5)

    def forward(self, x):
        return self.slope * x + (1.0 if self.training else 0.0)


def product(prediction, wanted):
    """A loss whose gradient by the slope is known without the slope."""
    return prediction * wanted


X, Y = np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4)
"""In batches of 2 the slope has the gradients 1.5 and 3.5 by `product`; losses are 1 more than these by the slope."""


def run(model=None, loss_fn=product, inputs=X, outputs=Y, **how):
    settings = {"epochs": 1, "batch_size": 2, "init_lr": 0.5, "max_streams": 1} | how
    return train.train_loop(model or Line(), loss_fn, inputs, outputs, **settings)
