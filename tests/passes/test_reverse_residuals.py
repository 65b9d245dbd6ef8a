"""Residuals of loops: the bytes saved per iteration, and what is read again instead."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from typed_tester import check, gradient, program, total, vector

import morula as mo
from morula.core.ir.dynamic import Block, Function
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import FLOAT64, INT64, ArrayType, Dim
from morula.core.passes.reverse import residuals, reverse
from morula.core.passes.reverse.rereading import Rereading
from morula.core.passes.simplify import simplify

MATRIX = ArrayType(np.dtype(float), (5, 5))


def saved(f: Function, active) -> list[tuple[int, list[str]]]:
    """The types of what is pushed, and in how many loops."""

    def pushes(block: Block, depth: int):
        for op in block.operations:
            if getattr(op.callee, "__name__", "") == "stack_push":
                yield depth, [str(v.type) for v in op.operands[1:]]
            for inner in op.blocks:
                yield from pushes(inner, depth + 1)

    return list(pushes(reverse(simplify(f), active).forward.block, 0))


def integers(b, *numbers):
    return [b.constant(i, np.int64) for i in numbers]


def lorenz(b, x, y, z, n):
    def of(function, *operands):
        return b.ufunc(function, *(b.constant(v) if isinstance(v, float) else v for v in operands))

    def slope(x, y, z):
        dy = of(np.subtract, of(np.multiply, x, of(np.subtract, 28.0, z)), y)
        dz = of(np.subtract, of(np.multiply, x, y), of(np.multiply, 8 / 3, z))
        return of(np.multiply, 10.0, of(np.subtract, y, x)), dy, dz

    def moved(state, slopes, h):
        return [of(np.add, u, of(np.multiply, h, k)) for u, k in zip(state, slopes)]

    def step(x, y, z, i):
        state = [x, y, z]
        k1 = slope(*state)
        k2 = slope(*moved(state, k1, 0.005))
        k3 = slope(*moved(state, k2, 0.005))
        k4 = slope(*moved(state, k3, 0.01))
        for k, h in ((k1, 1 / 600), (k2, 1 / 300), (k3, 1 / 300), (k4, 1 / 600)):
            state = moved(state, k, h)
        return [*state, of(np.add, i, b.constant(1, np.int64))]

    state = b.while_(lambda x, y, z, i: b.ufunc(np.less, i, n), step, [x, y, z, b.constant(0, np.int64)])
    return [of(np.add, state[0], of(np.multiply, state[1], state[2]))]


def test_lorenz_saves_its_state_and_recomputes_the_step():
    f = program(lorenz, FLOAT64, FLOAT64, FLOAT64, INT64)
    assert saved(f, [True, True, True, False]) == [(1, ["float64"] * 3)]
    check(f, 1.0, 2.0, 3.0, 3, rtol=1e-7)


def sweep_of(update):
    """A sweep over the inner elements of a vector, in place."""

    def body(b, x, y):
        one, four = integers(b, 1, 4)

        def step(i, a):
            left = b.getitem(a, [b.ufunc(np.subtract, i, one)], ("i",), [])
            here = b.getitem(a, [i], ("i",), [])
            right = b.getitem(a, [b.ufunc(np.add, i, one)], ("i",), [])
            return [b.setitem(a, [i], update(b, left, here, right, y), ("i",))]

        times = lambda t, a: b.range_(one, four, one, step, [a])
        return [total(b, b.ufunc(np.sin, b.range_(one, four, one, times, [x])[0]))]

    return program(body, vector(5), FLOAT64)


def test_a_linear_sweep_saves_nothing():
    add = lambda b, left, here, right, y: b.ufunc(np.multiply, b.ufunc(np.add, left, right), b.constant(0.5))
    f = sweep_of(add)
    assert saved(f, [True, False]) == []
    check(f, np.linspace(0.1, 1, 5), 0.3)


def test_a_sweep_that_is_not_linear_saves_each_element_once():
    """Elements before and after the sweep are needed; what one sweep leaves is what the next begins with."""
    f = sweep_of(lambda b, left, here, right, y: b.ufunc(np.multiply, b.ufunc(np.multiply, left, right), y))
    assert saved(f, [True, True]) == [(1, ["float64[5]"])]
    check(f, np.linspace(0.1, 1, 5), 0.3, order=2)


def lu(b, a):
    zero, one, n = integers(b, 0, 1, 5)

    def entry(a, i, j, k, divide):
        length = Dim(k, 5)
        row = b.getitem(a, [i, zero], ("i", ("s", 1)), [length])
        column = b.getitem(a, [zero, j], (("s", 1), "i"), [length])
        v = b.ufunc(np.subtract, b.getitem(a, [i, j], ("i", "i"), []), b.matmul(row, column))
        if divide:
            v = b.ufunc(np.divide, v, b.getitem(a, [j, j], ("i", "i"), []))
        return b.setitem(a, [i, j], v, ("i", "i"))

    def row(i, a):
        (a,) = b.range_(zero, i, one, lambda j, a: [entry(a, i, j, j, True)], [a])
        return b.range_(i, n, one, lambda j, a: [entry(a, i, j, i, False)], [a])

    (a,) = b.range_(zero, n, one, row, [a])
    return [total(b, b.ufunc(np.sin, a))]


def test_lu_saves_nothing_but_its_result():
    f = program(lu, MATRIX)
    assert saved(f, [True]) == []
    a = np.random.default_rng(0).normal(size=(5, 5)) + 5 * np.eye(5)
    check(f, a, rtol=1e-7)


def test_elements_that_are_not_written_yet_are_read_before_the_loop():
    def body(b, x):
        zero, one, four = integers(b, 0, 1, 4)

        def step(i, a):
            right = b.getitem(a, [b.ufunc(np.add, i, one)], ("i",), [])
            return [b.setitem(a, [i], b.ufunc(np.multiply, right, right), ("i",))]

        return [total(b, b.range_(zero, four, one, step, [x])[0])]

    f = program(body, vector(5))
    assert saved(f, [True]) == []
    check(f, np.linspace(0.1, 1, 5), order=2)


INDEX = st.tuples(st.integers(-1, 1), st.integers(-1, 1), st.integers(0, 4))
PLACE = st.tuples(INDEX, INDEX)
LOOP = st.tuples(st.integers(0, 2), st.sampled_from([1, -1, 2]), st.booleans())
STATEMENT = st.tuples(st.booleans(), PLACE, PLACE, PLACE)


@settings(max_examples=60)
@given(st.tuples(LOOP, LOOP), st.lists(STATEMENT, min_size=1, max_size=3), st.booleans())
def test_what_is_read_again_is_what_was_read(loops, statements, two_of_them):
    """Random writes and reads of a matrix in two nested loops: the same gradient as with everything saved."""

    def body(b, a):
        def index(place, i, j):
            parts = []
            for p, q, c in place:
                t = b.ufunc(np.add, b.ufunc(np.multiply, i, b.constant(p, np.int64)), b.constant(c, np.int64))
                t = b.ufunc(np.add, t, b.ufunc(np.multiply, j, b.constant(q, np.int64)))
                parts.append(b.ufunc(np.minimum, b.ufunc(np.maximum, t, integers(b, 0)[0]), integers(b, 4)[0]))
            return parts

        def statement(a, i, j, written, first, second):
            x, y = (b.getitem(a, index(p, i, j), ("i", "i"), []) for p in (first, second))
            v = b.ufunc(np.sin, b.ufunc(np.multiply, b.ufunc(np.add, x, b.constant(0.5)), y))
            return b.setitem(a, index(written, i, j), v, ("i", "i"))

        def loop(k, outer, inside, a):
            start, step, bounded = loops[k]
            low, high = b.constant(start, np.int64), outer if bounded and outer is not None else b.constant(4, np.int64)
            if step < 0:
                low, high = high, low
            return b.range_(low, high, b.constant(step, np.int64), lambda i, a: [inside(i, a)], [a])[0]

        def outer(i, a):
            for is_outer, *places in statements:
                if is_outer:
                    a = statement(a, i, integers(b, 1)[0], *places)
            inner = lambda j, a: run(a, i, j)
            a = loop(1, i, inner, a)
            return loop(1, i, inner, a) if two_of_them else a

        def run(a, i, j):
            for is_outer, *places in statements:
                if not is_outer:
                    a = statement(a, i, j, *places)
            return a

        return [total(b, b.ufunc(np.cos, loop(0, None, outer, a)))]

    f = simplify(program(body, MATRIX))
    x = np.random.default_rng(1).normal(size=(5, 5))
    found = evaluate(gradient(f, [True]), [x])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Rereading, "source", lambda self, op: None)
        patched.setattr(Rereading, "of_written", lambda self, value: None)
        expected = evaluate(gradient(f, [True]), [x])
    for a, e in zip(found, expected):
        np.testing.assert_array_equal(a, e)


def test_what_an_iteration_leaves_is_what_the_next_begins_with():
    """h = tanh(w h + x) needs the h before and the h after: one of them is saved."""

    def body(b, w, x):
        zero, n, one = integers(b, 0, 4, 1)

        def step(i, h):
            return [b.ufunc(np.tanh, b.ufunc(np.add, b.ufunc(np.multiply, w, h), x))]

        return [total(b, b.range_(zero, n, one, step, [x])[0])]

    f = program(body, vector(3), vector(3))
    assert saved(f, [True, True]) == [(1, ["float64[3]"])]
    check(f, np.array([0.5, -0.2, 0.9]), np.array([0.1, 0.7, -0.3]), order=2)


def test_an_inner_loop_s_array_is_kept_as_a_whole():
    """Tridiagonal elimination in each of several steps: each keeps p, from which all else follows."""

    def body(b, p, u):
        zero, one, n = integers(b, 0, 1, 5)

        def eliminate(j, p, q):
            before = b.getitem(p, [b.ufunc(np.subtract, j, one)], ("i",), [])
            d = b.ufunc(np.add, before, b.constant(2.0))
            p = b.setitem(p, [j], b.ufunc(np.divide, b.constant(-1.0), d), ("i",))
            last = b.getitem(q, [b.ufunc(np.subtract, j, one)], ("i",), [])
            here = b.getitem(q, [j], ("i",), [])
            return [p, b.setitem(q, [j], b.ufunc(np.divide, b.ufunc(np.add, last, here), d), ("i",))]

        return [total(b, b.range_(zero, n, one, lambda i, p, q: b.range_(one, n, one, eliminate, [p, q]), [p, u])[1])]

    f = program(body, vector(5), vector(5))
    assert {t for _, types in saved(f, [True, True]) for t in types} == {"float64[5]"}
    check(f, np.linspace(0.1, 0.5, 5), np.linspace(1, 2, 5), rtol=1e-7)


@pytest.mark.parametrize("change", [1, -2])
def test_a_count_is_computed_again(change):
    """An index that the program itself counts is not saved."""

    def body(b, x, n):
        def step(i, t):
            place = b.ufunc(np.remainder, i, b.constant(5, np.int64))
            e = b.getitem(x, [place], ("i",), [])
            t = b.ufunc(np.add, t, b.ufunc(np.multiply, e, e))
            return [b.ufunc(np.add, i, b.constant(change, np.int64)), t]

        goes_on = lambda i, t: b.ufunc(np.less, b.ufunc(np.multiply, i, b.constant(change, np.int64)), n)
        return b.while_(goes_on, step, [b.constant(3, np.int64), b.constant(0.0, float)])[1:]

    f = program(body, vector(5), INT64)
    assert saved(f, [True, False]) == []
    check(f, np.linspace(0.1, 0.5, 5), 9, order=2)


def nested_branches(x):
    a = b = c = d = x
    if a > 1.0:
        if b > 2.0:
            a, b, c, d = a * b, b * c, np.sin(c) * d, a * d
        else:
            a, b, c, d = a / b, b / c, np.sin(c) / d, a * d
        a, b, c, d = a * b, b * c, c * d, a * d
    else:
        a, b, c, d = a + b, b - c, np.cos(c) + d, a + d
    return a * b * c * d * a * b


def test_the_cost_of_a_branch_is_found_once_for_all_of_its_results(monkeypatch):
    found, cost = [], residuals.running_cost
    monkeypatch.setattr(residuals, "running_cost", lambda op: (found.append(op), cost(op))[1])
    mo.jit(mo.value_and_grad(nested_branches), target="native").lower(1.5)
    assert len(found) <= 30  # 72 if it is found again for each result
