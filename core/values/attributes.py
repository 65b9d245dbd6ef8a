"""What an object has of its own, and what its classes have, without running code of a class."""

from __future__ import annotations

from types import MemberDescriptorType
from typing import Any

MISSING = object()
"""In place of an attribute that is not there."""

IS_SEQUENCE, IS_MAPPING, IS_ITS_OWN = 1 << 5, 1 << 6, 1 << 22
"""Flags of a class, by which Python says what it is to a pattern."""


def attributes(x: Any) -> list[tuple[str, Any]]:
    """The instance attributes of an object, from its ``__dict__`` and its slots; no code of its class is run."""
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
    """The ``__dict__`` of an object itself: a type alias or a weak proxy would show that of another."""
    try:
        found = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else dict(found)


def slot_of(cls: type, name: str) -> Any:
    """Where the instances of a class store the attribute ``name``, if that is not their ``__dict__``."""
    for base in cls.__mro__:
        if type(base.__dict__.get(name)) is MemberDescriptorType:
            return base.__dict__[name]
    return None


def class_attribute(mro: tuple[type, ...], name: str) -> Any:
    """The attribute of the first class that has it, no descriptor asked."""
    for cls in mro:
        if name in cls.__dict__:
            return cls.__dict__[name]
    return MISSING
