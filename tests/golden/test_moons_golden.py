"""The data and the initial values of the half-moons example of OCANNL 0.5.1, which tests/train trains on."""

import numpy as np
from support import moons


def test_the_first_draws_of_the_generator():
    rng = moons.Xorshift(5)
    assert [rng.draw() for _ in range(4)] == [1622214, 402756614, 2057922950, -1532376310]


def test_points_and_parameters_come_from_one_stream():
    rng = moons.Xorshift(5)
    points = moons.moons(rng, 200)
    assert (points.shape, points.dtype) == ((400, 2), np.float32)
    np.testing.assert_allclose(points[:2], [[0.9165168, 0.1919432], [-0.0169168, 0.3141368]], atol=5e-8)
    np.testing.assert_allclose(points.min(0), [-1.07403, -0.58755], atol=5e-6)
    np.testing.assert_allclose(points.max(0), [2.09341, 1.09489], atol=5e-6)
    assert moons.labels(400)[:3].tolist() == [[1], [-1], [1]]
    drawn = moons.parameters(rng)
    assert list(drawn) == ["b1", "b2", "b3", "w1", "w2", "w3"]
    np.testing.assert_allclose(drawn["b1"][:3], [0.1632, 0.5114, 0.1833], atol=5e-8)
    assert all(((value >= 0) & (value < 1)).all() for value in drawn.values())
