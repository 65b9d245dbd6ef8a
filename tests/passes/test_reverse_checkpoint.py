"""Nested checkpointing: gradients of loops of any length, in memory independent of the length."""

from __future__ import annotations

import numpy as np
import pytest
from typed_tester import check, gradient, program, total, vector

from morula.core.ir.dynamic import walk
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import FLOAT64, INT64
from morula.core.passes.reverse import checkpoint, reverse
from morula.core.passes.simplify import simplify


@pytest.fixture(params=[(4, 16), (4, 64), (2, 8), (1024, 10**6)], ids=str)
def few_states(request, monkeypatch):
    """Levels that are full after a few iterations."""
    most, length = request.param
    monkeypatch.setattr(checkpoint, "MOST", most)
    monkeypatch.setattr(checkpoint, "LENGTH", length)
    monkeypatch.setattr(checkpoint, "LEAST", 2)


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


@pytest.mark.parametrize("body", [counted_while, counted_range])
def test_any_length_with_one_program(body, few_states):
    f = program(body, FLOAT64, FLOAT64, INT64)
    by_checkpoints = gradient(f, [True, True, False], "xla")
    by_stack = gradient(f, [True, True, False], "native")
    for n in (0, 1, 3, 4, 5, 17, 70):
        found, expected = (evaluate(g, [0.7, 0.3, n]) for g in (by_checkpoints, by_stack))
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        smaller = evaluate(simplify(by_checkpoints), [0.7, 0.3, n])
        np.testing.assert_array_equal(found, smaller)


def test_loops_of_unknown_length_in_each_other(few_states):
    def body(b, x, n):
        zero, one = b.constant(0, np.int64), b.constant(1, np.int64)

        def outer(i, t):
            def inner(u, k):
                return [b.ufunc(np.sin, b.ufunc(np.add, u, t)), b.ufunc(np.add, k, one)]

            u, _ = b.while_(lambda u, k: b.ufunc(np.less, k, i), inner, [b.ufunc(np.multiply, t, x), zero])
            return [b.ufunc(np.multiply, b.ufunc(np.exp, u), x)]

        return b.range_(zero, n, one, outer, [x])

    f = program(body, FLOAT64, INT64)
    for n in (0, 1, 5):
        check(f, 0.6, n, targets=["xla"])


def test_no_stack_and_no_memory_that_grows():
    f = program(counted_while, FLOAT64, FLOAT64, INT64)
    sweeps = reverse(f, [True, True, False], "xla")
    names = {getattr(op.callee, "__name__", "") for s in (sweeps.forward, sweeps.backward) for op in walk(s.block)}
    assert not any(name.startswith("stack") for name in names)
    assert all(v.type.is_static for v in sweeps.forward.block.results)


def test_the_second_derivative(monkeypatch):
    monkeypatch.setattr(checkpoint, "MOST", 4)
    monkeypatch.setattr(checkpoint, "LENGTH", 16)
    f = program(counted_while, FLOAT64, FLOAT64, INT64)
    check(f, 0.7, 0.3, 6, order=2, targets=["xla"])
    g = program(lambda b, x: [total(b, b.ufunc(np.sin, x))], vector(3))
    check(g, np.arange(3.0), order=2)
