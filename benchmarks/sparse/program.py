"""A program to measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]
RNG = np.random.default_rng(0)


@dataclass
class Program:
    """``f`` by NumPy, the number of unknowns, and for array programs the same with ``jax.numpy`` as ``xp``."""

    f: Function
    n: int
    is_hessian: bool = False
    with_xp: Function | None = None
    small: int = 50
    """A number of unknowns for the tests, at which the matrix is dense enough to be written out."""

    def x(self, n: int) -> np.ndarray:
        return RNG.random(n) + 0.5
