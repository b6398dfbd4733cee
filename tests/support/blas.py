"""The ways to compute a product on the CPU, for tests that go through each."""

import pytest
from forgenb_cpu.mkl import mkl_path

MKL = pytest.param("mkl", marks=pytest.mark.skipif(mkl_path() is None, reason="mkl is not installed"))
LIBRARIES = ("scipy", MKL)
WAYS = ("tile", *LIBRARIES)
