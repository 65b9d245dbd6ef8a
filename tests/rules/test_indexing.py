"""Rules of indexing, of selection between arrays, of sorting, interpolation and convolution."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as arrays
from rule_tester import check_rule

import morula as mo
from morula.core.rules import load
from morula.core.rules.table import RULES, pull

load()

random = np.random.default_rng(6)
A = random.uniform(-2, 2, (2, 3))
B = random.uniform(-2, 2, (2, 3, 4))
Z = A + 1j * random.uniform(-2, 2, (2, 3))
V = random.uniform(0.5, 2, 5)
S = A.astype(np.float32)
MASK = B > 0

INDICES: list[Any] = [
    0,
    -1,
    np.int64(1),
    np.array(1),
    slice(None),
    slice(None, None, -1),
    slice(1, None, 2),
    slice(5, 2),
    ...,
    None,
    (),
    (0, 1),
    (0, 1, 2),
    (..., 0),
    (None, 0, ..., None),
    (slice(None), 1, None, slice(0, 3, 2)),
    [0, 1, 0],
    [-1, 1],
    [],
    np.array([[0, 1], [1, 1]]),
    ([0, 1, 1], [2, 2, 0]),
    (slice(None), [0, 2, 2]),
    ([0, 0], slice(None), [1, 3]),
    ([[0], [1]], [1, 1], 2),
    (..., [0, 0, 3]),
    (0, [1, 1], None),
    (None, [0, 1, 1], ..., 0),
    MASK,
    MASK[:, :, 0],
    MASK[:, 0, 0],
    (MASK[:, 0, 0], 1),
    (MASK[:, 0, 0], [2]),
    (slice(None), MASK[0, :, 0], [0]),
    (0, MASK[0]),
    [True, False],
    True,
    False,
    np.array(True),
    np.zeros((2, 3, 4), bool),
]


@pytest.mark.parametrize("index", INDICES, ids=lambda i: str(i).replace("\n", ""))
def test_reading_with_any_index(index):
    check_rule(operator.getitem, B, index, known=(0,))


@pytest.mark.parametrize("x", [Z, S, np.zeros((0, 3))], ids=["complex128", "float32", "empty"])
@pytest.mark.parametrize("index", [slice(None), (slice(None), [0, 2, 2]), (..., 1)], ids=str)
def test_reading_of_any_dtype(x, index):
    check_rule(operator.getitem, x, index, known=(0,))


@given(st.data())
def test_reading_and_scattering_are_transposes_of_each_other(data):
    """<dy, x[index]> = <scatter(dy), x>, for whatever index."""
    shape = data.draw(arrays.array_shapes(max_dims=4, max_side=4))
    index = data.draw(
        st.one_of(
            arrays.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True),
            arrays.integer_array_indices(shape),
            arrays.arrays(bool, shape),
        )
    )
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(float)
    y = x[index]
    dy = np.asarray(y) ** 2 + 1
    (g, *_) = pull(RULES[operator.getitem], dy, y, (x, index), {})
    assert np.sum(dy * y) == np.sum(g * x)
    assert g.shape == x.shape


def test_an_element_read_twice_gets_both_cotangents():
    x = np.array([1.0, 2.0])
    i = np.array([0, 0, 1])
    (g, *_) = pull(RULES[operator.getitem], np.array([1.0, 10.0, 100.0]), x[i], (x, i), {})
    assert g.tolist() == [11.0, 100.0]


@pytest.mark.parametrize(
    ("x", "indices", "axis"),
    [(B, [0, 2, 2], 1), (B, [0, 2, 2], None), (B, 1, -1), (B, [[0, 1], [1, 1]], 0), (V, 2, None), (Z, [1, 1], 0)],
)
def test_take(x, indices, axis):
    check_rule(np.take, x, indices, axis, known=(0,))


@pytest.mark.parametrize("mode", ["wrap", "clip"])
@pytest.mark.parametrize("axis", [None, 1])
def test_take_beyond_the_ends(mode, axis):
    check_rule(np.take, A, [-9, -1, 3, 7], axis=axis, mode=mode, known=(0,))


@pytest.mark.parametrize(
    ("x", "indices", "axis"),
    [
        (A, np.argsort(A, axis=1), 1),
        (A, np.array([[0, 0], [2, 1]]), -1),
        (A, np.array([[1]]), 0),
        (B, np.zeros((2, 1, 4), int), 1),
        (A[:1], np.array([[0, 0], [2, 1]]), 1),
        (A, np.array([0, 5, 5]), None),
    ],
)
def test_take_along_axis(x, indices, axis):
    check_rule(np.take_along_axis, x, indices, axis, known=(0,))


def test_compress_and_extract():
    check_rule(np.compress, [True, False], A, axis=0, known=(1,))
    check_rule(np.compress, [True, False, True], A, axis=1, known=(1,))
    check_rule(np.compress, [True, False, True], A, known=(1,))
    check_rule(np.extract, A > 0, A, known=(1,))


@pytest.mark.parametrize(
    ("x", "y"),
    [(A, 2 * A), (A, 1.5), (1.5, 2.5), (A[0], A[:, :1]), (Z, A), (S, S), ([1.0, 2.0, 3.0], A)],
    ids=lambda v: str(np.shape(v)),
)
def test_where(x, y):
    check_rule(np.where, np.array([[True, False, True], [False, False, True]]), x, y, known=(1, 2))


def test_where_passes_exactly_nothing_to_the_branch_that_is_not_taken():
    condition = np.array([True, False])
    x = np.array([1.0, 2.0])
    _, gx, gy = pull(RULES[np.where], np.array([np.inf, np.nan]), x, (condition, x, x), {})
    assert gx.tolist() == [np.inf, 0.0]
    assert gy[0] == 0.0


def test_the_places_where_a_condition_holds_have_no_derivative():
    (places,) = np.where(np.array([0.0, 1.0]))
    assert pull(RULES[np.where], None, (places,), (np.array([0.0, 1.0]),), {}) == [None]


def test_select_takes_the_first_condition_that_holds():
    conditions = [A < -0.5, A < 0.5, np.array([True, False, False])]
    check_rule(np.select, conditions, [A, 2 * A, 3.0], 0.5, known=(1, 2))
    check_rule(np.select, conditions, [Z, A[0], A[:, :1]], known=(1,))


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_choose(mode):
    which = np.array([[0, 2, 1], [2, 2, 0]])
    if mode != "raise":
        which = which * 2 - 1
    check_rule(np.choose, which, [A, A[0], 1.5], mode=mode, known=(1,))
    check_rule(np.choose, which, random.uniform(size=(3, 2, 3)), mode=mode, known=(1,))


@pytest.mark.parametrize("axis", [0, -1, None])
@pytest.mark.parametrize("x", [A, B, S, Z], ids=["A", "B", "float32", "complex128"])
def test_sort_and_partition(x, axis):
    check_rule(np.sort, x, axis, known=(0,))
    check_rule(np.partition, x, 1, axis, known=(0,))


def test_sorting_what_has_no_axis_no_elements_or_equal_elements():
    check_rule(np.sort, np.zeros(0))
    check_rule(np.sort_complex, Z)
    x = np.array([2.0, 1.0, 2.0])
    (g,) = pull(RULES[np.sort], np.array([1.0, 10.0, 100.0]), np.sort(x), (x,), {})
    assert g.tolist() == [10.0, 1.0, 100.0]


def test_partition_of_a_long_array_sends_each_cotangent_to_its_own_element():
    x = random.permutation(1000).astype(float)
    y = np.partition(x, [100, 500])
    (g, *_) = pull(RULES[np.partition], 3 * y, y, (x, [100, 500]), {})
    np.testing.assert_array_equal(g, 3 * x)


def test_distinct_values_send_their_cotangent_to_the_first_of_the_equal_elements():
    x = np.array([[3.0, 1.0], [1.0, 2.0]])
    y = np.unique(x)
    (g,) = pull(RULES[np.unique], np.array([1.0, 10.0, 100.0]), y, (x,), {})
    assert g.tolist() == [[100.0, 1.0], [0.0, 10.0]]
    for f in (np.unique, np.unique_values, np.unique_counts, np.unique_inverse, np.unique_all):
        check_rule(f, V)
    check_rule(np.unique, V, return_counts=True)
    check_rule(np.unique, A, axis=1)


XP = np.array([0.0, 0.4, 1.1, 2.0])
FP = np.array([1.0, -0.5, 0.7, 2.0])


@pytest.mark.parametrize("x", [0.7, -0.5, 2.5, np.array([0.1, 0.9, 1.5]), np.array([[-1.0, 0.2], [1.9, 3.0]])], ids=str)
@pytest.mark.parametrize("fp", [FP, FP * (1 + 2j)], ids=["real", "complex"])
def test_interp(x, fp):
    check_rule(np.interp, x, XP, fp, known=(0, 1, 2))
    check_rule(np.interp, x, XP, fp, 0.3, 0.9, known=(0, 1, 2, 3, 4))


def test_interp_with_a_period_and_with_one_knot():
    x = np.array([-3.3, 0.2, 1.3, 2.6, 7.7])
    check_rule(np.interp, x, np.array([0.3, 1.9, -0.4, 1.2]), FP, None, None, 2.5, known=(0, 1, 2, 5))
    check_rule(np.interp, x, np.array([0.5]), np.array([2.0]), known=(0, 1, 2))


def test_interp_in_lists():
    check_rule(np.interp, [0.5, 1.5], [0.0, 1.0, 2.0], [1.0, 3.0, 2.0], known=(0, 1, 2))


def test_weighted_counts():
    check_rule(np.bincount, np.array([0, 2, 2, 1, 4]), V, known=(1,))
    check_rule(np.bincount, np.array([0, 2, 2, 1, 4]), V, minlength=7, known=(1,))


@pytest.mark.parametrize("density", [None, True])
@pytest.mark.parametrize("bins", [3, np.array([0.6, 0.9, 1.2, 1.9])], ids=["3", "edges"])
def test_a_weighted_histogram(bins, density):
    a = np.array([0.7, 1.0, 1.1, 1.85, 0.65])
    check_rule(np.histogram, a, bins, None, density, V, known=(0, 4))


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize(("n", "m"), [(5, 3), (3, 5), (4, 4), (5, 2), (2, 5), (6, 4), (4, 6), (1, 3), (3, 1), (1, 1)])
def test_convolve_and_correlate(n, m, mode):
    a, v = random.uniform(-1, 1, n), random.uniform(-1, 1, m)
    check_rule(np.convolve, a, v, mode=mode)
    check_rule(np.correlate, a, v, mode=mode)
    a, v = a + 1j * random.uniform(-1, 1, n), v + 1j * random.uniform(-1, 1, m)
    check_rule(np.convolve, a, v, mode=mode, order=0)
    check_rule(np.correlate, a, v, mode=mode, order=0)


@pytest.mark.parametrize(
    ("program", "args"),
    [
        (lambda fp, r: np.interp(np.array([0.5, 3.0]), XP, fp, right=r), (FP, 0.7)),
        (lambda x, p: np.interp(x, XP, FP, period=p), (np.array([0.5, 3.0]), 2.3)),
        (lambda a, d: np.select([A > 0], [a], default=d), (A, 0.7)),
        (lambda w: np.bincount(np.array([0, 2, 2]), weights=w), (V[:3],)),
        (lambda w: np.histogram(V[:3], bins=4, weights=w)[0], (V[:3],)),
        (lambda w: np.choose(a=[0, 1, 0], choices=[w, 2 * w]), (V[:3],)),
        (lambda x, y: np.where(A > 0, x * y, y), (A, 2.0)),
    ],
)
def test_an_argument_given_by_name_gets_its_cotangent(program, args):
    mo.testing.check_gradients(program, *args)
