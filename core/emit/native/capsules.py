"""C functions of SciPy's Cython modules.

These are ``scipy.special.cython_special``, ``scipy.linalg.cython_blas`` and ``scipy.linalg.cython_lapack``.
"""

from __future__ import annotations

import ctypes
import importlib
from functools import cache
from typing import Any

Symbol = tuple[str, str]  # module, and name in its ``__pyx_capi__``


@cache
def signature(symbol: Symbol) -> str | None:
    """Return the C signature of a function, ``"double (double, int)"``; None if it does not exist."""
    capsule = _capsules(symbol[0]).get(symbol[1])
    if capsule is None:
        return None
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    return name(capsule).decode()


@cache
def address(symbol: Symbol) -> int:
    text = signature(symbol)
    assert text is not None
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(_capsules(symbol[0])[symbol[1]], text.encode())


def _capsules(module: str) -> dict[str, Any]:
    return importlib.import_module(module).__pyx_capi__
