"""Simpler values for operations of typed IR: constant folding, identities, and reads of known writes.

Identities hold in floating point: x + 0 is not x (for x = -0), and x * 0 is not 0 (for x infinite), but x * 1 and x - 0
are x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir import typed
from ..ir.dynamic import Operation, Value
from ..ir.typed import ArrayType

SMALL = 64
"""The most elements that a folded constant may have."""

Add = Callable[..., Value]


class Known:
    """The operation that produces each value seen so far."""

    def __init__(self) -> None:
        self.producer: dict[Value, Operation] = {}

    def made_by(self, value: Value, callee: Any) -> Operation | None:
        op = self.producer.get(value)
        return op if op is not None and op.callee is callee else None


def simpler(op: Operation, operands: list[Value], types: list[Any], known: Known, add: Add) -> list[Value] | None:
    """Return values that equal the results of a pure call, or None if no rule applies.

    ``add(callee, operands, type, line, **constants)`` writes the simpler call that a rule puts in its place.
    """
    folded = _fold(op, operands, types)
    if folded is not None:
        return folded

    def at_line(*a: Any, **k: Any) -> Value:
        return add(*a, op.line, **k)

    given, named = operands[: len(op.positional)], operands[len(op.positional) :]
    constants = {name: v.constant for name, v in zip(op.keywords, named)}
    values, result = given, None
    if len(types) == 1 and _is_elementwise(op.callee):
        values, result = _of_equal_elements(op, given, types[0], known, at_line, constants)
    rule = _RULES.get(op.callee)
    if result is None and rule is not None:
        result = rule(values, types[0], known, at_line, constants)
    if result is None and values is not given:
        result = at_line(op.callee, values, types[0], **constants)
    return None if result is None or result.type != types[0] else [result]


def _is_elementwise(callee: Any) -> bool:
    if isinstance(callee, np.ufunc):
        return callee.signature is None
    return callee in (np.where, typed.cast)


def _of_equal_elements(
    op: Operation, operands: list[Value], kind: ArrayType, known: Known, add: Add, constants: dict[str, Any]
) -> tuple[list[Value], Value | None]:
    """Replace operands of an elementwise call whose elements are all one number by that number.

    Returns the operands, and the result if its elements are all one number too.
    """
    if not kind.shape:
        return operands, None
    numbers = [_number(v, known) for v in operands]
    if all(n is None or n is v for n, v in zip(numbers, operands)):
        return operands, None
    scalars = [n for n in numbers if n is not None]
    if len(scalars) == len(operands):
        made = _fold(op, scalars, [ArrayType(kind.dtype, ())])
        number = made[0] if made is not None else add(op.callee, scalars, ArrayType(kind.dtype), **constants)
        return operands, add(typed.full, [number], kind)
    dtypes = {v.type.dtype for v in operands}
    if any(n is not None and n is not v and n.type.weak for n, v in zip(numbers, operands)) and len(dtypes) > 1:
        return operands, None
    if any(n is None and v.type.shape == kind.shape for n, v in zip(numbers, operands)):
        return [v if n is None else n for n, v in zip(numbers, operands)], None
    return operands, None


def _number(value: Value, known: Known) -> Value | None:
    """The number that all elements of a value are, if it is known to be so."""
    if not value.type.shape:
        return value
    made = known.made_by(value, typed.full)
    return None if made is None else made.operands[0]


def _fold(op: Operation, operands: list[Value], types: list[Any]) -> list[Value] | None:
    """Return the results of an elementwise call or cast whose operands are small constants; None for any other call."""
    if not (isinstance(op.callee, np.ufunc) or op.callee in (np.where, typed.cast)) or not operands:
        return None
    values = operands[: len(op.positional)]
    if not all(v.is_constant and np.size(v.constant) <= SMALL for v in values):
        return None
    if any(int(np.prod(t.bounds)) > SMALL or not t.is_static for t in types):
        return None
    with np.errstate(all="ignore"):
        arguments = [v.constant for v in values]
        if op.callee is typed.cast:
            found: Any = typed.cast.body((), arguments[0], dtype=types[0].dtype)
        else:
            found = op.callee(*arguments)
    results = []
    for kind, x in zip(types, found if len(types) > 1 else [found]):
        array = np.asarray(x)
        if array.shape != kind.shape or array.dtype != kind.dtype:
            return None
        results.append(Value(type=kind, constant=array if array.ndim else array.dtype.type(array[()])))
    return results


_RULES: dict[Any, Callable[..., Value | None]] = {}


def _of(*callees: Any) -> Callable[[Any], Any]:
    def register(body: Any) -> Any:
        _RULES.update(dict.fromkeys(callees, body))
        return body

    return register


def is_all(value: Value, x: Any) -> bool:
    """Whether a value is a constant whose elements all equal x; the sign of a floating-point zero counts."""
    if not value.is_constant:
        return False
    c = np.asarray(value.constant)
    if not np.all(c == x):
        return False
    return not (x == 0 and c.dtype.kind in "fc") or bool(np.all(np.signbit(np.real(c)) == np.signbit(x)))


def _is_integer(kind: ArrayType) -> bool:
    return kind.dtype.kind in "iu"


@_of(np.add)
def _add(values, kind, known, add, constants):
    for x, y in (values, values[::-1]):
        if is_all(y, 0) and _is_integer(kind) or kind.dtype.kind == "f" and is_all(y, -0.0):
            return x
    return None


@_of(np.subtract)
def _subtract(values, kind, known, add, constants):
    x, y = values
    if is_all(y, 0) and kind.dtype.kind != "c":
        return x
    if x is y and _is_integer(kind) and not kind.shape:
        return Value(type=kind, constant=kind.dtype.type(0))
    return None


@_of(np.multiply)
def _multiply(values, kind, known, add, constants):
    for x, y in (values, values[::-1]):
        if is_all(y, 1) and kind.dtype.kind != "c":
            return x
        if is_all(y, -1) and kind.dtype.kind in "if" and x.type == kind:
            return add(np.negative, [x], kind)
        if is_all(y, 0) and kind.dtype.kind in "iub" and y.type.dtype == kind.dtype:
            return y if y.type == kind else add(typed.full, [y], kind) if not y.type.shape else None
    return None


@_of(np.divide)
def _divide(values, kind, known, add, constants):
    return values[0] if is_all(values[1], 1) and kind.dtype.kind == "f" else None


@_of(np.floor_divide)
def _floor_divide(values, kind, known, add, constants):
    return values[0] if is_all(values[1], 1) and _is_integer(kind) else None


@_of(np.power)
def _power(values, kind, known, add, constants):
    x, n = values
    if is_all(n, 1):
        return x
    return add(np.multiply, [x, x], kind) if is_all(n, 2) and x.type == kind else None


def _undone(callee: Any) -> None:
    """Register the rule f(f(x)) = x for a function that is its own inverse."""

    @_of(callee)
    def rule(values, kind, known, add, constants):
        inner = known.made_by(values[0], callee)
        return None if inner is None else inner.operands[0]


for _callee in (np.negative, np.conjugate, np.logical_not, np.invert):
    _undone(_callee)


@_of(np.maximum, np.minimum, np.logical_and, np.logical_or, np.bitwise_and, np.bitwise_or)
def _idempotent(values, kind, known, add, constants):
    return values[0] if values[0] is values[1] else None


@_of(np.where)
def _where(values, kind, known, add, constants):
    condition, x, y = values
    if condition.is_constant and not condition.type.shape:
        chosen = x if condition.constant else y
        return chosen if chosen.type.shape or not kind.shape else add(typed.full, [chosen], kind)
    return x if x is y else None


@_of(np.all, np.any, np.max, np.min)
def _of_one_number(values, kind, known, add, constants):
    number = _number(values[0], known) if 0 not in values[0].type.bounds and values[0].type.is_static else None
    return None if number is None or kind.shape else number


@_of(typed.cast)
def _cast(values, kind, known, add, constants):
    (x,) = values
    if x.type == kind:
        return x
    made = known.made_by(x, typed.complex_of)
    if made is not None:
        return made.operands[0]
    inner = known.made_by(x, typed.cast)
    if inner is None:
        return None
    source, middle = inner.operands[0], x.type
    rounds = source.type.dtype.kind in "iu" and source.type.dtype.itemsize == 8 and middle.dtype.kind in "fc"
    if np.can_cast(source.type.dtype, middle.dtype, "safe") and not rounds:
        return source if source.type == kind else add(typed.cast, [source], kind, dtype=kind.dtype)
    return None


@_of(np.imag)
def _imag(values, kind, known, add, constants):
    made = known.made_by(values[0], typed.complex_of)
    return None if made is None else made.operands[1]


@_of(typed.reshape)
def _reshape(values, kind, known, add, constants):
    (x,) = values
    if x.type == kind:
        return x
    number = _number(x, known)
    if number is not None:
        return add(typed.full, [number], kind) if kind.shape else number
    inner = known.made_by(x, typed.reshape)
    if inner is None:
        return None
    source = inner.operands[0]
    return source if source.type == kind else add(typed.reshape, [source], kind)


@_of(typed.transpose)
def _transpose(values, kind, known, add, constants):
    (x,), axes = values, constants["axes"]
    if known.made_by(x, typed.full) is not None:
        return add(typed.full, [_number(x, known)], kind)
    if list(axes) == list(range(len(axes))):
        return x
    inner = known.made_by(x, typed.transpose)
    if inner is None:
        return None
    first = inner.named["axes"].constant
    both = tuple(first[i] for i in axes)
    source = inner.operands[0]
    return source if both == tuple(range(len(both))) else add(typed.transpose, [source], kind, axes=both)


@_of(typed.broadcast_to)
def _broadcast_to(values, kind, known, add, constants):
    (x,) = values
    if x.type == kind:
        return x
    number = _number(x, known)
    return None if number is None else add(typed.full, [number], kind)


@_of(typed.getitem)
def _getitem(values, kind, known, add, constants):
    x, *index = values
    spec = constants["spec"]
    if _is_whole(spec, x.type, kind):
        return x
    filled = known.made_by(x, typed.full)
    if filled is not None:
        number = filled.operands[0]
        return add(typed.full, [number], kind) if kind.shape else number
    # Skip writes to other elements, but do not read from an earlier version: that would keep it alive.
    for _ in range(16):
        written = known.made_by(x, typed.setitem)
        if written is None or "a" in spec or written.named["spec"].constant != spec:
            return None
        x, *places, v = written.positional
        if all(same(a, b) for a, b in zip(places, index)) and v.type.shape == kind.shape:
            return v
        if not any(differ(a, b) for a, b, e in zip(places, index, [e for e in spec if e != ":"]) if e == "i"):
            return None
    return None


@_of(typed.setitem)
def _setitem(values, kind, known, add, constants):
    return values[-1] if _is_whole(constants["spec"], kind, values[-1].type) else None


def _is_whole(spec, kind, part):
    """Whether a part is the whole array: a slice that is as long as its dimension begins at 0."""
    return all(e in (":", ("s", 1)) for e in spec) and part.shape == kind.shape


def same(a: Value, b: Value) -> bool:
    """Whether two integer values are known to be equal."""
    return a is b or a.is_constant and b.is_constant and bool(np.all(a.constant == b.constant))


def differ(a: Value, b: Value) -> bool:
    return a.is_constant and b.is_constant and bool(np.all(a.constant != b.constant))
