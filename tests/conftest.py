"""No test may leave process-wide state changed: the fixture here fails it, and puts the state back."""

import pytest
from support.state import differences, restore, snapshot


@pytest.fixture(autouse=True)
def _nothing_is_left_changed():
    before = snapshot()
    yield
    changed = differences(before, snapshot())
    restore(before)
    assert changed == [], f"the test left state changed: {', '.join(changed)}"
