"""Runge-Kutta-Nystrom methods: order, dense output, structures, events, derivatives on every path, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, check_gradient

import morula as mo
from morula.ode import METHODS, NystromTableau, SecondOrder, nystrom, odesolve
from morula.physics import kepler_orbit

NYSTROM = {name: method for name, method in METHODS.items() if isinstance(method, NystromTableau)}


def attraction(t, q, mu=1.0):
    return -mu * q / np.sum(q * q) ** 1.5


ORBIT = SecondOrder(attraction)
START, END = kepler_orbit(0.0, eccentricity=0.3), kepler_orbit(3.0, eccentricity=0.3)


@pytest.mark.parametrize("method", NYSTROM.values(), ids=NYSTROM)
def test_the_coefficients_meet_the_conditions_of_quadrature_and_of_the_stages(method):
    c = np.append(0.0, method.c)
    b = np.append(method.a[-1], 0.0)
    for k in range(method.order):
        assert abs(method.velocity @ c**k - 1 / (k + 1)) < 1e-14
        if k < method.order - 1:
            assert abs(b @ c**k - 1 / ((k + 1) * (k + 2))) < 1e-14
        if k < method.error_order - 1:
            assert abs(method.error[1] @ c**k) < 1e-12
        if k < method.error_order - 2:
            assert abs(method.error[0] @ c**k) < 1e-12
    assert np.allclose(method.a.sum(axis=1), method.c**2 / 2, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("name, steps", [("dprkn6", 40), ("dprkn8", 20)])
def test_halving_the_step_divides_the_error_by_two_to_the_order(name, steps):
    errors = []
    for n in (steps, 2 * steps):
        q, v = odesolve(ORBIT, START, [0.0, 3.0], method=name, steps=n).y
        errors.append(max(abs(q[-1] - END[0]).max(), abs(v[-1] - END[1]).max()))
    assert abs(np.log2(errors[0] / errors[1]) - METHODS[name].order) < 0.35


@pytest.mark.parametrize("name", NYSTROM)
def test_the_time_and_several_components(name):
    """q'' = -q + t^2 in one component, q'' = -4 q in the other; the steps and the dense output follow the tolerance."""
    f = SecondOrder(lambda t, q: np.stack([-q[0] + t * t, -4 * q[1]]))
    ts = np.linspace(2.0, -1.0, 13)
    exact = np.stack([2 * np.cos(ts) + ts**2 - 2, np.sin(2 * ts)], axis=1)
    speed = np.stack([-2 * np.sin(ts) + 2 * ts, 2 * np.cos(2 * ts)], axis=1)
    for tol in (1e-5, 1e-9):
        solution = odesolve(f, (exact[0], speed[0]), ts, method=name, rtol=tol, atol=tol, is_dense=True)
        q, v = solution.y
        assert max(abs(q - exact).max(), abs(v - speed).max()) < 30 * tol
        assert max(abs(solution.sol(ts)[0] - exact).max(), abs(solution.sol.derivative(ts)[0] - speed).max()) < 60 * tol


def test_fewer_evaluations_than_a_method_of_first_order():
    counts = []
    for method in ("dprkn8", "dop853"):
        solution = odesolve(ORBIT, START, [0.0, 3.0], method=method, rtol=1e-9, atol=1e-9)
        counts.append((solution.stats.evaluations, abs(solution.y[0][-1] - END[0]).max()))
    assert counts[0][0] < 1.5 * counts[1][0] and counts[0][1] < 0.1 * counts[1][1]


@pytest.mark.parametrize("name", ["dprkn6", "tsit5", "radau5"])
def test_states_with_a_structure_and_events(name):
    """A ball over a floor, and a spring beside it."""
    f = SecondOrder(lambda t, q: {"ball": -10.0, "springs": -q["springs"]})
    start = {"ball": 5.0, "springs": np.ones(2)}, {"ball": 0.0, "springs": np.zeros(2)}
    solution = odesolve(f, start, [0.0, 3.0], method=name, events=lambda t, y: y[0]["ball"], rtol=1e-9, atol=1e-9)
    position, velocity = solution.y
    assert abs(solution.events[0].t - 1.0).max() < 1e-8
    assert abs(position["ball"][-1] + 40) < 1e-7 and abs(velocity["ball"][-1] + 30) < 1e-7
    assert abs(position["springs"][-1] - np.cos(3.0)).max() < 1e-7


def test_complex_and_float32_states_are_kept():
    f = SecondOrder(lambda t, q: -q)
    q, _ = odesolve(f, (1.0 + 0j, 1j), [0.0, 1.0], method="dprkn6", rtol=1e-9, atol=1e-9).y
    assert abs(q[-1] - np.exp(1j)) < 1e-8
    q, v = odesolve(f, (np.ones(2, np.float32), np.zeros(2, np.float32)), [0.0, 1.0], method="dprkn6", rtol=1e-4).y
    assert q.dtype == v.dtype == np.float32 and abs(q[-1] - np.cos(1.0)).max() < 1e-4


@pytest.mark.parametrize("path", PATHS)
def test_gradients(path):
    def loss(q, v, mu):
        q, v = odesolve(ORBIT, (q, v), [0.0, 0.4, 1.0], mu, method="dprkn6", steps=2).y
        return np.sum(q**2) + np.sum(v[1])

    check_gradient(path, loss, START[0], START[1], 1.1)


@pytest.mark.parametrize("path", ["eager", "native"])
def test_gradients_along_adaptive_steps(path):
    def loss(q, v, mu):
        q, v = odesolve(ORBIT, (q, v), [0.0, 0.4, 1.0], mu, method="dprkn8", rtol=1e-10, atol=1e-10).y
        return np.sum(q**2) + np.sum(v[1])

    check_gradient(path, loss, START[0], START[1], 1.1, rtol=1e-6)


def test_second_derivatives():
    def loss(q, mu):
        return np.sum(odesolve(ORBIT, (q, START[1]), [0.0, 1.0], mu, method="dprkn6", steps=2).y[0] ** 2)

    mo.testing.check_gradients(loss, START[0], 1.1)


def test_a_method_of_ones_own():
    """Verlet's method, which ``symplectic`` has too."""
    verlet = nystrom("verlet", 2, [[1, 1 / 2]], [1 / 2, 1 / 2])
    errors = [
        abs(odesolve(ORBIT, START, [0.0, 3.0], method=verlet, steps=n).y[0][-1] - END[0]).max() for n in (200, 400)
    ]
    assert abs(np.log2(errors[0] / errors[1]) - 2) < 0.1


@pytest.mark.parametrize("change, message", [
    ({"f": lambda t, y: y}, "dprkn6 solves q'' = a.t, q.; give f as SecondOrder"),
    ({"f": SecondOrder(3)}, r"the acceleration is int; expected a function acceleration\(t, q, \*args\)"),
    ({"y0": np.ones(2)}, "a SecondOrder starts from a pair"),
    ({"y0": (np.ones(2), np.ones(3))}, r"y0\[1\] has shape \(3,\).*shape \(2,\)"),
    ({"f": SecondOrder(lambda t, q: np.ones(3))}, r"the derivative that f returned.*\(3,\)"),
    ({"mass": np.ones(2)}, "dprkn6 has no mass; let the acceleration divide by it"),
    ({"adjoint": "backsolve"}, 'dprkn6 goes together with adjoint="discrete"'),
])  # fmt: skip
def test_bad_input(change, message):
    arguments = {"f": ORBIT, "y0": START, "ts": [0, 1], "method": "dprkn6"} | change
    with pytest.raises(mo.BadInput, match=message):
        odesolve(**arguments)
