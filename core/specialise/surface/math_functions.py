"""``math`` and ``cmath``: they return Python numbers, and raise their domain and range errors at run time."""

from __future__ import annotations

import cmath
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.builder import Builder
from ...ir.dynamic import Value
from ..traced import Trace, by_rule, traces
from .arguments import refuse, scalar_of, weak
from .operators import python_power
from .python_numbers import items_of, real_number, truncated

_C = np.dtype(np.complex128)


def _compared(ufunc: np.ufunc, bound: float) -> Callable[..., Value]:
    return lambda b, x, y: b.ufunc(ufunc, x, b.constant(bound))


def _outside(b: Builder, x: Value, y: Value) -> Value:
    return b.ufunc(np.greater, b.ufunc(np.absolute, x), b.constant(1.0))


def _touching(b: Builder, x: Value, y: Value) -> Value:
    return b.ufunc(np.greater_equal, b.ufunc(np.absolute, x), b.constant(1.0))


def _infinite(b: Builder, x: Value, y: Value) -> Value:
    return b.ufunc(np.isinf, x)


def _overflown(b: Builder, x: Value, y: Value) -> Value:
    return b.ufunc(np.logical_and, b.ufunc(np.isinf, y), b.ufunc(np.isfinite, x))


def _pole(b: Builder, x: Value, y: Value) -> Value:
    is_whole = b.ufunc(np.equal, x, b.ufunc(np.floor, x))
    return b.ufunc(np.logical_and, b.ufunc(np.less_equal, x, b.constant(0.0)), is_whole)


_BAD = "math domain error"
_LARGE = (_overflown, OverflowError, "math range error")
_PERIODIC = (_infinite, ValueError, _BAD)
_MATH: dict[Any, tuple[Any, ...]] = {
    math.sin: (np.sin, _PERIODIC),
    math.cos: (np.cos, _PERIODIC),
    math.tan: (np.tan, _PERIODIC),
    math.asin: (np.arcsin, (_outside, ValueError, _BAD)),
    math.acos: (np.arccos, (_outside, ValueError, _BAD)),
    math.atan: (np.arctan,),
    math.sinh: (np.sinh, _LARGE),
    math.cosh: (np.cosh, _LARGE),
    math.tanh: (np.tanh,),
    math.asinh: (np.arcsinh,),
    math.acosh: (np.arccosh, (_compared(np.less, 1.0), ValueError, _BAD)),
    math.atanh: (np.arctanh, (_touching, ValueError, _BAD)),
    math.exp: (np.exp, _LARGE),
    math.expm1: (np.expm1, _LARGE),
    math.sqrt: (np.sqrt, (_compared(np.less, 0.0), ValueError, _BAD)),
    math.log2: (np.log2, (_compared(np.less_equal, 0.0), ValueError, _BAD)),
    math.log10: (np.log10, (_compared(np.less_equal, 0.0), ValueError, _BAD)),
    math.log1p: (np.log1p, (_compared(np.less_equal, -1.0), ValueError, _BAD)),
    math.fabs: (np.absolute,),
    math.degrees: (np.degrees,),
    math.radians: (np.radians,),
    **({math.cbrt: (np.cbrt,), math.exp2: (np.exp2, _LARGE)} if hasattr(math, "cbrt") else {}),
}


def _math(ufunc: np.ufunc, *checks: Any) -> Callable[..., Any]:
    def apply(trace: Trace, x: Any, /) -> Any:
        v = real_number(trace, x)
        y = trace.builder.ufunc(ufunc, v)
        for fails, error, text in checks:
            trace.builder.raise_if(fails(trace.builder, v, y), error, text)
        return trace.wrap(y)

    return apply


for _function, (_ufunc, *_checks) in _MATH.items():
    traces(_function)(_math(_ufunc, *_checks))


def special(name: str) -> np.ufunc:
    """Return a ufunc of ``scipy.special``, which is imported only when needed."""
    import scipy.special

    return getattr(scipy.special, name)


def _special_math(name: str, *checks: Any) -> Callable[..., Any]:
    return lambda trace, x, /: _math(special(name), *checks)(trace, x)


traces(math.erf)(_special_math("erf"))
traces(math.erfc)(_special_math("erfc"))
traces(math.gamma)(_special_math("gamma", (_pole, ValueError, _BAD), _LARGE))
traces(math.lgamma)(_special_math("gammaln", (_pole, ValueError, _BAD)))

for _function, _ufunc in ((math.isnan, np.isnan), (math.isinf, np.isinf), (math.isfinite, np.isfinite)):
    traces(_function)(_math(_ufunc))


@traces(math.log)
def _log(trace: Trace, x: Any, base: Any = None, /) -> Any:
    found = _math(np.log, (_compared(np.less_equal, 0.0), ValueError, _BAD))(trace, x)
    return found if base is None else trace.call(operator.truediv, found, trace.call(math.log, base))


def _rounding(ufunc: np.ufunc) -> Callable[..., Any]:
    def apply(trace: Trace, x: Any, /) -> Any:
        v = scalar_of(trace.builder, trace.value(x))
        return trace.wrap(truncated(trace.builder, v if v.type.dtype.kind in "iub" else trace.builder.ufunc(ufunc, v)))

    return apply


for _function, _ufunc in ((math.floor, np.floor), (math.ceil, np.ceil), (math.trunc, np.trunc)):
    traces(_function)(_rounding(_ufunc))


def _two(ufunc: np.ufunc) -> Callable[..., Any]:
    def apply(trace: Trace, x: Any, y: Any, /) -> Any:
        return trace.wrap(trace.builder.ufunc(ufunc, real_number(trace, x), real_number(trace, y)))

    return apply


traces(math.atan2)(_two(np.arctan2))
traces(math.copysign)(_two(np.copysign))


@traces(math.fmod)
def _fmod(trace: Trace, x: Any, y: Any, /) -> Any:
    builder, a, b = trace.builder, real_number(trace, x), real_number(trace, y)
    bad = builder.ufunc(np.logical_or, builder.ufunc(np.isinf, a), builder.ufunc(np.equal, b, builder.constant(0.0)))
    builder.raise_if(bad, ValueError, _BAD)
    return trace.wrap(builder.ufunc(np.fmod, a, b))


@traces(math.remainder)
def _remainder(trace: Trace, x: Any, y: Any, /) -> Any:
    """Exact, and of the even quotient if two are equally near, as IEEE 754 has it."""
    builder, a, b = trace.builder, real_number(trace, x), real_number(trace, y)
    zero = builder.constant(0.0)
    bad = builder.ufunc(
        np.logical_and, builder.ufunc(np.isinf, a), builder.ufunc(np.logical_not, builder.ufunc(np.isnan, b))
    )
    undefined = builder.ufunc(
        np.logical_and, builder.ufunc(np.equal, b, zero), builder.ufunc(np.logical_not, builder.ufunc(np.isnan, a))
    )
    builder.raise_if(builder.ufunc(np.logical_or, bad, undefined), ValueError, _BAD)
    left = builder.ufunc(np.fmod, a, b)
    size = builder.ufunc(np.absolute, left)
    rest = builder.ufunc(np.subtract, builder.ufunc(np.absolute, b), size)
    half = builder.ufunc(np.multiply, builder.constant(0.5), builder.ufunc(np.subtract, a, left))
    is_odd = builder.ufunc(np.not_equal, builder.ufunc(np.fmod, half, b), zero)
    is_half = builder.ufunc(np.logical_and, builder.ufunc(np.equal, size, rest), is_odd)
    is_more = builder.ufunc(np.logical_or, builder.ufunc(np.greater, size, rest), is_half)
    is_same = builder.ufunc(np.equal, builder.ufunc(np.less, left, zero), builder.ufunc(np.less, b, zero))
    period = builder.where(is_same, b, builder.ufunc(np.negative, b))
    return trace.wrap(builder.where(is_more, builder.ufunc(np.subtract, left, period), left))


@traces(math.modf)
def _modf(trace: Trace, x: Any, /) -> Any:
    builder, v = trace.builder, real_number(trace, x)
    nothing = builder.ufunc(np.copysign, builder.constant(0.0), v)
    fraction = builder.where(builder.ufunc(np.isinf, v), nothing, builder.ufunc(np.fmod, v, builder.constant(1.0)))
    return trace.wrap(fraction), trace.wrap(builder.ufunc(np.trunc, v))


@traces(math.pow)
def _math_pow(trace: Trace, x: Any, y: Any, /) -> Any:
    builder, a, b = trace.builder, real_number(trace, x), real_number(trace, y)
    found = builder.ufunc(np.power, a, b)
    finite = builder.ufunc(np.logical_and, builder.ufunc(np.isfinite, a), builder.ufunc(np.isfinite, b))
    if not (b.is_constant and b.constant >= 0 and float(b.constant).is_integer()):
        zero = builder.ufunc(np.logical_and, builder.ufunc(np.equal, a, builder.constant(0.0)), finite)
        zero = builder.ufunc(np.logical_and, zero, builder.ufunc(np.less, b, builder.constant(0.0)))
        undefined = builder.ufunc(np.logical_and, finite, builder.ufunc(np.isnan, found))
        builder.raise_if(builder.ufunc(np.logical_or, zero, undefined), ValueError, _BAD)
    too_large = builder.ufunc(np.logical_and, finite, builder.ufunc(np.isinf, found))
    builder.raise_if(too_large, OverflowError, "math range error")
    return trace.wrap(found)


@traces(math.hypot)
def _hypot(trace: Trace, *coordinates: Any) -> Any:
    values = [real_number(trace, x) for x in coordinates]
    found = trace.builder.ufunc(np.absolute, values[0])
    for v in values[1:]:
        found = trace.builder.ufunc(np.hypot, found, v)
    return trace.wrap(found)


# Traced, nested roots have another second derivative than the rule where an inner root is zero.
by_rule(math.hypot, when=lambda *coordinates: len(coordinates) > 2)


@traces(math.dist)
def _dist(trace: Trace, p: Any, q: Any, /) -> Any:
    pairs = zip(items_of(trace, p), items_of(trace, q), strict=True)
    return trace.call(math.hypot, *(trace.call(operator.sub, a, b) for a, b in pairs))


@traces(math.fsum)
def _fsum(trace: Trace, iterable: Any, /) -> Any:
    return trace.call(sum, [trace.call(float, x) for x in items_of(trace, iterable)], 0.0)


@traces(math.prod)
def _prod(trace: Trace, iterable: Any, /, *, start: Any = 1) -> Any:
    return functools.reduce(lambda a, b: trace.call(operator.mul, a, b), items_of(trace, iterable), start)


@traces(math.isclose)
def _isclose(trace: Trace, a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    call = trace.call
    gap = call(abs, call(operator.sub, a, b))
    size = call(max, call(abs, a), call(abs, b))
    near = call(operator.le, gap, call(max, call(operator.mul, rel_tol, size), abs_tol))
    finite = call(operator.and_, call(math.isfinite, a), call(math.isfinite, b))
    return call(operator.or_, call(operator.eq, a, b), call(operator.and_, near, finite))


def _integers(ufunc: np.ufunc) -> Callable[..., Any]:
    def apply(trace: Trace, *integers: Any) -> Any:
        values = [trace.value(trace.call(operator.index, x)) for x in integers]
        return trace.wrap(functools.reduce(lambda a, b: trace.builder.ufunc(ufunc, a, b), values))

    return apply


traces(math.gcd)(_integers(np.gcd))
traces(math.lcm)(_integers(np.lcm))


@traces(math.frexp)
def _frexp(trace: Trace, x: Any, /) -> Any:
    raise refuse("math.frexp of a number that is not known while compiling", "use math.log2 and math.floor")


@traces(math.nextafter)
def _nextafter(trace: Trace, x: Any, y: Any, /) -> Any:
    return trace.wrap(trace.builder.ufunc(np.nextafter, real_number(trace, x), real_number(trace, y)))


@traces(math.ulp)
def _ulp(trace: Trace, x: Any, /) -> Any:
    size = trace.builder.ufunc(np.absolute, real_number(trace, x))
    above = trace.builder.ufunc(np.nextafter, size, trace.builder.constant(math.inf))
    return trace.wrap(trace.builder.ufunc(np.subtract, above, size))


@traces(math.ldexp)
def _ldexp(trace: Trace, x: Any, i: Any, /) -> Any:
    power = python_power(trace, trace.builder.constant(2.0), real_number(trace, i))
    return trace.wrap(trace.builder.ufunc(np.multiply, real_number(trace, x), power))


def _cmath(ufunc: np.ufunc, result: np.dtype = _C) -> Callable[..., Any]:
    def apply(trace: Trace, z: Any, /) -> Any:
        v = weak(trace.builder, scalar_of(trace.builder, trace.value(z)), _C)
        return trace.wrap(trace.builder.ufunc(ufunc, v))

    return apply


for _name, _ufunc in {
    "sqrt": np.sqrt,
    "exp": np.exp,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "log10": np.log10,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
}.items():
    traces(getattr(cmath, _name))(_cmath(_ufunc))


@traces(cmath.log)
def _complex_log(trace: Trace, z: Any, base: Any = None, /) -> Any:
    found = _cmath(np.log)(trace, z)
    return found if base is None else trace.call(operator.truediv, found, trace.call(cmath.log, base))


@traces(cmath.phase)
def _phase(trace: Trace, z: Any, /) -> Any:
    return trace.call(math.atan2, trace.attribute(z, "imag"), trace.attribute(z, "real"))


@traces(cmath.polar)
def _polar(trace: Trace, z: Any, /) -> Any:
    return trace.call(abs, z), trace.call(cmath.phase, z)


@traces(cmath.rect)
def _rect(trace: Trace, r: Any, phi: Any, /) -> Any:
    call = trace.call
    return call(complex, call(operator.mul, r, call(math.cos, phi)), call(operator.mul, r, call(math.sin, phi)))
