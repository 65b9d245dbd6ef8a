"""Special methods that are static methods or class methods take what Python gives them."""

import pytest
from path_tester import PATHS, check_gradient


class Unit:
    """The number one, as a singleton of a computer algebra system defines it."""

    size = 3

    def __init__(self, x):
        self.x = x

    @staticmethod
    def __abs__():
        return 1.0

    @staticmethod
    def __neg__():
        return -1.0

    @staticmethod
    def __add__(other):
        return other + 1.0

    @classmethod
    def __radd__(cls, other):
        return other + cls.size

    @classmethod
    def __len__(cls):
        return cls.size

    @classmethod
    def __getitem__(cls, i):
        return i * cls.size

    @staticmethod
    def __iter__():
        return iter([1.0, 2.0])

    @staticmethod
    def __float__():
        return 4.0

    @staticmethod
    def __eq__(other):
        return other > 0.0

    __hash__ = None


def program(x):
    u = Unit(x)
    y = abs(u) * x + (-u) * x * x + (u + x) * 2.0 + (x + u)
    y = y + len(u) * x + u[2] * x + float(u) * x
    for e in u:
        y = y + e * x * x
    return y * u.x if u == x else y - u.x


@pytest.mark.parametrize("path", PATHS)
def test_values_and_gradients_are_pythons(path):
    for x in (0.7, -0.3):
        check_gradient(path, program, x)
