"""Enumerations in a differentiated function: members are looked up, created and called as in Python."""

from __future__ import annotations

import enum

import pytest
from path_tester import check_gradient


class Shape(enum.Enum):
    SQUARE = (1.0, 2.0)
    CUBE = (3.0, 3.0)

    def __init__(self, scale, power):
        self.scale, self.power = scale, power
        self.made = getattr(self, "made", 0) + 1

    def size(self, x):
        return self.scale * x**self.power


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Unknown(enum.Enum):
    NONE = 0
    HALF = 0.5

    @classmethod
    def _missing_(cls, value):
        return cls.NONE


def with_a_class(x):
    class Made(enum.Enum):
        A = x**2
        B = 3.0

    return Made.A.value * Made["B"].value


USES = {
    "by value": lambda x: Shape((3.0, 3.0)).size(x) * Shape.CUBE.made,
    "by name": lambda x: Shape["SQUARE"].size(x),
    "by attribute": lambda x: Shape.CUBE.size(x),
    "integers": lambda x: x ** Level(3) + Level.LOW * x,
    "missing": lambda x: x * (Unknown(7).value + Unknown(0.5).value),
    "iterated": lambda x: sum(shape.size(x) for shape in Shape),
    "a class statement": with_a_class,
    "called with names": lambda x: enum.Enum("Made", "A B").B.value * x**2,
    "called with a list": lambda x: enum.IntEnum("Made", ["A", "B"]).B * x**2,
    "called with a dict": lambda x: (lambda made: made.A.value * made["B"].value)(
        enum.Enum("Made", {"A": x**2, "B": x})
    ),
    "flags": lambda x: (lambda made: (made.A | made.B).value * x**2)(enum.Flag("Made", "A B")),
    "called again": lambda x: (lambda made: made(x).value ** 2)(enum.Enum("Made", {"A": x})),
    "of its module": lambda x: x**2 * (2 if enum.Enum("Made", "A").__module__ == __name__ else 1),
}


@pytest.mark.parametrize("name", USES)
def test_enumerations_are_used_as_in_python(name):
    check_gradient("eager", USES[name], 1.3)
