"""Typed IR printed as Python: its text, and that it computes the same as the IR."""

from __future__ import annotations

import linecache

import numpy as np
import pytest
from hypothesis import given, settings
from random_typed import programs

import morula.core.specialise  # noqa: F401  rules are traced
from morula.core.emit.typed_python import build, source
from morula.core.ir import typed
from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value
from morula.core.ir.evaluate import evaluate
from morula.core.ir.typed import FLOAT64, INT64, ArrayType, Dim
from morula.core.passes.reverse import reverse

VECTOR = ArrayType(np.dtype(float), (5,))


def function(types, write, name="f"):
    parameters = [Value(n, t) for n, t in zip("xyz", types)]
    b = Builder()
    with b.block() as block:
        block.results = list(write(b, *parameters))
    return Function(name, parameters, block)


def loops(b, x, n):
    one, zero = b.constant(1, np.int64), b.constant(0, np.int64)

    def body(i, v):
        left = b.getitem(v, [b.ufunc(np.remainder, i, b.constant(5, np.int64))], ("i",), [])
        big = b.ufunc(np.greater, left, b.constant(2.0))
        (new,) = b.if_(big, lambda: [b.ufunc(np.sin, left)], lambda: [b.ufunc(np.multiply, left, b.constant(1.5))])
        return [b.setitem(v, [b.ufunc(np.remainder, i, b.constant(5, np.int64))], new, ("i",))]

    (v,) = b.range_(zero, n, one, body, [x])
    (s,) = b.while_(
        lambda s: b.ufunc(np.less, s, b.constant(50.0, np.float64)),
        lambda s: [b.ufunc(np.multiply, s, b.constant(2.0, np.float64))],
        [b.ufunc(np.add, b.reduce(np.sum, v, [0]), b.constant(1.0, np.float64))],
    )
    return [v, s]


def parts(b, x, n):
    reversed_ = b.getitem(x, [b.constant(4, np.int64)], (("s", -2),), [3])
    middle = b.getitem(x, [n], (("s", 1),), [2])
    k = Dim(n, 5)
    start = b.getitem(x, [b.constant(0, np.int64)], (("s", 1),), [k])
    table = b.reshape(b.concatenate([x, x], 0, 10), (2, 5))
    return [
        reversed_,
        middle,
        start,
        b.transpose(table, (1, 0)),
        b.matmul(table, b.transpose(table, (1, 0))),
        b.iota(k),
    ]


@pytest.mark.parametrize("frees", [False, True])
@pytest.mark.parametrize("write", [loops, parts])
def test_what_is_printed_computes_the_same(write, frees):
    f = function([VECTOR, INT64], write)
    arguments = np.array([1.0, 2.5, 0.5, -1.0, 3.0]), np.int64(3)
    for a, b in zip(build(f, frees)(*arguments), evaluate(f, arguments), strict=True):
        assert np.array_equal(a, b) and np.asarray(a).dtype == np.asarray(b).dtype


@settings(max_examples=40)
@given(programs())
def test_random_programs_and_their_sweeps_that_drop_and_overwrite_arrays(made):
    f, arguments = made
    active = [p.type.is_inexact for p in f.parameters]
    sweeps = reverse(f, active, "native")
    expected = evaluate(sweeps.forward, arguments)
    seeds = [np.ones(np.shape(x), x.dtype) for x, v in zip(expected, f.block.results) if v.type.is_inexact]
    kept = [np.array(x) for x in arguments]
    with np.errstate(all="ignore"):
        found = build(sweeps.forward, frees=True)(*arguments)
        saved = found[len(f.block.results) :]
        cotangents = build(sweeps.backward, frees=True)(*saved, *seeds)
    for x, y in zip(arguments, kept, strict=True):
        assert np.array_equal(x, y, equal_nan=True)
    for x, y in zip(cotangents, evaluate(sweeps.backward, [*expected[len(f.block.results) :], *seeds]), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)


def test_arrays_are_overwritten_where_nothing_else_shows_them():
    def write(b, x):
        one = b.constant(1, np.int64)
        y = b.ufunc(np.sin, x)
        shown = b.getitem(y, [one], (("s", 1),), [2])
        y = b.setitem(y, [b.constant(0, np.int64)], b.constant(5.0, np.float64), ("i",))
        z = b.ufunc(np.multiply, y, x)
        z = b.setitem(z, [one], b.constant(7.0, np.float64), ("i",))
        z = b.add_at(z, [one], shown, (("s", 1),))
        return [b.ufunc(np.add, z, y)]

    made = build(function([VECTOR], write), frees=True)
    text = "".join(linecache.getlines(made.__code__.co_filename))
    assert text == (
        "def f(x):\n    t = np.sin(x)\n    t1 = t[1:3]\n    t2 = np.array(t)\n    t2[0] = 5.0\n    del t\n"
        "    t3 = t2 * x\n    del x\n    t3[1] = 7.0\n    t3[1:3] += t1\n    del t1\n    t4 = t3 + t2\n    del t3, t2\n"
        "    return [t4]\n"
    )


def test_sweeps_can_be_printed_too():
    f = function([VECTOR, INT64], lambda b, x, n: loops(b, x, n)[1:])
    sweeps = reverse(f, [True, False], "native")
    arguments = np.array([1.0, 2.5, 0.5, -1.0, 3.0]), np.int64(3)
    _, *saved = build(sweeps.forward)(*arguments)
    _, *expected = evaluate(sweeps.forward, arguments)
    (found,) = build(sweeps.backward)(*saved, np.float64(1))
    assert np.array_equal(found, evaluate(sweeps.backward, [*expected, np.float64(1)])[0])


def test_the_text_is_read_as_the_program():
    f = function(
        [VECTOR, FLOAT64], lambda b, x, y: [b.reduce(np.sum, b.ufunc(np.multiply, b.ufunc(np.exp, x), y), [0])]
    )
    assert source(f) == (
        "def f(x, y):\n    t = np.exp(x)\n    t1 = t * y\n    t2 = np.sum(t1, axis=(0,))\n    return [t2]\n"
    )


def test_constants_are_written_out_while_they_are_short():
    def write(b, x):
        return [
            b.ufunc(np.add, x, b.constant(np.arange(3.0).repeat(1)[:1])),
            b.ufunc(np.add, x, b.constant(np.float32(0.5))),
            b.ufunc(np.add, x, b.constant(np.inf)),
            b.ufunc(np.add, b.constant(np.arange(100.0)), x),
        ]

    f = function([FLOAT64], write)
    text = source(f)
    assert "np.array([0.0])" in text and "np.float64('inf')" in text and "constant + x" in text
    assert build(f)(1.0)[3].tolist() == (np.arange(100.0) + 1).tolist()


def test_recursion_is_a_function_that_calls_itself():
    n = Value("n", INT64)
    b = Builder()
    made = Function("factorial", [n], None)
    with b.block() as block:
        one = b.constant(1, np.int64)
        small = b.ufunc(np.less, n, one)
        block.results = b.if_(
            small,
            lambda: [one],
            lambda: [b.ufunc(np.multiply, n, b.call(made, [b.ufunc(np.subtract, n, one)], [INT64])[0])],
        )
    made.block = block
    assert build(made)(np.int64(5)) == [120]
    assert typed.INT64 is INT64
