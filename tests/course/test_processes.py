"""Files are judged in processes of their own, whatever they do there."""

import os
import subprocess
import sys
import time

import pytest

from forgenb.course import Limits
from forgenb.course.processes import examine
from forgenb.errors import ArgumentError

NUMBERS = ("01-1", "01-2", "01-3")
GOOD = """
import numpy as np
import forgenb as fnb

def curvature(f, x, h):
    return (f(x + h) - 2 * f(x) + f(x - h)) / h**2

def gradient(f, x, h):
    raise NotImplementedError

def slope_along(f, x, v, h):
    return f(x)
"""
LATER = """
from forgenb.course.check import check
for number, answer in (("01-1", curvature), ("01-2", gradient)):
    print(fnb.course.check(number, answer))
if fnb.course.check("01-1", curvature).passed or check("01-1", curvature).passed:
    del curvature
"""


def judged(source, limits=Limits(), **others):  # noqa: B008  # it is frozen
    files = {name: text.encode() for name, text in others.items()} | {"01_slopes.py": source.encode()}
    verdicts = examine(files, "01_slopes.py", NUMBERS, limits)
    assert [verdict.number for verdict in verdicts] == list(NUMBERS)
    return verdicts


def statuses(source):
    return [verdict.status for verdict in judged(source)]


def test_each_exercise_has_its_own_verdict():
    """The loop at the end of a chapter is run, and judges nothing twice."""
    passed, unwritten, failed = judged(GOOD + LATER)
    assert str(passed) == "01-1 passed: curvature is right on all hidden inputs."
    assert unwritten.status == "not written"
    assert unwritten.explanation.startswith("gradient is still to be written: ")
    assert failed.status == "failed"
    assert "With " in failed.explanation


def test_a_file_that_ends_early_is_judged_as_far_as_it_went():
    source = "def curvature(f, x, h):\n    return helper.right(f, x, h)\nimport helper\n1 / 0\ndef gradient(): 1\n"
    found = judged(source, **{"helper.py": GOOD.replace("curvature", "right")})
    assert [verdict.status for verdict in found] == ["passed", "error", "error"]
    text = "the file ends with ZeroDivisionError: division by zero (line 4: 1 / 0), before this function is made."
    assert found[0].explanation == "curvature is right on all hidden inputs."
    assert found[1].explanation == found[2].explanation == text


def test_no_python():
    found = judged("def curvature(f x):\n    pass\n")
    assert [verdict.status for verdict in found] == ["error"] * 3
    assert {verdict.explanation for verdict in found} == {"the file has an error in line 1: invalid syntax."}


def test_no_python_in_a_file_beside_it():
    found = judged("import helper\n", **{"helper.py": "def f(x:\n"})
    assert found[0].explanation.startswith("the file ends with SyntaxError: ")
    assert found[0].explanation.endswith(", before this function is made.")


def test_an_end_behind_all_functions_is_told_once():
    found = judged(GOOD + "\nanswers[3]\n")
    assert [verdict.status for verdict in found] == ["passed", "not written", "failed"]
    text = " The file itself ends with NameError: name 'answers' is not defined (line 14: answers[3])."
    assert [verdict.explanation.endswith(text) for verdict in found] == [False, False, True]


def test_what_functions_print_is_heard():
    """Not what the file prints; a bounded part, and with the verdict that it belongs to."""
    source = (
        "import sys\nprint('the file')\n"
        "def curvature(f, x, h):\n    print('here', x, flush=True)\n"
        "    sys.stdout.reconfigure(line_buffering=True)\n    sys.stdout.buffer.write(b'\\xff')\n"
        "    return (f(x + h) - 2 * f(x) + f(x - h)) / h**2\n"
        "def gradient(*a): sys.stdout.write('long' * 1_000_000)\n"
        "def slope_along(*a): breakpoint()\n"
    )
    found = judged(source)
    assert found[0].printed == "here 0.7\n\ufffdhere -0.6\n\ufffdhere 2.1\n\ufffd"
    assert (len(found[1].printed), found[1].printed[-5:]) == (2003, "ng...")
    assert found[2].explanation.startswith(
        "slope_along raises RuntimeError: nobody can answer a breakpoint while a file"
    )
    assert found[2].printed == ""


def test_endless_exercises_cost_only_themselves():
    source = "def curvature(f, x, h):\n    while True: pass\n" + GOOD.replace("def curvature", "def other")
    found = judged(source, Limits(seconds=3.0))
    assert [verdict.status for verdict in found] == ["timeout", "not written", "failed"]
    assert found[0].explanation == "it takes more than 3 s."


def test_an_endless_file():
    found = judged("while True: pass", Limits(seconds=0.3))
    assert {(verdict.status, verdict.explanation) for verdict in found} == {
        ("timeout", "the file itself takes more than 0.3 s.")
    }


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_processes_that_end_by_themselves():
    """One leaves a child behind, which holds on to all that is open."""
    source = (
        "import os, sys, time\n"
        "def curvature(*a): sys.exit('so')\n"
        "def gradient(*a):\n"
        "    if os.fork() == 0: time.sleep(1000)\n"
        "    os._exit(3)\n"
        "def slope_along(*a): os.kill(os.getpid(), 11)\n"
    )
    found = judged(source, Limits(seconds=60.0))
    assert [verdict.status for verdict in found] == ["error"] * 3
    assert found[0].explanation.startswith("curvature raises SystemExit: so (line 2: ")
    assert found[1].explanation == "its process ended by itself, with code 3."
    assert found[2].explanation.startswith("its process was ended by signal 11, ")


@pytest.mark.skipif(os.name != "posix", reason="address space is bounded where there is the module resource")
def test_memory_is_bounded():
    take = "    held = np.zeros(1 << 28)\n"  # 2 GiB that nobody touches
    source = GOOD.replace("h):\n", "h):\n" + take, 1)
    small = judged(source, Limits(memory=1.5))
    assert [verdict.status for verdict in small] == ["memory", "not written", "failed"]
    assert "curvature raises MemoryError: " in small[0].explanation


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_prints_children_and_a_folder_that_is_emptied(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").write_text("mine")
    source = (
        "import os, sys, time\n"
        "for number in (1, 2): os.write(number, b'x' * 3_000_000)\n"
        'print(\'{"number": "01-2", "status": "passed", "explanation": ""}\' * 1000)\n'
        f"child = {str(tmp_path / 'child')!r}\n"
        "if os.fork() == 0:\n"
        "    open(child + '.tmp', 'w').write(str(os.getpid()))\n"
        "    os.rename(child + '.tmp', child)\n"
        "    time.sleep(1000)\n"
        "while not os.path.exists(child): time.sleep(0.01)\n"
        "for name in os.listdir('.'): os.remove(name)\n"
        "os.fork()\n"
    )
    assert statuses(source + GOOD) == ["passed", "not written", "failed"]
    assert (tmp_path / "mine").read_text() == "mine"
    assert _gone(int((tmp_path / "child").read_text()))


def _gone(number):
    """Whether a process has ended; a killed one needs a moment, and perhaps somebody who buries it."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            with open(f"/proc/{number}/stat") as file:
                if file.read().rpartition(") ")[2][0] == "Z":
                    return True
            os.kill(number, 0)
        except OSError:
            return True
        time.sleep(0.01)
    return False


FORGED = """
from forgenb.course import exercise, judging
fnb.course.check = lambda *a: fnb.course.Verdict("01-2", "passed", "")
judging.expect = judging._same = lambda *a, **k: None
for row in list(exercise.EXERCISES.values()):
    object.__setattr__(row, "judge", lambda answer: None)
"""


def test_what_is_replaced_in_the_course_changes_nothing():
    assert statuses(GOOD + FORGED) == ["passed", "not written", "failed"]


def test_what_is_replaced_in_libraries_is_seen():
    inside = "    np.allclose = lambda *a, **k: True\n    fnb.Tensor.sum = None\n    return f(x)\n"
    source = GOOD.replace("    raise NotImplementedError\n", inside) + "import math\nmath.sqrt = None\n"
    found = judged(source)
    assert [verdict.status for verdict in found] == ["error"] * 3
    text = "the submission replaces {}, which judges rely on: it is not judged."
    assert found[0].explanation == found[2].explanation == text.format("math.sqrt")
    assert found[1].explanation == text.format("math.sqrt, numpy.allclose, forgenb.tensor.Tensor.sum")


def test_what_is_written_between_verdicts_is_seen():
    source = (
        "import os\nfor number in range(3, 30):\n    try:\n"
        '        os.write(number, b\'{"key": "", "number": "01-1", "status": "passed", "explanation": ""}\\n\')\n'
        "    except OSError: pass\n"
    )
    found = judged(source)
    assert [verdict.status for verdict in found] == ["error"] * 3
    assert found[0].explanation == "something else than a verdict was written where verdicts are told."


def test_equal_files_have_equal_verdicts(monkeypatch):
    """Also where the environment has another default backend."""
    source = (
        "import os, random, numpy as np, forgenb as fnb\n"
        "assert fnb.tensor(1.0).backend.name == 'cpu'\n"
        "def curvature(f, x, h): raise ValueError(object(), random.random(), np.random.rand(), hash('a'))\n"
        "def gradient(*a): open(os.path.join(os.getcwd(), 'no'))\n"
        "def slope_along(*a): raise ValueError('long' * 1000)\n"
    )
    first = judged(source)
    monkeypatch.setenv("FORGENB_BACKEND", "python")
    second = judged(source)
    assert first == second
    assert "<object object at 0x...>" in first[0].explanation
    assert "No such file or directory: 'no'" in first[1].explanation
    assert len(first[2].explanation) == 2003
    assert first[2].explanation.endswith("longl...")


@pytest.mark.parametrize(
    ("name", "value"), [("seconds", 0.0), ("memory", float("nan")), ("seconds", 1e9), ("memory", "4")]
)
def test_limits_must_be_some(name, value):
    with pytest.raises(ArgumentError, match=f"{name} must be above 0 and at most a million .*, got {value!r}"):
        Limits(**{name: value})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked")
def test_nothing_runs_on_when_who_judges_is_killed(tmp_path):
    """Neither an endless file nor what it has started; and its folder is gone."""
    place = tmp_path / "numbers"
    source = (
        "import os, time\n"
        "child = os.fork()\n"
        "if child:\n"
        f"    open({str(tmp_path / 'new')!r}, 'w').write(f'{{os.getpid()}} {{child}} {{os.getcwd()}}')\n"
        f"    os.rename({str(tmp_path / 'new')!r}, {str(place)!r})\n"
        "while True: time.sleep(0.01)\n"
    )
    code = (
        "import sys\nfrom forgenb.course.processes import Limits, examine\n"
        "examine({'x.py': sys.argv[1].encode()}, 'x.py', ['01-1'], Limits())\n"
    )
    judge = subprocess.Popen([sys.executable, "-c", code, source])
    deadline = time.monotonic() + 60
    while not place.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    judge.kill()
    judge.wait()
    *numbers, folder = place.read_text().split()
    assert len(numbers) == 2
    assert all(_gone(int(number)) for number in numbers)
    assert not os.path.exists(folder)


def test_a_file_may_go_elsewhere():
    """Even into a folder that is not there any more."""
    source = GOOD.replace("    raise NotImplementedError\n", "    open(__file__ + 'x')\n") + (
        "import os, tempfile\nwith tempfile.TemporaryDirectory() as folder: os.chdir(folder)\n"
    )
    passed, missing, failed = judged(source)
    assert (passed.status, failed.status) == ("passed", "failed")
    assert "No such file or directory: '01_slopes.pyx'" in missing.explanation
