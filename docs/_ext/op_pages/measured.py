"""Everything of the pages that has to be run, in one process, kept by the hash of what it depends on."""

import json
from pathlib import Path

import numpy as np
from source_hash import source_hash

from forgenb.backend import use
from forgenb.ops import TABLE
from forgenb.storage.files import write_whole
from forgenb.testing.mutation.rules import rule_of

from . import checks, pictures, sources, tables
from .subjects import BACKEND, shown


def measured(docs: Path) -> dict[str, dict]:
    """What was found of each op; from the file of an earlier build if nothing has changed since."""
    place = docs / "_build" / "ops" / f"{source_hash(docs.parent, ('forgenb', 'backends', 'docs/_ext/op_pages'))}.json"
    if place.exists():
        return json.loads(place.read_text(encoding="utf-8"))
    with use(BACKEND), np.errstate(all="ignore"):
        found = {name: of_op(name) for name in TABLE}
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, json.dumps(found).encode())
    return found


def of_op(name: str) -> dict:
    """What is found of one op."""
    subject, rule = shown(name), rule_of(name)
    differentiable = bool(subject.places)
    return {
        "call": subject.call,
        "gradients": checks.gradients(subject) if differentiable else None,
        "values": checks.values(subject),
        "recorded": checks.recorded(subject) if differentiable else None,
        "picture": pictures.picture(subject) if differentiable else "",
        "forward": [piece._asdict() for piece in sources.forward(name)],
        "backward": [piece._asdict() for piece in sources.backward(name)],
        "equivalent": tables.equivalent(name),
        "gradient ops": rule.gradients,
        "borrowed": rule.borrowed,
    }
