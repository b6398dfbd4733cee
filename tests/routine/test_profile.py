"""The profile of a routine: lines, sums, tables, the picture; and the peaks that it is held against."""

import numpy as np
import pytest

import forgenb as fnb
from forgenb import ops
from forgenb.backend import get_backend
from forgenb.errors import ArgumentError
from forgenb.routine import figures, peaks
from forgenb.routine.peaks import Peaks, measure_peaks
from forgenb.routine.profile import Line, Profile

LINES = [
    Line("gemm", "block 0", 1, 3e-3, 1_000_000, 30_000_000),
    Line("gelu_kernel", "block 0", 1, 1e-3, 2_000_000, 1_000_000),
    Line("gemm", "block 1", 1, 1e-3, 1_000_000, 10_000_000),
]
FOUND = Profile("step", 4, LINES, Peaks(20.0, 4.0), {"planning": 0.0125})


def test_sums_by_name_and_scope():
    assert [(line.name, line.statements) for line in FOUND.lines] == [("gemm", 2), ("gelu_kernel", 1)]
    assert FOUND.lines[0].seconds == pytest.approx(4e-3)
    assert FOUND.lines[0].gflops == pytest.approx(10.0)
    assert FOUND.lines[1].gb_s == pytest.approx(2.0)
    assert [(line.name, line.flop) for line in FOUND.scopes] == [("block 0", 31_000_000), ("block 1", 10_000_000)]
    assert Line("nothing").gflops == Line("nothing").gb_s == 0


def test_a_table_holds_each_line_against_the_peaks():
    first, made, head, gemm, gelu = str(FOUND).splitlines()
    assert first == "routine step: 5000.0 us a run, mean of 4; peaks: copy 4.0 GB/s, product 20.0 GFLOP/s"
    assert made == "made in: planning 12.5 ms"
    assert head.split() == ["count", "us", "share", "MB", "GB/s", "copy", "MFLOP", "GFLOP/s", "product"]
    assert gemm.split() == ["gemm", "2", "4000.0", "80.0%", "2.000", "0.50", "12%", "40.000", "10.00", "50%"]
    assert gelu.split()[6] == "50%"


def test_tables_by_scope_and_by_statement():
    assert FOUND.table("scope").splitlines()[3].startswith("block 0")
    assert [line.split()[:2] for line in FOUND.table("statement").splitlines()[3:]] == [
        ["0", "gemm"],
        ["1", "gelu_kernel"],
        ["2", "gemm"],
    ]
    with pytest.raises(ArgumentError, match="a profile has tables by name, scope, statement, got 'time'"):
        FOUND.table("time")


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_a_picture(tmp_path, ending):
    pytest.importorskip("matplotlib", reason="pictures are drawn by matplotlib")
    one, other = tmp_path / f"one.{ending}", tmp_path / f"other.{ending}"
    FOUND.plot(one)
    FOUND.plot(str(other))
    assert one.read_bytes() == other.read_bytes()
    if ending == "svg":
        text = one.read_text()
        assert "gemm 80%" in text
        assert "copy 4.0 GB/s, product 20 GFLOP/s" in text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.jpeg", r"a picture is written as .svg, .png, .pdf, got '.*out.jpeg'"),
        ("no/such/out.svg", "is not a file in a folder that is there"),
    ],
)
def test_no_picture_there(tmp_path, name, message):
    with pytest.raises(ArgumentError, match=message):
        FOUND.plot(tmp_path / name)


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    with pytest.raises(ArgumentError, match="a picture needs matplotlib.*pip install matplotlib"):
        figures.check_figure_file(tmp_path / "out.svg")


@pytest.fixture
def hasty(monkeypatch):
    """Peaks of the smallest sizes, with no time for more, and forgotten afterwards."""
    monkeypatch.setattr(peaks, "SECONDS", 0.001)
    monkeypatch.setattr(peaks, "_FOUND", {})
    monkeypatch.setattr(peaks, "COPIES", peaks.COPIES[:1])
    monkeypatch.setattr(peaks, "SHAPES", peaks.SHAPES[:1])


@pytest.mark.parametrize("backend", ["cpu", "python"])
def test_peaks_are_measured_once(hasty, backend, monkeypatch):
    target = get_backend(backend)
    first = measure_peaks(target)
    assert 0 < first.gflops < 1e5
    assert 0 < first.copy_gb_s < 1e5
    assert measure_peaks(target) is first
    assert measure_peaks(target, "float64") is not first


def test_a_size_that_takes_long_is_the_last(monkeypatch):
    monkeypatch.setattr(peaks, "SECONDS", -1.0)
    done = []
    monkeypatch.setattr(peaks, "matmul", lambda a, b: done.append(a.shape))
    assert peaks._product("cpu", "float32") > 0
    assert done == [(16, 16)] * 2
    assert peaks._copy("cpu", "float32") > 0


def test_peaks_may_be_asked_for_while_a_step_is_recorded(hasty):
    with fnb.capture() as c:
        measure_peaks(get_backend("cpu"))
        y = fnb.tensor([1.0]) + 1.0
    assert y.shape == (1,)
    assert len(c.program) == 1


def test_a_routine_says_what_it_has_to_do_and_what_it_took_to_make(hasty):
    x = np.ones((4, 8), "float32")
    run = fnb.compile(lambda x: ops.exp(x @ x.T), "small")
    run(x)
    work = run.routine.work()
    assert work["bytes"] == 4 * (32 + 32 + 16) + 4 * (16 + 16)
    assert work["flop"] >= 2 * 4 * 4 * 8 + 16
    assert list(run.routine.seconds) == ["recording", "planning", "compiling", "linking"]
    assert min(run.routine.seconds.values()) >= 0
    assert run.routine.seconds["recording"] > 0
    with fnb.debug(trace=True):
        run(x)
    profile = run.routine.profile()
    assert profile.made == run.routine.seconds
    assert [line.name for line in profile.statements] == ["gemm", "exp_kernel"]
    assert sum(line.nbytes for line in profile.statements) == work["bytes"]


def test_seconds_of_joined_recordings_add_up():
    w = fnb.Parameter(fnb.tensor([2.0], name="w"))
    with fnb.capture() as c:
        loss = (w * w).sum()
    update = fnb.train.grad_update(loss)
    step = fnb.train.sgd_update(loss, 0.1)
    for program, seconds in ((c.program, 1.0), (update, 2.0), (step, 4.0)):
        program.recorder.spells[-1].seconds = seconds
    routine = fnb.train.to_routine(fnb.train.sequence([update, step]))
    assert routine.seconds["recording"] == 7.0


def test_compiling_is_told_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("FORGENB_CACHE", str(tmp_path / "cache"))
    backend = get_backend("cpu")
    made = type("Made", (), {"seconds": 0.25, "cached": False})
    found = [made]
    monkeypatch.setattr(backend, "compiled", lambda: list(found))
    inner = backend.replay
    monkeypatch.setattr(
        backend, "replay", lambda rows, stages: found.extend([made, made]) or inner(rows, stages), raising=False
    )
    run = fnb.compile(lambda x: x + 1.0)
    run(np.ones(2, "float32"))
    assert run.routine.seconds["compiling"] == 0.5


def test_a_fused_kernel_does_what_its_parts_do():
    def formula(x, y):
        for _ in range(4):
            x = (x + y) * y - x
        return x

    run = fnb.compile(formula)
    run(np.ones(8, "float32"), np.ones(8, "float32"))
    assert len(run.routine.program) == 1
    assert run.routine.work() == {"bytes": 3 * 8 * 4, "flop": 12 * 8}
