"""Rows as text."""

import pytest

from forgenb.bench import COLUMNS, SPECS, Row, cells, fastest_peer, machine_line, markdown, plot, shares, write_markdown
from forgenb.bench.plot import ratios
from forgenb.errors import ArgumentError

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
        "copy": "-",
    }
    assert cells(row("forgenb-routine", 20.0, nbytes=10**8), None, LIMITS)[-2:] == ("95%", "50%")


def test_parts_of_the_peaks():
    found = shares(row("forgenb-routine", 20.0, nbytes=10**8), LIMITS)
    assert found == {"sgemm_share": pytest.approx(SPECS["mlp_wide"].flop / 2e9), "copy_share": pytest.approx(5 / 9.96)}
    assert shares(row("forgenb-routine", 20.0, "cold-import"), LIMITS) == {"sgemm_share": None, "copy_share": None}
    assert shares(Row("moons", "tinygrad", 1), {}) == {"sgemm_share": None, "copy_share": None}


def test_cells_of_what_is_not_known():
    bare = row("forgenb-eager", 1234.0, "cold-import", loss_first=None, loss_last=None, peak_mb=None)
    assert cells(bare, None, {}) == ("forgenb-eager", "1,234", "617 to 2,468", *("-",) * 5)


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


def test_markdown_goes_between_the_marks_of_a_page(tmp_path):
    page = tmp_path / "page.md"
    write_markdown("one\n", page)
    assert page.read_text() == "one\n"
    page.write_text("before\n<!-- results -->\nold\n<!-- end of results -->\nafter\n")
    write_markdown("two\n", page)
    assert page.read_text() == "before\n<!-- results -->\n\ntwo\n\n<!-- end of results -->\nafter\n"
    write_markdown("two\n", page)
    assert page.read_text().count("two") == 1


def test_ratios_are_over_the_fastest_peer():
    rows = [row("forgenb-eager", 2.0), row("forgenb-routine", 1.0), row("torch-eager", 4.0), row("jax-jit", 8.0)]
    rows += [row("forgenb-eager", 1.0, "cold-command"), row("torch-eager", 1.0, "cold-import"), Row("moons", "jax", 1)]
    assert ratios(rows) == {
        "mlp_wide": {"forgenb-eager": 0.5, "forgenb-routine": 0.25, "torch-eager": 1.0, "jax-jit": 2.0}
    }


def test_a_picture_of_ratios(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures are drawn by matplotlib")
    rows = [row("forgenb-routine", 1.0), row("torch-eager", 4.0), row("jax-jit", 8.0)]
    rows += [row("forgenb-eager", 3.0, "chain"), row("torch-eager", 2.0, "chain")]
    plot(rows, LIMITS, tmp_path / "ratios.svg")
    text = (tmp_path / "ratios.svg").read_text()
    for word in ("mlp_wide", "chain", "forgenb-routine", "torch-eager", "jax-jit", "0.25", "1.5", "Fast 9"):
        assert word in text
    plot([], LIMITS, tmp_path / "none.png")
    with pytest.raises(ArgumentError, match="a picture is written as .svg"):
        plot(rows, LIMITS, tmp_path / "ratios.gif")
