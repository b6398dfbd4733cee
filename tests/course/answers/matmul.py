"""Answers to the exercises of chapter 06."""

import numpy as np


def linear_rule(dout, x, w, b):
    return dout @ w, dout.T @ x, dout.sum(0)


def tall(x):
    return x.reshape((-1, x.shape[-1]))


def shared_rule(dout, x, w):
    return dout @ w.T, tall(x).T @ tall(dout)


def ragged(x, w, rows, columns):
    (m, k), n = x.shape, w.shape[1]
    y = np.zeros((m, n))
    for i in range(0, m, rows):
        for j in range(0, n, columns):
            for p in range(k):
                left = [x[r, p] for r in range(i, min(i + rows, m))]
                right = [w[p, s] for s in range(j, min(j + columns, n))]
                y[i : i + rows, j : j + columns] += np.outer(left, right)
    return y


RIGHT = {"06-1": linear_rule, "06-2": shared_rule, "06-3": ragged}


def naive(x, w, rows, columns):
    return ragged(x, w, 1, 1)


def whole_tiles(x, w, rows, columns):
    (m, k), n = x.shape, w.shape[1]
    y = np.zeros((m, n))
    for i in range(0, m - m % rows, rows):
        for j in range(0, n - n % columns, columns):
            for p in range(k):
                left = [x[i + r, p] for r in range(rows)]
                y[i : i + rows, j : j + columns] += np.outer(left, [w[p, j + s] for s in range(columns)])
    return y


def past_the_edge(x, w, rows, columns):
    m, k = x.shape
    left = np.array([[x[i, p] for p in range(k)] for i in range(-(-m // rows) * rows)])
    return left[:m] @ everything_first(w, w, rows, columns)


def everything_first(x, w, rows, columns):
    (m, k), n = x.shape, w.shape[1]
    left = np.array([[x[i, p] for p in range(k)] for i in range(m)])
    return left @ np.array([[w[p, j] for j in range(n)] for p in range(k)])


def one_side(x, w, rows, columns):
    (m, k), n = x.shape, w.shape[1]
    y = np.zeros((m, n))
    for i in range(0, m, rows):
        for p in range(k):
            for j in range(n):
                number = w[p, j]
                for r in range(i, min(i + rows, m)):
                    y[r, j] += x[r, p] * number
    return y


def not_added(x, w, rows, columns):
    (m, k), n = x.shape, w.shape[1]
    return np.outer([x[i, k - 1] for i in range(m)], [w[k - 1, j] for j in range(n)])


def by_rows(x, w, rows, columns):
    return np.array([x[i] for i in range(x.shape[0])])


def mean_of_batch(dout, x, w):
    return dout @ w.T, tall(x).T @ tall(dout) / x.shape[0]


def per_matrix(dout, x, w):
    return dout @ w.T, x.swapaxes(1, 2) @ dout


WRONG = [
    ("06-3", "returns lists", lambda *a: ragged(*a).tolist(), "a NumPy array is asked for, and this is a list"),
    ("06-1", "transposes w", lambda dout, x, w, b: (dout @ w.T, dout.T @ x, dout.sum(0)), "transpos"),
    ("06-1", "transposes the gradient of w", lambda dout, x, w, b: (dout @ w, x.T @ dout, dout.sum(0)), "transpos"),
    ("06-1", "does not sum", lambda dout, x, w, b: (dout @ w, dout.T @ x, dout), "not summed"),
    ("06-1", "sums the other axis", lambda dout, x, w, b: (dout @ w, dout.T @ x, dout.sum(1)), "summed along the rows"),
    ("06-2", "gives one a matrix", per_matrix, "not summed"),
    ("06-2", "takes the mean", mean_of_batch, "takes a mean where it must sum"),
    ("06-2", "takes one matrix", lambda dout, x, w: (dout @ w.T, x[0].T @ dout[0]), "usual mistake"),
    ("06-2", "forgets to transpose", lambda dout, x, w: (dout @ w, tall(x).T @ tall(dout)), "transpos"),
    ("06-3", "has no tiles", naive, "as many as without tiles"),
    ("06-3", "leaves edges out", whole_tiles, "the edges are left out"),
    ("06-3", "goes past the edge", past_the_edge, "at an edge a tile is smaller"),
    ("06-3", "loads all first", everything_first, "it keeps more than a tile works with"),
    ("06-3", "keeps one side", one_side, "the numbers of w are used for a whole tile, and those of x are loaded"),
    ("06-3", "does not add", not_added, "only the last products are kept"),
    ("06-3", "takes rows", by_rows, "gives one number at a time"),
]
"""Exercise, mistake in words, answer, and what the verdict must say."""
