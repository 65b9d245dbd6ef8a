"""Minimisation within bounds: published optima, SciPy's minima, derivatives, and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize

import morula as mo
from morula.optim import Status, minimize

INF = np.inf


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def colville(x):
    a, b, c, d = x
    mixed = 10.1 * ((b - 1) ** 2 + (d - 1) ** 2) + 19.8 * (b - 1) * (d - 1)
    return 100 * (b - a**2) ** 2 + (1 - a) ** 2 + 90 * (d - c**2) ** 2 + (1 - c) ** 2 + mixed


# W. Hock and K. Schittkowski, Test Examples for Nonlinear Programming Codes (1981): function, start, bounds, optimum.
HOCK_SCHITTKOWSKI = {
    1: (rosenbrock, [-2, 1], ([-INF, -1.5], INF), 0.0),
    2: (rosenbrock, [-2, 1.5], ([-INF, 1.5], INF), 0.0504261879),
    3: (lambda x: x[1] + 1e-5 * (x[1] - x[0]) ** 2, [10, 1], ([-INF, 0.0], INF), 0.0),
    4: (lambda x: (x[0] + 1) ** 3 / 3 + x[1], [1.125, 0.125], ([1.0, 0.0], INF), 8 / 3),
    5: (
        lambda x: np.sin(x[0] + x[1]) + (x[0] - x[1]) ** 2 - 1.5 * x[0] + 2.5 * x[1] + 1,
        [0, 0],
        ([-1.5, -3.0], [4.0, 3.0]),
        -math.sqrt(3) / 2 - math.pi / 3,
    ),
    38: (colville, [-3, -1, -3, -1], (-10.0, 10.0), 0.0),
    45: (lambda x: 2 - np.prod(x) / 120, [0.5, 1, 1, 1, 1], (0.0, [1.0, 2.0, 3.0, 4.0, 5.0]), 1.0),
    110: (
        lambda x: np.sum(np.log(x - 2) ** 2 + np.log(10 - x) ** 2) - np.prod(x) ** 0.2,
        [9.0] * 10,
        (2.001, 9.999),
        -45.77846971,
    ),
}


LOCAL_OPTIMA = {2: 4.9412293180, 38: 7.8769659}


@pytest.mark.parametrize("method", ["bfgs", "lbfgs", "newton", "newton-cg"])
@pytest.mark.parametrize("number", HOCK_SCHITTKOWSKI)
def test_reaches_the_published_optimum(number, method):
    f, start, bounds, optimum = HOCK_SCHITTKOWSKI[number]
    result = minimize(f, np.array(start, float), bounds=bounds, method=method)
    assert result.converged, result.message
    optima = (optimum, LOCAL_OPTIMA.get(number, optimum))
    assert any(np.isclose(result.value, value, rtol=1e-8, atol=1e-8) for value in optima)
    assert np.all(result.x >= bounds[0]) and np.all(result.x <= bounds[1])


@pytest.mark.parametrize("method", ["bfgs", "lbfgs", "newton"])
@pytest.mark.parametrize("seed", range(4))
def test_reaches_scipys_minimum(seed, method):
    rng = np.random.default_rng(seed)
    lower = rng.uniform(-2, 0.5, 10)
    upper = lower + rng.uniform(0.3, 2.5, 10)
    x0 = rng.uniform(lower, upper)
    expected = scipy.optimize.minimize(
        rosenbrock, x0, jac=mo.grad(rosenbrock), bounds=list(zip(lower, upper)), method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    result = minimize(rosenbrock, x0, bounds=(lower, upper), method=method)
    assert result.converged and np.isclose(result.value, expected.fun, rtol=1e-10)


def test_inactive_bounds_change_nothing():
    result = minimize(rosenbrock, np.array([-1.2, 1.0]), bounds=(-9, 9))
    assert result.converged and np.allclose(result.x, 1.0, atol=1e-6)


def test_a_start_at_the_bounded_minimum_takes_no_step():
    result = minimize(lambda x: np.sum(x), np.zeros(2), bounds=(0, 1))
    assert result.converged and result.iterations == 0


def test_bounds_of_a_structure():
    result = minimize(
        lambda p: (p["a"] - 3) ** 2 + p["b"] ** 2, {"a": 0.0, "b": 1.0}, bounds=(None, {"a": 2.0, "b": 9.0})
    )
    assert result.x["a"] == 2.0 and abs(result.x["b"]) < 1e-7


def test_a_bound_can_make_an_unbounded_function_bounded():
    def f(x):
        return x[0] + x[1] ** 2

    assert minimize(f, np.ones(2), bounds=(-5.0, INF)).converged
    assert minimize(f, np.ones(2), bounds=(np.array([-INF, 0.0]), INF)).status is Status.UNBOUNDED


def pull(x, a):
    return np.sum((x - a) ** 2) + 0.1 * np.sum(x) ** 2


@pytest.mark.parametrize("adjoint", ["implicit", "krylov"])
def test_the_minimum_moves_with_arguments_and_active_bounds(adjoint):
    def loss(a, top):
        x = minimize(pull, np.zeros(3), a, bounds=(-5.0, np.stack([top, 9.0, 9.0])), tol=1e-11, adjoint=adjoint).x
        return np.dot(np.array([1.0, 2.0, 3.0]), x)

    mo.testing.check_gradients(loss, np.array([2.0, -1.0, 0.5]), 1.0, order=1)


def test_compiled_it_is_the_same_search_and_has_the_same_gradient():
    def fit(a):
        return minimize(pull, np.zeros(3), a, bounds=(-5.0, np.array([1.0, 9.0, 9.0])), method="lbfgs")

    a = np.array([2.0, -1.0, 0.5])
    found, expected = mo.jit(fit)(a), fit(a)
    assert found.iterations == expected.iterations
    np.testing.assert_allclose(found.x, expected.x, atol=1e-9)
    np.testing.assert_allclose(
        mo.jit(mo.grad(lambda a: np.sum(fit(a).x)))(a), mo.grad(lambda a: np.sum(fit(a).x))(a), rtol=1e-9
    )


@pytest.mark.parametrize(
    "options, message",
    [
        ({"bounds": ([2.0, 0.0], [1.0, 9.0])}, "the bounds are crossed: unknown 0 has lower bound 2 and upper bound 1"),
        ({"bounds": (2.0, 9.0)}, r"x0 is infeasible: unknown 0 is 1, outside of \[2, 9\] by 1"),
        ({"bounds": 3.0}, r"bounds is a float, expected a pair"),
        (
            {"bounds": (0, 9), "method": "trust region"},
            "TrustRegion takes no bounds; use a method that searches along lines",
        ),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(mo.BadInput, match=message):
        minimize(rosenbrock, np.ones(2), **options)


def test_complex_unknowns_cannot_be_bounded():
    with pytest.raises(mo.BadInput, match="complex unknowns have no order"):
        minimize(lambda z: abs(z) ** 2, 1j, bounds=(0, 1))
