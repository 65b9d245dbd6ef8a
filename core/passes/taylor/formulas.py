"""Recurrences for the series of products, quotients and powers (Griewank and Walther 2008, table 13.1)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...ir.builder import Builder
from ...ir.dynamic import Operation, Value
from ...rules.operators import exponent_partial
from ..reverse.by_rule import rule_of
from ..reverse.formulas import write
from .online import Online, formula_of

LARGEST_PRODUCT = 64
"""The highest exponent for which a power is computed as a product."""


@formula_of(np.multiply)
def product(online: Online, op: Operation, k: int) -> Value | None:
    """(a b)_k is the sum of a_j b_(k - j)."""
    a, b = op.positional
    if a is not b:
        pairs = [(_of(online, a, j), _of(online, b, k - j)) for j in range(k + 1)]
        return online.sum([online.product(x, y) for x, y in pairs])
    pairs = [(_of(online, a, j), _of(online, a, k - j)) for j in range((k + 1) // 2)]
    twice = online.sum([online.product(x, y) for x, y in pairs])
    middle = _of(online, a, k // 2) if k % 2 == 0 else None
    return online.sum([online.times(twice, 2), online.product(middle, middle)])


@formula_of(np.square)
def square(online: Online, op: Operation, k: int) -> Value | None:
    x = op.positional[0]
    return product(online, Operation("call", np.multiply, [x, x], results=op.results), k)


@formula_of(np.matmul)
def matrix_product(online: Online, op: Operation, k: int) -> Value | None:
    return online.multilinear(op, ((0,), (1,)), k)


@formula_of(np.divide)
def quotient(online: Online, op: Operation, k: int) -> Value | None:
    """y = a / b satisfies b y = a, so b_0 y_k = a_k - (the sum of b_j y_(k - j) from j = 1)."""
    a, b = op.positional
    (y,) = op.results
    pairs = [(_of(online, b, j), online.coefficient(y, k - j)) for j in range(1, k + 1)]
    less, ak = online.sum([online.product(x, z) for x, z in pairs]), _of(online, a, k)
    b0 = online.base.get(b, b)
    if less is None:
        return None if ak is None else online.builder.ufunc(np.divide, ak, b0)
    if ak is None:
        return online.builder.ufunc(np.negative, online.builder.ufunc(np.divide, less, b0))
    return online.builder.ufunc(np.divide, online.builder.ufunc(np.subtract, ak, less), b0)


@formula_of(np.power, np.float_power)
def power(online: Online, op: Operation, k: int) -> Value | None:
    x, n = op.positional
    if online.varies(n):
        return _of_exponent(online, op, k)
    exponent = _number(n)
    if exponent is not None and exponent == int(exponent) and 0 <= exponent <= LARGEST_PRODUCT:
        if op not in online.tangents:
            like = op.results[0].type.dtype
            online.tangents[op] = online.program(lambda: [_multiplied(online.builder, x, int(exponent), like)])
        return _of(online, online.tangents[op][0], k)
    return _of_constant_exponent(online, op, exponent, k)


def _multiplied(b: Builder, x: Value, n: int, dtype: Any) -> Value:
    """Write x ** n as products."""
    y, square = None, b.cast(x, dtype)
    while n:
        if n & 1:
            y = square if y is None else b.ufunc(np.multiply, y, square)
        n >>= 1
        square = b.ufunc(np.multiply, square, square) if n else square
    return b.constant(1, dtype) if y is None else y


def _of_constant_exponent(online: Online, op: Operation, exponent: float | None, k: int) -> Value | None:
    """y = x^n satisfies x y' = n y x', so k x_0 y_k is the sum of (n j - (k - j)) x_j y_(k - j) from j = 1."""
    b, (x, n), (y,) = online.builder, op.positional, op.results
    x0, n0 = online.base.get(x, x), online.base.get(n, n)
    terms = []
    for j in range(1, k + 1):
        found = online.product(_of(online, x, j), online.coefficient(y, k - j))
        if found is not None:
            factor: Any = b.ufunc(np.subtract, b.ufunc(np.multiply, n0, b.constant(float(j))), b.constant(float(k - j)))
            terms.append(
                b.ufunc(np.multiply, found, factor if exponent is None else b.constant(exponent * j - (k - j)))
            )
    total = online.sum(terms)
    if total is None:
        return None
    regular = b.ufunc(np.divide, _over(online, total, k), x0)
    at_zero = _at_zero(online, op, exponent, k)
    return (
        regular if at_zero is None else b.where(b.ufunc(np.equal, x0, b.constant(0, x0.type.dtype)), at_zero, regular)
    )


def _at_zero(online: Online, op: Operation, exponent: float | None, k: int) -> Value | None:
    """Write coefficient k of x^n where x_0 is 0: with x = t v, it is coefficient k - n of v^n, or infinite beyond n."""
    b, (x, n), (y,) = online.builder, op.positional, op.results
    zero = b.constant(0, y.type.dtype)
    if exponent is not None and exponent < 0:
        return None
    if exponent is not None and k < exponent:
        return zero
    x0, n0, x1 = online.base.get(x, x), online.base.get(n, n), _of(online, x, 1)
    less = b.ufunc(np.subtract, n0, b.constant(float(k)))
    infinite = b.ufunc(op.callee, b.cast(x0, y.type.dtype), less)
    factor: Any = b.constant(1.0)
    for m in range(k):
        factor = b.ufunc(np.multiply, factor, b.ufunc(np.subtract, n0, b.constant(float(m))))
    beyond = b.ufunc(np.multiply, infinite, b.ufunc(np.multiply, factor, x1)) if x1 is not None else b.constant(np.nan)
    if exponent is not None:
        return beyond
    found = b.where(b.ufunc(np.greater, n0, b.constant(float(k))), zero, beyond)
    key = op, "at zero"
    shifted = online.tangents.setdefault(key, [])  # the coefficients of v^n
    v: list[Any] = [_of(online, x, j) for j in range(1, k + 1)]
    if v[0] is None:
        v[0] = b.constant(0, x0.type.dtype)
    if not shifted:
        shifted.append(b.ufunc(op.callee, v[0], n0))
    while len(shifted) < k + 1 and len(shifted) <= len(v) - 1:
        m, terms = len(shifted), []
        for j in range(1, m + 1):
            if v[j] is not None:
                scale = b.ufunc(np.subtract, b.ufunc(np.multiply, n0, b.constant(float(j))), b.constant(float(m - j)))
                terms.append(b.ufunc(np.multiply, scale, b.ufunc(np.multiply, v[j], shifted[m - j])))
        total = online.sum(terms)
        shifted.append(zero if total is None else b.ufunc(np.divide, _over(online, total, m), v[0]))
    for m in range(min(k, len(shifted) - 1) + 1):
        found = b.where(b.ufunc(np.equal, n0, b.constant(float(k - m))), shifted[m], found)
    return b.where(b.ufunc(np.equal, n0, b.constant(0.0)), zero, found)


def _of_exponent(online: Online, op: Operation, k: int) -> Value | None:
    """y = x^n with a varying exponent: y' = n y / x x' + y log(x) n'."""
    x, n = op.positional
    (y,) = op.results
    if k == 1:
        return online.by_slopes(online.slopes(op, rule_of(op, "taylor")), 1)
    b = online.builder
    if op not in online.tangents:
        found = []
        if online.varies(x):
            write_slope = lambda: [b.ufunc(np.divide, b.ufunc(np.multiply, n, y), x)]  # noqa: E731
            found.append((x, online.program(write_slope)[0], True))
        found.append((n, online.program(lambda: [write(b, exponent_partial, [y, x, n])])[0], True))
        online.tangents[op] = found
    regular = online.by_slopes(online.tangents[op], k)
    x0, n0, x1 = online.base.get(x, x), online.base.get(n, n), _of(online, x, 1)
    if regular is None or x1 is None or n0.type.dtype.kind == "c":
        return regular
    # Where x_0 is 0, y is t^(n_0 + n_1 t + ...) (x_1 + ...)^n, and t^(n_1 t) is 1 - O(t log t).
    order, kind = b.constant(float(k)), y.type.dtype
    power = b.ufunc(np.power, b.cast(x1, kind), b.constant(k, kind))
    beyond = b.where(b.ufunc(np.equal, n0, order), power, b.constant(np.nan, kind))
    at_zero = b.where(b.ufunc(np.greater, n0, order), b.constant(0, kind), beyond)
    return b.where(b.ufunc(np.equal, x0, b.constant(0, x0.type.dtype)), at_zero, regular)


def _over(online: Online, t: Value, k: int) -> Value:
    found = online.divided(t, k)
    assert found is not None
    return found


def _of(online: Online, value: Value, k: int) -> Value | None:
    return online.coefficient(value, k) if k == 0 or online.varies(value) else None


def _number(n: Value) -> float | None:
    """Return a real number that is known, else None."""
    if not n.is_constant or n.type.shape or np.imag(n.constant) or not math.isfinite(np.real(n.constant)):
        return None
    return float(np.real(n.constant))


@formula_of(np.prod)
def product_of_entries(online: Online, op: Operation, k: int) -> Value | None:
    (x,) = op.positional
    axes = op.named["axis"].constant
    if not all(isinstance(x.type.shape[i], int) for i in axes):
        return online.by_tangent(op, op.results[0], k)
    if op not in online.tangents:
        online.tangents[op] = online.program(lambda: [_halved(online.builder, x, axes)])
    return _of(online, online.tangents[op][0], k)


def _halved(b: Builder, x: Value, axes: tuple[int, ...]) -> Value:
    """Write a product over axes as products of halves."""
    rest = [i for i in range(x.type.ndim) if i not in axes]
    kept = tuple(x.type.shape[i] for i in rest)
    n = math.prod(x.type.shape[i] for i in axes)
    x = b.reshape(b.transpose(x, [*axes, *rest]), (n, *kept))
    if n == 0:
        return b.broadcast_to(b.constant(1, x.type.dtype), kept)
    while n > 1:
        half = n // 2
        y = b.ufunc(np.multiply, part(b, x, 0, half), part(b, x, half, half))
        x = y if n == 2 * half else b.concatenate([y, part(b, x, n - 1, 1)], 0, n - half)
        n -= half
    return b.reshape(x, kept)


@formula_of(np.cumprod)
def cumulative_product(online: Online, op: Operation, k: int) -> Value | None:
    (x,) = op.positional
    axis = op.named["axis"].constant
    if not isinstance(x.type.shape[axis], int):
        return online.by_tangent(op, op.results[0], k)
    if op not in online.tangents:
        online.tangents[op] = online.program(lambda: [_doubled(online.builder, x, axis)])
    return _of(online, online.tangents[op][0], k)


def _doubled(b: Builder, x: Value, axis: int) -> Value:
    """Write the products of the first entries as products of neighbouring runs, whose length doubles."""
    order = [axis, *(i for i in range(x.type.ndim) if i != axis)]
    x = b.transpose(x, order)
    n, d = x.type.shape[0], 1
    while d < n:
        later = b.ufunc(np.multiply, part(b, x, d, n - d), part(b, x, 0, n - d))
        x, d = b.concatenate([part(b, x, 0, d), later], 0, n), 2 * d
    return b.transpose(x, [order.index(i) for i in range(len(order))])


def part(b: Builder, x: Value, start: int, length: int) -> Value:
    """Return entries along the first dimension."""
    spec = (("s", 1), *[":"] * (x.type.ndim - 1))
    return b.getitem(x, [b.constant(start, np.int64)], spec, [length])
