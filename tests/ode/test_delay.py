"""Delay equations by the method of steps: closed forms, published problems, and derivatives with respect to everything."""

from __future__ import annotations

from math import factorial, floor

import numpy as np
import pytest
from path_tester import check_gradient
from scipy.integrate import solve_ivp

import morula as mo
from morula.ode import METHODS, Tableau
from morula.ode.delay import ddesolve

TIMES = np.array([0.0, 0.5, 1.7, 3.2, 10.0])


def fading(t, y, past, rate):
    return -rate * past


def by_ones(t):
    """u' = -u(t - 1), u = 1 before 0."""
    return sum((-1) ** k * (t - k + 1) ** k / factorial(k) for k in range(floor(t) + 2))


def from_nothing(t):
    """u' = -u(t - 1), u = 0 before 0 and 1 at 0."""
    return sum((-1) ** k * (t - k) ** k / factorial(k) for k in range(floor(t) + 1))


@pytest.mark.parametrize("method", ["bosh3", "tsit5", "dopri5", "vern7", "dop853"])
def test_closed_forms(method):
    tol = 1e-5 if method == "bosh3" else 1e-8
    options = {"lags": 1.0, "method": method, "rtol": tol, "atol": tol}
    y = ddesolve(fading, 1.0, TIMES, 1.0, **options).y
    assert np.allclose(y, [by_ones(t) for t in TIMES], atol=10 * tol)
    y = ddesolve(fading, 0.0, TIMES, 1.0, y0=1.0, **options).y
    assert np.allclose(y, [from_nothing(t) for t in TIMES], atol=10 * tol)


@pytest.mark.parametrize("name", [name for name, m in METHODS.items() if isinstance(m, Tableau) and len(m.error)])
def test_every_explicit_method_solves_delay_equations(name):
    y = ddesolve(fading, lambda t, rate: np.cos(t), [0.0, 1.0], 1.0, lags=1.0, method=name, rtol=1e-4, atol=1e-4).y[-1]
    assert np.isclose(y, 1.0 - np.sin(1.0), atol=2e-3)


def test_two_lags_of_the_tutorial_of_dde23():
    """Shampine, Thompson (2001), example 1 (Wille, Baker): y1 is a sum of powers; y2 and y3 follow by quadrature."""

    def f(t, y, past):
        first, second = past
        return np.stack([first[0], first[0] + second[1], y[1]])

    ts = np.array([0.0, 0.2, 0.4, 1.5, 5.0])
    solution = ddesolve(f, np.ones(3), ts, lags=[1.0, 0.2], rtol=1e-9, atol=1e-10)
    grown = [sum((t - k + 1) ** k / factorial(k) for k in range(floor(t) + 2)) for t in ts]
    assert np.allclose(solution.y[:, 0], grown, rtol=1e-8)
    assert np.allclose(solution.y[1:3, 1], [1.4, 1.8 + 0.2**2], rtol=1e-8)  # 1 + 2 t, then y2' = 1 + y2(t - 0.2)


def mackey_glass(t, y, past, production, decay, power):
    return production * past / (1 + past**power) - decay * y


def test_mackey_glass_agrees_with_the_method_of_steps_of_scipy():
    delay, solutions, y = 17.0, [lambda t: 1.2], 1.2
    for k in range(3):

        def slope(t, y, past=solutions[-1]):
            return mackey_glass(t, y, past(t - delay), 0.2, 0.1, 10.0)

        part = solve_ivp(
            slope, (k * delay, (k + 1) * delay), [y], method="DOP853", rtol=1e-12, atol=1e-13, dense_output=True
        )
        assert part.sol is not None
        solutions.append(lambda t, sol=part.sol: sol(t)[0])
        y = part.y[0, -1]
    found = ddesolve(
        mackey_glass, 1.2, [0.0, 25.0, 50.0], 0.2, 0.1, 10.0, lags=delay, rtol=1e-9, atol=1e-11, is_dense=True
    )
    assert np.allclose(found.y[1:], [solutions[2](25.0), solutions[3](50.0)], atol=1e-8)
    assert found.sol is not None and np.isclose(found.sol(33.0), solutions[2](33.0), atol=1e-8)


def test_steps_end_where_the_kink_of_the_start_propagates():
    found = ddesolve(fading, 1.0, [0.0, 4.5], 1.0, lags=1.0, is_dense=True).sol
    assert found is not None and {0.0, 1.0, 2.0, 3.0, 4.0} <= set(found.starts.tolist())


class TestStateDependentLags:
    def test_a_problem_of_neves(self):
        """K. W. Neves, ACM TOMS 1 (1975) 357: y' = y(y - sqrt 2 + 1) / (2 sqrt t), with a kink at t = 2."""
        root = np.sqrt(2.0)
        ts = np.array([1.0, 1.5, 2.0, 3.0, 5.0])
        found = ddesolve(
            lambda t, y, past: past / (2 * np.sqrt(t)),
            1.0,
            ts,
            lags=lambda t, y: t - y + root - 1.0,
            rtol=1e-7,
            atol=1e-8,
        )
        later = ts / 4 + 0.5 + (1 - root / 2) * np.sqrt(ts)
        assert np.allclose(found.y, np.where(ts <= 2.0, np.sqrt(ts), later), atol=2e-5)

    def test_lags_that_are_shorter_than_a_step(self):
        """y' = y(t - y^2 / 1000) would be y' = y but for a lag that shrinks the growth."""
        lag = 1e-6
        found = ddesolve(lambda t, y, past: past, 1.0, [0.0, 1.0], lags=lambda t, y: lag, rtol=1e-7, atol=1e-8)
        assert np.isclose(found.y[-1], np.exp(1.0 - lag), rtol=1e-6) and found.stats.accepted < 100

    def test_the_gradient_with_respect_to_a_parameter_of_the_lag(self):
        """u' = -u(t - p): the kink at t = p lies within a step."""

        def end(p):
            return ddesolve(lambda t, y, past: -past, 1.0, [0.0, 1.5], lags=lambda t, y: p, rtol=1e-9, atol=1e-9).y[-1]

        assert np.isclose(mo.grad(end)(1.0), -0.5, atol=1e-3)


class TestGradients:
    """u' = -a u(t - tau), u = c before 0: u(1.5) = c (1 - 1.5 a + a^2 (1.5 - tau)^2 / 2)."""

    @staticmethod
    def end(tau, a, c):
        return ddesolve(fading, c, [0.0, 1.5], a, lags=tau, max_steps=50).y[-1]

    @pytest.mark.parametrize("path", ["eager", "native", "xla"])
    def test_lag_rate_and_history(self, path):
        gradient = mo.grad(self.end, (0, 1, 2))
        found = (gradient if path == "eager" else mo.jit(gradient, target=path))(1.0, 0.7, 2.0)
        assert np.allclose(found, [2 * -0.49 * 0.5, 2 * (-1.5 + 0.7 * 0.25), 1 - 1.05 + 0.49 / 8], atol=1e-9)

    def test_a_lag_moves_the_jump_that_a_history_leaves(self):
        """With u = 0 before 0 and u(0) = 1, u(1.5) = 1 - a (1.5 - tau)."""

        def end(tau, a, y0):
            return ddesolve(fading, 0.0, [0.0, 1.5], a, lags=tau, y0=y0).y[-1]

        assert np.allclose(mo.gradient(end, 1.0, 0.7, 1.0), [0.7, -0.5, 1 - 0.35], atol=1e-9)

    def test_the_parameters_of_a_history_and_second_derivatives(self):
        def end(x):
            history = lambda t, a, w: np.cos(w * t)  # noqa: E731
            return ddesolve(
                lambda t, y, past, a, w: -a * past, history, [0.0, 1.0], x[0], x[1], lags=1.0, rtol=1e-9, atol=1e-9
            ).y[-1]

        def exact(x):
            return 1.0 - x[0] * np.sin(x[1]) / x[1]

        x = np.array([0.7, 1.3])
        assert np.allclose(mo.grad(end)(x), mo.grad(exact)(x), atol=1e-7)
        assert np.allclose(mo.hessian(end)(x), mo.hessian(exact)(x), atol=1e-6)

    def test_a_discrete_solution_agrees_with_differences(self):
        """Steps of a fixed size between stops that move with both lags; the state is a dict."""

        def f(t, y, past, a):
            first, second = past
            return {"x": -a * first["x"] * y["z"][0], "z": second["z"] * np.cos(t) - first["x"]}

        def loss(short, long, a, x, z):
            y0 = {"x": x, "z": z}
            options = {"rtol": 1e9, "first_step": 0.2, "max_step": 0.2}
            y = ddesolve(f, y0, [0.0, 0.4, 1.9], a, lags=[short, long], **options).y
            return y["x"][-1] ** 2 + y["z"][-1, 0] * y["x"][1]

        check_gradient("eager", loss, 0.5, 1.1, 0.8, 1.2, np.array([0.3]))


def test_a_batch_of_lags():
    tau = np.array([0.9, 1.0, 1.2])
    ends = mo.vmap(lambda tau: TestGradients.end(tau, 0.7, 1.0))(tau)
    assert np.allclose(ends, 1 - 1.05 + 0.49 * (1.5 - tau) ** 2 / 2, atol=1e-8)


@pytest.mark.parametrize("given, message", [
    ({"lags": 0.0}, r"lags\[0\] is 0 at the start; a lag is a positive number"),
    ({"lags": [1.0, -2.0]}, r"lags\[1\] is -2 at the start"),
    ({"lags": lambda t, y, rate: -1.0}, r"lags\[0\] is -1 at the start"),
    ({"lags": lambda t, y, rate: np.ones(2)}, r"lags\[0\] returned shape \(2,\); expected a real number"),
    ({"lags": lambda t, y, rate: 1.0, "y0": 2.0}, "y0 differs from the history at the start, and the jumps of y' that follow"),
    ({"lags": []}, "lags is empty; give a number, a function lag"),
    ({"lags": ["1"]}, r"lags\[0\] is '1'; expected a positive number, or a function lag"),
    ({"method": "radau5"}, "radau5 does not solve delay equations; choose one of .*tsit5"),
    ({"method": "rk4"}, 'method "rk4" has no error estimate'),
    ({"ts": [1.0, 0.0]}, "ts must rise from its first to its last time: a delay equation"),
    ({"f": 1.0}, r"f is float; ddesolve needs a function f\(t, y, past, \*args\)"),
    ({"history": None}, "the history is None; give a state, or a function history"),
    (
        {"history": lambda t, rate: 1.0 if t >= -0.5 else np.nan},
        r"the history is not finite at t = -1, where lags\[0\] reaches from the start; it must be known from there",
    ),
    ({"history": np.nan}, "the state at the start holds a value that is not finite"),
    ({"history": lambda t, rate: np.ones(2), "y0": 1.0}, r"the history has shape \(2,\).* the state there has shape \(\)"),
    ({"rtol": 0.0, "atol": 0.0}, "rtol and atol are both 0 for some component"),
])  # fmt: skip
def test_what_is_wrong_with_the_arguments_is_said(given, message):
    options = {"f": fading, "history": 1.0, "ts": [0.0, 1.0], "lags": 1.0, **given}
    f, history, ts = options.pop("f"), options.pop("history"), options.pop("ts")
    with pytest.raises(mo.BadInput, match=message):
        ddesolve(f, history, ts, 1.0, **options)


def test_a_solve_that_fails_has_what_was_computed():
    solution = ddesolve(fading, 1.0, [0.0, 0.5, 100.0], 1.0, lags=1.0, max_steps=20, throw=False)
    assert solution.status.name == "MAX_STEPS" and np.isclose(solution.y[1], 0.5) and np.isnan(solution.y[2])
