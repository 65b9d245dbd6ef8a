"""Matrices that are used column by column are stored transposed, with equal results."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from typed_tester import program, total

from morula.core.ir import typed
from morula.core.ir.dynamic import verify, walk
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import FLOAT64, ArrayType
from morula.core.passes import columns
from morula.core.passes.columns import by_rows

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
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(columns, "_is_column", lambda op: True)
        patched.setattr(columns._Variables, "is_turned", lambda self, v: not self.account(v).fixed)
        made = verify(by_rows(f))
    for a, e in zip(evaluate(made, arguments), evaluate(f, arguments)):
        np.testing.assert_array_equal(a, e)
