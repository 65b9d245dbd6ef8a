"""Boundary-value problems: closed forms, SciPy, refinement, derivatives by the implicit function theorem, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import check_gradient
from scipy.integrate import solve_bvp
from scipy.optimize import brentq

import morula as mo
from morula.ode.boundary import BoundaryProblemFailed, BoundaryStatus, bvpsolve

FIVE = np.linspace(0.0, 1.0, 5)


def bratu(t, y, strength):
    return np.stack([y[1], -strength * np.exp(y[0])])


def zero_at_both_ends(left, right, strength):
    return np.array([left[0], right[0]])


def height(strength, guess=0.0):
    """The solution of Bratu's problem in the middle."""
    states = np.zeros((5, 2)) + np.array([guess, 0.0])
    return bvpsolve(bratu, zero_at_both_ends, FIVE, states, strength, tol=1e-7).sol(0.5)[0]


def exact(strength, is_upper):
    """The height and its slope: 2 log cosh(theta / 4) with theta = sqrt(2 strength) cosh(theta / 4), which has two solutions."""
    low, high = (4.8, 30.0) if is_upper else (0.0, 4.7)
    theta = brentq(lambda theta: theta - np.sqrt(2 * strength) * np.cosh(theta / 4), low, high, xtol=1e-14)
    root = np.sqrt(2 * strength)
    turn = np.cosh(theta / 4) / root / (1 - root * np.sinh(theta / 4) / 4)
    return 2 * np.log(np.cosh(theta / 4)), 0.5 * np.tanh(theta / 4) * turn


@pytest.mark.parametrize("guess", [0.0, 3.0])
def test_both_solutions_of_bratus_problem(guess):
    assert abs(height(1.0, guess) - exact(1.0, guess > 0)[0]) < 1e-7


def test_order_four():
    """y'' = -pi^2 y - ... has the solution sin(pi t); the error on n intervals falls with n^4."""

    def f(t, y):
        return np.stack([y[1], -(np.pi**2) * np.sin(np.pi * t)])

    def error(n):
        nodes = np.linspace(0.0, 1.0, n + 1)
        found = bvpsolve(f, lambda a, b: np.array([a[0], b[0]]), nodes, np.zeros((n + 1, 2)), tol=1.0)
        assert len(found.t) == n + 1
        return np.abs(found.y[:, 0] - np.sin(np.pi * nodes)).max()

    assert np.log2(error(8) / error(16)) > 3.8


def test_a_boundary_layer_refines_the_mesh_where_it_is():
    width = 1e-3
    found = bvpsolve(
        lambda t, y: np.stack([y[1], y[0] / width**2]),
        lambda a, b: np.array([a[0] - 1.0, b[0]]),
        np.linspace(0.0, 1.0, 11),
        np.zeros((11, 2)),
        tol=1e-4,
    )
    exact = np.exp(-found.t / width)
    np.testing.assert_allclose(found.y[:, 0], exact, atol=1e-4)
    assert np.sum(found.t < 0.02) > 3 * np.sum((found.t > 0.4) & (found.t < 0.6))


def test_an_unknown_parameter_is_a_component():
    """y'' + k^2 y = 0, y(0) = y(1) = 0, y'(0) = k: the eigenvalue k = pi."""
    guess = np.stack([np.sin(3 * FIVE), 3 * np.cos(3 * FIVE), np.full(5, 3.0)], axis=1)
    found = bvpsolve(
        lambda t, y: np.stack([y[1], -(y[2] ** 2) * y[0], 0 * y[2]]),
        lambda a, b: np.array([a[0], b[0], a[1] - a[2]]),
        FIVE,
        guess,
    )
    np.testing.assert_allclose(found.y[:, 2], np.pi, rtol=1e-6)


def test_musn():
    """R. Mattheij's problem with layers: U. Ascher, R. Mattheij, R. Russell (1995), 1.14; against SciPy."""

    def f(t, y):
        u, v, w, z, x = y
        return np.stack(
            [
                0.5 * u * (w - u) / v,
                -0.5 * (w - u),
                (0.9 - 1000 * (w - x) - 0.5 * w * (w - u)) / z,
                0.5 * (w - u),
                -100 * (x - w),
            ]
        )

    def conditions(a, b):
        return np.array([a[0] - 1, a[1] - 1, a[2] - 1, a[3] + 10, b[2] - b[4]])

    guess = np.zeros((41, 5)) + np.array([1.0, 1.0, 1.0, -10.0, 0.91])
    nodes = np.linspace(0.0, 1.0, 41)
    found = bvpsolve(f, conditions, nodes, guess, tol=1e-6)
    theirs = solve_bvp(f, conditions, nodes, guess.T, tol=1e-6, max_nodes=5000)
    np.testing.assert_allclose(found.sol(nodes), theirs.sol(nodes).T, rtol=1e-5)


def test_gradients_agree_with_differences_and_with_the_closed_form():
    check_gradient("eager", height, 1.0)
    check_gradient("eager", mo.grad(height), 1.0)
    assert abs(mo.jvp(height, (1.0,), (1.0,))[1] - mo.grad(height)(1.0)) < 1e-12
    for guess in (0.0, 3.0):
        slope = mo.grad(lambda strength, guess=guess: height(strength, guess))(1.0)
        assert abs(slope - exact(1.0, guess > 0)[1]) < 1e-5


def test_gradients_reach_the_conditions():
    def end(at_left, at_right):
        found = bvpsolve(
            lambda t, y: np.stack([y[1], y[0] ** 2]),
            lambda a, b: np.array([a[0] - at_left, b[1] - at_right]),
            FIVE,
            np.ones((5, 2)),
        )
        return np.sum(found.y[-1] ** 2) + found.sol.derivative(0.3)[1]

    check_gradient("eager", end, 0.7, 0.4)


def solve(f=bratu, conditions=zero_at_both_ends, ts=FIVE, guess=None, strength=1.0, **options):
    return bvpsolve(f, conditions, ts, np.zeros((5, 2)) if guess is None else guess, strength, **options)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: solve(f=3), "f is int; expected a function"),
        (lambda: solve(ts=FIVE[::-1]), "ts must rise strictly and have at least 2 nodes"),
        (lambda: solve(guess=np.zeros((4, 2))), "guess has shape \\(4, 2\\) for 5 nodes; expected \\(5, n\\)"),
        (lambda: solve(guess=np.full((5, 2), np.nan)), "guess holds a value that is not finite"),
        (
            lambda: solve(conditions=lambda a, b, s: a[:1]),
            "conditions returned shape \\(1,\\) for states of 2 components",
        ),
        (lambda: solve(f=lambda t, y, s: y[0]), "f returned shape \\(5,\\) for times of shape \\(5,\\)"),
        (lambda: solve(tol=0.0), "tol = 0.0"),
    ],
)
def test_bad_input(call, text):
    with pytest.raises(mo.BadInput, match=text):
        call()


@pytest.mark.parametrize("path", ["native", "xla"])
def test_compiled_programs_are_refused_at_once(path):
    for f in (height, mo.grad(height)):
        with pytest.raises(mo.BadInput, match="bvpsolve cannot be compiled: its mesh grows .* through mo.callback"):
            mo.jit(f, target=path)(1.0)


@pytest.mark.parametrize("path", ["native", "xla"])
def test_a_compiled_program_solves_through_a_callback(path):
    compiled = mo.jit(lambda strength: 2.0 * mo.callback(height, np.float64(0.0), strength), target=path)
    assert abs(compiled(1.0) - 2.0 * height(1.0)) < 1e-12


def test_problems_without_a_solution():
    with pytest.raises(
        BoundaryProblemFailed, match="the residual is .* on .* nodes, tol = 1e-06; give a better guess"
    ) as failure:
        solve(strength=5.0)  # above 3.51 there is none
    assert failure.value.solution.status in (BoundaryStatus.NOT_CONVERGED, BoundaryStatus.SINGULAR)
    assert solve(strength=5.0, throw=False).success is False
    with pytest.raises(BoundaryProblemFailed, match="singular"):
        solve(conditions=lambda a, b, s: np.array([a[0], a[0]]))
    found = solve(tol=1e-12, max_nodes=20, throw=False)
    assert found.status is BoundaryStatus.MAX_NODES and found.status.message in str(found.status.message)
