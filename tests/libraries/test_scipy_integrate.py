"""``scipy.integrate`` unmodified: its solvers of initial value problems, differentiated from their own source."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import RK45, OdeSolver, solve_ivp
from scipy.sparse import csc_array

import morula as mo
from morula.testing import check_gradients

METHODS = ["RK23", "RK45", "DOP853", "Radau", "BDF"]
STIFF = ["Radau", "BDF"]
P = np.array([0.7, 0.3, 1.1])


def predation(t, y, p):
    return np.array([-p[0] * y[0] + p[1] * y[1] * y[0], p[0] * y[0] - p[2] * y[1] ** 2])


def jacobian(t, y, p):
    return np.array([[-p[0] + p[1] * y[1], p[1] * y[0]], [p[0], -2 * p[2] * y[1]]])


def solve(p, method, span=(0.0, 1.0), y0=(1.0, 0.5), f=predation, rtol=1e-6, atol=1e-8, args=(), **options):
    return solve_ivp(f, span, y0, method=method, args=(p, *args), rtol=rtol, atol=atol, **options)


def near(f, *args, rtol=1e-7):
    """The steps are chosen by the size of the error, so that differences are smooth only where no step is rejected."""
    check_gradients(f, *args, order=1, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_parameters_initial_state_and_both_ends(method):
    near(lambda p, y0, t0, t1: solve(p, method, (t0, t1), y0).y[:, -1], P, np.array([1.0, 0.5]), 0.1, 0.8)


@pytest.mark.parametrize("method", METHODS)
def test_dense_output_at_times_that_are_differentiated(method):
    def f(p, t):
        solution = solve(p, method, dense_output=True).sol
        return np.sum(solution(t) ** 2) + solution(t[0])[1]

    near(f, P, np.array([0.15, 0.4, 0.83]))


@pytest.mark.parametrize("method", METHODS)
def test_values_at_given_times(method):
    near(lambda p: np.sum(solve(p, method, t_eval=np.linspace(0.0, 1.0, 4)).y ** 2), P)


@pytest.mark.parametrize("method", METHODS)
def test_the_time_and_the_state_of_an_event(method):
    def falls(t, y, p):
        return y[0] - 0.7 * p[2]

    def stops(t, y, p):
        return y[0] - 0.65 * p[2]

    stops.terminal = True
    stops.direction = -1

    def f(p):
        found = solve(p, method, events=[falls, stops], dense_output=True)
        assert found.status == 1
        return found.t_events[0][0], found.y_events[0][0, 1], found.t[-1], found.y[1, -1]

    near(f, P)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "BDF"])
def test_complex_states(method):
    def turning(t, z, p):
        return 1j * p[0] * z + p[1] * z**2

    near(lambda p, z0: np.abs(solve(p, method, y0=z0, f=turning).y[0, -1]) ** 2, P, np.array([1.0 + 0.5j]))


@pytest.mark.parametrize("method", METHODS)
def test_the_state_as_a_list_and_a_given_first_and_longest_step(method):
    def f(p):
        return solve(p, method, f=lambda t, y, p: [-p[0] * y[1], p[1] * y[0]], first_step=0.01, max_step=0.2).y[0, -1]

    near(f, P)


@pytest.mark.parametrize("method", METHODS)
def test_backward_in_time_and_a_vectorised_function(method):
    near(lambda p: solve(p, method, (0.5, 0.0), vectorized=True, atol=np.array([1e-8, 1e-7])).y[:, -1], P)


@pytest.mark.parametrize("method", STIFF)
def test_a_given_jacobian(method):
    near(lambda p: solve(p, method, jac=jacobian).y[:, -1], P)


@pytest.mark.parametrize("method", STIFF)
def test_a_constant_jacobian(method):
    def f(p):
        a = np.array([[-p[0], 1.0], [0.2, -p[1]]])
        return solve_ivp(lambda t, y: a @ y, (0.0, 1.0), [1.0, 0.5], method=method, jac=a, rtol=1e-6).y[0, -1]

    near(f, P[:2])


@pytest.mark.parametrize("method", STIFF)
def test_a_stiff_problem(method):
    def f(p):
        def decay(t, y):
            return [-1000 * p[0] * (y[0] - np.cos(p[1] * t)), y[0] - p[2] * y[1]]

        return solve_ivp(decay, (0.0, 1.0), [1.0, 0.5], method=method).y[1, -1]

    near(f, P)


def test_a_solver_stepped_by_hand():
    def f(p):
        solver: OdeSolver = RK45(lambda t, y: predation(t, y, p), 0.0, np.array([1.0, 0.5]), 1.0)
        for _ in range(3):
            solver.step()
        return solver.y[0] + solver.dense_output()(0.9 * solver.t)[1]

    near(f, P)


def test_closed_form_and_second_derivative():
    def f(k):
        return solve_ivp(lambda t, y: -k * y, (0.0, 1.0), [1.0], rtol=1e-8, atol=1e-10).y[0, -1]

    assert abs(mo.grad(f)(0.5) + np.exp(-0.5)) < 1e-7
    assert abs(mo.grad(mo.grad(f))(0.5) - np.exp(-0.5)) < 1e-5


@pytest.mark.parametrize("method", STIFF)
@pytest.mark.parametrize("given", ["pattern", "matrix"])
def test_sparse_jacobians(method, given):
    options = {
        "pattern": {"jac_sparsity": np.ones((2, 2))},
        "matrix": {"jac": lambda t, y, p: csc_array(jacobian(t, y, p))},
    }[given]
    near(lambda p: solve(p, method, **options).y[:, -1], P)
