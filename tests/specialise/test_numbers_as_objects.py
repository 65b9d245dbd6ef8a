"""Numbers as objects: ``is`` between them, their special methods by name, and objects that stand for numbers."""

from __future__ import annotations

import math
import operator
from collections import defaultdict

import numpy as np
import pytest
from path_tester import gradient_of, run_on

import morula as mo

NAN = float("nan")


class Constants:
    ZERO = 0
    LIMIT = 2.5


class Length(float):
    pass


UNIT = Length(1.0)


class Angle:
    """An angle in degrees."""

    def __init__(self, degrees):
        self.degrees = degrees

    def __float__(self):
        return float(self.degrees)

    def __int__(self):
        return int(self.degrees)

    def __index__(self):
        return int(self.degrees) % 3

    def __round__(self, digits=None):
        return round(self.degrees) if digits is None else Angle(self.degrees * digits)

    def __floor__(self):
        return Angle(math.floor(self.degrees))


class Wrong:
    def __init__(self, x):
        self.x = x

    def __float__(self):
        return int(self.x)


def missing(x, y):
    return 0.0 if x is NAN or y is NAN else x * y


def small_ints(x):
    n = int(x)
    total = 0.0
    for i in range(4):
        if i is n:
            total = total + x * 3
        if i is Constants.ZERO:
            total = total + x
    return total


def bounded(x):
    y = x * x
    if y is Constants.LIMIT or y is UNIT or y is True:
        return x
    return y if x is not Constants.LIMIT else -x


def same(x, y):
    z = x
    return x * y if x is y else z * 2 if z is x else y


def by_name(x, y):
    return float.__add__(x, 2) * float.__rsub__(x, 1.0) + x.__mul__(y) + (2.0).__truediv__(x) + float.__pow__(2.0, y)


def by_name_of_one(x):
    quotient, rest = x.__divmod__(2)
    back = float.__rdivmod__(x, 7)[1]
    return (
        quotient
        + rest * x
        + back
        + x.__neg__()
        + float.__abs__(x)
        + x.__round__() * x
        + x.__floor__()
        + x.__mod__(2)
        + float.__pos__(x)
    )


def not_accepted(x):
    total = x
    for found in ((2).__add__(x), int.__mul__(3, x), float.__add__(x, 1j), x.__lt__("a"), x.__add__(np.float32(1.0))):
        if found is NotImplemented:
            total = total + x
    return total


def of_numpy(x, y):
    return float.__mul__(np.float64(x), y) + np.float64(x).__add__(y) + x.__sub__(np.float64(2.0))


def converted(x):
    a = Angle(x)
    return float(a) * x + int(a) + round(a) * x + math.floor(a).degrees + round(a, 2).degrees + [x, x * x, 1.0][a]


def in_math(x):
    return math.sin(Angle(x)) + math.atan2(Angle(x), x * x) + math.hypot(3.0, Angle(x)) + math.pow(Angle(x), 2)


def on_a_path(x):
    total = 0.0
    for k in range(3):
        if x > k:
            total = total + float(Angle(x)) * k + x.__mul__(x)
        else:
            total = total - math.exp(Angle(-x))
    return total


def counted(x):
    found = defaultdict(float)
    found[Angle] += x * 2
    found["b"] += x * x
    found.default_factory = None
    try:
        return found["c"]
    except KeyError:
        return found[Angle] * found["b"]


PROGRAMS = [
    (missing, (1.5, 2.5)),
    (small_ints, (2.5,)),
    (bounded, (1.25,)),
    (same, (1.5, 2.0)),
    (by_name, (1.5, 0.7)),
    (by_name_of_one, (2.7,)),
    (of_numpy, (1.5, 0.7)),
    (converted, (2.7,)),
    (in_math, (0.7,)),
    (on_a_path, (1.4,)),
    (counted, (1.4,)),
]


@pytest.mark.parametrize("f, args", PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_value_and_gradient(f, args, check):
    check(f, *args)


@pytest.mark.parametrize("f, args", PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_the_gradient_of_a_gradient(f, args, target):
    def curved(*args):
        return f(*args) * f(*args)

    second = mo.grad(mo.grad(curved))
    np.testing.assert_allclose(mo.jit(second, target=target)(*args), second(*args), rtol=1e-10, atol=1e-12)


def test_a_method_that_does_not_accept_its_operand(path):
    value, (slope,) = run_on(path)(gradient_of(not_accepted, (0,)))(1.5)
    assert value == not_accepted(1.5) == 9.0 and slope == 6.0


@pytest.mark.parametrize("x, y", [(NAN, 1.0), (2.0, 2.0), (300, 300)])
def test_equal_numbers_may_be_one_object_or_two(x, y, target):
    compiled = mo.jit(lambda x, y: 1 if x is y or x is NAN else 2, target=target)
    with pytest.raises(mo.BadInput, match="whether two equal numbers are the same object"):
        compiled(x, y)
    assert compiled(1.5, y + 1) == 2


def test_a_conversion_that_gives_another_type(target):
    with pytest.raises(TypeError, match=r"__float__ returned non-float \(type int\)"):
        mo.jit(lambda x: float(Wrong(x)), target=target)(1.5)


def test_text_of_a_key_is_not_made(target):
    class Key:
        def __str__(self):
            raise AssertionError

    def f(x):
        key = Key()
        found = {key: x}
        return found[key] * operator.index(Angle(3))

    assert mo.jit(f, target=target)(1.5) == f(1.5)
