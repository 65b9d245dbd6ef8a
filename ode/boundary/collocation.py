"""The equations of a boundary-value problem on a mesh: Lobatto's collocation formula of order 4.

The solution is a cubic on each interval, continuous with its slope, that satisfies y' = f(t, y) at the ends and in the
middle. The unknowns are the values at the nodes, the equations one vector for each interval and the boundary conditions.

L. F. Shampine, J. Kierzenka, A BVP solver based on residual control and the MATLAB PSE, ACM TOMS 27 (2001) 299.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from ...core import BadInput, jacobian, jvp
from .newton import block_matrix

# The points of Lobatto's quadrature with five nodes in [0, 1] apart from the ends and the middle, and their weights.
LOBATTO_POINTS = 0.5 - 0.5 * np.sqrt(3 / 7), 0.5 + 0.5 * np.sqrt(3 / 7)
LOBATTO_WEIGHTS = 49 / 180, 49 / 180
MIDDLE_WEIGHT = 16 / 45


class Collocation:
    """The problem on one mesh.

    f: y' as a function of times (m,) and states (n, m). conditions: the boundary conditions as a function of both end states.
    nodes: the mesh (m,).
    """

    def __init__(
        self,
        f: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]],
        conditions: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]],
        nodes: NDArray[Any],
    ) -> None:
        self.f, self.conditions, self.nodes = f, conditions, nodes
        self.h = np.diff(nodes)
        self.middles = nodes[:-1] + 0.5 * self.h

    def slopes(self, t: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        """Return f (m, n) at times (m,) and states (m, n)."""
        dy = np.array(self.f(t, y.T))  # f may fill and return one and the same array in all calls
        if dy.shape != y.T.shape:
            raise BadInput(
                f"f returned shape {dy.shape} for times of shape {t.shape} and states of shape {y.T.shape}; it must return the "
                "shape of the states"
            )
        return dy.T

    def parts(self, y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the defects of the intervals (m - 1, n), the states in their middles, and f at nodes and middles."""
        h = self.h[:, None]
        f = self.slopes(self.nodes, y)
        middle = 0.5 * (y[1:] + y[:-1]) - 0.125 * h * (f[1:] - f[:-1])
        f_middle = self.slopes(self.middles, middle)
        return y[1:] - y[:-1] - h / 6 * (f[:-1] + f[1:] + 4 * f_middle), middle, f, f_middle

    def residual(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return all equations (m, n): the boundary conditions, and the defects."""
        return np.concatenate((np.reshape(self.conditions(y[0], y[-1]), (1, -1)), self.parts(y)[0]))

    def matrix(self, y: NDArray[Any]) -> csc_array:
        """Return the Jacobian of the equations, (m n, m n)."""
        h = self.h[:, None, None]
        middle = self.parts(y)[1]
        J, J_middle = self._jacobians(self.nodes, y), self._jacobians(self.middles, middle)
        one = np.eye(y.shape[1])
        left = -one - h / 6 * (J[:-1] + 2 * J_middle + 0.5 * h * J_middle @ J[:-1])
        right = one - h / 6 * (J[1:] + 2 * J_middle - 0.5 * h * J_middle @ J[1:])
        first, last = (jacobian(self.conditions, argnums=i)(y[0], y[-1]) for i in (0, 1))
        return block_matrix(left, right, first, last)

    def _jacobians(self, t: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        """Return df / dy at all times (m, n, n), by one derivative in each component."""
        columns = []
        for k in range(y.shape[1]):
            direction = np.zeros(y.shape)
            direction[:, k] = 1.0
            columns.append(jvp(lambda y: self.slopes(t, y), (y,), (direction,))[1])
        return np.stack(columns, axis=2)

    def polynomials(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the cubics (m - 1, 3, n): y + sum_j c[j] theta^(j + 1) on each interval."""
        h = self.h[:, None]
        f = self.slopes(self.nodes, y)
        f0, f1, change = h * f[:-1], h * f[1:], y[1:] - y[:-1]
        return np.stack([f0, 3 * change - 2 * f0 - f1, f0 + f1 - 2 * change], axis=1)

    def residual_norms(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return on each interval the root mean square of (S' - f(t, S)) / (1 + |f|) for the piecewise cubic S, (m - 1,)."""
        h, c = self.h[:, None], self.polynomials(y)
        defect, _, _, f_middle = self.parts(y)
        total = MIDDLE_WEIGHT * np.sum((1.5 * defect / h / (1 + np.abs(f_middle))) ** 2, 1)
        for theta, weight in zip(LOBATTO_POINTS, LOBATTO_WEIGHTS):
            state = y[:-1] + theta * (c[:, 0] + theta * (c[:, 1] + theta * c[:, 2]))
            slope = (c[:, 0] + theta * (2 * c[:, 1] + theta * 3 * c[:, 2])) / h
            f = self.slopes(self.nodes[:-1] + theta * self.h, state)
            total = total + weight * np.sum(((slope - f) / (1 + np.abs(f))) ** 2, 1)
        return np.sqrt(total)

    def is_solved(self, y: NDArray[Any], residual: NDArray[Any], tol: float) -> bool:
        """Whether the equations hold well below the tolerance, so that they do not add to the residual between the nodes."""
        f_middle = self.parts(y)[3]
        allowed = 1e-3 * tol * self.h[:, None] * (1 + np.abs(f_middle))
        scale = 1e-3 * tol * (1 + np.abs(y).max())
        return bool(np.all(np.abs(residual[1:]) <= allowed) and np.all(np.abs(residual[0]) <= scale))
