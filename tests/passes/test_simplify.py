"""Simplification of typed IR: which operations are removed and which kept, with bitwise equal results."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from typed_tester import program, vector

from morula.core.ir.dynamic import Function, callee_name, verify, walk
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import FLOAT64, INT64, ArrayType
from morula.core.passes.simplify import simplify


def operations(f: Function) -> list[str]:
    """What a simplified function consists of."""
    return [callee_name(op.callee).split(".")[-1] if op.kind == "call" else op.kind for op in walk(f.block)]


def simplified(body, *types) -> Function:
    return verify(simplify(program(body, *types)))


def test_equal_operations_are_computed_once():
    f = simplified(lambda b, x, y: [b.ufunc(np.add, b.ufunc(np.sin, x), b.ufunc(np.sin, x))], FLOAT64, FLOAT64)
    assert operations(f) == ["sin", "add"]


def test_what_has_no_use_goes_and_effects_stay():
    def body(b, x, y):
        b.ufunc(np.sin, x)
        b.raise_if(b.ufunc(np.less, x, y), ValueError, "less")
        return [y]

    f = simplified(body, FLOAT64, FLOAT64)
    assert operations(f) == ["less", "raise_if"]
    with pytest.raises(ValueError, match="less"):
        evaluate(f, [1.0, 2.0])


def test_zero_is_kept_in_floating_point_and_removed_from_integers():
    zero = lambda b, t: b.constant(0, t.dtype)
    for kind, expected in ((FLOAT64, ["add", "multiply"]), (INT64, [])):
        f = simplified(
            lambda b, x: [b.ufunc(np.add, x, zero(b, kind)), b.ufunc(np.multiply, x, zero(b, kind))], kind
        )  # fmt: skip
        assert operations(f) == expected


@pytest.mark.parametrize(
    "write",
    [
        lambda b, x: b.ufunc(np.multiply, x, b.constant(1.0, float)),
        lambda b, x: b.ufunc(np.divide, x, b.constant(1.0, float)),
        lambda b, x: b.ufunc(np.subtract, x, b.constant(0.0, float)),
        lambda b, x: b.ufunc(np.add, b.constant(-0.0, float), x),
        lambda b, x: b.ufunc(np.negative, b.ufunc(np.negative, x)),
        lambda b, x: b.cast(b.cast(x, complex), float),
        lambda b, x: b.where(b.ufunc(np.less, x, x), x, x),
    ],
)
def test_exact_identities(write):
    f = simplified(lambda b, x: [write(b, x)], FLOAT64)
    assert operations(f) in ([], ["less"]) and f.block.results == f.parameters


def test_casts_that_round_stay():
    f = simplified(lambda b, x: [b.cast(b.cast(x, float), np.int64)], INT64)
    assert operations(f) == ["cast", "cast"]


def test_reads_of_writes():
    def body(b, a, x, i):
        one, two = b.constant(1, np.int64), b.constant(2, np.int64)
        a = b.setitem(a, [one], x, ("i",))
        a = b.setitem(a, [two], b.ufunc(np.sin, x), ("i",))
        return [b.getitem(a, [one], ("i",), []), b.getitem(a, [i], ("i",), [])]

    f = simplified(body, vector(3), FLOAT64, INT64)
    assert f.block.results[0] is f.parameters[1]
    assert operations(f) == ["setitem", "sin", "setitem", "getitem"]


def test_transposes_and_reshapes_of_each_other():
    def body(b, a):
        t = b.transpose(b.transpose(a, (1, 2, 0)), (2, 0, 1))
        return [b.reshape(b.reshape(t, (24,)), (2, 3, 4))]

    f = simplified(body, ArrayType(np.dtype(float), (2, 3, 4)))
    assert f.block.results == f.parameters and not f.block.operations


def test_what_does_not_change_in_a_loop_leaves_it():
    def body(b, x, y, n):
        zero, one = b.constant(0, np.int64), b.constant(1, np.int64)

        def outer(i, s, kept):
            inner = lambda j, t: [b.ufunc(np.add, t, b.ufunc(np.multiply, b.ufunc(np.sin, kept), b.ufunc(np.exp, s)))]
            return [b.range_(zero, n, one, inner, [s])[0], kept]

        return b.range_(zero, n, one, outer, [x, y])[:1]

    f = simplified(body, FLOAT64, FLOAT64, INT64)
    assert operations(f) == ["sin", "range", "exp", "multiply", "range", "add"]


def test_library_functions_that_cannot_fail_leave_a_loop():
    def body(b, x, y):
        def step(i, s):
            places = b.call(
                np.searchsorted, [b.call(np.cumsum, [x], [x.type], axis=0)[0], y], [ArrayType(INT64.dtype, ())]
            )
            return [b.ufunc(np.add, s, places[0])]

        zero, three, one = (b.constant(k, np.int64) for k in (0, 3, 1))
        return b.range_(zero, three, one, step, [b.constant(0, np.int64)])

    assert operations(simplified(body, vector(4), FLOAT64)) == ["cumsum", "searchsorted", "range", "add"]


def test_unused_carried_values_go():
    def body(b, x, n):
        def step(i, s, unused):
            return [b.ufunc(np.sin, s), b.ufunc(np.add, unused, s)]

        return b.range_(b.constant(0, np.int64), n, b.constant(1, np.int64), step, [x, x])[:1]

    f = simplified(body, FLOAT64, INT64)
    assert len(f.block.operations[0].results) == 1 and operations(f) == ["range", "sin"]


def test_a_known_condition_chooses_its_branch():
    def body(b, x):
        yes = b.constant(True)
        return b.if_(yes, lambda: [b.ufunc(np.sin, x)], lambda: [b.ufunc(np.cos, x)])

    assert operations(simplified(body, FLOAT64)) == ["sin"]


def test_work_is_linear_in_the_size():
    def straight(n):
        def body(b, x, y):
            for i in range(n):
                x, y = b.ufunc(np.sin, b.ufunc(np.add, x, y)), b.ufunc(np.multiply, x, y)
            return [x]

        return program(body, FLOAT64, FLOAT64)

    def calls(f):
        count = 0

        def profile(frame, event, argument):
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(profile)
        try:
            simplify(f)
        finally:
            sys.setprofile(None)
        return count

    assert calls(straight(2000)) < 2.5 * calls(straight(1000))


def test_arrays_that_are_written_to_are_not_shared():
    def body(b, i):
        a, c = b.zeros((3,), float), b.zeros((3,), float)
        one = b.constant(1.0, float)
        return [b.setitem(a, [i], one, ("i",)), c]

    assert operations(simplified(body, INT64)) == ["full", "full", "setitem"]


def test_a_slice_that_is_reshaped_in_a_loop_is_stored_once():
    def body(b, x):
        def step(i, s):
            rows = b.reshape(b.getitem(x, [b.constant(2, np.int64)], (("s", 1),), [6]), (3, 2))
            return [b.ufunc(np.add, s, b.getitem(rows, [i, b.constant(0, np.int64)], ("i", "i"), []))]

        zero, three, one = (b.constant(k, np.int64) for k in (0, 3, 1))
        return b.range_(zero, three, one, step, [b.constant(0.0, float)])

    f = simplified(body, vector(8))
    assert operations(f) == ["getitem", "reshape", "range", "getitem", "add"]
    assert evaluate(f, [np.arange(8.0)])[0] == 2.0 + 4.0 + 6.0


def test_arrays_of_one_number_are_that_number_in_elementwise_operations():
    def body(b, x, y):
        ones = b.full(x.type.shape, b.constant(1.0))
        zeros = b.zeros(x.type.shape, float)
        a = b.ufunc(np.multiply, b.broadcast_to(b.reshape(b.constant(1.0), (1,)), x.type.shape), x)
        scaled = b.ufunc(np.multiply, b.full(x.type.shape, y), a)
        never = b.ufunc(np.multiply, b.constant(False), b.ufunc(np.equal, x, zeros))
        exponent = b.ufunc(np.add, b.constant(2.0), b.cast(never, float))
        quotient = b.where(
            b.ufunc(np.equal, ones, zeros), zeros, b.ufunc(np.divide, b.ufunc(np.power, x, exponent), ones)
        )
        return [scaled, quotient]

    x = np.array([0.5, -0.0, np.nan])
    f = simplified(body, ArrayType(np.dtype(float), (3,)), FLOAT64)
    assert operations(f) == ["multiply", "multiply"]
    plain = program(body, ArrayType(np.dtype(float), (3,)), FLOAT64)
    for found, expected in zip(evaluate(f, [x, 3.0]), evaluate(plain, [x, 3.0])):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_array_of_a_python_number_keeps_its_dtype_in_elementwise_operations(dtype):
    def body(b, x):
        return [
            b.ufunc(np.add, b.full((2,), b.constant(0.1)), b.cast(x, float)),
            b.transpose(b.full((2, 3), x), (1, 0)),
        ]

    f = simplified(body, ArrayType(np.dtype(dtype)))
    plain = program(body, ArrayType(np.dtype(dtype)))
    for found, expected in zip(evaluate(f, [dtype(0.3)]), evaluate(plain, [dtype(0.3)])):
        assert found.dtype == expected.dtype and np.array_equal(found, expected)
