"""Reverse mode on typed IR: the backward sweep against the complex step and extrapolated differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from morula.core.builder import Builder
from morula.core.evaluate import evaluate
from morula.core.inline import inline
from morula.core.ir import Function, Value, verify
from morula.core.reverse_typed import reverse
from morula.core.testing import ridders
from morula.core.typed import FLOAT64, ArrayType

TARGETS = ("native", "xla")


def vector(n: int, dtype: Any = float) -> ArrayType:
    return ArrayType(np.dtype(dtype), (n,))


def program(body: Callable[..., Sequence[Value]], *types: ArrayType) -> Function:
    """The typed function that ``body(builder, *parameters)`` writes."""
    b = Builder()
    parameters = [Value("xyzuvw"[i], t) for i, t in enumerate(types)]
    with b.block(parameters) as block:
        block.results = list(body(b, *parameters))
    block.parameters = []
    return verify(Function("f", parameters, block))


def gradient(f: Function, active: Sequence[bool], target: str = "native") -> Function:
    """Value and gradient of a function whose first result is a number, both sweeps in one function."""
    sweeps = reverse(f, active, target)
    verify(sweeps.forward)
    verify(sweeps.backward)
    b = Builder()
    parameters = [Value(p.name, p.type) for p in f.parameters]
    with b.block(parameters) as block:
        y, *rest = inline(b, sweeps.forward, parameters)
        kind = y.type.dtype
        block.results = [y, *inline(b, sweeps.backward, [*rest, b.constant(1, kind)])]
    block.parameters = []
    return verify(Function("value_and_gradient", parameters, block))


def numerical(f: Function, args: Sequence[Any], i: int) -> Any:
    """The gradient of a real result in argument i, by extrapolated differences along each element (and along i times it)."""
    x = np.asarray(args[i])
    found = np.zeros(x.shape, x.dtype)
    for place in np.ndindex(x.shape):
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            direction = np.zeros_like(x)
            direction[place] = unit

            def phi(t: float) -> float:
                at = [*args]
                at[i] = (x + t * direction).astype(x.dtype)
                return float(np.real(evaluate(f, at)[0]))

            found[place] += unit * ridders(phi, 0.05)[0]
    return found


def check(f: Function, *args: Any, active: Sequence[bool] | None = None, rtol: float = 1e-8, order: int = 1) -> None:
    """Compare value and gradient with differences, for every target."""
    inexact = [a.type.is_inexact for a in f.parameters] if active is None else active
    for target in TARGETS:
        g = gradient(f, inexact, target)
        y, *found = evaluate(g, args)
        np.testing.assert_array_equal(y, evaluate(f, args)[0])
        for i, dx in zip([i for i, on in enumerate(inexact) if on], found):
            expected = numerical(f, args, i)
            np.testing.assert_allclose(dx, expected, rtol=rtol, atol=1e-9 * (1 + np.abs(expected).max(initial=0)))
        if order > 1:
            k = inexact.index(True)
            weights = np.random.default_rng(0).normal(size=np.shape(args[k]))
            h = program(
                lambda b, *p: [contracted(b, inline(b, g, p)[1], weights)], *(p.type for p in f.parameters)
            )  # fmt: skip
            check(h, *args, active=active, rtol=max(rtol, 1e-6), order=order - 1)


def contracted(b: Builder, x: Value, weights: Any) -> Value:
    y = b.ufunc(np.multiply, x, b.constant(weights))
    return b.reduce(np.sum, y, range(y.type.ndim)) if y.type.ndim else y


def test_straight_line():
    def body(b, x, y):
        t = b.ufunc(np.sin, b.ufunc(np.multiply, x, y))
        u = b.ufunc(np.divide, t, b.ufunc(np.exp, y))
        return [b.ufunc(np.add, u, b.ufunc(np.multiply, t, t))]

    check(program(body, FLOAT64, FLOAT64), 0.7, 1.3, order=2)


def test_broadcast_operands_receive_sums():
    def body(b, x, y):
        t = b.ufunc(np.multiply, b.reshape(x, (3, 1)), y)
        return [b.reduce(np.sum, b.ufunc(np.tanh, t), (0, 1))]

    check(program(body, vector(3), vector(2)), np.array([0.1, 0.2, -0.4]), np.array([1.5, 2.5]), order=2)


def test_a_loop_over_a_range():
    def body(b, x, y):
        start, stop, step = (b.constant(i, np.int64) for i in (0, 5, 1))
        s, p = b.range_(
            start,
            stop,
            step,
            lambda i, s, p: [b.ufunc(np.add, s, b.ufunc(np.sin, b.ufunc(np.multiply, p, y))), b.ufunc(np.multiply, p, x)],
            [b.constant(0.0, float), b.constant(1.0, float)],
        )  # fmt: skip
        return [b.ufunc(np.multiply, s, p)]

    check(program(body, FLOAT64, FLOAT64), 0.7, 1.3, order=2)


def test_while_with_a_branch():
    def body(b, x, y):
        def step(t, n):
            big = b.ufunc(np.greater, t, b.constant(2.0))
            (u,) = b.if_(big, lambda: [b.ufunc(np.sqrt, t)], lambda: [b.ufunc(np.multiply, b.ufunc(np.exp, t), x)])
            return [b.ufunc(np.add, u, b.ufunc(np.multiply, t, y)), b.ufunc(np.add, n, b.constant(1, np.int64))]

        t, n = b.while_(
            lambda t, n: b.ufunc(np.less, n, b.constant(7, np.int64)), step, [x, b.constant(0, np.int64)]
        )  # fmt: skip
        return [t]

    check(program(body, FLOAT64, FLOAT64), 0.7, 0.3, order=2)


def test_elements_written_in_a_loop():
    """A Gauss-Seidel sweep that is not linear."""

    def body(b, x, y):
        one = b.constant(1, np.int64)

        def step(i, a):
            left = b.getitem(a, [b.ufunc(np.subtract, i, one)], ("i",), [])
            right = b.getitem(a, [b.ufunc(np.add, i, one)], ("i",), [])
            v = b.ufunc(np.sin, b.ufunc(np.multiply, b.ufunc(np.add, left, right), y))
            return [b.setitem(a, [i], v, ("i",))]

        (a,) = b.range_(one, b.constant(4, np.int64), one, step, [x])
        return [b.reduce(np.sum, b.ufunc(np.multiply, a, a), (0,))]

    check(program(body, vector(5), FLOAT64), np.linspace(0.1, 1, 5), 0.8, order=2)


def test_nested_loops():
    def body(b, x):
        zero, one, n = (b.constant(i, np.int64) for i in (0, 1, 4))

        def outer(i, s):
            def inner(j, t):
                e = b.getitem(x, [j], ("i",), [])
                return [b.ufunc(np.add, b.ufunc(np.multiply, t, e), b.ufunc(np.sin, t))]

            (t,) = b.range_(i, n, one, inner, [s])
            return [b.ufunc(np.tanh, t)]

        return b.range_(zero, n, one, outer, [b.constant(0.5, float)])

    check(program(body, vector(4)), np.array([0.3, -0.2, 0.9, 0.4]), order=2)
