"""Guards on classes by CPython's version tag, which changes when the class or one of its bases changes.

CPython's method cache relies on this tag (``tp_version_tag`` of ``PyTypeObject``).  If a test at import finds that it
does not behave this way (another interpreter or layout), no class has a version.
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

HEAP_TYPE = 1 << 9
"""Type flag of classes made at run time, which are mutable."""

_UNKNOWN = bytes(4)
_OFFSET = tuple.__basicsize__ + 45 * ctypes.sizeof(ctypes.c_void_p)


def _place(cls: type) -> memoryview:
    """Return the memory of a class's version tag; the caller must keep the class alive."""
    return memoryview((ctypes.c_char * len(_UNKNOWN)).from_address(id(cls) + _OFFSET))


def _behaves() -> bool:
    """Return whether the tag at ``_OFFSET`` changes exactly when a class or one of its bases changes."""
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
        _ = derived.a  # an attribute lookup assigns a missing version
        now = bytes(place)
        _ = type("further", (derived,), {"c": 4}).a
        if now in seen or bytes(place) != now:
            return False
        seen.add(now)
    return True


_is_found = _behaves()


class Versions:
    """Classes with their versions at the time they were entered."""

    def __init__(self) -> None:
        self.classes: dict[type, tuple[memoryview, bytes]] = {}  # replaced by ``clear``, else it only grows
        self.looked_over: tuple[Any, int, list[memoryview], bytes] = self.classes, 0, [], b""

    def __len__(self) -> int:
        return len(self.classes)

    def enter(self, cls: type) -> bool:
        """Record the version of a class; return False if it has none."""
        if cls in self.classes:
            return True  # keeps the older version if the class has changed since
        if not _is_found:
            return False
        place = _place(cls)
        version = bytes(place)
        if version == _UNKNOWN:
            return False
        self.classes[cls] = place, version
        return True

    def hold(self) -> bool:
        """Return whether no class has changed since it was entered."""
        classes, count, places, versions = self.looked_over
        if classes is not self.classes or count != len(classes):
            classes = self.classes
            found = [*classes.values()]
            places, versions = [place for place, _ in found], b"".join([version for _, version in found])
            self.looked_over = classes, len(found), places, versions
        return b"".join(places) == versions

    def clear(self) -> None:
        self.classes = {}
