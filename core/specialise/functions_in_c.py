"""Functions of ``ctypes`` and cffi: the library that made them, and the number that they return."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

_OF_CTYPES = {"d": 0.0, "f": 0.0, "g": 0.0, "?": False, **dict.fromkeys("bhilqBHILQ", 0)}
_OF_CFFI = {"float": 0.0, "double": 0.0, "_Bool": False}
_NO_NUMBERS_OF_PYTHON = ("char", "wchar_t", "char16_t", "char32_t", "long double", "_cffi_")
"""Beginnings of the names of cffi's primitive types that it does not convert to int, bool or float."""


def library_of(function: Any) -> str | None:
    """Return which library made a function in C: ``"ctypes"``, ``"cffi"``, or None for neither."""
    if isinstance(function, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        return "ctypes"
    cffi = sys.modules.get("_cffi_backend")
    is_of_cffi = cffi is not None and isinstance(function, cffi._CDataBase) and cffi.typeof(function).kind == "function"
    return "cffi" if is_of_cffi else None


def result_of(function: Any) -> Any:
    """Return a number of the type that such a function returns; None if it is not known, or no function of numbers."""
    if library_of(function) == "ctypes":
        types = [getattr(t, "_type_", None) for t in (function.restype, *(function.argtypes or ()))]  # what is declared
        is_of_numbers = function.argtypes is not None and all(type(t) is str and t in _OF_CTYPES for t in types)
        return _OF_CTYPES[types[0]] if is_of_numbers else None
    declared = sys.modules["_cffi_backend"].typeof(function)
    numbers = [_number_of_cffi(t) for t in (declared.result, *declared.args)]
    return None if declared.ellipsis or None in numbers else numbers[0]


def _number_of_cffi(declared: Any) -> Any:
    """Return a number that Python has for a type of cffi, None for one without."""
    if declared.kind != "primitive" or declared.cname.startswith(_NO_NUMBERS_OF_PYTHON):
        return None
    return _OF_CFFI.get(declared.cname, 0)
