"""``symbolic.rule``: derivatives from expressions of the value or of the partial derivatives, on every path."""

from __future__ import annotations

import ctypes
import ctypes.util

import numpy as np
import pytest
from scipy import special

sp = pytest.importorskip("sympy")

from path_tester import PATHS, check_gradient  # noqa: E402

import morula as mo  # noqa: E402

x, y, w = sp.symbols("x y w")
V, W = np.array([0.3, 0.7, 1.2]), np.array([[0.5], [1.5]])


def logistic(a):
    return 1 / (1 + np.exp(-a))


def power(a, b):
    return a**b


def mean_of_normal(p, s, x):
    return special.nrdtrimn(p, s, x)


mean = mo.symbolic.rule(mean_of_normal, y - w * sp.sqrt(2) * sp.erfinv(2 * x - 1), (x, w, y))
"""It calls a function of SciPy, in C, for which morula has no rule."""

mo.symbolic.rule(logistic, args=x, partials=[w * (1 - w)], result=w)
mo.symbolic.rule(power, args=(x, y), partials=[y * x ** (y - 1), sp.nan])


@pytest.mark.parametrize("path", PATHS)
def test_from_the_value(path):
    for p, s in [(V / 2, W), (V / 2, V), (V / 2, 0.5), (np.full((1, 1), 0.3), W), (0.3, 0.5)]:
        check_gradient(path, lambda p, s: np.sum(mean(p, s, 1.0) ** 2), p, s)


@pytest.mark.parametrize("path", PATHS)
def test_from_the_partial_derivatives(path):
    check_gradient(path, lambda a: np.sum(logistic(a) ** 2), V)
    check_gradient(path, lambda a: logistic(a) * a, 0.3)
    f = mo.grad(lambda a: np.sum(logistic(a) ** 2))
    check_gradient(path, lambda a: np.sum(f(a) ** 2), V)  # of second order


@pytest.mark.parametrize("path", PATHS)
def test_forward_mode(path):
    f = lambda a, da: mo.jvp(lambda a: np.sum(logistic(a) * mean(a / 2, a, 1.0)), (a,), (da,))[1]  # noqa: E731
    run = f if path == "eager" else mo.jit(f, target=path)
    exact = mo.grad(lambda a: np.sum((1 - a * special.ndtri(a / 2)) / (1 + np.exp(-a))))(V)
    assert np.isclose(run(V, np.array([1.0, 0.0, 2.0])), exact @ [1.0, 0.0, 2.0])


def test_a_partial_derivative_that_is_not_known_is_nan_and_does_no_harm_to_others():
    assert np.isclose(mo.grad(power)(2.0, 3.0), 12.0)
    assert np.isnan(mo.grad(power, 1)(2.0, 3.0))


@pytest.mark.parametrize("path", PATHS)
def test_a_function_of_ctypes(path):
    erf = ctypes.CDLL(ctypes.util.find_library("m")).erf
    erf.argtypes, erf.restype = [ctypes.c_double], ctypes.c_double
    assert mo.symbolic.rule(erf, sp.erf(x), x) is erf
    check_gradient(path, lambda a: erf(2 * a) * a, 0.3)


def test_zero_is_zero():
    root = mo.symbolic.rule(lambda a: np.sqrt(a), args=x, partials=[1 / (2 * w)], result=w)
    with np.errstate(all="ignore"):
        assert mo.grad(lambda a: np.sum(np.array([0.0, 1.0]) * root(a)))(np.array([0.0, 4.0])).tolist() == [0.0, 0.25]


def test_single_precision_and_complex_numbers():
    g = mo.grad(lambda a: np.sum(logistic(a)))(V.astype(np.float32))
    assert g.dtype == np.float32
    f = mo.symbolic.rule(lambda a: a * a * a, x**3, x)
    assert np.isclose(mo.pullback(f, 1 + 2j)[1](1.0)[0], np.conj(3 * (1 + 2j) ** 2))


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: mo.symbolic.rule("name", x, x), "the first argument must be a function, not 'name'"),
        (lambda: mo.symbolic.rule(logistic, x, ()), r"args must be the symbols of the function's arguments, not \(\)"),
        (lambda: mo.symbolic.rule(logistic, args=x), "give either expr, the function's value, or partials="),
        (lambda: mo.symbolic.rule(logistic, x, x, partials=[1]), "give either expr"),
        (lambda: mo.symbolic.rule(logistic, args=x, partials=[1, 2]), "2 partial derivatives for 1 arguments"),
        (lambda: mo.symbolic.rule(logistic, args=x, partials=[y]), "contains y, not among the arguments"),
        (lambda: mo.grad(mo.symbolic.rule(lambda *a: a[0], x, x))(1.0, 2.0), "called with 2 arguments; its rule is for 1"),
    ],
)  # fmt: skip
def test_errors(call, text):
    with pytest.raises(mo.BadInput, match=text):
        call()
