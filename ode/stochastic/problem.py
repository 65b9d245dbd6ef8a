"""A stochastic differential equation as functions of a time and a vector, with the path that drives it.

The three forms of noise differ in what g returns and how it meets the increments W (m,) of the Brownian motions:

    diagonal    g (n,), g_i depends on t and y_i only, m = n       g_i W_i
    scalar      g (n,), m = 1                                      g_i W_0
    general     g (n, m)                                           sum_j g_ij W_j
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import jvp
from .brownian import BrownianPath
from .methods import DIAGONAL, GENERAL, ITO

Field = Callable[[float, NDArray[Any]], NDArray[Any]]


class StochasticProblem:
    """dy = rhs(t, y) dt + diffusion(t, y) dW on vectors (n,).

    drift, diffusion: the vector fields. noise: the form of the noise. interpretation: of the equation. is_changed: whether
    the steps take the equation in the other interpretation, in which ``rhs`` differs by g' g / 2.
    """

    mass = None

    def __init__(
        self, drift: Field, diffusion: Field, noise: str, interpretation: str, is_changed: bool, path: BrownianPath
    ) -> None:
        self.drift, self.diffusion, self.noise, self.path = drift, diffusion, noise, path
        self.is_ito = interpretation == ITO
        self.correction = 0.0 if not is_changed else -0.5 if self.is_ito else 0.5

    def rhs(self, t: float, y: NDArray[Any]) -> NDArray[Any]:
        drift = self.drift(t, y)
        return drift + self.correction * self.along(t, y, self.diffusion(t, y)) if self.correction else drift

    slope = rhs

    def weighted(self, g: NDArray[Any], w: NDArray[Any]) -> NDArray[Any]:
        """Return g dW (n,) for weights w (m,) of the motions."""
        if self.noise == GENERAL:
            return np.dot(g, w)
        return g * w if self.noise == DIAGONAL else g * w[0]

    def along(self, t: float, y: NDArray[Any], g: NDArray[Any]) -> NDArray[Any]:
        """Return sum_j (dg_j / dy) g_j (n,), the derivative of each column of the diffusion along itself; g is its value."""
        if self.noise != GENERAL:
            return jvp(lambda y: self.diffusion(t, y), (y,), (g,))[1]
        total = np.zeros_like(y)
        for j in range(g.shape[1]):
            total = total + jvp(lambda y, j=j: self.diffusion(t, y)[:, j], (y,), (g[:, j],))[1]
        return total
