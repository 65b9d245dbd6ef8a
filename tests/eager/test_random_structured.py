"""Random programs of the structured tier: compiled, recorded on a tape, and by finite differences.

The two tiers share only the rules, so a result on which they agree to rounding is hardly wrong in both; differences
confirm that it is the derivative.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from fuzz.families.structured import case, compile_program
from fuzz.judge import recording
from hypothesis import HealthCheck, given, note, settings, strategies as st
from sample_sizes import drawn

import morula as mo
from morula.core.eager.structured.functions import compiled_for
from morula.core.testing.differences import ridders


def assert_same(one, other, rtol: float) -> None:
    assert type(one) is type(other) and np.shape(one) == np.shape(other), (one, other)
    scale = np.max(np.abs(other), initial=1.0)
    assert np.allclose(one, other, rtol, rtol * scale, equal_nan=True), (one, other)


def check(text: str, args: tuple, direction: tuple) -> bool:
    """Assert that the tiers agree; gives whether the program was compiled."""
    f = compile_program(text)
    try:
        value = f(*args)
    except (ArithmeticError, ValueError):  # it overflowed
        return False
    if not np.isfinite(value) or abs(value) > 1e6:
        return False
    compiled = compiled_for(f, args) is not None
    found, gradient = mo.value_and_grad(f, range(len(args)))(*args)
    assert found == value and type(found) is type(value)
    with recording():
        recorded = mo.gradient(f, *args)
    for g, expected, x in zip(gradient, recorded, args):
        assert_same(g, expected, 1e-8)
        assert np.shape(g) == np.shape(x)
    slope = sum(float(np.sum(g * d)) for g, d in zip(gradient, direction))
    check_forward(f, args, direction, value, slope)
    expected, error = ridders(lambda t: float(f(*(x + t * d for x, d in zip(args, direction)))), 1e-4, levels=6)
    if error < 1e-7 * (1 + abs(slope)):  # else a branch switches, or the slope is steep
        assert abs(slope - expected) < 1e-4 * (1 + abs(slope)), (slope, expected)
    return compiled


def check_forward(f, args: tuple, direction: tuple, value, slope: float) -> None:
    """Assert that the tangents of both tiers are the slope, and that values are those of the program."""
    direction = tuple(np.float64(d) if np.ndim(d) == 0 else np.asarray(d, float) for d in direction)
    y, dy = mo.jvp(f, args, direction)
    assert y == value and type(y) is type(value)
    assert_same(float(dy), slope, 1e-8)
    with recording():
        recorded = mo.jvp(f, args, direction)[1]
    assert_same(dy, recorded, 1e-8)


def check_second_order(text: str, args: tuple, direction: tuple) -> None:
    f = compile_program(text)
    if not check(text, args, direction):
        return

    def slope(*args):
        return sum(np.sum(g * d) for g, d in zip(mo.gradient(f, *args), direction))

    found = mo.gradient(slope, *args)
    with recording():
        recorded = mo.gradient(slope, *args)
    for g, expected in zip(found, recorded):
        assert_same(g, expected, 1e-7)
    along = sum(float(np.sum(g * d)) for g, d in zip(found, direction))
    direction = tuple(np.float64(d) if np.ndim(d) == 0 else np.asarray(d, float) for d in direction)
    for nested in (
        lambda *xs: mo.jvp(f, xs, direction)[1],
        lambda *xs: sum(np.sum(g * d) for g, d in zip(mo.gradient(f, *xs), direction)),
    ):
        assert_same(float(mo.jvp(nested, args, direction)[1]), along, 1e-7)
    reversed_ = mo.gradient(lambda *xs: mo.jvp(f, xs, direction)[1], *args)
    for g, expected in zip(reversed_, recorded):
        assert_same(g, expected, 1e-7)


@settings(max_examples=drawn(120), suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_compiled_recorded_and_differenced_gradients_agree(seed):
    text, args, direction = case(random.Random(seed))
    note(text)
    note(str(args))
    check(text, args, direction)


@settings(max_examples=drawn(25), suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_second_derivatives_agree(seed):
    text, args, direction = case(random.Random(seed))
    note(text)
    note(str(args))
    check_second_order(text, args, direction)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_most_of_these_programs_are_compiled():
    compiled = [check(*case(random.Random(seed))) for seed in range(40)]
    assert sum(compiled) >= 20
