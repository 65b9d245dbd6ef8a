"""Objects with ``__array__``, ``__array_ufunc__``, ``__array_function__`` and operators beside arrays, as NumPy treats them."""

import numpy as np
import pytest
from path_tester import check_gradient, run_on


class Cell:
    def __init__(self, a):
        self.a = a

    def __array__(self, dtype=None, copy=None):
        return self.a


class Reflecting(Cell):
    def __add__(self, other):
        return np.sum(self.a + np.asarray(other) * 2)

    def __rmul__(self, other):
        return np.sum(self.a * other * 3)


class Preferred(Reflecting):
    __array_priority__ = 5


class Opaque(Reflecting):
    __array_ufunc__ = None


class Overriding(Reflecting):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return 7.0 * getattr(ufunc, method)(*[v.a if isinstance(v, Overriding) else v for v in inputs], **kwargs)


class Derived(Overriding):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if ufunc is np.add:
            return NotImplemented
        return 11.0 * getattr(ufunc, method)(*[v.a if isinstance(v, Overriding) else v for v in inputs], **kwargs)


class Functional(Cell):
    def __array_function__(self, function, types, args, kwargs):
        plain = [v.a if isinstance(v, Functional) else [e.a for e in v] if isinstance(v, list) else v for v in args]
        return 5.0 * function(*plain, **kwargs)


class Number:
    def __init__(self, x):
        self.x = x

    def __rmul__(self, other):
        return self.x * other * (3.0 if type(other) is float else 5.0)


class Base:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return 4.0 * self.x

    def __lt__(self, other):
        return self.x < 1.0


class Child(Base):
    def __radd__(self, other):
        return 9.0 * self.x

    def __gt__(self, other):
        return self.x > 10.0


def pair(x):
    return np.array([x, 2.0])


PROGRAMS = {
    "written": lambda x: np.sum(written(x) ** 2),
    "of a ufunc": lambda x: np.sum(np.sin(Cell(pair(x)))),
    "in a product": lambda x: np.sum(np.ones((2, 2)) @ Cell(pair(x)) + np.dot(Cell(pair(x)), np.ones(2))),
    "in a sum": lambda x: np.sum(np.ones(2) - Cell(pair(x))),
    "in a determinant": lambda x: np.linalg.det(Cell(np.array([[x, 1.0], [2.0, x]]))),
    "in a list": lambda x: np.sum(np.concatenate([Cell(pair(x)), np.ones(2)]) ** 2),
    "in np.where": lambda x: np.where(pair(x) > 0.0, Cell(pair(x)), 0.0)[0],
    "in place": lambda x: np.sum(in_place(x)),
    "its own operator": lambda x: Reflecting(pair(x)) + np.ones(2),
    "a number times it": lambda x: 2.0 * Reflecting(pair(x)),
    "a number of NumPy times it": lambda x: np.sum(np.sin(x) * Reflecting(pair(x))),
    "an array times it": lambda x: np.sum(pair(x) * Reflecting(pair(x))),
    "an array times a preferred one": lambda x: pair(x) * Preferred(pair(x)),
    "an array times an opaque one": lambda x: pair(x) * Opaque(pair(x)),
    "an overridden ufunc": lambda x: np.sum(np.sin(Overriding(pair(x)))),
    "an overridden operator": lambda x: np.sum(pair(x) * Overriding(pair(x))),
    "an overridden reduction": lambda x: np.add.reduce(Overriding(pair(x))),
    "a derived class first": lambda x: np.sum(np.multiply(Overriding(pair(x)), Derived(pair(x)))),
    "the next where it declines": lambda x: np.sum(np.add(Derived(pair(x)), Overriding(pair(x)))),
    "an overridden function": lambda x: np.sum(Functional(pair(x))),
    "of a list": lambda x: np.sum(np.concatenate([Functional(pair(x)), Functional(pair(x))])),
    "a ufunc of it": lambda x: np.sum(np.add(np.ones(2), Functional(pair(x)))),
    "a number of NumPy beside a number": lambda x: np.sin(x) * Number(x) + x * Number(x),
    "an array of objects": lambda x: (pair(x) * Number(x))[1],
    "a derived class on the right": lambda x: Base(x) + Child(x),
    "a derived class on the right of a comparison": lambda x: x * (2.0 if Base(x) < Child(x) else 3.0),
}


def written(x):
    a = np.zeros(2)
    a[:] = Cell(pair(x))
    return a


def in_place(x):
    a = np.ones(2)
    a *= Cell(pair(x))
    return a


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_an_object_beside_arrays(f, path):
    check_gradient(path, f, 1.3)


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
def test_a_ufunc_that_a_class_declines_raises(path):
    with pytest.raises(TypeError, match="__array_ufunc__"):
        run_on(path)(lambda x: np.add(pair(x), Opaque(pair(x))))(1.3)
