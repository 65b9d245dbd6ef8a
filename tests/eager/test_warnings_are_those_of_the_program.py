"""A derivative gives the floating-point warnings of the program and no others, under its ``np.errstate``."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.special

import morula as mo

PROGRAMS = {
    "sqrt": (lambda x: np.sum(np.sqrt(x)), [0.0, 1.0]),
    "sqrt of single precision": (lambda x: np.sum(np.sqrt(x)), np.float32([0.0, 1.0])),
    "sqrt of a number": (lambda x: np.sqrt(x), 0.0),
    "sqrt behind a mask": (lambda x: np.sum(np.where(x > 0, np.sqrt(np.maximum(x, 0)), 0.0)), [0.0, 4.0]),
    "cbrt": (lambda x: np.sum(np.cbrt(x)), [0.0, 1.0]),
    "power": (lambda x: np.sum(x**0.5 + np.power(x, 0.3)), [0.0, 1.0]),
    "arcsin": (lambda x: np.sum(np.arcsin(x)), [1.0, 0.0]),
    "arccosh": (lambda x: np.sum(np.arccosh(x)), [1.0, 2.0]),
    "log behind a mask": (lambda x: np.sum(np.where(x > 0, np.log(x) / x, 0.0)), [0.0, 1.0]),
    "log": (lambda x: np.sum(np.log(x)), [0.0, 1.0]),
    "reciprocal": (lambda x: np.sum(1.0 / x), [1e-200, 1.0]),
    "arctan2": (lambda x: np.sum(np.arctan2(x, x)), [0.0, 1.0]),
    "xlogy": (lambda x: np.sum(scipy.special.xlogy(x, x)), [0.0, 1.0]),
    "norm": (lambda x: np.linalg.norm(x), [0.0, 0.0]),
    "std": (lambda x: np.std(x), [1.0, 1.0]),
    "overflow": (lambda x: np.sum(x * x * 1e-300), [1e200, 1.0]),
    "nansum": (lambda x: np.nansum(x * x), [np.nan, 1.0]),
    "singular in the limit": (lambda x: np.sum(scipy.linalg.solve(np.diag(x), x)), [1e-17, 1.0]),
}
TIERS = {"structured": lambda f: f, "recorded": lambda f: lambda x: [f(x)][0]}


def told(f, *args):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        f(*args)
    return {(w.category, str(w.message)) for w in caught}


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_gradient_warns_of_what_the_program_warns_of(name, tier):
    f, x = PROGRAMS[name]
    f, x = TIERS[tier](f), x if isinstance(x, float) else np.asarray(x)
    expected = told(f, x)
    assert told(mo.grad(f), x) == expected
    assert told(lambda x: mo.vjp(f, x)[1](mo.vjp(f, x)[0]), x) == expected
    assert told(mo.grad(lambda x: np.sum(mo.grad(f)(x))), x) <= expected


def test_where_the_program_would_raise_its_derivative_does_not():
    with np.errstate(all="raise"):
        assert mo.grad(lambda x: np.sum(np.sqrt(x)))(np.zeros(2)).tolist() == [np.inf, np.inf]
        with pytest.raises(FloatingPointError):
            mo.grad(lambda x: np.sum(np.log(x)))(np.zeros(2))
        assert np.geterr()["divide"] == "raise"
        with pytest.raises(FloatingPointError):
            np.log(np.zeros(1))


def test_an_error_in_a_backward_sweep_leaves_the_state_of_numpy_as_it_was():
    def fails(dy):
        raise KeyError("no")

    before = np.geterr()
    with pytest.raises(KeyError):
        mo.grad(lambda x: mo.hook(fails, x) ** 2)(1.5)
    assert np.geterr() == before


@pytest.mark.parametrize("tier", TIERS)
def test_pullbacks_and_hooks_given_by_hand_warn_as_programs_do(tier):
    def doubled(x):
        return 2 * x

    @mo.adjoint(doubled)
    def _(x):
        return 2 * x, lambda dy: dy / np.zeros(1)[0] * 0 + 2 * dy

    f = TIERS[tier](doubled)
    assert told(mo.vjp(f, 1.5)[1], 1.0) == {
        (RuntimeWarning, "divide by zero encountered in scalar divide"),
        (RuntimeWarning, "invalid value encountered in scalar multiply"),
    }
    assert told(mo.vjp(lambda x: mo.hook(lambda dx: np.log(0 * dx), x), 1.5)[1], 1.0) == {
        (RuntimeWarning, "divide by zero encountered in log")
    }
    with np.errstate(all="ignore"):
        back = mo.vjp(f, 1.5)[1]
    assert told(back, 1.0) == set()
