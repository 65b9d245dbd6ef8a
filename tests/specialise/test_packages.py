"""The solvers of the packages compile as part of the models that use them."""

from __future__ import annotations

import numpy as np
from path_tester import assert_same, run_on

import morula as mo
from morula.ml import Chain, Dense, adam, cross_entropy, mean_squared_error
from morula.ode import odesolve
from morula.physics import gravity


def lotka_volterra(t, y, p):
    prey, predators = y[0], y[1]
    return np.array([p[0] * prey - p[1] * prey * predators, p[2] * prey * predators - p[3] * predators])


def populations(y0, p):
    ys = odesolve(lotka_volterra, y0, [0.0, 1.0, 2.5], p, rtol=1e-6, atol=1e-9).y
    return (ys**2).sum()


def fixed_steps(y0, p):
    ys = odesolve(lotka_volterra, y0, [0.0, 1.0], p, method="rk4", steps=10).y
    return (ys[-1] * np.array([1.0, 2.0])).sum()


Y0, P = np.array([1.0, 0.7]), np.array([1.5, 1.0, 0.8, 2.0])


def test_an_adaptive_solve(path):
    value, (dy, dp) = run_on(path)(mo.value_and_grad(populations, (0, 1)))(Y0, P)
    expected, (ey, ep) = mo.value_and_grad(populations, (0, 1))(Y0, P)
    assert np.isclose(value, expected, rtol=1e-9)
    assert np.allclose(dy, ey, rtol=1e-7) and np.allclose(dp, ep, rtol=1e-7)


def test_a_solve_in_fixed_steps(check):
    check(fixed_steps, Y0, P)


def orbit(positions, velocities, masses, n):
    dt = 0.05
    for _ in range(n):
        velocities = velocities + 0.5 * dt * gravity(positions, masses)
        positions = positions + dt * velocities
        velocities = velocities + 0.5 * dt * gravity(positions, masses)
    return (positions**2).sum() + (velocities * positions).sum()


def test_gravity(check):
    random = np.random.default_rng(0)
    check(orbit, random.standard_normal((3, 2)), random.standard_normal((3, 2)), np.array([1.0, 2.0, 0.5]), 4)


def regression(network, x, y):
    return mean_squared_error(network(x), y)


def training_step(network, state, x, y):
    value, gradient = mo.value_and_grad(regression)(network, x, y)
    network, state = adam(0.01).update(network, gradient, state)
    return value, network, state


def classification(network, x, labels):
    return cross_entropy(network(x), labels)


def network():
    rng = np.random.default_rng(0)
    return Chain(Dense(2, 5, np.tanh, rng=rng), Dense(5, 3, rng=rng))


def test_layers_and_losses(check):
    x = np.random.default_rng(1).standard_normal((7, 2))
    check(regression, network(), x, np.ones((7, 3)), argnums=(0, 1))
    check(classification, network(), x, np.arange(7) % 3, argnums=(0, 1))


def test_a_training_step_with_an_optimiser(path):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((7, 2)), rng.standard_normal((7, 3))
    start = network()
    expected = training_step(start, adam(0.01).init(start), x, y)
    found = run_on(path)(training_step)(network(), adam(0.01).init(start), x, y)
    assert_same(found, expected, 1e-9, "the step")
