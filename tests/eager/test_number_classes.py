"""Arguments of subclasses of float and complex are differentiated, and keep their behaviour."""

from __future__ import annotations

import math

import numpy as np
import pytest

import morula as mo


class Plain(float):
    pass


class WithSlots(float):
    __slots__ = ()


class Quantity(float):
    """Keeps a unit, and multiplies its own way."""

    def __new__(cls, value, unit):
        x = float.__new__(cls, value)
        x.unit = unit
        return x

    def __mul__(self, other):
        if isinstance(other, Quantity):
            return Quantity(float(self) * float(other), self.unit + other.unit)
        return Quantity(float(self) * other, self.unit)

    def squared(self):
        return self * self


class Doubling(float):
    def __add__(self, other):
        return 2.0 * float(self) + other

    __radd__ = __add__


class Phasor(complex):
    @property
    def power(self):
        return abs(self) ** 2


class Halved(float):
    """Shows another value than it holds."""

    def __float__(self):
        return 0.5 * float.__mul__(self, 1.0)


FLOATS = [
    (Plain(3.0), lambda x: x * x * x, 27.0),
    (Plain(3.0), lambda x: math.exp(x) + np.sin(x), math.exp(3.0) + math.cos(3.0)),
    (Plain(3.0), lambda x: np.sum(np.array([x, 2.0 * x]) ** 2), 30.0),
    (Plain(3.0), lambda x: -abs(x) + x / 2, -0.5),
    (Plain(3.0), lambda x: float(x) ** 2, 6.0),
    (Plain(3.0), lambda x: sum([x, x], 0.0) * max(x, 1.0), 12.0),
    (WithSlots(3.0), lambda x: x**2, 6.0),
    (Quantity(3.0, "m"), lambda x: float(x.squared()) if x.squared().unit == "mm" else 0.0, 6.0),
    (Quantity(3.0, "m"), lambda x: float(x * 2.0) * x, 12.0),
    (Doubling(3.0), lambda x: x + x * 1.0, 3.0),
    (Doubling(3.0), lambda x: 1.0 + x, 2.0),
    (Halved(3.0), lambda x: x * x, 6.0),
]


@pytest.mark.parametrize("k", range(len(FLOATS)))
@pytest.mark.parametrize("inside", [False, True])
def test_a_class_derived_from_float_is_differentiated(k, inside):
    x, f, expected = FLOATS[k]
    seen = []

    def loss(h):
        value = h["x"] if inside else h
        seen.append(value)
        return f(value)

    argument = {"x": x} if inside else x
    y, g = mo.value_and_grad(loss)(argument)
    g = g["x"] if inside else g
    assert y == f(x)
    assert type(g) is float and g == pytest.approx(expected, rel=1e-14)
    assert type(seen[0]) is type(x) and vars(seen[0]) == vars(x) if hasattr(x, "__dict__") else True
    assert argument["x"] is x if inside else True
    assert mo.gradient(loss, argument)[0] == mo.grad(loss)(argument)


def test_a_class_derived_from_complex_is_differentiated():
    z = Phasor(1.0 + 2.0j)
    g = mo.grad(lambda z: z.power)(z)
    assert type(g) is complex and g == pytest.approx(2 * z)
    assert mo.pullback(lambda z: z**2, z)[1](1.0)[0] == pytest.approx(2 * complex(z).conjugate())


@pytest.mark.parametrize("x", [Plain(0.7), Quantity(0.7, "m"), WithSlots(0.7)], ids=lambda x: type(x).__name__)
def test_number_classes_in_nested_derivatives(x):
    assert mo.grad(mo.grad(lambda y: math.sin(y) * y))(x) == pytest.approx(2 * math.cos(0.7) - 0.7 * math.sin(0.7))
    assert mo.hessian(lambda y: float(y) ** 3)(x) == pytest.approx(4.2)
    assert mo.grad(lambda y: mo.grad(lambda z: math.exp(z * float(y)))(y))(x) == pytest.approx(
        1.98 * math.exp(0.49), rel=1e-12
    )


@pytest.mark.parametrize("value", [-0.0, math.inf, -math.inf, 5e-324])
def test_the_value_is_kept_to_the_bit(value):
    seen = []
    mo.grad(lambda x: seen.append(x) or 1.0)(Plain(value))
    assert math.copysign(1.0, seen[0]) == math.copysign(1.0, value) and seen[0] == value
