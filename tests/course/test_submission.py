"""What is handed in is found by learner and chapter, and read with care."""

import json
import os

import pytest

from forgenb.course.submission import source_of, submissions
from forgenb.errors import ArgumentError, CheckpointError


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def notebook(*cells):
    return json.dumps({"cells": [{"cell_type": kind, "source": source} for kind, source in cells]})


def rows(folder, number=None):
    found = submissions(folder, number)
    return [(s.learner, s.chapter and s.chapter.number, s.path.as_posix(), bool(s.problem)) for s in found]


def test_a_subfolder_a_learner(tmp_path):
    files = {"aa/03_arrays.py": "a", "aa/01.ipynb": notebook(("code", "b")), "aa/helper.py": "c", "aa/030.py": "d"}
    write(tmp_path, **files, **{"bb/03-mine.py": "e", "_old/03.py": "f", ".x/03.py": "g", "aa/notes.txt": "h"})
    assert rows(tmp_path) == [
        ("aa", "01", "aa/01.ipynb", False),
        ("aa", "03", "aa/03_arrays.py", False),
        ("bb", "03", "bb/03-mine.py", False),
    ]
    first, second, third = submissions(tmp_path)
    assert first.files == {"01_slopes.py": b"b\n", "03_arrays.py": b"a", "030.py": b"d", "helper.py": b"c"}
    assert second.files["03_arrays.py"] == b"a"
    assert third.files == {"03_arrays.py": b"e", "03-mine.py": b"e"}
    assert rows(tmp_path, 1) == [("aa", "01", "aa/01.ipynb", False), ("bb", "01", "bb", True)]
    assert submissions(tmp_path, 1)[1].problem == "there is no file of chapter 01 in it."


def test_a_file_a_learner(tmp_path):
    write(tmp_path, **{"aa.py": "a", "bb.ipynb": notebook(("code", "b")), "notes.txt": "c", "ee/03_x.py": "d"})
    assert rows(tmp_path, "3") == [
        ("aa", "03", "aa.py", False),
        ("bb", "03", "bb.ipynb", False),
        ("ee", "03", "ee/03_x.py", False),
        ("notes.txt", "03", "notes.txt", True),
    ]
    assert submissions(tmp_path, 3)[0].files == {"03_arrays.py": b"a"}
    with pytest.raises(ArgumentError, match=r"'aa.py' does not say which chapter it answers: give --chapter, or a sub"):
        submissions(tmp_path)


def test_a_bad_entry_is_its_own_problem(tmp_path):
    write(tmp_path, **{"aa/03_a.py": "a", "aa/03_b.py": "b", "bb/readme.py": "c", "cc/03_x.py": "x" * (1 << 20)})
    write(tmp_path, **{"dd/03_x.py": "x" * (1 + (1 << 20)), "ee/03_x.ipynb": "[1", "ff/03_x.py": "good"})
    os.symlink("/etc/hostname", tmp_path / "ff/04_link.py")
    os.symlink(tmp_path / "aa", tmp_path / "gg")
    (tmp_path / "hh").mkdir()
    os.symlink("/etc/hostname", tmp_path / "hh/03_x.py")
    (tmp_path / "i'\"/03_x.py").mkdir(parents=True)
    found = {each.learner: each.problem for each in submissions(tmp_path, 3)}
    assert found["aa"] == "more than one file is of chapter 03: 03_a.py, 03_b.py."
    assert found["bb"] == "there is no file of chapter 03 in it."
    assert found["cc"] == found["ff"] == ""
    assert "it has more than 1048576 bytes" in found["dd"]
    assert "is no notebook: it is no JSON that is read here" in found["ee"]
    assert found["gg"] == "it is no .py file, no notebook and no folder."
    assert found["hh"] == "'hh/03_x.py' is a link, which is not followed: put the file itself there."
    assert found["i'\""].startswith("'i\\'\"/03_x.py' cannot be read: ")
    assert "04_link.py" not in next(s for s in submissions(tmp_path, 3) if s.learner == "ff").files
    assert submissions(tmp_path)[1].problem == "there is no file whose name begins with a chapter's number in it."
    assert submissions(tmp_path)[1].chapter is None


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_is_closed(tmp_path):
    write(tmp_path, **{"aa/03_a.py": "a", "bb/03_a.py": "b"})
    (tmp_path / "aa").chmod(0)
    assert rows(tmp_path, 3) == [("aa", "03", "aa", True), ("bb", "03", "bb/03_a.py", False)]


def test_nothing_to_grade(tmp_path):
    with pytest.raises(ArgumentError, match="there is no folder '.*none' to grade: give the one that holds"):
        submissions(tmp_path / "none")
    with pytest.raises(ArgumentError, match="nothing lies in '.*': put a file or a subfolder there for each learner"):
        submissions(tmp_path)
    (tmp_path / "aa").mkdir()
    with pytest.raises(ArgumentError, match="there is no chapter '77'"):
        submissions(tmp_path, "77")


def test_the_code_of_a_notebook(tmp_path):
    path = tmp_path / "x.ipynb"
    path.write_text(notebook(("markdown", "prose"), ("code", ["x = 1\n", "%time x\n", "  !ls\n"]), ("code", "y = 2")))
    assert source_of(path) == b"x = 1\n# %time x\n#   !ls\n\n\ny = 2\n"
    for text in ("{}", '{"cells": []}'):
        path.write_text(text)
        assert source_of(path) == b"\n"
    for text in ('{"cells": [1]}', '{"cells": [{"cell_type": "code"}]}', '{"cells": 1}'):
        path.write_text(text)
        with pytest.raises(CheckpointError, match="has cells without a kind or without lines of text"):
            source_of(path)
