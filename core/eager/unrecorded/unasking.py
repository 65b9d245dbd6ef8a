"""Recognises calls of C code that run no Python code, although their operands have methods written in Python.

Such calls move references, compare by identity or by numbers, or hash by identity.  They need not be watched.
"""

from __future__ import annotations

import enum
import functools
import operator
from collections import OrderedDict
from collections.abc import Callable
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodWrapperType,
    NoneType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from ...values.attributes import class_attribute
from ...values.numbers import NUMBERS, PASSIVE
from ...values.program_state import referents

PLAIN = (PASSIVE | NUMBERS) - {np.ndarray, slice}
"""Classes of objects on which C code calls no method written in Python."""

REFLECTED = {"__lt__": "__gt__", "__gt__": "__lt__", "__le__": "__ge__", "__ge__": "__le__"}
REFLECTED |= {"__eq__": "__eq__", "__ne__": "__ne__"}
COMPARISONS = {getattr(operator, method.strip("_")): method for method in REFLECTED}

BY_THEMSELVES = {object, NoneType, int, float, complex, str, bytes}
"""Classes in C whose comparisons use only the identity or the value of the two objects."""

MOVED = {list, tuple, str, bytes}
"""Sequences in C whose entries are moved without calling their methods."""

MRO = vars(type)["__mro__"]

BOUND_BY_TYPE = {MemberDescriptorType, WrapperDescriptorType, MethodDescriptorType, ClassMethodDescriptorType}
"""Descriptors whose ``__get__`` loads a slot, or binds a method in C."""


def compares_alone(method: str, a: Any, b: Any) -> bool:
    """Whether a comparison, by the special method ``method`` of ``a``, runs no Python code."""
    own, other = compared_by(type(a), method), compared_by(type(b), REFLECTED[method])
    if own in BY_THEMSELVES and other in BY_THEMSELVES:
        return True
    return own is np.dtype and _is_type_of_numbers(b) or other is np.dtype and _is_type_of_numbers(a)


def compared_by(kind: type, method: str) -> Any:
    """Return the C class whose comparison method the instances of a class use, or None."""
    found = getattr(class_attribute(kind.__mro__, method), "__objclass__", None)
    # ``object.__ne__`` calls ``__eq__`` of the class.
    return compared_by(kind, "__eq__") if found is object and method == "__ne__" else found


def _is_type_of_numbers(x: Any) -> bool:
    """Whether NumPy compares a dtype with an object without calling the object's methods."""
    if isinstance(x, type):
        return x in PLAIN
    return isinstance(x, np.dtype) or type(x) in (str, NoneType)


def runs_no_python(function: Any, args: tuple[Any, ...]) -> bool:
    """Whether ``function(*args)``, a call of a C function, is known to run no Python code."""
    kind = type(function)
    if kind is MethodWrapperType or kind is BuiltinFunctionType and not isinstance(function.__self__, _MODULE):
        asks_nothing = METHODS.get(function.__name__)
        return asks_nothing is not None and asks_nothing(function, args)
    asks_nothing = FUNCTIONS.get(function) if kind is type or kind is BuiltinFunctionType else None
    return asks_nothing is not None and asks_nothing(*args)


_MODULE = type(operator)
Asks = Callable[..., bool]


def _moves(*args: Any) -> bool:
    return all(type(x) in MOVED for x in args)


def is_plain_key(key: Any) -> bool:
    """Whether C code hashes and compares a key without Python code: by identity, number or text, or tuples of these."""
    kind = type(key)
    if kind in PLAIN:
        return True
    if kind is tuple:
        return all(map(is_plain_key, key))
    return is_hashed_in_c(kind) and compared_by(kind, "__eq__") in BY_THEMSELVES


def is_hashed_in_c(kind: type) -> bool:
    hashing = class_attribute(kind.__mro__, "__hash__")
    return hashing is MEMBERS_HASH or getattr(hashing, "__objclass__", None) in BY_THEMSELVES


MEMBERS_HASH = vars(enum.Enum)["__hash__"]
"""The ``__hash__`` of enumeration members: written in Python, but it only hashes their name."""


def _holds_plain_keys(*args: Any) -> bool:
    return all(type(x) in KEEPING and all(map(is_plain_key, x)) for x in args)


KEEPING = {list, tuple, dict, set, frozenset}


def _is_of_class(*args: Any) -> bool:
    """Whether ``super(cls, x)`` finds ``cls`` in the MRO of ``x``, and so does not read ``x.__class__``."""
    if len(args) != 2:
        return False
    cls, x = args
    return any(cls is c for c in (x if isinstance(x, type) else type(x)).__mro__)


def _is_mapping(*args: Any) -> bool:
    return all(type(x) in (dict, OrderedDict) for x in args)


FUNCTIONS: dict[Any, Asks] = {f: functools.partial(compares_alone, method) for f, method in COMPARISONS.items()}
FUNCTIONS |= dict.fromkeys((list, tuple, operator.add, operator.iadd), _moves)
FUNCTIONS |= dict.fromkeys((set, frozenset, dict), _holds_plain_keys)
FUNCTIONS |= {super: _is_of_class, MappingProxyType: _is_mapping}


def _binds(function: Any, args: tuple[Any, ...]) -> bool:
    descriptor = function.__self__
    if type(descriptor) is GetSetDescriptorType:
        return descriptor.__name__ == "__dict__" or descriptor is MRO
    return type(descriptor) in BOUND_BY_TYPE


def _makes(function: Any, args: tuple[Any, ...]) -> bool:
    """Whether the call is ``object.__new__``, or ``tuple.__new__`` of an existing sequence."""
    return function.__self__ is object or function.__self__ is tuple and _moves(*args[1:])


def _of_object(function: Any, args: tuple[Any, ...]) -> bool:
    return getattr(function, "__objclass__", None) is object


def _of_proxy(function: Any, args: tuple[Any, ...]) -> bool:
    """Whether the call makes a view of a mapping proxy of a dict."""
    return type(function.__self__) is MappingProxyType and _is_mapping(*referents(function.__self__))


def _of_dict(function: Any, args: tuple[Any, ...]) -> bool:
    return type(function.__self__) is dict and _holds_plain_keys(function.__self__, *args)


METHODS: dict[str, Callable[[Any, tuple[Any, ...]], bool]] = {"__get__": _binds, "__new__": _makes}
METHODS |= dict.fromkeys(("__init__", "__eq__", "__hash__"), _of_object)
METHODS |= dict.fromkeys(("keys", "values", "items"), _of_proxy)
METHODS |= {"update": _of_dict}
