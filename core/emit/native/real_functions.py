"""Ufuncs on one element of bools, integers and real numbers: tables by the kind of the loop's dtype.

Elementary functions are those of the C library, with its vector versions (libmvec) where present, so that loops over
them vectorise. Products and sums may be contracted to fused multiply-adds; nothing assumes that numbers are finite.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...ir.dynamic import Operation
from ...ir.powers import is_product
from . import integers
from .assembly import Code
from .elements import convert, is_complex, literal, number, register
from .machine import Processor

Emit = Callable[..., Any]


def suffix(dtype: np.dtype) -> str:
    return "f32" if dtype.char == "f" else "f64"


def intrinsic(name: str) -> Emit:
    def emit(code: Code, dtype: np.dtype, *x: str) -> str:
        kind = register(dtype)
        return code.call(f"llvm.{name}.{suffix(dtype)}", kind, [(kind, a) for a in x])

    return emit


@cache
def _vector_library() -> Any:
    """Return libmvec, the C library's vector functions, or None; also where functions lack their names with a width."""
    try:
        library, scalars = ctypes.CDLL("libmvec.so.1"), ctypes.CDLL("libm.so.6")
    except OSError:
        return None
    return library if hasattr(scalars, "expf64") else None


_VERSIONS = (("sse2",), "b", 2), (("avx", "avx2"), "d", 4), (("avx", "avx2", "avx512f"), "e", 8)
"""Versions of libmvec's functions in the x86-64 vector function ABI: the features that a version needs, its letter, and
the number of float64 that it takes. Calling a version that the processor does not support would kill the process."""


def vector_variants(name: str, operands: int, single: bool, processor: Processor) -> list[tuple[str, int]]:
    """Return the vector versions of a C function that a processor can run: symbols and numbers of elements."""
    library, n = _vector_library(), 2 if single else 1
    if library is None:
        return []
    found = [
        (f"_ZGV{letter}N{lanes * n}{'v' * operands}_{name}", lanes * n)
        for features, letter, lanes in _VERSIONS
        if all(map(processor.has, features))
    ]
    return [(symbol, lanes) for symbol, lanes in found if hasattr(library, symbol)]


def c_function(name: str) -> Emit:
    """Return an emitter of a C library function; ``f`` is appended to its name for float32."""

    def emit(code: Code, dtype: np.dtype, *x: str) -> str:
        kind = register(dtype)
        full = f"{name}f" if dtype.char == "f" else name
        variants = (
            () if code.is_reproducible else vector_variants(full, len(x), dtype.char == "f", code.module.processor)
        )
        group = ""
        if variants:
            full = f"{name}f{8 * dtype.itemsize}"  # by its other name: LLVM makes intrinsics of those it knows, without vector versions
            for symbol, lanes in variants:
                vector = f"<{lanes} x {kind}>"
                code.module.used[code.module.declare(symbol, vector, [vector] * len(x))] = None
            listed = ",".join(f"_ZGV_LLVM_N{lanes}{'v' * len(x)}_{full}({symbol})" for symbol, lanes in variants)
            group = code.module.attribute(f'"vector-function-abi-variant"="{listed}"')
        return code.call(full, kind, [(kind, a) for a in x], attribute=group)

    return emit


def instruction(text: str) -> Emit:
    """Return an emitter of one LLVM instruction, such as ``fadd contract``, on operands of one type."""

    def emit(code: Code, dtype: np.dtype, *x: str) -> str:
        chosen = text.removesuffix(" contract") if code.is_reproducible else text
        return code.value(f"{chosen} {register(dtype)} {', '.join(x)}")

    return emit


def comparison(real: str, signed: str, unsigned: str) -> Emit:
    def emit(code: Code, dtype: np.dtype, a: str, b: str) -> str:
        test = f"fcmp {real}" if dtype.kind == "f" else f"icmp {signed if dtype.kind == 'i' else unsigned}"
        return code.value(f"{test} {register(dtype)} {a}, {b}")

    return emit


def logical(instruction_: str) -> Emit:
    def emit(code: Code, dtype: np.dtype, *x: str) -> str:
        truths = [convert(code, a, dtype, np.dtype(bool)) for a in x]
        return code.value(f"{instruction_} i1 {truths[0]}, {truths[1] if len(x) > 1 else 'true'}")

    return emit


def composed(text: Callable[..., Any]) -> Emit:
    """Return an emitter of a function composed of table entries: ``lambda f, x: f(np.multiply, x, 0.5)``."""

    def emit(code: Code, dtype: np.dtype, *x: str) -> Any:
        def f(ufunc: np.ufunc, *operands: Any) -> str:
            ready = [a if isinstance(a, str) else literal(a, dtype) for a in operands]
            return apply(code, ufunc, dtype, ready)

        return text(f, *x)

    return emit


def _choose(code: Code, dtype: np.dtype, test: str, x: str, y: str) -> str:
    return code.value(f"select i1 {test}, {register(dtype)} {x}, {register(dtype)} {y}")


def _power_by_call(code: Code, dtype: np.dtype, a: str, b: str) -> str:
    """Emit a power of |a|, and then its sign: the vector versions are slow for negative numbers."""
    pow_, exponent = c_function("pow"), number(b, dtype)
    if code.is_reproducible or exponent is not None and exponent != math.floor(exponent):
        return pow_(code, dtype, a, b)
    kind, infinity = register(dtype), literal(math.inf, dtype)
    size = intrinsic("fabs")(code, dtype, a)
    found = pow_(code, dtype, size, b)
    half = code.value(f"fmul {kind} {b}, {literal(0.5, dtype)}")
    odd = code.value(f"fcmp one {kind} {intrinsic('floor')(code, dtype, half)}, {half}")
    whole = code.value(f"fcmp oeq {kind} {intrinsic('floor')(code, dtype, b)}, {b}")
    signed = intrinsic("copysign")(code, dtype, found, a)
    found = _choose(code, dtype, code.value(f"and i1 {odd}, {whole}"), signed, found)
    below = code.value(f"fcmp olt {kind} {a}, {literal(0, dtype)}")
    finite = code.value(f"fcmp one {kind} {size}, {infinity}")
    no_power = code.value(f"and i1 {code.value(f'and i1 {below}, {finite}')}, {code.value(f'xor i1 {whole}, true')}")
    return _choose(code, dtype, no_power, literal(math.nan, dtype), found)


def _power(code: Code, dtype: np.dtype, a: str, b: str) -> str:
    """Emit a power: products for small integer exponents, as NumPy does for squares, with a root for half-integers."""
    exponent = number(b, dtype)
    if exponent is None or not is_product(exponent):
        return _power_by_call(code, dtype, a, b)
    if exponent not in (
        0.5,
        int(exponent),
    ):  # then both zeros, and both infinities, have one power; NumPy takes the root for 0.5
        is_low = code.value(f"fcmp oeq {register(dtype)} {a}, {literal(-math.inf, dtype)}")
        positive = code.value(f"fadd {register(dtype)} {a}, {literal(0, dtype)}")
        a = _choose(code, dtype, is_low, literal(math.inf, dtype), positive)
    found, square, n = "", a, int(abs(exponent))
    while n:
        if n & 1:
            found = square if not found else apply(code, np.multiply, dtype, [found, square])
        square, n = (apply(code, np.multiply, dtype, [square, square]) if n > 1 else square), n >> 1
    if exponent != int(exponent):
        root = apply(code, np.sqrt, dtype, [a])
        found = apply(code, np.multiply, dtype, [found, root]) if found else root
    found = found or literal(1, dtype)
    return found if exponent >= 0 else apply(code, np.divide, dtype, [literal(1, dtype), found])


def _divmod(code: Code, dtype: np.dtype, a: str, b: str) -> tuple[str, str]:
    """Emit the rounded quotient and the remainder of floats, as NumPy's npy_divmod."""
    kind, zero = register(dtype), literal(0, dtype)
    rest = code.value(f"frem {kind} {a}, {b}")
    quotient = code.value(f"fdiv {kind} {code.value(f'fsub {kind} {a}, {rest}')}, {b}")
    inexact = code.value(f"fcmp une {kind} {rest}, {zero}")
    below, negative = (code.value(f"fcmp olt {kind} {x}, {zero}") for x in (b, rest))
    lower = code.value(f"and i1 {inexact}, {code.value(f'xor i1 {below}, {negative}')}")
    moved = _choose(code, dtype, lower, code.value(f"fadd {kind} {rest}, {b}"), rest)
    quotient = _choose(code, dtype, lower, code.value(f"fsub {kind} {quotient}, {literal(1, dtype)}"), quotient)
    whole = intrinsic("floor")(code, dtype, quotient)
    far = code.value(f"fcmp ogt {kind} {code.value(f'fsub {kind} {quotient}, {whole}')}, {literal(0.5, dtype)}")
    whole = _choose(code, dtype, far, code.value(f"fadd {kind} {whole}, {literal(1, dtype)}"), whole)
    ratio = code.value(f"fdiv {kind} {a}, {b}")
    is_zero = code.value(f"fcmp oeq {kind} {quotient}, {zero}")
    whole = _choose(code, dtype, is_zero, intrinsic("copysign")(code, dtype, zero, ratio), whole)
    exact = code.value(f"fcmp oeq {kind} {moved}, {zero}")
    moved = _choose(code, dtype, exact, intrinsic("copysign")(code, dtype, zero, b), moved)
    by_zero = code.value(f"fcmp oeq {kind} {b}, {zero}")
    return _choose(code, dtype, by_zero, ratio, whole), moved


def _maximum(real: str, signed: str, unsigned: str) -> Emit:
    def emit(code: Code, dtype: np.dtype, a: str, b: str) -> str:
        if dtype.kind == "f":
            return intrinsic(real)(code, dtype, a, b)
        kind = register(dtype)
        return code.call(f"llvm.{signed if dtype.kind == 'i' else unsigned}.{kind}", kind, [(kind, a), (kind, b)])

    return emit


def _sign(code: Code, dtype: np.dtype, a: str) -> str:
    zero, one = literal(0, dtype), literal(1, dtype)
    kind = register(dtype)
    size = _choose(code, dtype, code.value(f"fcmp one {kind} {a}, {zero}"), one, zero)
    signed = intrinsic("copysign")(code, dtype, size, a)
    signed = _choose(code, dtype, code.value(f"fcmp oeq {kind} {a}, {zero}"), zero, signed)
    return _choose(code, dtype, code.value(f"fcmp uno {kind} {a}, {a}"), a, signed)


def _heaviside(code: Code, dtype: np.dtype, a: str, b: str) -> str:
    kind, zero = register(dtype), literal(0, dtype)
    step = _choose(code, dtype, code.value(f"fcmp ogt {kind} {a}, {zero}"), literal(1, dtype), zero)
    step = _choose(code, dtype, code.value(f"fcmp oeq {kind} {a}, {zero}"), b, step)
    return _choose(code, dtype, code.value(f"fcmp uno {kind} {a}, {a}"), a, step)


def _logaddexp(exp: str, log1p: Emit, scale: float) -> Emit:
    """Return an emitter of max + log(1 + exp(-|a - b|)); equal operands, also infinite ones, give a + log 2."""

    def emit(code: Code, dtype: np.dtype, a: str, b: str) -> str:
        kind = register(dtype)
        difference = apply(code, np.subtract, dtype, [a, b])
        size = intrinsic("fabs")(code, dtype, difference)
        small = c_function(exp)(code, dtype, code.value(f"fneg {kind} {size}"))
        larger = intrinsic("maximum")(code, dtype, a, b)
        found = apply(code, np.add, dtype, [larger, log1p(code, dtype, small)])
        same = code.value(f"fcmp oeq {kind} {a}, {b}")
        return _choose(code, dtype, same, apply(code, np.add, dtype, [a, literal(scale, dtype)]), found)

    return emit


def _bits(code: Code, dtype: np.dtype, a: str) -> str:
    kind = register(dtype)
    count = code.call(f"llvm.ctpop.{kind}", kind, [(kind, integers.absolute(code, dtype, a))])
    return convert(code, count, np.dtype(f"u{dtype.itemsize}"), np.dtype(np.uint8))


def _test(text: str) -> Emit:
    """Return an emitter that compares the absolute value of a float with infinity; integers are finite."""

    def emit(code: Code, dtype: np.dtype, a: str) -> str:
        if dtype.kind != "f":
            return "true" if text == "one" else "false"
        size = intrinsic("fabs")(code, dtype, a)
        return code.value(f"fcmp {text} {register(dtype)} {size}, {literal(np.inf, dtype)}")

    return emit


def _signbit(code: Code, dtype: np.dtype, a: str) -> str:
    kind = f"i{8 * dtype.itemsize}"
    return code.value(f"icmp slt {kind} {code.value(f'bitcast {register(dtype)} {a} to {kind}')}, 0")


def _cut(code: Code, dtype: np.dtype, a: str) -> tuple[str, str]:
    """Emit np.modf: the fractional and the integral part, both with the sign of a."""
    kind, whole = register(dtype), intrinsic("trunc")(code, dtype, a)
    infinite = code.value(f"fcmp oeq {kind} {intrinsic('fabs')(code, dtype, a)}, {literal(np.inf, dtype)}")
    rest = _choose(code, dtype, infinite, literal(0, dtype), code.value(f"fsub {kind} {a}, {whole}"))
    return intrinsic("copysign")(code, dtype, rest, a), whole


_log1p = c_function("log1p")
_LN2 = math.log(2)

REAL: dict[np.ufunc, Emit] = {
    np.add: instruction("fadd contract"),
    np.subtract: instruction("fsub contract"),
    np.multiply: instruction("fmul contract"),
    np.divide: instruction("fdiv"),
    np.negative: instruction("fneg"),
    np.positive: lambda code, dtype, a: a,
    np.conjugate: lambda code, dtype, a: a,
    np.square: composed(lambda f, a: f(np.multiply, a, a)),
    np.reciprocal: composed(lambda f, a: f(np.divide, 1, a)),
    np.absolute: intrinsic("fabs"),
    np.fabs: intrinsic("fabs"),
    np.power: _power,
    np.float_power: _power,
    np.floor_divide: lambda code, dtype, a, b: _divmod(code, dtype, a, b)[0],
    np.remainder: lambda code, dtype, a, b: _divmod(code, dtype, a, b)[1],
    np.divmod: _divmod,
    np.fmod: instruction("frem"),
    np.modf: _cut,
    np.sqrt: intrinsic("sqrt"),
    np.floor: intrinsic("floor"),
    np.ceil: intrinsic("ceil"),
    np.trunc: intrinsic("trunc"),
    np.rint: intrinsic("roundeven"),
    np.copysign: intrinsic("copysign"),
    np.maximum: _maximum("maximum", "smax", "umax"),
    np.minimum: _maximum("minimum", "smin", "umin"),
    np.fmax: _maximum("maxnum", "smax", "umax"),
    np.fmin: _maximum("minnum", "smin", "umin"),
    np.sign: _sign,
    np.heaviside: _heaviside,
    np.logaddexp: _logaddexp("exp", _log1p, _LN2),
    np.logaddexp2: _logaddexp("exp2", composed(lambda f, x: f(np.multiply, f(np.log1p, x), 1 / _LN2)), 1.0),
    np.deg2rad: composed(lambda f, a: f(np.multiply, a, math.pi / 180)),
    np.radians: composed(lambda f, a: f(np.multiply, a, math.pi / 180)),
    np.rad2deg: composed(lambda f, a: f(np.multiply, a, 180 / math.pi)),
    np.degrees: composed(lambda f, a: f(np.multiply, a, 180 / math.pi)),
    np.isfinite: _test("one"),
    np.isinf: _test("oeq"),
    np.isnan: lambda code, dtype, a: code.value(f"fcmp uno {register(dtype)} {a}, {a}"),
    np.signbit: _signbit,
    np.arctan2: c_function("atan2"),
    np.nextafter: c_function("nextafter"),
    np.spacing: composed(lambda f, a: f(np.subtract, f(np.nextafter, a, f(np.copysign, np.inf, f(np.add, a, 0.0))), a)),
    **{
        getattr(np, name): c_function(name)
        for name in "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh hypot cbrt".split()
    },
    **{getattr(np, f"arc{name}"): c_function(f"a{name}") for name in "sin cos tan sinh cosh tanh".split()},
}
"""The real loops."""

INTEGER: dict[np.ufunc, Emit] = {
    np.add: instruction("add"),
    np.subtract: instruction("sub"),
    np.multiply: instruction("mul"),
    np.negative: lambda code, dtype, a: code.value(f"sub {register(dtype)} 0, {a}"),
    np.positive: REAL[np.positive],
    np.conjugate: REAL[np.conjugate],
    np.square: composed(lambda f, a: f(np.multiply, a, a)),
    np.reciprocal: composed(lambda f, a: f(np.floor_divide, 1, a)),
    np.absolute: integers.absolute,
    np.power: integers.power,
    np.floor_divide: integers.floor_divide,
    np.remainder: integers.remainder,
    np.divmod: lambda code, dtype, a, b: (
        integers.floor_divide(code, dtype, a, b),
        integers.remainder(code, dtype, a, b),
    ),
    np.fmod: integers.fmod,
    np.bitwise_and: instruction("and"),
    np.bitwise_or: instruction("or"),
    np.bitwise_xor: instruction("xor"),
    np.invert: lambda code, dtype, a: code.value(f"xor {register(dtype)} {a}, -1"),
    np.left_shift: integers.shift("shl"),
    np.right_shift: integers.shift("ashr"),
    np.bitwise_count: _bits,
    np.gcd: integers.gcd,
    np.lcm: integers.lcm,
    np.sign: integers.sign,
    np.isfinite: _test("one"),
    np.isinf: _test("oeq"),
    np.isnan: _test("uno"),
    **{f: REAL[f] for f in (np.maximum, np.minimum)},
    np.fmax: REAL[np.maximum],
    np.fmin: REAL[np.minimum],
    **{f: lambda code, dtype, a: a for f in (np.floor, np.ceil, np.trunc)},
}
"""The loops of signed and unsigned integers."""

BOOL: dict[np.ufunc, Emit] = {
    **{f: instruction("or") for f in (np.add, np.maximum, np.fmax, np.bitwise_or)},
    **{f: instruction("and") for f in (np.multiply, np.minimum, np.fmin, np.bitwise_and)},
    np.bitwise_xor: instruction("xor"),
    np.invert: logical("xor"),
    **{f: lambda code, dtype, a: a for f in (np.floor, np.ceil, np.trunc, np.absolute, np.conjugate)},
    **{f: INTEGER[f] for f in (np.isfinite, np.isinf, np.isnan)},
}
"""The loops of bools."""

ALL: dict[np.ufunc, Emit] = {
    np.equal: comparison("oeq", "eq", "eq"),
    np.not_equal: comparison("une", "ne", "ne"),
    np.less: comparison("olt", "slt", "ult"),
    np.less_equal: comparison("ole", "sle", "ule"),
    np.greater: comparison("ogt", "sgt", "ugt"),
    np.greater_equal: comparison("oge", "sge", "uge"),
    np.logical_and: logical("and"),
    np.logical_or: logical("or"),
    np.logical_xor: logical("xor"),
    np.logical_not: logical("xor"),
}
"""The ufuncs that all of these dtypes have."""

TABLES: dict[str, Any] = {"f": REAL, "i": INTEGER, "u": INTEGER, "b": BOOL}
"""The tables of emitters, by kind of dtype; ``complex_functions`` registers its own."""


OF_LIBRARIES: list[Callable[[Any, np.dtype], Emit | None]] = []
"""Lookups of emitters for functions that are not NumPy's; ``special_functions`` registers one."""


def find(function: Any, dtype: np.dtype) -> Emit | None:
    """Return the emitter of a ufunc for operands of this dtype; None if native code has none."""
    if is_complex(dtype):
        return TABLES["c"].get(function)
    found = TABLES.get(dtype.kind, {}).get(function) or ALL.get(function)
    if found is None and not hasattr(np, function.__name__):
        return OF_LIBRARIES[0](function, dtype)
    return found


def emitter_of(op: Operation) -> Emit | None:
    """Return the emitter of an operation that is a ufunc; None if native code has none for its operands.

    Special functions of mixed dtypes are left to SciPy, which selects the loop.
    """
    if not isinstance(op.callee, np.ufunc) or op.callee is np.matmul:
        return None
    dtype = op.operands[0].type.dtype
    if getattr(np, op.callee.__name__, None) is not op.callee and any(v.type.dtype != dtype for v in op.operands):
        return None
    return find(op.callee, dtype)


def apply(code: Code, function: Any, dtype: np.dtype, x: list[Any]) -> Any:
    """Emit one element of a ufunc, which must be in the tables."""
    emit = find(function, dtype)
    assert emit is not None, f"{function.__name__} of {dtype}"
    return emit(code, dtype, *x)
