"""SciPy's solvers and integrators in C, which call the program back: value, gradient, state and exceptions in compiled code."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
from scipy.integrate import quad
from scipy.optimize import brentq, curve_fit, fsolve, leastsq, newton, root

import morula as mo

T = np.linspace(0.0, 1.0, 7)
Y = 2.0 * np.exp(-1.3 * T) + 0.01 * np.cos(20 * T)


@pytest.mark.parametrize("solver", ["bisect", "brenth", "brentq", "ridder"])
def test_a_bracketed_root(solver, target):
    def f(a):
        return getattr(scipy.optimize, solver)(lambda x: x * x * x - a, 0.0, 10.0)

    value, slope = mo.jit(mo.value_and_grad(f), target=target)(2.0)
    assert value == f(2.0)
    assert np.isclose(slope, 2 ** (-2 / 3) / 3)


def test_a_function_that_changes_variables_is_called_as_often_as_in_python(check):
    def f(a, b):
        count = 0
        last = [0]

        def residual(x):
            nonlocal count
            count += 1
            last[:] = [2 * count]
            return x * np.exp(b * x) - a

        x, report = brentq(residual, 0.0, 10.0, full_output=True)
        return b * x + 0.01 * count + report.iterations + last[0]

    check(f, 2.0, 0.7)


def test_an_exception_of_the_function_or_the_solver_is_caught(check):
    class TooLarge(Exception):
        pass

    def f(a):
        def residual(x):
            if x > 2.0 * a:
                raise TooLarge
            return x * x - a

        try:
            y = brentq(residual, 0.0, 10.0)
        except TooLarge:
            y = 3.0 * a
        try:
            y += brentq(lambda x: x * x + a, 0.0, 1.0)
        except ValueError:
            y *= a
        return y

    check(f, 2.0)


def test_an_exception_leaves_the_program(target):
    def f(a):
        def residual(x):
            if x > a:
                raise ZeroDivisionError("too far")
            return x - a

        return brentq(residual, 0.0, 10.0)

    with pytest.raises(ZeroDivisionError, match="too far"):
        mo.jit(f, target=target)(2.0)
    with pytest.raises(ValueError, match="f\\(a\\) and f\\(b\\) must have different signs"):
        mo.jit(lambda a: brentq(lambda x: x * x + a, 0.0, 1.0), target=target)(1.0)
    with pytest.raises(RuntimeError, match="Failed to converge after 2 iterations"):
        mo.jit(lambda a: brentq(lambda x: x * x - a, 0.0, 3.0, maxiter=2), target=target)(1.0)


def test_a_root_within_a_root(check):
    def f(a):
        return brentq(lambda x: x - a * brentq(lambda y: y * y * y - x - 1.0, 0.0, 5.0), 0.0, 10.0)

    check(f, 1.5)


def test_second_derivatives(target):
    f = lambda a: brentq(lambda x: x * x - a, 0.0, 10.0)  # noqa: E731
    assert np.isclose(mo.jit(mo.grad(mo.grad(f)), target=target)(4.0), -1 / 32)


def test_newtons_method(check):
    check(lambda a: newton(lambda x: x * x - a, 1.0, fprime=lambda x: 2 * x), 2.0)


def test_systems_of_equations(check):
    def residual(x, b):
        return np.array([x[0] * x[1] - b[0], x[0] + x[1] ** 2 - b[1]])

    def f(b):
        x = root(
            residual, np.array([1.0, 2.0]), args=(b,), jac=lambda x, b: np.array([[x[1], x[0]], [1.0, 2 * x[1]]])
        ).x
        return np.sum(x**3) + fsolve(lambda x: [x[0] ** 2 - b[0]], 1.0)[0]

    check(f, np.array([2.0, 5.0]))


def test_least_squares(check):
    def f(y):
        p, _ = leastsq(lambda p: p[0] * np.exp(p[1] * T) - y, [1.0, 0.5])
        q, _ = leastsq(lambda q: q[0] * T + q[1] - y, [1.0, 0.5], Dfun=lambda q: np.stack([T, np.ones(7)], 1))
        return np.sum(p**2) + np.sum(q**3)

    check(f, Y)


def test_a_fitted_curve(target):
    f = lambda y: np.sum(curve_fit(lambda t, a, b: a * np.exp(b * t), T, y, [1.0, 0.5])[0] ** 2)  # noqa: E731
    value, slope = mo.jit(mo.value_and_grad(f), target=target)(Y)
    expected = mo.value_and_grad(f)(Y)
    assert np.isclose(value, expected[0]) and np.allclose(slope, expected[1], 1e-6)


def test_a_solution_that_was_not_found_has_no_derivative(target):
    def f(a):
        x, report, info, _ = fsolve(lambda x: x * x + a, 1.0, full_output=True)
        return x[0]

    assert np.isfinite(mo.jit(f, target=target)(1.0))
    with pytest.raises(mo.NoDerivative, match="has not found a solution"):
        mo.jit(mo.grad(f), target=target)(1.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: quad(lambda x: np.exp(a * x), 0.0, 1.0)[0],
        lambda a: quad(lambda x, b: np.sin(b * x), a, 2.0 * a, args=(a,))[0],
        lambda a: quad(lambda x: np.exp(-a * x * x), -np.inf, np.inf)[0],
        lambda a: quad(lambda x: np.exp(-a * x), a, np.inf)[0],
    ],
    ids=["known ends", "unknown ends", "the whole line", "a half-line"],
)
def test_integrals(f, target):
    value, slope = mo.jit(mo.value_and_grad(f), target=target)(0.7)
    expected = mo.value_and_grad(f)(0.7)
    assert np.isclose(value, expected[0], 1e-12) and np.isclose(slope, expected[1], 1e-9)


def test_an_extrapolated_integral_has_no_derivative(target):
    f = lambda a: quad(lambda x: np.log(a * x) / np.sqrt(x), 0.0, 1.0)[0]  # noqa: E731
    assert np.isclose(mo.jit(f, target=target)(1.0), -4.0)
    with pytest.raises(mo.NoDerivative, match="extrapolated"):
        mo.jit(mo.grad(f), target=target)(1.0)


def test_an_entry_of_a_dict_is_found_at_an_unknown_number(check):
    texts = {0: "zero", 1: "one", 2.0: "two"}

    def f(x, k):
        try:
            word = texts[int(x * k)]
        except KeyError:
            word = "none"
        return x if word == "one" else 2.0 * x if word == "two" else 3.0 * x

    for x in (0.5, 1.0, 7.0):
        check(f, x, 2.0)
