"""QUADPACK's integrals: parameters, variable and infinite limits, nesting, break points."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import dblquad, nquad, quad

import morula as mo
from morula.testing import check_gradients

INTEGRALS = {
    "of a parameter": (lambda k: quad(lambda t: k * t, 0.0, 1.0)[0], 0.7),
    "between ends": (lambda a, b, k: quad(lambda t: math.exp(-k * t * t), a, b)[0], 0.1, 2.0, 0.7),
    "backward": (lambda a, b: quad(lambda t: t**3, b, a)[0], 0.1, 2.0),
    "with arguments": (lambda k: quad(lambda t, p, q: p * np.sin(q * t), 0, 1, args=(k, 2 * k))[0], 1.3),
    "of many intervals": (lambda k: quad(lambda t: np.cos(30 * k * t) * t, 0, k)[0], 0.7),
    "with a report": (lambda k: quad(lambda t: k * t, 0, 1, full_output=1)[0], 0.7),
    "to infinity": (lambda a, k: quad(lambda t: np.exp(-k * t), a, np.inf)[0], 0.3, 0.7),
    "from infinity": (lambda a, k: quad(lambda t: np.exp(k * t), -np.inf, a)[0], 0.3, 0.7),
    "over the line": (lambda k: quad(lambda t: np.exp(-k * t * t), -np.inf, np.inf)[0], 0.7),
    "broken at points": (lambda a, b, k: quad(lambda t: abs(t - 0.5) ** 1.5 * k, a, b, points=[0.5])[0], 0.1, 2.0, 0.7),
    "of two variables": (lambda k: dblquad(lambda y, x: k * x * y, 0, k, 0, lambda x: x * k)[0], 0.7),
    "nested": (lambda k: nquad(lambda x, y: np.exp(-k * x * y), [[0, 1], [0, k]])[0], 0.7),
    "complex": (lambda k: quad(lambda t: np.exp(1j * k * t), 0, 1, complex_func=True)[0], 0.7),
}


@pytest.mark.parametrize("name", INTEGRALS)
def test_integrals(name):
    f, *args = INTEGRALS[name]
    check_gradients(f, *args, order=2 if name in ("of a parameter", "between ends", "to infinity") else 1)


def test_an_extrapolated_integral_is_refused():
    with pytest.raises(mo.NoDerivative, match="_qagse"):
        mo.gradient(lambda k: quad(lambda t: k / np.sqrt(t), 0, 1)[0], 0.7)
