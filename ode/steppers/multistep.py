"""Steps of the multistep methods: backward differentiation and Adams formulas of variable order and variable step.

With t_n, t_(n-1), ... the times of the last steps, the memory holds the scaled divided differences

    phi_j = (t_n - t_(n-1)) ... (t_n - t_(n-j)) x[t_n, ..., t_(n-j)],        j = 0, 1, ...,

of x = y (backward differentiation) or x = f (Adams). At t_(n+1) the polynomial through the last q + 1 values is the sum of
the first q + 1 phi*_j = beta_j phi_j, and phi_(j+1) at t_(n+1) is phi_j there less phi*_j.

Source: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I (1993), III.5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import constant
from ..methods.multistep import Multistep
from ..newton import attached, newton
from ..orders import Orders
from ..problem import Problem
from .stepper import Stepper

Memory = tuple[NDArray[Any], NDArray[Any]]
"""The times (K,) of the last steps, the latest first, and phi (K, n)."""


class _Multistep(Stepper):
    """What the two families share.

    method: the method. dtype: of the state.
    """

    is_variable_order = is_multistep = True

    def __init__(self, method: Multistep, dtype: np.dtype[Any], growth: float) -> None:
        self.name, self.order, self.error_order = method.name, method.order, 2
        self.orders = Orders(method.order, growth)
        self.degree = method.order
        self.width = method.order + 3
        self.places = np.arange(self.width)
        self.dtype = dtype

    def error(self, h: float, stages: Any) -> NDArray[Any]:
        """Return the estimates at order k, k - 1 and k + 1, (3, n)."""
        return stages[2]

    def spent(self, stages: Any) -> int:
        return stages[3]

    def advance(self, stages: Any) -> Memory:
        return stages[0], stages[1]

    def replaced(self, memory: Memory, stages: Any) -> Memory:
        """Return the memory with the new value in place of the last one, to which it is close: divided by the distance, their
        difference would be noise.

        The ratio of phi*_j at the new time to that at the last one, from the values before both, is that of the products of
        their distances from these.
        """
        times, phi = memory
        t_new, x = stages[0][0], stages[1][0]
        ratios = np.cumprod((t_new - times[1:-1]) / (times[0] - times[1:-1]))
        star = np.concatenate([np.ones(1), ratios])[:, None].astype(self.dtype) * (phi[:-1] - phi[1:])
        phi = x - np.concatenate([np.zeros_like(star[:1]), np.cumsum(star, axis=0)])
        return np.concatenate([np.reshape(t_new, 1), times[1:]]), phi

    def _first(self, t: float, h: float, x: NDArray[Any], change: NDArray[Any]) -> Memory:
        """Return the memory at the start: before t, x is extended along a line that changes by ``change`` in h."""
        self.orders.restart()
        phi = np.zeros((self.width, len(x)), self.dtype)
        phi[0] = x
        phi[1] = change
        return t - h * self.places, phi

    def _predicted(self, t_new: float, memory: Memory) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return t_(n+1) - t_(n-j), phi*_j, and the sums of phi*_i over i < j (one more)."""
        times, phi = memory
        gaps = t_new - times
        beta = np.concatenate([np.ones(1), np.cumprod(gaps[:-1] / (times[0] - times[1:]))])
        star = beta[:, None].astype(self.dtype) * phi
        sums = np.concatenate([np.zeros_like(star[:1]), np.cumsum(star, axis=0)])
        return gaps, star, sums

    def _basis(self, t: float, t_new: float, times: NDArray[Any], order: int) -> NDArray[Any]:
        """Return (width, width): row j has the coefficients, from theta^0 upwards, of the polynomial that phi_j at t_new
        multiplies, if it belongs to the order."""
        h = t_new - t
        row = (self.places == 0).astype(float)
        rows = [row]
        for i in range(self.order):
            shifted = np.concatenate([np.zeros(1), row[:-1]])
            row = (h * shifted + (t - times[i]) * row) / (t_new - times[i + 1])
            rows.append(np.where(i < order, row, 0.0))
        rows += [np.zeros_like(row)] * (self.width - len(rows))
        return np.stack(rows)


class BackwardDifferences(_Multistep):
    """Backward differentiation formulas. A step that Newton's method does not find has an infinite error."""

    is_implicit = True

    def __init__(self, method: Multistep, dtype: np.dtype[Any]) -> None:
        super().__init__(method, dtype, 2.0)

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> Memory:
        return self._first(t, h, y, h * slope)

    def step(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: Memory) -> Any:
        gaps, star, sums = self._predicted(t_new, memory)
        k = self.orders.current()
        sigma = np.concatenate([np.zeros(1), np.cumsum(1.0 / gaps)])
        is_used = self.places < k
        slope = np.dot(np.where(is_used, sigma[:-1], 0.0).astype(self.dtype), star)
        weight = 1.0 / sigma[k]
        base = sums[k] - weight * slope
        u, is_found, count = _found(problem, t, t_new, y, base, weight, sums[k + 1])
        u = attached(problem, t_new, base, weight, u)
        phi = u - sums[:-1]
        errors = _estimates(phi, gaps, sigma, k, is_found)
        return u, (np.concatenate([np.reshape(t_new, 1), memory[0][:-1]]), phi, errors, count, k)

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        times, phi, k = stages[0], stages[1], stages[4]
        basis = self._basis(t, t_new, times, k)
        return np.dot(basis[:, 1 : self.order + 1].T.astype(self.dtype), phi)


@constant
def _found(
    problem: Problem, t: float, t_new: float, y: NDArray[Any], base: NDArray[Any], weight: float, guess: NDArray[Any]
) -> tuple[NDArray[Any], bool, int]:
    return newton(problem, t_new, base, weight, guess, problem.solver(t, y, 1.0 / weight))[:3]


@constant
def _estimates(phi: NDArray[Any], gaps: NDArray[Any], sigma: NDArray[Any], k: int, is_found: bool) -> NDArray[Any]:
    """Return the local errors at order k, k - 1, k + 1: the defect of the formula, phi_(q+1) / (t_(n+1) - t_(n-q)), over
    the derivative of the formula, sigma_q."""
    lower = max(k - 1, 1)
    rows = [phi[q + 1] / (gaps[q] * sigma[q]) for q in (k, lower, k + 1)]
    return np.where(is_found, np.abs(np.stack(rows)), np.inf)


class Adams(_Multistep):
    """Adams-Bashforth-Moulton pairs: predict, evaluate, correct with one order more, evaluate."""

    def __init__(self, method: Multistep, dtype: np.dtype[Any]) -> None:
        super().__init__(method, dtype, 2.0)
        self.degree = method.order + 1

    def start(self, problem: Problem, t: float, y: NDArray[Any], slope: NDArray[Any], h: float) -> Memory:
        return self._first(t, h, slope, np.zeros_like(slope))

    def step(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], memory: Memory) -> Any:
        h = t_new - t
        gaps, star, sums = self._predicted(t_new, memory)
        k = self.orders.current()
        g = self._integrals(h, gaps)
        weights = np.where(self.places < k, g, 0.0).astype(self.dtype)
        predicted = y + h * np.dot(weights, star)
        slope = problem.rhs(t_new, predicted)
        differences = slope - sums[:-1]
        u = predicted + (h * g[k]) * differences[k]
        shift = problem.rhs(t_new, u) - slope
        errors = _differences(differences, h, g, k)
        return u, (np.concatenate([np.reshape(t_new, 1), memory[0][:-1]]), differences + shift, errors, 2, k, shift)

    def _integrals(self, h: float, gaps: NDArray[Any]) -> NDArray[Any]:
        """Return g_j (K,): the integral of the polynomial of phi*_j over the step, divided by h (III.5.8)."""
        q = np.arange(1.0, self.width + 1)
        c = 1.0 / (q * (q + 1))
        g = [np.ones(1), c[:1]]
        for j in range(2, self.width):
            c = c[:-1] - c[1:] * (h / gaps[j - 1])
            g.append(c[:1])
        return np.concatenate(g)

    def polynomial(self, problem: Problem, t: float, t_new: float, y: NDArray[Any], stages: Any) -> NDArray[Any]:
        times, phi, k = stages[0], stages[1] - stages[5], stages[4]
        powers = np.arange(1.0, self.order + 2)
        integrals = (t_new - t) * self._basis(t, t_new, times, k)[:, : self.order + 1] / powers
        return np.dot(integrals.T.astype(self.dtype), phi)


@constant
def _differences(differences: NDArray[Any], h: float, g: NDArray[Any], k: int) -> NDArray[Any]:
    """Return the difference of neighbouring corrected values at order k, k - 1, k + 1."""
    lower = max(k - 1, 1)
    return np.stack([np.abs(h * (g[q] - g[q - 1]) * differences[q]) for q in (k, lower, k + 1)])
