"""``scipy.optimize`` unmodified: solutions as functions of the parameters of the equation or objective."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
import scipy.optimize as so

import morula as mo
from morula.testing import check_gradients

P = np.array([0.7, 1.3])
TIMES = np.linspace(0.0, 1.0, 8)
OBSERVED = 0.9 * np.exp(-1.1 * TIMES) + 0.01 * np.sin(20 * TIMES)


def cubic(x, p):
    return x**3 + p[0] * x - p[1]


def slope(x, p):
    return 3 * x**2 + p[0]


def curves(x, p):
    return np.array([x[0] ** 2 + p[0] * x[1] - 1, x[1] ** 3 + x[1] + x[0] * p[1] - 0.5])


def curves_jacobian(x, p):
    return np.array([[2 * x[0], p[0]], [p[1], 3 * x[1] ** 2 + 1]])


def valley(x, p):
    """Smallest at x[0] = p[0] and x[1] = p[0] p[1] + 0.5, with the value p[1] there."""
    return np.cosh(x[0] - p[0]) - 1 + 2 * (x[1] - x[0] * p[1] - 0.5) ** 2 + p[1]


def valley_gradient(x, p):
    bent = 4 * (x[1] - x[0] * p[1] - 0.5)
    return np.array([np.sinh(x[0] - p[0]) - p[1] * bent, bent])


def valley_hessian(x, p):
    return np.array([[np.cosh(x[0] - p[0]) + 4 * p[1] ** 2, -4 * p[1]], [-4 * p[1], 4.0]])


def lowest(p):
    return np.array([p[0], p[0] * p[1] + 0.5])


def check_equal(f, g, *args, rtol=1e-6, order=1):
    """f has the gradient of the closed form g, and that gradient's square again."""
    for _ in range(order):
        np.testing.assert_allclose(mo.gradient(f, *args)[0], mo.gradient(g, *args)[0], rtol=rtol, atol=rtol)
        f, g = (lambda p, h=h: np.sum(mo.grad(h)(p) ** 2) for h in (f, g))


# ---- roots


@pytest.mark.parametrize("method", ["brentq", "brenth", "bisect", "ridder", "toms748"])
def test_roots_in_a_bracket(method):
    options = {"bracket": (0.0, 2.0), "method": method, "xtol": 1e-14, "rtol": 1e-13}
    check_gradients(lambda p: so.root_scalar(cubic, args=(p,), **options).root, P, order=1)
    check_gradients(lambda p: getattr(so, method)(lambda x: cubic(x, p), 0.0, 2.0, xtol=1e-14, rtol=1e-13), P, order=1)


@pytest.mark.parametrize("method", ["brentq", "bisect"])
def test_second_derivative_of_a_root_in_a_bracket(method):
    def f(c):
        return getattr(so, method)(lambda x: x**3 - c, 0.5, 2.0, xtol=1e-14)

    assert abs(mo.grad(f)(1.3) - 1.3 ** (-2 / 3) / 3) < 1e-10
    assert abs(mo.grad(mo.grad(f))(1.3) + 2 / 9 * 1.3 ** (-5 / 3)) < 1e-9


def test_a_function_is_called_as_often_as_by_python_alone():
    counts = []

    def f(c):
        calls = 0

        def g(x):
            nonlocal calls
            calls += 1
            return x**2 - c

        root = so.brentq(g, 0.0, 2.0)
        counts.append(calls)
        return root

    assert abs(mo.grad(f)(2.25) - 1 / 3) < 1e-10
    f(2.25)
    assert counts[0] == counts[1]


@pytest.mark.parametrize("method", ["newton", "secant", "halley"])
def test_roots_from_a_start(method):
    more = {
        "newton": {"fprime": slope},
        "secant": {"x1": 1.2},
        "halley": {"fprime": slope, "fprime2": lambda x, p: 6 * x},
    }
    f = lambda p: so.root_scalar(cubic, args=(p,), x0=1.0, method=method, xtol=1e-12, **more[method]).root  # noqa: E731
    check_gradients(f, P, order=1)


def test_newton_on_arrays_and_in_the_complex_plane():
    check_gradients(lambda p: so.newton(lambda x: x**3 - p, np.array([1.0, 1.2]), tol=1e-12), P, order=1)
    check_gradients(lambda p: so.newton(lambda x: x**3 - p, np.array([1.0, 1.2]), lambda x: 3 * x**2), P, order=1)
    check_gradients(lambda p: so.newton(cubic, -0.5 + 1.0j, slope, args=(p,), tol=1e-12).imag, P, order=1)


@pytest.mark.parametrize("method", ["del2", "iteration"])
def test_fixed_points(method):
    f = lambda p: so.fixed_point(lambda x: 0.5 * np.cos(p * x), np.array([0.5, 0.4]), xtol=1e-12, method=method)  # noqa: E731
    check_gradients(f, P, order=1)


@pytest.mark.parametrize("method", ["hybr", "lm", "anderson", "df-sane", "diagbroyden"])
def test_roots_of_systems(method):
    f = lambda p: so.root(curves, [0.8, 0.1], args=(p,), method=method, tol=1e-11).x  # noqa: E731
    check_gradients(f, P, order=1, rtol=1e-5)


def test_fsolve_with_and_without_a_jacobian():
    check_gradients(lambda p: so.fsolve(curves, [0.8, 0.1], (p,), xtol=1e-12), P, order=2)
    check_gradients(lambda p: so.fsolve(curves, [0.8, 0.1], (p,), curves_jacobian, xtol=1e-12), P, order=1)
    check_gradients(lambda p: so.fsolve(lambda x: [v for v in curves(x, p)], [0.8, 0.1], xtol=1e-12), P, order=1)


def test_a_root_that_was_not_found_or_is_not_simple_is_refused():
    def not_found(p):
        return np.sum(so.root(lambda x: x**2 + p, [0.3, 0.2]).x)

    def stopped(p):
        return so.brentq(lambda x: x**3 - p, 0.0, 2.0, maxiter=2, disp=False)

    def double(p):
        return so.brentq(lambda x: (x - p) ** 3, 0.0, 2.0)

    with pytest.raises(mo.NoDerivative, match="_hybrd"):
        mo.grad(not_found)(P)
    with pytest.raises(mo.NoDerivative, match="_brentq"):
        mo.grad(stopped)(1.3)
    with pytest.raises(mo.NoDerivative, match="singular"):
        mo.grad(double)(1.0)


# ---- minima


@pytest.mark.parametrize(
    "method", ["BFGS", "CG", "Newton-CG", "L-BFGS-B", "TNC", "SLSQP", "trust-ncg", "trust-krylov", "dogleg"]
)
def test_minima_with_a_gradient(method):
    second = valley_hessian if method.startswith(("trust", "dog")) else None

    def f(p):
        found = so.minimize(valley, [0.5, 1.0], args=(p,), jac=valley_gradient, hess=second, method=method, tol=1e-9)
        return found.x[0] * found.x[1] + found.fun

    check_equal(f, lambda p: lowest(p)[0] * lowest(p)[1] + p[1], P, rtol=1e-4)


@pytest.mark.parametrize("method", ["BFGS", "CG", "L-BFGS-B", "TNC", "SLSQP", "Nelder-Mead", "Powell", "COBYLA"])
def test_minima_without_a_gradient(method):
    options = {"xatol": 1e-8, "fatol": 1e-12} if method == "Nelder-Mead" else {}

    def f(p):
        return so.minimize(valley, np.array([0.5, 1.0]), args=(p,), method=method, options=options).x[1]

    check_equal(f, lambda p: lowest(p)[1], P, rtol=2e-2 if method in ("TNC", "SLSQP") else 1e-3)


def test_an_objective_that_returns_its_gradient_too():
    def f(p):
        pair = lambda x: (valley(x, p), valley_gradient(x, p))  # noqa: E731
        return so.minimize(pair, [0.5, 1.0], jac=True, method="L-BFGS-B", tol=1e-12).x[1]

    check_equal(f, lambda p: lowest(p)[1], P, rtol=1e-5)


def test_second_derivative_of_a_minimum():
    def f(p):
        return so.minimize(valley, [0.5, 1.0], args=(p,), jac=valley_gradient, tol=1e-12, method="L-BFGS-B").x[1]

    check_equal(f, lambda p: lowest(p)[1], P, rtol=1e-4, order=2)


def test_bounds_that_hold_a_variable():
    def f(p):
        box = [(None, 0.5 * p[0]), (0, 5)]
        return so.minimize(valley, [0.1, 1.0], args=(p,), method="L-BFGS-B", bounds=box, tol=1e-12).x

    check_gradients(lambda p: f(p)[0], P, order=1)
    check_equal(lambda p: f(p)[1], lambda p: 0.5 * p[0] * p[1] + 0.5, P, rtol=1e-5)


@pytest.mark.parametrize("method", ["brent", "golden", "bounded"])
def test_minima_of_one_variable(method):
    where = {"bounds": (0.0, 2.0)} if method == "bounded" else {"bracket": (0.0, 1.0)}

    def f(p):
        found = so.minimize_scalar(lambda x: p[1] * np.cosh(x - p[0]), method=method, **where)
        return found.x * found.fun

    check_equal(f, lambda p: p[0] * p[1], P, rtol=1e-4)


def test_the_global_minimum_that_differential_evolution_finds():
    def f(p):
        return so.differential_evolution(valley, [(0, 2), (0, 2)], args=(p,), seed=1, tol=1e-8, popsize=4).x[1]

    check_equal(f, lambda p: lowest(p)[1], P, rtol=1e-4)


# ---- least squares


def misfit(x, p):
    return p[0] * x[0] * np.exp(-x[1] * TIMES) - p[1] * OBSERVED


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
def test_least_squares(method):
    exact = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-12}
    f = lambda p: so.least_squares(misfit, [1.0, 1.0], args=(p,), method=method, **exact)  # noqa: E731
    check_gradients(lambda p: f(p).x, P, order=1, rtol=1e-5)
    check_gradients(lambda p: f(p).cost, P, order=1, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("method", ["trf", "lm"])
def test_curve_fit(method):
    def f(observed):
        decay = lambda t, a, b: a * np.exp(-b * t)  # noqa: E731
        return so.curve_fit(decay, TIMES, observed, p0=[1.0, 1.0], method=method, xtol=1e-14, ftol=1e-14, gtol=1e-12)[0]

    check_gradients(f, OBSERVED, order=1, rtol=1e-4)


def test_bounded_and_linear_least_squares():
    box = ([0.0, 0.0], [5.0, 5.0])
    f = lambda p: so.least_squares(misfit, [1.0, 1.0], args=(p,), bounds=box, xtol=1e-14, ftol=1e-14, gtol=1e-12).x  # noqa: E731
    check_gradients(f, P, order=1, rtol=1e-5)
    a = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
    check_gradients(lambda a, b: so.lsq_linear(a, b).x, a, np.array([1.0, -0.1, 1.0]), order=1)


# ---- along the way


def test_line_search_and_difference_quotients():
    x = np.array([0.5, 0.2])

    def step(p):
        value, gradient = (lambda x: valley(x, p)), (lambda x: valley_gradient(x, p))
        return so.line_search(value, gradient, x, -valley_gradient(x, p))[0]

    check_gradients(step, P, order=1)
    check_gradients(lambda p: so.approx_fprime(x, lambda x: valley(x, p), 1e-4), P, order=1, rtol=1e-6)


def test_a_minimum_of_an_objective_without_derivative_is_a_constant_or_refused():
    compiled = ctypes.CDLL(None).fabs
    compiled.argtypes, compiled.restype = [ctypes.c_double], ctypes.c_double

    def least(target):
        return so.minimize(lambda x: compiled(float(x[0] - target)) ** 2, [0.3], method="L-BFGS-B").x[0]

    assert np.allclose(mo.gradient(lambda x: least(2.0) * x, 1.5), 2.0, rtol=1e-5)
    with pytest.raises(mo.NoDerivative, match="_minimize_lbfgsb"):
        mo.gradient(least, 1.5)


def on_a_circle(p, name):
    def objective(v):
        return (v[0] - p[0]) ** 2 + (v[1] - 1.0) ** 2 * np.exp(v[0])

    constraints = [
        {"type": "eq", "fun": lambda v: v[0] ** 2 + v[1] ** 2 - p[1] ** 2},
        {"type": "ineq", "fun": lambda v, least: v - least, "args": (np.array([0.1, -5.0]),)},
    ]
    return so.minimize(objective, [0.5, 0.5], method="SLSQP", constraints=constraints, tol=1e-14)[name]


@pytest.mark.parametrize("p", [np.array([1.5, 1.2]), np.array([-1.5, 1.2])], ids=["free", "at a bound"])
def test_constrained_minima(p):
    check_gradients(lambda p: on_a_circle(p, "x"), p, order=1, rtol=1e-4, atol=1e-5)
    check_gradients(lambda p: on_a_circle(p, "fun"), p, order=1, rtol=1e-5, atol=1e-6)


def test_a_constraint_that_says_what_a_bound_says():
    def f(p):
        held = {"type": "eq", "fun": lambda v: v[0] - 0.0}
        objective = lambda v: (v[0] - p) ** 2 + (v[1] - p * p) ** 2 + v[0] * v[1]  # noqa: E731
        return so.minimize(objective, [0.0, 0.5], method="SLSQP", bounds=[(0, 9), (0, 9)], constraints=[held]).x[1]

    check_gradients(f, 1.3, order=1, rtol=1e-5)


def test_what_else_a_minimiser_reports_is_refused():
    with pytest.raises(mo.NoDerivative, match="_minimize_slsqp"):
        mo.gradient(lambda p: np.sum(on_a_circle(p, "jac")), np.array([1.5, 1.2]))
