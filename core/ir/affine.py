"""Affine forms of integers: a constant plus multiples of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .dynamic import Value
from .typed import ArrayType

Interval = tuple[int, int]


@dataclass(frozen=True)
class Affine:
    """``constant`` plus the sum of ``coefficient * atom``."""

    constant: int
    terms: frozenset[tuple[Value, int]] = frozenset()

    def __add__(self, other: Affine) -> Affine:
        if not other.terms:
            return Affine(self.constant + other.constant, self.terms)
        sums = dict(self.terms)
        for atom, k in other.terms:
            sums[atom] = sums.get(atom, 0) + k
        return Affine(self.constant + other.constant, frozenset((a, k) for a, k in sums.items() if k))

    def __mul__(self, k: int) -> Affine:
        return Affine(self.constant * k, frozenset((a, c * k) for a, c in self.terms) if k else frozenset())

    def __sub__(self, other: Affine) -> Affine:
        return self + other * -1


def limits(kind: Any) -> Interval:
    """Return the least and greatest value of an integer or bool type."""
    if isinstance(kind, ArrayType) and kind.dtype.kind in "iu":
        found = np.iinfo(kind.dtype)
        return int(found.min), int(found.max)
    return (0, 1) if isinstance(kind, ArrayType) and kind.dtype.kind == "b" else (-(2**63), 2**63 - 1)


def is_int(kind: Any) -> bool:
    return isinstance(kind, ArrayType) and kind.dtype.kind in "iu"


def is_bool(kind: Any) -> bool:
    return isinstance(kind, ArrayType) and kind.dtype.kind == "b"


def is_condition(kind: Any) -> bool:
    return isinstance(kind, ArrayType) and kind.dtype.kind in "iub" and not kind.shape
