"""``.flags`` and ``.strides`` of traced arrays.

Compiled programs keep their arrays in C order; the answers are those that NumPy gives for the same program.  So a program
that asks depends on the memory order of its arguments (``memory_order.note_dependence``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import BadInput
from ..traced import ATTRIBUTES, METHODS, Array, Trace, Traced
from .arguments import refuse
from .memory_order import UnknownOrder, layout, note_dependence
from .view_or_copy import is_c_array

_UNKNOWN = "of an array whose order in memory is not known while compiling"


def is_in_order(trace: Trace, x: Traced, order: str) -> bool:
    """Whether NumPy's array is contiguous by rows ("C") or by columns ("F")."""
    if not isinstance(x, Array):
        return True  # a number
    note_dependence(trace, x.storage)
    if is_c_array(trace, x) and (order == "C" or x.type.ndim < 2):
        return True
    flags = layout_of(trace, x, f".flags.{order.lower()}_contiguous").flags
    return flags.c_contiguous if order == "C" else flags.f_contiguous


def layout_of(trace: Trace, x: Array, what: str) -> np.ndarray:
    """Return an array with the strides that NumPy would give this one; ``what`` needs them."""
    note_dependence(trace, x.storage)
    try:
        if not x.type.is_static:
            raise UnknownOrder
        return layout(trace, x)
    except UnknownOrder:
        raise refuse(f"{what} {_UNKNOWN}", "take np.ascontiguousarray of it first") from None


def _writeable(trace: Trace, x: Traced) -> bool:
    if isinstance(x, Array):
        x.storage.is_asked = True
    return isinstance(x, Array) and not x.is_read_only


def _owner(trace: Trace, x: Traced) -> bool:
    raise refuse(".flags.owndata", "use np.shares_memory outside of the compiled function, or copy the array")


def _only_columns(trace: Trace, x: Traced) -> bool:
    return is_in_order(trace, x, "F") and not is_in_order(trace, x, "C")


_FLAGS: dict[str, Callable[[Trace, Traced], bool]] = {
    "c_contiguous": lambda trace, x: is_in_order(trace, x, "C"),
    "f_contiguous": lambda trace, x: is_in_order(trace, x, "F"),
    "owndata": _owner,
    "writeable": _writeable,
    "aligned": lambda trace, x: True,
    "writebackifcopy": lambda trace, x: False,
    "fnc": _only_columns,
    "forc": lambda trace, x: is_in_order(trace, x, "F") or is_in_order(trace, x, "C"),
    "behaved": _writeable,
    "carray": lambda trace, x: _writeable(trace, x) and is_in_order(trace, x, "C"),
    "farray": lambda trace, x: _writeable(trace, x) and _only_columns(trace, x),
}
_SHORT = {
    **{"contiguous": "c_contiguous", "fortran": "f_contiguous", "c": "c_contiguous", "f": "f_contiguous"},
    **{"o": "owndata", "w": "writeable", "a": "aligned", "x": "writebackifcopy"},
    **{"b": "behaved", "ca": "carray", "fa": "farray"},
}
"""Other names of the flags; those of one or two letters are keys, as in ``flags["C"]``, and no attributes."""


class Flags:
    """``a.flags``."""

    _trace: Trace
    _x: Traced

    def __init__(self, trace: Trace, x: Traced) -> None:
        self.__dict__.update(_trace=trace, _x=x)

    def __getattr__(self, name: str) -> bool:
        full = _SHORT.get(name, name) if len(name) > 2 else name
        if full not in _FLAGS:
            raise AttributeError(f"'numpy._core.multiarray.flagsobj' object has no attribute '{name}'")
        return _FLAGS[full](self._trace, self._x)

    def __getitem__(self, key: str) -> bool:
        full = key.lower() if isinstance(key, str) and key.isupper() else ""
        full = _SHORT.get(full, full)
        if full not in _FLAGS:
            raise KeyError("Unknown flag")
        return _FLAGS[full](self._trace, self._x)

    def __setattr__(self, name: str, x: Any) -> None:
        if name != "writeable" or not isinstance(self._x, Array):
            raise BadInput(
                f"compiled code cannot set .flags.{name} of an array; set it outside of the compiled function"
            )
        set_writeable(self._trace, self._x, x)

    def __setitem__(self, key: str, x: Any) -> None:
        self.__setattr__("writeable" if key in ("WRITEABLE", "W") else str(key), x)


def set_writeable(trace: Any, x: Array, wanted: Any) -> None:
    """Set whether an array can be written to, if the program has made it, and on this path."""
    if not isinstance(wanted, Traced) and bool(wanted) is not x.is_read_only:
        return
    is_given = any(x is a for a in trace.given_arrays)
    is_kept = is_given or trace.resolved(x.region) is not trace.region or x.storage.is_read_only
    is_kept = is_kept or trace.aliases.is_one_of_several(x.storage)
    if isinstance(wanted, Traced) or is_kept or wanted and (x.view is not None or not x.is_fixed):
        raise refuse(
            "changing the writeable flag of an array that the program has not made itself, or has made on another path",
            "set it outside of the compiled function, or leave it as it is",
        )
    x.is_fixed = not wanted


def _setflags(trace: Trace, x: Any, write: Any = None, align: Any = None, uic: Any = None) -> None:
    if not isinstance(x, Array) or align is not None or uic is not None:
        raise refuse("setflags with an argument other than write=", "leave that out")
    if write is not None:
        set_writeable(trace, x, write)


def _strides(trace: Trace, x: Any) -> Any:
    if x.type.weak:
        raise AttributeError(f"{str(x.type)!r} object has no attribute 'strides'")
    return layout_of(trace, x, ".strides").strides if isinstance(x, Array) else ()


def _flags(trace: Trace, x: Any) -> Flags:
    if x.type.weak:
        raise AttributeError(f"{str(x.type)!r} object has no attribute 'flags'")
    return Flags(trace, x)


ATTRIBUTES["flags"], ATTRIBUTES["strides"] = _flags, _strides
METHODS["setflags"] = _setflags
