"""Loops rewritten as matrix products: which ones are, which are not, and that results agree."""

from __future__ import annotations

import numpy as np
import pytest

from morula.core.ir.dynamic import verify, walk
from morula.core.ir.evaluate import evaluate
from morula.core.passes.index_proofs import without_checks
from morula.core.passes.side_by_side import side_by_side
from morula.core.passes.simplify import simplify
from morula.core.specialise import (
    specialise,
    surface,  # noqa: F401  what NumPy's functions do on traced values
)

N = 12
RNG = np.random.default_rng(0)
A, B, C = (RNG.normal(size=(N, N)) for _ in range(3))


def loops(f, *args) -> tuple[int, int]:
    """How many loops a program has before and after; both give what the function gives."""
    typed = simplify(without_checks(specialise(f, args, {}).function))
    made = verify(side_by_side(typed))
    for function in (typed, made, verify(simplify(made))):
        np.testing.assert_allclose(evaluate(function, args)[0], f(*args), rtol=1e-12, atol=1e-13)
    return tuple(sum(op.kind == "range" for op in walk(g.block)) for g in (typed, made))


def matrix_product(a, b):
    c = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            for k in range(N):
                c[i, j] += a[i, k] * b[k, j]
    return c


def triangular_product(a, b):
    b = b.copy()
    for i in range(N):
        for j in range(N):
            b[i, j] += np.dot(a[i + 1 :, i], b[i + 1 :, j])
    return b


def rank_one_updates(a, c):
    c = c.copy()
    for i in range(N):
        for k in range(N):
            c[i, : i + 1] += 1.5 * a[i, k] * a[: i + 1, k]
    return c


def differences_of_two(a, b):
    c = np.zeros(N)
    for k in range(N):
        c -= 2.0 * a[k, 0] * b[k] - b[k, 1] * a[k]
    return c


def orthogonalisation(a, b):
    a = a.copy()
    for i in range(N):
        for j in range(i + 1, N):
            s = np.dot(b[:, i], a[:, j])
            a[:, j] -= s * b[:, i]
    return a


def symmetric_product(a, b):
    c, t = np.ones((N, N)), np.empty(N)
    for i in range(N):
        for j in range(N):
            c[:i, j] += b[i, j] * a[i, :i]
            t[j] = b[:i, j] @ a[i, :i]
        c[i, :] += b[i, :] * a[i, i] + t
    return c


@pytest.mark.parametrize(
    ("f", "before", "after"),
    [
        (matrix_product, 3, 0),
        (triangular_product, 2, 1),
        (rank_one_updates, 2, 1),
        (differences_of_two, 1, 0),
        (orthogonalisation, 2, 1),
        (symmetric_product, 2, 1),
    ],
)
def test_a_loop_of_dots_or_multiples_is_a_product(f, before, after):
    assert loops(f, A, B) == (before, after)


def neighbours(a, b):
    a = a.copy()
    for j in range(1, N):
        a[0, j] = np.dot(a[:, j - 1], b[:, j])
    return a


def what_an_iteration_before_has_written(a, b):
    a = a.copy()
    for j in range(N):
        a[0, j] = np.dot(a[0], b[:, j])
    return a


def a_row_that_all_write(a, b):
    c = np.zeros(N)
    for j in range(N):
        c[3] = np.dot(a[0], b[:, j])
    return c


def a_sum_that_is_read(a, b):
    c = np.zeros(N)
    s = 0.0
    for j in range(N):
        s += np.dot(a[0], b[:, j])
        c[j] = s
    return c


def every_other_one(a, b):
    c = np.zeros(N)
    for j in range(0, N, 2):
        c[j] = np.dot(a[0], b[:, j])
    return c


def slices_that_grow(a, b):
    c = np.zeros(N)
    for j in range(N):
        c[j] = np.dot(a[0, :j], b[:j, j])
    return c


def elements_named_twice(a, b):
    c, twice = np.zeros(N), np.array([1, 1, *range(2, N)])
    for k in range(N):
        c[twice] += a[k, 0] * b[k]
    return c


def sums_of_elements(a, b):
    c = np.zeros((N, N))
    for j in range(N):
        c[0, j] = a[0, j] + b[j, 1]
    return c


@pytest.mark.parametrize(
    "f",
    [
        neighbours,
        what_an_iteration_before_has_written,
        a_row_that_all_write,
        a_sum_that_is_read,
        every_other_one,
        slices_that_grow,
        elements_named_twice,
        sums_of_elements,
    ],
)
def test_a_loop_stays_where_iterations_depend_on_each_other_or_nothing_is_gained(f):
    assert loops(f, A, B) == (1, 1)


def test_a_loop_that_may_not_run_reads_nothing_out_of_range():
    def f(a, b, k, n):
        c = np.zeros(N)
        for j in range(n):
            c += a[k, j] * b[j]
        return c

    typed = simplify(without_checks(specialise(f, (A, B, 3, 5), {}).function))
    made = simplify(side_by_side(typed))
    for n in (0, 5):
        np.testing.assert_allclose(evaluate(made, (A, B, 3, n))[0], f(A, B, 3, n), rtol=1e-12)
    np.testing.assert_array_equal(evaluate(made, (A, B, N + 3, 0))[0], np.zeros(N))


def test_numbers_that_are_the_same_in_all_iterations_do_not_count_where_there_are_none():
    def f(a, b, x):
        c = np.zeros((N, N))
        for i in range(N):
            for k in range(i):
                c[i] += x * a[i, k] * b[k]
        return c

    assert loops(f, A, B, 2.0) == (2, 1)
    typed = simplify(without_checks(specialise(f, (A, B, 2.0), {}).function))
    assert np.all(evaluate(side_by_side(typed), (A, B, np.inf))[0][0] == 0.0)


def test_float32_stays_float32():
    a, b = A.astype(np.float32), B.astype(np.float32)

    def f(a, b):
        c = np.zeros(N, np.float32)
        for k in range(N):
            c += 0.5 * a[0, k] * b[k]
        return c

    typed = simplify(without_checks(specialise(f, (a, b), {}).function))
    (found,) = evaluate(verify(side_by_side(typed)), (a, b))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, f(a, b), rtol=1e-5)
