"""The list of all kernels."""

import pytest

from forgenb import optim
from forgenb.errors import ArgumentError
from forgenb.kernel import map_kernel
from forgenb.testing.declared import all_kernels


def test_kernels_of_every_package_are_found():
    found = all_kernels()
    assert {"add_kernel", "layernorm_kernel", "clip_norm_kernel"} <= set(found)
    assert all(name == kernel.name for name, kernel in found.items())


def test_two_of_one_name_are_refused(monkeypatch):
    @map_kernel("x -> out")
    def add_kernel(x):
        """Another kernel of this name."""
        return x

    monkeypatch.setattr(optim.clip, "another", add_kernel, raising=False)
    with pytest.raises(ArgumentError, match="two kernels are called 'add_kernel': rename the one in forgenb"):
        all_kernels()
