"""Peaks of memory that is alive."""

import pytest

import forgenb as fnb


@pytest.mark.parametrize("backend", ["cpu", "python"])
def test_blocks_count_until_they_are_collected(backend):
    with fnb.use(backend):
        before = fnb.tensor([0.0] * 1000)
        with fnb.peak_memory() as peak:
            assert peak.nbytes == 0
            x = fnb.tensor([0.0] * 100)
            assert (peak.now, peak.nbytes) == (400, 400)
            y = x + x
            assert peak.now == 800
            del x
            assert peak.now == 400
            del before
        y = y + y
    assert (peak.now, peak.nbytes) == (0, 800)


def test_one_inside_another():
    with fnb.peak_memory() as outer:
        x = fnb.tensor([0.0] * 10)
        with fnb.peak_memory() as inner:
            x = x + x
        x = x + x
    assert inner.nbytes == 40
    assert outer.nbytes == 80
    assert x.shape == (10,)


def test_an_error_ends_it():
    from forgenb.backend import seam

    with pytest.raises(KeyError), fnb.peak_memory():
        raise KeyError
    assert seam.METERS == []
