"""Objects of classes derived from float, int, complex and str that are made of numbers that are not known while compiling."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from path_tester import check_gradient, check_value

import morula as mo

COMPILED = pytest.mark.parametrize("path", ["native", "xla"])


class Degrees(float):
    """Only the text is overridden, so arithmetic gives plain floats."""

    unit = "deg"

    def __new__(cls, x, name=""):
        made = float.__new__(cls, x)
        if name:
            made.name = name
        return made

    def radians(self):
        return math.radians(self)

    @property
    def half(self):
        return self / 2

    def __repr__(self):
        return f"Degrees({float(self)!r})"


class Length(float):
    """Its arithmetic is overridden."""

    def __init__(self, x):
        super().__init__()
        self.doubled = 2 * x

    def __add__(self, other):
        return Length(super().__add__(float(other)))

    def __radd__(self, other):
        return Length(float(other) + float(self) + 100.0)

    def __mul__(self, other):
        return Length(float(self) * other)

    def __bool__(self):
        return float(self) > 10.0

    def __eq__(self, other):
        return abs(float(self) - other) < 1.0

    __hash__ = float.__hash__


class Count(int):
    pass


class Phase(complex):
    def turned(self):
        return self * 1j


class Code(str):
    def __new__(cls, x, kind="code"):
        made = super().__new__(cls, x)
        made.kind = kind
        return made

    def first(self):
        return self[0]


class Tagged(tuple):
    def __new__(cls, items, tag):
        made = tuple.__new__(cls, items)
        made.tag = tag
        return made


def as_number(x):
    a = Degrees(x, name="a")
    return (
        a.radians()
        + a.half * math.sin(a)
        + abs(a)
        + (-a) ** 2
        + np.exp(a / 50)
        + max(a, 1.0)
        + np.sum(np.array([a, 2]))
    )


def its_class(x):
    a = Degrees(x, name="a")
    return (
        type(a) is Degrees,
        isinstance(a, float),
        isinstance(a, (Degrees, str)),
        a.name,
        a.unit,
        hasattr(a, "name"),
        hasattr(Degrees(x), "name"),
        getattr(Degrees(x), "name", "none"),
        type(a + 1) is float,
        type(+a) is float,
        type(float(a)) is float,
        a.is_integer(),
        a.real == x,
        [vars(a), len({a.name: 1})],
    )


def its_text(x):
    a = Degrees(x)
    return (
        repr(a),
        str(a),
        f"{a}",
        f"{a:.2f}",
        f"{a!r:>15}",
        "%s %.1f" % (a, a),
        "{0} {0:.1f}".format(a),
        repr([a, (a,)]),
    )


def returned(x):
    a = Degrees(x, name="a")
    return a, [Degrees(2 * x)], {"b": Degrees(x * x, name="b")}


def overridden(x):
    a = Length(x)
    total = a + 1.0 + Length(2.0) + np.float64(x)
    late = 3.0 + a
    scaled = a * 2
    return total * 1.0, late.doubled, scaled.doubled, 1.0 if a else 2.0, a == x + 0.5


def of_ints(n):
    c = Count(n)
    return (
        c + 1,
        [10, 20, 30, 40][c],
        {1: "one", 2: "two"}.get(c, "many"),
        type(c * 2) is int,
        isinstance(c, int),
        c // 2,
    )


def of_complex(x):
    z = Phase(complex(x, 1.0))
    return z.turned().real, z.imag, abs(z)


def on_two_paths(x):
    a = Degrees(x, name="up") if x > 1 else Degrees(2 * x, name="down")
    return a.radians() * len(a.name), a.name, type(a) is Degrees


def one_is_known(x):
    a = Degrees(x) if x > 1 else Degrees(7.0)
    b = Degrees(3.0) if x > 1 else Degrees(5.0)
    return a.half * b.half, type(b) is Degrees


def or_a_plain_one(x):
    a = Degrees(x) if x > 1 else 2 * x
    return a * 3.0 + (1.0 if isinstance(a, Degrees) else 2.0)


def in_a_loop(x):
    a = Degrees(x, name="a")
    for _ in range(5):
        a = Degrees(a * 0.9 + 0.1 * math.sin(a), name=a.name)
    return a.half, a.name, type(a) is Degrees


def in_a_loop_of_unknown_length(x):
    a = Degrees(x)
    while a > 1.0:
        a = Degrees(a / 2)
    return a.radians()


def in_lists(x):
    found = []
    for i in range(4):
        if x * i > 1.0:
            found.append(Degrees(x * i))
    return sum(a.half for a in found), max([Degrees(x), Degrees(3.0)]).half, sorted([Degrees(x), Degrees(1.0)])[0].half


def with_attributes(x):
    a = Degrees(x)
    a.weight = 3 * x
    b = copy.copy(a)
    b.weight = x * x
    return a.weight * b.weight + a * b


class Cached(float):
    @property
    def square(self):
        try:
            return self.__dict__["square_"]
        except KeyError:
            self.__dict__["square_"] = found = self * self
            return found


def cached(x):
    a = Cached(x)
    if x > 1.0:
        a.square  # noqa: B018
    return a.square + a.square


def raises(x):
    if x > 2.0:
        raise ValueError(Degrees(x), Code(f"{x:.1f}"))
    return x


def of_texts(x):
    a = Code(f"{x:.3f}", kind="number")
    return a.kind, a.first(), a + "!", type(a + "!") is str, isinstance(a, str), float(a), a.startswith("1"), len(a), a


def known_texts(x):
    a = Code("ab") if x > 1 else Code("cde")
    return a.first(), a + "!", len(a), type(a) is Code


def known_text_in_a_loop(x):
    a, y = Code("abc", kind="word"), x
    while y > 1.0:
        y /= 2
        a = Code("abc", kind="word")
    return y, a, a.kind, a.first()


def with_arrays(x, v):
    a = Degrees(x)
    return np.sum(v * a) + np.sum(a * v) + np.dot(v, v) * a, (np.float32(2.0) * a).dtype == np.float64


def of_tuples(x):
    a = Tagged((x, 2.0), 3 * x) if x > 1 else Tagged((2 * x, 1.0), x)
    return a[0] * a.tag + a[1], type(a) is Tagged


VALUES = [
    (its_class, 2.5),
    (its_class, 2.0),
    (its_text, 0.1),
    (returned, 1.5),
    (overridden, 3.0),
    (overridden, 30.0),
    (of_ints, 1),
    (of_ints, 3),
    (of_complex, 0.5),
    (or_a_plain_one, 0.5),
    (or_a_plain_one, 1.5),
    (of_texts, 1.25),
    (of_texts, 3.0),
    (known_texts, 2.0),
    (known_texts, 0.5),
    (known_text_in_a_loop, 5.0),
    (known_text_in_a_loop, 0.5),
    (on_two_paths, 0.5),
    (one_is_known, 2.0),
    (of_tuples, 0.5),
]


@COMPILED
@pytest.mark.parametrize(("f", "x"), VALUES)
def test_values_are_pythons(path, f, x):
    check_value(path, f, x)


def first(f):
    return lambda *args: f(*args)[0]


GRADIENTS = [
    (as_number, 2.5),
    (first(overridden), 3.0),
    (lambda x: overridden(x)[2], 3.0),
    (first(of_complex), 0.5),
    (first(on_two_paths), 1.5),
    (first(on_two_paths), 0.5),
    (first(one_is_known), 1.5),
    (first(one_is_known), 0.5),
    (or_a_plain_one, 1.5),
    (first(in_a_loop), 20.0),
    (in_a_loop_of_unknown_length, 20.0),
    (first(in_lists), 0.7),
    (lambda x: in_lists(x)[1] + in_lists(x)[2], 0.7),
    (lambda x: in_lists(x)[1] + in_lists(x)[2], 3.7),
    (with_attributes, 1.5),
    (cached, 1.5),
    (cached, 0.5),
    (first(of_tuples), 0.5),
    (first(of_tuples), 1.5),
]


@COMPILED
@pytest.mark.parametrize(("f", "x"), GRADIENTS)
def test_gradients_are_those_of_the_numbers(path, f, x):
    check_gradient(path, f, x)


@COMPILED
def test_numpy_takes_an_object_for_a_number_of_its_own(path):
    check_gradient(path, first(with_arrays), 1.5, np.array([1.0, 2.0, -1.0]))
    check_value(path, with_arrays, 1.5, np.array([1.0, 2.0, -1.0]))


@COMPILED
def test_a_result_keeps_its_class_and_attributes(path):
    a, (b,), held = mo.jit(returned, target=path)(1.5)
    assert type(a) is type(b) is type(held["b"]) is Degrees
    assert a.name == "a" and held["b"].name == "b" and not hasattr(b, "name")


@COMPILED
def test_a_known_object_with_traced_attributes_keeps_its_number(path):
    def f(x):
        a = Degrees(4.0)
        a.weight = x
        return a

    found = mo.jit(f, target=path)(2.0)
    assert (type(found), float(found), found.weight) == (Degrees, 4.0, 2.0)


@COMPILED
def test_exceptions_hold_objects_of_derived_classes(path):
    with pytest.raises(ValueError) as raised:
        mo.jit(raises, target=path)(3.0)
    number, text = raised.value.args
    assert (type(number), float(number), type(text), text) == (Degrees, 3.0, Code, "3.0")


@COMPILED
@pytest.mark.parametrize("f", [lambda x: hash(Degrees(x)), lambda x: {Degrees(x): 1}, lambda x: len({Degrees(x), 1.0})])
def test_a_hash_of_an_unknown_number_is_refused(path, f):
    with pytest.raises(mo.BadInput):
        mo.jit(f, target=path)(2.0)


@COMPILED
def test_an_attribute_that_does_not_exist_is_pythons_error(path):
    def f(x):
        return Degrees(x).nothing

    with pytest.raises(AttributeError, match="'Degrees' object has no attribute 'nothing'"):
        mo.jit(f, target=path)(2.0)
