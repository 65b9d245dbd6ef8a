"""Padded dimensions of a loop's values whose lengths depend on its index; ``ragged_lanes`` says what for.

for i in range(n):                  length i + 1, slope 0: of n places, iteration i uses the first i + 1
    x[: i + 1]

for i in range(n):                  length n - i, slope 1: iteration i uses all places but the first i
    x[i:]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..ir.affine import Affine
from ..ir.builder import Builder
from ..ir.dynamic import Value
from ..ir.integer_bounds import Bounds
from ..ir.typed import ArrayType, Dim
from .lanes import Refused
from .meetings import slope

_LONGEST = 1 << 40


@dataclass(frozen=True)
class Ragged:
    """A padded dimension: the length of an iteration's part as a form, and by how much its first index grows."""

    length: Affine
    slope: int


class RaggedDimensions:
    """The padded dimensions of the values of ``n`` iterations, from ``first`` to ``last``; ``inside`` are the body's values."""

    builder: Builder
    bounds: Bounds
    index: Value
    inside: set[Value]
    first: Value
    last: Value
    n: int | Dim
    masks: dict[Ragged, Value | None]

    def known(self, form: Affine) -> Affine:
        """The form, if its values at all iterations can be computed before the loop."""
        if any(atom in self.inside and atom is not self.index for atom, _ in form.terms):
            raise Refused
        return form

    def form(self, v: Value) -> Affine:
        return self.known(self.bounds.form(v))

    def is_number(self, v: Value) -> bool:
        """Whether a value is an int that the analysis of integers follows."""
        return v.type.dtype.kind in "iu" and not v.type.shape

    def varies(self, v: Value) -> bool:
        """Whether an int that the analysis of integers follows differs between iterations."""
        return v in self.inside and bool(slope(self.form(v), self.index))

    # Integers

    def at(self, form: Affine, place: Value) -> Value:
        """The int64 value of a form at the iteration with this index."""
        builder = self.builder
        found = builder.constant(form.constant, np.int64)
        for atom, k in sorted(form.terms, key=lambda term: self.bounds.order.get(term[0], 0)):
            x = builder.cast(place if atom is self.index else atom, np.int64)
            found = builder.ufunc(np.add, found, builder.ufunc(np.multiply, x, builder.constant(k, np.int64)))
        return found

    def sum_of(self, x: Value, n: int | Dim) -> Value:
        return self.builder.ufunc(np.add, x, self.builder.length(n))

    def dimension(self, length: Value) -> int | Dim:
        if length.is_constant:
            return int(length.constant)
        most = self.bounds.upper(self.bounds.form(length))
        if most >= _LONGEST:
            raise Refused
        return Dim(length, most)

    def type(self, kind: ArrayType) -> ArrayType:
        shape = []
        for n in kind.shape:
            form = self.bounds.length(n)
            if isinstance(n, Dim) and n.value in self.inside:
                if slope(self.known(form), self.index):
                    raise Refused
                n = self.dimension(self.at(form, self.first))
            shape.append(n)
        return ArrayType(kind.dtype, tuple(shape), kind.weak)

    def is_ragged(self, n: int | Dim) -> bool:
        return isinstance(n, Dim) and n.value in self.inside and slope(self.form(n.value), self.index) != 0

    def padded(self, ragged: Ragged) -> int | Dim:
        """The length of a padded dimension."""
        by, c = slope(ragged.length, self.index), ragged.slope
        more = max(c + by, 0) if c >= 0 else max(-c, by)
        found = self.at(ragged.length, self.first)
        if more:
            steps = self.builder.ufunc(np.subtract, self.last, self.first)
            found = self.builder.ufunc(
                np.add, found, self.builder.ufunc(np.multiply, steps, self.builder.constant(more, np.int64))
            )
        return self.dimension(found)

    def shape(self, kind: ArrayType, ragged: Mapping[int, Ragged]) -> tuple[int | Dim, ...]:
        """The shape of a value with its ragged dimensions padded, without that of the iterations."""
        plain = [n for d, n in enumerate(kind.shape) if d not in ragged]
        rest = list(self.type(ArrayType(kind.dtype, tuple(plain))).shape)
        return tuple(self.padded(ragged[d]) if d in ragged else rest.pop(0) for d in range(kind.ndim))

    def mask(self, ragged: Ragged) -> Value | None:
        """Which places of a padded dimension (columns) an iteration (rows) uses; None if all."""
        if ragged not in self.masks:
            self.masks[ragged] = self._mask(ragged)
        return self.masks[ragged]

    def _mask(self, ragged: Ragged) -> Value | None:
        builder, by, c = self.builder, slope(ragged.length, self.index), ragged.slope
        width = self.padded(ragged)
        place = builder.reshape(builder.iota(width), (1, width))
        row = builder.reshape(builder.iota(self.n), (self.n, 1))
        if c < 0:  # counted from the last iteration, at which the part begins first
            row = builder.ufunc(np.subtract, builder.ufunc(np.subtract, self.last, self.first), row)
        shift = builder.ufunc(np.multiply, row, builder.constant(abs(c), np.int64))
        found = builder.ufunc(np.greater_equal, place, shift) if c else None
        grows = by + c if c >= 0 else -c - by  # with ``row``
        if grows:
            begin = self.at(ragged.length, self.first if c >= 0 else self.last)
            end = builder.ufunc(np.add, builder.ufunc(np.multiply, row, builder.constant(grows, np.int64)), begin)
            ends = builder.ufunc(np.less, place, end)
            found = ends if found is None else builder.ufunc(np.logical_and, found, ends)
        return found

    def left_out(self, ragged: Ragged) -> tuple[Value, int | Dim] | None:
        """The first, and the number, of the places of a padded dimension that some iteration does not use; None for all."""
        builder, by, c = self.builder, slope(ragged.length, self.index), ragged.slope
        if c and by + c:
            return None
        steps = builder.ufunc(np.subtract, self.last, self.first)
        number = self.dimension(builder.ufunc(np.multiply, steps, builder.constant(abs(c or by), np.int64)))
        if c:
            return builder.constant(0, np.int64), number
        return self.at(ragged.length, self.first if by > 0 else self.last), number

    def masked(self, x: Value, ragged: Mapping[int, Ragged], other: Value | None = None) -> Value:
        """A lane with other values, or zero, in the places that iterations do not use."""
        for d, r in ragged.items():
            mask = self.mask(r)
            if mask is not None:
                shape = [self.n, *[1] * (x.type.ndim - 1)]
                shape[d + 1] = x.type.shape[d + 1]
                mask = self.builder.reshape(mask, tuple(shape))
                x = self.builder.where(mask, x, self.builder.constant(0, x.type.dtype) if other is None else other)
        return x
