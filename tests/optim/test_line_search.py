"""The line search returns steps that satisfy the strong Wolfe conditions, for any first step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from morula.optim.linesearch import Trial, strong_wolfe

# Moré and Thuente (1994), section 5: functions 5.1 to 5.3 with their c1 and c2; slopes at 0 are negative.
BETA2, BETA3, L = 0.004, 0.01, 39


def rational(a):
    return -a / (a**2 + 2), (a**2 - 2) / (a**2 + 2) ** 2


def quintic(a):
    return (a + BETA2) ** 5 - 2 * (a + BETA2) ** 4, 5 * (a + BETA2) ** 4 - 8 * (a + BETA2) ** 3


def oscillating(a):
    if a <= 1 - BETA3:
        value, slope = 1 - a, -1.0
    elif a >= 1 + BETA3:
        value, slope = a - 1, 1.0
    else:
        value, slope = (a - 1) ** 2 / (2 * BETA3) + BETA3 / 2, (a - 1) / BETA3
    wave = L * math.pi / 2
    return value + 2 * (1 - BETA3) / (L * math.pi) * math.sin(wave * a), slope + (1 - BETA3) * math.cos(wave * a)


def search(function, first, **options):
    def phi(a):
        value, slope = function(a)
        return Trial(a, value, slope, np.array([a]), np.array([slope]))

    origin = phi(0.0)
    return origin, *strong_wolfe(phi, origin, first, **options)


@pytest.mark.parametrize("first", [1e-3, 1e-1, 1e1, 1e3])
@pytest.mark.parametrize(
    "function, c1, c2", [(rational, 1e-3, 0.1), (quintic, 0.1, 0.1), (oscillating, 0.1, 0.1)], ids=lambda f: str(f)[:20]
)
def test_the_functions_of_more_and_thuente(function, c1, c2, first):
    origin, found, satisfied = search(function, first, c1=c1, c2=c2)
    assert satisfied
    assert found.value <= origin.value + c1 * found.step * origin.slope
    assert abs(found.slope) <= -c2 * origin.slope


@given(
    st.lists(st.floats(-3, 3), min_size=2, max_size=5),
    st.floats(1e-3, 1e3),
    st.floats(0.01, 0.9),
)
def test_the_conditions_hold_on_any_polynomial_that_is_bounded_below(coefficients, first, c2):
    polynomial = np.polynomial.Polynomial([0.0, -1.0, *coefficients, *([0.0] * (len(coefficients) % 2)), 1.0])
    slope = polynomial.deriv()
    origin, found, satisfied = search(lambda a: (float(polynomial(a)), float(slope(a))), first, c2=c2)
    assert satisfied
    assert found.value <= 1e-4 * found.step * origin.slope
    assert abs(found.slope) <= c2


def test_a_wall_of_nan_is_stayed_clear_of():
    def function(a):
        return (a - 1.9) ** 2 if a < 2 else math.nan, 2 * (a - 1.9)

    _, found, satisfied = search(function, 100.0, c2=0.1)
    assert satisfied and abs(found.step - 1.9) < 0.2


def test_a_slope_that_never_rises_ends_at_the_longest_step():
    _, found, satisfied = search(lambda a: (-a, -1.0), 1.0, longest=50.0)
    assert not satisfied and found.step == 50.0


def test_no_lower_value_gives_back_the_origin():
    origin, found, satisfied = search(lambda a: (a, -1.0), 1.0)
    assert found is origin and not satisfied


def test_below_the_rounding_of_the_value_the_slope_decides():
    _, found, satisfied = search(lambda a: (1e16 + 0.0 * a, a - 1.0), 0.9, noise=10.0)
    assert satisfied and found.step == 0.9
