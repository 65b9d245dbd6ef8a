"""The dtypes of results: NumPy's promotion, in which Python's numbers are weak."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..errors import BadInput
from .typed import ArrayType, in_one_form

_PYTHON = {"i": int, "f": float, "c": complex, "b": np.dtype(bool)}


def result_dtype(*types: ArrayType) -> np.dtype:
    """Return the promoted dtype of values of these types (NEP 50)."""
    if all(t.weak for t in types):
        return np.result_type(*(t.dtype for t in types))
    return np.result_type(*(_PYTHON[t.dtype.kind](0) if t.weak and t.dtype.kind != "b" else t.dtype for t in types))


@lru_cache(maxsize=4096)
def loop_of(function: np.ufunc, asked: tuple[Any, ...]) -> tuple[tuple[np.dtype, ...], tuple[np.dtype, ...]]:
    """Return the dtypes of the operands and results of the ufunc's loop for these operands; weak ones are Python types."""
    if all(isinstance(a, type) for a in asked):  # Python numbers only: NumPy's default dtypes
        asked = tuple(np.dtype(a) for a in asked)
    try:
        found = function.resolve_dtypes((*asked, *[None] * function.nout))
    except TypeError as error:
        raise BadInput(str(error)) from None
    found = tuple(map(in_one_form, found))
    return found[: function.nin], found[function.nin :]


def asked_of(kind: ArrayType) -> Any:
    return _PYTHON[kind.dtype.kind] if kind.weak else kind.dtype
