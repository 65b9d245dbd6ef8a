"""Exponential Rosenbrock methods: order, stiff problems, derivatives on every path, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, check_gradient

import morula as mo
from morula.ode import METHODS, odesolve
from morula.ode.methods import ExponentialTableau
from morula.ode.steppers.exponential import phi_sum

from .problems import driven, driven_exact

EXPONENTIAL = {name: method for name, method in METHODS.items() if isinstance(method, ExponentialTableau)}


def phi(k, z):
    """The integral of e^((1 - s) z) s^(k - 1) / (k - 1)! over 0 <= s <= 1, by Gauss's quadrature."""
    x, w = np.polynomial.legendre.leggauss(40)
    s = (x + 1) / 2
    return np.sum(w / 2 * np.exp((1 - s) * z) * s ** (k - 1)) / float(np.prod(np.arange(1, k)))


def test_phi_of_a_matrix():
    basis = np.array([[1.0, 0.4, 0.0], [-0.3, 1.0, 0.2], [0.1, 0.0, 1.0]])
    values = np.array([-20.0, 0.0, 1.5])
    terms = np.array([[1.0, 2.0, -1.0], [1e-3, 0.0, 2.0], [30.0, 1.0, 0.0], [0.0, -1.0, 5.0]])
    inverse = np.linalg.inv(basis)
    expected = sum(
        basis @ (np.array([phi(k, z) for z in values]) * (inverse @ term)) for k, term in enumerate(terms, start=1)
    )
    assert np.allclose(phi_sum(basis @ np.diag(values) @ inverse, terms), expected, rtol=1e-12)


@pytest.mark.parametrize("name, steps", [("exprb32", 160), ("exprb43", 40)])
def test_halving_the_step_divides_the_error_by_two_to_the_order(name, steps):
    errors = [
        abs(odesolve(driven, driven_exact(0.0), [0, 2], method=name, steps=n).y[-1] - driven_exact(2.0)).max()
        for n in (steps, 2 * steps)
    ]
    assert abs(np.log2(errors[0] / errors[1]) - METHODS[name].order) < 0.3


@pytest.mark.parametrize("name", EXPONENTIAL)
def test_a_stiff_linear_problem_takes_one_step(name):
    """Linear equations with a linear forcing are solved exactly, whatever the step."""
    A = np.array([[-1000.0, 2.0], [1.0, -0.5]])
    solution = odesolve(lambda t, y: A @ y + t, np.array([1.0, 2.0]), [0.0, 3.0], method=name, steps=1)
    exact = odesolve(lambda t, y: A @ y + t, np.array([1.0, 2.0]), [0.0, 3.0], method="radau13", rtol=1e-12, atol=1e-13)
    assert np.allclose(solution.y[-1], exact.y[-1], rtol=1e-9)


def test_stiff_reactions_and_diffusion():
    """The Allen-Cahn equation on 12 points: the steps are far longer than those that are stable for an explicit method."""
    n = 12

    def f(t, u, width):
        padded = np.concatenate([u[:1], u, u[-1:]])
        return width * n * n * (padded[2:] - 2 * u + padded[:-2]) + u - u**3

    u0 = np.cos(np.pi * (np.arange(n) + 0.5) / n) + 0.1
    end = odesolve(f, u0, [0.0, 2.0], 0.2, method="radau5", rtol=1e-6, atol=1e-7).y[-1]
    solution = odesolve(f, u0, [0.0, 2.0], 0.2, method="exprb43", rtol=1e-4, atol=1e-5, is_dense=True)
    assert abs(solution.y[-1] - end).max() < 1e-3
    assert solution.stats.accepted < 60


@pytest.mark.parametrize("path", PATHS)
def test_gradients(path):
    def loss(y0, k):
        f = lambda t, y, k: np.stack([y[1] + t, -k * y[0] * y[1] - 20 * y[1]])  # noqa: E731
        return np.sum(odesolve(f, y0, [0.0, 0.3], k, method="exprb43", steps=1).y[-1] ** 2)

    check_gradient(path, loss, np.array([1.0, 0.3]), 2.0)


@pytest.mark.parametrize("change, message", [
    ({"jacobian": (1, 1)}, "exprb43 takes a full Jacobian; leave out jacobian"),
    ({"jacobian": "krylov"}, "exprb43 takes a full Jacobian"),
    ({"y0": np.ones(2) + 0j}, "exprb43 solves real states"),
    ({"mass": np.array([1.0, 0.0])}, "mass is singular, and exprb43 solves no algebraic equations"),
])  # fmt: skip
def test_bad_input(change, message):
    arguments = {"f": driven, "y0": np.ones(2), "ts": [0, 1], "method": "exprb43"} | change
    with pytest.raises(mo.BadInput, match=message):
        odesolve(**arguments)
