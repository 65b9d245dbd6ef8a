"""Multistep methods: the formulas of each order on unequal steps, the choice of the order, and their derivatives."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import morula as mo
from morula.ode import Event, Multistep, odesolve
from morula.ode.jacobians import DenseJacobian
from morula.ode.problem import Problem
from morula.ode.state import layout
from morula.ode.steppers import stepper_of

from .problems import driven, driven_exact, published

FAMILIES = [("bdf", True, k) for k in range(1, 6)] + [("adams", False, k) for k in range(1, 13)]


def problem_of(f, y0):
    return Problem(f, (), layout(y0)[0], np.dtype(float), DenseJacobian(), 0.0, 1e-13)


def memory_of(width, times, x):
    """The scaled divided differences of the values ``x`` (m, n) at ``times`` (m,), the latest first."""
    phi = np.zeros((width, x.shape[1]))
    differences = x
    for j in range(min(width, len(x))):
        phi[j] = differences[0] * np.prod(times[0] - times[1 : j + 1])
        differences = (differences[:-1] - differences[1:]) / (times[: len(x) - j - 1] - times[j + 1 :])[:, None]
    return times[:width], phi


@pytest.mark.parametrize("name, is_stiff, order", FAMILIES)
def test_a_polynomial_of_the_order_is_solved_exactly_with_unequal_steps(name, is_stiff, order):
    degree = order if is_stiff else order + 1  # the corrector has one order more
    p = np.polynomial.Polynomial(np.random.default_rng(degree).normal(size=degree + 1))
    stepper = stepper_of(Multistep(name, is_stiff, order), np.dtype(float), 1e-6, 1e-9)
    stepper.orders.order = order
    times = -np.cumsum(np.random.default_rng(1).uniform(0.06, 0.2, stepper.width))
    known = p(times) if is_stiff else p.deriv()(times)
    problem = problem_of(lambda t, y: np.array([p.deriv()(t)]), np.zeros(1))
    y = np.array([p(times[0])])
    u, stages = stepper.step(problem, times[0], 0.0, y, memory_of(stepper.width, times, known[:, None]))
    assert np.isclose(u[0], p(0.0), atol=1e-9)
    assert stages[2][0] < 1e-6 if is_stiff else stages[2][0] > 0
    c = stepper.polynomial(problem, times[0], 0.0, y, stages)
    theta = 0.3
    inner = y + theta ** np.arange(1.0, len(c) + 1) @ c
    assert np.isclose(inner[0], p(times[0] * (1 - theta)), atol=1e-8)


@pytest.mark.parametrize("name, is_stiff, order", FAMILIES)
def test_the_order_of_convergence(name, is_stiff, order):
    stepper = stepper_of(Multistep(name, is_stiff, order), np.dtype(float), 1e-6, 1e-9)
    problem = problem_of(driven, driven_exact(0.5))
    claimed = order if is_stiff else order + 1
    errors = []
    for n in (60, 90):
        h = 1.0 / n
        times = 1.0 - h * np.arange(stepper.width)
        exact = driven_exact(times)
        known = exact if is_stiff else np.array([driven(t, y) for t, y in zip(times, exact)])
        t, y, memory = 1.0, exact[0], memory_of(stepper.width, times, known)
        stepper.orders.order = order
        for i in range(n // 3):
            y, stages = stepper.step(problem, 1.0 + i * h, 1.0 + (i + 1) * h, y, memory)
            memory = stepper.advance(stages)
        errors.append(abs(y - driven_exact(4 / 3)).max())
    if errors[1] > 1e-12:
        assert claimed - 0.6 < np.log(errors[0] / errors[1]) / np.log(1.5) < claimed + 1.5
    else:
        assert order > 8


@pytest.mark.parametrize("problem, name, tolerance", [
    ("rigidbody", "adams", 1e-9), ("pleiades", "adams", 1e-11), ("hires", "bdf", 1e-6), ("rober", "bdf", 1e-6),
    ("orego", "bdf", 1e-5),
])  # fmt: skip
def test_published_end_values(problem, name, tolerance):
    f, y0, span, args, expected = published(problem)
    atol = tolerance * np.array([1e-6, 1e-10, 1e-6]) if problem == "rober" else 1e-3 * tolerance
    solution = odesolve(f, y0, span, *args, method=name, rtol=tolerance, atol=atol)
    error = {"pleiades": 1e5, "rober": 1e4}.get(problem, 1e3) * tolerance
    assert np.allclose(solution.y[-1], expected, rtol=error, atol=0 if problem == "rober" else error * 1e-2)


def test_the_order_rises_on_a_smooth_solution():
    """Twice the digits cost little more than twice the steps; at order 5 it would be 40 times."""
    counts = [
        odesolve(driven, driven_exact(0), [0, 2], method="adams", rtol=tol, atol=tol).stats.evaluations
        for tol in (1e-4, 1e-12)
    ]
    assert counts[1] < 8 * counts[0]


def test_a_highest_order():
    solve = lambda order: odesolve(driven, driven_exact(0), [0, 2], method=Multistep("low", False, order), rtol=1e-7)  # noqa: E731
    assert solve(1).stats.accepted > 3 * solve(12).stats.accepted


@cache
def loss_of(name, tol=1e-6):
    def loss(x, ts):
        def f(t, y, rate):
            return -rate * y + np.stack([np.sin(t), y[0]])

        return np.sum(odesolve(f, x[:2], ts, x[2], method=name, rtol=tol, atol=tol).y[1:] ** 2)

    return loss


@pytest.mark.parametrize("name, is_compiled", [("bdf", True), ("adams", False)])
def test_gradients_of_values_rates_and_times(name, is_compiled):
    x, ts = np.array([1.0, 0.5, 3.0]), np.array([0.1, 0.3, 0.6])
    expected = mo.gradient(loss_of("dop853", 1e-9), x, ts)
    pair = lambda x, ts: mo.gradient(loss_of(name), x, ts)  # noqa: E731
    found = mo.jit(pair, target="native")(x, ts) if is_compiled else pair(x, ts)
    for a, b in zip(found, expected):
        assert np.allclose(a, b, atol=3e-5)


def test_compiled_by_xla():
    x, ts = np.array([1.0, 0.5, 3.0]), np.array([0.1, 0.3, 0.6])
    assert np.isclose(mo.jit(loss_of("bdf"), target="xla")(x, ts), loss_of("bdf")(x, ts), rtol=1e-7)


@pytest.mark.parametrize("name", ["bdf", "adams"])
def test_dense_output_and_events(name):
    event = Event(lambda t, y: y[0] - 2.0, direction=1, change=lambda t, y: y - 1.0)
    solution = odesolve(
        lambda t, y: np.cos(t) * y, np.ones(1), [0, 1.2], method=name, rtol=1e-9, atol=1e-9, events=event, is_dense=True
    )
    t = np.linspace(0, 0.75, 50)
    assert np.allclose(solution.sol(t)[:, 0], np.exp(np.sin(t)), atol=3e-7)
    at = np.arcsin(np.log(2.0))
    assert np.isclose(solution.events[0].t[0], at, atol=1e-6)
    assert np.isclose(solution.y[-1, 0], np.exp(np.sin(1.2)) / 2, atol=1e-6)


@pytest.mark.parametrize("name, distance", [("bdf", 0.0), ("bdf", 1e-9), ("adams", 0.0)])
def test_two_close_stops_cost_few_steps(name, distance):
    f, y0, span, args, _ = published("hires")
    stops = [3.0, np.nextafter(3.0, 4.0) + distance]
    with_stops, without = (
        odesolve(f, y0, [0.0, 10.0], *args, method=name, rtol=1e-6, atol=1e-9, tstops=s) for s in (stops, [])
    )
    assert with_stops.stats.accepted < without.stats.accepted + 12
    assert np.allclose(with_stops.y, without.y, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("name, is_stiff", [("bdf", True), ("adams", False)])
def test_a_value_that_replaces_a_close_one(name, is_stiff):
    stepper = stepper_of(Multistep(name, is_stiff, 3), np.dtype(float), 1e-6, 1e-9)
    rng = np.random.default_rng(2)
    times, x = -np.cumsum(rng.uniform(0.1, 0.3, stepper.width)), rng.normal(size=(stepper.width, 2))
    t_new, x_new = times[0] + 1e-9, x[0] + 1e-8
    stages = [None] * 6
    stages[0], stages[1] = np.array([t_new]), x_new[None]
    found = stepper.replaced(memory_of(stepper.width, times, x), stages)
    expected = memory_of(stepper.width, np.append(t_new, times[1:]), np.concatenate([x_new[None], x[1:]]))
    for a, b in zip(found, expected):
        assert np.allclose(a, b, rtol=1e-10, atol=1e-12)


def test_gradients_past_close_stops():
    def loss(rate, stops):
        f = lambda t, y: -rate * y + np.stack([np.sin(t), y[0]])  # noqa: E731
        return odesolve(f, np.ones(2), [0.0, 1.0], method="bdf", rtol=1e-7, atol=1e-8, tstops=stops).y[-1].sum()

    assert np.isclose(mo.grad(loss)(3.0, [0.5, 0.5 + 1e-10]), mo.grad(loss)(3.0, []), rtol=1e-4)


def test_fixed_steps_are_refused():
    with pytest.raises(mo.BadInput, match='method "bdf" chooses its steps and its order; leave out steps'):
        odesolve(driven, driven_exact(0), [0, 1], method="bdf", steps=10)


def test_orders_that_do_not_exist():
    with pytest.raises(ValueError, match="the order of bdf is 6; expected 1 to 5"):
        Multistep("bdf", True, 6)
