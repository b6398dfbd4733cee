"""Streams: tasks in order, waiting for one another, errors that reach whoever asks, and the bits of a step."""

import multiprocessing
import os
import sys
import threading

import numpy as np
import pytest

import forgenb as fnb
from forgenb.backend import Stream, get_backend
from forgenb.errors import ArgumentError, BackendError


@pytest.fixture
def two():
    with Stream() as first, Stream() as second:
        yield first, second


def test_tasks_of_a_stream_run_in_order_on_a_thread_of_their_own(two):
    stream, _ = two
    seen = []
    tasks = [stream.submit(lambda n=n: seen.append((n, threading.get_ident())) or n) for n in range(20)]
    assert [task.result() for task in tasks] == list(range(20))
    assert [n for n, _ in seen] == list(range(20))
    assert {ident for _, ident in seen} - {threading.get_ident()} == {seen[0][1]}


def test_a_task_waits_for_those_of_other_streams(two):
    first, second = two
    go, seen = threading.Event(), []
    early = first.submit(lambda: go.wait(10) and seen.append("early"))
    late = second.submit(lambda: seen.append("late"), after=[early])
    go.set()
    late.result()
    assert seen == ["early", "late"]


def test_an_error_reaches_who_waits_and_what_depends_on_it_does_not_run(two):
    first, second = two

    def fails():
        raise ValueError("no such batch")

    seen = []
    bad = first.submit(fails)
    blocked = second.submit(lambda: seen.append("ran"), after=[bad])
    first.synchronize()
    for task in (bad, blocked):
        with pytest.raises(ValueError, match="no such batch"):
            task.result()
    assert seen == []
    assert first.submit(lambda: 7).result() == 7


def test_synchronize_waits_for_all_that_is_queued(two):
    stream, _ = two
    go, seen = threading.Event(), []
    stream.submit(go.wait, 10)
    stream.submit(seen.append, 1)
    go.set()
    stream.synchronize()
    assert seen == [1]


def test_a_task_sees_the_context_of_who_submitted_it(two):
    stream, _ = two
    with fnb.use("python"), fnb.no_grad():
        task = stream.submit(lambda: (fnb.tensor([1.0]).backend.name, fnb.tensor([1.0], requires_grad=True) * 2))
    name, product = task.result()
    assert (name, product.requires_grad) == ("python", False)


def test_launches_of_a_stream_stay_on_its_thread_and_have_the_same_bits(two):
    """Were they to take the pool, this would fail: it is taken here for good."""
    cpu, x = get_backend("cpu"), fnb.tensor(np.linspace(-3, 3, 300_000, dtype="float32"))
    before, cpu.threads = cpu.threads, 2
    try:
        wanted = fnb.ops.exp(x).numpy()
        pool, asked = cpu._ready_pool(), []
        whole = pool._with_workers
        pool._with_workers = lambda *a: asked.append(threading.get_ident()) or whole(*a)
        found = two[0].submit(fnb.ops.exp, x).result().numpy()
        assert asked == []
        fnb.ops.exp(x)
        assert asked == [threading.get_ident()]
    finally:
        cpu.threads = before
    np.testing.assert_array_equal(found, wanted)


def test_a_closed_stream_and_what_cannot_be_called_are_refused(two):
    stream, _ = two
    with pytest.raises(ArgumentError, match="runs functions, and got int"):
        stream.submit(3)
    done = stream.submit(lambda: 1)
    stream.close()
    stream.close()
    assert done.result() == 1
    with pytest.raises(BackendError, match="stream is closed"):
        stream.submit(lambda: 1)


def _in_child(stream, queue):
    stream.synchronize()
    queue.put(stream.submit(os.getpid).result(10))
    stream.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")  # Python 3.12 warns of any fork
def test_a_forked_child_has_a_thread_of_its_own(two):
    stream, _ = two
    stream.submit(lambda: 1).result()
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_in_child, args=(stream, queue))
    child.start()
    assert queue.get(timeout=20) == child.pid
    child.join()


@pytest.fixture
def hurried():
    """Threads that take turns after a microsecond."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_streams_make_and_drop_tensors_at_once(each_backend, hurried):
    def work(number):
        for _ in range(20):
            t = fnb.tensor(np.full(7, number, "float32"))
            for _ in range(3):
                t = t + 1.0
            np.testing.assert_array_equal(t.numpy(), np.full(7, number + 3))

    streams = [Stream() for _ in range(4)]
    tasks = [stream.submit(work, number) for number, stream in enumerate(streams)]
    assert [task.exception() for task in tasks] == [None] * 4
    [stream.close() for stream in streams]


@pytest.mark.parametrize("after", [None, 1, [None], [3.5], "ab"])
def test_a_task_waits_for_nothing_but_tasks(after):
    with Stream() as stream, pytest.raises(ArgumentError, match="waits for what submit of other streams returned"):
        stream.submit(print, after=after)


def test_a_task_that_would_wait_for_itself_is_refused():
    with Stream() as stream:
        for waiting in (stream.synchronize, stream.close):
            with pytest.raises(BackendError, match="by a task of the stream that it waits for would never end"):
                stream.submit(waiting).result()
        assert stream.submit(int, "3").result() == 3


def test_a_cancelled_task_has_ended():
    gate = threading.Event()
    with Stream() as stream:
        stream.submit(gate.wait)
        assert stream.submit(print).cancel()
        gate.set()
        stream.synchronize()


def test_a_backend_is_named():
    with pytest.raises(BackendError, match="chosen by its name, a text such as 'cpu', and got 3"):
        Stream(3)
