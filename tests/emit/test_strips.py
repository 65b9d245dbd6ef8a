"""Operations that run by strips: what they may not overwrite, and that arrays between them take no memory."""

from __future__ import annotations

import numpy as np
import pytest

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

N = 200
KIND = ArrayType(np.dtype(np.float64), (N,))


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(strips, "LEAST", 2)
    monkeypatch.setattr(strips, "SIZES", (8, 16))


def made(build) -> Function:
    b, x = Builder(), Value("x", KIND)
    with b.block() as block:
        block.results = build(b, x)
    return verify(Function("f", [x], block))


def backwards(b, x):
    return b.getitem(x, [b.constant(N - 1, np.int64)], (("s", -1),), [N])


def own(b, x):
    """An array that the program may overwrite."""
    return b.call(typed.setitem, [x, b.constant(0, np.int64), b.constant(5.0)], [x.type], spec=("i",))[0]


def check_against_numpy(function):
    x = np.random.default_rng(0).normal(size=N)
    assert FunctionCode(function, ProgramText(function, True, host())).strips
    for found, expected in zip(compile_function(function)([x]), evaluate(function, [x])):
        np.testing.assert_allclose(found, expected, 1e-9)


def test_an_array_that_is_read_elsewhere_is_not_overwritten(short):
    def build(b, x):
        y = own(b, x)
        a = b.ufunc(np.add, backwards(b, y), x)
        return [a, b.ufunc(np.sin, a), b.ufunc(np.multiply, y, b.constant(2.0))]

    check_against_numpy(made(build))


def test_memory_of_smaller_elements_is_not_shared(short):
    """Element i of ``c`` lies where later elements of ``y`` do, if it is given that memory."""

    def build(b, x):
        single = ArrayType(np.dtype(np.float32), (N,))
        v = accumulated(b, accumulated(b, x))
        y = b.call(np.cumsum, [b.cast(v, np.float32)], [single], axis=0)[0]
        a = b.ufunc(np.add, b.cast(y, np.float64), x)
        c = b.ufunc(np.multiply, b.ufunc(np.sin, a), a)
        return [a, v, accumulated(b, c), accumulated(b, accumulated(b, c))]

    check_against_numpy(made(build))


def test_an_array_is_not_overwritten_through_another_shape(short):
    def build(b, x):
        y = own(b, x)
        row = b.reshape(y, (1, N))
        v = b.ufunc(np.sin, y)
        ends = [b.constant(0, np.int64), b.constant(N - 1, np.int64)]
        return [
            b.ufunc(np.multiply, v, v),
            b.call(typed.setitem, [row, *ends, v], [row.type], spec=("i", ("s", -1)))[0],
        ]

    check_against_numpy(made(build))


def test_writes_to_parts_take_turns(short):
    """As in the adjoint of a stencil: what is read, what is added at neighbours, and zeros where it was."""

    def build(b, x):
        y, lengths = own(b, x), [N - 2]
        at = [b.constant(k, np.int64) for k in range(3)]
        v = b.ufunc(np.multiply, b.getitem(y, [at[1]], (("s", 1),), lengths), b.constant(0.2))
        zero = b.full((N - 2,), b.constant(0.0))
        y = b.call(typed.setitem, [y, at[1], zero], [KIND], spec=(("s", 1),))[0]
        total = x
        for i in at:
            total = b.call(typed.add_at, [total, i, v], [KIND], spec=(("s", 1),))[0]
        total = b.call(typed.setitem, [total, at[1], zero], [KIND], spec=(("s", 1),))[0]
        return [y, total]

    check_against_numpy(made(build))


def accumulated(b, x):
    return b.call(np.cumsum, [x], [x.type], axis=0)[0]


def test_an_array_is_updated_in_place(short):
    """The step of a descent in a loop: the carried arrays stay in their memory."""

    def build(b, x):
        def step(i, x, y):
            g = b.ufunc(np.sin, x)
            return [b.ufunc(np.subtract, x, b.ufunc(np.multiply, g, y)), b.ufunc(np.multiply, y, g)]

        zero, five, one = (b.constant(k, np.int64) for k in (0, 5, 1))
        return b.range_(zero, five, one, step, [x, x])

    function = made(build)
    check_against_numpy(function)
    code = FunctionCode(function, ProgramText(function, True, host()))
    assert not code.placement.slots


def test_arrays_between_them_take_no_memory():
    def f(x):
        u = np.sin(x)
        v = np.cos(u) * u
        return np.sum(np.exp(v) * u + v)

    x = np.linspace(0.0, 1.0, 50_000)
    text = mo.jit(mo.grad(f)).lower(x).as_text("llvm")
    assert "malloc" not in text


ROWS, COLUMNS = 40, 300


def softmax(x, w):
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.sum(e / np.sum(e, axis=1, keepdims=True) * w)


def layer_norm(x, w):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    deviation = np.sqrt(np.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
    return np.sum(np.tanh(centred / deviation * w))


def by_rows_and_columns(x, w):
    u = np.sin(x) * w[0]
    v = u + np.cos(x[:, :1])
    return np.sum(u * v) + np.max(v * w) + np.sum(np.sum(v, axis=1) ** 2)


def of_parts(x, w):
    u = x[:-1, 1:] * w[1:, :-1]
    v = np.exp(-(u**2))
    return np.sum(v * u) + np.sum(v)


def with_a_loop(x, w):
    for _ in range(3):
        y = np.sin(x) + w
        x = x - 0.1 * y * np.cos(x) + 0.01 * np.sum(y)
    return np.sum(x**2)


def of_columns(x, w):
    """A matrix in columns: ``x.T`` has no elements in C order."""
    u = np.sin(x.T) + 1.0
    v = u * np.cos(w.T)
    return np.sum(u * v * v) + np.sum(v, axis=1)[3]


@pytest.mark.parametrize("f", [softmax, layer_norm, by_rows_and_columns, of_parts, with_a_loop, of_columns])
def test_derivatives(f):
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(2, ROWS, COLUMNS))
    value, gradient = mo.jit(mo.value_and_grad(f, argnums=(0, 1)))(x, w)
    expected, gradient_ = mo.value_and_grad(f, argnums=(0, 1))(x, w)
    assert np.isclose(value, expected, rtol=1e-12)
    for g, g_ in zip(gradient, gradient_):
        np.testing.assert_allclose(g, g_, rtol=1e-9, atol=1e-11 * np.max(np.abs(g_)))


@pytest.mark.parametrize("n", [2_047, 2_048, 5_001])
def test_lengths_known_at_run_time(n):
    def f(x, keep):
        y = x[keep]
        u = np.sin(y)
        return np.sum(u * np.cos(u) + u * y)

    x = np.linspace(-1.0, 1.0, n)
    keep = x > -0.4
    value, gradient = mo.jit(mo.value_and_grad(f))(x, keep)
    expected, gradient_ = mo.value_and_grad(f)(x, keep)
    assert np.isclose(value, expected)
    np.testing.assert_allclose(gradient, gradient_, 1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int64])
def test_numbers_of_other_types(dtype):
    def f(x, y):
        u = x * x + y
        v = u * y - x
        return np.sum(np.abs(u * v)) + np.sum(v).real

    x, y = (np.arange(2, 6_002) % k for k in (7, 5))
    x, y = ((a * (1 + 0.5j) if dtype is np.complex128 else a).astype(dtype) for a in (x, y))
    np.testing.assert_allclose(mo.jit(f)(x, y), f(x, y), 1e-5 if dtype is np.float32 else 1e-13)
