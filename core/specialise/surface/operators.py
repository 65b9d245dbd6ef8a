"""Python's operators: Python's semantics on Python numbers, NumPy's ufuncs on everything else."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.builder import Builder
from ...ir.dynamic import Value
from ...ir.promotion import result_dtype
from ...ir.traced_text import Text
from ..text_methods import operated
from ..traced import Array, Scalar, Trace, Traced, traces
from .arguments import integer, is_array_like, number_of, value, weak
from .overflow import fits, refuse_overflow

UFUNCS: dict[Any, np.ufunc] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
    operator.floordiv: np.floor_divide,
    operator.mod: np.remainder,
    operator.pow: np.power,
    operator.lshift: np.left_shift,
    operator.rshift: np.right_shift,
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
}
_LOGIC = (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
_COMPARISONS = (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)


def _binary(function: Any) -> Callable[..., Any]:
    ufunc = UFUNCS[function]

    def apply(trace: Trace, a: Any, b: Any) -> Any:
        if not (is_array_like(a) and is_array_like(b)):
            return of_objects(trace, function, a, b)
        if is_of_python(a, b):
            items, n = (a, b) if isinstance(a, (list, tuple)) else (b, a)
            if ufunc is np.multiply and n.type.dtype.kind in "ib":
                return items * integer(trace, n, "the number of repetitions of a list")
            return of_objects(trace, function, a, b)
        a, b = _as_float(a, b), _as_float(b, a)
        if ufunc in _COMPARISONS:
            a, b = _in_range(a, b), _in_range(b, a)
            infinite = [x for x in (a, b) if isinstance(x, float) and np.isinf(x)]
            if infinite and any(map(_is_integer, (a, b))):
                return bool(ufunc(*(0.0 if isinstance(x, Scalar) else x for x in (a, b))))
        return trace.wrap(combine(trace, ufunc, value(trace, a), value(trace, b)))

    return apply


def _is_integer(x: Any) -> bool:
    return isinstance(x, Scalar) and x.type.dtype.kind in "iub"


def _as_float(x: Any, other: Any) -> Any:
    """Convert to float a Python int beyond int64 that meets an inexact operand."""
    return float(x) if type(x) is int and not fits(x) and isinstance(other, Traced) and other.type.is_inexact else x


def _in_range(x: Any, other: Any) -> Any:
    """Replace a Python int beyond int64 that is compared with an integer by an infinity, which compares alike."""
    if type(x) is int and not fits(x) and isinstance(other, Traced) and other.type.dtype.kind in "iub":
        if other.type.dtype == np.uint64 and 0 <= x < 1 << 64:
            return np.uint64(x)
        return np.inf if x > 0 else -np.inf
    return x


def is_of_python(a: Any, b: Any) -> bool:
    """Whether the operands are a sequence and a Python number, of which NumPy makes no array."""
    return any(isinstance(x, (list, tuple)) and isinstance(y, Scalar) and y.type.weak for x, y in ((a, b), (b, a)))


def of_objects(trace: Trace, function: Any, a: Any, b: Any) -> Any:
    """Apply an operator to operands of which NumPy makes no array; raise what Python raises."""
    if isinstance(a, Text) or isinstance(b, Text):
        return operated(trace, function, a, b)
    if function in (operator.eq, operator.ne):
        array = next((x for x in (a, b) if isinstance(x, Array)), None)
        holds = function is operator.ne
        if array is None:
            return holds
        if array.type.is_static:
            return trace.wrap(trace.builder.constant(np.full(array.type.shape, holds)))
        return trace.wrap(trace.builder.full(array.type.shape, trace.builder.constant(holds)))
    function(_stand_in(a), _stand_in(b))  # raises what Python raises
    raise BadInput(f"{function.__name__} of a {type(a).__name__} and a {type(b).__name__} cannot be compiled")


def _stand_in(x: Any) -> Any:
    """Return a number or an array of the same type as a traced one."""
    if isinstance(x, Array):
        return np.ones((1,) * x.type.ndim, x.type.dtype)
    if isinstance(x, Scalar):
        return x.type.number(1)
    return x


def combine(trace: Trace, ufunc: np.ufunc, a: Value, b: Value) -> Value:
    """Apply a binary operator's ufunc to two values: with Python's checks if both are Python numbers."""
    if a.type.weak and b.type.weak:
        return _python(trace, ufunc, a, b)
    if trace.builder.watch is not None:
        trace.builder.watch.refuse_integers(ufunc, a.type.dtype.kind + b.type.dtype.kind)
    if ufunc is np.power:
        return numpy_power(trace.builder, a, b)
    return trace.builder.ufunc(ufunc, a, b)


def _python(trace: Trace, ufunc: np.ufunc, a: Value, b: Value) -> Value:
    """Apply an operator to two Python numbers, with Python's errors."""
    builder = trace.builder
    kinds = a.type.dtype.kind + b.type.dtype.kind
    if kinds == "bb" and ufunc not in _LOGIC and ufunc not in _COMPARISONS:
        a, b = (weak(builder, x, np.int64) for x in (a, b))
    if "c" in kinds and ufunc in (np.floor_divide, np.remainder, *_COMPARISONS[:4]):
        raise TypeError(f"{ufunc.__name__} is not defined for Python's complex numbers")
    if ufunc in (np.left_shift, np.right_shift):
        negative = builder.ufunc(np.less, b, builder.constant(0))
        builder.raise_if(negative, ValueError, "negative shift count")
    if ufunc in (np.true_divide, np.floor_divide, np.remainder):
        refuse_zero(builder, ufunc, a, b)
    if ufunc is np.power:
        return python_power(trace, a, b)
    refuse_overflow(trace, ufunc, [a, b])
    return builder.ufunc(ufunc, a, b)


def refuse_zero(builder: Builder, ufunc: np.ufunc, a: Value, b: Value) -> None:
    """Raise ZeroDivisionError at run time if a Python number is divided by zero."""
    kinds = a.type.dtype.kind + b.type.dtype.kind
    if "c" in kinds:
        text = "complex division by zero"
    elif ufunc is np.true_divide:
        text = "float division by zero" if "f" in kinds else "division by zero"
    elif "f" in kinds:
        text = "float floor division by zero" if ufunc is np.floor_divide else "float modulo"
    else:
        text = "integer division or modulo by zero" if ufunc is np.floor_divide else "integer modulo by zero"
    builder.raise_if(builder.ufunc(np.equal, b, builder.constant(0)), ZeroDivisionError, text)


def python_power(trace: Trace, a: Value, b: Value) -> Value:
    """``a ** b`` of two Python numbers."""
    builder = trace.builder
    kinds = a.type.dtype.kind + b.type.dtype.kind
    zero = builder.constant(0)
    if "c" in kinds:
        return power(builder, a, b)
    if "f" not in kinds:
        if b.is_constant and b.constant < 0:
            return python_power(trace, weak(builder, a, np.float64), weak(builder, b, np.float64))
        text = "an int was raised to a negative int power, whose result is a float in Python; write float(x) ** n"
        builder.raise_if(builder.ufunc(np.less, b, zero), ValueError, text)
        refuse_overflow(trace, np.power, [a, b])
        return power(builder, a, b)
    if not (b.is_constant and b.constant >= 0):
        negative = builder.ufunc(np.less, b, zero)
        is_pole = builder.ufunc(np.logical_and, builder.ufunc(np.equal, a, zero), negative)
        builder.raise_if(is_pole, ZeroDivisionError, "0.0 cannot be raised to a negative power")
    if not (b.is_constant and float(b.constant).is_integer() or b.type.dtype.kind in "ib"):
        fraction = builder.ufunc(np.not_equal, b, builder.ufunc(np.floor, b))
        is_complex = builder.ufunc(np.logical_and, builder.ufunc(np.less, a, zero), fraction)
        text = "a negative float to a fractional power is a complex number; write complex(x) ** y, or np.power"
        builder.raise_if(is_complex, ValueError, text)
    return power(builder, a, b)


def numpy_power(builder: Builder, a: Value, b: Value) -> Value:
    """``np.power``, which raises for integers to negative integer powers."""
    a_is_int, b_is_int = (v.type.dtype.kind in "iub" for v in (a, b))
    if a_is_int and b_is_int and b.type.dtype.kind == "i":
        if builder.integers.interval(b)[0] < 0:
            negative = builder.ufunc(np.less, b, builder.constant(0))
            if negative.type.shape:
                negative = builder.reduce(np.any, negative, range(negative.type.ndim))
            builder.raise_if(negative, ValueError, "Integers to negative integer powers are not allowed.")
    return power(builder, a, b)


def power(builder: Builder, a: Value, b: Value) -> Value:
    """``np.power``, written as a square where the exponent is 2: a square needs no logarithm."""
    if b.is_constant and not b.type.shape and b.constant == 2 and a.type.dtype.kind in "ifc":
        if result_dtype(a.type, b.type) == a.type.dtype:
            return builder.ufunc(np.square, a)
    return builder.ufunc(np.power, a, b)


for _function in UFUNCS:
    traces(_function)(_binary(_function))


def _in_place(function: Any) -> Callable[..., Any]:
    def apply(trace: Trace, a: Any, b: Any) -> Any:
        result = trace.call(function, a, b)
        if not isinstance(a, Array):
            return result
        assign(trace, a, value(trace, result), function.__name__)
        return a

    return apply


def stored(trace: Trace, made: Value, out: Any, what: str = "an assignment") -> Any:
    """Return the result of a function with ``out=``: ``out`` after the write, or a new array or number."""
    if out is None:
        return trace.wrap(made)
    out = out[0] if isinstance(out, tuple) else out
    if not isinstance(out, Array):
        raise BadInput(f"out= of {what} must be an array that the compiled function makes or is passed")
    assign(trace, out, made, what)
    return out


def share_memory(x: Any, y: Any) -> bool:
    """Whether two arrays are views of the same storage."""
    return isinstance(x, Array) and isinstance(y, Array) and x.storage is y.storage


def assign(trace: Trace, array: Array, x: Value, what: str = "an assignment") -> None:
    """Write a result into an array; the result must fit without a change of kind and without new dimensions."""
    dtype, builder = array.type.dtype, trace.builder
    if builder.watch is not None:  # NumPy raises when it has written
        builder.watch.refuse(f"{what} in place, or with out=,")
    array.check_writeable("output array is read-only")
    if not np.can_cast(x.type.dtype, dtype, "same_kind") and not x.type.weak:
        raise BadInput(
            f"Cannot cast {what} output from {x.type.dtype!r} to {dtype!r} with casting rule 'same_kind': "
            f"write to an array of dtype {x.type.dtype}, or convert it by astype"
        )
    shape = builder.broadcast_shape([array.type.shape, x.type.shape])
    if len(shape) != array.type.ndim or any(m == 1 and n != 1 for m, n in zip(array.type.shape, shape)):
        raise BadInput(f"non-broadcastable output operand with shape {array.type.shape} doesn't match {shape}")
    trace.write(array, builder.broadcast_to(builder.cast(x, dtype), array.type.shape))


_IN_PLACE = {
    operator.iadd: operator.add,
    operator.isub: operator.sub,
    operator.imul: operator.mul,
    operator.itruediv: operator.truediv,
    operator.ifloordiv: operator.floordiv,
    operator.imod: operator.mod,
    operator.ipow: operator.pow,
    operator.ilshift: operator.lshift,
    operator.irshift: operator.rshift,
    operator.iand: operator.and_,
    operator.ior: operator.or_,
    operator.ixor: operator.xor,
    operator.imatmul: operator.matmul,
}
for _function, _plain in _IN_PLACE.items():
    traces(_function)(_in_place(_plain))


def _unary(function: Any, ufunc: np.ufunc) -> Callable[..., Any]:
    def apply(trace: Trace, x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return function(x)  # raises what Python raises
        v = trace.value(x)
        if v.type.weak and v.type.dtype.kind == "b":
            v = weak(trace.builder, v, np.int64)
        if ufunc is np.positive and v.type.weak:
            return trace.wrap(v)
        if v.type.weak:
            refuse_overflow(trace, ufunc, [v])
        return trace.wrap(trace.builder.ufunc(ufunc, v))

    return apply


for _function, _ufunc in (
    (operator.neg, np.negative),
    (operator.pos, np.positive),
    (operator.abs, np.absolute),
    (abs, np.absolute),
    (operator.invert, np.invert),
):
    traces(_function)(_unary(_function, _ufunc))


def truth(builder: Builder, x: Value) -> Value:
    """Return the truth, as a Python bool, of a number or of an array's only element."""
    if x.type.shape and x.type.bounds != (1,) * x.type.ndim:
        raise BadInput(
            "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all(): "
            f"this one has shape {x.type.shape}"
        )
    return weak(builder, number_of(builder, x), bool)


@traces(bool, operator.truth)
def _bool(trace: Trace, x: Any) -> Any:
    return trace.wrap(truth(trace.builder, trace.value(x)))


@traces(operator.not_)
def _not(trace: Trace, x: Any) -> Any:
    holds = truth(trace.builder, trace.value(x))
    return trace.wrap(trace.builder.ufunc(np.logical_not, holds))


@traces(operator.index)
def _index(trace: Trace, x: Any) -> Any:
    v = trace.value(x)
    if v.type.dtype.kind not in "iub" or v.type.shape:
        raise TypeError(f"'{v.type}' object cannot be interpreted as an integer")
    return trace.wrap(weak(trace.builder, v, np.int64))
