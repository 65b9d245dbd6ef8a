"""Loops of bounded length on XLA: residuals are stored in arrays, and ints among the arguments are assumed to lie in ranges."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.core.ir.dynamic import walk
from morula.core.specialise.assumed_ranges import ranges_of

RNG = np.random.default_rng(3)
A = RNG.normal(size=(7, 7)) / 3 + 2 * np.eye(7)
X = RNG.normal(size=7)


def triangular(a):
    """Every kind of inner bound: growing, shrinking, backwards, with steps; some loops are empty."""
    a = a.copy()
    n = len(a)
    for i in range(n):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[:j, j]) / a[j, j]
        for j in range(i, n):
            a[i, j] -= np.sin(a[i, :i] @ a[:i, j])
        for j in range(n - 1, i, -2):
            a[j, i] *= np.cos(a[i, j])
        for j in range(i + 1, min(i + 3, n)):
            a[i, j] = a[i, j] ** 2 + a[j, i]
    return np.sum(a * a)


def whiles(jitted, *args) -> int:
    """How many ``while`` loops a program has: those that run a loop again from held states."""
    return sum(op.kind == "while" for op in walk(jitted.compilation(args, {})[0].function.block))


def test_loops_whose_bounds_depend_on_an_outer_index_store_what_the_backward_sweep_reads():
    compiled = mo.jit(mo.grad(triangular), target="xla")
    np.testing.assert_allclose(compiled(A), mo.grad(triangular)(A), rtol=1e-11)
    assert whiles(compiled, A) == 0


def power(x, n):
    for i in range(n):
        x = np.sin(x) * x + 0.1 * i
    return np.sum(x)


def test_a_program_serves_the_lengths_up_to_a_bound_that_grows():
    compiled = mo.jit(mo.grad(power), target="xla")
    expected = mo.grad(power)
    for n in (3, 2, 0, -4, 5, 8, 6, 9, 16, 3):
        np.testing.assert_allclose(compiled(X, n), expected(X, n), rtol=1e-11, err_msg=str(n))
    # The bounds are 3, then the powers of two 8 and 16; and -4 below.
    assert len(compiled.history.entries) == 4
    assert whiles(compiled, X, 16) == 0
    assert (
        "static: no argument; args[1] is assumed to be from 0 to 5, the lengths of loops; another"
        in compiled.explain(X, 5)
    )


@pytest.mark.parametrize(
    "lengths",
    [
        lambda n, m: range(n, m),
        lambda n, m: range(m, n, -1),
        lambda n, m: range(0, m, 3),
        lambda n, m: range(2 * m - n),
        lambda n, m: range(m // 2 + 1),
        lambda n, m: range(min(n, m)),
    ],
)
def test_bounds_are_computed_from_the_ints(lengths):
    def f(x, n, m):
        for i in lengths(n, m):
            x = np.sin(x) * x + 0.1 * i
        return np.sum(x)

    compiled = mo.jit(mo.grad(f), target="xla")
    for n, m in ((1, 5), (0, 5), (-3, 4), (2, 2), (6, 20), (20, 6)):
        np.testing.assert_allclose(compiled(X, n, m), mo.grad(f)(X, n, m), rtol=1e-11)
    assert whiles(compiled, X, 1, 5) == 0


def test_a_loop_that_stores_too_much_is_run_again_from_held_states():
    def f(x, n):
        for _ in range(n):
            x = np.sin(x) * x
        return np.sum(x)

    x = RNG.normal(size=2000)
    compiled = mo.jit(mo.grad(f), target="xla")
    few, many = compiled.lower(x, 100).as_text(), compiled.lower(x, 30_000).as_text()  # 1.6 MB and 480 MB
    assert "while" not in few
    assert "while" in many


def test_ints_that_are_no_lengths_have_no_range():
    def f(x, n):
        return np.sum(x**2) * n

    compiled = mo.jit(mo.grad(f), target="xla")
    for n in (1, 100, -7):
        np.testing.assert_allclose(compiled(X, n), 2 * X * n)
    assert len(compiled.history.entries) == 1


def test_second_derivatives_and_nested_lengths():
    def f(x, n):
        for i in range(n):
            for _ in range(i):
                x = x + 0.1 * np.sin(x)
        return x

    second = mo.grad(mo.grad(f))
    compiled = mo.jit(second, target="xla")
    for n in (4, 5, 2):
        np.testing.assert_allclose(compiled(0.7, n), second(0.7, n), rtol=1e-11)


def test_ranges_grow_to_powers_of_two():
    assert ranges_of([7, -3, True, 1.0], {}) == {0: (0, 7), 1: (-3, 0)}
    assert ranges_of([9, -4], {0: (0, 7), 1: (-3, 0)}) == {0: (0, 16), 1: (-4, 0)}
    assert ranges_of([2**62], {}) == {}


def rows_of_a_sparse_matrix(starts, columns, entries, x):
    y = np.zeros(len(starts) - 1)
    for i in range(len(starts) - 1):
        for k in range(starts[i], starts[i + 1]):
            y[i] += entries[k] * np.sin(x[columns[k]])
    return np.sum(y * y)


def test_a_loop_without_a_bound_stores_nothing_if_its_backward_sweep_reads_what_is_still_there():
    starts = np.array([0, 2, 2, 5, 6])
    columns, entries, x = np.array([0, 3, 1, 2, 3, 0]), RNG.normal(size=6), RNG.normal(size=4)
    gradients = mo.grad(rows_of_a_sparse_matrix, (2, 3))
    compiled = mo.jit(gradients, target="xla")
    given = starts, columns, entries, x
    for a, b in zip(compiled(*given), gradients(*given), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)
    assert whiles(compiled, *given) == 0


def test_loops_without_a_bound_that_must_store_are_run_again_beside_others_that_need_not():
    def f(starts, entries, x):
        total = 0.0
        for i in range(len(starts) - 1):
            part = 0.0
            for k in range(starts[i], starts[i + 1]):
                part += entries[k] * x
            while abs(part) > 0.5:
                part = part / (1.5 + part * part)
            total += part
        return total

    given = np.array([0, 2, 2, 5]), RNG.normal(size=5), 1.7
    gradients = mo.grad(f, (1, 2))
    compiled = mo.jit(gradients, target="xla")
    for a, b in zip(compiled(*given), gradients(*given), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11)
