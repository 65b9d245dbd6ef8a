"""Reverse mode on typed IR: the backward sweep against extrapolated differences, to the second order."""

from __future__ import annotations

import numpy as np
from typed_tester import check, program, total, vector

from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Block, Function, Value
from morula.core.ir.typed import FLOAT64, INT64, Dim


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


def test_a_saved_slice_whose_length_follows_from_the_index():
    """Forward substitution: a[i] = x[i] - x[:i] . a[:i]."""

    def body(b, x):
        zero, one = (b.constant(i, np.int64) for i in (0, 1))

        def step(i, a):
            n = Dim(b.ufunc(np.minimum, i, b.constant(4, np.int64)), 4)
            before = [b.getitem(v, [zero], (("s", 1),), [n]) for v in (x, a)]
            xi = b.getitem(x, [i], ("i",), [])
            return [b.setitem(a, [i], b.ufunc(np.subtract, xi, b.matmul(*before)), ("i",))]

        (a,) = b.range_(zero, b.constant(5, np.int64), one, step, [b.zeros((5,), float)])
        return [b.reduce(np.sum, b.ufunc(np.sin, a), (0,))]

    check(program(body, vector(5)), np.linspace(0.1, 1, 5), order=1)


def part_of_own_length(b, x, i, write):
    """What ``write`` makes of the first i elements of x, whose length is known only where i is."""
    n = b.ufunc(np.add, i, b.constant(0, np.int64))
    head = b.getitem(x, [b.constant(0, np.int64)], (("s", 1),), [Dim(n, x.type.shape[0])])
    y = b.call(np.cumsum, [b.ufunc(np.sin, head)], [head.type], axis=0)[0]
    return total(b, write(y))


def test_arrays_whose_length_is_known_in_a_loop_or_a_branch_only():
    def body(b, x, n):
        def step(i, s):
            big = b.ufunc(np.greater, i, b.constant(1, np.int64))
            square = lambda y: b.ufunc(np.multiply, y, y)
            (u,) = b.if_(big, lambda: [part_of_own_length(b, x, i, square)], lambda: [s])
            v = part_of_own_length(b, x, i, lambda y: b.ufunc(np.exp, y))
            return [b.ufunc(np.add, s, b.ufunc(np.multiply, u, v))]

        return b.range_(b.constant(0, np.int64), b.constant(4, np.int64), b.constant(1, np.int64), step, [x_0(b, x)])

    x_0 = lambda b, x: b.getitem(x, [b.constant(0, np.int64)], ("i",), [])
    check(program(body, vector(4), INT64), np.array([0.3, 0.2, 0.5, 0.1]), 3)


def power_tower(n_calls: int):
    """f(x, n) = x if n == 0 else sin(f(x, n - 1) * x) + f(y, n - 1), which calls itself twice."""
    b = Builder()
    x, n = Value("x", FLOAT64), Value("n", INT64)
    f = Function("f", [x, n], Block())

    def further():
        less = b.ufunc(np.subtract, n, b.constant(1, np.int64))
        (first,) = b.call(f, [x, less], [FLOAT64])
        (second,) = b.call(f, [b.ufunc(np.multiply, first, first), less], [FLOAT64])
        return [b.ufunc(np.add, b.ufunc(np.sin, b.ufunc(np.multiply, first, x)), second)]

    with b.block() as block:
        done = b.ufunc(np.equal, n, b.constant(0, np.int64))
        block.results = b.if_(done, lambda: [b.ufunc(np.cos, x)], further)
    f.block = block
    return program(lambda b, x: b.call(f, [x, b.constant(n_calls, np.int64)], [FLOAT64]), FLOAT64)


def test_a_function_that_calls_itself():
    for n in (0, 1, 3):
        check(power_tower(n), 0.7, order=2, targets=["native"])
