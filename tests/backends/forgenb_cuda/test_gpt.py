"""A tiny GPT: the losses of the CPU, in any order of lanes, and no hidden way to the host."""

import numpy as np
import pytest
from support.cuda import installed, lane_backend
from support.tiny_gpt import losses


@pytest.mark.parametrize("backwards", [False, True])
def test_the_first_losses_are_those_of_the_cpu(backwards):
    backend = lane_backend()
    backend.machine.watching, backend.machine.backwards = not backwards, backwards
    with installed(backend):
        found, _ = losses("cuda")
    np.testing.assert_allclose(found, losses("cpu")[0], atol=1e-5)


def test_a_step_copies_its_batch_and_what_is_read(cuda):
    """Ids and targets go up; the norm of the gradients and the loss come down; nothing else moves."""
    _, counts = losses("cuda")
    assert [(c.copies, c.syncs) for c in counts[1:]] == [(2, 2), (2, 2)]
