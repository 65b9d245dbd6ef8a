"""Subclasses of ``ndarray``, classes with ``__array_ufunc__`` or ``__array_function__``, and ``np.matrix``."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import morula as mo

random = np.random.default_rng(3)
V = random.uniform(0.5, 1.5, 5)
S = random.uniform(-1, 1, (3, 3))
A = random.uniform(-1, 1, (3, 4))
POSITIVE = S @ S.T + 2 * np.eye(3)


class Length(np.ndarray):
    """The example of NumPy's manual: an array with one more attribute."""

    def __new__(cls, values, unit="m"):
        new = np.asarray(values).view(cls)
        new.unit = unit
        return new

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", None)

    def __getitem__(self, index):
        return 3 * super().__getitem__(index)

    @property
    def millimetres(self):
        return 1000 * np.asarray(self)

    def doubled(self):
        return 2 * self

    def sum(self, axis=None, dtype=None, out=None):
        return 10 * np.ndarray.sum(self, axis, dtype, out)


class Logged(np.ndarray):
    """An array that takes part in ufuncs by its own ``__array_ufunc__``."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [x.view(np.ndarray) if isinstance(x, Logged) else x for x in inputs]
        y = getattr(ufunc, method)(*plain, **kwargs)
        return y.view(Logged) if isinstance(y, np.ndarray) else y


class Boxed(np.lib.mixins.NDArrayOperatorsMixin):
    def __init__(self, value):
        self.value = np.asarray(value)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return Boxed(getattr(ufunc, method)(*(x.value if isinstance(x, Boxed) else x for x in inputs), **kwargs))

    def __array_function__(self, function, types, args, kwargs):
        return Boxed(7 * function(*(x.value if isinstance(x, Boxed) else x for x in args), **kwargs))


def unit_is_kept(x):
    y = Length(x, "km") * 2
    return np.asarray(y) * (3 if y.unit == "km" else 5)


CASES = {
    "an attribute of its own": (unit_is_kept, V),
    "a method in Python": (lambda x: np.asarray(Length(x).doubled()), V),
    "a method in place of the array's": (lambda x: Length(x).sum() + np.sum(Length(x)), V),
    "a property": (lambda x: Length(x).millimetres, V),
    "a subscript": (lambda x: Length(x)[1] * x, V),
    "__array_ufunc__": (lambda x: np.asarray(np.exp(x.view(Logged)) * 3.0), V),
    "__array_ufunc__ with a method": (lambda x: np.add.reduce(Boxed(x)).value, V),
    "operators by the mixin": (lambda x: (2 * Boxed(x) ** 2 + Boxed(x) / x).value, V),
    "__array_function__": (lambda x: np.sum(Boxed(x)).value, V),
    "matrix product": (lambda a: np.asarray(np.matrix(a) * np.matrix(a).T), A),
    "matrix power": (lambda a: (np.matrix(a) ** 2).A1, S),
    "inverse of a matrix": (lambda a: np.asarray(np.matrix(a).I), POSITIVE),
    "adjoint of a matrix": (lambda a: np.array((2 * np.asmatrix(a).H + 1)[0, 1]), S[:2, :2] + 1j),
    "rows of a matrix": (lambda a: np.matrix(a).sum(axis=0).A + np.matrix(a)[0].A ** 2, S),
    "matrix of blocks": (lambda a: np.asarray(np.bmat([[a, a * 2]])), S),
}


@pytest.mark.parametrize(("program", "x"), CASES.values(), ids=CASES)
def test_an_array_of_a_class_of_its_own(program, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)  # of np.matrix
        mo.testing.check_gradients(program, x)


def test_the_class_of_a_result_is_as_python_has_it():
    def program(x):
        y = np.asmatrix(x)
        return [type(z).__name__ for z in (y.copy(), y.sum(), y[0], y.T, y * 2, y.I, np.sum(y, axis=0))], np.sum(x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        (kinds, _), _ = mo.pullback(program, POSITIVE)
        assert kinds == program(POSITIVE)[0] == ["matrix", "float64", *["matrix"] * 5]
