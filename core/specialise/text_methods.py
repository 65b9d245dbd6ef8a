"""Methods and operators of texts of numbers that are not known while compiling.

What gives another text is a longer template. What gives a bool or a number is a call of Python at run time (``of_text``),
which has no derivative: eagerly, too, a number that is read from a text is a new number.
"""

from __future__ import annotations

import operator
import re
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.traced_text import RESULTS, Text
from ..ir.typed import ArrayType, of_text
from .formatting import joined
from .surface.overflow import too_large
from .texts import made
from .traced import Scalar

_TYPES = {
    kind: ArrayType(np.dtype(dtype), (), True) for kind, dtype in ((bool, bool), (int, np.int64), (float, np.float64))
}
_COMPARISONS = {getattr(operator, name): name for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_NUMERIC = re.compile(r"\s*\{(:[<>=^]?[-+ ]?#?0?\d*(\.\d+)?[eEfFgGd]?)?\}\s*")


def value_of(trace: Any, kinds: tuple[type, ...], name: str, *operands: Any) -> tuple[Any, ...]:
    """Return the bools and numbers that a function of ``traced_text.FUNCTIONS`` makes of texts at run time."""
    return read(trace, kinds, made(name, *operands))


def read(trace: Any, kinds: Sequence[type], text: Text, may_raise: bool = False) -> tuple[Any, ...]:
    """Return the bools and numbers that a template makes of texts at run time."""
    values = [trace.value(x) for x in text.values]
    constants = {"template": text.template, "weak": tuple(v.type.weak for v in values), "may_raise": may_raise}
    types = [_TYPES[kind] for kind in kinds]
    return tuple(map(trace.wrap, trace.builder.operation("call", of_text, values, types, **constants)))


def has_text(args: Any) -> bool:
    """Whether a text is among arguments, or in a tuple of them."""
    return any(isinstance(x, Text) or isinstance(x, tuple) and has_text(x) for x in args)


def length_of(trace: Any, x: Any) -> Any:
    return value_of(trace, (int,), "len", x)[0] if isinstance(x, Text) else len(x)


def truth(trace: Any, x: Text) -> Any:
    """``bool(x)``."""
    _refuse_chosen(x)
    return True if x.is_nonempty else trace.call(operator.ne, length_of(trace, x), 0)


def method(trace: Any, x: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a method of a text, or of a string with texts among the arguments."""
    _refuse_chosen(x, *args)
    if name == "join" and len(args) == 1 and not kwargs:
        return joined(trace, x, *args)
    if name in ("split", "rsplit", "splitlines"):
        getattr("", name)(*args, **kwargs)  # raises what Python raises
        return trace.derived.list_of(made(name, x, *args, *_by_position(name, len(args), kwargs)))
    if kwargs or name not in RESULTS and name not in ("index", "rindex"):
        raise BadInput(
            f"str.{name} of a text of numbers that are not known while compiling cannot be compiled; decide by the numbers, or use "
            "mo.callback"
        )
    _check(name, args)
    if name in ("index", "rindex"):
        found = value_of(trace, (int,), name.replace("index", "find"), x, *args)[0]
        trace.throw_one_of(trace.call(operator.lt, found, 0), 0, [ValueError("substring not found")])
        return found
    kind = RESULTS[name]
    if kind is str:
        return made(name, x, *args)
    if kind is tuple:
        parts = made(name, x, *args)
        return tuple(made("getitem", parts, i) for i in range(3))
    return value_of(trace, (kind,), name, x, *args)[0]


def _by_position(name: str, count: int, named: dict[str, Any]) -> list[Any]:
    """Return the arguments of a method that splits texts that follow the first ``count``."""
    defaults = {"keepends": False} if name == "splitlines" else {"sep": None, "maxsplit": -1}
    return list({**defaults, **named}.values())[count:]


def _check(name: str, args: tuple[Any, ...]) -> None:
    """Raise what Python raises for arguments of a wrong kind."""
    getattr("", name.replace("index", "find"))(
        *("1" if isinstance(a, Text) else 1 if isinstance(a, Scalar) else a for a in args)
    )


def operated(trace: Any, function: Callable[..., Any], a: Any, b: Any) -> Any:
    """Apply an operator to two objects of which at least one is a text."""
    if not all(isinstance(x, (str, Text)) for x in (a, b)):
        if function in (operator.eq, operator.ne):
            return function is operator.ne
        text, other = (a, b) if isinstance(a, Text) else (b, a)
        if function is operator.mul and (
            isinstance(other, int) or isinstance(other, Scalar) and other.type.dtype.kind == "i"
        ):
            return made("mul", text, other)
        function(
            *("1" if isinstance(x, Text) else 1 if isinstance(x, Scalar) else x for x in (a, b))
        )  # raises Python's error
        Text.refuse(text)
    if function in (operator.add, operator.iadd):
        return Text.joined([a, b])
    _refuse_chosen(a, b)
    if function not in _COMPARISONS:
        raise BadInput(f"{function.__name__} of texts of numbers that are not known while compiling cannot be compiled")
    if function in (operator.eq, operator.ne) and (_cannot_be(a, b) or _cannot_be(b, a)):
        return function is operator.ne
    return value_of(trace, (bool,), _COMPARISONS[function], a, b)[0]


def contains(trace: Any, container: Any, x: Any) -> Any:
    """``x in container``, for a text or a string."""
    if not isinstance(x, (str, Text)):
        raise TypeError(f"'in <string>' requires string as left operand, not {type(x).__name__}")
    _refuse_chosen(container, x)
    return value_of(trace, (bool,), "contains", container, x)[0]


def getitem(trace: Any, x: Text, index: Any, kind: str = "string") -> Any:
    _refuse_chosen(x)
    if isinstance(index, slice):
        return made("getitem", x, index)
    if not isinstance(index, int) and not (isinstance(index, Scalar) and index.type.dtype.kind == "i"):
        "1"[1.5 if isinstance(index, Scalar) else index]  # raises Python's error
    if not (x.is_nonempty and type(index) is int and index in (0, -1)):
        length, call = length_of(trace, x), trace.call
        is_in = call(
            operator.and_, call(operator.le, call(operator.neg, length), index), call(operator.lt, index, length)
        )
        trace.throw_one_of(call(operator.not_, is_in), 0, [IndexError(f"{kind} index out of range")])
    return made("getitem", x, index)


def number(trace: Any, kind: type, x: Text, *base: int) -> Any:
    """``float(x)`` or ``int(x, base)``."""
    status, found = value_of(trace, (int, kind), kind.__name__, x, *base)
    if not (kind is float and _is_numeric(x)):
        reason = (
            "could not convert string to float"
            if kind is float
            else f"invalid literal for int() with base {(*base, 10)[0]}"
        )
        error: Exception = ValueError(Text.joined([f"{reason}: ", made("repr", x)]))
        trace.throw_one_of(trace.call(operator.eq, status, 1), 0, [error])
        if kind is int:
            if trace.sees(OverflowError):
                raise BadInput(
                    "an int of a text in a try that catches OverflowError may need more than 64 bits; use float(text)"
                )
            trace.builder.raise_if(trace.value(trace.call(operator.eq, status, 2)), OverflowError, too_large(trace))
    return found


def _is_numeric(x: Text) -> bool:
    """Whether a text is that of one real number, so that it can be converted back."""
    if not isinstance(x.template, str) or not _NUMERIC.fullmatch(x.template):
        return False
    (kind,) = (value.type for value in x.values)
    return not kind.shape and kind.dtype.kind in "iuf"


def _cannot_be(x: Any, other: Any) -> bool:
    """Whether a text has characters, known while compiling, that a string lacks."""
    if not isinstance(x, Text) or not isinstance(other, str) or not isinstance(x.template, str):
        return False
    parts = [
        re.escape(literal) + ("" if field is None else ".+")
        for literal, field, _, _ in string.Formatter().parse(x.template)
    ]
    return re.fullmatch("".join(parts), other, re.DOTALL) is None


def _refuse_chosen(*operands: Any) -> None:
    """Refuse one of several known strings: these are compared as a ``Choice``, without calling Python."""
    for x in operands:
        if isinstance(x, Text) and x.is_chosen:
            x.refuse()
