"""Rows as text."""

from forgenb.bench import COLUMNS, Row, cells, fastest_peer, machine_line, markdown

LIMITS = {"cpu": "Fast 9", "threads": 1, "cores": 2, "sgemm_gflops": 100.0, "copy_gb_s": 9.96, "versions": {"it": "2"}}


def row(contender, ms, workload="mlp_wide", **fields):
    times = {"median_ms": ms, "min_ms": ms / 2, "max_ms": ms * 2, "loss_first": 2.0, "loss_last": 1.0}
    return Row(workload, contender, 1, **{**times, "peak_mb": 1234.4, **fields})


def test_the_fastest_peer_is_not_forgenb():
    rows = [row("forgenb-routine", 1.0), row("torch-eager", 4.0), row("jax-jit", 2.0), Row("moons", "tinygrad", 1)]
    assert fastest_peer(rows) is rows[2]
    assert fastest_peer(rows[:1]) is None


def test_cells():
    found = dict(zip(COLUMNS, cells(row("forgenb-eager", 20.0), row("jax-jit", 80.0), LIMITS), strict=True))
    assert found == {
        "contender": "forgenb-eager",
        "ms": "20",
        "min to max": "10 to 40",
        "ratio": "0.25",
        "loss": "2.000 to 1.000",
        "peak MB": "1,234",
        "sgemm": "95%",
    }


def test_cells_of_what_is_not_known():
    bare = row("forgenb-eager", 1234.0, "cold-import", loss_first=None, loss_last=None, peak_mb=None)
    assert cells(bare, None, {}) == ("forgenb-eager", "1,234", "617 to 2,468", "-", "-", "-", "-")


def test_machine_line():
    assert machine_line(LIMITS) == "Fast 9, 1 of 2 cores; sgemm 100 GFLOP/s, copy 10.0 GB/s"
    assert machine_line({**LIMITS, "skipped": "no numba"}).endswith("; limits not measured: no numba")


def test_markdown():
    rows = [
        row("forgenb-eager", 1.0, versions={"it": "2", "numpy": "3"}),
        row("torch-eager", 2.0, versions={"numpy": "4"}),
        Row("mlp_wide", "tinygrad", 1, skipped="not here"),
    ]
    text = markdown(rows, LIMITS)
    lines = text.split("\n")
    assert lines[2] == "it 2, numpy 3 and 4."
    assert [line.count("|") for line in lines if line.startswith("|")] == [len(COLUMNS) + 2] * 4
    assert "| mlp_wide | forgenb-eager | 1 | 0.5 to 2 | 0.50 |" in text
    assert text.endswith("\nNot measured:\n\n- mlp_wide, tinygrad: not here\n")
