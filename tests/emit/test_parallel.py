"""Loops that run in several threads: which do, and that values and gradients are those of one thread."""

from __future__ import annotations

import numpy as np
import pytest
from parallel_programs import (  # noqa: F401
    RNG,
    X,
    any_loop,
    ensemble,
    flat_matrix,
    forces,
    heat,
    histogram,
    inner_array,
    last_value,
    loops,
    moving_sums,
    newton,
    product_and_extremes,
    reversed_writes,
    shared_parameters,
    softmax,
    some_only,
    steps_of_two,
    triangle,
    whole_arrays,
)

import morula as mo
from morula.core.emit.native import parallel_loops, thread_pool

pytestmark = pytest.mark.skipif(bool(thread_pool.why_serial()), reason="this system has no POSIX threads")


def agree(f, *args, threads=3):
    """Compare the value and the gradient of a function in several threads with those of one, and with eager ones."""
    for g in (f, mo.value_and_grad(f)):
        expected = mo.jit(g, target="native")(*args)
        compiled = mo.jit(g, target="native", parallel=threads)
        found = [compiled(*args) for _ in range(3)]
        eager = g(*map(np.array, args))
        for one, two, three in zip(*map(mo.tree.leaves, (expected, found[0], eager)), strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-12, atol=1e-13)
            np.testing.assert_allclose(two, three, rtol=1e-9, atol=1e-11)
        for again in found[1:]:
            for one, two in zip(*map(mo.tree.leaves, (found[0], again)), strict=True):
                np.testing.assert_array_equal(one, two)


def is_parallel(f, *args):
    return any(how.startswith("in parallel") for _, how in loops(f, *args))


M = RNG.random((24, 18))
INDEPENDENT = [
    (ensemble, RNG.random((40, 2)), 30),
    (forces, RNG.random((30, 2))),
    (heat, M, 3),
    (reversed_writes, X),
    (steps_of_two, X),
    (flat_matrix, X),
    (triangle, X),
    (product_and_extremes, X),
    (some_only, X),
    (histogram, X),
    (shared_parameters, X),
    (inner_array, X),
    (moving_sums, X),
    (last_value, X),
    (newton, X),
]


@pytest.mark.parametrize("f, args", [(f, args) for f, *args in INDEPENDENT], ids=lambda x: getattr(x, "__name__", ""))
def test_independent_iterations_run_in_parallel_with_the_same_result(f, args):
    assert is_parallel(f, *args)
    agree(f, *args)


@pytest.mark.parametrize("threads", [2, 7, 64])
def test_any_number_of_threads(threads):
    agree(ensemble, RNG.random((33, 2)), 5, threads=threads)
    agree(moving_sums, X, threads=threads)
    agree(histogram, X, threads=threads)


@pytest.mark.parametrize("f, args", [(whole_arrays, (RNG.random((60, 70)), 3)), (softmax, (RNG.random((80, 40)),))])
def test_operations_on_large_arrays_run_in_parallel(f, args):
    assert any(how == "array operations in parallel" for _, how in loops(f, *args))
    agree(f, *args)


@pytest.mark.parametrize("f, args", [(ensemble, (RNG.random((40, 2)), 30)), (histogram, (X,)), (moving_sums, (X,))])
def test_backward_loops_run_in_parallel(f, args):
    program = mo.jit(mo.value_and_grad(f), target="native", parallel=2).lower(*args).compile().executable
    found = [how.split(",")[0] for _, how in program.loops if not how.startswith("array")]
    assert found == ["in parallel", "in parallel"]


# Loops whose iterations are not


def recurrence(x):
    for i in range(1, len(x)):
        x[i] += 0.5 * x[i - 1]
    return np.sum(x)


def overlapping(x):
    y = np.zeros(len(x) + 1)
    for i in range(len(x)):
        y[i] = x[i]
        y[i + 1] = 2.0 * x[i]
    return np.sum(y)


def gathered(x, at):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[at[i]] = x[i]
    return np.sum(y * np.arange(len(x)))


def running(x):
    total, peak = 0.0, 0.0
    for i in range(len(x)):
        total = 0.9 * total + x[i]
        peak += total
    return peak


def switched(x):
    y = np.zeros(len(x))
    flag = 1.0
    for i in range(len(x)):
        y[i] = x[i] * flag
        if x[i] > 0.9:
            flag = -flag
    return np.sum(y)


def printing(x):
    for i in range(len(x)):
        mo.debug.print("{}", x[i])
    return np.sum(x)


DEPENDENT = [
    (recurrence, (X,), "in turn: it reads elements of an array float64[50] that another iteration may write"),
    (overlapping, (X,), "in turn: two iterations may write to the same element of an array float64[51]"),
    (
        gathered,
        (X, RNG.permutation(50)),
        "in turn: two iterations may write to the same element of an array float64[50]",
    ),
    (running, (X,), "in turn: `total` carries from iteration to iteration"),
    (switched, (X,), "in turn: `flag` carries from iteration to iteration"),
    (printing, (X,), "in turn: it calls Python, or prints"),
]


@pytest.mark.parametrize("f, args, reason", DEPENDENT, ids=lambda x: getattr(x, "__name__", ""))
def test_other_loops_run_in_turn_and_explain_says_why(f, args, reason, capsys):
    assert reason in [how for _, how in loops(f, *map(np.array, args))]
    assert reason in mo.jit(f, target="native", parallel=3).explain(*map(np.array, args))
    one = mo.jit(f, target="native")(*map(np.array, args))
    np.testing.assert_allclose(mo.jit(f, target="native", parallel=3)(*map(np.array, args)), one, rtol=1e-13)


def test_a_value_of_two_iterations_is_read():
    def f(x):
        y = x.copy()
        for i in range(len(x) - 1):
            y[i] = y[i + 1] * 2.0
        return np.sum(y * np.arange(len(x)))

    assert not is_parallel(f, X)
    agree(f, X)


def test_few_iterations_with_loops_inside_leave_the_threads_to_those():
    def f(x):
        total = 0.0
        for k in range(6):
            for i in range(len(x)):
                total += np.sin(x[i] * k) if x[i] > 0.2 * k else 0.1
        return total

    assert loops(f, X) == {(2, "in turn: it has only 6 iterations"), (3, "in parallel")}
    agree(f, X)


# Little work


def test_a_loop_with_little_work_runs_in_one_thread(monkeypatch):
    monkeypatch.setattr(parallel_loops, "LEAST", 60_000)
    assert loops(some_only, X) == {(2, "in turn: it has little work")}
    assert loops(triangle, X) == {(2, "in turn: it has little work")}


def test_work_that_is_known_only_at_run_time_decides_then(monkeypatch):
    monkeypatch.setattr(parallel_loops, "LEAST", 2_000)

    @mo.jit(target="native", parallel=3)
    def f(x, n):
        total = 0.0
        for i in range(n):
            total += np.sin(x[i])
        return total

    x = RNG.random(5000)
    for n in (0, 1, 3, 100, 5000):
        np.testing.assert_allclose(f(x, n), np.sum(np.sin(x[:n])), rtol=1e-13)
