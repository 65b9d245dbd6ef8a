"""The line search returns steps that satisfy the strong Wolfe conditions, for any first step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from morula.optim import Backtracking, MoreThuente

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


def search(function, first, longest=1e10, noise=0.0, method=MoreThuente, **settings):
    """Return the length taken and the trials, as a dict from lengths to (value, slope)."""
    line = method(**settings).start(*function(0.0), first, longest, noise)
    trials = {0.0: function(0.0)}
    while not line.ended:
        trials[line.step] = function(line.step)
        line.learn(*trials[line.step])
    return line.taken, trials


@pytest.mark.parametrize("first", [1e-3, 1e-1, 1e1, 1e3])
@pytest.mark.parametrize(
    "function, c1, c2", [(rational, 1e-3, 0.1), (quintic, 0.1, 0.1), (oscillating, 0.1, 0.1)], ids=lambda f: str(f)[:20]
)
def test_the_functions_of_more_and_thuente(function, c1, c2, first):
    taken, trials = search(function, first, c1=c1, c2=c2)
    (value0, slope0), (value, slope) = trials[0.0], trials[taken]
    assert value <= value0 + c1 * taken * slope0
    assert abs(slope) <= -c2 * slope0


@given(
    st.lists(st.floats(-3, 3), min_size=2, max_size=5),
    st.floats(1e-3, 1e3),
    st.floats(0.01, 0.9),
)
def test_the_conditions_hold_on_any_polynomial_that_is_bounded_below(coefficients, first, c2):
    polynomial = np.polynomial.Polynomial([0.0, -1.0, *coefficients, *([0.0] * (len(coefficients) % 2)), 1.0])
    slope = polynomial.deriv()
    taken, trials = search(lambda a: (float(polynomial(a)), float(slope(a))), first, c2=c2)
    assert trials[taken][0] <= -1e-4 * taken
    assert abs(trials[taken][1]) <= c2


@pytest.mark.parametrize("method", [MoreThuente, Backtracking])
def test_a_wall_of_nan_is_stayed_clear_of(method):
    def function(a):
        return (a - 1.9) ** 2 if a < 2 else math.nan, 2 * (a - 1.9)

    taken, trials = search(function, 100.0, method=method)
    assert 0 < taken < 2 and trials[taken][0] < trials[0.0][0]


def test_a_slope_that_never_rises_ends_at_the_longest_step():
    assert search(lambda a: (-a, -1.0), 1.0, longest=50.0)[0] == 50.0


@pytest.mark.parametrize("method", [MoreThuente, Backtracking])
def test_no_lower_value_takes_no_step(method):
    assert search(lambda a: (a, -1.0), 1.0, method=method)[0] == 0.0


def test_below_the_rounding_of_the_value_the_slope_decides():
    assert search(lambda a: (1e16 + 0.0 * a, a - 1.0), 0.9, noise=10.0)[0] == 0.9


def test_backtracking_takes_the_first_step_with_sufficient_decrease():
    taken, trials = search(lambda a: ((a - 1) ** 4, 4 * (a - 1) ** 3), 8.0, method=Backtracking)
    assert trials[taken][0] <= 1 - 1e-4 * 4 * taken
    assert all(value > 1 - 1e-4 * 4 * a for a, (value, _) in trials.items() if a > taken)
