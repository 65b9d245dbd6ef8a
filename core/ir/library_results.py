"""What a library function returns to a typed program: the arrays in it, checked against what the program was compiled for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import BadInput
from .dynamic import callee_name


def leaves(found: Any) -> Iterator[Any]:
    """Iterate over the arrays in a result, through nested tuples and lists; None is skipped."""
    if isinstance(found, (tuple, list)):
        for x in found:
            yield from leaves(x)
    elif found is not None:
        yield found


def of_kind(found: Any, dtype: np.dtype[Any], function: Any) -> np.ndarray:
    """Return a result as an array, which is not complex where the program was compiled for real numbers.

    Whether some functions return complex numbers depends on the values that they are given.
    """
    array = np.asarray(found)
    if array.dtype.kind == "c" and dtype.kind != "c":
        raise BadInput(
            f"{callee_name(function)} returned complex numbers, but the program was compiled for real ones: pass "
            "x.astype(complex), or call it outside of mo.jit"
        )
    return array
