"""``forgenb score``."""

import json

import pytest


def test_text_and_page(forgenb, tmp_path):
    done = forgenb("score", "neg", "mean", "--markdown", "page.md")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:2] == [
        "neg: 5 planted, 5 rejected, 0 equivalent",
        "mean: no rule of its own, made of mul, sum",
    ]
    assert "| `neg` | 5 | 5 | 0 | 0 |" in (tmp_path / "page.md").read_text(encoding="utf-8")


def test_one_object_an_op_and_a_last_one_with_the_sum(forgenb):
    done = forgenb("score", "mul", "neg", "--json", "--limit", 5, "--seed", 1)
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert rows[0] == {"op": "mul", "planted": 5, "rejected": 5, "equivalent": 0, "survivors": []}
    assert rows[-1] == {"planted": 10, "rejected": 10}


def test_a_survivor_is_shown_and_gives_code_1(forgenb, monkeypatch):
    monkeypatch.setattr("forgenb.testing.mutation.scores.rejected", lambda name, gradients: None)
    done = forgenb("score", "neg")
    assert done.code == 1
    assert "SURVIVES arithmetic.py:" in done.out
    assert "(factor)\n    return (neg(dout),)\n    return (neg(dout) * 1.01,)\n" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["gelo"], "did you mean 'gelu'?"), (["neg", "--limit", "0"], "'0' is not a number from 1 on")],
)
def test_wrong_arguments(refused, arguments, message):
    assert message in refused("score", *arguments)
