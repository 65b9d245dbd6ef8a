"""Products of matrices of which only a part counts, e.g. a triangle.

    product(a, x, mask)[i, j] = sum of a[i, k] * x[k, j] over the k for which mask[i, k] holds

The part of ``a`` outside of the mask is replaced by zeros. Zero times Inf is NaN, so if x has an element that is not
finite, each product is masked instead.
"""

from __future__ import annotations

import numpy as np

from ..ir.builder import Builder
from ..ir.dynamic import Value
from ..ir.typed import Dim


def product(builder: Builder, a: Value, x: Value, mask: Value, rows: tuple[Value, int | Dim] | None) -> Value:
    """Write the product of the masked part of a (m, k) with x (k, n); ``mask`` has the shape of ``a``.

    ``rows``: the first, and the number, of those rows of x that the mask leaves out for some row of ``a``; None for all.
    """
    masked = builder.where(mask, a, builder.constant(0, a.type.dtype))
    if x.type.dtype.kind not in "fc":
        return builder.matmul(masked, x)
    left_out = x
    if rows is not None:
        first, length = rows
        left_out = builder.getitem(x, [first], (("s", 1), ":"), [length])
    is_finite = builder.reduce(np.all, builder.ufunc(np.isfinite, left_out), (0, 1))
    return builder.if_(
        is_finite, lambda: [builder.matmul(masked, x)], lambda: [_sum_of_masked(builder, masked, x, mask)]
    )[0]


def _sum_of_masked(builder: Builder, a: Value, x: Value, mask: Value) -> Value:
    """The product as a loop over k, in which what does not count is left out after the multiplication."""
    (m, k), n = a.type.shape, x.type.shape[1]
    start, step = builder.constant(0, np.int64), builder.constant(1, np.int64)
    zero = builder.constant(0, a.type.dtype)

    def add(at: Value, total: Value) -> list[Value]:
        column, counts = (builder.reshape(builder.getitem(v, [at], (":", "i"), []), (m, 1)) for v in (a, mask))
        row = builder.reshape(builder.getitem(x, [at], ("i", ":"), []), (1, n))
        term = builder.where(counts, builder.ufunc(np.multiply, column, row), zero)
        return [builder.ufunc(np.add, total, term)]

    return builder.range_(start, builder.length(k), step, add, [builder.zeros((m, n), a.type.dtype)])[0]
