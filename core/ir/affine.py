"""Affine forms of integers: a constant plus multiples of values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dynamic import Value
from .typed import ArrayType

Interval = tuple[int, int]


class Affine:
    """``constant`` plus the sum of ``coefficient * atom``; it is not changed.

    A proof makes many of them, so they are written out by hand: a frozen dataclass takes twice as long.
    """

    __slots__ = ("constant", "terms")

    def __init__(self, constant: int, terms: frozenset[tuple[Value, int]] = frozenset()) -> None:
        self.constant, self.terms = constant, terms

    def __eq__(self, other: object) -> bool:
        return type(other) is Affine and self.constant == other.constant and self.terms == other.terms

    def __hash__(self) -> int:
        return hash((self.constant, self.terms))

    def __repr__(self) -> str:
        return f"Affine({self.constant}, {set(self.terms)})"

    def __add__(self, other: Affine) -> Affine:
        if not other.terms:
            return Affine(self.constant + other.constant, self.terms) if other.constant else self
        if not self.terms:
            return Affine(self.constant + other.constant, other.terms)
        sums = dict(self.terms)
        for atom, k in other.terms:
            total = sums.get(atom, 0) + k
            if total:
                sums[atom] = total
            else:
                del sums[atom]
        return Affine(self.constant + other.constant, frozenset(sums.items()))

    def __mul__(self, k: int) -> Affine:
        if k == 1:
            return self
        return Affine(self.constant * k, frozenset([(a, c * k) for a, c in self.terms]) if k else frozenset())

    def without(self, atom: Value, k: int) -> Affine:
        """Return the form without the term ``k * atom``."""
        return Affine(self.constant, self.terms - {(atom, k)})

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
