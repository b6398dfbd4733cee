"""``forgenb doctor``."""

import copy
import json
import re

import pytest

from forgenb import bench
from forgenb.cli import doctor
from forgenb.cli.diagnosis import diagnose, problems

WELL = {
    "cpu": {"name": "x", "cores": 4, "features": ["avx2", "avx512f"]},
    "blas": {"core": "SkylakeX"},
    "threads": 4,
    "cache": {"folder": "/c", "writable": True, "entries": 0, "bytes": 0},
    "environment": {},
    "backends": [{"name": "cpu", "distribution": "forgenb", "version": "1", "state": "ready"}],
}


def changed(**changes):
    found = copy.deepcopy(WELL)
    for name, value in changes.items():
        if isinstance(found[name], dict):
            found[name].update(value)
        else:
            found[name] = value
    return found


def test_json(forgenb):
    done = forgenb("doctor", "--json")
    assert done.code == 0
    assert done.out.count("\n") == 1
    found = json.loads(done.out)
    wanted = "forgenb python platform packages cpu threads blas cache backends processes environment problems"
    assert list(found) == wanted.split()
    assert {"numba", "numpy", "scipy"} <= found["packages"].keys()
    assert found["threads"] >= 1
    assert found["blas"]["gflops"].keys() >= {"tile", "scipy"}


def test_text(forgenb, monkeypatch):
    done = forgenb("doctor")
    assert done.code == 0
    for name in ("processor", "BLAS", "products", "cache", "backends"):
        assert name in done.out
    assert re.search(r"tile \d+ GFLOP/s, scipy \d+ GFLOP/s", done.out)
    monkeypatch.setattr(doctor, "diagnose", lambda: {**diagnose(), "problems": []})
    assert "Nothing to mend." in forgenb("doctor").out
    listed = [{"problem": "[slow]", "fix": "[mend]"}]
    monkeypatch.setattr(doctor, "diagnose", lambda: {**diagnose(), "problems": listed})
    assert "Problem: [slow]\n    Fix: [mend]" in forgenb("doctor").out


def test_what_starts_several_processes(forgenb, monkeypatch):
    monkeypatch.setattr(bench, "launcher", lambda: ("/here/mpiexec", None))
    assert json.loads(forgenb("doctor", "--json").out)["processes"] == {"mpiexec": "/here/mpiexec", "missing": None}
    assert re.search(r"^processes +/here/mpiexec *$", forgenb("doctor").out, re.MULTILINE)
    monkeypatch.setattr(bench, "launcher", lambda: ("", "there is no mpiexec: pip install mpich"))
    assert diagnose()["processes"] == {"mpiexec": None, "missing": "there is no mpiexec: pip install mpich"}
    assert re.search(r"^processes +not available: there is no mpiexec", forgenb("doctor").out, re.MULTILINE)


def test_nothing_is_wrong_with_a_good_machine():
    assert list(problems(WELL)) == []
    assert list(problems(changed(blas={"core": "unknown"}))) == []
    assert list(problems(changed(cpu={"features": ["avx2"]}, blas={"core": "Haswell"}))) == []
    assert list(problems(changed(threads=None))) == []


@pytest.mark.parametrize(
    ("changes", "problem", "fix"),
    [
        (
            {"blas": {"core": "Haswell"}, "environment": {"OPENBLAS_CORETYPE": "Haswell"}},
            "BLAS uses its Haswell kernels on a processor with AVX-512",
            "unset OPENBLAS_CORETYPE, or set it to SkylakeX.",
        ),
        ({"blas": {"core": "Haswell"}}, "Haswell", "set OPENBLAS_CORETYPE=SkylakeX."),
        (
            {"blas": {"core": "Prescott"}, "cpu": {"features": ["avx2"]}},
            "BLAS uses its Prescott kernels on a processor with AVX2",
            "set OPENBLAS_CORETYPE=Haswell.",
        ),
        ({"cache": {"writable": False}}, "The kernel cache /c cannot be written", "FORGENB_CACHE"),
        ({"threads": 1}, "One thread is used on 4 cores", "set it to 4"),
        ({"threads": 9}, "9 threads share 4 cores", "FORGENB_THREADS=4"),
        ({"threads": 1, "cpu": {"cores": 1}}, "one core only", "taskset"),
        ({"environment": {"NUMBA_DISABLE_JIT": "1"}}, "nothing is compiled", "unset it"),
        (
            {"backends": [{"name": "b", "distribution": "d", "version": "1", "state": "broken", "reason": "old"}]},
            "The backend 'b' is broken: old",
            "update or uninstall d",
        ),
    ],
)
def test_problems(changes, problem, fix):
    (found,) = problems(changed(**changes))
    assert problem in found["problem"]
    assert fix in found["fix"]


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("FORGENB_CACHE", str(tmp_path / "file" / "cache"))
    found = diagnose()
    assert found["cache"]["writable"] is False
    assert found["environment"]["FORGENB_CACHE"] == str(tmp_path / "file" / "cache")
    monkeypatch.setenv("FORGENB_CACHE", str(tmp_path / "new" / "cache"))
    assert diagnose()["cache"] == {
        "folder": str(tmp_path / "new" / "cache"),
        "writable": True,
        "entries": 0,
        "bytes": 0,
    }
    (tmp_path / "new" / "cache" / "kernel").mkdir(parents=True)
    (tmp_path / "new" / "cache" / "kernel" / "a").write_bytes(bytes(7))
    assert [diagnose()["cache"][name] for name in ("entries", "bytes")] == [1, 7]


def test_a_backend_that_cannot_be_used_is_a_problem(monkeypatch):
    monkeypatch.setenv("FORGENB_BACKEND", "cup")
    found = diagnose()
    assert found["threads"] is None
    assert "FORGENB_BACKEND='cup' names no backend" in found["problems"][0]["problem"]
