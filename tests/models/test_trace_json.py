"""Records as objects of JSON: every number comes back, with no more digits than it has."""

import json

import numpy as np

from forgenb.models import GPT, GPTConfig, Tracer, generate
from forgenb.models.trace_json import trace_object


def test_every_array_comes_back_from_json():
    records = []
    generate(GPT(GPTConfig(5, 6, 2, 1, 4)), [1, 2], 2, greedy=True, tracer=Tracer(records.append, top=2, layers=1))
    for record in records:
        text = json.dumps(trace_object(record, "abcde".__getitem__))
        found = json.loads(text)
        assert (found["row"], found["position"], found["text"]) == (0, record.position, "abcde"[record.chosen])
        assert [(entry["id"], entry["probability"]) for entry in found["shortlist"]] == record.shortlist
        for name in ("attention", "embedding", "hidden"):
            np.testing.assert_array_equal(np.array(found[name], "float32"), getattr(record, name))
        (detail,) = found["layers"]
        for name, value in detail.items():
            np.testing.assert_array_equal(np.array(value, "float32"), getattr(record.layers[0], name))
        assert max(len(str(number)) for number in np.ravel(detail["mlp_hidden"]).tolist()) <= 15


def test_what_was_not_asked_for_is_left_out():
    records = []
    generate(GPT(GPTConfig(5, 6, 2, 1, 4)), [1], 1, tracer=Tracer(records.append, attention=False))
    assert list(trace_object(records[0], str)) == ["row", "position", "chosen", "text", "shortlist"]
