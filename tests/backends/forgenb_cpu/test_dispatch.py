"""Which way products take, what is said where a library is missing, and how fast each way is."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
from forgenb_cpu import dispatch, mkl
from forgenb_cpu.library import Library
from support.blas import LIBRARIES

import forgenb as fnb
from forgenb.errors import ArgumentError


def test_a_choice_that_does_not_exist_is_refused(monkeypatch):
    monkeypatch.setenv("FORGENB_BLAS", "fast")
    with pytest.raises(ArgumentError, match="FORGENB_BLAS must be auto, tile, scipy or mkl, got 'fast'"):
        dispatch.blas_from_environment()


@pytest.mark.parametrize("way", ["tile", *LIBRARIES])
def test_a_choice_is_taken(monkeypatch, way):
    monkeypatch.setenv("FORGENB_BLAS", way)
    assert dispatch.blas_from_environment() == way
    assert way in dispatch.choices()


@pytest.mark.parametrize(("avx512", "way"), [(True, "tile"), (False, "scipy")])
def test_without_a_choice_the_processor_decides(monkeypatch, avx512, way):
    monkeypatch.delenv("FORGENB_BLAS", raising=False)
    monkeypatch.setattr(dispatch.llvm, "get_host_cpu_features", lambda: {"avx512f": avx512})
    assert dispatch.blas_from_environment() == way


def launcher_of(way, m, n, k, trans_b=False):
    steps = (k, k if trans_b else n, n), (0,) * 6
    flags, scales, places = (False, trans_b), (1.0, 0.0), (8, 8, 8, 0)
    return dispatch.product_launch(way, 0, "float32", (m, n, k), flags, scales, places, steps, (1, 1))[0]


@pytest.mark.parametrize("way", LIBRARIES)
def test_a_library_gets_large_products_alone(way):
    assert launcher_of(way, 100, 100, 100).name == "tiled-float32"
    assert launcher_of(way, 200, 200, 200).name == "gemm-float32"
    assert launcher_of(way, 2000, 8, 2000).name == "tiled-float32"
    assert launcher_of(way, 2, 2000, 2000).name == "tiled-float32"
    assert launcher_of(way, 1, 2000, 2000).name == "stream-float32"
    assert launcher_of(way, 1, 2000, 2000, trans_b=True).name == "dots-float32"
    assert launcher_of(way, 2000, 1, 2000).name == "dots-float32"
    assert launcher_of("tile", 200, 200, 200).name == "tiled-float32"


@pytest.fixture
def fresh():
    mkl.mkl_library.cache_clear()
    yield
    mkl.mkl_library.cache_clear()


@pytest.mark.usefixtures("fresh")
def test_a_library_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(mkl, "_places", list)
    monkeypatch.setenv("FORGENB_BLAS", "mkl")
    with pytest.raises(ArgumentError, match="needs MKL, which is not installed here: pip install mkl, or choose tile"):
        dispatch.blas_from_environment()
    monkeypatch.setattr(dispatch, "mkl_path", mkl.mkl_path)
    assert dispatch.choices() == ["tile", "scipy"]


@pytest.mark.usefixtures("fresh")
def test_a_library_that_cannot_be_loaded(monkeypatch, tmp_path):
    broken = tmp_path / "libmkl_rt.so.9"
    broken.write_text("not a library")
    monkeypatch.setattr(mkl, "_places", lambda: [tmp_path / "libmkl_core.so.9", tmp_path / "libmkl_rt.so.8", broken])
    with pytest.raises(
        ArgumentError, match=r"found MKL at .*libmkl_rt.so.9, which cannot be loaded .*--force-reinstall"
    ):
        mkl.mkl_library()


class Wide:
    """An MKL whose integers have been set to 64 bits."""

    def MKL_Set_Interface_Layer(self, wanted):
        return 1


@pytest.mark.usefixtures("fresh")
def test_a_library_that_counts_in_64_bits(monkeypatch):
    monkeypatch.setattr(mkl, "mkl_path", lambda: Path("libmkl_rt.so"))
    monkeypatch.setattr(ctypes, "CDLL", lambda path: Wide())
    with pytest.raises(ArgumentError, match="this process has set it to 64: unset MKL_INTERFACE_LAYER"):
        mkl.mkl_library()


def test_mkl_of_a_conda_environment(monkeypatch, tmp_path):
    def missing(name):
        raise mkl.importlib.metadata.PackageNotFoundError(name)

    (tmp_path / "lib").mkdir()
    library = tmp_path / "lib" / "libmkl_rt.so.2"
    library.touch()
    monkeypatch.setattr(mkl.importlib.metadata, "files", missing)
    monkeypatch.setattr(mkl.sys, "prefix", str(tmp_path))
    assert mkl.mkl_path() == library


def test_a_library_is_held_at_one_thread():
    number = [4]
    library = Library({}, lambda: number[0], lambda wanted: number.__setitem__(0, wanted), {})
    with library:
        assert number == [1]
        with library:
            assert library.users == 2
        assert number == [1]
    assert number == [4]


def test_every_way_is_measured():
    speeds = fnb.tensor(0.0).backend.product_speeds()
    assert list(speeds) == dispatch.choices()
    assert all(speed > 0.1 for speed in speeds.values())


@pytest.mark.parametrize("way", LIBRARIES)
def test_the_report_names_the_library(monkeypatch, way):
    backend = fnb.tensor(0.0).backend
    monkeypatch.setattr(backend, "blas", way)
    report = backend.report()
    assert report["products"] == way
    assert ("Math Kernel Library" if way == "mkl" else "") in str(report["config"])
    np.testing.assert_array_equal(
        (fnb.tensor(np.ones((300, 300))) @ np.ones((300, 300))).numpy(), np.full((300, 300), 300)
    )
