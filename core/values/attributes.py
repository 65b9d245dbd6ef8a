"""Attributes of objects and classes, read without running any code of a class."""

from __future__ import annotations

from types import MemberDescriptorType
from typing import Any, NamedTuple

MISSING = object()
"""Stands for an attribute that does not exist."""

IS_SEQUENCE, IS_MAPPING, IS_ITS_OWN = 1 << 5, 1 << 6, 1 << 22
"""Type flags (``tp_flags``) that determine how a class matches patterns of ``match``."""


class WithAttributes(NamedTuple):
    """A snapshot of a list, tuple or dict of a derived class: the built-in container, and the attributes by name."""

    container: Any
    attributes: dict[str, Any]


def attributes(x: Any) -> list[tuple[str, Any]]:
    """Return the instance attributes of an object, from its ``__dict__`` and its slots."""
    found = list(dict_of(x).items())
    for cls in type(x).__mro__:
        slots = cls.__dict__.get("__slots__")
        if slots:
            for name in (slots,) if isinstance(slots, str) else slots:
                mangled = f"_{cls.__name__.lstrip('_')}{name}" if name.startswith("__") and name[-2:] != "__" else name
                slot = cls.__dict__.get(mangled)
                if type(slot) is MemberDescriptorType:
                    try:
                        found.append((mangled, slot.__get__(x)))
                    except AttributeError:  # not set
                        pass
    return found


def dict_of(x: Any) -> dict[str, Any]:
    """Return an object's own ``__dict__``; plain access on a type alias or a weak proxy gives another object's."""
    try:
        found = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else dict(found)


def has_dict(x: Any) -> bool:
    """Return whether an object has a ``__dict__``; ``hasattr`` may run a ``__getattr__`` of its class."""
    return type(x).__dictoffset__ != 0


def bound_to(function: Any) -> Any:
    """Return the object that a method or a function of C is bound to, or None; runs no code of a class."""
    try:
        return object.__getattribute__(function, "__self__")
    except AttributeError:
        return None


def slot_of(cls: type, name: str) -> Any:
    """Return the slot in which instances of a class store ``name``; None if they store it in ``__dict__``."""
    for base in cls.__mro__:
        if type(base.__dict__.get(name)) is MemberDescriptorType:
            return base.__dict__[name]
    return None


def set_entry(x: Any, name: str, value: Any) -> None:
    """Set an attribute where it is stored, bypassing ``__setattr__`` and properties of the class."""
    slot = slot_of(type(x), name)
    if slot is None:
        dict_of(x)[str(name)] = value
    else:
        slot.__set__(x, value)


def remove_entry(x: Any, name: str) -> None:
    """Remove an attribute from where it is stored, bypassing ``__delattr__`` and properties of the class."""
    slot = slot_of(type(x), name)
    if slot is None:
        del dict_of(x)[str(name)]
    else:
        slot.__delete__(x)


def class_attribute(mro: tuple[type, ...], name: str) -> Any:
    """Return the attribute from the first class of ``mro`` that has it, without calling descriptors."""
    for cls in mro:
        if name in cls.__dict__:
            return cls.__dict__[name]
    return MISSING


def public_names(x: Any, *names: str) -> list[str]:
    """Return the names that tab completion shows for an object: ``names`` and those that all objects have."""
    return sorted([*names, *(name for name in object.__dir__(x) if name.startswith("__") and "morula" not in name)])


_MADE_BY_A_STATEMENT = 1 << 9
"""The flag of a class that was made at run time, as a ``class`` statement does; others are defined in C."""


def no_attribute(kind: type, name: str) -> str:
    """Return Python's text for an attribute that an object of a class lacks: classes of C have their module's name in it."""
    is_short = kind.__flags__ & _MADE_BY_A_STATEMENT or kind.__module__ == "builtins"
    return f"'{'' if is_short else kind.__module__ + '.'}{kind.__name__}' object has no attribute '{name}'"
