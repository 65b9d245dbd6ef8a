"""Calls that are computed while the program is written: those of constants, with small results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import typed
from .dynamic import Value
from .typed import ArrayType

SMALL = 64
"""The most elements of results that are computed while the program is written."""

FOLDED = frozenset(
    (*(np.sum, np.prod, np.max, np.min, np.any, np.all, np.argmax, np.argmin, np.cumsum, np.where),)
    + (typed.getitem, typed.setitem, typed.reshape, typed.transpose, typed.broadcast_to, typed.concatenate)
)
"""Functions whose calls are computed at once if all operands are constants."""


def is_folded(callee: Any, operands: Sequence[Value], types: Sequence[ArrayType]) -> bool:
    """Whether a call of a function is computed at once."""
    if callee not in FOLDED or not all(v.is_constant for v in operands):
        return False
    return types[0].is_static and math.prod(types[0].bounds) <= SMALL


def is_small(x: Value) -> bool:
    return x.is_constant and np.size(x.constant) <= SMALL
