"""Windows that slide over an array, in compiled code: values, gradients, views, errors."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from path_tester import check_gradient, check_value

import morula as mo

COMPILED = pytest.mark.parametrize("path", ["native", "xla"])
V, M = np.array([0.3, -1.2, 0.7, 2.0, -0.4, 1.1]), np.linspace(-1.0, 1.3, 20).reshape(4, 5) ** 3


def moving_average(v):
    return np.sum(sliding_window_view(v, 3).mean(axis=-1) ** 2)


def correlation(m, kernel):
    return np.sum(np.einsum("ijkl,kl->ij", sliding_window_view(m, (2, 3)), kernel) ** 2)


def along_one_axis(m):
    return np.sum(sliding_window_view(m, 2, axis=1) ** 2 * np.arange(2)) + np.sum(sliding_window_view(m, 3, -2)[..., 1])


def twice_along_one_axis(v):
    return np.sum(sliding_window_view(v, (2, 3), axis=(0, 0)) ** 3)


def of_a_part(m):
    return np.max(sliding_window_view(m[::2, 1], 2).sum(axis=1)) + np.sum(sliding_window_view(m.T, (5, 4)) ** 2)


@COMPILED
@pytest.mark.parametrize(
    ("f", "args"),
    [
        (moving_average, (V,)),
        (correlation, (M, M[:2, :3])),
        (along_one_axis, (M,)),
        (twice_along_one_axis, (V,)),
        (of_a_part, (M,)),
    ],
)
def test_gradients(path, f, args):
    check_gradient(path, f, *args)


def seen_through_a_view(v):
    windows = sliding_window_view(v, 2)
    v[1] = 10.0 * v[0]
    return windows * 1.0, v


@COMPILED
def test_a_later_change_of_the_array_is_seen(path):
    check_value(path, seen_through_a_view, V)
    check_gradient(path, lambda v: np.sum(seen_through_a_view(v)[0] ** 2), V)


def wrong(v, window, axis=None):
    return sliding_window_view(v, window, axis)


@COMPILED
@pytest.mark.parametrize("args", [(V, 7), (V, -1), (M, 2), (M, (2, 2), 0), (V, 2, 1)])
def test_errors_are_those_of_numpy(path, args):
    with pytest.raises(ValueError) as expected:
        wrong(*args)
    with pytest.raises(ValueError) as found:
        mo.jit(lambda v: wrong(v, *args[1:]), target=path)(args[0])
    assert str(found.value).startswith(str(expected.value))


def written(v):
    sliding_window_view(v, 2)[0] = 0.0
    return v


def test_what_is_refused():
    for f in (lambda v: as_strided(v, (3, 2), (8, 8)), lambda v: sliding_window_view(v, 2, writeable=True)):
        with pytest.raises(mo.BadInput, match="use|write into the array"):
            mo.jit(f, target="native")(V)
    with pytest.raises(ValueError, match="read-only"):
        mo.jit(written, target="native")(V.copy())
