"""Less common forms of NumPy's functions: axes of scalars, weights, initial values, edges, positions."""

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


def edges(x, m):
    return (
        np.diff(x, prepend=0.0),
        np.diff(x, append=x[0]),
        np.diff(m, n=2, axis=0, prepend=np.ones((1, 3)), append=7),
        np.diff(x > 3, prepend=True),
        np.ediff1d(m, to_end=[1.0, 2.0], to_begin=m[0, 1]),
        np.logspace(m / 10, 0.5, 3, axis=-1),
        np.logspace(0.5, 1.5, 3, base=x[:2]),
    )


def places(x, m):
    return (
        np.insert(x, [3, 1], m[0, :2]),
        np.insert(x, 2, m[0]),
        np.insert(x, [-1, 0], m[1, :2]),
        np.insert(x, slice(0, 4, 2), 7.0),
        np.insert(m, 1, m[:, 0], 1),
        np.insert(m, 1, m[:, :2].T, 1),
        np.insert(m, [1], m[:, :1], 1),
        np.split(x, [3, 1]),
        np.split(x, [-2]),
        np.tril(x),
        np.asfortranarray(m[0, 0]),
    )


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
@pytest.mark.parametrize("program", [edges, places])
def test_edges_and_places(program, path):
    check_value(path, program, np.array([1.0, 4.0, 9.0, 16.0]), np.arange(1.0, 7.0).reshape(2, 3) ** 2)


def test_what_np_insert_and_np_diff_raise():
    x = np.arange(4.0)
    for f in (
        lambda a: np.insert(a, 9, 1.0),
        lambda a: np.insert(a, [1, -9], 1.0),
        lambda a: np.diff(a, n=-1),
        lambda a: np.diff(a[0]),
        lambda a: np.ediff1d(a[:2].astype(int), to_end=0.5),
    ):
        assert outcome(mo.jit(f, target="native"), x) == outcome(f, x)


@pytest.mark.parametrize("path", ["native", "xla"])
def test_a_spread_about_a_given_mean_has_slope_zero_where_all_are_equal(path):
    gradient = mo.jit(mo.grad(lambda x: np.std(x, mean=np.full((), 1.5))), target=path)
    assert gradient(np.full(3, 1.5)).tolist() == [0.0, 0.0, 0.0]
    check_gradient(path, lambda x: np.std(x, mean=np.full((), 1.5)), np.array([1.0, 2.0, 0.3]))
