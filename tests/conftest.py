"""Fixtures of several folders. No test may leave process-wide state changed: one fails it, and puts the state back."""

import contextlib
import os

import pytest
from support.state import differences, restore, snapshot


def pytest_addoption(parser):
    """Data that a test needs and that does not come with the project."""
    parser.addoption("--names-file", help="the names.txt of makemore, for the published losses of a bigram model")


def pytest_report_header():
    """Which backend tensors are made on, and whether other plug-ins are left out."""
    names = ("FORGENB_BACKEND", "FORGENB_DISABLE_PLUGINS")
    return "forgenb: " + ", ".join(f"{name}={os.environ.get(name, 'unset')}" for name in names)


def pytest_collection_modifyitems(items):
    """What reads the site goes first: building it takes minutes on one core, and at the end the others would wait."""
    items.sort(key=lambda item: "built_site" not in getattr(item, "fixturenames", ()))


@pytest.fixture(autouse=True)
def _nothing_is_left_changed():
    before = snapshot()
    yield
    changed = differences(before, snapshot())
    restore(before)
    assert changed == [], f"the test left state changed: {', '.join(changed)}"


@pytest.fixture(scope="session")
def simulated_cuda():
    """The CUDA backend without a GPU: on Numba's simulator where that was chosen, else on the lane interpreter."""
    from support.cuda import lane_backend

    return lane_backend(numba=os.environ.get("NUMBA_ENABLE_CUDASIM") == "1")


@pytest.fixture(params=["cpu", "python", "cuda"])
def each_backend(request):
    """The name of the default backend, each in turn."""
    from support.cuda import installed

    import forgenb as fnb

    with contextlib.ExitStack() as stack:
        if request.param == "cuda":
            stack.enter_context(installed(request.getfixturevalue("simulated_cuda")))
        stack.enter_context(fnb.use(request.param))
        yield request.param


@pytest.fixture
def text(tmp_path):
    """A file with 400 characters of twelve kinds."""
    path = tmp_path / "text.txt"
    path.write_text("abcde fghij\n" * 33 + "abcd")
    return path
