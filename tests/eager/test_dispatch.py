"""Classes that override NumPy's functions: NEP 13 (``__array_ufunc__``) and NEP 18 (``__array_function__``)."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import morula as mo


def strip(x):
    if isinstance(x, (list, tuple)):
        return type(x)(map(strip, x))
    return x.value if isinstance(x, Quantity) else x


class Quantity:
    """An array with a unit, as unit packages write it."""

    def __init__(self, value, unit="m"):
        self.value, self.unit = value, unit

    def __array_function__(self, function, types, args, kwargs):
        return Quantity(function(*map(strip, args), **{k: strip(x) for k, x in kwargs.items()}), self.unit)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return Quantity(getattr(ufunc, method)(*map(strip, inputs), **kwargs), self.unit)


class Doubling(np.ndarray):
    """A subclass that has the last word on results of functions, though not on those of methods."""

    def __array_function__(self, function, types, args, kwargs):
        return super().__array_function__(function, types, args, kwargs) * 2

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **kwargs):
        plain = [x.view(np.ndarray) if isinstance(x, Doubling) else x for x in inputs]
        if out is not None:
            kwargs["out"] = tuple(x.view(np.ndarray) for x in out)
        return np.asarray(super().__array_ufunc__(ufunc, method, *plain, **kwargs)).view(Doubling)


class Tripling(Doubling):
    def __array_function__(self, function, types, args, kwargs):
        return super().__array_function__(function, types, args, kwargs) * 1.5


class Series:
    """No array, with methods that NumPy's functions of the same name look for."""

    def __init__(self, values):
        self.values = values

    def clip(self, low, high, out=None):
        return Series(np.minimum(np.maximum(self.values, low), high) * 3)

    def cumsum(self, axis=None, dtype=None, out=None):
        return Series(np.cumsum(self.values * self.values))

    def sum(self, axis=None, dtype=None, out=None):
        return self.values[0] * 5


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.concatenate([Quantity(a), Quantity(a * a)]).value.sum(),
        lambda a: np.stack((Quantity(a), a * a), axis=1).value.sum(),
        lambda a: np.interp(1.1, Quantity(a), fp=Quantity(a * a)).value,
        lambda a: np.trapezoid(Quantity(a), x=a * a).value,
        lambda a: np.hypot(Quantity(a), a * a).value.sum(),
        lambda a: np.add.reduce(Quantity(a * a)).value,
        lambda a: np.multiply.outer(a, Quantity(a * a)).value.sum(),
        lambda a: np.multiply.accumulate(Quantity(a * a)).value.sum(),
        lambda a: np.asarray(np.cumsum(a.view(Doubling) * a) + np.trapezoid(a.view(Doubling))).sum(),
        lambda a: np.asarray(np.concatenate([a.view(Doubling), a.view(Tripling) * a])).sum(),
        lambda a: np.asarray(np.sin(a.view(Doubling)).cumsum()).sum(),
        lambda a: np.asarray(np.multiply(a, a.view(Doubling), out=np.zeros(3).view(Doubling))).sum(),
        lambda a: np.asarray(np.add.reduce(a.view(Doubling) * a)).item(),
        lambda a: np.clip(Series(a), 0.5, 1.5).values.sum(),
        lambda a: np.cumsum(Series(a)).values.sum() + np.sum(Series(a)),
    ],
)
def test_a_function_is_handed_to_the_class_that_takes_it_over(check, f):
    check(f, np.array([0.4, 1.2, 2.0]))


class Counted(np.ndarray):
    """Its methods take the ufuncs over, those without a rule too, and store what they compute."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        self.kept = 3.0 * np.sum(np.asarray(self))
        values = np.asarray(inputs[0])
        return tuple((values * k).view(type(self)) for k in range(1, max(ufunc.nout, 2)))


WITHOUT_RULE = [
    special.kolmogorov,
    special.elliprc,
    special.mathieu_a,
    special.kelvin,
    np.frompyfunc(lambda x: x, 1, 2),
]


@pytest.mark.parametrize("ufunc", WITHOUT_RULE, ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("made", [np.array, lambda x: x * np.ones(3)], ids=["of no dimension", "of one"])
def test_a_ufunc_without_a_rule_is_handed_to_the_class_too(check, ufunc, made):
    def f(x):
        a = made(x).view(Counted)
        found = ufunc(*[a] * ufunc.nin)
        return np.asarray(found[0]).sum() * x + a.kept

    check(f, 0.7)


def test_a_ufunc_without_a_rule_that_the_class_calls_is_refused():
    class Plain(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            found = super().__array_ufunc__(ufunc, method, *(np.asarray(x) for x in inputs), **kwargs)
            return tuple(np.array(e).view(Plain) for e in found)

    def f(x):
        return np.asarray(special.kelvin(np.array(x).view(Plain))[1])[()].real

    with pytest.raises(mo.NoDerivative, match="kelvin, called at"):
        mo.grad(f)(0.7)
