"""``forgenb quantize``."""

import json
import re

import pytest

from forgenb.train import RunFolder, quantize_run


@pytest.fixture
def trained(forgenb, tiny):
    assert forgenb(*tiny, "--out", "a", "--json").code == 0
    return RunFolder.open("a")


def test_sizes_and_losses_are_printed(forgenb, trained):
    done = forgenb("quantize", "a", "--out", "q")
    wanted = quantize_run("a", "same")
    assert (done.code, done.err) == (0, "")
    rows = re.findall(r"^(float32|4 bits) +([\d,]+) bytes +validation loss ([\d.]+)$", done.out, re.MULTILINE)
    assert rows == [
        ("float32", f"{wanted.bytes_before:,}", f"{wanted.loss_before:.4f}"),
        ("4 bits", f"{wanted.bytes_after:,}", f"{wanted.loss_after:.4f}"),
    ]
    assert (
        f"{wanted.ratio:.2f} times smaller, and the loss over {wanted.windows} windows {wanted.cost:+.4f}." in done.out
    )
    assert done.out.endswith("The quantised model is in q\n")


def test_one_object(forgenb, trained):
    found = json.loads(forgenb("quantise", "a", "--out", "q", "--group", 8, "--backend", "cpu", "--json").out)
    wanted = quantize_run("a", "same", 8)
    names = ("group", "bytes_before", "bytes_after", "ratio", "loss_before", "loss_after", "cost", "windows")
    assert found == {"out": "q"} | {name: getattr(wanted, name) for name in names}
    assert found["group"] == 8


def test_text_is_generated_from_the_folder_and_the_file(forgenb, trained):
    forgenb("quantize", "a", "--out", "q")
    found = forgenb("generate", "--run", "q", "--prompt", "abc", "--tokens", 20)
    assert (found.code, found.err, len(found.out)) == (0, "", 3 + 20 + 1)
    assert forgenb("generate", "--checkpoint", "q/best.safetensors", "--prompt", "abc", "--tokens", 20).out == found.out


def test_refusals(refused, forgenb, trained):
    assert "the following arguments are required: --out" in refused("quantize", "a")
    assert "numbers, got 0: 64 is usual" in refused("quantize", "a", "--out", "q", "--group", 0)
    assert "there is no backend 'cup'" in refused("quantize", "a", "--out", "q", "--backend", "cup")
    assert "'none' holds no run" in refused("quantize", "none", "--out", "q")
    forgenb("quantize", "a", "--out", "q")
    assert "is quantised already" in refused("quantize", "q", "--out", "b")
    assert "The run in 'q' cannot go on" in refused("train", "--resume", "q")
