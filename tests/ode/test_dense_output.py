"""The solution as a function of time, and at the steps' own times."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import morula as mo
from morula.ode import METHODS, EsdirkTableau, Event, NystromTableau, Tableau, odesolve

from .problems import kepler, kepler_exact, kepler_start

FIXED = (  # methods without an error estimate
    "euler", "rk4", "ck54", "cfrlddrk64", "williamson3", "trapezoid", "implicit_midpoint", "gauss4", "gauss6"
)  # fmt: skip
ADAPTIVE = [
    name
    for name, method in METHODS.items()
    if name not in FIXED and method.order > 1 and not isinstance(method, NystromTableau)
]


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("ts", [[0.0, 2.0], [2.0, 0.0]], ids=["forwards", "backwards"])
def test_values_and_slopes(method, ts):
    tol = 1e-5 if METHODS[method].order < 4 else 1e-8
    solution = odesolve(kepler, kepler_exact(ts[0], 0.3), ts, method=method, rtol=tol, atol=tol, is_dense=True)
    times = np.linspace(0.0, 2.0, 23)
    y = solution.sol(times)
    # Cubic dense output is below the order of the steps; many small steps of bdf add up.
    factor = 30 if isinstance(METHODS[method], EsdirkTableau) or method == "bdf" else 1
    assert abs(y - kepler_exact(times, 0.3)).max() < 300 * factor * tol
    slopes = np.stack([kepler(t, row) for t, row in zip(times, y)])
    assert (
        abs(solution.sol.derivative(times) - slopes).max()
        < (1e4 if isinstance(METHODS[method], Tableau) else 1e5) * tol
    )
    assert solution.sol(ts[1]).shape == (4,) and np.allclose(solution.sol(ts[1]), solution.y[-1], rtol=1e-9)


def test_dense_output_costs_no_evaluations_of_methods_with_an_interpolant():
    plain = odesolve(kepler, kepler_start(0.3), [0, 5])
    dense = odesolve(kepler, kepler_start(0.3), [0, 5], is_dense=True)
    assert plain.stats == dense.stats and np.array_equal(plain.y, dense.y)


def test_a_structure():
    sol = odesolve(lambda t, y: {"a": -y["a"]}, {"a": np.ones(3)}, [0.0, 1.0], is_dense=True).sol
    assert sol(0.5)["a"].shape == (3,) and sol(np.array([0.1, 0.2]))["a"].shape == (2, 3)
    assert np.allclose(sol.derivative(0.5)["a"], -np.exp(-0.5), atol=1e-4)


def test_the_state_jumps_at_an_event():
    event = Event(lambda t, y: y - 1.0, direction=1, change=lambda t, y: 0.0 * y)
    solution = odesolve(lambda t, y: 1.0, 0.0, [0.0, 2.5], events=event, is_dense=True)
    assert np.allclose(solution.sol(np.array([0.5, 0.99, 1.01, 1.7, 2.2])), [0.5, 0.99, 0.01, 0.7, 0.2], atol=1e-9)


def test_saveat():
    times = np.array([0.3, 1.0, 1.9])
    solution = odesolve(kepler, kepler_start(0.3), [0, 2], saveat=times)
    assert np.array_equal(solution.t, times) and np.allclose(solution.y, kepler_exact(times, 0.3), atol=1e-4)
    assert solution.stats == odesolve(kepler, kepler_start(0.3), [0, 2]).stats


def test_saving_every_step():
    solution = odesolve(kepler, kepler_start(0.3), [0, 1, 2], saveat="steps", rtol=1e-8, atol=1e-8)
    assert len(solution.t) == solution.stats.accepted + 1 and solution.t[0] == 0 and solution.t[-1] == 2
    assert np.allclose(solution.y, kepler_exact(solution.t, 0.3), atol=1e-6) and solution.sol is None


def test_solutions_pickle():
    solution = odesolve(kepler, kepler_start(0.3), [0, 2], is_dense=True)
    again = pickle.loads(pickle.dumps(solution))
    assert np.array_equal(again.sol(1.2), solution.sol(1.2)) and again.status is solution.status


class TestGradients:
    def value(self, rate, t):
        return odesolve(lambda t, y: -rate * y, 1.0, [0.0, 2.0], is_dense=True, rtol=1e-9, atol=1e-9).sol(t)

    def test_parameters_and_times(self):
        d = mo.gradient(self.value, 0.7, 1.3)
        assert np.allclose(d, [-1.3 * np.exp(-0.91), -0.7 * np.exp(-0.91)], atol=1e-7)

    def test_times_of_saveat(self):
        def value(times):
            return odesolve(lambda t, y: -y, 1.0, [0.0, 2.0], saveat=times, rtol=1e-9, atol=1e-9).y.sum()

        times = np.array([0.4, 1.1])
        assert np.allclose(mo.grad(value)(times), -np.exp(-times), atol=1e-7)

    def test_compiled(self):
        value, (d, dt) = mo.jit(mo.value_and_grad(self.value, (0, 1)), target="native")(0.7, 1.3)
        assert np.allclose([value, d, dt], [np.exp(-0.91), -1.3 * np.exp(-0.91), -0.7 * np.exp(-0.91)], atol=1e-7)


@pytest.mark.parametrize("call, message", [
    (lambda: odesolve(kepler, kepler_start(0.3), [0, 2], is_dense=True).sol(2.5), "t lies outside of the span from 0 to 2"),
    (lambda: odesolve(kepler, kepler_start(0.3), [0, 2], is_dense=True).sol(np.ones((2, 2))), r"t has shape \(2, 2\)"),
    (lambda: odesolve(kepler, kepler_start(0.3), [0, 2], saveat="all"), 'saveat is \'all\'; expected times .* or "steps"'),
    (lambda: odesolve(kepler, kepler_start(0.3), [0, 2], saveat=[1, 3]), "saveat goes from 1 to 3, outside of the span"),
])  # fmt: skip
def test_bad_input(call, message):
    with pytest.raises(mo.BadInput, match=message):
        call()


class TestInterpolants:
    """The pieces between the breakpoints, also across an event that changes the state, and backwards in time."""

    @pytest.mark.parametrize("ts", [[0.0, 2.5], [2.5, 0.0]], ids=["forwards", "backwards"])
    def test_pieces_are_the_solution(self, ts):
        event = Event(lambda t, y: y[0] - 0.5, change=lambda t, y: y + 1.0)
        sol = odesolve(lambda t, y: y * np.cos(t), np.ones(2), ts, events=event, is_dense=True).sol
        breaks = sol.breakpoints
        assert breaks[0] == ts[0] and np.isclose(breaks[-1], ts[1]) and len(sol.interpolants) == len(breaks) - 1
        for i, piece in enumerate(sol.interpolants):
            t = 0.7 * breaks[i] + 0.3 * breaks[i + 1]
            x = (t - sol.starts[i]) / sol.sizes[i]
            by_hand = np.polynomial.polynomial.polyval(x, sol.polynomials[i])
            assert np.allclose(piece(t), sol(t), rtol=1e-14) and np.allclose(by_hand, sol(t), rtol=1e-13)
            with pytest.raises(mo.BadInput, match="outside of the span"):
                piece(2 * breaks[i + 1] - breaks[i])

    def test_their_derivative(self):
        def value(k):
            sol = odesolve(lambda t, y: k * y, 1.0, [0.0, 1.0], is_dense=True, rtol=1e-9).sol
            return sol.interpolants[-1](1.0) + sol.polynomials[0, 0, 0]

        assert np.isclose(mo.grad(value)(0.7), np.exp(0.7), rtol=1e-7)
