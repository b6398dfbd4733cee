"""``forgenb bench``."""

import json
import signal
import sys

import pytest

from forgenb import bench
from forgenb.bench import Check, DecodeRow, LoadRow, Row
from forgenb.bench.projection import Cost, Link
from forgenb.bench.scaling import ShareTimes, SumTimes

LIMITS = {"workload": "limits", "contender": "forgenb-eager", "threads": 1, "cpu": "Fast 9", "cores": 2}
LIMITS |= {"sgemm_gflops": 100.0, "copy_gb_s": 10.0, "versions": {"it": "2"}}


@pytest.fixture
def quick(monkeypatch):
    """No measurement: every contender takes 2 ms, the peers are not there, and plans are kept."""
    plans = []

    def rows(plan, workload):
        plans.append(plan)
        for name in plan.contenders:
            yield Row(workload, name, 1, 2.0, 1.0, 3.0, 0.7, 0.5, 9.0, None if name in bench.OWN else "not here")

    monkeypatch.setattr(bench, "measure_limits", lambda threads, python: LIMITS)
    monkeypatch.setattr(bench, "compare", lambda plan, workload, tell: rows(plan, workload))
    monkeypatch.setattr(bench, "compare_cold", lambda plan, tell: rows(plan, "cold-import"))
    return plans


def test_json(forgenb, quick):
    done = forgenb("bench", "--json", "--workloads", "micro", "cold", "--contenders", "forgenb-routine", "tinygrad")
    assert done.code == 0
    limits, *rows = map(json.loads, done.out.splitlines())
    assert limits == LIMITS
    assert [(row["workload"], row["contender"]) for row in rows] == [
        (workload, name) for workload in ("micro", "cold-import") for name in ("forgenb-routine", "tinygrad")
    ]
    assert rows[0] == {
        "workload": "micro",
        "contender": "forgenb-routine",
        "threads": 1,
        "median_ms": 2.0,
        "min_ms": 1.0,
        "max_ms": 3.0,
        "loss_first": 0.7,
        "loss_last": 0.5,
        "peak_mb": 9.0,
        "sgemm_share": pytest.approx(bench.SPECS["micro"].flop / 2e6 / 100),
        "copy_share": None,
    }
    assert rows[1] == {"workload": "micro", "contender": "tinygrad", "threads": 1, "skipped": "not here"}


def test_table_and_markdown(forgenb, quick, tmp_path):
    done = forgenb("bench", "--workloads", "micro", "--markdown", "found.md")
    assert done.code == 0
    assert "Fast 9, 1 of 2 cores; sgemm 100 GFLOP/s" in done.out
    assert "micro: torch-eager skipped: not here" in done.out
    assert "forgenb-routine" in done.out
    assert "| micro | forgenb-eager | 2 |" in (tmp_path / "found.md").read_text()


def test_a_table_in_a_page_and_a_picture(forgenb, quick, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures are drawn by matplotlib")
    page = tmp_path / "page.md"
    page.write_text("# Here\n<!-- results -->\n<!-- end of results -->\nthere\n")
    assert forgenb("bench", "--workloads", "micro", "--markdown", "page.md", "--plot", "out.svg").code == 0
    text = page.read_text()
    assert text.startswith("# Here\n<!-- results -->\n")
    assert "| micro | forgenb-routine | 2 |" in text
    assert text.endswith("<!-- end of results -->\nthere\n")
    assert (tmp_path / "out.svg").read_text().startswith("<?xml")


@pytest.fixture
def checked(monkeypatch):
    """No process: the eager losses have other bits with two threads, and digits cannot be had."""

    def check(workload, threads, steps, python, tell):
        for contender in bench.OWN:
            for n in threads:
                tell("...")
                if workload == "digits":
                    yield Check(workload, contender, n, steps, skipped="no images")
                else:
                    same = workload == "micro" or (contender, n) != ("forgenb-eager", 2)
                    yield Check(workload, contender, n, steps, 0.75, 0.5, same)

    monkeypatch.setattr(bench, "check", check)
    monkeypatch.setattr(bench, "cores", lambda: 2)


def test_check_of_bits(forgenb, checked):
    done = forgenb("bench", "--check", "--workloads", "moons", "cold", "digits")
    assert done.code == 1
    lines = done.out.splitlines()
    assert lines[0] == "moons: forgenb-eager, threads 1  loss 0.75 to 0.5: the same bits"
    assert lines[1] == "moons: forgenb-eager, threads 2  loss 0.75 to 0.5: OTHER BITS"
    assert lines[4] == "digits: forgenb-eager, threads 1: no images"
    assert len(lines) == 8


def test_check_of_bits_as_json(forgenb, checked):
    done = forgenb("bench", "--check", "--json", "--workloads", "micro", "--threads", "1", "--steps", "7")
    assert done.code == 0
    rows = list(map(json.loads, done.out.splitlines()))
    assert rows == [
        {
            "workload": "micro",
            "contender": contender,
            "threads": 1,
            "steps": 7,
            "loss_first": 0.75,
            "loss_last": 0.5,
            "equal": True,
        }
        for contender in bench.OWN
    ]


def test_options_are_the_plan(forgenb, quick):
    options = f"--threads 1 --rounds 2 --steps 3 --python jax-jit={sys.executable} --python autograd={sys.executable}"
    assert forgenb("bench", "--workloads", "moons", *options.split()).code == 0
    (plan,) = quick
    assert (plan.threads, plan.rounds, plan.steps) == (1, 2, 3)
    assert plan.pythons == {"jax-jit": sys.executable, "autograd": sys.executable}
    assert list(plan.contenders) == list(bench.CONTENDERS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workloads", "mnist"], "argument --workloads: invalid choice: 'mnist'"),
        (["--contenders", "numpy"], "argument --contenders: invalid choice: 'numpy'"),
        (["--rounds", "0"], "argument --rounds: it must be a whole number of at least 1, got '0'"),
        (["--steps", "x"], "argument --steps: it must be a whole number of at least 1, got 'x'"),
        (["--threads", "100000"], "--threads 100000 is more than this process has cores"),
        (["--python", "jax-jit"], "--python needs CONTENDER=PATH"),
        (["--python", "numpy=python"], "--python needs CONTENDER=PATH with a contender of forgenb-eager"),
        (["--python", "jax-jit=no/such"], "there is no interpreter at 'no/such'"),
        (["--markdown", "no/such/file.md"], "--markdown 'no/such/file.md' is not a file in a folder that is there"),
        (["--plot", "no/such/out.svg"], "'no/such/out.svg' is not a file in a folder that is there"),
        (["--plot", "out.txt"], "a picture is written as .svg, .png, .pdf, got 'out.txt'"),
        (["--markdown", "."], "--markdown '.' is not a file in a folder that is there"),
    ],
)
def test_wrong_arguments(refused, quick, options, message):
    assert message in refused("bench", *options)


@pytest.fixture
def scaled(monkeypatch):
    """No measurement: steps of 26 ms on one stream and 13 on two processes; plans are kept."""
    plans = []

    def rows(plan, tell):
        plans.append(plan)
        tell("...")
        yield SumTimes(Link("shared memory", 1.0, 5.0), (4, 8), (2.0, 2.0), 0.1)
        for name in plan.workloads:
            yield Row(name, "streams", 1, 26.0, 25.0, 27.0)
            yield ShareTimes(Cost(name, 8, 2.0, 3.0, 1000, 1, 1000), (1, 8), (5.0, 26.0), 0.0)

    monkeypatch.setattr(bench, "measure_limits", lambda threads: LIMITS)
    monkeypatch.setattr(bench, "compare_scaling", rows)
    return plans


def test_scaling_as_json(forgenb, scaled):
    done = forgenb("bench", "--scaling", "--json", "--workloads", "moons", "micro", "--rounds", "2", "--steps", "3")
    assert done.code == 0
    limits, sums, row, shares, *projection = map(json.loads, done.out.splitlines())
    assert limits == LIMITS
    assert (sums["workload"], sums["latency_us"], row["median_ms"], shares["fixed_ms"]) == ("allreduce", 1.0, 26.0, 2.0)
    assert {(found["workload"], found["contender"]) for found in projection} == {("micro", "projection")}
    assert len(projection) == 3 * 2 * 6
    (plan,) = scaled
    assert (plan.workloads, plan.rounds, plan.steps) == (["micro"], 2, 3)


def test_scaling_as_a_page(forgenb, scaled, tmp_path):
    done = forgenb("bench", "--scaling", "--markdown", "found.md", "--threads", "1")
    assert done.code == 0
    assert "| nanocpu | streams | 1 | 26 | 25 to 27 | 1.00 | - |" in done.out
    assert (tmp_path / "found.md").read_text().strip() == done.out.strip()
    (plan,) = scaled
    assert (list(plan.workloads), plan.threads) == (["micro", "nanocpu", "charsix"], 1)


def test_the_help_says_what_scaling_takes_and_needs(forgenb):
    text = " ".join(forgenb("bench", "--scaling", "--help").out.split())
    assert "the GPT workloads (micro, nanocpu, charsix) over streams and processes" in text
    assert "processes need the extra mpi: pip install 'forgenb[mpi]'" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--workloads", "moons"], "steps are shared out for micro, nanocpu, charsix, and got moons"),
        (["--contenders", "torch-eager"], "--contenders has no meaning for --scaling: leave it away"),
        (["--python", f"jax-jit={sys.executable}"], "--python has no meaning for --scaling"),
        (["--plot", "out.svg"], "--plot has no meaning for --scaling"),
        (["--check"], "--check has no meaning for --scaling"),
        (["--markdown", "no/such/file.md"], "is not a file in a folder that is there"),
    ],
)
def test_what_scaling_refuses(refused, scaled, options, message):
    assert message in refused("bench", "--scaling", *options)
    assert scaled == []


@pytest.fixture
def words(monkeypatch):
    """No measurement: an id takes 2 ms, loading 120; plans are kept."""
    plans = []

    def decoded(plan, shape, tell):
        plans.append(plan)
        tell("...")
        for name in plan.contenders:
            yield DecodeRow(f"decode-{shape}", name, 1, 2.0, 1.0, 3.0, ratio=0.5, limit=0.25)

    def loaded(plan, tell):
        plans.append(plan)
        for name in plan.contenders:
            yield LoadRow("load-new", name, 1, 120.0, 110.0, 130.0, ratio=1.25)

    monkeypatch.setattr(bench, "measure_limits", lambda threads: LIMITS)
    monkeypatch.setattr(bench, "compare_decode", decoded)
    monkeypatch.setattr(bench, "compare_load", loaded)
    return plans


def test_decode_as_json(forgenb, words):
    done = forgenb("bench", "decode", "--json", "--shapes", "gpt2", "--contenders", "forgenb-routine", "--rounds", "2")
    assert done.code == 0
    limits, row = map(json.loads, done.out.splitlines())
    assert limits == LIMITS
    assert (row["workload"], row["contender"], row["median_ms"]) == ("decode-gpt2", "forgenb-routine", 2.0)
    assert (row["ratio"], row["limit"]) == (0.5, 0.25)
    (plan,) = words
    assert (plan.workloads, plan.contenders, plan.rounds, plan.pythons) == (["gpt2"], ["forgenb-routine"], 2, {})


def test_decode_has_all_shapes_and_contenders(forgenb, words):
    done = forgenb("bench", "decode")
    assert done.code == 0
    for shape in bench.DECODINGS:
        for name in bench.DECODERS:
            assert f"| decode-{shape} | {name} | 2 | 1 to 3 | 0.50 | 25% |" in done.out
    assert words[0].rounds == 5


def test_load_as_table_and_json(forgenb, words):
    assert "| load-new | transformers | 120 | 110 to 130 | 1.25 | - |" in forgenb("bench", "load").out
    assert list(words[0].contenders) == list(bench.LOADERS)
    python = f"transformers={sys.executable}"
    done = forgenb("bench", "load", "--json", "--contenders", "forgenb-eager", "--python", python)
    assert [json.loads(line)["workload"] for line in done.out.splitlines()] == ["limits", "load-new"]
    assert words[1].pythons == {"transformers": sys.executable}


def test_words_write_between_marks_of_their_own(forgenb, words, tmp_path):
    page = tmp_path / "page.md"
    parts = ("results", "decode", "load")
    page.write_text("".join(f"<!-- {part} -->\nold {part}\n<!-- end of {part} -->\n" for part in parts))
    assert forgenb("bench", "decode", "--markdown", "page.md").code == 0
    assert forgenb("bench", "load", "--markdown", "page.md").code == 0
    text = page.read_text()
    assert [part for part in parts if f"old {part}" in text] == ["results"]
    decoded, loaded = text.index("| decode-charsix |"), text.index("| load-new |")
    assert text.index("<!-- decode -->") < decoded < text.index("<!-- end of decode -->") < loaded


def test_options_may_stand_before_a_word(forgenb, words):
    options = ["--threads", "1", "--rounds", "3", "--json", "--python", f"torch-eager={sys.executable}"]
    before = forgenb("bench", *options, "decode")
    after = forgenb("bench", "decode", *options)
    assert before.out == after.out
    assert words[0] == words[2]
    assert (words[0].threads, words[0].rounds, words[0].pythons) == (1, 3, {"torch-eager": sys.executable})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", "3", "decode"], "--steps has no meaning for decode: leave it away"),
        (["--check", "load"], "--check has no meaning for load: leave it away"),
        (["--plot", "out.svg", "load"], "--plot has no meaning for load: leave it away"),
        (["--workloads", "moons", "--json", "decode"], "--workloads has no meaning for decode: leave it away"),
        (["--scaling", "decode"], "--scaling has no meaning for decode: leave it away"),
        (
            ["--contenders", "jax-jit", "--json", "decode"],
            "decode has no contender jax-jit: name some of forgenb",
        ),
        (["decode", "--contenders", "transformers"], "argument --contenders: invalid choice: 'transformers'"),
        (["decode", "--shapes", "moons"], "argument --shapes: invalid choice: 'moons'"),
        (["decode", "--python", "jax-jit=python"], "--python needs CONTENDER=PATH with a contender of forgenb-routine"),
        (["decode", "--threads", "100000"], "--threads 100000 is more than this process has cores"),
        (["load", "--rounds", "0"], "argument --rounds: it must be a whole number of at least 1, got '0'"),
        (["load", "--shapes", "gpt2"], "unrecognized arguments: --shapes gpt2"),
        (["load", "--markdown", "no/such/file.md"], "--markdown 'no/such/file.md' is not a file in a folder"),
        (["encode"], "invalid choice: 'encode'"),
    ],
)
def test_wrong_words(refused, words, options, message):
    assert message in refused("bench", *options)


def test_a_termination_leaves_no_folder_behind(forgenb, words, monkeypatch):
    left = []

    def terminated(plan, tell):
        try:
            signal.raise_signal(signal.SIGTERM)
            yield from ()
        finally:
            left.append("folder")

    monkeypatch.setattr(bench, "compare_load", terminated)
    before = signal.getsignal(signal.SIGTERM)
    done = forgenb("bench", "load")
    assert (done.code, done.err) == (130, "forgenb bench: interrupted.\n")
    assert left == ["folder"]
    assert signal.getsignal(signal.SIGTERM) == before


def test_words_say_what_they_need(forgenb):
    for word in ("decode", "load"):
        text = " ".join(forgenb("bench", word, "--help").out.split())
        assert "500 MB" in text
        assert word in forgenb("bench", "--help").out
