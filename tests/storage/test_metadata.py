"""The text that travels with a checkpoint; `test_hostile` has many that are refused."""

import json

import pytest

from forgenb.errors import CheckpointError
from forgenb.storage.metadata import read_metadata
from forgenb.train.persistence.progress import PROGRESS

ABOUT = {"step": 3, "best_val": 1.5, "seconds": 2.0}


def test_what_is_read():
    for best in (1.5, None):
        about = ABOUT | {"best_val": best}
        assert read_metadata("p", json.dumps({"format": 2} | about), 2, PROGRESS) == about


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"format": 1}, "has format 1, this forgenb reads 2"),
        ({"format": True}, "has format True"),
        ({"step": -1}, "is damaged: in its metadata step must be a whole number from 0 and is -1"),
        ({"best_val": 1}, "best_val must be a finite number or null and is 1"),
        ({"seconds": -0.5, "more": 1}, "seconds must be a finite number from 0 and is -0.5; 'more' is unknown"),
    ],
)
def test_refusals(changed, message):
    with pytest.raises(CheckpointError, match=f"^The checkpoint 'p' .*{message}"):
        read_metadata("p", json.dumps({"format": 2} | ABOUT | changed), 2, PROGRESS)


def test_what_is_missing():
    with pytest.raises(CheckpointError, match="The checkpoint 'p' is incomplete: its metadata lacks step, seconds"):
        read_metadata("p", '{"format": 2, "best_val": null}', 2, PROGRESS)
