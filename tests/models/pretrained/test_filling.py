"""Stored tensors into arrays, by one thread and by several: values, errors, and who does the work."""

import gc
import threading
import weakref
from contextlib import contextmanager

import numpy as np
import pytest
import safetensors.numpy
from support import hub

import forgenb as fnb
from forgenb.errors import CheckpointError
from forgenb.models import GPT
from forgenb.models.pretrained import filling, loading
from forgenb.models.pretrained.stored import Stored
from forgenb.storage.tensor_file import opened_tensors

COUNTS = {"a": 600_000, "b": 5, "c": 0, "d": 300_000}


@pytest.fixture(autouse=True)
def every_thread_is_worth_its_start(monkeypatch):
    monkeypatch.setattr(filling, "WORTH", 1)


def arrays():
    rng = np.random.default_rng(3)
    return {name: rng.standard_normal(count).astype("float32") for name, count in COUNTS.items()}


@contextmanager
def stored(path, values):
    path.write_bytes(safetensors.numpy.save(values))
    with opened_tensors(path) as file:
        yield {name: Stored(file, name) for name in values}


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_do_not_depend_on_threads(tmp_path, threads, dtype):
    wanted = arrays()
    found = {name: np.full(count, 7, dtype) for name, count in COUNTS.items()}
    with stored(tmp_path / "a", wanted) as tensors:
        filling.fill([(found[name], tensors[name]) for name in COUNTS], threads)
    for name, array in wanted.items():
        assert found[name].tobytes() == array.astype(dtype).tobytes()


@pytest.mark.parametrize("threads", [1, 3])
def test_the_first_value_that_is_not_finite_is_named(tmp_path, threads):
    values = arrays()
    values["a"][[310_000, 590_000]] = np.inf, np.nan
    values["d"][:] = np.nan
    with stored(tmp_path / "a", values) as tensors:
        targets = [(np.empty(count, "float32"), tensors[name]) for name, count in COUNTS.items()]
        with pytest.raises(CheckpointError, match=r"'a' has inf at position \(310000,\) in float32, and only finite"):
            filling.fill(targets, threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_file_that_is_cut_meanwhile(tmp_path, threads):
    with stored(tmp_path / "a", {"x": np.zeros(600_000, "float32")}) as tensors:
        with open(tmp_path / "a", "r+b") as other:
            other.truncate(1_100_000)
        with pytest.raises(CheckpointError, match="it ends within 'x'"):
            filling.fill([(np.empty(600_000, "float32"), tensors["x"])], threads)


def test_the_error_is_that_of_the_first_item_and_no_later_ones_begin():
    """The second fails while the first still works, which fails later."""
    failed, begun = threading.Event(), []

    def work(item):
        begun.append(item)
        if item == 0:
            assert failed.wait(60)
            raise ValueError("first")
        failed.set()
        raise ValueError("second")

    with pytest.raises(ValueError, match="first"):
        filling._each(work, ((i,) for i in range(1000)), 2)
    assert sorted(begun) == [0, 1]


def test_all_threads_work():
    meeting, found = threading.Barrier(3, timeout=60), []

    def work(item):
        meeting.wait()
        found.append(item)

    filling._each(work, ((i,) for i in range(6)), 3)
    assert sorted(found) == list(range(6))


def test_a_system_without_more_threads(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    found = []
    filling._each(found.append, ((i,) for i in range(4)), 3)
    assert found == [0, 1, 2, 3]


def test_an_error_does_not_keep_what_was_filled(tmp_path):
    class Array(np.ndarray):
        pass

    gc.disable()
    try:
        with stored(tmp_path / "a", {"x": np.full(3, np.nan)}) as tensors:
            values = np.empty(3).view(Array)
            gone = weakref.ref(values)
            with pytest.raises(CheckpointError, match="has nan") as caught:
                filling.fill([(values, tensors["x"])], 2)
            del caught, values
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(("worth", "threads"), [(1, 4), (1 << 30, 1), (hub.golden()["wte.weight"].nbytes, None)])
def test_as_many_threads_as_the_backend_has_and_are_worth_it(monkeypatch, worth, threads):
    asked = []
    monkeypatch.setattr(filling, "WORTH", worth)
    monkeypatch.setattr(filling, "_each", lambda work, items, threads: asked.append(threads))
    monkeypatch.setattr(loading, "_check_tied", None)
    before = fnb.settings.threads
    try:
        fnb.settings.threads = 4
        model = GPT.from_pretrained(hub.GOLDEN)
    finally:
        fnb.settings.threads = before
    nbytes = 4 * model.config.parameters
    assert asked == [threads or min(4, 1 + nbytes // worth)]
