"""What reductions of NumPy do with a single number, with weights of fewer axes, and with initial values, compiled as in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import check_gradient, check_value

import morula as mo

NUMBER = np.array(2.5)
CUBE = np.arange(1.0, 13.0).reshape(3, 2, 2) ** 1.5
W = np.array([[0.5, 1.5], [2.0, 1.0], [0.3, 0.7]])

OF_A_NUMBER = (
    *(np.sum, np.prod, np.max, np.min, np.all, np.any, np.ptp, np.cumsum, np.cumprod, np.count_nonzero, np.nansum),
    *(np.mean, np.std, np.sort, np.median, np.add.reduce, np.hypot.reduce, np.logical_or.reduce, np.add.accumulate),
)


def outcome(f, *args):
    try:
        return np.asarray(f(*args)).tolist()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("function", OF_A_NUMBER, ids=lambda f: getattr(f, "__qualname__", str(f)))
def test_axes_of_a_single_number(function):
    forms = [lambda x: function(x, axis=0), lambda x: function(x, axis=-1), lambda x: function(x, axis=1)]
    if function not in (np.cumsum, np.cumprod, np.sort, np.add.accumulate, np.median):  # which take one axis
        forms.append(lambda x: function(x, axis=(0,)))
    for f in forms:
        assert outcome(mo.jit(f, target="native"), NUMBER) == outcome(f, NUMBER)


WEIGHTED = {
    "two axes": lambda x, w: np.average(x, axis=(0, 1), weights=w),
    "axes in another order": lambda x, w: np.average(x, axis=(1, 0), weights=w.T),
    "axes that are not next to each other": lambda x, w: np.average(x, axis=(2, 0), weights=w.T),
    "one axis": lambda x, w: np.average(x, axis=-2, weights=w[0]),
    "all": lambda x, w: np.average(x[0], weights=w[:2]),
    "returned": lambda x, w: np.average(x, axis=(0, 1), weights=w, returned=True),
    "returned without weights": lambda x, w: np.average(x, axis=1, returned=True),
    "returned number": lambda x, w: np.average(x, returned=True),
    "kept": lambda x, w: np.average(x, axis=(0, 1), weights=w, returned=True, keepdims=True),
    "ints": lambda x, w: np.average(np.arange(12).reshape(3, 2, 2), axis=(0, 1), weights=w),
}


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
@pytest.mark.parametrize("form", WEIGHTED)
def test_weighted_averages(form, path):
    check_value(path, WEIGHTED[form], CUBE, W)


def averages(x, w):
    both = np.average(x, axis=(1, 0), weights=w.T, returned=True)
    return np.sum(both[0] ** 2) + np.sum(both[1]) * 0.1


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
def test_gradient_of_a_weighted_average(path):
    check_gradient(path, averages, CUBE, W)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_weights_that_do_not_fit_or_sum_to_zero(target):
    def average(x, w):
        return np.average(x, axis=1, weights=w)

    def over_all(x, w):
        return np.average(x, weights=w)

    compiled = mo.jit(average, target=target)
    for w in (np.array([1.0, -1.0]), np.ones(3), np.ones((3, 2)), np.ones(2)):
        assert outcome(compiled, CUBE, w) == outcome(average, CUBE, w)
    assert outcome(mo.jit(over_all, target=target), CUBE, np.ones(2)) == outcome(over_all, CUBE, np.ones(2))


def running(x):
    return np.cumulative_sum(x, axis=1, include_initial=True), np.cumulative_prod(x[:, 0, 0], include_initial=True)


def along(x, index):
    return np.take_along_axis(x, index, 1)


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
def test_running_sums_from_their_initial_value(path):
    if not hasattr(np, "cumulative_sum"):
        pytest.skip("NumPy before 2.1")
    check_value(path, running, CUBE)


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
def test_one_row_is_taken_along_for_each_row_of_indices(path):
    check_value(path, along, np.arange(3.0)[None], np.array([[0, 1], [2, 1]]))
    check_value(path, along, np.arange(6.0).reshape(2, 3), np.array([[0, 2]]))
