"""Random graphs as data: every op has its place, draws repeat, margins hold, and the command reports what differs."""

import inspect
import sys
from unittest.mock import MagicMock

import numpy as np
import pytest

import forgenb as fnb
from forgenb.errors import ArgumentError
from forgenb.ops import TABLE
from forgenb.testing import torch_twins
from forgenb.testing.graphs import LEFT_OUT, RECIPES, build
from forgenb.testing.graphs import __main__ as command
from forgenb.testing.graphs.compare import difference, relative
from forgenb.testing.graphs.domains import DOMAINS, sample
from forgenb.testing.graphs.graph import Leaf, Step
from forgenb.testing.graphs.left_out import KEYWORDS_LEFT_OUT
from forgenb.testing.graphs.margins import KINKS, SPREADS, clear
from forgenb.testing.graphs.recipes import recipe
from forgenb.testing.graphs.run import Outcome, eager

OPERANDS = {
    "b", "beta", "bias", "c", "dout", "gamma", "h", "hidden", "ids", "indices", "mean", "src", "targets", "v", "var",
    "weight", "wpe", "wte", "x", "y",
}  # fmt: skip
"""Names of parameters that are tensors; the k beside q and v is one too."""


def drawn(seed, least=1, most=6, names=None):
    rng = np.random.default_rng(seed)
    return build(lambda below: int(rng.integers(below)), seed, least, most, names)


def test_every_op_has_a_recipe_or_a_reason():
    assert set(RECIPES) | set(LEFT_OUT) == set(TABLE)
    assert not set(RECIPES) & set(LEFT_OUT)
    for name in LEFT_OUT:
        row = TABLE[name]
        assert row.in_place or not row.differentiable or name.removesuffix("_grad") in RECIPES


def test_every_keyword_is_drawn_or_has_a_reason():
    found = {
        (step.op, keyword) for seed in range(250) for step in drawn(seed, 40, 40).steps for keyword in step.keywords
    }
    wanted = {
        (name, p.name)
        for name in RECIPES
        for p in list(inspect.signature(TABLE[name].function).parameters.values())[1:]
        if p.name not in OPERANDS
    }
    assert wanted - found == set(KEYWORDS_LEFT_OUT) | {("unfused_attention", "k"), ("unsplit_heads", "k")}


def test_an_op_has_one_recipe():
    with pytest.raises(ValueError, match="op add has two recipes"):
        recipe("add")(lambda b, name: None)


def test_every_recipe_has_a_twin(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", MagicMock())
    assert set(torch_twins.twins.__wrapped__()) == set(RECIPES)


def test_without_pytorch_the_twins_say_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ArgumentError, match=r"needs PyTorch, .*: install it with pip install 'forgenb\[bench\]'"):
        torch_twins.twins.__wrapped__()


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_a_recipe_draws_its_op(name):
    found = [step for seed in range(4) for step in drawn(seed, names=[name]).steps if step.op == name]
    assert found


def test_a_draw_repeats_and_lists_what_it_does():
    first, again = drawn(3, 5, 9), drawn(3, 5, 9)
    assert str(first) == str(again)
    assert 5 <= len(first.steps) <= 9
    lines = str(first).splitlines()
    assert lines[0] == "graph with numbers from seed 3:"
    assert lines[-1] == "loss of " + " ".join(f"v{n}" for n in first.watched)
    assert len(lines) == len(first.entries) + 2
    step = Step("pow", (4, 0.5, None), {"axis": (0, 1)}, (5, 6))
    assert str(step) == "v5, v6 = pow(v4, 0.5, None, axis=(0, 1))"
    assert str(Leaf(1, np.array([2, 0]), False)) == "v1 = constant (2,) int64 [2, 0]"


def test_what_a_result_needs_is_a_graph_by_itself():
    graph = drawn(5, 9, 9)
    part = graph.until(len(graph.entries))
    assert set(part.watched) == set(graph.entries[-1].made)
    made = {n for e in part.entries for n in e.made}
    assert all(made.issuperset(e.reads) for e in part.entries)
    needed = {n for e in part.entries for n in e.reads} | set(part.watched)
    assert all(needed & set(e.made) for e in part.entries)


@pytest.mark.parametrize("domain", DOMAINS)
def test_leaves_lie_inside_of_their_domain(domain):
    assert DOMAINS[domain].holds(sample(domain, (50,), np.random.default_rng(0)))
    assert not DOMAINS[domain].holds(np.array([1.0, 5.0]))


NEAR = {
    "relu": ([[0.5, 1e-4]], {}),
    "maximum": ([[0.5, 2.0], [0.1, 2.0001]], {}),
    "clip": ([[1.0004]], {"high": 1.0}),
    "huber": ([[-0.5001]], {"delta": 0.5}),
    "max": ([[[1.0, 3.0, 3.0001]]], {"axis": -1}),
    "argmin": ([[[1.0, 3.0], [1.0001, 3.0]]], {}),
    "max_pool2d": ([[[[[1.0, 2.0], [2.0001, 3.0]]]]], {"kernel": 2}),
    "floor": ([[2.9999]], {}),
    "astype": ([[0.0001]], {"dtype": "bool"}),
    "where": ([[1e-5], [1.0], [2.0]], {}),
    "std": ([[[1.0, 1.01], [1.0, 3.0]]], {"axis": 1}),
    "norm": ([[0.01, 0.02]], {}),
    "layernorm": ([[[1.0, 1.01]], [1.0, 1.0]], {}),
    "rmsnorm": ([[[0.01, 0.01]], [1.0, 1.0]], {}),
    "groupnorm": ([[[1.0, 1.01, 1.0, 3.0]], [1.0] * 4], {"groups": 2}),
    "batchnorm": ([[[1.0, 1.0], [3.0, 1.01]], [1.0, 1.0]], {}),
}
"""Operands too near to a kink, a tie or no spread at all."""


@pytest.mark.parametrize("name", NEAR)
def test_operands_near_a_kink_are_not_taken(name):
    operands, keywords = NEAR[name]
    assert name in KINKS or name in SPREADS
    assert not clear(name, [np.array(a) for a in operands], keywords)
    apart = [np.random.default_rng(11).uniform(0.3, 0.9, np.shape(a)) * (1 + p) for p, a in enumerate(operands)]
    assert clear(name, apart, keywords)


def test_differences_are_relative_to_the_scale_of_a_tensor():
    wanted = np.array([100.0, 1e-8])
    assert relative(wanted + [0.0, 1e-6], wanted) == pytest.approx(1e-8)
    assert relative(np.array([1e-9]), np.zeros(1)) == pytest.approx(1e-6)
    assert relative(np.array([np.nan]), np.ones(1)) == np.inf
    assert relative(np.ones(2), np.ones(1)) == np.inf
    assert relative(np.ones(1, "float32"), np.ones(1)) == np.inf
    assert relative(np.array([1, 2]), np.array([1, 3])) == np.inf


def test_a_difference_names_its_place():
    graph = drawn(0, names=["tanh"])
    with fnb.use("python"):
        found = eager(graph)
    off = Outcome(found.values, {n: g * 1.5 for n, g in found.gradients.items()})
    size, where = difference(graph, found, off)
    assert size == pytest.approx(1 / 3)
    assert where.startswith("gradient of v")
    assert difference(graph, found, Outcome(found.values, dict.fromkeys(found.gradients))).size > 1.0
    last = graph.steps[-1].results[0]
    off = Outcome(found.values | {last: found.values[last] + 1.0}, found.gradients)
    assert difference(graph, found, off).where == f"value v{last} of {graph.steps[-1]}"


@pytest.fixture
def _interpreted():
    with fnb.use("python"):
        yield


@pytest.mark.usefixtures("_interpreted")
def test_the_command_reports_agreement(capsys):
    assert command.main(["--graphs", "3", "--seed", "7", "--least", "2", "--most", "4", "--against", "routine"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("3 of 3 graphs of 2 to 4 ops agree, seed 7, from number 0 on, against routine, ")
    assert "largest difference that passes 0 of a tensor's scale" in out


@pytest.mark.usefixtures("_interpreted")
def test_the_command_reports_a_fault_with_what_replays_it(capsys, monkeypatch):
    planted = command.numbered(0, 2, 3, 8).steps[-1].op

    def other(graph):
        if not any(step.op == planted for step in graph.steps):
            return eager(graph)
        found = eager(graph)
        return Outcome(found.values, {n: None if g is None else g * (1 + 1e-8) for n, g in found.gradients.items()})

    monkeypatch.setitem(command.AGAINST, "torch", (other, 1e-9))
    monkeypatch.setattr(command, "twins", dict)
    assert command.main(["--graphs", "3", "--least", "3", "--most", "8"]) == 1
    out = capsys.readouterr().out
    number = int(out.split("graph ")[1].split(":")[0])
    assert f"graph {number}: off by 1e-08 of the scale: gradient of v" in out
    assert f"--against torch --seed 0 --first {number} --graphs 1 --least 3 --most 8" in out
    listed = out.split("enough:\n")[1].split("\n\n")[0].splitlines()
    assert f"= {planted}(" in listed[-2]
    assert command.main(["--graphs", "1", "--first", str(number), "--least", "3", "--most", "8"]) == 1


def test_an_op_that_raises_is_a_fault(capsys, monkeypatch):
    def broken(graph):
        raise ArgumentError("no such\nthing")

    monkeypatch.setitem(command.AGAINST, "torch", (broken, 1e-9))
    monkeypatch.setattr(command, "twins", dict)
    with fnb.use("python"):
        assert command.main(["--graphs", "1", "--most", "5"]) == 1
    assert "graph 0: off by inf of the scale: ArgumentError: no such thing" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["--graphs", "0"], ["--least", "9", "--most", "8"], ["--seed", "-1"]])
def test_the_command_refuses_senseless_bounds(wrong, capsys):
    with pytest.raises(SystemExit, match="2"):
        command.main(wrong)
    assert "--graphs and --least are at least 1" in capsys.readouterr().err


def test_the_command_says_that_pytorch_is_missing(capsys, monkeypatch):
    def missing():
        raise ArgumentError("comparing with PyTorch needs PyTorch")

    monkeypatch.setattr(command, "twins", missing)
    with pytest.raises(SystemExit, match="2"):
        command.main([])
    assert "needs PyTorch" in capsys.readouterr().err
