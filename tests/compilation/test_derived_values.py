"""Arguments whose class derives from a class of values are compile-time constants, or refused if they have attributes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import morula as mo

BASES = [(float, 1.5), (complex, 1.5 + 2j), (int, 3), (str, "ab"), (bytes, b"ab"), (np.float64, 1.5)]


@pytest.mark.parametrize(("base", "value"), BASES)
def test_the_value_is_a_constant(base, value):
    derived = type("Derived", (base,), {})
    twice = mo.jit(lambda y: 2 * y)
    for v in (value, 3 * value, value):
        assert twice(derived(v)) == 2 * v


@pytest.mark.parametrize("base", [float, complex, np.float64])
def test_signs_of_zeros_count(base):
    derived = type("Derived", (base,), {})
    sign = mo.jit(lambda y: math.copysign(1.0, np.real(y)))
    assert [sign(derived(v)) for v in (0.0, -0.0)] == [1.0, -1.0]


@pytest.mark.parametrize(("base", "value"), [*BASES, (frozenset, [1, 2])])
def test_a_value_with_attributes_is_refused_and_run_by_python(base, value):
    class Derived(base):
        scale: float

    def scaled(y):
        return len(y) * y.scale if hasattr(y, "__len__") else y * y.scale

    made = Derived(value)
    for scale in (2.0, 5.0):
        made.scale = scale
        with pytest.raises(
            mo.BadInput, match=f"a .*Derived holds a value of class {base.__name__} and attributes, .*; pass them apart"
        ):
            mo.jit(scaled)(made)
        assert mo.jit(scaled, partial=True)(made) == scaled(made)


def test_gradients_of_a_value_with_attributes_in_parts():
    class Angle(float):
        def __new__(cls, x, name):
            made = float.__new__(cls, x)
            made.name = name
            return made

    def total(angles):
        return sum(a.real for a in angles)

    def f(x):
        return total([Angle(x * x, "first"), Angle(3.0 * x, "second")])

    assert mo.jit(mo.value_and_grad(f), partial=True)(2.0) == (10.0, 7.0)
    assert mo.jit(f, partial=True)(2.0) == 10.0


class Pair(tuple):
    """A tuple to which attributes may be added."""


def test_a_tuple_with_attributes():
    f = mo.jit(lambda p: p[0] * getattr(p, "scale", 1.0))
    pair = Pair((2.0, 3.0))
    assert f(pair) == f(pair) == 2.0
    pair.scale = 5.0
    with pytest.raises(mo.BadInput, match="a .*Pair holds a tuple and attributes, .*; pass them apart"):
        f(pair)
