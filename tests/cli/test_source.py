"""Which model a command uses: a GPT-2 in the files of the hub."""

import json

import numpy as np
import pytest

from forgenb.data import GPT2Tokenizer
from forgenb.data.bpe import END_OF_TEXT, byte_letters
from forgenb.models import GPT, GPTConfig, generate, surprisal

TOKENS = [*byte_letters(), "th", "the", END_OF_TEXT]


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A folder with a tiny model and its tokenizer."""
    pytest.importorskip("tokenizers", reason="encoding as GPT-2 does is the library's")
    monkeypatch.chdir(tmp_path)
    model = GPT(GPTConfig(len(TOKENS), 8, 1, 2, 8, end=len(TOKENS) - 1), seed=4)
    state = model.state_dict()
    model.load_state_dict({**state, "wte.weight": 40 * state["wte.weight"]})
    model.save_pretrained("hub")
    (tmp_path / "hub/vocab.json").write_text(json.dumps({token: place for place, token in enumerate(TOKENS)}))
    (tmp_path / "hub/merges.txt").write_text("#version: 0.2\nt h\nth e\n")
    return GPT.from_pretrained("hub"), GPT2Tokenizer.load("hub")


def test_a_pretrained_model_continues_a_prompt(forgenb, hub):
    model, tokenizer = hub
    ids = tokenizer.encode("the é").tolist()
    wanted = tokenizer.decode(generate(model, ids, 5, greedy=True))
    done = forgenb("generate", "--pretrained", "hub", "--prompt", "the é", "--tokens", 5, "--greedy")
    assert (done.code, done.err, done.out) == (0, "", wanted + "\n")


def test_without_a_prompt_a_text_begins_behind_the_end_of_one(forgenb, hub):
    model, tokenizer = hub
    wanted = tokenizer.decode(generate(model, [tokenizer.end], 4, seed=3, temperature=0.8)[1:])
    done = forgenb("generate", "--pretrained", "hub", "--tokens", 4, "--seed", 3)
    assert (done.code, done.out) == (0, wanted + "\n")


def test_surprise_counts_tokens(forgenb, hub, tmp_path):
    model, tokenizer = hub
    (tmp_path / "text.txt").write_text("the thé")
    ids = tokenizer.encode("the thé")
    found = surprisal(model, ids, 2)
    done = forgenb("surprise", "text.txt", "--pretrained", "hub", "--json", "--top", 2)
    *rows, last = map(json.loads, done.out.splitlines())
    assert [row["token"] for row in rows] == ["the", " ", "th", "\ufffd", "\ufffd"]
    np.testing.assert_allclose([row["bits"] for row in rows], found.bits, rtol=1e-6)
    assert (last["tokens"], last["left_out"]) == (5, 0)
    text, summary, *places = forgenb("surprise", "text.txt", "--pretrained", "hub").out.splitlines()
    assert text == "the thé"
    assert summary.startswith(f"7 characters in 5 tokens, {found.total:.1f} bits: ")
    assert {line.split("  ")[-1].split(" after")[0] for line in places} == {"' '", "'th'", "''", "'é'"}


def test_a_tokenizer_of_another_model(hub, refused, tmp_path):
    tokens = {token: place for place, token in enumerate([*TOKENS, "xy"])}
    (tmp_path / "hub/vocab.json").write_text(json.dumps(tokens))
    assert "The tokenizer has 260 tokens and the model 259 ids: they are of different models" in refused(
        "generate", "--pretrained", "hub", "--prompt", "the"
    )


def test_a_folder_without_a_tokenizer(hub, refused, tmp_path):
    (tmp_path / "hub/merges.txt").unlink()
    assert "'hub' has no tokenizer: it needs vocab.json and merges.txt" in refused("generate", "--pretrained", "hub")


def test_a_name_on_the_hub_is_no_folder(hub, refused):
    message = refused("generate", "--pretrained", "openai-community/gpt2")
    assert "'openai-community/gpt2' is no folder: give one with GPT-2's files; none is downloaded" in message
