"""The extrapolation method: its weights, the order of its lines and of their dense output, and its derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.ode import METHODS, odesolve
from morula.ode.jacobians import DenseJacobian
from morula.ode.methods.extrapolation import extrapolation
from morula.ode.problem import Problem
from morula.ode.state import layout
from morula.ode.steppers import stepper_of

from .problems import driven, driven_exact, kepler, kepler_exact, kepler_start, published

GBS = METHODS["gbs"]


def step_of_lines(k, t, h):
    """A step with k lines: the values at its ends, and the polynomial."""
    y = kepler_exact(t, 0.3)
    problem = Problem(kepler, (), layout(y)[0], np.dtype(float), DenseJacobian(), 1e300, 1e300)
    stepper = stepper_of(GBS, np.dtype(float), 1e-6, 1e-9)
    memory = stepper.start(problem, t, y, kepler(t, y), h)
    stepper.orders.is_first, stepper.orders.target = False, k + 1
    y_new, stages = stepper.step(problem, t, t + h, y, memory)
    assert stepper.orders.count == k and stepper.spent(stages) == 2 * k * k + 1
    return y, y_new, stepper.polynomial(problem, t, t + h, y, stages)


def test_the_weights_cancel_even_powers_of_the_step():
    for k in range(1, len(GBS.steps) + 1):
        for power in range(k):
            assert np.isclose(GBS.weights[k - 1] @ GBS.steps ** (-2.0 * power), power == 0, atol=1e-11)


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_k_lines_have_order_2_k_and_so_has_their_dense_output(k):
    theta = np.linspace(0.0, 1.0, 9)
    errors = []
    for size in (0.6, 0.3):
        y, y_new, c = step_of_lines(k, 1.0, size)
        between = y + theta[:, None] ** np.arange(1, len(c) + 1) @ c
        assert np.allclose(between[-1], y_new, atol=1e-13)
        errors.append([abs(between - kepler_exact(1.0 + theta * size, 0.3))[i].max() for i in (-1, slice(None))])
    of_step, of_dense = np.log2(np.array(errors[0]) / errors[1])
    assert of_step > 2 * k + 0.1 and of_dense > 2 * k - 0.3


@pytest.mark.parametrize("problem, tolerance", [("lotka", 1e-10), ("rigidbody", 1e-8), ("pleiades", 1e-11)])
def test_published_end_values(problem, tolerance):
    f, y0, span, args, expected = published(problem)
    y = odesolve(f, y0, span, *args, method="gbs", rtol=tolerance, atol=tolerance).y[-1]
    assert np.allclose(y, expected, rtol=0, atol=(1e5 if problem == "pleiades" else 500) * tolerance)


def test_order_and_step_follow_the_tolerance():
    ts = np.linspace(0.0, 10.0, 101)
    counts = []
    for tolerance in (1e-6, 1e-12):
        solution = odesolve(kepler, kepler_start(0.3), ts, method="gbs", rtol=tolerance, atol=tolerance)
        assert abs(solution.y - kepler_exact(ts, 0.3)).max() < 5e3 * tolerance
        counts.append(solution.stats.accepted)
    assert counts[1] < 2.5 * counts[0]  # for a method of order 5, it would be 16 times


def test_complex_states_and_a_rejected_step():
    solution = odesolve(lambda t, y: (1j - t) * y, 1.0 + 0j, [0, 3.0], method="gbs", rtol=1e-9, first_step=3.0)
    assert np.isclose(solution.y[-1], np.exp(3j - 4.5), atol=1e-8) and solution.stats.rejected > 0


def swing(x, ts, method, tol):
    rate = lambda t, y, k: np.stack([y[1], -k * np.sin(y[0]) + t])  # noqa: E731
    return np.sum(odesolve(rate, x[:2], ts, x[2], method=method, rtol=tol, atol=tol).y[1:] ** 2)


def derivatives(x, ts, method, tol):
    return mo.gradient(lambda x, ts: swing(x, ts, method, tol), x, ts)


@pytest.mark.parametrize("target", [None, "native"])
def test_derivatives_with_respect_to_values_rates_and_times(target):
    x, ts = np.array([1.0, 0.5, 3.0]), np.array([0.1, 0.3, 0.6])
    pair = lambda x, ts: derivatives(x, ts, extrapolation("gbs3", 3), 1e-6)  # noqa: E731
    found = mo.jit(pair, target=target)(x, ts) if target else pair(x, ts)
    for a, b in zip(found, derivatives(x, ts, "dop853", 1e-10)):
        assert np.allclose(a, b, atol=2e-5)


def test_compiled_by_xla():
    """The order and the steps are those of the other paths, and so is the gradient."""
    loss = lambda rate: odesolve(lambda t, y: -rate * y, 1.0, [0, 0.5], method=extrapolation("gbs3", 3), rtol=1e-4).y[
        -1
    ]  # noqa: E731
    found, expected = mo.jit(mo.value_and_grad(loss), target="xla")(2.0), mo.value_and_grad(loss)(2.0)
    assert np.allclose(found, expected, rtol=1e-9) and np.isclose(found[1], -0.5 * np.exp(-1.0), rtol=1e-3)


def test_wrong_uses():
    with pytest.raises(ValueError, match="gbs has 2 lines; expected 3 to 12"):
        extrapolation("gbs", 2)
    with pytest.raises(mo.BadInput, match='method "gbs" chooses its steps and its order; leave out steps'):
        odesolve(driven, driven_exact(0), [0, 1], method="gbs", steps=10)
