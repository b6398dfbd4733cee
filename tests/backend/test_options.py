"""``fnb.settings`` reads and sets what the backend in use holds."""

import pytest

import forgenb as fnb
from forgenb.backend import get_backend
from forgenb.errors import ArgumentError


def test_threads_are_those_of_the_backend():
    before = fnb.settings.threads
    try:
        fnb.settings.threads = before + 1
        assert get_backend("cpu").threads == fnb.settings.threads == before + 1
        assert repr(fnb.settings) == f"<settings of backend cpu: threads={before + 1}>"
        assert repr(fnb.tensor(1.0).backend) == f"<backend cpu, threads={before + 1}>"
    finally:
        fnb.settings.threads = before


def test_results_do_not_depend_on_threads():
    x = fnb.tensor([[float(i % 7)] * 64 for i in range(1024)])
    before = fnb.settings.threads
    sums = []
    try:
        for threads in (1, 2, 3):
            fnb.settings.threads = threads
            sums.append((x.exp() @ x.T).sum().item())
    finally:
        fnb.settings.threads = before
    assert len(set(sums)) == 1


def test_a_wrong_number_and_an_unknown_name_are_refused():
    with pytest.raises(ArgumentError, match="threads must be a whole number from 1 to 1024, got 0"):
        fnb.settings.threads = 0
    with pytest.raises(AttributeError, match="thread"):
        fnb.settings.thread = 2
