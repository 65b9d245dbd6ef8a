"""Projection onto invariants: they are kept, the order and the dense output stay, derivatives on every path, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, check_gradient

import morula as mo
from morula.ode import Event, SecondOrder, odesolve

from .problems import kepler, kepler_exact


def integrals(t, y):
    """The energy and the angular momentum of a body in Kepler's field, y = (q, v)."""
    return np.stack([np.sum(y[2:] ** 2) / 2 - 1 / np.sqrt(np.sum(y[:2] ** 2)), y[0] * y[3] - y[1] * y[2]])


def deviation(rows):
    found = np.array([integrals(0.0, y) for y in rows])
    return abs(found - found[0]).max()


@pytest.mark.parametrize("method", ["tsit5", "rodas5p", "kvaerno5", "radau5"])
def test_the_invariants_are_kept(method):
    y0, ts = kepler_exact(0.0, 0.3), [0.0, 5.0, 10.0]
    free = odesolve(kepler, y0, ts, method=method, rtol=1e-5, atol=1e-5, tstops=ts)
    kept = odesolve(kepler, y0, ts, method=method, rtol=1e-5, atol=1e-5, tstops=ts, invariants=integrals)
    assert deviation(kept.y) < 1e-14 < 1e-7 < deviation(free.y)
    assert abs(kept.y[-1] - kepler_exact(10.0, 0.3)).max() < abs(free.y[-1] - kepler_exact(10.0, 0.3)).max()


@pytest.mark.parametrize("method, steps, order", [("rk4", 160, 4), ("gauss4", 40, 4), ("rodas4", 80, 4)])
def test_the_order_stays(method, steps, order):
    end = kepler_exact(3.0, 0.3)
    errors = [
        abs(odesolve(kepler, kepler_exact(0.0, 0.3), [0, 3.0], method=method, steps=n, invariants=integrals).y[-1] - end).max()
        for n in (steps, 2 * steps)
    ]  # fmt: skip
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.4


def test_dense_output_is_continuous_and_accurate():
    sol = odesolve(
        kepler, kepler_exact(0.0, 0.3), [0.0, 3.0], rtol=1e-6, atol=1e-6, invariants=integrals, is_dense=True
    ).sol
    times = np.linspace(0.0, 3.0, 40)
    assert abs(sol(times) - kepler_exact(times, 0.3)).max() < 1e-4
    inner = sol.ends[:-1]
    assert abs(sol(inner - 1e-13) - sol(inner)).max() < 1e-11
    assert deviation(sol(inner)) < 1e-14


def test_an_event_that_changes_the_state_changes_the_value():
    """A ball that loses half of its energy at the floor: it keeps what it has between the bounces."""
    bounce = Event(lambda t, y: y[0], direction=-1, change=lambda t, y: np.stack([0 * y[0], -np.sqrt(0.5) * y[1]]))
    solution = odesolve(
        lambda t, y: np.stack([y[1], -1.0 + 0 * y[0]]), np.array([1.0, 0.0]), [0.0, 2.0, 3.0], events=bounce,
        invariants=lambda t, y: y[1] ** 2 / 2 + y[0], tstops=[2.0],
    )  # fmt: skip
    assert np.allclose(solution.y[:, 1] ** 2 / 2 + solution.y[:, 0], [1.0, 0.5, 0.5], atol=1e-12)


def test_a_structure_and_a_second_order_equation():
    f = SecondOrder(lambda t, q, k: {"x": -k * q["x"]})
    start = {"x": np.array([1.0, 0.5])}, {"x": np.zeros(2)}
    q, v = odesolve(
        f, start, [0.0, 20.0], 4.0, method="dprkn6", rtol=1e-4,
        invariants=lambda t, y, k: np.sum(y[1]["x"] ** 2 + k * y[0]["x"] ** 2),
    ).y  # fmt: skip
    assert abs(np.sum(v["x"][-1] ** 2 + 4 * q["x"][-1] ** 2) - 5.0) < 1e-13


@pytest.mark.parametrize("path", PATHS)
def test_gradients(path):
    def loss(y0, k):
        f = lambda t, y, k: np.stack([y[1], -k * np.sin(y[0])])  # noqa: E731
        energy = lambda t, y, k: y[1] ** 2 / 2 - k * np.cos(y[0])  # noqa: E731
        y = odesolve(f, y0, [0.0, 1.0], k, method="rk4", steps=3, invariants=energy).y[-1]
        return np.sum(y**2) + y[0]

    check_gradient(path, loss, np.array([0.7, 0.2]), 1.3)


def test_gradients_along_adaptive_steps_in_native_code():
    def loss(y0):
        return np.sum(odesolve(kepler, y0, [0.0, 1.0], rtol=1e-8, atol=1e-8, invariants=integrals).y[-1] ** 2)

    y0 = kepler_exact(0.0, 0.3)
    eager = mo.grad(loss)(y0)
    expected = mo.grad(lambda y0: np.sum(odesolve(kepler, y0, [0.0, 1.0], rtol=1e-12, atol=1e-12).y[-1] ** 2))(y0)
    assert np.allclose(eager, expected, rtol=1e-5)
    assert np.allclose(mo.jit(mo.grad(loss), target="native")(y0), eager, rtol=1e-7)


@pytest.mark.parametrize("change, message", [
    ({"invariants": 3}, r"invariants is int; expected a function invariants\(t, y, \*args\)"),
    ({"invariants": lambda t, y: np.stack([y[0], 2 * y[0]])}, "the derivatives of the 2 invariants at y0 have rank 1"),
    ({"invariants": lambda t, y: y[0] / 0.0}, "expected finite real numbers"),
    ({"method": "bdf"}, "bdf does not project onto invariants; choose a Runge-Kutta method"),
    ({"y0": kepler_exact(0.0, 0.3) + 0j}, "invariants need a real state"),
    ({"adjoint": "backsolve"}, 'invariants goes together with adjoint="discrete"'),
])  # fmt: skip
def test_bad_input(change, message):
    arguments = {"f": kepler, "y0": kepler_exact(0.0, 0.3), "ts": [0, 1], "invariants": integrals} | change
    with np.errstate(all="ignore"), pytest.raises(mo.BadInput, match=message):
        odesolve(**arguments)


def test_invariants_that_cannot_be_kept():
    """y^2 + t stays 0.01 only until t = 0.01."""
    problem = (lambda t, y: 0 * y, np.array([0.1]), [0.0, 1.0])
    with pytest.raises(mo.ode.IntegrationFailed) as raised:
        odesolve(*problem, invariants=lambda t, y: y[0] ** 2 + t, max_steps=200)
    assert abs(raised.value.solution.t_reached - 0.01) < 1e-3
    with pytest.raises(
        mo.BadInput, match="the stages or the projection onto the invariants of rk4 were not found at t = 0"
    ):
        odesolve(*problem, invariants=lambda t, y: y[0] ** 2 + t, method="rk4", steps=5)
