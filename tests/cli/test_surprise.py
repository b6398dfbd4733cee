"""``forgenb surprise``."""

import json
import math

import numpy as np
import pytest

from forgenb.cli.surprise import MOST
from forgenb.models import surprisal
from forgenb.train import RunFolder, build_model, load_checkpoint

SHORT = "abc fghij\nabd"


@pytest.fixture
def trained(forgenb, tiny):
    assert forgenb(*tiny, "--out", "a", "--json").code == 0
    return RunFolder.open("a")


@pytest.fixture
def short(tmp_path):
    path = tmp_path / "short.txt"
    path.write_bytes(SHORT.encode())
    return path


def bits_of(run, text, **options):
    checkpoint = load_checkpoint(run.best)
    model = build_model(checkpoint.config, len(checkpoint.tokenizer))
    checkpoint.restore(run.best, model)
    return surprisal(model, checkpoint.tokenizer.encode(text), **options)


def test_rows_and_the_sum(forgenb, trained, short):
    done = forgenb("surprise", short, "--run", "a", "--json", "--top", 3)
    assert (done.code, done.err) == (0, "")
    *rows, last = map(json.loads, done.out.splitlines())
    wanted = bits_of(trained, SHORT)
    assert [row["position"] for row in rows] == list(range(len(SHORT)))
    assert "".join(row["token"] for row in rows) == SHORT
    np.testing.assert_allclose([row["bits"] for row in rows], wanted.bits, rtol=1e-6)
    assert rows[0]["candidates"] == []
    assert [len(row["candidates"]) for row in rows[1:]] == [3] * (len(SHORT) - 1)
    for row, probabilities in zip(rows[1:], wanted.probabilities[1:]):
        np.testing.assert_allclose([c["probability"] for c in row["candidates"]], probabilities[:3], rtol=1e-6)
    for row in rows[1:]:
        for candidate in row["candidates"]:
            if candidate["token"] == row["token"]:
                assert -math.log2(candidate["probability"]) == pytest.approx(row["bits"], abs=1e-9)
    assert last == {
        "tokens": len(SHORT),
        "left_out": 0,
        "bits": pytest.approx(wanted.total),
        "bits_per_token": pytest.approx(wanted.mean),
        "bits_per_character": pytest.approx(wanted.mean),
        "bits_per_byte": pytest.approx(wanted.mean),
        "perplexity": pytest.approx(wanted.perplexity),
    }


def test_the_text_its_sum_and_its_places(forgenb, trained, short):
    done = forgenb("surprise", short, "--run", "a", "--places", 3, "--top", 2)
    assert (done.code, done.err) == (0, "")
    *text, summary, first, second, third = done.out.splitlines()
    assert text == SHORT.splitlines()
    wanted = bits_of(trained, SHORT)
    assert summary == (
        f"{len(SHORT)} characters, {wanted.total:.1f} bits: {wanted.mean:.3f} a character, {wanted.mean:.3f} a byte, "
        f"perplexity {wanted.perplexity:.2f}"
    )
    place = int(np.argmax(wanted.bits))
    assert first.split("  expected")[0].startswith(
        f"{place:>8}  {wanted.bits[place]:5.1f} bits  {SHORT[place]!r} after"
    )
    assert f" after {SHORT[:place]!r}, expected " in first
    assert first.count("%") == second.count("%") == third.count("%") == 2
    assert [int(line.split()[0]) for line in (first, second, third)] == wanted.places(3).tolist()
    assert len(forgenb("surprise", short, "--run", "a", "--places", 0).out.splitlines()) == len(text) + 1


def test_windows_of_a_longer_text(forgenb, trained, text):
    for options, stride in (([], None), (["--stride", 8], 8), (["--stride", 1], 1)):
        last = forgenb("surprise", text, "--run", "a", "--json", *options).out.splitlines()[-1]
        assert json.loads(last)["bits"] == pytest.approx(bits_of(trained, text.read_text(), stride=stride).total)


def test_unknown_characters(forgenb, refused, trained, short):
    short.write_text("a\u00e9b" + "".join(map(chr, range(0x4E00, 0x4E00 + 30))))
    err = refused("surprise", short, "--run", "a")
    assert "does not know these characters of the text: 'é' (U+00E9), '一' (U+4E00)" in err
    assert "and 11 more. It learned 12 characters; take another text, or leave such characters out with --lossy" in err
    done = forgenb("surprise", short, "--run", "a", "--lossy")
    assert done.out.startswith("ab\n2 characters (31 of others were left out), ")
    last = json.loads(forgenb("surprise", short, "--run", "a", "--lossy", "--json").out.splitlines()[-1])
    assert (last["tokens"], last["left_out"]) == (2, 31)


def test_a_checkpoint_the_last_run_and_a_backend(forgenb, trained, short, tiny, refused):
    wanted = forgenb("surprise", short, "--run", "a").out
    assert forgenb("surprise", short, "--checkpoint", trained.best).out == wanted
    assert "There is no run in 'runs'" in refused("surprise", short)
    assert "there is no backend 'cup'" in refused("surprise", short, "--run", "a", "--backend", "cup")
    assert "not allowed with argument" in refused("surprise", short, "--run", "a", "--checkpoint", "b")


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"", [], "short.txt' is empty"),
        (b"abc\xff\x00", [], "short.txt' is not UTF-8: byte 0xff at offset 3"),
        (b"a", [], "it has 1 tokens that the model knows, and bits are counted from the second one on"),
        (b"ZZZ", ["--lossy"], "it has 0 tokens that the model knows"),
        (None, [], f"short.txt' has more than {MOST} bytes"),
        (b"abc", ["--places", "-1"], "--places must be at least 0, got -1"),
        (b"abc", ["--stride", "0"], "a stride from 1 to 8, the model's context, got 0"),
        (b"abc", ["--top", "many"], "argument --top: invalid int value: 'many'"),
        (b"abc", ["--run", "none"], "'none' holds no run"),
    ],
)
def test_refusals(refused, trained, short, data, options, message):
    if data is None:
        with open(short, "wb") as file:
            file.truncate(MOST + 1)
    else:
        short.write_bytes(data)
    assert message in refused("surprise", short, "--run", "a", *options)


def test_a_file_that_is_not_there(refused, trained):
    assert "The text 'none' cannot be read: No such file" in refused("surprise", "none", "--run", "a")
    assert "the following arguments are required: FILE" in refused("surprise")
