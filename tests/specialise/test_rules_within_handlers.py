"""A ``try`` in a differentiated function catches what the function raises, and nothing of the backward sweep."""

from __future__ import annotations

import math

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders


class Interval:
    def __init__(self, low, high):
        if low > high:
            raise ValueError("it is empty")
        self.low = low
        self.high = high

    def __mul__(self, other):
        products = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(products), max(products))


def least_of_four(x):
    try:
        return min([x, 2.0, x * x, 3.0]) / x
    except ZeroDivisionError:
        return 3 * x


def in_a_method(x):
    i = Interval(-1.0, 2.0)
    try:
        y = i * Interval(x, 2.0)
    except (ValueError, ZeroDivisionError):
        y = i * i
    return y.high - 2 * y.low


def in_the_handler(x):
    try:
        y = math.sqrt(x)
    except ValueError:
        y = max([x, 2.0, -x, x * x])
    finally:
        x = min(x, 5.0)
    return y * x


def every_kind(x):
    try:
        return np.max(np.array([x, x * x, 1.0])) / x
    except Exception:
        return x


def made_of_another(x):
    """An object that is made after a check, of one that is made after a check."""
    i = Interval(-1.0, 2.0)
    try:
        j = Interval(x, 2.0)
        y = Interval(i.low * j.low, 3 * j.high)
    except ValueError:
        y = i
    return (y.high - 2 * y.low) * x


def made_of_two(x):
    try:
        j = Interval(x, 2.0)
        k = Interval(j.low * 2, x * j.high + 3.5)
        y = Interval(j.low, k.high)
    except ValueError:
        y = Interval(0.0, 5.0)
    else:
        y.low = k.low * x
    return y.high - 2 * y.low


@pytest.mark.parametrize("f", [made_of_another, made_of_two])
def test_objects_whose_making_may_raise(target, f):
    compiled = mo.jit(f, target=target)
    for x in (0.5, 3.0, -3.0, 7.0):
        assert compiled(x) == f(x)


@pytest.mark.parametrize("f", [made_of_another, made_of_two, least_of_four, in_a_method, in_the_handler, every_kind])
def test_gradients(target, f):
    compiled = mo.jit(mo.grad(f), target=target)
    for x in (1.3, -0.7, 3.0):
        assert compiled(x) == pytest.approx(mo.grad(f)(x))
        assert compiled(x) == pytest.approx(ridders(lambda h: f(x + h), 0.01)[0], rel=1e-5)


def test_a_try_around_the_derivative_is_still_refused(target):
    def f(x):
        try:
            return mo.grad(lambda x: min([x, 2.0, x * x, 3.0]))(x)
        except ZeroDivisionError:
            return 0.0

    with pytest.raises(
        mo.BadInput, match="cannot catch an exception raised in a differentiated function with a try around"
    ):
        mo.jit(f, target=target)(1.5)
