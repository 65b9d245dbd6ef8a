"""Brownian paths that can be evaluated at any time, in any order, and always have the same value there.

The path over the whole span is drawn first, then its value in the middle, then those in the middles of the halves, and so
on. The draws are random numbers that a counter gives, so nothing is stored: a value is computed again from the seed. Beside
W the integral of W is known, which methods of order 1.5 need, and both are drawn jointly.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import BadInput, constant, random


class BrownianPath:
    """m independent Brownian motions W on [start, end], with W(start) = 0, and their integrals.

    A path is a function of the seed and the span alone. Steps of any size see the same path, whether they were accepted or
    rejected, and so do different methods. Times within one of the 2^levels leaves of the span are the exception: each value
    there has the right distribution given the ends of the leaf, and is independent of other values in the leaf. So steps
    should not be shorter than a leaf.

    Args:
        seed: an integer of up to 64 bits; the same seed gives the same path.
        start, end: the first and the last time.
        size: the number m of independent motions.
        levels: how often the span is halved.

    Raises:
        BadInput: the span is empty, or the size or the number of levels is not a positive integer.

    Source: A. Jelincic, J. Foster, P. Kidger, Single-seed generation of Brownian paths and integrals for adaptive and high
    order SDE solvers (2024); J. Foster, T. Lyons, H. Oberhauser, An optimal polynomial approximation of Brownian motion,
    SIAM J. Numer. Anal. 58 (2020) 1393.

    >>> path = BrownianPath(seed=1, start=0.0, end=2.0, size=3)
    >>> w, integral = path(0.5)
    >>> w.shape, bool(np.all(w == path(0.5)[0]))
    ((3,), True)
    """

    def __init__(self, seed: int, start: float, end: float, size: int = 1, levels: int = 18) -> None:
        if not end > start:
            raise BadInput(f"the span goes from {start!r} to {end!r}; a path needs an end after its start")
        if size < 1 or not 1 <= levels <= 48:
            raise BadInput(f"size = {size!r} and levels = {levels!r}; expected size >= 1 and 1 <= levels <= 48")
        self.seed, self.start, self.end, self.size, self.levels = seed, start, end, size, levels

    @constant
    def __call__(self, t: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return W(t), and the integral of W from ``start`` to t, each (m,).

        Args:
            t: a time; times beyond the span are taken as its ends.
        """
        h = self.end - self.start
        x = min(max((t - self.start) / h, 0.0), 1.0)
        levels = np.arange(self.levels + 1)
        width = 2.0**levels
        inner = (np.minimum(np.floor(x * width), width - 1.0) + width).astype(np.uint64)
        nodes = np.concatenate(
            (np.zeros(1, np.uint64), inner)
        )  # the whole span, and the interval of each level around t
        blocks = np.uint64(self.size) * nodes[:, None] + np.arange(self.size, dtype=np.uint64)
        normals = random.Generator(self.seed).normals_at(blocks)  # (levels + 2, m, 2)
        w, area = sqrt(h) * normals[0, :, 0], sqrt(h / 12) * normals[0, :, 1]  # increment, and (integral) / h - w / 2
        left, integral = (
            np.zeros(self.size),
            np.zeros(self.size),
        )  # W where the interval begins, and the integral up to there
        for level in range(self.levels):
            bend = 1.5 * area + sqrt(h / 16) * normals[level + 1, :, 0]
            mean = 0.25 * area - 0.5 * sqrt(h / 16) * normals[level + 1, :, 0]
            spread = 0.5 * sqrt(h / 12) * normals[level + 1, :, 1]
            half = 0.5 * w + bend
            h = 0.5 * h
            x = 2.0 * x
            if x < 1.0:
                w, area = half, mean + spread
            else:
                integral = integral + h * (left + 0.5 * half + mean + spread)
                left = left + half
                w, area, x = 0.5 * w - bend, mean - spread, x - 1.0
        b = x * (1.0 - x)
        first, second = normals[-1, :, 0], normals[-1, :, 1]
        rest = 1.0 - 3.0 * b  # at least 1/4
        inside = x * w + 6.0 * b * area + sqrt(h * b * rest) * first
        common = sqrt(h) * h * b * sqrt(b)  # the scale of what is random in the integral
        under = h * (0.5 * x * x * w + x * x * (3.0 - 2.0 * x) * area) + common * (
            (0.5 - x) / sqrt(rest) * first + second / sqrt(12.0 * rest)
        )
        return left + inside, integral + h * x * left + under
