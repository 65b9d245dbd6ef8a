"""Invariants of a solution: after each step the state is projected onto the set on which they have their value.

The projection of y is y + G^T m with the derivatives G (k, n) of the invariants at y, and m such that the invariants have their
value there: nearly the nearest such state. It moves y by the order of the local error, so that the order of a method stays.

Source: E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, 2nd edition, Springer 2006, IV.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput, constant, implicit, jacobian, pullback
from .methods import Extrapolation, Method, Multistep, Switching, Taylor
from .state import unpack

MOST = 20
"""The most steps of Newton's method for a projection."""


class Invariants:
    """The invariants of one solve, as a function of a time and a vector.

    function: the user's ``invariants(t, y, *args)``. args: of the user's f. leaves: the layout of the state.
    """

    def __init__(self, function: Callable[..., Any], args: tuple[Any, ...], leaves: Any) -> None:
        self.function, self.args, self.leaves = function, args, leaves

    def value(self, t: Any, y: NDArray[Any]) -> NDArray[Any]:
        """Return the invariants (k,)."""
        return np.reshape(self.function(t, unpack(y, self.leaves), *self.args), -1)

    def projected(self, t: Any, y: NDArray[Any], value: NDArray[Any]) -> tuple[NDArray[Any], bool]:
        """Return the state near y at which the invariants have a value (k,), and whether it was found."""

        def residual(m: NDArray[Any]) -> NDArray[Any]:
            return self.value(t, y + self._normal(t, y, m)) - value

        found, is_found = _multipliers(self, t, y, value)
        return y + self._normal(t, y, implicit(found, residual)), is_found

    def _normal(self, t: Any, y: NDArray[Any], m: NDArray[Any]) -> NDArray[Any]:
        return pullback(lambda y: self.value(t, y), y)[1](m)[0]


@constant
def _multipliers(invariants: Invariants, t: float, y: NDArray[Any], value: NDArray[Any]) -> tuple[NDArray[Any], bool]:
    """Return m (k,), by Newton's method with the matrix G G^T, and whether the way that is left is a rounding error."""
    normals = jacobian(lambda y: invariants.value(t, y))(y)
    matrix = np.dot(normals, normals.T)
    m, moved = np.zeros_like(value), np.zeros_like(y)
    rounding = 16 * float(np.finfo(y.dtype).eps) * (float(np.max(np.abs(y), initial=0.0)) + 1e-300)
    size, count, is_going = np.inf, 0, True
    while is_going:
        before = size
        step = np.linalg.solve(matrix, invariants.value(t, y + moved) - value)
        m = m - step
        change = np.dot(step, normals)
        moved = moved - change
        size = float(np.max(np.abs(change), initial=0.0))
        count += 1
        is_going = size > rounding and count < MOST and size < before
    return m, bool(size <= 1e4 * rounding)


def invariants_of(
    function: Any, args: tuple[Any, ...], leaves: Any, method: Method, t: Any, y: NDArray[Any]
) -> Invariants | None:
    """Check the argument ``invariants`` at the start."""
    if function is None:
        return None
    if not callable(function):
        raise BadInput(f"invariants is {type(function).__name__}; expected a function invariants(t, y, *args)")
    if isinstance(method, (Multistep, Extrapolation, Switching, Taylor)):
        raise BadInput(f"{method.name} does not project onto invariants; choose a Runge-Kutta method, such as tsit5")
    if y.dtype.kind == "c":
        raise BadInput("invariants need a real state; give the real and imaginary parts of y0 apart")
    invariants = Invariants(function, args, leaves)
    _check(invariants, t, y)
    return invariants


@constant
def _check(invariants: Invariants, t: float, y: NDArray[Any]) -> None:
    value = invariants.value(t, y)
    if value.dtype.kind != "f" or not np.isfinite(value).all():
        raise BadInput(f"invariants returned {value.tolist()} at the start; expected finite real numbers")
    normals = jacobian(lambda y: invariants.value(t, y))(y)
    rank = int(np.linalg.matrix_rank(normals))
    if rank < len(value):
        raise BadInput(
            f"the derivatives of the {len(value)} invariants at y0 have rank {rank}; leave out invariants that depend on others, or "
            "start where none is stationary"
        )
