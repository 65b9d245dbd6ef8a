"""Arrays of dtype object: NumPy moves references in them, or computes by the operators of their entries."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.testing import check_gradients


class Money:
    """A number with a unit, as arrays of objects are used for."""

    def __init__(self, amount):
        self.amount = amount

    def __add__(self, other):
        return Money(self.amount + other.amount)

    def __mul__(self, factor):
        return Money(self.amount * factor)

    __rmul__ = __mul__


def filled(x):
    a = np.empty(3, dtype=object)
    a[0], a[1:] = x, np.array([x * x, 2.0])
    a *= x
    return a


def placeholder(x):
    a = np.array([[None] * 2]).T
    a[1, 0] = x * x
    return a[1, 0] * x


def overwritten(x):
    a = np.array([x, x * x], dtype=object)
    total = a.sum()
    a[0] = 7.0
    return total * a[1]


def inside(x):
    a = np.empty((), dtype=object)
    a[()] = np.array([x, x * x])
    return a


PROGRAMS = {
    "entries": lambda x: np.array([x, x * x, None], dtype=object)[1],
    "placeholder": placeholder,
    "write": lambda x: filled(x)[1] * filled(x)[0],
    "arithmetic": lambda x: list((np.array([x, x * x], dtype=object) ** 2 / x + np.array([x, 3.0])) * 2.0),
    "reductions": lambda x: [np.sum(filled(x)), np.prod(filled(x)), np.mean(filled(x)), filled(x).max()],
    "products": lambda x: filled(x) @ filled(x) + np.dot(filled(x), np.array([x, 1.0, 2.0])),
    "to floats": lambda x: np.sin(filled(x).astype(float)) * np.array(filled(x), dtype=float),
    "from floats": lambda x: sum(np.array([x, x * x]).astype(object)),
    "moved": lambda x: np.concatenate([filled(x), filled(x)[::-1]]).reshape(2, 3).T[1, 1],
    "the same entry twice": lambda x: np.sum(np.tile(filled(x), 2) * 2.0),
    "arrays inside": lambda x: np.sum(np.array([np.array([x, x]), np.array([x * x])], dtype=object)[0]) * x,
    "an array inside, taken out": lambda x: [inside(x).item()[1], inside(x).reshape(1).tolist()[0] * x],
    "overwritten": overwritten,
    "objects": lambda x: (np.array([Money(x), Money(x * x)]) * np.array([x, 2.0]))[0].amount,
    "a sum of objects": lambda x: np.array([Money(x), Money(x * x)]).sum().amount * x,
    "a running sum of objects": lambda x: np.cumsum(np.array([[Money(x), Money(x * x)]]))[1].amount,
    "objects by a ufunc": lambda x: np.add(np.array([Money(x)]), np.array([Money(x * x)]))[0].amount,
    "complex": lambda x: list(np.array([x * 1j, x], dtype=object) * (2 + 1j)),
    "iterated": lambda x: [e * x for e in filled(x)],
    "in place": lambda x: np.add.reduce(filled(x)) * x,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_follow_the_entries(name):
    check_gradients(PROGRAMS[name], 1.3)


def test_objects_computed_within_numpy_are_refused():
    with pytest.raises(
        mo.NoDerivative, match=r"Money.__mul__ .* was called by code written in C \(numpy.dot, called at"
    ):
        mo.gradient(lambda x: np.dot(np.array([Money(x), Money(x * x)]), np.array([2, 3])).amount, 1.3)


class Dual:
    """A number with a derivative: NumPy computes with it by its operators, and by methods of the names of its functions."""

    def __init__(self, a, b=0.0):
        self.a, self.b = a, b

    def __add__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.a + other.a, self.b + other.b)

    def __mul__(self, other):
        other = other if isinstance(other, Dual) else Dual(other)
        return Dual(self.a * other.a, self.a * other.b + self.b * other.a)

    __radd__, __rmul__ = __add__, __mul__

    def sin(self):
        return Dual(np.sin(self.a), np.cos(self.a) * self.b)

    def sqrt(self):
        return self.a**0.5

    def arctan2(self, other):
        return Dual(np.arctan2(self.a, other.a), (self.b * other.a - self.a * other.b) / (self.a**2 + other.a**2))


DUALS = {
    "function": lambda x: np.sin(Dual(x, x * x)).b,
    "function that gives a number": lambda x: np.sqrt(Dual(x)) * x,
    "function of two": lambda x: np.arctan2(Dual(x, 1.0), Dual(x * x, 2.0)).b,
    "operator": lambda x: np.add(Dual(x), x).a * np.multiply(x, Dual(x, x)).b,
    "array beside": lambda x: (np.array([1.0, x]) * Dual(x, 3.0))[1].b + (np.array([1.0, x]) + Dual(x))[1].a,
    "number beside": lambda x: (np.float64(2.0) * Dual(x, x)).b * x,
    "array": lambda x: np.sin(np.array([Dual(x, x), Dual(2 * x, 1.0)]))[1].b,
    "sum of a list": lambda x: np.sum([Dual(x, x * x), Dual(2 * x, 1.0)]).b * np.add.reduce([Dual(x), Dual(x)]).a,
    "product": lambda x: np.prod([Dual(x, x * x), Dual(2 * x, 1.0)]).b,
}


@pytest.mark.parametrize("name", DUALS)
def test_numpy_computes_with_objects_by_their_operators_and_methods(name):
    check_gradients(DUALS[name], 1.3)


def test_an_object_without_the_method_is_an_error_of_numpy():
    with pytest.raises(TypeError, match="no callable cos method"):
        mo.gradient(lambda x: np.cos(Dual(x)).a, 1.3)


UNARY = [u for u in vars(np).values() if isinstance(u, np.ufunc) and (u.nin, u.nout) == (1, 1) and "O->O" in u.types]


@pytest.mark.parametrize("ufunc", dict.fromkeys(UNARY), ids=lambda u: u.__name__)
def test_every_function_of_one_object_is_the_object_s_own(ufunc):
    """NumPy calls an operator or the method of its name, whatever rule the function has for numbers."""

    class Own:
        def __init__(self, x):
            self.x = x

        def method(self):
            return Own(self.x**3)

        __pos__ = __neg__ = __abs__ = __invert__ = __floor__ = __ceil__ = __trunc__ = method

    setattr(Own, ufunc.__name__, Own.method)
    try:
        ufunc(Own(1.3)).x  # noqa: B018
    except (TypeError, AttributeError):
        return  # NumPy has no way to compute it
    check_gradients(lambda x: ufunc(Own(x)).x * x, 1.3)
    check_gradients(lambda x: ufunc(np.array([Own(x), Own(2 * x)]))[1].x, 1.3, order=1)
