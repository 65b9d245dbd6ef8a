"""Extrapolation of the explicit midpoint rule (Gragg, Bulirsch, Stoer): the weights of its lines and of its dense output.

Line j takes n_j = 2, 6, 10, ... steps over the step h of the method. Its error has an expansion in (h / n_j)^2, so the first k
lines give a result of order 2 k. All of these are sums with fixed weights, so the tableau of Aitken and Neville is not formed.

Source: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I (1993), II.9; the code ODEX; E. Hairer, A.
Ostermann, Dense output for extrapolation methods, Numer. Math. 58 (1990) 419.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Extrapolation:
    """An extrapolation method of K lines for ``odesolve``; ``extrapolation`` makes it. It chooses its order 2 k at each step."""

    name: str
    steps: NDArray[np.int64]
    """(K,): the steps of each line."""
    offsets: NDArray[np.int64]
    """(K,): the first of the rows that hold f along each line, n_j + 1 each."""
    rows: int
    """The number of these rows."""
    weights: NDArray[np.float64]
    """(K, K): row k - 1 gives the result of k lines."""
    differences: NDArray[np.float64]
    """(K, K): row k - 1 gives the result of k lines less that without the first of them."""
    dense: NDArray[np.float64]
    """(K, 2 K + 2, K + rows + 2): for k lines, the coefficients of (theta - 1/2)^0, ... in the middle values less y, h times the
    rows of f, h f at the end, and the change of y."""
    tails: NDArray[np.float64]
    """(K, K + rows + 2): the largest difference from the polynomial that matches one derivative less, an estimate of its error."""
    shift: NDArray[np.float64]
    """(2 K + 1, 2 K + 2): from these to the coefficients of theta^1, ... (in one matrix with ``dense``, rounding errors would be
    magnified)."""

    @property
    def order(self) -> int:
        """The highest order."""
        return 2 * len(self.steps)


def extrapolation(name: str, lines: int) -> Extrapolation:
    """Make an ``Extrapolation``.

    Args:
        name: what error messages call it.
        lines: 3 to 12; each adds two to the highest order.

    Returns:
        A method for ``odesolve``.

    Raises:
        ValueError: ``lines`` is out of range.

    >>> extrapolation("gbs", 3).steps.tolist(), (extrapolation("gbs", 3).weights[1] * 8).round(12).tolist()
    ([2, 6, 10], [-1.0, 9.0, 0.0])
    """
    if not 3 <= lines <= 12:
        raise ValueError(f"{name} has {lines} lines; expected 3 to 12")
    steps = 4 * np.arange(1, lines + 1) - 2
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(steps[:-1] + 1)])
    rows = int(np.sum(steps + 1))
    weights, without = np.zeros((2, lines, lines))
    for k in range(1, lines + 1):
        weights[k - 1] = _extrapolated(steps, 0, k)
        without[k - 1] = _extrapolated(steps, 1, k)
    dense = np.zeros((lines, 2 * lines + 2, lines + rows + 2))
    central = _central_differences(steps, offsets, lines + rows + 2)
    tails = np.zeros((lines, lines + rows + 2))
    for k in range(2, lines + 1):
        found = _polynomial(steps, central, k)
        dense[k - 1, : len(found)] = found
        highest = 2 * k - 3  # the difference is a multiple of s^highest (s^2 - 1/4)^2
        largest = (highest / (4 * (highest + 4))) ** (highest / 2) / (highest + 4) ** 2
        tails[k - 1] = largest * found[-1]
    powers = range(2 * lines + 2)
    shift = np.array([[comb(i, j) * (-0.5) ** (i - j) if j <= i else 0.0 for i in powers] for j in powers[1:]])
    return Extrapolation(name, steps, offsets, rows, weights, weights - without, dense, tails, shift)


def _extrapolated(steps: NDArray[np.int64], first: int, end: int) -> NDArray[np.float64]:
    """Return the weights (K,) with which the lines from ``first`` to before ``end`` are extrapolated to h = 0."""
    squares = steps[first:end].astype(float) ** 2
    ratios = squares[:, None] / np.where(np.eye(len(squares)) > 0, 1.0, squares[:, None] - squares)
    found = np.zeros(len(steps))
    found[first:end] = np.where(np.eye(len(squares)) > 0, 1.0, ratios).prod(axis=1)
    return found


def _central_differences(steps: NDArray[np.int64], offsets: NDArray[np.int64], width: int) -> NDArray[np.float64]:
    """Return (2 K - 2, K, width): for each order and line, the derivative in the middle of the step times h^order / order!."""
    lines = len(steps)
    found = np.zeros((2 * lines - 2, lines, width))
    found[0, :, :lines] = np.eye(lines)
    for order in range(1, 2 * lines - 2):
        for j in range((order + 1) // 2 - 1, lines):
            signs = [(-1) ** r * comb(order - 1, r) for r in range(order)]
            middle = lines + offsets[j] + steps[j] // 2
            places = middle + order - 1 - 2 * np.arange(order)
            found[order, j, places] = np.array(signs, dtype=float) * (steps[j] / 2) ** (order - 1) / factorial(order)
    return found


def _polynomial(steps: NDArray[np.int64], central: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return ``dense`` for k lines: the polynomial that matches the extrapolated derivatives up to 2 k - 3 in the middle of the
    step, and value and slope at its ends (II.9, steps 1 to 3 of the dense output)."""
    lines, highest, width = len(steps), 2 * k - 3, central.shape[2]
    of_lines = np.stack([_extrapolated(steps, max((order + 1) // 2 - 1, 0), k) for order in range(highest + 1)])
    derivatives = np.einsum("oj,ojw->ow", of_lines, central[: highest + 1])
    ends = np.zeros((4, width))  # value and slope at the start, value and slope at the end
    ends[1, lines], ends[2, -1], ends[3, -2] = 1.0, 1.0, 1.0
    powers = np.arange(highest + 5)
    of_ends = np.stack([
        (-0.5) ** powers,
        powers * (-0.5) ** np.maximum(powers - 1, 0),
        0.5**powers,
        powers * 0.5 ** np.maximum(powers - 1, 0),
    ])  # fmt: skip
    rest = np.linalg.solve(of_ends[:, highest + 1 :], ends - of_ends[:, : highest + 1] @ derivatives)
    return np.concatenate([derivatives, rest])


GBS = extrapolation("gbs", 8)  # with more lines, rounding errors of the dense output exceed 1e-11
