"""The pattern of a sparse matrix: tangents and cotangents hold their numbers in the places of the matrix's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadInput

ATTRIBUTES = ("_shape", "offsets", "indptr", "indices", "coords")
"""The attributes of matrices of ``scipy.sparse`` that tell where the entries of ``data`` are; a format has some of them."""

OF_RESULTS = "the result", "its cotangent"


def check_same(pattern: tuple[Any, ...], other: tuple[Any, ...], names: tuple[str, str]) -> None:
    """Check the pattern of the matrix called ``names[1]`` against that of ``names[0]``.

    Raises:
        BadInput: they differ.
    """
    for a, b in zip(pattern, other):
        if a is b:
            continue
        if np.shape(a) != np.shape(b) or np.any(np.asarray(a) != np.asarray(b)):
            raise BadInput(
                f"{names[1]} is a sparse matrix whose stored entries are in other places than those of {names[0]}; copy that matrix "
                "and assign to the data of the copy"
            )


def pattern_of(held: dict[str, Any]) -> tuple[Any, ...]:
    """Return the index arrays and the shape among the attributes of a sparse matrix."""
    found: list[Any] = []
    for name in ATTRIBUTES:
        if name in held:
            found.extend(held[name] if name == "coords" else [held[name]])
    return tuple(found)
