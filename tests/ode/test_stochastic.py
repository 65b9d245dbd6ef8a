"""Stochastic differential equations: paths, order conditions, strong convergence to closed forms, gradients, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, check_gradient, run_on

import morula as mo
from morula.ode import Event, IntegrationFailed
from morula.ode.stochastic import METHODS, BrownianPath, sdesolve

SAMPLES = 400
ADDITIVE = [name for name, m in METHODS.items() if m.is_additive]
OTHERS = [name for name, m in METHODS.items() if not m.is_additive]


# Paths


def value_and_integral(seed, t):
    w, integral = BrownianPath(seed, 0.0, 2.0, 1, 3)(t)
    return np.concatenate((w, integral))


DRAWN = mo.jit(mo.vmap(value_and_integral, in_axes=(0, None)), target="native")


@pytest.mark.parametrize("times", [(0.3, 0.71), (0.71, 1.0), (1.01, 2.0), (0.5, 1.97)])
def test_values_and_integrals_have_the_covariances_of_brownian_motion(times):
    found = np.hstack([DRAWN(np.arange(20_000), t) for t in times])
    s, t = times

    def of_values(a, b):
        return min(a, b)

    def of_value_and_integral(a, b):
        return b * b / 2 if b <= a else a * a / 2 + a * (b - a)

    def of_integrals(a, b):
        a, b = min(a, b), max(a, b)
        return a * a * (3 * b - a) / 6

    kinds = [(of_values, s), (of_integrals, s), (of_values, t), (of_integrals, t)]
    exact = np.empty((4, 4))
    for i, (kind, a) in enumerate(kinds):
        for j, (other, b) in enumerate(kinds):
            exact[i, j] = (
                kind(a, b)
                if kind is other
                else of_value_and_integral(a, b)
                if kind is of_values
                else of_value_and_integral(b, a)
            )
    deviation = np.sqrt((exact**2 + np.outer(np.diag(exact), np.diag(exact))) / len(found))
    assert np.all(np.abs(np.cov(found.T) - exact) < 5 * deviation)
    assert np.all(np.abs(found.mean(0)) < 5 * np.sqrt(np.diag(exact) / len(found)))


def test_motions_and_seeds_are_independent():
    first = BrownianPath(1, 0.0, 1.0, 20_000)(1.0)[0]
    second = BrownianPath(2, 0.0, 1.0, 20_000)(1.0)[0]
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(20_000)
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 5 / np.sqrt(20_000)


def test_finer_levels_keep_the_values_at_coarser_nodes():
    coarse, fine = BrownianPath(5, 0.0, 1.0, 3, 4), BrownianPath(5, 0.0, 1.0, 3, 20)
    for k in range(1, 16):
        for a, b in zip(coarse(k / 16), fine(k / 16)):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e-14)


@pytest.mark.parametrize("path", PATHS)
def test_all_paths_draw_the_same(path):
    for t in (0.0, 0.37, 2.0):
        np.testing.assert_allclose(run_on(path)(value_and_integral)(9, t), value_and_integral(9, t), atol=1e-14)


# Methods


@pytest.mark.parametrize("name", [n for n in OTHERS if METHODS[n].order == 1.5])
def test_order_conditions_of_diagonal_noise(name):
    """The conditions of strong order 1.5: A. Rossler (2010), theorem 5.1."""
    m = METHODS[name]
    A0, B0, A1, B1, alpha, beta = map(np.array, (m.A0, m.B0, m.A1, m.B1, m.alpha, m.beta))
    b0, b1 = B0.sum(1), B1.sum(1)
    assert np.allclose([alpha.sum(), *beta.sum(0)], [1, 1, 0, 0, 0])
    assert np.allclose(beta.T @ b1, [0, 1, 0, 0])
    assert np.allclose([alpha @ A0.sum(1), alpha @ b0, alpha @ b0**2], [0.5, 1, 1.5])
    assert np.allclose(beta.T @ A1.sum(1), [1, 0, -1, 0])
    assert np.allclose(beta.T @ b1**2, [1, 0, -1, 2])
    assert np.allclose(beta.T @ (B1 @ b1), [0, 0, 0, 1])
    assert np.isclose((0.5 * beta[:, 0] + beta[:, 2] / 3) @ (A1 @ b0), 0)


@pytest.mark.parametrize("name", ADDITIVE)
def test_order_conditions_of_additive_noise(name):
    """A. Rossler (2010), theorem 6.1."""
    m = METHODS[name]
    A0, B0, alpha, beta, c1 = map(np.array, (m.A0, m.B0, m.alpha, m.beta, m.c1))
    b0 = B0.sum(1)
    assert np.allclose([alpha.sum(), *beta.sum(0)], [1, 1, 0, 0, 0])
    assert np.allclose([alpha @ b0, alpha @ A0.sum(1), alpha @ b0**2], [1, 0.5, 1.5])
    assert np.allclose(beta.T @ c1, [1, 0, -1, 0])


def rate_of(error_at):
    """The slope of the logarithm of the error over that of the step."""
    steps = np.array([8, 16, 32, 64])
    return -np.polyfit(np.log(steps), np.log([error_at(int(n)) for n in steps]), 1)[0]


@pytest.mark.parametrize("noise", ["diagonal", "scalar"])
@pytest.mark.parametrize("name", OTHERS)
def test_strong_order_of_a_nonlinear_equation(name, noise):
    """P. E. Kloeden, E. Platen (1992), (4.4.46): dX = -(a + b^2 X) (1 - X^2) dt + b (1 - X^2) dW."""
    a, b = 0.5, 0.8
    y0 = np.linspace(-0.5, 0.5, SAMPLES)
    path = BrownianPath(3, 0.0, 1.0, SAMPLES if noise == "diagonal" else 1)
    growth = np.exp(-2 * a + 2 * b * path(1.0)[0])
    exact = ((1 + y0) * growth + y0 - 1) / ((1 + y0) * growth + 1 - y0)

    def error(steps):
        solution = sdesolve(
            lambda t, x: -(a + b * b * x) * (1 - x * x),
            lambda t, x: b * (1 - x * x),
            y0,
            [0.0, 1.0],
            path=path,
            noise=noise,
            method=name,
            steps=steps,
        )
        return np.mean(np.abs(solution.y[-1] - exact))

    assert error(64) < {0.5: 0.1, 1.0: 0.02, 1.5: 0.002}[METHODS[name].order]
    if noise == "diagonal":
        assert rate_of(error) > METHODS[name].order - 0.2


@pytest.mark.parametrize("name", ADDITIVE)
def test_strong_order_with_additive_noise(name):
    """P. E. Kloeden, E. Platen (1992), (4.4.36), with the solution (y0 + b (t + a W)) / sqrt(1 + t)."""
    a, b = 0.7, 1.3
    path = BrownianPath(3, 0.0, 1.0, SAMPLES)
    exact = (1.0 + b * (1.0 + a * path(1.0)[0])) / np.sqrt(2.0)

    def error(steps):
        solution = sdesolve(
            lambda t, x: b / np.sqrt(1 + t) - x / (2 * (1 + t)),
            lambda t, x: np.full(SAMPLES, a * b / np.sqrt(1 + t)),
            np.ones(SAMPLES),
            [0.0, 1.0],
            path=path,
            method=name,
            steps=steps,
        )
        return np.mean(np.abs(solution.y[-1] - exact))

    assert rate_of(error) > 1.3


WEAK_ORDERS = {"euler_maruyama": 1, "milstein": 1, "sriw1": 2, "sriw2": 2, "sosri": 2, "heun": 1, "midpoint": 1}


@pytest.mark.parametrize("name", OTHERS)
def test_weak_order_of_the_mean_of_geometric_brownian_motion(name):
    """The exact solution along each path is the control variate, so that few samples give narrow intervals of confidence."""
    samples, a, b = 4000, 1.5, 0.3
    path = BrownianPath(1, 0.0, 1.0, samples, 5)
    exact = np.exp(a - b * b / 2 + b * path(1.0)[0])
    biases, deviations = [], []
    for steps in (8, 16):
        y = sdesolve(
            lambda t, y: a * y, lambda t, y: b * y, np.ones(samples), [0.0, 1.0], path=path, method=name, steps=steps
        ).y[-1]
        biases.append(np.mean(y - exact))
        deviations.append(np.std(y - exact) / np.sqrt(samples))
    order = np.log2(abs(biases[0] / biases[1]))
    uncertainty = np.hypot(deviations[0] / biases[0], deviations[1] / biases[1]) / np.log(2)
    assert order + 3 * uncertainty > WEAK_ORDERS[name] - 0.15
    assert uncertainty < 0.1 or abs(biases[1]) < 3e-4 * np.exp(a)  # no bias is seen


DIRECTIONS = np.array([[0.3, -0.2, 0.1], [0.1, 0.4, -0.3]])
"""The growth of two numbers by three motions."""


@pytest.mark.parametrize("name", [n for n in OTHERS if "general" in METHODS[n].noises])
@pytest.mark.parametrize("interpretation", ["ito", "stratonovich"])
def test_general_noise_in_both_interpretations(name, interpretation):
    path = BrownianPath(11, 0.0, 1.0, 3)
    drift = np.array([0.1, -0.2])
    change = 0.5 * np.sum(DIRECTIONS**2, 1) if interpretation == "ito" else 0.0
    exact = np.exp(drift - change + DIRECTIONS @ path(1.0)[0])
    solution = sdesolve(
        lambda t, y: drift * y,
        lambda t, y: DIRECTIONS * y[:, None],
        np.ones(2),
        [0.0, 1.0],
        path=path,
        noise="general",
        interpretation=interpretation,
        method=name,
        steps=512,
    )
    np.testing.assert_allclose(solution.y[-1], exact, atol=0.02 if name == "euler_maruyama" else 1e-3)


def test_diagonal_noise_in_the_other_interpretation():
    path = BrownianPath(4, 0.0, 1.0, 5)
    for name in OTHERS:
        solution = sdesolve(
            lambda t, y: 0.1 * y,
            lambda t, y: 0.3 * y,
            np.ones(5),
            [0.0, 1.0],
            path=path,
            interpretation="stratonovich",
            method=name,
            steps=256,
        )
        exact = np.exp(0.1 + 0.3 * path(1.0)[0])
        np.testing.assert_allclose(solution.y[-1], exact, atol=0.03 if name == "euler_maruyama" else 1e-3)


def test_moments_of_an_ornstein_uhlenbeck_process():
    solution = sdesolve(
        lambda t, y: -1.5 * y,
        lambda t, y: np.full(20_000, 0.6),
        np.ones(20_000),
        [0.0, 1.0],
        path=1,
        method="sra3",
        steps=20,
    )
    mean, variance = np.exp(-1.5), 0.36 * (1 - np.exp(-3.0)) / 3
    assert abs(solution.y[-1].mean() - mean) < 5 * np.sqrt(variance / 20_000)
    assert abs(solution.y[-1].var() - variance) < 5 * variance * np.sqrt(2 / 20_000)


# Adaptive steps


@pytest.mark.parametrize("name", ["sosri", "sriw1", "milstein", "heun"])
def test_the_error_follows_the_tolerance(name):
    path = BrownianPath(8, 0.0, 1.0, 2)
    exact = np.exp(0.1 - 0.08 + 0.4 * path(1.0)[0])

    def solved(rtol):
        return sdesolve(
            lambda t, y: 0.1 * y,
            lambda t, y: 0.4 * y,
            np.ones(2),
            [0.0, 0.4, 1.0],
            path=path,
            method=name,
            rtol=rtol,
            atol=rtol,
        )

    coarse, fine = solved(1e-1), solved(1e-4)
    assert np.abs(fine.y[-1] - exact).max() < 5e-3
    assert coarse.stats.accepted < fine.stats.accepted
    assert fine.success and fine.t.tolist() == [0.0, 0.4, 1.0]


def test_events_end_a_solve_and_structures_are_kept():
    found = sdesolve(
        lambda t, y: {"price": 0.5 * y["price"], "time": 1.0},
        lambda t, y: {"price": 0.05 * y["price"], "time": 0.0},
        {"price": 1.0, "time": 0.0},
        [0.0, 4.0],
        path=2,
        rtol=1e-3,
        events=Event(lambda t, y: y["price"] - 2.0, is_terminal=True),
    )
    assert found.status.name == "TERMINATED"
    assert abs(found.y_reached["price"] - 2.0) < 1e-6 and abs(found.y_reached["time"] - found.t_reached) < 1e-9


# Derivatives


def price(start, rate, volatility, seed, method="sriw1", interpretation="ito"):
    return sdesolve(
        lambda t, y, rate, volatility: rate * np.sin(y),
        lambda t, y, rate, volatility: volatility * np.cos(y) * (1.0 + t),
        start,
        [0.0, 1.0],
        rate,
        volatility,
        path=seed,
        method=method,
        interpretation=interpretation,
        steps=4,
    ).y


@pytest.mark.parametrize(
    "path, method, interpretation",
    [(p, m, "ito") for p in PATHS for m in ("sriw1", "heun")] + [("eager", "milstein", "stratonovich")],
)
def test_gradients_along_a_fixed_path(path, method, interpretation):
    def loss(start, rate, volatility):
        y = price(start, rate, volatility, 5, method, interpretation)
        return np.sum(y * y)

    check_gradient(path, loss, np.array([0.3, 1.1]), 0.7, np.array([0.4, 0.2]))


def test_adaptive_gradients_approach_the_closed_form():
    path = BrownianPath(7, 0.0, 1.0)

    def end(rate, volatility):
        return sdesolve(
            lambda t, y, a, b: a * y,
            lambda t, y, a, b: b * y,
            1.0,
            [0.0, 1.0],
            rate,
            volatility,
            path=path,
            rtol=1e-5,
            atol=1e-6,
        ).y[-1]

    w = path(1.0)[0][0]
    exact = np.exp(0.05 - 0.08 + 0.4 * w)
    found = mo.jit(mo.grad(end, argnums=(0, 1)), target="native")(0.05, 0.4)
    np.testing.assert_allclose(found, (exact, exact * (w - 0.4)), rtol=1e-3)


def test_forward_and_second_derivatives():
    at = np.array([0.3, 1.1]), 0.7, np.array([0.4, 0.2])

    def loss(rate):
        y = price(at[0], rate, at[2], 5)
        return np.sum(y * y)

    np.testing.assert_allclose(mo.jvp(loss, (0.7,), (1.0,))[1], mo.grad(loss)(0.7), rtol=1e-12)
    check_gradient("eager", mo.grad(loss), 0.7)


def test_samples_have_steps_of_their_own():
    def end(seed):
        solution = sdesolve(
            lambda t, y: 0.1 * y, lambda t, y: 0.4 * y, 1.0, [0.0, 1.0], path=seed, rtol=1e-3, atol=1e-4
        )
        return solution.y[-1], solution.stats.accepted

    ends, accepted = mo.jit(mo.vmap(end), target="native")(np.arange(64))
    assert len(set(accepted.tolist())) > 3
    exact = [np.exp(0.1 - 0.08 + 0.4 * BrownianPath(i, 0.0, 1.0)(1.0)[0][0]) for i in range(64)]
    np.testing.assert_allclose(ends, exact, rtol=0.01)


# Bad input


def solve(f=lambda t, y: y, g=lambda t, y: y, y0=1.0, ts=(0.0, 1.0), path=1, **options):
    return sdesolve(f, g, y0, ts, path=path, **options)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: solve(f=1.0), "f is float; sdesolve needs the drift, a function f"),
        (lambda: solve(g=None), "g is NoneType; sdesolve needs the diffusion"),
        (lambda: solve(ts=[1.0, 0.0]), "ts must rise from its first to its last time"),
        (lambda: solve(y0=1j), "y0 is complex; give its real and imaginary parts apart"),
        (lambda: solve(y0=np.zeros(0)), "y0 is empty"),
        (lambda: solve(y0=np.nan), "y0 holds a value that is not finite"),
        (lambda: solve(noise="white"), 'noise is \'white\'; expected "diagonal", "scalar" or "general"'),
        (lambda: solve(interpretation="itô"), 'expected "ito" or "stratonovich"'),
        (lambda: solve(method="rk4"), "method 'rk4' is not known; choose one of euler_maruyama, milstein"),
        (
            lambda: solve(y0=np.ones(2), noise="general", method="sosri"),
            'method "sosri" does not solve equations with general noise; choose one of euler_maruyama, ',
        ),
        (lambda: solve(noise="general"), 'noise="general" needs a y0 that is a vector'),
        (
            lambda: solve(y0=np.ones(2), g=lambda t, y: np.ones(3), noise="general"),
            "g returned shape \\(3,\\) for a state of shape \\(2,\\); general noise needs \\(2, m\\)",
        ),
        (
            lambda: solve(g=lambda t, y: np.ones(2)),
            "g returned shape \\(2,\\) for a state of shape \\(\\); diagonal noise needs the",
        ),
        (
            lambda: solve(y0=np.ones(2), g=lambda t, y: np.ones((2, 1)), noise="scalar"),
            'scalar noise needs the shape of the state, and noise="general" a matrix',
        ),
        (
            lambda: solve(y0=np.ones(2), g=lambda t, y: np.ones((2, 2 if t < 0.5 else 3)), noise="general", steps=4),
            "g returned shape \\(2, 3\\) at t = 0.5, and \\(2, 2\\) at the start; the two must agree",
        ),
        (lambda: solve(path=BrownianPath(1, 0.0, 1.0, 2)), "the path has 2 motions; the equation has 1"),
        (lambda: solve(path=BrownianPath(1, 0.5, 1.0)), "the path goes from 0.5 to 1; ts goes from 0 to 1"),
        (lambda: solve(steps=0), "steps = 0; expected an integer of at least 1"),
        (lambda: solve(steps=2, events=lambda t, y: y), "steps does not go together with events"),
        (lambda: solve(rtol=0.0, atol=0.0), "rtol and atol are both 0"),
        (lambda: BrownianPath(1, 1.0, 1.0), "a path needs an end after its start"),
        (lambda: BrownianPath(1, 0.0, 1.0, levels=0), "expected size >= 1 and 1 <= levels <= 48"),
    ],
)
def test_bad_input(call, text):
    with pytest.raises(mo.BadInput, match=text):
        call()


def test_what_was_computed_is_on_the_exception():
    with pytest.raises(IntegrationFailed, match="max_steps = 3 steps were taken") as failure:
        solve(g=lambda t, y: 0.5 * y, ts=[0.0, 0.01, 1.0], rtol=1e-5, atol=1e-6, max_steps=3)
    assert np.isfinite(failure.value.solution.y_reached)
