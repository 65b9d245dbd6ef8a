"""The inner loops of NumPy's ufuncs, which are C functions: ``void loop(char **args, npy_intp *dimensions, npy_intp *steps, void *data)``.

They are found in the ufunc's C structure (``PyUFuncObject`` of NumPy's C API).
"""

from __future__ import annotations

import ctypes
import importlib
from dataclasses import dataclass
from functools import cache
from typing import Any


class _Ufunc(ctypes.Structure):
    _fields_ = [
        ("head", ctypes.c_ssize_t * 2),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
    ]


@dataclass(frozen=True)
class Loop:
    """A loop's C function, or with ``is_data`` the pointer that it is passed as its last argument; ``types``: ``"Dd->D"``."""

    module: str
    name: str
    types: str
    is_data: bool = False


@cache
def exists(loop: Loop) -> bool:
    """Return whether this NumPy has the loop, in a structure that reads as expected."""
    return _found(loop) is not None


def address(loop: Loop) -> int:
    """Return a pointer that exists; data may be null."""
    found = _found(loop)
    assert found is not None
    structure, k = found
    table = structure.data if loop.is_data else structure.functions
    return (table[k] or 0) if table else 0


def _found(loop: Loop) -> tuple[_Ufunc, int] | None:
    try:
        ufunc: Any = getattr(importlib.import_module(loop.module), loop.name)
        types = ufunc.types
    except (ImportError, AttributeError):
        return None
    found = _Ufunc.from_address(id(ufunc))
    counts = found.nin, found.nout, found.nargs, found.ntypes
    if counts != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes) or loop.types not in types:
        return None
    return found, types.index(loop.types)
