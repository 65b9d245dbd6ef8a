"""Arrays of dtype object: containers of Python objects, which the tape identifies one by one.

NumPy moves the entries (``reshape``, ``concatenate``, an index) or computes with them by Python's operators.  Moved
entries need no record.  New numbers are recorded with the rule of the function that made them, as if the array held
plain numbers.  If the entries are objects of a Python class, operators and sums are recorded entry by entry.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...rules.table import Rule, pull, pull_strongly
from ...values.attributes import attributes
from ...values.numbers import NUMBERS, PASSIVE, is_exact
from ..recorded.tape import Cotangents, Record, Tape
from ..unrecorded.opaque import note

OPERATOR_OF = {np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv}
OPERATOR_OF |= {np.power: operator.pow, np.negative: operator.neg, np.positive: operator.pos, np.absolute: abs}
OPERATOR_OF |= {np.invert: operator.invert, np.floor: math.floor, np.ceil: math.ceil, np.trunc: math.trunc}
OPERATOR_OF |= {np.floor_divide: operator.floordiv, np.remainder: operator.mod, np.bitwise_and: operator.and_}
OPERATOR_OF |= {np.bitwise_or: operator.or_, np.bitwise_xor: operator.xor, np.left_shift: operator.lshift}
OPERATOR_OF |= {
    np.right_shift: operator.rshift,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.equal: operator.eq,
}
OPERATOR_OF |= {np.greater: operator.gt, np.greater_equal: operator.ge, np.not_equal: operator.ne}
CONVERSIONS = ("__array__", "__float__", "__complex__")
FOLDS = {np.sum: ("reduce", operator.add), np.prod: ("reduce", operator.mul)}
FOLDS |= {np.cumsum: ("accumulate", operator.add), np.cumprod: ("accumulate", operator.mul)}


def record_objects(tape: Tape, y: Any, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record ``y``, the result of a function with a rule, where ``y`` or an argument is an array of objects."""
    if (
        not _is_of_objects(y)
        and isinstance(y, (np.ndarray, np.generic, float, complex))
        and any(map(holds_objects, args))
    ):
        numbers = (_converted(tape, x, y) for x in args)
        return tape.call(rule.function, *numbers, **kwargs)
    moved = {id(e) for e in _leaves(args)}
    made = [e for e in _leaves(y) if type(e) not in PASSIVE and id(e) not in moved]
    if not made:
        return y
    holds_arrays = any(isinstance(e, np.ndarray) for x in args if _is_of_objects(x) for e in _leaves(x))
    if holds_arrays and rule.function not in FOLDS and not _is_of_objects(y):
        lists = (list(x) if _is_of_objects(x) else x for x in args)  # treat a vector of arrays as a list of arrays
        return tape.call(rule.function, *lists, **kwargs)
    own = any(computes(e) for x in args for e in _leaves(x))
    if rule.is_zero and not own:
        return y
    if all(type(e) in NUMBERS for e in made) and not holds_arrays and not own:
        tape.records.append((_pull_objects, y, rule, args, kwargs, {id(e) for e in made}))
        return y
    if rule.function in FOLDS and args and isinstance(args[0], np.ndarray):
        return _folded(tape, rule.function, *args, **kwargs)
    if own and not kwargs and is_by_entries(rule):
        return by_entries(tape, rule.function, args)
    function = OPERATOR_OF.get(rule.function, rule.function)
    if not rule.partials or kwargs or isinstance(function, np.ufunc):
        note(tape, [*made, *(v for e in made for _, v in attributes(e))], rule.function, args)
        return y
    return _recorded(tape, function, len(args))(*(as_objects(tape, x) for x in args))


def _folded(tape: Tape, function: Any, x: np.ndarray, axis: Any = None, *rest: Any, **kwargs: Any) -> Any:
    how, operation = FOLDS[function]
    if axis is None and how == "accumulate":
        x, axis = x.ravel(), 0
    return getattr(_recorded(tape, operation, 2), how)(x, axis, *rest, **kwargs)


def computes(x: Any) -> bool:
    """Whether NumPy computes with ``x`` by operators and methods that its class defines in Python."""
    return is_computing(type(x))


def holds_computing(x: Any) -> bool:
    """Whether ``x`` is an array of objects with an entry for which ``computes`` holds."""
    return _is_of_objects(x) and any(map(computes, _leaves(x)))


def is_computing(kind: type) -> bool:
    """Whether ``computes`` holds for the instances of a class."""
    if kind in NUMBERS or kind in PASSIVE or not kind.__flags__ & MADE_IN_PYTHON or issubclass(kind, OF_PYTHON):
        return False
    return not is_exact(kind) and not any(isinstance(getattr(kind, name, None), FunctionType) for name in CONVERSIONS)


OF_PYTHON = (float, complex, int, str, tuple, list, dict, np.ndarray, np.generic)
MADE_IN_PYTHON = 1 << 9


def is_by_entries(rule: Rule) -> bool:
    """Whether NumPy computes the function of a rule on objects by one operator or method call per entry."""
    function = rule.function
    return isinstance(function, np.ufunc) and function.nout == 1 and function.signature is None


def by_entries(tape: Tape, function: Any, args: tuple[Any, ...]) -> Any:
    """Apply an element-wise function to objects as NumPy does: ``np.add`` by ``+``, ``np.sin`` by a method ``sin``."""
    function = OPERATOR_OF.get(function, function)
    if isinstance(function, np.ufunc):
        name = function.__name__

        def method(first: Any, *others: Any) -> Any:
            return getattr(first, name)(*others)

        if not all(hasattr(e, name) for e in _leaves(args[0])):
            return function(*args)  # raises what NumPy raises
        function = method
    if not any(isinstance(x, np.ndarray) for x in args):
        return tape.call(function, *args)
    y = _recorded(tape, function, len(args))(*(as_objects(tape, x) for x in args))
    return y.astype(bool) if function in TESTS and isinstance(y, np.ndarray) else y


TESTS = {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne}


def by_operators(tape: Tape, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function by the operators and methods of the objects in its array arguments, or return NotImplemented."""
    function = rule.function
    if not any(map(holds_computing, args)):
        return NotImplemented
    if function in FOLDS and _is_of_objects(args[0]):
        return _folded(tape, function, *args, **kwargs)
    if not is_by_entries(rule) or function not in OPERATOR_OF and len(args) > 1:
        return NotImplemented
    others = {k: x for k, x in kwargs.items() if k != "out" and x is not None and x is not True}
    if others:
        raise NoDerivative(
            f"{function.__name__}({', '.join(f'{k}=' for k in others)}) of an array of objects cannot be differentiated; "
            "leave these keywords out, or write a loop over the entries"
        )
    y, out = by_entries(tape, function, args), kwargs.get("out")
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        return y
    tape.call(operator.setitem, out, ..., y)
    return out


def holds_objects(x: Any) -> bool:
    """Whether ``x`` is or contains an object that NumPy may convert to a number."""
    if isinstance(x, (list, tuple)) or _is_of_objects(x):
        return any(_is_convertible(e) for e in _leaves(x))
    return _is_convertible(x)


def _is_convertible(x: Any) -> bool:
    kind = type(x)
    if kind in NUMBERS or kind in PASSIVE or isinstance(x, (np.ndarray, float, complex)):
        return False  # NumPy reads the value of a class derived from float directly
    return is_exact(kind) or any(isinstance(getattr(kind, name, None), FunctionType) for name in CONVERSIONS)


def _converted(tape: Tape, x: Any, y: Any) -> Any:
    """Return ``x`` with its objects converted, on the tape, to numbers or arrays as in the result ``y``."""
    if _is_of_objects(x):
        entries = np.empty(x.shape, dtype=object)
        entries.reshape(-1)[:] = _converted(tape, x.ravel().tolist(), y)
        return entries
    if isinstance(x, (list, tuple)):
        return [_converted(tape, e, y) for e in x]
    if not _is_convertible(x):
        return x
    own = getattr(type(x), "__array__", None)
    if isinstance(own, FunctionType):
        return tape.call(own, x)
    return tape.call(complex if np.iscomplexobj(y) else float, x)


def _recorded(tape: Tape, function: Any, operands: int) -> np.ufunc:
    return np.frompyfunc(lambda *entries: tape.call(function, *entries), operands, 1)


def _is_of_objects(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.kind == "O"


def _leaves(x: Any) -> Iterator[Any]:
    if _is_of_objects(x):
        yield from x.ravel().tolist()
    elif isinstance(x, (tuple, list)):
        for e in x:
            yield from _leaves(e)
    else:
        yield x


def as_objects(tape: Tape, x: Any) -> Any:
    """Return ``x`` as an array of objects with the same entries."""
    if isinstance(x, np.ndarray):
        return x if x.dtype.kind == "O" else tape.call(np.asarray, x, dtype=object)
    single = np.empty((), dtype=object)
    single[()] = x
    return single


def _pull_objects(table: Cotangents, record: Record) -> None:
    _, y, rule, args, kwargs, made = record
    if isinstance(y, np.ndarray) and y.dtype.kind == "O":
        taken = [table.take(e) if id(e) in made else None for e in y.ravel().tolist()]
        if all(g is None for g in taken):
            return
        dy = table.run(np.reshape, table.run(np.array, [0.0 if g is None else g for g in taken]), y.shape)
    else:
        dy = table.take(y)
        if dy is None:
            return
    values = tuple(_as_numbers(table, x) for x in args)
    pulled = pull_strongly if table.is_strong else pull
    for x, g in zip(args, table.run(pulled, rule, dy, _as_numbers(table, y), values, kwargs)):
        table.add(x, g)


def _as_numbers(table: Cotangents, x: Any) -> Any:
    """Return the entries of an array of objects as an array of numbers, with NaN for other objects."""
    if not isinstance(x, np.ndarray) or x.dtype.kind != "O":
        return x
    entries = [e if type(e) in NUMBERS and not isinstance(e, np.ndarray) else np.nan for e in x.ravel().tolist()]
    return table.run(np.reshape, table.run(np.array, entries), x.shape)
