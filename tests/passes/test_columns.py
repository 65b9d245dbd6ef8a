"""Arrays that are used column by column are stored with other axes last, or beside such a copy, with equal results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from typed_tester import program, total

from morula.core.ir import typed
from morula.core.ir.dynamic import verify, walk
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import FLOAT64, ArrayType
from morula.core.passes import columns, twins
from morula.core.passes.columns import by_rows
from morula.core.passes.twins import with_twins

N = 4
MATRIX = ArrayType(np.dtype(float), (N, N))
COLUMN, ROW = (":", "i"), ("i", ":")


def recurrence(spec):
    """Each column (or row) of a matrix of its own from the one before."""

    def body(b, x):
        one, n = b.constant(1, np.int64), b.constant(N, np.int64)

        def step(j, p):
            before = b.getitem(p, [b.ufunc(np.subtract, j, one)], spec, [N])
            return [b.setitem(p, [j], b.ufunc(np.add, b.ufunc(np.sin, before), x), spec)]

        times = lambda k, p: b.range_(one, n, one, step, [p])
        return [total(b, b.range_(one, n, one, times, [b.zeros((N, N), np.float64)])[0])]

    return program(body, FLOAT64)


def specs(function):
    return [op.named["spec"].constant for op in walk(function.block) if op.callee in (typed.getitem, typed.setitem)]


def test_columns_become_rows():
    f = recurrence(COLUMN)
    made = verify(by_rows(f))
    assert specs(made) == [ROW, ROW]
    np.testing.assert_allclose(evaluate(made, [0.3]), evaluate(f, [0.3]), rtol=1e-15)


def test_rows_stay():
    f = recurrence(ROW)
    assert by_rows(f) is f


def test_a_matrix_that_is_used_as_a_whole_in_each_iteration_stays():
    def body(b, x, y):
        zero, one, n = (b.constant(i, np.int64) for i in (0, 1, N))

        def step(j, p):
            column = b.getitem(b.ufunc(np.multiply, p, y), [zero], COLUMN, [N])
            return [b.setitem(p, [j], column, COLUMN)]

        return [total(b, b.range_(zero, n, one, step, [x])[0])]

    f = program(body, MATRIX, MATRIX)
    assert by_rows(f) is f


def check(f, arguments, axes):
    """Compare a program with itself after each pass, and after both, where ``axes`` chooses the order of axes."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(columns, "is_column", lambda op: True)
        patched.setattr(twins, "is_column", lambda op: True)
        patched.setattr(columns.Variables, "axes", axes)
        patched.setattr(columns.Variables, "axes_of_twin", axes)
        rotated = verify(by_rows(f))
        found = [rotated, verify(with_twins(f)), verify(with_twins(rotated))]
    expected = evaluate(f, arguments)
    for made in found:
        for a, e in zip(evaluate(made, arguments), expected):
            np.testing.assert_array_equal(a, e)


STATEMENT = st.tuples(
    st.sampled_from(["column", "row", "element", "part", "whole", "branch", "loop", "gather", "exchange"]),
    st.integers(0, 1),
    st.integers(0, 1),
)


@settings(max_examples=60)
@given(st.lists(STATEMENT, min_size=1, max_size=5), st.lists(st.booleans(), min_size=3, max_size=3))
def test_programs_give_the_same(statements, given_or_made):
    def body(b, x, y):
        zero, one, n = (b.constant(i, np.int64) for i in (0, 1, N))
        constant = b.constant(np.arange(float(N * N)).reshape(N, N))

        def run(statements, arrays, i):
            arrays = list(arrays)
            for at, (kind, k, m) in enumerate(statements):
                a, c = arrays[k], arrays[m]
                j = b.ufunc(np.subtract, b.constant(N - 1, np.int64), i)
                if kind == "column":
                    a = b.setitem(a, [i], b.ufunc(np.sin, b.getitem(c, [j], COLUMN, [N])), COLUMN)
                elif kind == "row":
                    a = b.call(typed.add_at, [a, i, b.getitem(c, [j], COLUMN, [N])], [a.type], spec=ROW)[0]
                elif kind == "element":
                    a = b.setitem(a, [i, j], b.getitem(c, [j, zero], ("i", "i"), []), ("i", "i"))
                elif kind == "part":
                    spec = (("s", 1), ("s", 2))
                    v = b.getitem(c, [one, zero], spec, [3, 2])
                    a = b.setitem(a, [zero, one], b.ufunc(np.cos, v), spec)
                elif kind == "whole":
                    a = b.ufunc(np.add, a, c)
                elif kind == "gather":
                    rows = b.constant(np.array([0, 2, 3]))
                    a = b.setitem(a, [rows, i], b.getitem(c, [rows, j], ("a", "i"), [3]), ("a", "i"))
                elif kind == "exchange":
                    arrays[k], arrays[m] = c, a
                    continue
                elif kind == "branch":
                    rest = statements[at + 1 :]
                    other = lambda: [arrays[0], constant if k else arrays[1]]
                    return b.if_(b.ufunc(np.less, i, b.constant(2, np.int64)), lambda: run(rest, arrays, i), other)
                else:
                    rest = statements[at + 1 :]
                    return b.range_(zero, n, one, lambda i, *arrays: run(rest, arrays, i), arrays)
                arrays[k] = a
            return arrays

        begin = [
            (x, constant, b.zeros((N, N), np.float64))[:: 1 if on else -1][k] for k, on in enumerate(given_or_made[:2])
        ]
        p, q = b.range_(zero, n, one, lambda i, *arrays: run(statements, arrays, i), begin)
        return [p, b.ufunc(np.multiply, q, y) if given_or_made[2] else q]

    f = program(body, MATRIX, MATRIX)
    arguments = [np.random.default_rng(seed).normal(size=(N, N)) for seed in (0, 1)]
    check(f, arguments, lambda self, v: () if self.account(v).fixed else (1, 0))


SHAPE = 3, 4, 3
SOLID = ArrayType(np.dtype(float), SHAPE)
ENTRY = st.sampled_from(["i", ":", ("s", 1)])
SPEC = st.tuples(ENTRY, ENTRY, ENTRY).filter(lambda spec: set(spec) != {"i"})
ACCESS = st.tuples(SPEC, st.integers(0, 1), st.integers(0, 1), st.sampled_from(["set", "add", "whole", "plane"]))


@settings(max_examples=60)
@given(st.lists(ACCESS, min_size=1, max_size=4), st.lists(st.integers(0, 2), min_size=20, max_size=20))
def test_programs_of_arrays_with_three_axes_give_the_same(statements, ends):
    """Variables get the axis that ``ends`` gives, in turn, as their last one."""

    def body(b, x, y):
        zero, one, end = (b.constant(i, np.int64) for i in (0, 1, 3))

        def part(array, spec, i):
            index = [i if entry == "i" else zero for entry in spec if entry != ":"]
            return index, [n - 1 for n, entry in zip(array.type.shape, spec) if entry == ("s", 1)]

        def step(i, *arrays):
            arrays = list(arrays)
            for spec, k, m, kind in statements:
                back = b.ufunc(np.subtract, b.constant(2, np.int64), i)
                if kind == "whole":
                    arrays[k] = b.ufunc(np.add, arrays[k], b.ufunc(np.cos, arrays[m]))
                    continue
                if kind == "plane":
                    plane = b.getitem(arrays[m], [back], (":", ":", "i"), [])
                    row = b.ufunc(np.sin, b.getitem(plane, [i], ("i", ":"), []))
                    arrays[k] = b.setitem(arrays[k], [i, back], row, ("i", ":", "i"))
                    continue
                index, lengths = part(arrays[m], spec, back)
                v = b.ufunc(np.sin, b.getitem(arrays[m], index, spec, lengths))
                callee = typed.add_at if kind == "add" else typed.setitem
                arrays[k] = b.call(callee, [arrays[k], *part(arrays[k], spec, i)[0], v], [SOLID], spec=spec)[0]
            return arrays

        constant = b.constant(np.arange(36.0).reshape(SHAPE))
        first = b.range_(zero, end, one, step, [x, b.ufunc(np.multiply, y, b.constant(2.0))])
        return [*first, *b.range_(zero, end, one, step, [constant, b.zeros(SHAPE, np.float64)])]

    f = program(body, SOLID, SOLID)
    arguments = [np.random.default_rng(seed).normal(size=SHAPE) for seed in (0, 1)]
    chosen = {}

    def axes(self, value):
        axis = chosen.setdefault(list(self.parent).index(self.root(value)), ends[len(chosen) % len(ends)])
        return columns._rotation(axis, value.type.ndim) if axis < value.type.ndim - 1 else ()

    check(f, arguments, axes)


def planes(b, x):
    """Each plane of the last axis from the one before."""
    one, n = b.constant(1, np.int64), b.constant(3, np.int64)
    spec = (":", ":", "i")

    def step(k, p):
        before = b.getitem(p, [b.ufunc(np.subtract, k, one)], spec, [])
        return [b.setitem(p, [k], b.ufunc(np.multiply, before, x), spec)]

    times = lambda k, p: b.range_(one, n, one, step, [p])
    return [total(b, b.range_(one, n, one, times, [b.full(SHAPE, x)])[0])]


def test_planes_of_the_last_axis_come_first():
    f = program(planes, FLOAT64)
    made = verify(by_rows(f))
    assert specs(made) == [("i", ":", ":")] * 2
    assert evaluate(made, [0.3]) == evaluate(f, [0.3])
