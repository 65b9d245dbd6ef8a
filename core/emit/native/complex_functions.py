"""Ufuncs on one complex element, a pair of registers.

Division is Smith's algorithm (CACM 5 (1962) 435), as in NumPy; C library functions compute in complex128.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .assembly import Code
from .elements import convert, half, literal, register
from .real_functions import TABLES, Emit, apply, c_function

Pair = tuple[str, str]
_C128 = np.dtype(np.complex128)
_F64 = np.dtype(np.float64)


def _parts(function: np.ufunc) -> Emit:
    """Return an emitter that applies a real function to both parts."""

    def emit(code: Code, dtype: np.dtype, *x: Pair) -> Pair:
        return tuple(apply(code, function, half(dtype), [z[i] for z in x]) for i in (0, 1))  # type: ignore[return-value]

    return emit


def multiply(code: Code, dtype: np.dtype, a: Pair, b: Pair) -> Pair:
    real = half(dtype)

    def f(function: np.ufunc, *x: str) -> str:
        return apply(code, function, real, list(x))

    first = f(np.subtract, f(np.multiply, a[0], b[0]), f(np.multiply, a[1], b[1]))
    return first, f(np.add, f(np.multiply, a[0], b[1]), f(np.multiply, a[1], b[0]))


def divide(code: Code, dtype: np.dtype, a: Pair, b: Pair) -> Pair:
    real = half(dtype)
    kind = register(real)

    def f(function: np.ufunc, *x: str) -> str:
        return apply(code, function, real, list(x))

    def choose(test: str, x: str, y: str) -> str:
        return code.value(f"select i1 {test}, {kind} {x}, {kind} {y}")

    larger = f(np.greater_equal, f(np.absolute, b[0]), f(np.absolute, b[1]))
    # If |b.imag| is larger than |b.real|, divide both by i: a / b = (a / i) / (b / i).
    br, bi = choose(larger, b[0], b[1]), choose(larger, b[1], f(np.negative, b[0]))
    ar, ai = choose(larger, a[0], a[1]), choose(larger, a[1], f(np.negative, a[0]))
    ratio = f(np.divide, bi, br)
    # A zero divisor: avoid 0 / 0 in the ratio, so that both parts are divided by a real zero.
    none = f(np.equal, br, literal(0, real))
    ratio = choose(none, literal(0, real), ratio)
    scale = f(np.add, br, f(np.multiply, bi, ratio))
    first = f(np.divide, f(np.add, ar, f(np.multiply, ai, ratio)), scale)
    return first, f(np.divide, f(np.subtract, ai, f(np.multiply, ar, ratio)), scale)


def _absolute(code: Code, dtype: np.dtype, a: Pair) -> str:
    return c_function("hypot")(code, half(dtype), *a)


def c_complex(name: str) -> Emit:
    """Return an emitter of a function of complex.h, which is passed each number as two doubles."""

    def emit(code: Code, dtype: np.dtype, *x: Pair) -> Pair:
        wide = [part for z in x for part in convert(code, z, dtype, _C128)]
        found = code.call(name, "{ double, double }", [("double", p) for p in wide])
        parts = tuple(code.value(f"extractvalue {{ double, double }} {found}, {i}") for i in (0, 1))
        return convert(code, parts, _C128, dtype)

    return emit


def _scaled(function: np.ufunc, factor: float) -> Emit:
    def emit(code: Code, dtype: np.dtype, a: Pair) -> Pair:
        scale = literal(factor, half(dtype))
        found = apply(code, function, dtype, [a])
        return tuple(apply(code, np.multiply, half(dtype), [p, scale]) for p in found)  # type: ignore[return-value]

    return emit


def _order(function: np.ufunc, equal: np.ufunc) -> Emit:
    """Return an emitter of NumPy's lexicographic order: by the real parts, then by the imaginary parts."""

    def emit(code: Code, dtype: np.dtype, a: Pair, b: Pair) -> str:
        real = half(dtype)
        first = apply(code, function, real, [a[0], b[0]])
        same = apply(code, np.equal, real, [a[0], b[0]])
        second = apply(code, equal, real, [a[1], b[1]])
        return code.value(f"select i1 {same}, i1 {second}, i1 {first}")

    return emit


def _extreme(order: np.ufunc) -> Emit:
    def emit(code: Code, dtype: np.dtype, a: Pair, b: Pair) -> Pair:
        first = code.value(f"or i1 {apply(code, order, dtype, [a, b])}, {apply(code, np.isnan, dtype, [a])}")
        kind = register(dtype)
        return tuple(code.value(f"select i1 {first}, {kind} {x}, {kind} {y}") for x, y in zip(a, b))  # type: ignore[return-value]

    return emit


def _any(function: np.ufunc, join: str) -> Emit:
    def emit(code: Code, dtype: np.dtype, *x: Pair) -> str:
        tests = [apply(code, function, half(dtype), [z[i] for z in x]) for i in (0, 1)]
        return code.value(f"{join} i1 {tests[0]}, {tests[1]}")

    return emit


def _logical(function: np.ufunc) -> Emit:
    def emit(code: Code, dtype: np.dtype, *x: Pair) -> str:
        truth = np.dtype(bool)
        return apply(code, function, truth, [convert(code, z, dtype, truth) for z in x])

    return emit


def _power(code: Code, dtype: np.dtype, a: Pair, b: Pair) -> Pair:
    if b == literal(2, dtype):
        return multiply(code, dtype, a, a)
    real, kind = half(dtype), register(half(dtype))
    zero, one = literal(0, real), literal(1, real)

    def is_zero(z: Pair) -> str:
        return code.value(
            f"and i1 {apply(code, np.equal, real, [z[0], zero])}, {apply(code, np.equal, real, [z[1], zero])}"
        )

    # The C library takes the logarithm of zero. In NumPy z ** 0 == 1, and 0 ** z == 0 if z has a positive real part.
    found = c_complex("cpow")(code, dtype, a, b)
    grows = code.value(f"and i1 {is_zero(a)}, {apply(code, np.greater, real, [b[0], zero])}")
    found = tuple(code.value(f"select i1 {grows}, {kind} {zero}, {kind} {x}") for x in found)
    constant = is_zero(b)
    return tuple(code.value(f"select i1 {constant}, {kind} {y}, {kind} {x}") for x, y in zip(found, (one, zero)))  # type: ignore[return-value]


def _sign(code: Code, dtype: np.dtype, a: Pair) -> Pair:
    """Emit z / abs(z), zero at zero."""
    size, real = _absolute(code, dtype, a), half(dtype)
    none = apply(code, np.equal, real, [size, literal(0, real)])
    kind = register(real)
    safe = code.value(f"select i1 {none}, {kind} {literal(1, real)}, {kind} {size}")
    return tuple(apply(code, np.divide, real, [p, safe]) for p in a)  # type: ignore[return-value]


def _exp(code: Code, dtype: np.dtype, a: Pair) -> Pair:
    """Emit exp(x) (cos y + i sin y) in float64, with the special values of the C library's cexp (C99, annex G).

    Unlike a call of cexp it vectorises. Where exp(x) may overflow, its root is multiplied twice.
    """
    x, y = convert(code, a, dtype, _C128)

    def f(function: np.ufunc, *operands: str) -> str:
        return apply(code, function, _F64, list(operands))

    def choose(test: str, first: str, second: str) -> str:
        return code.value(f"select i1 {test}, double {first}, double {second}")

    zero, one = literal(0.0, _F64), literal(1.0, _F64)
    is_large = f(np.greater, f(np.absolute, x), literal(700.0, _F64))
    size = f(np.exp, choose(is_large, f(np.multiply, x, literal(0.5, _F64)), x))
    again = choose(is_large, size, one)
    cosine, sine = (f(np.multiply, f(np.multiply, size, f(u, y)), again) for u in (np.cos, np.sin))
    is_lost = code.value(f"xor i1 {f(np.isfinite, y)}, true")
    bottom = code.value(f"and i1 {is_lost}, {f(np.equal, x, literal(-np.inf, _F64))}")
    top = code.value(f"and i1 {is_lost}, {f(np.equal, x, literal(np.inf, _F64))}")
    real = choose(top, x, choose(bottom, zero, cosine))
    imaginary = choose(f(np.equal, y, zero), y, choose(bottom, zero, sine))
    return convert(code, (real, imaginary), _C128, dtype)


COMPLEX: dict[Any, Emit] = {
    np.add: _parts(np.add),
    np.subtract: _parts(np.subtract),
    np.negative: _parts(np.negative),
    np.positive: lambda code, dtype, a: a,
    np.rint: _parts(np.rint),
    np.multiply: multiply,
    np.divide: divide,
    np.square: lambda code, dtype, a: multiply(code, dtype, a, a),
    np.reciprocal: lambda code, dtype, a: divide(code, dtype, literal(1, dtype), a),
    np.conjugate: lambda code, dtype, a: (a[0], apply(code, np.negative, half(dtype), [a[1]])),
    np.absolute: _absolute,
    np.power: _power,
    np.float_power: _power,
    np.sign: _sign,
    np.equal: _any(np.equal, "and"),
    np.not_equal: _any(np.not_equal, "or"),
    np.less: _order(np.less, np.less),
    np.less_equal: _order(np.less, np.less_equal),
    np.greater: _order(np.greater, np.greater),
    np.greater_equal: _order(np.greater, np.greater_equal),
    np.maximum: _extreme(np.greater_equal),
    np.minimum: _extreme(np.less_equal),
    np.isnan: _any(np.isnan, "or"),
    np.isinf: _any(np.isinf, "or"),
    np.isfinite: _any(np.isfinite, "and"),
    **{f: _logical(f) for f in (np.logical_and, np.logical_or, np.logical_xor, np.logical_not)},
    np.exp: _exp,
    np.log2: _scaled(np.log, 1 / np.log(2)),
    np.log10: _scaled(np.log, 1 / np.log(10)),
    **{getattr(np, name): c_complex(f"c{name}") for name in "log sqrt sin cos tan sinh cosh tanh".split()},
    **{getattr(np, f"arc{name}"): c_complex(f"ca{name}") for name in "sin cos tan sinh cosh tanh".split()},
}
"""The complex loops."""

TABLES["c"] = COMPLEX
