"""One CUDA backend without a GPU for the tests of this folder; every launch is watched for races."""

import pytest
from support.cuda import installed, lane_backend


@pytest.fixture(scope="session")
def machine():
    backend = lane_backend()
    backend.machine.watching = True
    return backend


@pytest.fixture
def cuda(machine):
    with installed(machine) as backend:
        yield backend
