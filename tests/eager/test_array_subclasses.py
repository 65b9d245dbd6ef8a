"""Subclasses of ``ndarray`` that override operators, functions, subscripts and attributes, as unit packages do."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from morula.testing import check_gradients


class Unit:
    """A unit that makes quantities of what it is multiplied with, lists and tuples too."""

    __array_ufunc__ = None

    def __init__(self, size: float) -> None:
        self.size = size

    def __mul__(self, other: Any) -> Any:
        return Quantity(other, self.size)

    __rmul__ = __mul__


class Quantity(np.ndarray):
    """Values in a unit of some size: every way into the entries is overridden, and NumPy's C code comes back to them."""

    def __new__(cls, values: Any, size: Any) -> Quantity:
        made = np.array(values, dtype=float, subok=False).view(cls)
        made.size_of_unit = size
        return made

    def __array_finalize__(self, made_from: Any) -> None:
        self.size_of_unit = getattr(made_from, "size_of_unit", 1.0)

    @property
    def plain(self) -> Any:
        return self.view(np.ndarray) * self.size_of_unit

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        given = [x.plain if isinstance(x, Quantity) else x for x in inputs]
        if out is not None:
            result = super().__array_ufunc__(ufunc, method, *given, **kwargs)
            out[0].view(np.ndarray)[...] = result / out[0].size_of_unit
            return out[0]
        return Quantity(super().__array_ufunc__(ufunc, method, *given, **kwargs), 1.0)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in (np.concatenate, np.dot, np.where, np.clip):
            plain = [[e.plain for e in x] if isinstance(x, (list, tuple)) else getattr(x, "plain", x) for x in args]
            return Quantity(function(*plain, **kwargs), 1.0)
        return super().__array_function__(function, types, args, kwargs)

    def __getitem__(self, index: Any) -> Any:
        return Quantity(super().__getitem__(index), self.size_of_unit)

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, getattr(value, "plain", value) / self.size_of_unit)

    def __iter__(self) -> Any:
        for i in range(len(self)):
            yield self[i]

    def __mul__(self, other: Any) -> Any:
        return super().__mul__(other) * 2 if isinstance(other, str) is other else super().__mul__(other)

    def __imul__(self, other: Any) -> Any:
        return super().__imul__(other)


def plain(x: Any) -> Any:
    return x.plain if isinstance(x, Quantity) else x


@pytest.mark.parametrize(
    "f",
    [
        lambda q, r: q * r + 2 * q - q / r,
        lambda q, r: 3.0 - q**2,
        lambda q, r: np.array([2.0, 1.0]) / q,
        lambda q, r: -abs(q) + np.sqrt(q),
        lambda q, r: np.sum(q) + q.sum() * r.mean() + q.prod(),
        lambda q, r: np.std(q) + q.var() + np.max(r) + r.min(),
        lambda q, r: np.add.reduce(q) + np.multiply.accumulate(r)[1],
        lambda q, r: np.median(q) * np.mean(r),
        lambda q, r: np.concatenate([q, r]) * 2,
        lambda q, r: np.dot(q, r) + q @ r,
        lambda q, r: np.where(np.array([True, False]), q, r),
        lambda q, r: np.clip(q, 0.1, r),
        lambda q, r: q.clip(0.1, 50.0),
        lambda q, r: q[1] * r[0] + q[::-1][0],
        lambda q, r: sum(e * e for e in q),
        lambda q, r: q.reshape(2, 1).T * r.copy(),
        lambda q, r: np.linalg.norm(q) + np.linalg.norm(r),
        lambda q, r: [1.0, 2.0] * Unit(3.0) * q,
        lambda q, r: np.trapezoid(q, dx=2.0) + np.diff(r),
        lambda q, r: np.cross([q[0], q[1], 1.0], [r[0], 2.0, r[1]]),
    ],
)
def test_what_a_class_of_quantities_overrides(f):
    def program(x, y, size):
        return plain(f(Quantity(x, size), y * Unit(2.0)))

    check_gradients(program, np.array([1.3, 2.1]), np.array([0.7, 1.9]), 3.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: np.concatenate._implementation([x, y * y]),
        lambda x, y: np.where._implementation(np.array([True, False]), x, y) * np.dot._implementation(x, y),
        lambda x, y: np.inner._implementation(x, y) * np.vdot._implementation(x, x),
        lambda x, y: np.concatenate._implementation([Quantity(x, 3.0), Quantity(y, 3.0)]).view(np.ndarray) ** 2,
    ],
)
def test_functions_in_c_without_the_dispatch_to_classes(f):
    check_gradients(f, np.array([1.3, 2.1]), np.array([0.7, 1.9]))


@pytest.mark.parametrize("make", [np.array, lambda x: Quantity(x, 2.0)], ids=["array", "subclass"])
def test_a_power_without_a_modulus(make):
    def f(x):
        return plain(make(x).__pow__(3.0, None)) + plain(make(x).__rpow__(2.0, None))

    check_gradients(f, np.array([1.3, 2.1]))


def test_quantities_in_place():
    def f(x, y, size):
        q, r = Quantity(x, size) * 1.0, Quantity(y, 2.0)
        q += r
        q *= r
        q[0] = r[1] * q[1]
        np.add(q, r, out=q)
        return q.plain + r.plain

    check_gradients(f, np.array([1.3, 2.1]), np.array([0.7, 1.9]), 3.0)


def test_a_class_that_overrides_methods_and_leaves_the_functions():
    """As ``np.matrix`` does: NumPy's functions come back to the methods."""

    class Weighted(np.ndarray):
        def sum(self, axis=None, dtype=None, out=None, keepdims=False):
            return super().sum(axis=axis) * 3

        def take(self, indices, axis=None, out=None, mode="raise"):
            return super().take(indices, axis=axis) * 2

    def f(x):
        w = x.view(Weighted)
        return np.sum(w) + w.sum(axis=0)[1] + np.take(w, [1, 1]).sum() + np.add.reduce(w, axis=None) + w.mean()

    check_gradients(f, np.array([[1.0, 2.0], [3.0, 5.0]]))


def test_code_in_c_is_handed_an_array_that_refuses_to_be_written_out():
    class Guarded(np.ndarray):
        def tobytes(self, order="C"):
            raise NotImplementedError("not of a quantity")

        def copy(self, order="C"):
            raise NotImplementedError("not of a quantity")

    def f(x):
        y = (x * x).view(Guarded)
        return np.asarray(y).sum() + len(np.array2string(y)) + np.broadcast_to(y, (2, 2))[1, 1] * sum(np.lexsort((y,)))

    check_gradients(f, np.array([1.5, 2.0]))


class Vector3(np.ndarray):
    """A vector whose class is found from its instances, as ``vectormath`` makes them."""

    def __new__(cls, x, y=None, z=None):
        if y is None:
            return cls(x[0], x[1], x[2])
        return np.r_[x, y, z].view(cls)

    def cross(self, other):
        return self.__class__(np.cross(self, other))

    @classmethod
    def along(cls, x):
        return cls(x, 0.0, x * x)

    @staticmethod
    def length(v):
        return np.sqrt((v * v).sum())


def test_methods_that_belong_to_the_class():
    def f(x, y):
        v = Vector3(x, 2.0, y)
        v.scale = lambda w: w * y
        return np.asarray(v.scale(v.cross(v.along(y)))), v.length(v), v.__class__.along(x)[2]

    check_gradients(f, 1.5, 0.7)


def test_the_class_of_a_number_or_a_list_as_a_constructor():
    def f(x, a):
        pair = [x, x]
        return x.__class__(x * x) * pair.__class__(a)[1] + a.dtype.type(x).__class__(x * 3) + sum((x,).__class__(a))

    check_gradients(f, 1.5, np.array([0.4, 0.7]))


class Remembering(np.ndarray):
    """Its ufuncs keep what they are given, and say which they were."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [np.asarray(x) for x in inputs]
        self.kept = plain[0] * 2.0
        return getattr(ufunc, method)(*plain, **kwargs)


@pytest.mark.parametrize("method", ["__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"])
def test_comparisons_run_the_ufuncs_of_the_class_on_the_tape(method):
    compare = getattr(operator, method.strip("_"))

    def f(x):
        a = x.view(Remembering)
        mask = compare(a, np.array([0.1, 1.4]))
        return np.sum(a.kept**2) + np.sum(np.asarray(a)[mask])

    check_gradients(f, np.array([0.3, 0.7]))
