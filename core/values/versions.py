"""The number by which CPython knows the state of a class: another one as soon as the class, or a base of it, is changed.

CPython's own cache of methods rests on it (``tp_version_tag`` of ``PyTypeObject``).  Where the number does not behave so
(another interpreter, another layout), no class has one.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

HEAP_TYPE = 1 << 9
"""Among the flags of a class: it was made while the program ran, and may be changed."""

_UNKNOWN = bytes(4)
_OFFSET = tuple.__basicsize__ + 45 * ctypes.sizeof(ctypes.c_void_p)


def _place(cls: type) -> memoryview:
    """The memory in which the version of a class stands; the class has to be kept alive."""
    return memoryview((ctypes.c_char * len(_UNKNOWN)).from_address(id(cls) + _OFFSET))


def _behaves() -> bool:
    """Whether the number that is found is the version: it changes with a class and its bases, and with nothing else."""
    layout: Any = type
    if sys.implementation.name != "cpython" or layout.__basicsize__ < _OFFSET + len(_UNKNOWN):
        return False
    base: Any = type("base", (), {})
    derived: Any = type("derived", (base,), {"a": 1})
    place, seen = _place(derived), {_UNKNOWN}
    changes = (
        lambda: None,
        lambda: setattr(base, "b", 2),
        lambda: setattr(derived, "a", 3),
        lambda: delattr(base, "b"),
        lambda: setattr(derived, "__bases__", (type("other", (), {}),)),
    )
    for change in changes:
        change()
        if len(seen) > 1 and bytes(place) in seen - {_UNKNOWN}:
            return False
        _ = derived.a  # loaded, by which a class without a version gets one
        now = bytes(place)
        _ = type("further", (derived,), {"c": 4}).a
        if now in seen or bytes(place) != now:
            return False
        seen.add(now)
    return True


_is_found = _behaves()


class Versions:
    """Classes, each with the version that it had when it was entered."""

    def __init__(self) -> None:
        self.classes: dict[type, tuple[memoryview, bytes]] = {}  # another dict after ``clear``, else it only grows
        self.looked_over: tuple[Any, int, list[memoryview], bytes] = self.classes, 0, [], b""

    def __len__(self) -> int:
        return len(self.classes)

    def enter(self, cls: type) -> bool:
        """Take down the version of a class; False if it has none."""
        if cls in self.classes:
            return True  # with an older version, if it has been changed since
        if not _is_found:
            return False
        place = _place(cls)
        version = bytes(place)
        if version == _UNKNOWN:
            return False
        self.classes[cls] = place, version
        return True

    def hold(self) -> bool:
        """Whether all the classes are as they were."""
        classes, count, places, versions = self.looked_over
        if classes is not self.classes or count != len(classes):
            classes = self.classes
            found = [*classes.values()]
            places, versions = [place for place, _ in found], b"".join([version for _, version in found])
            self.looked_over = classes, len(found), places, versions
        return b"".join(places) == versions

    def clear(self) -> None:
        self.classes = {}
