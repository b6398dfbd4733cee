"""The tests of the op table, on the python backend.

Left out are only the gradient checks by differences, which take a minute there; gradients are compared with the
reference below. ``FORGENB_BACKEND=python pytest tests/ops`` runs all tests of ops on it.
"""

import pytest
from ops.test_table import (  # noqa: F401 - pytest collects them here
    test_an_op_in_place_writes_its_first_input_and_says_so,
    test_forward_agrees_with_the_reference,
    test_gradients_agree_with_the_reference,
    test_gradients_in_short_dtypes_agree_with_float64,
    test_inputs_are_neither_changed_nor_handed_out,
    test_layout_of_an_input_does_not_change_bits,
    test_nothing_stays_alive_without_the_cyclic_collector,
    test_recording_changes_no_bits_and_tracks_float_outputs,
)

import forgenb as fnb


@pytest.fixture(autouse=True)
def _on_python():
    with fnb.use("python"):
        yield
