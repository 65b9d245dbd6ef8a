"""``scipy.integrate`` unmodified: its solvers of initial value problems, differentiated from their own source."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import (
    RK45,
    OdeSolver,
    cumulative_simpson,
    cumulative_trapezoid,
    fixed_quad,
    ode,
    odeint,
    quad_vec,
    romb,
    simpson,
    solve_bvp,
    solve_ivp,
    trapezoid,
)
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


def by_odeint(p):
    return odeint(predation, [1.0, 0.5], [0.0, 1.0], args=(p,), tfirst=True)[-1, 0]


def by_ode(p):
    solver = ode(predation).set_integrator("dopri5").set_initial_value([1.0, 0.5], 0.0).set_f_params(p)
    return solver.integrate(1.0)[0]


@pytest.mark.parametrize("f", [lambda p: solve(p, "LSODA").y[0, -1], by_odeint, by_ode], ids=["LSODA", "odeint", "ode"])
def test_solvers_in_c_name_those_in_python(f):
    with pytest.raises(mo.NoDerivative, match="solve_ivp with method"):
        mo.grad(f)(P)


# ---- boundary values, and integrals in Python


def test_boundary_values():
    def bent(p):
        def f(x, y):
            return np.vstack([y[1], -p[0] * np.exp(y[0])])

        def ends(a, b):
            return np.array([a[0], b[0] - 0.1 * p[1]])

        found = solve_bvp(f, ends, np.linspace(0.0, 1.0, 5), np.zeros((2, 5)), tol=1e-4)
        return found.sol(0.4)[0], found.y[1, 0]

    check_gradients(bent, P[:2], order=1, rtol=1e-6)


def test_an_eigenvalue_of_boundary_values():
    def f(k):
        def waves(x, y, p):
            return np.vstack([y[1], -k * p[0] ** 2 * y[0]])

        def ends(a, b, p):
            return np.array([a[0], b[0], a[1] - k])

        guess = np.array([[0.0, 1.0, 0.0, -1.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0]])
        return solve_bvp(waves, ends, np.linspace(0.0, 1.0, 5), guess, p=[6.0], tol=1e-5).p[0]

    assert abs(mo.grad(f)(1.2) + np.pi * 1.2**-1.5) < 1e-4


@pytest.mark.parametrize(
    "f",
    [
        lambda a, b: fixed_quad(lambda x: np.exp(-a * x), 0.0, b, n=5)[0],
        lambda a, b: quad_vec(lambda x: np.array([np.exp(-a * x), x * a]), 0.0, b)[0],
        lambda a, b: quad_vec(lambda x: np.array([np.exp(-a * x), b * np.exp(-x)]), 0.0, np.inf)[0],
    ],
    ids=["fixed_quad", "quad_vec", "quad_vec to infinity"],
)
def test_integrals_of_functions(f):
    check_gradients(f, 0.7, 1.3, order=1)


@pytest.mark.parametrize("rule", [trapezoid, simpson, cumulative_trapezoid, cumulative_simpson])
def test_integrals_of_samples(rule):
    y = np.array([1.0, 0.5, 0.2, 0.7, 1.1])
    check_gradients(lambda y, x: rule(y, x=x), y, np.array([0.0, 0.3, 0.5, 0.9, 1.4]), order=1)
    check_gradients(lambda y, dx: rule(y, dx=dx), y, 0.3, order=1)
    if rule is simpson:
        check_gradients(lambda y, dx: romb(y, dx=dx), y, 0.3, order=1)
