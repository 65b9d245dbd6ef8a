"""Symplectic integrators: order, reversibility, phase-space area, and bounded energy error."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import numerical_vjp
from morula.ode import SPLITTINGS, split, symplectic
from morula.physics import (
    figure_eight,
    gravity,
    kepler_orbit,
    nbody_energy,
    pendulum_acceleration,
    pendulum_energy,
)


def attraction(q, mu=1.0):
    return -mu * q / np.sum(q * q) ** 1.5


@pytest.mark.parametrize("method", SPLITTINGS.values(), ids=SPLITTINGS)
def test_the_coefficients_advance_by_one_step(method):
    assert np.isclose(sum(method.drifts), 1, atol=1e-15)
    assert np.isclose(sum(method.kicks), 1, atol=1e-15)
    assert len(method.drifts) == len(method.kicks) + 1


@pytest.mark.parametrize("name, steps", [
    ("symplectic_euler", 8000), ("leapfrog", 800), ("ruth3", 400), ("yoshida4", 400), ("pefrl", 200), ("blanes_moan4", 200), ("yoshida6", 200),
    ("kahan_li6", 100), ("suzuki_umeno8", 24),
])  # fmt: skip
def test_halving_the_step_divides_the_error_by_two_to_the_order(name, steps):
    e, t = 0.3, 3.0
    start, end = kepler_orbit(0.0, eccentricity=e), kepler_orbit(t, eccentricity=e)
    errors = [
        abs(symplectic(attraction, *start, [0.0, t], method=name, steps=n).positions[-1] - end[0]).max()
        for n in (steps, 2 * steps)
    ]
    assert abs(np.log2(errors[0] / errors[1]) - SPLITTINGS[name].order) < 0.25


@pytest.mark.parametrize("name", [name for name, method in SPLITTINGS.items() if method.order % 2 == 0])
def test_symmetric_methods_return(name):
    there = symplectic(pendulum_acceleration, 2.0, 0.5, [0.0, 3.0], method=name, steps=60)
    back = symplectic(pendulum_acceleration, there.positions[-1], there.velocities[-1], [3, 0], method=name, steps=60)
    assert np.allclose([back.positions[-1], back.velocities[-1]], [2.0, 0.5], atol=1e-12)


@pytest.mark.parametrize("name", SPLITTINGS)
def test_areas_in_phase_space_are_kept(name):
    def end(q, v):
        orbit = symplectic(pendulum_acceleration, q, v, [0.0, 1.0], 1.0, 1.0, method=name, steps=5)
        return np.array([orbit.positions[-1], orbit.velocities[-1]])

    rows = [numerical_vjp(lambda q, v, i=i: end(q, v)[i], 1.0, 1.0, 0.5)[0] for i in range(2)]
    assert np.isclose(np.linalg.det(np.array(rows)), 1, atol=1e-8)


@pytest.mark.parametrize(
    "name, bound", [("leapfrog", 2e-2), ("yoshida4", 2e-3), ("pefrl", 1e-4), ("blanes_moan4", 1e-4), ("yoshida6", 1e-4)]
)
def test_the_energy_does_not_drift(name, bound):
    ts = np.linspace(0.0, 300.0, 301)
    orbit = symplectic(pendulum_acceleration, 1.5, 0.0, ts, 1.0, 1.0, method=name, steps=5)
    energy = pendulum_energy(orbit.positions, orbit.velocities, 1.0, 1.0)
    deviation = abs(energy / energy[0] - 1)
    assert deviation.max() < bound
    assert deviation[-60:].max() < 1.2 * deviation[:60].max()


def test_the_figure_eight_stays_an_eight():
    positions, velocities, masses, period = figure_eight()
    orbit = symplectic(
        gravity, positions, velocities, np.linspace(0, 3 * period, 4), masses, method="yoshida4", steps=300
    )
    assert abs(orbit.positions[-1] - positions).max() < 1e-4
    energy = nbody_energy(orbit.positions, orbit.velocities, masses)
    assert np.ptp(energy) < 1e-6


def test_a_hamiltonian_whose_kinetic_energy_is_not_quadratic():
    """A relativistic oscillator, H = sqrt(1 + p^2) + q^2 / 2."""
    ts = np.linspace(0.0, 50.0, 51)
    orbit = symplectic(
        lambda q, k: -k * q, 1.0, 0.5, ts, 1.0, rate=lambda p, k: p / np.sqrt(1 + p * p), method="kahan_li6", steps=10
    )
    energy = np.sqrt(1 + orbit.velocities**2) + orbit.positions**2 / 2
    assert np.ptp(energy) < 1e-8


@pytest.mark.parametrize("name", ["symplectic_euler", "leapfrog", "yoshida4", "suzuki_umeno8"])
def test_flows_of_both_parts_are_composed(name):
    """u_t = i (u_xx / 2 - x^2 u / 2): the ground state of the oscillator only turns its phase."""
    x = np.linspace(-8.0, 8.0, 64, endpoint=False)
    k = 2 * np.pi * np.fft.fftfreq(64, 0.25)
    u0 = np.exp(-((x - 1.0) ** 2) / 2) * np.pi**-0.25 + 0j

    def kinetic(h, u):
        return np.fft.ifft(np.exp(-0.5j * h * k * k) * np.fft.fft(u))

    def potential(h, u):
        return np.exp(-0.5j * h * x * x) * u

    def error(steps):
        u = split(kinetic, potential, u0, [0.0, np.pi], method=name, steps=steps)[-1]
        return np.abs(np.abs(u) - np.abs(u0[::-1].copy()[np.r_[-1, 0:63]])).max()

    order, steps = SPLITTINGS[name].order, {"symplectic_euler": 64, "suzuki_umeno8": 2}.get(name, 16)
    assert np.log2(error(steps) / error(2 * steps)) > order - 0.4


def test_times_may_be_uneven_and_repeated():
    ts = np.array([0.0, 0.3, 0.3, 1.0])
    orbit = symplectic(lambda q: -q, 1.0, 0.0, ts, method="yoshida6", steps=20)
    assert np.allclose(orbit.positions, np.cos(ts), atol=1e-9)
    assert np.allclose(orbit.velocities, -np.sin(ts), atol=1e-9)


@pytest.mark.parametrize("change, message", [
    ({"method": "verlet"}, "method 'verlet' is not known; choose one of symplectic_euler, leapfrog"),
    ({"steps": 0}, "steps = 0; expected an integer of at least 1"),
    ({"steps": 1.5}, "steps = 1.5"),
    ({"acceleration": 1}, "acceleration is int; expected a function"),
    ({"ts": [[0, 1]]}, "expected a sequence of finite times"),
    ({"ts": "now"}, "ts is 'now'; expected a sequence of finite times"),
    ({"ts": [0, np.nan]}, "expected a sequence of finite times"),
    ({"acceleration": lambda q, v: -v}, "an acceleration that does not depend on the velocity"),
    ({"velocity": np.zeros(3)}, r"position has shape \(2,\), velocity \(3,\)"),
    ({"acceleration": lambda q: 1.0}, r"the result of acceleration \(\); the three must agree"),
])  # fmt: skip
def test_bad_input(change, message):
    arguments = {"acceleration": attraction, "position": np.ones(2), "velocity": np.ones(2), "ts": [0, 1]} | change
    with pytest.raises(mo.BadInput, match=message):
        symplectic(**arguments)


def test_a_flow_must_be_a_function():
    with pytest.raises(mo.BadInput, match="second is int; expected the flow of a part"):
        split(lambda h, y: y, 1, np.ones(2), [0, 1])
