"""Linear propagation of errors: numbers with standard deviations that carry derivatives of their own."""

from __future__ import annotations

import math

import numpy as np
import uncertainties
from uncertainties import ufloat, umath, unumpy

from thirdparty.harness import Call

DISTRIBUTION = "uncertainties"
FIELD = "metrology"


def pendulum(length: float, period: float, spread: float) -> tuple[float, float]:
    gravity = 4 * math.pi**2 * ufloat(length, 0.01 + spread**2) / ufloat(period, 0.02) ** 2
    return gravity.nominal_value, gravity.std_dev


def correlated_with_itself(x: float, log_spread: float) -> list[float]:
    a = ufloat(x, math.exp(log_spread))
    ratio = (a**2 - a) / a
    return [ratio.n, ratio.s, ratio.derivatives[a]]


def functions(x: float, log_spread: float) -> list[float]:
    a = ufloat(x, math.exp(log_spread))
    found = [umath.sin(a) * a, umath.hypot(a, 2.0), umath.atan2(a, 3.0), umath.log(a) - 2**a, abs(-a) % 1.5]
    return [y.s for y in found]


def arrays(values: np.ndarray, log_spreads: np.ndarray) -> list[float]:
    a = unumpy.uarray(values, np.exp(log_spreads))
    total = (unumpy.exp(-a) * a).sum()
    return [total.n, total.s, *unumpy.std_devs(a**2)]


def covariances(x: float, log_spread: float) -> list[float]:
    a, b = ufloat(x, math.exp(log_spread)), ufloat(2.0, 0.1)
    matrix = uncertainties.covariance_matrix([a * b, a + b, umath.sqrt(a)])
    return [matrix[0][1], matrix[1][1], matrix[2][0]]


def from_a_covariance(matrix: np.ndarray) -> float:
    a, b = uncertainties.correlated_values([1.0, 2.0], matrix)
    return (a * b - b**2).s


def wrapped(x: float, log_spread: float) -> float:
    """The package differentiates a function that it does not know by differences, which have errors of rounding."""
    return uncertainties.wrap(lambda t: math.log(t) * t)(ufloat(x, math.exp(log_spread))).s


CALLS = {
    "pendulum": Call(pendulum, 1.3, 2.1, 0.3),
    "correlated_with_itself": Call(correlated_with_itself, 1.3, -1.0),
    "functions": Call(functions, 1.9, -1.2),
    "arrays": Call(arrays, np.array([1.0, 2.0]), np.array([-1.0, -2.0])),
    "covariances": Call(covariances, 1.5, -1.0),
    "from_a_covariance": Call(from_a_covariance, np.array([[0.2, 0.05], [0.05, 0.3]])),
    "wrapped": Call(wrapped, 1.5, -1.0, rtol=1e-4, atol=1e-4),
}
