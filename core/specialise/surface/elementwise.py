"""Elementwise functions other than ufuncs: where, clip, rounding, real and imaginary parts, isclose."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.dynamic import Value
from ...ir.promotion import result_dtype
from ...ir.typed import ArrayType
from ..traced import Array, Storage, Trace, Traced, by_rule, traces
from .arguments import integer, new_array, refuse, refuse_given, strong, value, weak
from .operators import assign, stored
from .reductions import real, truths
from .views import derived


@traces(np.where)
def where(trace: Trace, condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None or y is None:
        return trace.call(np.nonzero, condition)
    builder = trace.builder
    mask = truths(builder, value(trace, condition))
    a, b = value(trace, x), value(trace, y)
    if a.type.weak and b.type.weak:
        a, b = strong(builder, a), strong(builder, b)
    if mask.is_constant and not mask.type.shape:
        dtype = result_dtype(a.type, b.type)
        shape = builder.broadcast_shape([a.type.shape, b.type.shape])
        return new_array(builder.broadcast_to(builder.cast(a if mask.constant else b, dtype), shape))
    return new_array(builder.where(mask, a, b))


@traces(np.select)
def select(trace: Trace, condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    found, dtype = default, np.result_type(*(_dtype(trace, c) for c in (*choicelist, default)))
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        found = where(trace, condition, trace.call(np.asarray, choice, dtype), trace.call(np.asarray, found, dtype))
    return found


def _dtype(trace: Trace, x: Any) -> Any:
    v = value(trace, x)
    return v.type.number(0) if v.type.weak else v.type.dtype


@traces(np.choose)
def choose(trace: Trace, a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    parts = list(trace.iterate(choices)) if isinstance(choices, Array) else list(choices)
    index, call = a, trace.call
    if mode == "clip":
        index = call(np.clip, a, 0, len(parts) - 1)
    elif mode == "wrap":
        index = call(np.remainder, a, len(parts))
    elif mode == "raise":
        bad = call(np.any, call(np.logical_or, call(np.less, a, 0), call(np.greater_equal, a, len(parts))))
        trace.builder.raise_if(value(trace, bad), ValueError, "invalid entry in choice array")
    found = parts[-1]
    for i, choice in reversed(list(enumerate(parts[:-1]))):
        found = where(trace, call(np.equal, index, i), choice, found)
    return found if out is None else stored(trace, value(trace, found), out)


@traces(np.clip)
def clip(
    trace: Trace, a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    low, high = min if a_min is None else a_min, max if a_max is None else a_max
    builder, x = trace.builder, value(trace, a)
    if low is not None:
        x = builder.ufunc(np.maximum, x, value(trace, low))
    if high is not None:
        x = builder.ufunc(np.minimum, x, value(trace, high))
    return stored(trace, strong(builder, x), out)


by_rule(np.clip)


@traces(np.round, np.around)
def round_(trace: Trace, a: Any, decimals: Any = 0, out: Any = None) -> Any:
    builder, x = trace.builder, strong(trace.builder, value(trace, a))
    digits = integer(trace, decimals, "the number of decimals of np.round")
    if x.type.dtype.kind in "iub":
        if digits < 0:
            raise refuse("np.round of integers to negative decimals", "use x // 10**k * 10**k")
        return stored(trace, x if x.type.dtype.kind != "b" else builder.cast(x, np.float16), out)
    if x.type.dtype.kind == "c":
        parts = (trace.call(np.real, a), trace.call(np.imag, a))
        re, im = (round_(trace, part, digits) for part in parts)
        return trace.wrap(builder.complex_of(trace.value(re), trace.value(im)))
    scale = builder.constant(float(10 ** abs(digits)))
    before, after = (np.multiply, np.true_divide) if digits >= 0 else (np.true_divide, np.multiply)
    if digits:
        x = builder.ufunc(before, x, scale)
    x = builder.ufunc(np.rint, x)
    return stored(trace, builder.ufunc(after, x, scale) if digits else x, out)


@traces(np.fix)
def fix(trace: Trace, x: Any, out: Any = None) -> Any:
    return trace.call(np.trunc, x, out=out)


def real_part(trace: Trace, x: Value) -> Value:
    return real(trace.builder, x) if x.type.dtype.kind == "c" else x


def imaginary_part(trace: Trace, x: Value) -> Value:
    builder = trace.builder
    if x.type.dtype.kind != "c":
        return builder.zeros(x.type.shape, x.type.dtype)
    if x.is_constant:
        return builder.constant(np.imag(x.constant))
    kind = ArrayType(x.type.dtype.type(0).real.dtype, x.type.shape)
    return builder.call(np.imag, [x], [kind])[0]


def part(trace: Trace, x: Any, imaginary: bool) -> Any:
    """``x.real`` or ``x.imag``: a view of a complex array, a Python number of a Python number."""
    builder = trace.builder
    find = imaginary_part if imaginary else real_part
    v = value(trace, x)
    if not isinstance(x, Array):
        found = find(trace, v)
        if v.type.weak:
            kind = np.dtype(np.float64) if v.type.dtype.kind == "c" else v.type.dtype
            return trace.wrap(weak(builder, found, kind))
        return trace.wrap(found)
    if v.type.dtype.kind != "c":
        return Array(Storage(find(trace, v), is_read_only=True)) if imaginary else x
    kind = ArrayType(real(builder, v).type.dtype, v.type.shape)

    def back(old: Value, new: Value) -> Value:
        other = real_part(trace, old) if imaginary else imaginary_part(trace, old)
        re, im = (other, new) if imaginary else (new, other)
        return builder.complex_of(re, im)

    return derived(x, kind, lambda base: find(trace, base), back, lambda a, _: a.imag if imaginary else a.real)


@traces(np.real)
def np_real(trace: Trace, val: Any) -> Any:
    return part(trace, val, False)


@traces(np.imag)
def np_imag(trace: Trace, val: Any) -> Any:
    return part(trace, val, True)


@traces(np.angle)
def angle(trace: Trace, z: Any, deg: bool = False) -> Any:
    found = trace.call(np.arctan2, part(trace, z, True), part(trace, z, False))
    return trace.call(operator.mul, found, 180 / np.pi) if deg else found


@traces(np.real_if_close)
def real_if_close(trace: Trace, a: Any, tol: Any = 100) -> Any:
    if value(trace, a).type.dtype.kind != "c":
        return trace.call(np.asanyarray, a)
    raise refuse("np.real_if_close of complex numbers, whose result's dtype depends on values,", "use .real")


@traces(np.iscomplexobj)
def iscomplexobj(trace: Trace, x: Any) -> bool:
    return value(trace, x).type.dtype.kind == "c"


@traces(np.isrealobj)
def isrealobj(trace: Trace, x: Any) -> bool:
    return not iscomplexobj(trace, x)


@traces(np.isscalar)
def isscalar(trace: Trace, element: Any) -> bool:
    return not isinstance(element, Array) if isinstance(element, Traced) else bool(np.isscalar(element))


@traces(np.result_type)
def result_type(trace: Trace, *arrays_and_dtypes: Any) -> np.dtype:
    return np.result_type(*(_dtype(trace, x) if isinstance(x, Traced) else x for x in arrays_and_dtypes))


@traces(np.nan_to_num)
def nan_to_num(trace: Trace, x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    builder, v = trace.builder, strong(trace.builder, value(trace, x))
    if v.type.dtype.kind == "c":
        raise refuse("np.nan_to_num of complex numbers", "apply it to .real and .imag")
    if v.type.dtype.kind == "f":
        most = np.finfo(v.type.dtype).max
        ends = ((np.inf, most if posinf is None else posinf), (-np.inf, -most if neginf is None else neginf))
        found = builder.where(builder.ufunc(np.isnan, v), builder.cast(value(trace, nan), v.type.dtype), v)
        for end, instead in ends:
            is_end = builder.ufunc(np.equal, v, builder.constant(end, v.type.dtype))
            found = builder.where(is_end, builder.cast(value(trace, instead), v.type.dtype), found)
        v = found
    if not copy and isinstance(x, Array):
        trace.write(x, v)
        return x
    return trace.wrap(v)


@traces(np.isclose)
def isclose(trace: Trace, a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    call = trace.call
    gap = call(np.abs, call(np.subtract, a, b))
    near = call(np.less_equal, gap, call(np.add, atol, call(np.multiply, rtol, call(np.abs, b))))
    found = call(np.logical_or, call(np.logical_and, near, call(np.isfinite, b)), call(np.equal, a, b))
    if equal_nan:
        found = call(np.logical_or, found, call(np.logical_and, call(np.isnan, a), call(np.isnan, b)))
    return found


@traces(np.allclose)
def allclose(trace: Trace, a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    return trace.call(bool, trace.call(np.all, isclose(trace, a, b, rtol, atol, equal_nan)))


@traces(np.array_equal)
def array_equal(trace: Trace, a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    refuse_given("np.array_equal", equal_nan=equal_nan or None)
    if value(trace, a1).type.bounds != value(trace, a2).type.bounds:
        return False
    return trace.call(bool, trace.call(np.all, trace.call(np.equal, a1, a2)))


@traces(np.sinc)
def sinc(trace: Trace, x: Any) -> Any:
    call = trace.call
    x = call(np.asanyarray, x)
    if not x.type.is_inexact:
        x = call(np.asarray, x, float)
    is_zero = call(operator.eq, x, 0)
    safe = call(np.multiply, np.pi, call(np.where, is_zero, np.array(1.0, x.type.dtype), x))
    return call(np.where, is_zero, np.array(1.0, x.type.dtype), call(np.true_divide, call(np.sin, safe), safe))


by_rule(np.sinc)


@traces(np.copyto)
def copyto(trace: Trace, dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    if not isinstance(dst, Array):
        raise BadInput("np.copyto writes to an array from outside of the compiled function; copy it first")
    dst.check_writeable("assignment destination is read-only")
    builder = trace.builder
    v = builder.cast(value(trace, src), dst.type.dtype)
    if where is not True:
        mask = value(trace, where)
        if mask.type.dtype.kind != "b":
            raise TypeError(
                f"Cannot cast array data from {mask.type.dtype!r} to dtype('bool') according to the rule 'safe'"
            )
        v = builder.where(mask, v, value(trace, dst))
    assign(trace, dst, v, "np.copyto")


@traces(np.putmask)
def putmask(trace: Trace, a: Any, mask: Any, values: Any) -> None:
    v = value(trace, values)
    if v.type.shape and v.type.shape != a.type.shape:
        raise refuse("np.putmask with values of another shape than the array", "pass values of the array's shape")
    copyto(trace, a, values, where=trace.call(np.asarray, mask, bool))


@traces(np.place)
def place(trace: Trace, arr: Any, mask: Any, vals: Any) -> None:
    chosen, given = trace.call(np.ravel, mask), trace.call(np.ravel, vals)
    n = trace.call(len, given)
    if n == 0:
        raise refuse("np.place without values", "pass at least one")
    turn = trace.call(np.remainder, trace.call(np.subtract, trace.call(np.cumsum, chosen), 1), n)
    items = trace.call(np.reshape, trace.call(np.take, given, turn), arr.shape)
    copyto(
        trace, arr, items, casting="unsafe", where=trace.call(np.reshape, trace.call(np.asarray, mask, bool), arr.shape)
    )


def _number_type(kind: Any) -> Any:
    def convert(trace: Trace, x: Any = 0, /) -> Any:
        return trace.wrap(trace.builder.cast(strong(trace.builder, value(trace, x)), kind))

    return convert


for _kind in {np.dtype(c).type for c in np.typecodes["AllInteger"] + np.typecodes["AllFloat"] + "?"}:
    traces(_kind)(_number_type(_kind))


@traces(np.isreal)
def isreal(trace: Trace, x: Any) -> Any:
    return trace.call(operator.eq, trace.call(np.imag, trace.call(np.asarray, x)), 0)


@traces(np.iscomplex)
def iscomplex(trace: Trace, x: Any) -> Any:
    return trace.call(operator.ne, trace.call(np.imag, trace.call(np.asarray, x)), 0)


@traces(np.isposinf)
def isposinf(trace: Trace, x: Any, out: Any = None) -> Any:
    return trace.call(np.equal, x, np.inf, out=out)


@traces(np.isneginf)
def isneginf(trace: Trace, x: Any, out: Any = None) -> Any:
    return trace.call(np.equal, x, -np.inf, out=out)


@traces(operator.contains)
def contains(trace: Trace, a: Any, x: Any) -> Any:
    if isinstance(a, Array):
        return trace.call(bool, trace.call(np.any, trace.call(np.equal, a, x)))
    return trace.call(any, [trace.call(operator.eq, e, x) for e in a])


@traces(np.piecewise)
def piecewise(trace: Trace, x: Any, condlist: Any, funclist: Any, *args: Any, **kwargs: Any) -> Any:
    call = trace.call
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else list(trace.iterate(condlist))
    values = [call(f, x, *args, **kwargs) if callable(f) else f for f in funclist]
    dtype = value(trace, x).type.dtype
    found: Any = values[-1] if len(values) > len(conditions) else 0
    found = call(np.asarray, found, dtype)
    for condition, v in zip(conditions, values):
        found = call(np.where, condition, call(np.asarray, v, dtype), found)
    return found
