"""Loops reversed from few held states: gradients of loops of any length, and the number of iterations run again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings as hypothesis_settings, strategies as st
from typed_tester import check, gradient, program, total, vector

from morula.core import specialise  # noqa: F401  the schedule is traced
from morula.core.ir.dynamic import walk
from morula.core.ir.evaluate import Evaluation, evaluate
from morula.core.ir.memory_policies import Policy, online, revolve
from morula.core.ir.schedules import advances
from morula.core.ir.typed import FLOAT64, INT64
from morula.core.passes.reverse import reverse
from morula.core.passes.simplify import simplify

POLICIES = {
    "default": Policy(),
    "sqrt": Policy("sqrt"),
    "recompute": Policy("recompute"),
    "revolve1": revolve(1),
    "revolve3": revolve(3),
    "online2": online(2),
    "online5": online(5),
}


def with_policy(f, policy):
    """Give the outermost loops of a program a memory policy."""
    for op in f.block.operations:
        if op.kind in ("range", "while"):
            op.callee = policy
    return f


def counted_while(b, x, y, n):
    def step(t, a, k):
        a = b.setitem(a, [b.ufunc(np.remainder, k, b.constant(3, np.int64))], b.ufunc(np.sin, t), ("i",))
        t = b.ufunc(np.add, b.ufunc(np.multiply, b.ufunc(np.cos, t), y), total(b, a))
        return [t, a, b.ufunc(np.add, k, b.constant(1, np.int64))]

    initial = [b.ufunc(np.multiply, x, x), b.full((3,), x), b.constant(0, np.int64)]
    t, a, _ = b.while_(lambda t, a, k: b.ufunc(np.less, k, n), step, initial)
    return [b.ufunc(np.add, t, total(b, a))]


def counted_range(b, x, y, n):
    two = b.constant(2, np.int64)

    def step(i, t):
        u = b.ufunc(np.multiply, b.cast(i, float), b.ufunc(np.sin, b.ufunc(np.multiply, t, y)))
        return [b.ufunc(np.add, b.ufunc(np.multiply, t, b.constant(0.9)), u)]

    stop = b.ufunc(np.add, b.ufunc(np.add, n, n), b.constant(3, np.int64))
    return b.range_(b.constant(3, np.int64), stop, two, step, [x])


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("body", [counted_while, counted_range])
def test_any_length_with_one_program(body, policy, target):
    f = program(body, FLOAT64, FLOAT64, INT64)
    by_stack = gradient(f, [True, True, False], "native")
    by_checkpoints = gradient(with_policy(f, POLICIES[policy]), [True, True, False], target)
    smaller = simplify(by_checkpoints)
    for n in (0, 1, 3, 4, 5, 17, 40):
        found, expected = (evaluate(g, [0.7, 0.3, n]) for g in (smaller, by_stack))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    np.testing.assert_array_equal(evaluate(smaller, [0.7, 0.3, 9]), evaluate(by_checkpoints, [0.7, 0.3, 9]))


@pytest.mark.parametrize("policy", POLICIES)
def test_loops_of_unknown_length_in_each_other(policy):
    def body(b, x, n):
        zero, one = b.constant(0, np.int64), b.constant(1, np.int64)

        def outer(i, t):
            def inner(u, k):
                return [b.ufunc(np.sin, b.ufunc(np.add, u, t)), b.ufunc(np.add, k, one)]

            u, _ = b.while_(lambda u, k: b.ufunc(np.less, k, i), inner, [b.ufunc(np.multiply, t, x), zero])
            return [b.ufunc(np.multiply, b.ufunc(np.exp, u), x)]

        return b.range_(zero, n, one, outer, [x])

    f = with_policy(program(body, FLOAT64, INT64), POLICIES[policy])
    for n in (0, 1, 5):
        check(f, 0.6, n, targets=["native", "xla"])


class Counting(Evaluation):
    """Counts the calls of ``np.sin``."""

    count = 0

    def ran(self, op):
        self.count += op.callee is np.sin


def steps_run(policy, n, is_known=True):
    """The number of iterations that value and gradient run, of a loop of n iterations."""

    def body(b, x, stop):
        stop = b.constant(n, np.int64) if is_known else stop
        return b.range_(b.constant(0, np.int64), stop, b.constant(1, np.int64), lambda i, t: [b.ufunc(np.sin, t)], [x])

    f = with_policy(program(body, FLOAT64, INT64), policy)
    run = Counting()
    run.call(simplify(gradient(f, [True, False])), [0.5, np.int64(n)])
    return run.count


@given(n=st.integers(1, 60), snapshots=st.integers(1, 12), is_known=st.booleans())
@hypothesis_settings(max_examples=40)
def test_revolve_runs_the_fewest_iterations(n, snapshots, is_known):
    """The first run, and for the way back what the table of Griewank and Walther has, which counts n - 1 of the first run.

    The adjoint of x -> sin(x) needs x alone, so the runs of the iterations that are reversed are not seen here.
    """
    assert steps_run(revolve(snapshots), n, is_known) == n + advances(n, snapshots) - (n - 1)


@pytest.mark.parametrize("n", [1, 2, 10, 50, 64])
def test_sqrt_runs_each_iteration_once_more(n):
    assert n <= steps_run(Policy("sqrt"), n) <= 2 * n


@pytest.mark.parametrize("n", [5, 40, 200])
def test_online_runs_few_iterations_more(n):
    assert steps_run(online(16), n) <= 4 * n


def test_no_stack_and_no_memory_that_grows():
    f = program(counted_while, FLOAT64, FLOAT64, INT64)
    sweeps = reverse(f, [True, True, False], "xla")
    names = {getattr(op.callee, "__name__", "") for s in (sweeps.forward, sweeps.backward) for op in walk(s.block)}
    assert not any(name.startswith("stack") for name in names)
    assert all(v.type.is_static for v in sweeps.forward.block.results)


@pytest.mark.parametrize("policy", ["revolve3", "online2", "default"])
def test_the_second_derivative(policy):
    f = with_policy(program(counted_while, FLOAT64, FLOAT64, INT64), POLICIES[policy])
    check(f, 0.7, 0.3, 6, order=2, targets=["xla" if policy == "default" else "native"])
    g = program(lambda b, x: [total(b, b.ufunc(np.sin, x))], vector(3))
    check(g, np.arange(3.0), order=2)
