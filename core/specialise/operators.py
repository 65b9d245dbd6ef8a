"""Python's operators on objects whose classes define them, on containers, and on arrays with such objects."""

from __future__ import annotations

import operator
import types
from collections import deque
from typing import Any

import numpy as np

from ..errors import BadInput
from ..faults import kind_of
from ..ir.derived import Derived, class_of, is_list
from ..ir.traced_text import Text
from ..values.array_classes import is_subclass_array
from ..values.items import entries_of, items_of
from .arguments import has_traced
from .containers import CONTAINERS
from .identity import has_choice, identical
from .instances import has_array, is_instance, is_sequence, special
from .lists_in_python import are_equal, extend, is_before, joined, repeated
from .object_arrays import as_objects
from .rows import rows_of
from .surface.operators import UFUNCS
from .text_methods import operated
from .traced import Array, Scalar, Traced, current
from .ufunc_protocol import OF_SCALARS

_BINARY = {
    getattr(operator, name if name not in ("and", "or") else name + "_"): (f"__{name}__", f"__r{name}__")
    for name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
}
_IN_PLACE = {getattr(operator, "i" + names[0].strip("_")): (f, f"__i{names[0][2:]}") for f, names in _BINARY.items()}
_COMPARISONS = {
    operator.lt: ("__lt__", "__gt__"),
    operator.le: ("__le__", "__ge__"),
    operator.gt: ("__gt__", "__lt__"),
    operator.ge: ("__ge__", "__le__"),
    operator.eq: ("__eq__", "__eq__"),
    operator.ne: ("__ne__", "__ne__"),
}
_UNARY = {
    operator.neg: "__neg__",
    operator.pos: "__pos__",
    operator.invert: "__invert__",
    abs: "__abs__",
    operator.abs: "__abs__",
}
OPERATORS = frozenset((*_BINARY, *_IN_PLACE, *_COMPARISONS, *_UNARY))
_OF_CONTAINERS = OPERATORS | {
    operator.and_,
    operator.or_,
    operator.xor,
    operator.ior,
    operator.iand,
    operator.ixor,
    max,
    min,
}
_ORDER = {
    operator.lt: (True, False),
    operator.le: (True, True),
    operator.gt: (False, False),
    operator.ge: (False, True),
}
"""Whether a comparison of lists asks for the left one to come first, and whether they may be equal."""
_UFUNCS = {**UFUNCS, operator.matmul: np.matmul}


class Operators:
    """The part of the interpreter that applies operators of classes and containers."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    def overloaded(self, function: Any, args: Any) -> bool:
        """Whether a user's class, or Python's containers, define this operator."""
        if function in _OF_CONTAINERS and _are_pythons(args):
            return True
        if type(function) is not types.BuiltinFunctionType or function not in OPERATORS:
            return False
        return any(
            type(x) is Derived
            or not isinstance(x, Traced)
            and is_instance(x)
            and (type(x).__module__ != "numpy" or is_subclass_array(x))
            for x in args
        )

    def call(self, function: Any, args: Any) -> Any:
        """Apply an operator that a class or a Python container may define."""
        if len(args) == 2 and any(rows_of(x) is not None for x in args):
            found = self.of_growing(function, *args)
            if found is not NotImplemented:
                return found
        if function in _UNARY:
            if is_subclass_array(args[0]):
                own = self.trace.arrays.own(args[0], _UNARY[function])
                return (
                    self.trace.arrays.operator(args[0], _UNARY[function], ()) if own is None else self.trace.call(own)
                )
            method = special(args[0], _UNARY[function])
            if method is None and type(args[0]) is Derived:
                return self.trace.call(function, args[0].plain)
            return self.trace.uninterpreted.call_real(function, args, {}) if method is None else self.trace.call(method)
        a, b = args
        for x in filter(is_list, args):
            x.refuse()
        if function in _IN_PLACE:
            plain, name = _IN_PLACE[function]
            if is_subclass_array(a):
                own = self.trace.arrays.own(a, name)
                return self.trace.arrays.operator(a, name, (b,)) if own is None else self.trace.call(own, b)
            if isinstance(a, Array):
                if is_subclass_array(b):
                    return self.trace.call(_UFUNCS[plain], a, b, out=(a,))
                if has_array(b) and not _defers(a, b) and not hasattr(type(b), "__array_ufunc__"):
                    return self.trace.call(function, a, self.trace.call(np.asarray, b))
                raise BadInput(
                    f"an in-place operation on an array with a {kind_of(b)} cannot be compiled; assign the result to a new "
                    "array, or to a[:]"
                )
            method = None if isinstance(a, Traced) else special(a, name)
            if method is not None:
                return self.trace.call(method, b)
            if isinstance(a, CONTAINERS):
                self.trace.touch(a)
                return self.trace.uninterpreted.call_real(function, args, {})
            return self.trace.call(plain, a, b)
        names = _BINARY.get(function) or _COMPARISONS[function]
        order = [(a, b, names[0]), (b, a, names[1])]
        if _is_first(
            class_of(b), np.ndarray if isinstance(a, Array) else _type_of(a), names[1], function in _COMPARISONS
        ):
            order.reverse()
        for x, y, name in order:
            if isinstance(x, Traced) and (is_instance(y) or type(y) is Derived):
                found = self.with_numpys(function, x, y, a is x)
                if found is not NotImplemented:
                    return found
            is_negated = name == "__ne__" and type(x).__ne__ is object.__ne__  # it negates __eq__
            method = None if isinstance(x, (Traced, Text)) else special(x, "__eq__" if is_negated else name)
            if is_subclass_array(x):
                own = self.trace.arrays.own(x, name)
                found = self.trace.arrays.operator(x, name, (y,)) if own is None else self.trace.call(own, y)
                if found is not NotImplemented:
                    return found
            elif method is not None:
                found = self.trace.call(method, y)
                if found is not NotImplemented:
                    return self.trace.call(operator.not_, self.trace.expressions.truth(found)) if is_negated else found
        if any(isinstance(x, Traced) or type(x) is Derived for x in args):
            numbers = [as_number(x, other) for x, other in ((a, b), (b, a))]
            if numbers[0] is not a or numbers[1] is not b:
                return self.trace.call(function, *numbers)
        if function in _COMPARISONS and type(a) is type(b) and isinstance(a, (list, tuple)) and has_traced((a, b)):
            if function not in (operator.eq, operator.ne):
                return self.trace.containers.in_order(function, a, b)
        if function in (operator.eq, operator.ne):
            equal = NotImplemented
            if _are_containers(a, b) and (has_traced((a, b)) or _has_objects((a, b)) or has_choice(self.trace, (a, b))):
                equal = self.trace.containers.equal(a, b)
            elif type(a).__eq__ is object.__eq__ and type(b).__eq__ is object.__eq__:
                equal = identical(self.trace, a, b)
            if equal is not NotImplemented:
                return equal if function is operator.eq else self.trace.call(operator.not_, equal)
        if isinstance(a, Text) or isinstance(b, Text):
            return operated(self.trace, function, a, b)
        return self.trace.uninterpreted.call_real(function, args, {})

    def of_growing(self, function: Any, a: Any, b: Any) -> Any:
        """Apply an operator to lists or tuples of which one has a traced length; NotImplemented leaves it to others."""
        interpret = self.trace.calls.interpret
        if function is operator.iadd and isinstance(a, (list, deque)):
            interpret(extend, (a, b), {})
            return a
        if type(a) is not type(b):
            if function in (operator.eq, operator.ne):
                return function is operator.ne
            if function in (operator.mul, operator.imul) and isinstance(a, (list, tuple)):
                found = interpret(repeated, (a, b), {})
                return found if isinstance(a, list) else tuple(found)
            return NotImplemented
        if function in (operator.add, operator.iadd):
            found = interpret(joined, (a, b), {})
            return found if isinstance(a, list) else tuple(found)
        if function in (operator.eq, operator.ne):
            equal = interpret(are_equal, (a, b), {})
            return equal if function is operator.eq else self.trace.call(operator.not_, equal)
        if function in _ORDER:
            return interpret(is_before, ((a, b) if _ORDER[function][0] else (b, a)) + (_ORDER[function][1],), {})
        return NotImplemented

    def with_numpys(self, function: Any, x: Traced, y: Any, is_left: bool) -> Any:
        """Return what an operator of NumPy's number or array ``x`` gives with an object, or NotImplemented if the object decides."""
        if isinstance(x, Scalar) and x.type.weak or _defers(x, y):
            return NotImplemented
        if isinstance(y, (int, float, complex)) or type(y) is Derived:
            other = as_number(y, x)
            return self.trace.call(function, *((x, other) if is_left else (other, x)))
        if hasattr(type(y), "__array_ufunc__"):
            ufunc = _UFUNCS[function]
            return self.trace.call(ufunc, *((x, y) if is_left else (y, x)))
        if has_array(y) or is_sequence(y):
            other = self.trace.call(np.asarray, y)
            return self.trace.call(function, *((x, other) if is_left else (other, x)))
        if isinstance(x, Array):
            objects = as_objects(x)
            return self.trace.call(function, *((objects, y) if is_left else (y, objects)))
        number = self.trace.call(self.trace.attribute(x, "item"))  # what NumPy hands to the object's method
        return self.trace.call(function, *((number, y) if is_left else (y, number)))


def as_numpys(trace: Any, x: Scalar) -> Any:
    """Return a Python number as NumPy's number of the same kind."""
    return trace.wrap(trace.builder.cast(trace.value(x), x.type.dtype))


def _type_of(x: Any) -> type:
    return x.type.number if isinstance(x, Scalar) else str if isinstance(x, Text) else class_of(x)


def as_number(x: Any, other: Any) -> Any:
    """Convert a member of an ``IntEnum``, say, to a plain number, or to NumPy's if the other operand is NumPy's."""
    if type(x) is Derived:
        is_numpys = isinstance(other, np.generic) or isinstance(other, Traced) and not other.type.weak
        is_numpys = is_numpys and isinstance(x.plain, Scalar)
        return as_numpys(current(), x.plain) if is_numpys else x.plain
    base = next((kind for kind in (int, float, complex) if isinstance(x, kind)), None)
    if base is None or isinstance(x, (bool, np.generic)) or type(x) is base:
        return x
    number = base(x)
    is_numpys = isinstance(other, Traced) and not other.type.weak
    return np.asarray(number)[()] if is_numpys else number


def _are_pythons(args: Any) -> bool:
    """Whether the operands are Python containers: ``[x] + [y]`` concatenates, whatever x and y are."""
    if any(isinstance(x, (Traced, np.ndarray, np.generic)) for x in args):
        return False
    return any(isinstance(x, (list, tuple, dict, set)) for x in args) and len(args) > 1


def _has_objects(x: Any) -> bool:
    """Whether containers hold objects, whose classes may define comparisons."""
    if isinstance(x, (list, tuple, deque)):
        return any(map(_has_objects, items_of(x)))
    return any(_has_objects(e) for _, e in entries_of(x)) if isinstance(x, dict) else is_instance(x)


def _are_containers(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, (list, tuple, dict, deque))


def _is_first(b: type, a: type, name: str, compares: bool) -> bool:
    """Whether the right operand's class comes first: it is derived from the left one's, and has a method of its own."""
    if a is b or not issubclass(b, a):
        return False
    return compares or getattr(b, name, None) is not getattr(a, name, None)


def _defers(x: Traced, y: Any) -> bool:
    """Whether NumPy's number or array ``x`` leaves an operator to the class of ``y``."""
    if hasattr(class_of(y), "__array_ufunc__"):
        return class_of(y).__array_ufunc__ is None  # type: ignore[attr-defined]
    return getattr(class_of(y) if type(y) is Derived else y, "__array_priority__", OF_SCALARS) > (
        0.0 if isinstance(x, Array) else OF_SCALARS
    )
