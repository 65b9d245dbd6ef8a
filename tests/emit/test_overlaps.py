"""Reads of parts that a write misses: they may be computed while, or after, the array is changed in place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import morula as mo
from morula.core.emit.native import compile_function, strips
from morula.core.emit.native.function import FunctionCode
from morula.core.emit.native.machine import host
from morula.core.emit.native.program_text import ProgramText
from morula.core.ir import typed
from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value, verify
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import ArrayType

ROWS, COLUMNS = 9, 40
KIND = ArrayType(np.dtype(np.float64), (ROWS, COLUMNS))
ROW, TWO_ROWS, SHIFTED = ("i", ":"), (("s", 1), ":"), ("i", ("s", 1))
LENGTHS = {ROW: [], TWO_ROWS: [2], SHIFTED: [COLUMNS - 2]}

OFFSET = st.integers(-2, 2)
ACCESS = st.tuples(st.integers(0, 1), OFFSET, st.integers(0, 2))
STATEMENT = st.tuples(
    st.sampled_from(list(LENGTHS)), st.lists(ACCESS, min_size=1, max_size=3), ACCESS, st.booleans(), st.booleans()
)


def step(b, i, arrays, statements):
    """Write to rows near row i what is computed from rows near it."""
    arrays = list(arrays)

    def part(spec, offset, column):
        at = [b.ufunc(np.add, i, b.constant(offset, np.int64))]
        return at + ([b.constant(column, np.int64)] if spec is SHIFTED else [])

    for spec, reads, (k, offset, column), adds, is_used_again in statements:
        value = b.constant(0.5)
        for n, at, shift in reads:
            read = b.getitem(arrays[n], part(spec, at, shift), spec, LENGTHS[spec])
            value = b.ufunc(np.add, b.ufunc(np.sin, value), b.ufunc(np.multiply, read, b.constant(0.3)))
        if is_used_again:
            value = b.ufunc(np.multiply, value, b.ufunc(np.divide, b.constant(1.0), b.ufunc(np.exp, value)))
        callee = typed.add_at if adds else typed.setitem
        arrays[k] = b.call(callee, [arrays[k], *part(spec, offset, column), value], [KIND], spec=spec)[0]
        if is_used_again:
            other = 1 - k
            at = part(spec, -offset, column)
            arrays[other] = b.call(typed.setitem, [arrays[other], *at, value], [KIND], spec=spec)[0]
    return arrays


def program(statements):
    b, parameters = Builder(), [Value("x", KIND), Value("y", KIND)]
    with b.block() as block:
        two, end, one = (b.constant(k, np.int64) for k in (2, ROWS - 3, 1))
        block.results = b.range_(two, end, one, lambda i, *arrays: step(b, i, arrays, statements), parameters)
    return verify(Function("f", parameters, block))


@settings(max_examples=40, deadline=None)
@given(st.lists(STATEMENT, min_size=1, max_size=3))
def test_programs_of_rows_give_what_the_interpreter_gives(statements):
    function = program(statements)
    arguments = list(np.random.default_rng(0).normal(size=(2, ROWS, COLUMNS)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(strips, "LEAST", 2)
        patched.setattr(strips, "SIZES", (8, 16))
        compiled = compile_function(function)
    for found, expected in zip(compiled(arguments), evaluate(function, arguments)):
        np.testing.assert_allclose(found, expected, 1e-9, 1e-12)


def test_a_recurrence_of_rows_copies_no_array(monkeypatch):
    """As in the elimination of a tridiagonal system: row i is computed from row i - 1, by strips."""
    monkeypatch.setattr(strips, "LEAST", 2)
    function = program([(ROW, [(0, -1, 0), (1, 0, 0), (1, -1, 0)], (0, 0, 0), False, False)])
    code = FunctionCode(function, ProgramText(function, True, host()))
    own = {buffer for buffer in code.placement.of.values() if buffer.is_own}
    assert len([buffer for buffer in own if buffer.size == ROWS * COLUMNS * 8]) == 2, "one for each carried array"


def test_the_adjoint_of_a_sweep_over_planes():
    def f(x, w):
        y = x.copy()
        for k in range(1, 12):
            c = np.exp(-(y[k] ** 2)) + 2.0
            y[k] = (y[k] - 0.3 * y[k - 1]) / c
        for k in range(10, -1, -1):
            y[k] -= 0.2 * y[k + 1] * w[k]
        return np.sum(y * w)

    x, w = np.random.default_rng(0).normal(size=(2, 12, 50, 60))
    value, gradient = mo.jit(mo.value_and_grad(f), target="native")(x, w)
    expected, gradient_ = mo.value_and_grad(f)(x, w)
    assert np.isclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, gradient_, 1e-10, 1e-12)
