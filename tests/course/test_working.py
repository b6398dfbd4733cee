"""A learner's folder: nothing that was written is lost, and progress is kept."""

import json

import pytest

from forgenb.course import Limits, Verdict, WorkingFolder, chapter, working
from forgenb.errors import ArgumentError, CheckpointError

ONE, THREE = chapter(1), chapter(3)


@pytest.fixture
def folder(tmp_path):
    return WorkingFolder(tmp_path / "deep/work")


@pytest.fixture
def examined(monkeypatch):
    """What would be run, and a verdict on it that is made up."""
    calls = []

    def examine(files, name, numbers, limits):
        calls.append((dict(files), name, limits))
        return tuple(Verdict(number, "passed" if number.endswith("1") else "not written", "") for number in numbers)

    monkeypatch.setattr("forgenb.course.working.examine", examine)
    return calls


def test_a_chapter_is_copied_once(folder):
    path, was_there = folder.open(THREE)
    assert (path, was_there) == (folder.path / "03_arrays.py", False)
    assert path.read_bytes() == THREE.path.read_bytes()
    path.write_text("mine")
    assert folder.open(THREE) == (path, True)
    assert path.read_text() == "mine"
    assert folder.find(THREE) == path
    assert folder.find(ONE) is None


def test_reset_keeps_what_was_there(folder):
    path, kept = folder.reset(THREE)
    assert (path.read_bytes(), kept) == (THREE.path.read_bytes(), None)
    assert folder.reset(THREE) == (path, None)
    for number in (1, 2, 3):
        path.write_text(f"mine {number}")
        assert folder.reset(THREE) == (path, folder.path / f"old-{number}-03_arrays.py")
        assert path.read_bytes() == THREE.path.read_bytes()
    assert [(folder.path / f"old-{n}-03_arrays.py").read_text() for n in (1, 2, 3)] == ["mine 1", "mine 2", "mine 3"]


def test_progress_is_kept(folder, examined):
    assert folder.progress()(THREE) == folder.progress()(THREE).__class__(None, {}, True)
    path, _ = folder.open(THREE)
    assert (folder.progress()(THREE).file, folder.progress()(THREE).current) == (path, False)
    (folder.path / "helper.py").write_text("h = 1\n")
    found = folder.check(THREE, Limits(9.0, 3.0))
    assert [verdict.status for verdict in found] == ["passed", "not written", "not written"]
    files, name, limits = examined[0]
    assert (name, limits) == ("03_arrays.py", Limits(9.0, 3.0))
    assert files == {"03_arrays.py": THREE.path.read_bytes(), "helper.py": b"h = 1\n"}
    reached = folder.progress()(THREE)
    assert reached.statuses == {"03-1": "passed", "03-2": "not written", "03-3": "not written"}
    assert reached.current
    path.write_text("changed")
    assert not folder.progress()(THREE).current
    folder.open(ONE)
    folder.check(ONE, Limits())
    assert folder.progress()(THREE).statuses == reached.statuses
    path.unlink()
    assert folder.progress()(THREE).file is None
    with pytest.raises(
        ArgumentError, match=r"there is no 03_arrays.py in '.*work': forgenb course open 3 puts it there"
    ):
        folder.check(THREE, Limits())


def test_a_notebook_is_worked_in_as_well(folder, examined):
    pytest.importorskip("jupytext", reason="notebooks need pip install forgenb[docs]")
    path, _ = folder.open(THREE, as_notebook=True)
    assert path == folder.path / "03_arrays.ipynb" == folder.find(THREE)
    folder.check(THREE, Limits())
    source = examined[0][0]["03_arrays.py"].decode()
    assert "def sum_to(dout, shape):\n    raise NotImplementedError" in source
    assert "From scalars" not in source
    cells = json.loads(path.read_bytes())
    cells["cells"][1]["source"] += ["\n# mine"]
    path.write_text(json.dumps(cells))
    assert folder.reset(THREE, as_notebook=True)[1] == folder.path / "old-1-03_arrays.ipynb"
    folder.open(THREE)
    with pytest.raises(ArgumentError, match=r"and only one can be checked: move 03_arrays.py or 03_arrays.ipynb elsew"):
        folder.check(THREE, Limits())


@pytest.mark.parametrize("text", ["[]", '{"03": 1}', '{"03": {"content": 1, "statuses": {}}}', '{"03"', "\0" * 9])
def test_damaged_progress_is_refused_and_left(folder, examined, text):
    folder.open(THREE)
    (folder.path / "progress.json").write_text(text)
    for ask in (folder.progress, lambda: folder.check(THREE, Limits())):
        with pytest.raises(CheckpointError, match=r"progress.json' is damaged, and may be removed, and made again by"):
            ask()
    assert (folder.path / "progress.json").read_text() == text
    assert examined == []


def test_a_place_that_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ArgumentError, match="file' cannot be a folder to work in: "):
        WorkingFolder(tmp_path / "file").open(THREE)
    (tmp_path / "03_arrays.py").mkdir()
    with pytest.raises(CheckpointError, match="Is a directory"):
        WorkingFolder(tmp_path).reset(THREE)
    with pytest.raises(CheckpointError, match="03_arrays.py' is in the way, and no file: move it elsewhere"):
        WorkingFolder(tmp_path).open(THREE)
    with pytest.raises(ArgumentError, match="cannot be a folder to work in: embedded null byte"):
        WorkingFolder(tmp_path / "a\0b").open(THREE)


def test_what_is_checked_at_the_same_time_is_kept(folder, examined, monkeypatch):
    """Another process checks a chapter while this one waits for its own verdicts."""
    folder.open(ONE)
    folder.open(THREE)
    quick = working.examine

    def slow(*arguments):
        monkeypatch.setattr(working, "examine", quick)
        WorkingFolder(folder.path).check(ONE, Limits())
        return quick(*arguments)

    monkeypatch.setattr(working, "examine", slow)
    folder.check(THREE, Limits())
    assert folder.progress()(ONE).statuses["01-1"] == folder.progress()(THREE).statuses["03-1"] == "passed"


def test_progress_is_told_though_a_copy_cannot_be_read(folder, examined):
    path, _ = folder.open(THREE)
    folder.check(THREE, Limits())
    path.write_bytes(b"x" * (1 + (1 << 20)))
    assert not folder.progress()(THREE).current
    assert folder.progress()(THREE).statuses["03-1"] == "passed"
