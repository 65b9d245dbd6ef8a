"""Iterators with memory: windows, peeking, buckets, polynomials and transforms of plain sequences."""

from __future__ import annotations

import more_itertools as mi

from thirdparty.harness import Call

DISTRIBUTION = "more-itertools"
FIELD = "iterators"


def seen_again(x: float) -> float:
    values = mi.seekable(iter([x, 2 * x]))
    first = next(values) * next(values)
    values.seek(0)
    return first * next(values)


def ahead(x: float) -> float:
    values = mi.peekable([x, 2 * x])
    return values.peek() * next(values) + values.peek(1.0)


CALLS = {
    "windowed": Call(lambda x: [u * v for u, v in mi.windowed([x, 2 * x, x * x], 2)], 1.5),
    "seen_again": Call(seen_again, 1.5),
    "ahead": Call(ahead, 1.5),
    "bucket": Call(lambda x: sum(mi.bucket([x, 2 * x, 0.1 * x], key=lambda v: v > 1)[True]), 1.5),
    "convolved": Call(lambda x: list(mi.convolve([x, 2.0, x], [1.0, x])), 1.5),
    "polynomial": Call(lambda x: mi.polynomial_eval(mi.polynomial_from_roots([x, 2.0, -1.0]), x * x), 1.5),
    "matrix_product": Call(lambda x: list(mi.matmul([[x, 1.0], [2.0, x]], [[x, 0.0], [1.0, 1.0]])), 1.5),
    "fourier": Call(lambda x: [abs(v) for v in mi.dft([x, 2 * x, x * x])], 1.5),
    "range": Call(lambda x: list(mi.numeric_range(0.0, 1.0, x))[:3], 0.3),
}
