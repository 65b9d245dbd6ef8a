"""What a library function returns to compiled code, checked against what the code was compiled for."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.dynamic import callee_name


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
