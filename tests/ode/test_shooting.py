"""Multiple shooting: closed forms, collocation, a problem on which simple shooting fails, derivatives, and bad input."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.ode.boundary import BoundaryProblemFailed, BoundaryStatus, bvpsolve, shoot

from .test_boundary import bratu, exact, zero_at_both_ends

HALVES = np.array([0.0, 0.5, 1.0])


def height(strength, guess=0.0):
    states = np.zeros((3, 2)) + np.array([guess, 0.0])
    return shoot(bratu, zero_at_both_ends, HALVES, states, strength, tol=1e-7, method="dop853").y[1, 0]


def test_both_solutions_of_bratus_problem():
    assert abs(height(1.0, 3.0) - exact(1.0, True)[0]) < 1e-6
    found, gradient = mo.value_and_grad(height)(1.0)
    value, slope = exact(1.0, False)
    assert abs(found - value) < 1e-6 and abs(gradient - slope) < 1e-5


def test_a_problem_on_which_simple_shooting_fails():
    """Troesch's problem y'' = n sinh(n y): solutions from the left end have a pole before the right one."""

    def f(t, y):
        return np.stack([y[1], 3 * np.sinh(3 * y[0])])

    def conditions(a, b):
        return np.array([a[0], b[0] - 1])

    line = np.stack([HALVES, np.ones(3)], axis=1)
    with pytest.raises(mo.BadInput, match=r"the solve from guess\[0\] does not reach ts\[1\] = 1: .*; give more nodes"):
        shoot(f, conditions, [0.0, 1.0], line[::2], max_steps=2000)
    nodes = np.linspace(0.0, 1.0, 11)
    found = shoot(f, conditions, nodes, np.stack([nodes, np.ones(11)], axis=1), tol=1e-8, method="dop853")
    assert abs(found.y[0, 1] - 0.2556042156) < 1e-8
    assert (
        abs(found.sol(np.array([0.45]))[0, 0] - bvpsolve(f, conditions, nodes, found.y, tol=1e-8).sol(0.45)[0]) < 1e-6
    )


def test_gradients_reach_the_conditions_and_f():
    def end(solve, at_left, at_right, power):
        found = solve(
            lambda t, y, p: np.stack([y[1], y[0] ** p]),
            lambda a, b, p: np.array([a[0] - at_left, b[1] - at_right]),
            HALVES, np.ones((3, 2)), power, tol=1e-8,
        )  # fmt: skip
        return np.sum(found.y[-1] ** 2) + found.sol(0.3)[1]

    (value, found), (expected, other) = (
        mo.value_and_grad(lambda *x, s=s: end(s, *x), (0, 1, 2))(0.7, 0.4, 2.0) for s in (shoot, bvpsolve)
    )
    assert abs(value - expected) < 1e-6 and np.allclose(found, other, rtol=1e-5)


@pytest.mark.parametrize("path", ["native", "xla"])
def test_compiled_programs_are_refused_at_once(path):
    with pytest.raises(mo.BadInput, match="shoot cannot be compiled: its equations .* through mo.callback"):
        mo.jit(height, target=path)(1.0)


def test_problems_without_a_solution():
    with pytest.raises(BoundaryProblemFailed, match="the largest jump at a node is .*, tol = 1e-06") as failure:
        shoot(bratu, zero_at_both_ends, HALVES, np.zeros((3, 2)), 5.0)  # above 3.51 there is none
    assert failure.value.solution.status in (BoundaryStatus.NOT_CONVERGED, BoundaryStatus.SINGULAR)
    with pytest.raises(BoundaryProblemFailed, match="singular"):
        shoot(bratu, lambda a, b, s: np.array([a[0], a[0]]), HALVES, np.zeros((3, 2)), 1.0)
    with pytest.raises(mo.BadInput, match="guess has shape"):
        shoot(bratu, zero_at_both_ends, HALVES, np.zeros((4, 2)), 1.0)
