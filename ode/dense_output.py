"""The solution as a function of time: the polynomials of all steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput, constant
from .state import unpack


class DenseOutput:
    """The solution between the first and the last time that were reached.

    It is called with a time, or an array of times (m,). It is differentiable, also with respect to these.

    starts, ends: the times (k,) at which the steps begin and end. states: (k, n) at their beginnings. coefficients:
    (k, degree, n): y(start + theta h) = y + sum_j theta^(j + 1) c[j]. leaves: the layout of the state.

    >>> from morula.ode import odesolve
    >>> sol = odesolve(lambda t, y: -y, 1.0, [0.0, 2.0], is_dense=True).sol
    >>> bool(abs(sol(1.0) - np.exp(-1.0)) < 1e-5), bool(abs(sol.derivative(1.0) + np.exp(-1.0)) < 1e-4)
    (True, True)
    """

    is_extrapolating = False
    """Whether times outside of the span are allowed: the first and the last polynomial go on there."""

    def __init__(self, starts: Any, ends: Any, sizes: Any, states: Any, coefficients: Any, leaves: Any) -> None:
        self.starts, self.ends, self.sizes, self.states = starts, ends, sizes, states
        self.coefficients, self.leaves = coefficients, leaves

    def __call__(self, t: Any) -> Any:
        """Return the state at t, in y0's structure; for times (m,) every leaf has a leading axis of length m.

        Args:
            t: a time, or times (m,).

        Raises:
            BadInput: a time lies outside of the span that was solved.
        """
        return self._evaluated(t, 0)

    @property
    def breakpoints(self) -> NDArray[Any]:
        """The times (k + 1,) at which the steps begin, and the end of the last one."""
        return np.concatenate([self.starts, self.ends[-1:]])

    @property
    def polynomials(self) -> NDArray[Any]:
        """The polynomials (k, degree + 1, n) of the state as a vector: y = sum_j p[i, j] ((t - starts[i]) / sizes[i])^j in step i.

        ``sizes`` are the whole steps; an event that ends a step makes it shorter than its size.
        """
        return np.concatenate([self.states[:, None], self.coefficients], axis=1)

    @property
    def interpolants(self) -> list[DenseOutput]:
        """The dense output of each step (k): a function of the times between its ``starts[0]`` and ``ends[0]``.

        >>> from morula.ode import odesolve
        >>> sol = odesolve(lambda t, y: 2.0 * t, 0.0, [0.0, 1.0], first_step=0.5, is_dense=True).sol
        >>> first = sol.interpolants[0]
        >>> len(sol.interpolants) == len(sol.breakpoints) - 1, float(first(0.5).round(12)), first.polynomials[0, :3, 0].round(12).tolist()
        (True, 0.25, [0.0, 0.0, 0.25])
        """
        found = []
        for i in range(len(self.starts)):
            k = slice(i, i + 1)
            starts, ends, sizes = self.starts[k], self.ends[k], self.sizes[k]
            found.append(DenseOutput(starts, ends, sizes, self.states[k], self.coefficients[k], self.leaves))
        return found

    def derivative(self, t: Any) -> Any:
        """Return the time derivative of the dense output at t, like a call.

        Args:
            t: a time, or times (m,).

        Returns:
            The derivative in y0's structure; for times (m,) every leaf has a leading axis of length m.

        Raises:
            BadInput: a time lies outside of the span that was solved.

        >>> from morula.ode import odesolve
        >>> odesolve(lambda t, y: 2.0, 0.0, [0.0, 1.0], is_dense=True).sol.derivative(0.5).round(6)
        np.float64(2.0)
        """
        return self._evaluated(t, 1)

    def _evaluated(self, t: Any, order: int) -> Any:
        times = np.asarray(t, dtype=float)
        if times.ndim > 1:
            raise BadInput(f"t has shape {times.shape}; expected a number or times (m,)")
        at = times.reshape(-1)
        k = _steps(at, self.starts, self.ends, self.is_extrapolating)
        h, c = self.sizes[k][:, None], self.coefficients[k]
        theta = ((at - self.starts[k]) / self.sizes[k])[:, None]
        degree = self.coefficients.shape[1]
        total = np.zeros_like(c[:, 0])
        for j in range(degree - 1, -1, -1):
            total = theta * total + ((j + 1) * c[:, j] / h if order else c[:, j])
        rows = total if order else self.states[k] + theta * total
        return unpack(rows[0] if times.ndim == 0 else rows, self.leaves)


@constant
def _steps(at: NDArray[Any], starts: NDArray[Any], ends: NDArray[Any], is_extrapolating: bool) -> NDArray[Any]:
    """Return the step that each time belongs to; where two meet, the later one."""
    sign = 1.0 if ends[-1] >= starts[0] else -1.0
    if not is_extrapolating and (np.any(sign * at < sign * starts[0]) or np.any(sign * at > sign * ends[-1])):
        raise BadInput(f"t lies outside of the span from {starts[0]:.6g} to {ends[-1]:.6g} that was solved")
    return np.maximum(np.searchsorted(sign * starts, sign * at, side="right") - 1, 0)
