"""Objects of classes written in Python, as the traced program sees them: attributes by name."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from types import FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any

from ..ir.derived import Derived, class_of
from ..ir.traced_text import Text
from ..values.array_classes import ARRAY, array_and_attributes, is_subclass_array, is_traced_array, put
from ..values.attributes import attributes, class_attribute, has_dict, remove_entry, set_entry
from .rows import Rows
from .scopes import UNBOUND, Choice, Conflict
from .traced import Traced

OF_PYTHON = 1 << 9
"""The flag of classes created by a class statement."""


def is_of_python(cls: type) -> bool:
    """Whether a class was created by a class statement, and is no exception."""
    return bool(cls.__flags__ & OF_PYTHON) and not issubclass(cls, BaseException)


def is_instance(x: Any) -> bool:
    """Whether x is an object of a class written in Python, with a ``__dict__`` or slots, or a namespace."""
    kind = type(x)
    if kind is SimpleNamespace:
        return True
    if kind in (Choice, Derived, Rows, Text):
        return False
    if not kind.__flags__ & OF_PYTHON or isinstance(x, (type, FunctionType, MethodType, ModuleType)):
        return False
    if hasattr(kind, "__morula_trace__"):  # a function of some kind
        return False
    if is_subclass_array(x):
        return is_traced_array(x)
    return kind.__module__ not in ("functools", "types") and (has_dict(x) or _has_slots(kind))


def _has_slots(kind: type) -> bool:
    return any(cls.__dict__.get("__slots__") for cls in kind.__mro__)


def special(x: Any, name: str) -> Callable[..., Any] | None:
    """Return a special method of an object, bound as Python binds it; None if the class has none that is written in Python."""
    found = class_attribute(class_of(x).__mro__, name)
    if isinstance(found, FunctionType):
        return MethodType(found, x)
    of_class = isinstance(found, (staticmethod, classmethod)) and isinstance(found.__func__, FunctionType)
    return found.__get__(None, class_of(x)) if of_class else None


def has_array(x: Any) -> bool:
    """Whether x is an object of a Python class that defines ``__array__``."""
    method = getattr(type(x), "__array__", None)
    return isinstance(method, FunctionType) and not isinstance(x, (Traced, Conflict)) and is_instance(x)


def is_sequence(x: Any) -> bool:
    """Whether NumPy converts an object to an array as a sequence, by methods that its class has in Python."""
    if not is_instance(x) or isinstance(x, (list, tuple, dict, deque, Traced)):
        return False
    return special(x, "__len__") is not None and special(x, "__getitem__") is not None


def is_array_like(x: Any) -> bool:
    """Whether NumPy's functions take x for the array that its ``__array__`` returns: it does not overload them."""
    return has_array(x) and not hasattr(type(x), "__array_ufunc__") and not hasattr(type(x), "__array_function__")


def has_attributes_beside_items(x: Any) -> bool:
    """Whether x is a container of a derived class, whose attributes are not part of its content: its ``__dict__`` is a holder of its own."""
    return isinstance(x, (list, dict, set, deque)) and has_dict(x)


def held_by_instance(x: Any) -> dict[str, Any]:
    """Return an object's attributes; those of an array of a class include its plain array."""
    if is_subclass_array(x):
        return array_and_attributes(x)
    return dict(attributes(x)) if _has_slots(type(x)) else x.__dict__


def hold(x: Any, held: dict[str, Any]) -> None:
    """Replace all attributes of an object, without running methods of its class."""
    if is_subclass_array(x):
        vars(x).clear() if has_dict(x) else None
        for name, value in held.items():
            put(x, name, value)
    elif _has_slots(type(x)):
        for name, _ in attributes(x):
            if name not in held:
                remove_entry(x, name)
        for name, value in held.items():
            set_entry(x, name, value)
    else:
        x.__dict__.clear()
        x.__dict__.update(held)


def hold_part(holder: Any, key: Any, x: Any) -> None:
    """Set a key of a dict, or an attribute of an object; remove it if ``x`` is unbound."""
    place: Any = Slots(holder) if not isinstance(holder, dict) else holder
    if x is not UNBOUND:
        place[key] = x
    elif key in place:
        del place[key]


class Slots:
    """An object's attributes in slots, or in C, as a mapping."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __contains__(self, name: str) -> bool:
        if name == ARRAY:
            return True
        try:
            object.__getattribute__(self.x, name)
        except AttributeError:  # not set
            return False
        return True

    def __getitem__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self.x, name)
        except AttributeError:
            raise KeyError(name) from None

    def __setitem__(self, name: str, value: Any) -> None:
        if is_subclass_array(self.x):
            return put(self.x, name, value)
        object.__setattr__(self.x, name, value)

    def __delitem__(self, name: str) -> None:
        object.__delattr__(self.x, name)
