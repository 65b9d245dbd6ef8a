"""Loops over parts of matrices that grow or shrink, rewritten as products: which ones are, and that results agree."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from path_tester import PATHS, check_value, gradient_of, run_on

from morula.core.ir.dynamic import verify, walk
from morula.core.ir.evaluate import evaluate
from morula.core.passes import side_by_side
from morula.core.passes.side_by_side import products_of_loops
from morula.core.specialise import (
    specialise,
    surface,  # noqa: F401  what NumPy's functions do on traced values
)
from morula.core.testing.differences import ridders

N = 12
RNG = np.random.default_rng(0)
A, B, C = (RNG.normal(size=(N, N)) for _ in range(3))
TARGETS = ("native", "xla")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Native code uses blocks of rows, one of them with fewer rows than the others, also for small matrices."""
    monkeypatch.setattr(side_by_side, "BLOCK", 8)


def rewritten(f, target, *args):
    """The program of f with products in place of loops."""
    return verify(products_of_loops(specialise(f, args, {}).function, target))


def steps(function):
    """The steps of the loops that a program executes unless an array holds Inf or NaN."""
    slow = {o for op in walk(function.block) if op.kind == "if" for o in walk(op.blocks[1])}
    return [int(op.operands[2].constant) for op in walk(function.block) if op.kind == "range" and op not in slow]


def triangular_times_matrix(a, b, c):
    b = b.copy()
    for i in range(N):
        for j in range(N):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    return b


def lower_triangle_of_product(a, b, c):
    c = c.copy()
    for i in range(N):
        c[i, : i + 1] *= 0.5
        for k in range(N):
            c[i, : i + 1] += 1.5 * a[i, k] * b[: i + 1, k] - b[i, k] * a[: i + 1, k]
    return c


def symmetric_product(a, b, c):
    c, t = c.copy(), np.empty(N)
    for i in range(N):
        for j in range(N):
            c[:i, j] += b[i, j] * a[i, :i]
            t[j] = b[:i, j] @ a[i, :i]
        c[i, :] += b[i, :] * a[i, i] + t
    return c


def rows_and_columns(a, b, c):
    c = np.zeros((N, N))
    for i in range(N):
        c[i:, i] = c[i, i:] = a[:, i] @ a[:, i:] / 3.0
    return c


def outer_products_of_vectors(a, b, c):
    c = c.copy()
    for i in range(N):
        c[i:] -= a[i:, i, None] * (2.0 * b[i])
    return c


def parts_that_shift_backwards(a, b, c):
    c = c.copy()
    for i in range(N):
        c[i, N - i :] = b[N - i :] @ a[i] + i
    return c


def sums_of_products(a, b, c):
    total = np.zeros((N, N))
    for i in range(2, N):
        total += a[i][:, None] * (b[i, :i] @ b[:i])
    return total


PROGRAMS = [
    triangular_times_matrix,
    lower_triangle_of_product,
    symmetric_product,
    rows_and_columns,
    outer_products_of_vectors,
    parts_that_shift_backwards,
    sums_of_products,
]


@pytest.mark.parametrize("f", PROGRAMS)
def test_a_loop_over_parts_that_grow_or_shrink_is_a_product_or_one_over_blocks(f):
    for target in TARGETS:
        made = rewritten(f, target, A, B, C)
        assert steps(made) == ([8] if target == "native" else [])
        np.testing.assert_allclose(evaluate(made, (A, B, C))[0], f(A, B, C), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("f", PROGRAMS)
def test_elements_that_the_loop_does_not_use_may_be_infinite(f):
    programs = [rewritten(f, target, A, B, C) for target in TARGETS]
    for row in range(0, N, 3):
        for column in range(1, N, 4):
            given = [x.copy() for x in (A, B, C)]
            given[row % 2][row, column] = (np.inf, np.nan)[column % 2]
            with np.errstate(invalid="ignore"):
                expected = f(*given)
                for made in programs:
                    np.testing.assert_allclose(evaluate(made, given)[0], expected, rtol=1e-11, atol=1e-12)


def forward_substitution(a, b, c):
    x = b.copy()
    for i in range(N):
        x[i] -= a[i, :i] @ x[:i]
    return x


def what_iterations_before_have_written(a, b, c):
    c = c.copy()
    for i in range(1, N):
        c[i] = c[i - 1] + a[i, :i] @ b[:i]
    return c


def two_that_overlap(a, b, c):
    c = c.copy()
    for i in range(N):
        c[: i + 1] = a[: i + 1] + (b[i, : i + 1] @ b[: i + 1])
    return c


def parts_that_are_not_aligned(a, b, c):
    c = c.copy()
    for i in range(N):
        c[i, :i] += a[:i] @ b[i] * b[i, N - i :]
    return c


@pytest.mark.parametrize(
    "f",
    [forward_substitution, what_iterations_before_have_written, two_that_overlap, parts_that_are_not_aligned],
)
def test_a_loop_stays_where_the_order_of_iterations_matters_or_parts_are_not_aligned(f):
    for target in TARGETS:
        made = rewritten(f, target, A, B, C)
        assert steps(made) == [1]
        np.testing.assert_allclose(evaluate(made, (A, B, C))[0], f(A, B, C), rtol=1e-11, atol=1e-12)


LOWS = (lambda i: 0, lambda i: 2, lambda i: i, lambda i: i + 1, lambda i: N - i)
HIGHS = (lambda i: i, lambda i: i + 1, lambda i: N, lambda i: N - i, lambda i: N - 1)


def row_of_product(a, b, c, i, low, high):
    c[i, low:high] += a[i] @ b[low:high].T


def row_times_part(a, b, c, i, low, high):
    c[i] -= a[i, low:high] @ b[low:high]


def slab(a, b, c, i, low, high):
    c[low:high] += a[i, low:high, None] * b[i]


def columns(a, b, c, i, low, high):
    c[:, low:high] += b[i][:, None] * a[low:high, i]


def column_of_product(a, b, c, i, low, high):
    c[low:high, i] = a[low:high] @ b[i]


def scaled_row(a, b, c, i, low, high):
    c[i, low:high] *= 0.5


def row_of_itself(a, b, c, i, low, high):
    c[i] += a[i, low:high] @ c[low:high]


def diagonal(a, b, c, i, low, high):
    c[i, i] += np.dot(a[i, low:high], b[low:high, i])


STATEMENTS = (*(row_of_product, row_times_part, slab, columns, column_of_product, scaled_row, row_of_itself, diagonal),)


def random_program(body, begin):
    def program(a, b, c):
        c = c.copy()
        for i in range(begin, N):
            for statement, low, high in body:
                statement(a, b, c, i, low(i), high(i))
        return c

    return program


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(STATEMENTS), st.sampled_from(LOWS), st.sampled_from(HIGHS)), min_size=1, max_size=3),
    st.integers(0, 3),
    st.sampled_from([None, np.inf, np.nan]),
    st.integers(0, 2),
    st.integers(0, N - 1),
    st.integers(0, N - 1),
)  # fmt: skip
def test_random_loops_over_parts_have_the_same_result(body, begin, odd, which, row, column):
    f = random_program(body, begin)
    given_ = [x.copy() for x in (A, B, C)]
    if odd is not None:
        given_[which][row, column] = odd
    with np.errstate(all="ignore"):
        expected = f(*given_)
        for target in TARGETS:
            found = evaluate(rewritten(f, target, A, B, C), given_)[0]
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


def loss_of(f):
    return lambda a, b, c: np.sum(np.sin(f(a, b, c)))


LOSSES = {f.__name__: loss_of(f) for f in PROGRAMS}


DIRECTIONS = RNG.normal(size=(2, 3, N, N))


@cache
def slopes(name):
    """The slopes of a loss along the directions, by differences."""
    f = LOSSES[name]
    return [ridders(lambda h, d=d: f(A + h * d[0], B + h * d[1], C + h * d[2]), 1e-2)[0] for d in DIRECTIONS]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", LOSSES)
def test_gradients_on_every_path(path, name):
    value, gradient = run_on(path)(gradient_of(LOSSES[name], (0, 1, 2)))(A, B, C)
    np.testing.assert_allclose(value, LOSSES[name](A, B, C), rtol=1e-12)
    found = [sum(np.sum(g * x) for g, x in zip(gradient, d)) for d in DIRECTIONS]
    np.testing.assert_allclose(found, slopes(name), rtol=1e-7, atol=1e-7)


def rows_but_the_first(a, b, c):
    return np.sum(triangular_times_matrix(a, b, c)[1:])


@pytest.mark.parametrize("path", PATHS)
def test_what_the_loop_does_not_use_has_no_part_in_values_and_gradients(path):
    b, huge = B.copy(), B.copy()
    huge[1, 2] = np.inf  # read by the first iteration only, whose row is not summed
    b[1, 2] = 0.0
    check_value(path, rows_but_the_first, A, huge, C)
    gradients = [run_on(path)(gradient_of(rows_but_the_first, (0, 2)))(A, x, C)[1] for x in (huge, b)]
    for found, expected in zip(*gradients):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
