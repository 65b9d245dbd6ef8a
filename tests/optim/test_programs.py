"""Linear and quadratic programs: against SciPy and by both methods, derivatives, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import morula as mo
from morula.core.testing.differences import numerical_vjp
from morula.optim import Status, linear_program, quadratic_program

METHODS = ("interior point", "admm")


def random_program(seed, linear=False):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 10)), int(rng.integers(1, 8))
    A, x = rng.normal(size=(m, n)), rng.normal(size=n)
    lower = A @ x - rng.choice([0.0, 0.5, np.inf], m)
    upper = A @ x + rng.choice([0.0, 1.0, np.inf], m)
    bounds = (
        x - rng.choice([0.0, 0.5, 3.0], n, p=[0.1, 0.5, 0.4]),
        x + rng.choice([0.0, 1.0, 3.0], n, p=[0.1, 0.5, 0.4]),
    )
    half = rng.normal(size=(n, n - 1))
    P = np.zeros((n, n)) if linear else half @ half.T + 0.1 * np.eye(n)
    return P, rng.normal(size=n), A, lower, upper, bounds


@pytest.mark.parametrize("seed", range(12))
def test_linear_programs_have_the_values_of_highs(seed):
    _, c, A, lower, upper, bounds = random_program(seed, True)
    found = linear_program(c, A, lower, upper, bounds)
    expected = scipy.optimize.milp(
        c, constraints=scipy.optimize.LinearConstraint(A, lower, upper), bounds=scipy.optimize.Bounds(*bounds)
    )
    assert found.converged and np.isclose(found.value, expected.fun, rtol=1e-7, atol=1e-7)
    assert found.violation < 1e-7


@pytest.mark.parametrize("seed", range(12))
def test_both_methods_meet_the_conditions_of_optimality(seed):
    P, q, A, lower, upper, bounds = random_program(100 + seed)
    for method in METHODS:
        found = quadratic_program(P, q, A, lower, upper, bounds, method=method, max_iterations=20000)
        assert found.converged, (method, found.message)
        x, y, z = found.x, found.multipliers[0], found.bound_multipliers
        assert np.allclose(P @ x + q + A.T @ y + z, 0.0, atol=1e-6)
        for w, force, low, high in ((A @ x, y, lower, upper), (x, z, *bounds)):
            assert np.all(w >= low - 1e-6) and np.all(w <= high + 1e-6)
            assert np.all((force > -1e-6) | (w - low < 1e-6)) and np.all((force < 1e-6) | (high - w < 1e-6))


P = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
ROWS = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 0.0]])
Q, UPPER = np.array([-1.0, -1.0, 0.2]), np.array([0.5, 3.0])


def score(q, rows, upper, low, method="interior point"):
    found = quadratic_program(P, q, rows, upper=upper, bounds=(np.array([-9.0, -9.0, low]), None), method=method)
    return found.x @ np.array([1.0, 2.0, 3.0]) + 2.0 * found.multipliers[0][0] + found.value


@pytest.mark.parametrize("method", METHODS)
def test_answer_and_multipliers_move_with_all_numbers(method):
    every = (Q, ROWS, UPPER, 0.1)
    slopes, _ = numerical_vjp(lambda *a: score(*a), 1.0, *every)
    found = mo.grad(score, argnums=(0, 1, 2, 3))(*every, method)
    for slope, expected in zip(found, slopes):
        assert np.allclose(slope, expected, rtol=1e-5, atol=1e-7)


def test_a_vertex_moves_with_its_limits_alone():
    def x(c, upper):
        return linear_program(c, np.array([[1.0, 1.0], [0.0, 1.0]]), upper=upper).x @ np.array([1.0, 2.0])

    by_costs, by_limits = mo.grad(x, argnums=(0, 1))(np.array([-1.0, -2.0]), np.array([4.0, 3.0]))
    assert np.allclose(by_costs, 0.0) and np.allclose(by_limits, 1.0)


@pytest.mark.parametrize("method", METHODS)
def test_compiled_and_in_batches_it_is_the_same_program(method):
    def x(q):
        return quadratic_program(np.eye(2), q, np.ones((1, 2)), upper=1.0, method=method).x

    qs = np.array([[-1.0, -1.0], [-3.0, 1.0], [2.0, 0.5]])
    assert np.allclose(mo.jit(mo.vmap(x), target="native")(qs), [x(q) for q in qs], atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_infeasible_and_unbounded_programs_are_reported(method):
    solve = lambda q, **options: quadratic_program(np.zeros((2, 2)), q, method=method, max_iterations=5000, **options)  # noqa: E731
    infeasible = solve(
        np.ones(2), A=np.array([[1.0, 1.0], [1.0, 1.0]]), lower=np.array([2.0, -9.0]), upper=np.array([9.0, 1.0])
    )
    assert infeasible.status == Status.INFEASIBLE and "constraint 0 is missed by" in infeasible.message
    assert solve(np.array([-1.0, 0.5]), bounds=(0.0, None)).status == Status.UNBOUNDED


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"P": np.eye(3)}, r"the linear part has shape \(2,\) and the matrix \(3, 3\)"),
        ({"A": np.ones((1, 3))}, r"A has shape \(1, 3\), expected \(m, 2\)"),
        ({"A": np.ones((1, 2)), "lower": 2.0, "upper": 1.0}, "limit of constraint 0 is crossed: lower 2, upper 1"),
        ({"A": np.ones((1, 2)), "lower": np.ones(2)}, r"limits of constraint|limit of constraints has shape \(2,\)"),
        ({"bounds": (np.nan, None)}, "a bound of unknown is NaN"),
        ({"bounds": 3.0}, r"bounds is a float, expected a pair \(lower, upper\)"),
        ({"P": np.array([[1.0, 1.0], [0.0, 1.0]])}, "P is not symmetric"),
        ({"P": -np.eye(2)}, "P has the eigenvalue -1, expected a positive semidefinite matrix"),
        ({"q": np.array([np.nan, 0.0])}, "holds NaN or Inf"),
        ({"method": "simplex"}, "no method 'simplex'; there are 'interior point', 'admm'"),
        ({"adjoint": "unrolled"}, "adjoint is 'unrolled', expected 'implicit' or 'krylov'"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(mo.BadInput, match=message):
        quadratic_program(**{"P": np.eye(2), "q": np.ones(2), **arguments})
