"""Addresses of arrays in memory, of which compiled code knows only whether two are equal."""

from __future__ import annotations

from typing import Any

from ...errors import BadInput
from ..traced import ATTRIBUTES, Array, Trace
from .arguments import refuse
from .shared_memory import may_be_another
from .views import Derived, Part, Strided

_UNKNOWN = "compiled code cannot tell whether two arrays begin at the same place in memory; compare np.shares_memory of them, or pass copies"


class Address:
    """Where an array begins."""

    def __init__(self, trace: Trace, array: Array) -> None:
        self.storage = array.storage
        self.is_known = not may_be_another(trace, array)
        self.start = _start(array.view)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Address) or not (self.is_known and other.is_known):
            raise BadInput(_UNKNOWN)
        if self.storage is not other.storage:
            return False
        if self.start is None or other.start is None:
            raise BadInput(_UNKNOWN)
        return self.start == other.start

    __hash__ = None  # type: ignore[assignment]

    def __index__(self) -> int:
        raise refuse("the address of an array", "use the array itself")


def _start(view: Any) -> tuple[Any, ...] | None:
    """Return what is equal for views that begin at the same element; None if that is not known."""
    if view is None or isinstance(view, Strided):
        return ()
    outer = _start(view.outer) if isinstance(view, (Part, Derived)) else None
    if outer is None:
        return None
    if isinstance(view, Derived):
        return outer if view.is_reshape else None
    starts = [e[1] for e in view.entries if e != ":"]
    if not all(v.is_constant for v in starts):
        return None
    found = tuple(0 if e == ":" else int(e[1].constant) for e in view.entries)
    return (*outer, found) if any(found) else outer


def interface(trace: Trace, x: Any) -> dict[str, Any]:
    """``__array_interface__``, but for strides and description."""
    if not isinstance(x, Array):
        raise refuse("__array_interface__ of a number", "use np.asarray(x)")
    shape = ATTRIBUTES["shape"](trace, x)
    return {"data": (Address(trace, x), x.is_read_only), "typestr": x.type.dtype.str, "shape": shape, "version": 3}


ATTRIBUTES["__array_interface__"] = interface
