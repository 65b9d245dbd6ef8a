"""A rule that declares finite slopes has finite slopes, also at zeros, ones and integers of either sign."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from morula.core.rules import find_rule
from morula.core.rules.table import RULES

find_rule(np.sin)
POINTS = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.7, -3.7, 10.0, -10.0)
FINITE = [f for f, rule in RULES.items() if rule.partials and rule.finite is True]
SOMETIMES = [f for f, rule in RULES.items() if callable(rule.finite)]


def name(function):
    return f"{getattr(function, '__module__', None) or 'ufunc'}.{function.__name__}"


def slopes(rule, x):
    """The slopes at a point, if the function has a finite value there."""
    try:
        y = rule.function(*x)
    except (ValueError, ZeroDivisionError):
        return []
    except TypeError:  # an argument that is an integer
        x = (x[0], *map(int, x[1:]))
        y = rule.function(*x)
    return [p(y, *x) for p in rule.partials if callable(p)] if np.isfinite(y) else []


@pytest.mark.parametrize("function", FINITE, ids=name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_slopes_are_finite_where_the_rule_says_so(function):
    rule = RULES[function]
    points = POINTS if len(rule.partials) < 3 else POINTS[:5]
    found = [
        s for x in itertools.product(points, repeat=len(rule.partials)) for s in slopes(rule, tuple(map(np.float64, x)))
    ]
    assert found
    assert np.all(np.isfinite(found))


@pytest.mark.parametrize("function", SOMETIMES, ids=name)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_slopes_are_finite_for_the_constants_for_which_the_rule_says_so(function):
    rule = RULES[function]
    constants = [c for c in POINTS if rule.is_finite(None, c)]
    assert constants
    assert not rule.is_finite(None, None)
    for x, c in itertools.product(POINTS, constants):
        for s in slopes(rule, (np.float64(x), np.float64(c)))[:1]:  # the slope in the constant is not asked for
            assert np.isfinite(s)


def test_a_slope_that_nobody_calls_finite_may_be_infinite():
    assert not find_rule(np.sqrt).is_finite(None)
    assert not find_rule(np.log).is_finite(None)
    assert find_rule(np.sin).is_finite(None)
