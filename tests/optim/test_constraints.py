"""Minimisation with constraints: the problems of Hock and Schittkowski, derivatives of the answer, compiled, refused."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import numerical_vjp
from morula.optim import Constraint, Status, minimize

from .hock_schittkowski import PROBLEMS

METHODS = ("interior point", "sqp", "augmented lagrangian")


def test_there_are_forty_problems_and_more():
    assert len(PROBLEMS) >= 40


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("number", PROBLEMS)
def test_reaches_a_published_optimum(number, method):
    problem = PROBLEMS[number]
    result = minimize(
        problem.f,
        problem.x0,
        constraints=problem.constraints,
        bounds=problem.bounds,
        method=method,
        max_iterations=2000,
    )
    assert result.converged, result.message
    assert any(np.isclose(result.value, value, rtol=1e-6, atol=1e-6) for value in (problem.optimum, *problem.others))
    assert result.violation < 1e-6
    assert np.all(result.x >= problem.bounds[0] - 1e-9) and np.all(result.x <= problem.bounds[1] + 1e-9)


def answer(a, method="interior point"):
    """A minimum at which the ball and the plane hold, one bound holds and the others do not."""
    return minimize(
        lambda x: np.sum((x - a) ** 2) + 0.1 * np.sum(x**4),
        np.zeros(4),
        constraints=[
            Constraint(lambda x: np.sum(x**2), upper=a[0] ** 2),
            Constraint(np.ones((1, 4)), equals=a[1]),
            Constraint(lambda x: x[:2] - 5.0, upper=0.0),
        ],
        bounds=(np.array([-5.0, -5.0, -5.0, -0.1 * a[0]]), 5.0),
        method=method,
    )


def score(a, method="interior point"):
    found = answer(a, method)
    return found.x @ np.arange(1.0, 5.0) + 2.0 * found.multipliers[0] + 3.0 * found.multipliers[1][0] + found.value


A = np.array([1.0, 0.3, 2.0, -3.0])


@cache
def differences():
    return numerical_vjp(score, 1.0, A)[0][0]


def test_the_multipliers_make_the_gradient_of_the_lagrangian_vanish():
    found = answer(A)
    slope = found.gradient + found.multipliers[0] * 2 * found.x + found.multipliers[1][0] + found.bound_multipliers
    assert found.converged and np.allclose(slope, 0.0, atol=1e-7)
    assert found.multipliers[0] > 0.1 and np.allclose(found.multipliers[2], 0.0, atol=1e-7)
    assert np.isclose(found.x[3], -0.1) and found.bound_multipliers[3] < -0.1


@pytest.mark.parametrize("method", METHODS)
def test_answer_and_multipliers_move_with_function_limits_and_bounds(method):
    assert np.allclose(mo.grad(score)(A, method), differences(), rtol=1e-5)


def test_forward_mode_agrees_with_reverse_mode():
    _, tangent = mo.jvp(lambda a: score(a), (A,), (np.ones(4),))
    assert np.isclose(tangent, np.sum(mo.grad(score)(A)), rtol=1e-9)


def test_the_derivative_needs_products_only():
    def by_products(a):
        return minimize(
            lambda x: np.sum((x - a) ** 2),
            np.zeros(3),
            constraints=Constraint(np.ones(3)[None], equals=1.0),
            adjoint="krylov",
        ).x[0]

    assert np.allclose(mo.grad(by_products)(A[:3]), [2 / 3, -1 / 3, -1 / 3])


@pytest.mark.parametrize("method", METHODS)
def test_the_iterations_can_be_differentiated(method):
    def nearest(a, adjoint):
        return minimize(
            lambda x: np.sum((x - a) ** 2) + 0.1 * np.sum(x**4),
            np.zeros(2),
            constraints=Constraint(lambda x: x[0] + x[1] ** 2, upper=a[1]),
            method=method,
            adjoint=adjoint,
            tol=1e-10,
        ).x @ np.array([1.0, 2.0])

    a = np.array([1.0, 0.3])
    assert np.allclose(mo.grad(nearest)(a, "unrolled"), mo.grad(nearest)(a, "implicit"), rtol=1e-4)


@pytest.mark.parametrize("target, method", [("native", "interior point"), ("native", "augmented lagrangian")])
def test_compiled_it_is_the_same_search(target, method):
    def f(a):
        return minimize(
            lambda x: np.sum((x - a) ** 2),
            np.zeros(2),
            constraints=Constraint(lambda x: np.sum(x**2), upper=1.0),
            method=method,
        ).x

    assert np.allclose(mo.jit(f, target=target)(np.array([2.0, 1.0])), np.array([2.0, 1.0]) / 5**0.5, atol=1e-7)


def test_a_batch_of_problems():
    def nearest(a):
        return minimize(
            lambda x: np.sum((x - a) ** 2), np.zeros(2), constraints=Constraint(lambda x: np.sum(x**2), upper=1.0)
        ).x

    batch = np.array([[2.0, 1.0], [0.3, 0.1], [-1.0, 3.0]])
    assert np.allclose(
        mo.vmap(nearest)(batch), batch / np.maximum(np.linalg.norm(batch, axis=1), 1.0)[:, None], atol=1e-7
    )


def test_unknowns_and_constraints_of_structures_with_arguments():
    found = minimize(
        lambda p, k: (p["a"] - k) ** 2 + np.sum(p["b"] ** 2),
        {"a": 0.0, "b": np.ones((2, 2))},
        3.0,
        constraints=[
            Constraint(lambda p, k: p["a"] + k, upper=5.0),
            Constraint(lambda p, k: p["b"] * k, lower=np.array([[3.0, -9.0], [-9.0, 6.0]])),
        ],
    )
    assert np.isclose(found.x["a"], 2.0) and np.allclose(found.x["b"], [[1.0, 0.0], [0.0, 2.0]], atol=1e-5)
    assert found.multipliers[1].shape == (2, 2)


@pytest.mark.parametrize("method", METHODS)
def test_a_resumed_search_takes_the_same_path(method):
    p = PROBLEMS[100]
    options = dict(constraints=p.constraints, bounds=p.bounds, method=method)
    part = minimize(p.f, p.x0, max_iterations=4, resumable=True, **options)
    assert part.status == Status.MAX_ITERATIONS
    rest = minimize(p.f, p.x0, resume=pickle.loads(pickle.dumps(part.state)), **options)
    assert np.array_equal(rest.x, minimize(p.f, p.x0, **options).x)


@pytest.mark.parametrize("method", METHODS)
def test_an_infeasible_problem_says_which_constraint_is_missed_by_how_much(method):
    found = minimize(
        lambda x: np.sum(x),
        np.zeros(2),
        constraints=[Constraint(lambda x: x[0], upper=3.0), Constraint(lambda x: np.sum(x**2), upper=-1.0)],
        method=method,
    )
    assert found.status == Status.INFEASIBLE
    assert found.message == "no point that meets the constraints was found: constraint 1 is missed by 1"


def test_an_unbounded_problem_is_reported():
    found = minimize(lambda x: np.sum(x), np.zeros(2), constraints=Constraint(lambda x: x[0], upper=1.0))
    assert found.status == Status.UNBOUNDED


class TestRefused:
    @pytest.mark.parametrize(
        "options, message",
        [
            ({"constraints": [3.0]}, "constraint 0 is a float, expected a Constraint"),
            (
                {"constraints": Constraint(lambda x: x[0], lower=2.0, upper=1.0)},
                "limits of constraint 0 are crossed: lower 2, ",
            ),
            ({"constraints": Constraint(lambda x: x[0], lower=np.nan)}, "a limit of a constraint is NaN"),
            (
                {"constraints": Constraint(lambda x: x, lower=np.zeros(3))},
                r"constraint 0 has shape \(3,\), expected a number or",
            ),
            (
                {"constraints": Constraint(lambda x: 1j * x[0], lower=0.0)},
                "constraint 0 returned a .*expected real numbers",
            ),
            (
                {"constraints": Constraint(lambda x: x[0], lower=0.0), "method": "bfgs"},
                "BFGS takes no constraints; use",
            ),
            ({"constraints": None, "method": "slsqp"}, "no method 'slsqp'; there are .*'interior point', 'sqp'"),
        ],
    )
    def test_arguments(self, options, message):
        with pytest.raises(mo.BadInput, match=message):
            minimize(lambda x: np.sum(x**2), np.ones(2), **options)

    def test_constraints_without_a_function_or_limit(self):
        with pytest.raises(mo.BadInput, match="function is a int, expected a function of x or a matrix"):
            Constraint(3, upper=1.0)
        with pytest.raises(mo.BadInput, match="expected equals, or one or both of lower and upper"):
            Constraint(lambda x: x)

    def test_complex_unknowns(self):
        with pytest.raises(mo.BadInput, match="constraints on complex unknowns are not defined"):
            minimize(lambda z: abs(z) ** 2, 1j, constraints=Constraint(lambda z: abs(z), lower=1.0))

    def test_the_derivative_at_a_constraint_without_force(self):
        def x(a):
            return minimize(lambda x: (x - a) ** 2, 0.0, constraints=Constraint(lambda x: x, upper=1.0), method="sqp").x

        assert np.isclose(mo.grad(x)(0.5), 1.0) and np.isclose(mo.grad(x)(1.5), 0.0)
        with pytest.raises(mo.MorulaError, match="a constraint holds at the minimum with multiplier zero"):
            mo.grad(x)(1.0)

    def test_the_derivative_with_dependent_constraints(self):
        def x(a):
            twice = [Constraint(lambda x: np.sum(x), equals=a), Constraint(lambda x: 2 * np.sum(x), equals=2 * a)]
            return minimize(lambda x: np.sum(x**2), np.zeros(2), constraints=twice).x[0]

        with pytest.raises(mo.MorulaError, match="matrix of the optimality conditions is singular at the minimum"):
            mo.grad(x)(1.0)
