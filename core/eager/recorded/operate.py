"""The operators of recorded code.

Instrumented code calls these functions with its tape in place of operators.  On numbers and arrays they compute the
result and record the operands with the rule.  For other objects they follow Python's protocol and record the methods of
the class.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from numbers import Rational
from typing import Any

import numpy as np

from ...rules.connected import connected
from ...rules.table import RULES
from ...values.numbers import AGAIN, NO_KEYWORDS, NUMBERS, PASSIVE, PROXIES, REAL, Int, is_exact, referent
from ...values.reachable import is_foreign
from ...values.special_methods import answer
from ..arrays.apply import apply_rule, pull_back, pull_back_binary
from ..arrays.integers import carries, follow
from ..arrays.object_arrays import by_entries, computes, record_objects
from ..arrays.plain_calls import FLOAT, pull_elementwise
from ..arrays.subclasses import OPERATOR_UFUNCS, overrides
from ..structured.fusible import call, leaf
from ..unrecorded.opaque import note
from ..unrecorded.opaque_calls import call_opaque
from ..unrecorded.watched import call_unrecorded, calls_back
from .access import iterate, pairs, special
from .comparison import REFLECTED, compare
from .sizes import listed
from .stores import array_setitem
from .tape import Tape
from .text import percent

Operation = Callable[..., Any]


@functools.cache
def of_real_numbers(function: Operation) -> Callable[..., Any]:
    """Return the fused form of an operation on two real numbers, compiled at its first use."""
    return connected.site(call(function, leaf(0), leaf(1)), 2)


SCALARS = REAL | {int}


def _is_of_floats(kind: type, x: Any) -> bool:
    return x.dtype is FLOAT if kind is np.ndarray else kind in SCALARS


def _of_objects(x: Any) -> bool:
    return type(x) is np.ndarray and x.dtype is OBJECT


OBJECT = np.dtype(object)


def _binary(function: Operation, method: str, reflected: str) -> Operation:
    def operation(tape: Tape, a: Any, b: Any) -> Any:
        ka, kb = type(a), type(b)
        if ka in NUMBERS and kb in NUMBERS:
            if ka in SCALARS and kb in SCALARS and tape.parent is None:
                if ka is int and kb is int:
                    return function(a, b)
                y = of_real_numbers(function)(tape, a, b)
                if y is not AGAIN:
                    return y
            elif tape.parent is None and tape.integers is None and _is_of_floats(ka, a) and _is_of_floats(kb, b):
                y = function(a, b)
                rule = RULES.get(function)
                if type(y) is np.ndarray and y.dtype is FLOAT and rule is not None and rule.partials:
                    tape.records.append((pull_elementwise, y, rule, (a, b), NO_KEYWORDS))
                    return y
            if (ka is np.ndarray and a.dtype is OBJECT or kb is np.ndarray and b.dtype is OBJECT) and (
                calls_back(a) or calls_back(b)  # record the operators that the entries' classes define
            ):
                return tape.call(OPERATOR_UFUNCS[method], a, b)
            if ka in PASSIVE and kb in PASSIVE and (tape.integers is None or not carries(tape, (a, b))):
                return function(a, b)
            y = function(a, b) if tape.parent is None else operation(tape.parent, a, b)
            ky = type(y)
            if ky is np.ndarray:
                if y.dtype.kind == "O":
                    return record_objects(tape, y, RULES[function], (a, b), NO_KEYWORDS)
                if y.dtype.kind not in "fc":
                    return follow(tape, RULES.get(function), y, (a, b), NO_KEYWORDS)
            elif ky in PASSIVE:
                y = Int(y) if ky is int else follow(tape, RULES.get(function), y, (a, b), NO_KEYWORDS)
                if ky is not int and not carries(tape, y):
                    return y
            rule = RULES.get(function)
            if rule is None or rule.is_zero:
                return y
            if rule.partials:
                tape.records.append((pull_back_binary, y, rule, a, b))
            else:
                tape.records.append((pull_back, y, rule, (a, b), NO_KEYWORDS))
            return y
        return _binary_protocol(tape, operation, function, method, reflected, a, b)

    operation.__name__ = method.strip("_")
    return operation


def _binary_protocol(
    tape: Tape, operation: Operation, function: Operation, method: str, reflected: str, a: Any, b: Any
) -> Any:
    """Follow Python's protocol for ``a op b``: the right operand first if its class is derived from the left's."""
    ka, kb = type(a), type(b)
    forward, backward = special(ka, method), special(kb, reflected)
    if forward is backward is None or is_exact(ka) or forward is None and is_exact(kb):
        return _binary_builtin(tape, operation, function, a, b)
    attempts = [(forward, method, a, b)]
    if kb is not ka and (backward is None or backward != forward):
        attempts.append((backward, reflected, b, a))
        derived = issubclass(kb, ka) and backward != special(ka, reflected)
        if derived or isinstance(a, (np.ndarray, np.generic)) and backward is not None and _gives_way(a, b):
            attempts.reverse()
    for own, name, x, other in attempts:
        if own is not None:
            y = tape.call(own, x, _as_python(tape, other) if own is backward and not _defers(b) else other)
        elif isinstance(x, NUMPYS) and overrides(other):
            y = tape.call(OPERATOR_UFUNCS[name], a, b)
        elif isinstance(x, np.ndarray) and overrides(x) or isinstance(x, NUMPYS) and special(type(other), "__array__"):
            y = tape.call(OPERATOR_UFUNCS[name], a, b)
        elif isinstance(x, NUMPYS) and is_sequence(other):
            y = tape.call(OPERATOR_UFUNCS[name], a, b)
        elif isinstance(x, np.ndarray) and computes(other):
            y = by_entries(tape, function, (a, b))
        else:
            # Python concatenates and repeats sequences only after the other operand's method has been tried.
            y = NotImplemented if isinstance(x, SEQUENCES) else getattr(type(x), name, _not_implemented)(x, other)
            if isinstance(y, np.ndarray) and y.dtype.kind == "O":
                y = record_objects(tape, y, RULES[function], (a, b), NO_KEYWORDS)
        if y is not NotImplemented:
            return y
    return function(a, b)  # raises the TypeError that Python would raise


def is_sequence(x: Any) -> bool:
    """Whether NumPy converts an object to an array as a sequence, by methods that its class has in Python."""
    return special(type(x), "__len__") is not None and special(type(x), "__getitem__") is not None


def _gives_way(a: Any, b: Any) -> bool:
    """Whether NumPy's ``a op b`` defers to the class of ``b``, which is not derived from that of ``a``."""
    if hasattr(type(b), "__array_ufunc__"):
        own = type(b).__array_ufunc__
        return own is None or own is np.ndarray.__array_ufunc__ and not isinstance(a, np.ndarray)
    is_array = special(type(b), "__array__") is not None or is_sequence(b)
    return _defers(b) or (not isinstance(a, np.ndarray) or not a.ndim) and not is_array


def _defers(b: Any) -> bool:
    """Whether the class of ``b`` asks NumPy to leave operators to it."""
    return hasattr(type(b), "__array_ufunc__") or getattr(b, "__array_priority__", 0) > 0


def _as_python(tape: Tape, x: Any) -> Any:
    """Return NumPy's number as Python's, which is what NumPy hands to the operators of an object."""
    kinds = {"f": float, "c": complex, "i": int, "u": int, "b": bool}
    return tape.call(kinds[x.dtype.kind], x) if isinstance(x, np.generic) and x.dtype.kind in kinds else x


def _not_implemented(x: Any, other: Any) -> Any:
    return NotImplemented


NUMPYS = (np.ndarray, np.generic)
VALUES = (*NUMPYS, float, complex, int)
SEQUENCES = (list, tuple, bytes, bytearray)


def _binary_builtin(tape: Tape, operation: Operation, function: Operation, a: Any, b: Any) -> Any:
    """Do ``a op b`` where no Python class defines it: subclasses of numbers and arrays, sequences, C objects."""
    if function is operator.mod and isinstance(a, (str, bytes)):
        return percent(tape, a, b)
    if type(a) in PROXIES or type(b) in PROXIES:
        return operation(tape, *(referent(x) if type(x) in PROXIES else x for x in (a, b)))
    reading = np.ndarray if function is operator.mul else (np.ndarray, np.generic)  # a scalar times a list repeats it
    if isinstance(a, reading) and isinstance(b, (list, tuple)):
        return operation(tape, a, tape.call(np.array, b))
    if isinstance(b, reading) and isinstance(a, (list, tuple)):
        return operation(tape, tape.call(np.array, a), b)
    if (isinstance(a, NUMPYS) or isinstance(b, NUMPYS)) and (overrides(a) or overrides(b)):
        return tape.call(OPERATOR_UFUNCS[f"__{operation.__name__.rstrip('_')}__"], a, b)
    if isinstance(a, (np.ndarray, np.generic)) and special(type(b), "__array__") is not None:
        return operation(tape, a, tape.call(np.asarray, b))
    if isinstance(b, (np.ndarray, np.generic)) and special(type(a), "__array__") is not None:
        return operation(tape, tape.call(np.asarray, a), b)
    if isinstance(a, VALUES) and isinstance(b, VALUES) and function in RULES:
        return apply_rule(tape, RULES[function], (a, b), NO_KEYWORDS)
    if isinstance(a, (float, complex)) and isinstance(b, Rational):  # a Fraction: it is converted to float
        return operation(tape, a, tape.call(float, b))
    if isinstance(b, (float, complex)) and isinstance(a, Rational):
        return operation(tape, tape.call(float, a), b)
    y = call_unrecorded(tape, function, a, b)
    if is_foreign(type(a)) or is_foreign(type(b)):
        note(tape, y, function, (a, b))
    return y


def _comparison(function: Operation, method: str) -> Operation:
    def operation(tape: Tape, a: Any, b: Any) -> Any:
        ka, kb = type(a), type(b)
        if ka in REAL and kb in REAL:
            return function(a, b)
        if ka in NUMBERS and kb in NUMBERS and not (_of_objects(a) or _of_objects(b)):
            return function(a, b)
        return compare(tape, method, a, b)

    return operation


def truth(tape: Tape, x: Any) -> Any:
    """Return a value with the truth of ``x``, found on the tape."""
    kind = type(x)
    if kind in PASSIVE or kind in NUMBERS:
        return x
    own = special(kind, method := "__bool__" if hasattr(kind, "__bool__") else "__len__")
    return bool(answer(tape, own, method, x)) if own is not None else x


class Truth:
    """An operand of ``and`` or ``or`` with its truth value, found on the tape."""

    __slots__ = ("holds", "x")

    def __init__(self, x: Any, holds: bool) -> None:
        self.x, self.holds = x, holds

    def __bool__(self) -> bool:
        return self.holds


def operand(tape: Tape, x: Any) -> Any:
    """Return ``x`` as an operand of ``and`` or ``or``, wrapped if its class defines its truth."""
    asked = truth(tape, x)
    return x if asked is x else Truth(x, asked)


def chosen(tape: Tape, x: Any) -> Any:
    """Unwrap the operand that ``and`` or ``or`` has chosen."""
    return x.x if type(x) is Truth else x


def _unary(function: Operation, method: str) -> Operation:
    def operation(tape: Tape, a: Any) -> Any:
        if type(a) in PASSIVE and not carries(tape, a):
            return function(a)
        own = special(type(a), method)
        if own is not None and not is_exact(type(a)):
            return tape.call(own, a)
        if isinstance(a, np.ndarray) and (a.dtype is OBJECT or overrides(a)):
            return tape.call(OPERATOR_UFUNCS[method], a)
        if isinstance(a, VALUES):
            return apply_rule(tape, RULES[function], (a,), NO_KEYWORDS)
        y = function(a)
        note(tape, y, function, (a,))
        return y

    return operation


def _in_place(plain: Operation, function: Operation, method: str) -> Operation:
    def operation(tape: Tape, a: Any, b: Any) -> Any:
        own = special(type(a), method)
        if own is not None:
            y = tape.call(own, a, b)
            return plain(tape, a, b) if y is NotImplemented else y
        if isinstance(a, np.ndarray) and (overrides(a) or overrides(b)):
            return tape.call(OPERATOR_UFUNCS[method], a, b, out=a)
        if isinstance(a, np.ndarray):
            if type(b) not in NUMBERS and not isinstance(b, np.ndarray):
                if getattr(type(b), "__array_ufunc__", a) is None:
                    return function(a, b)  # raises what NumPy raises
                if getattr(b, "__array_priority__", 0) > getattr(a, "__array_priority__", 0):
                    return plain(tape, a, b)
            y = plain(tape, a, b)
            plain_y = not isinstance(y, (np.ndarray, np.generic))
            if not plain_y and (y.shape != a.shape or not np.can_cast(y.dtype, a.dtype, "same_kind")):
                return function(a, b)  # raises what NumPy raises
            array_setitem(tape, a, ..., y)
            return a
        if type(a) in NUMBERS or not hasattr(type(a), method) or isinstance(a, list) and _takes_over(b, method):
            return plain(tape, a, b)
        if is_foreign(type(a)):
            return call_opaque(tape, function, (a, b), {})
        read = pairs if isinstance(a, dict) else listed if isinstance(a, list) else iterate
        return function(a, read(tape, b))

    return operation


def _takes_over(b: Any, method: str) -> bool:
    """Whether ``b`` has a reflected operator, which Python tries before it extends or repeats a list in place."""
    return isinstance(b, (np.ndarray, np.generic)) or special(type(b), method.replace("__i", "__r")) is not None


COMPARISONS = {m.strip("_"): _comparison(getattr(operator, m.strip("_")), m) for m in REFLECTED}
"""The recorded form of each comparison, by the name of its function in ``operator``."""

OPERATORS: dict[str, tuple[Operation, Operation]] = {}
"""(recorded form, function) of each operator, by the function's name in ``operator``."""

for _name, _symbol in (
    *(("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "truediv"), ("floordiv", "floordiv")),
    *(("mod", "mod"), ("pow", "pow"), ("matmul", "matmul"), ("and_", "and"), ("or_", "or"), ("xor", "xor")),
    *(("lshift", "lshift"), ("rshift", "rshift")),
):
    _function = getattr(operator, _name)
    _plain = _binary(_function, f"__{_symbol}__", f"__r{_symbol}__")
    OPERATORS[_name] = _plain, _function
    _function = getattr(operator, "i" + _symbol)
    OPERATORS["i" + _symbol] = _in_place(_plain, _function, f"__i{_symbol}__"), _function
for _name, _method in (("neg", "__neg__"), ("pos", "__pos__"), ("invert", "__invert__"), ("abs", "__abs__")):
    OPERATORS[_name] = _unary(getattr(operator, _name), _method), getattr(operator, _name)
