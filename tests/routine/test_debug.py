"""fnb.debug: dumps, times and a stop at what is not finite; afterwards everything is as it was."""

import inspect

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.errors import ArgumentError, BackendError, MemoryModeError, NotFiniteError
from forgenb.routine import peaks
from forgenb.routine.debug import DEBUG

X = np.full((4, 8), 2.0, "float32")


def step(x):
    with fnb.scope("first"):
        y = x @ x.T
    with fnb.scope("second"):
        return ops.softmax(ops.log(y - 31.0)), y.sum()


def test_dumps_go_into_the_folder(tmp_path):
    with fnb.debug(folder=tmp_path / "out"):
        fnb.compile(step, "my step")(X)
        fnb.compile(step, "my step")(X)
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names[:4] == ["00_my_step.dot", "00_my_step.planned.txt", "00_my_step.py", "00_my_step.recorded.txt"]
    assert len(names) == 8
    read = {name: (tmp_path / "out" / name).read_text(encoding="utf-8") for name in names}
    assert "v" in read["00_my_step.recorded.txt"]
    assert "softmax" in read["00_my_step.planned.txt"]
    assert read["00_my_step.dot"].startswith("digraph")
    assert "def " in read["00_my_step.py"]


def test_a_long_name_gives_a_file_that_can_be_written(tmp_path):
    name = " then ".join(f"parameter_{n} sgd" for n in range(200))
    with fnb.debug(folder=tmp_path):
        fnb.compile(step, name)(X)
    assert len(list(tmp_path.iterdir())) == 4
    assert max(len(path.name) for path in tmp_path.iterdir()) < 110
    assert name in (tmp_path / f"00_{name[:80].replace(' ', '_')}.planned.txt").read_text(encoding="utf-8")


def test_what_held_before_holds_again():
    assert DEBUG.get() is None
    with fnb.debug(trace=True):
        outer = DEBUG.get()
        with fnb.debug(finite=False):
            assert DEBUG.get() is not outer
        assert DEBUG.get() is outer
    with pytest.raises(KeyError), fnb.debug():
        raise KeyError
    assert DEBUG.get() is None


def test_all_switches_at_once_and_none_afterwards(tmp_path):
    """Files, all values and times; a routine that is made after the block has nothing of it."""
    settings = {"folder": tmp_path, "trace": True, "finite": True, "assembly": True, "keep": True}
    assert settings.keys() == inspect.signature(fnb.debug).parameters.keys()
    watched, plain = (fnb.compile(step, name) for name in ("watched", "plain"))
    with fnb.debug(**settings):
        watched(X)
    plain(X)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"00_watched.{end}" for end in ("recorded.txt", "planned.txt", "dot", "py", "asm")}
    assert watched.routine.memory()["scratch"] == 0 < plain.routine.memory()["scratch"]
    assert len(watched.routine.values()) > len(plain.routine.values()) == 2
    assert watched.routine._watch.runs == 1
    assert plain.routine._watch is None
    plain(X * 0.5)  # not finite


EFFECTS = {
    "folder": lambda run, path: any(path.iterdir()),
    "trace": lambda run, path: run.routine._watch.runs == 1,
    "finite": lambda run, path: _stops(run),
    "assembly": lambda run, path: (path / "00_step.asm").exists(),
    "keep": lambda run, path: run.routine.memory()["scratch"] == 0,
}


def _stops(run):
    try:
        run(X * 0.5)
    except NotFiniteError:
        return True
    return False


@pytest.mark.parametrize("switch", inspect.signature(fnb.debug).parameters)
def test_every_switch_has_an_effect(switch, tmp_path):
    for on in (True, False):
        settings = {"finite": False, switch: on}
        if switch in ("folder", "assembly"):
            settings["folder"] = tmp_path if on or switch == "assembly" else None
        for file in tmp_path.iterdir():
            file.unlink()
        with fnb.debug(**settings):
            run = fnb.compile(step)
            run(X)
            assert EFFECTS[switch](run, tmp_path) is on


def test_the_first_statement_that_is_not_finite_is_named():
    run = fnb.compile(step, "logs")
    run(X)
    with fnb.debug():
        run(X)
        with pytest.raises(NotFiniteError, match=r"'logs', statement \d \(.*in scope 'second'\) wrote 16 of 16"):
            run(X * 0.5)
    run(X * 0.5)
    with fnb.debug(finite=False):
        run(X * 0.5)


def test_a_product_that_overflows_is_found():
    run = fnb.compile(lambda x: x @ x.T, "product")
    with fnb.debug(), pytest.raises(NotFiniteError, match="'product', statement 0 .gemm. wrote 16 of 16 values"):
        run(X * 1e30)


def test_a_strided_write_is_checked_where_it_lands():
    target = fnb.tensor(np.full((4, 16), np.inf, "float32"))

    def write(x):
        target[:, ::2] = x
        return target[:, ::2].sum()

    with fnb.debug():
        assert fnb.compile(write)(X).item() == 64


def test_watched_runs_have_the_same_bits():
    run = fnb.compile(step)
    plain = [t.numpy().copy() for t in run(X)]
    with fnb.debug(trace=True):
        watched = [t.numpy().copy() for t in run(X)]
    for one, other in zip(plain, watched, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.fixture
def peaks_of_ten(monkeypatch):
    """No measurement: 10 GFLOP/s and 10 GB/s on every backend."""
    monkeypatch.setattr(peaks, "_FOUND", {})
    monkeypatch.setattr(peaks, "_product", lambda backend, real: 10.0)
    monkeypatch.setattr(peaks, "_copy", lambda backend, real: 10.0)


def test_a_profile_is_a_table(peaks_of_ten):
    run = fnb.compile(step, "timed")
    run(X)
    with pytest.raises(MemoryModeError, match="'timed' has no traced run.*trace=True"):
        run.routine.profile()
    with fnb.debug(trace=True):
        run(X)
        run(X)
    profile = run.routine.profile()
    assert profile.runs == 2
    lines = {line.name: line for line in profile.lines}
    assert lines["gemm"].flop == 2 * 4 * 4 * 8
    assert lines["gemm"].nbytes == 4 * (32 + 32 + 16)
    assert all(line.seconds > 0 and line.nbytes > 0 and line.flop > 0 for line in profile.lines)
    assert len(profile.statements) == len(run.routine.program)
    assert {line.scope for line in profile.statements} == {"first", "second"}
    text = str(profile)
    assert "routine timed" in text
    assert "mean of 2" in text
    assert "GFLOP/s" in text


def test_assembly_goes_into_the_folder(tmp_path):
    with fnb.debug(folder=tmp_path, assembly=True):
        run = fnb.compile(step, "machine code")
        run(X)
    text = (tmp_path / "00_machine_code.asm").read_text(encoding="utf-8")
    assert "# softmax_kernel-float32" in text
    assert text.count("# softmax_kernel-float32") == 1
    assert "\tret" in text


def test_assembly_of_what_the_store_had():
    run = fnb.compile(lambda x: ops.exp(x) + 1.0)
    run(X)
    for _ in range(2):
        assert "\tret" in run.routine.assembly
    np.testing.assert_allclose(run(X).numpy(), np.exp(X) + 1.0, rtol=1e-6)


def test_assembly_needs_a_folder_and_a_compiler(tmp_path):
    with pytest.raises(ArgumentError, match="assembly=True.*say where, with folder="), fnb.debug(assembly=True):
        pass
    with fnb.use("python"):
        run = fnb.compile(lambda x: x + 1.0)
        run(X)
        with pytest.raises(BackendError, match="'python' has no assembly.*routine.source shows what runs"):
            _ = run.routine.assembly


def test_it_works_on_a_backend_that_steps_statement_by_statement():
    with fnb.use("python"):
        data, i = fnb.tensor(np.stack([X, X * np.nan])), fnb.symbol("i", range=2)
        run = fnb.compile(lambda: (data[i] @ data[i].T).sum(), "stepped")
        assert run(i=0).item() == 16 * 32
        with fnb.debug(trace=True), pytest.raises(NotFiniteError, match="'stepped', statement 0 .gemm. wrote 16 of 16"):
            run(i=1)
