"""Derivatives through the simulators, against closed forms and conservation laws."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders
from morula.ode import odesolve, symplectic
from morula.physics import (
    double_pendulum_energy,
    double_pendulum_ode,
    gravity,
    kepler_orbit,
    nbody_energy,
    nbody_ode,
    pendulum_acceleration,
    pendulum_energy,
    pendulum_ode,
    pendulum_period,
)


def difference(f, x):
    """The derivative at a number, by extrapolated differences."""
    return ridders(lambda t: f(x + t), 0.02 * max(1.0, abs(x)))[0]


class TestPendulum:
    @pytest.mark.parametrize("amplitude", [0.3, -1.5, 3.0])
    def test_the_period(self, amplitude):
        period = pendulum_period(amplitude, 0.8, 9.81)
        da, dl, dg = mo.gradient(pendulum_period, amplitude, 0.8, 9.81)
        assert np.isclose(da, difference(lambda a: pendulum_period(a, 0.8, 9.81), amplitude), rtol=1e-8)
        assert np.allclose([dl, dg], [period / 1.6, -period / 19.62], rtol=1e-13)

    def test_the_period_changes_with_the_square_of_a_small_amplitude(self):
        curvature = mo.grad(mo.grad(pendulum_period))(1e-4, 1.0, 1.0)
        assert np.isclose(curvature, 2 * np.pi / 8, rtol=1e-6)

    def test_the_force_is_the_slope_of_the_energy(self):
        torque = -mo.grad(pendulum_energy)(0.7, 0.3, 1.4, 9.81, 2.0)
        assert np.isclose(torque, 2.0 * 1.4**2 * pendulum_acceleration(0.7, 1.4, 9.81), rtol=1e-13)

    def test_after_a_period_the_phase_lags_with_the_length(self):
        """The angle at a fixed time moves as -rate * (dT/dl) where the pendulum passes its lowest point."""
        period = pendulum_period(1.2, 0.8)
        tight = {"rtol": 1e-10, "atol": 1e-10}

        def angle(length):
            return odesolve(pendulum_ode, np.array([1.2, 0.0]), [0.0, 1.25 * period], length, **tight).y[-1, 0]

        rate = odesolve(pendulum_ode, np.array([1.2, 0.0]), [0.0, 1.25 * period], 0.8, **tight).y[-1, 1]
        slowing = 1.25 * mo.grad(pendulum_period, 1)(1.2, 0.8)
        assert abs(angle(0.8)) < 1e-7
        assert np.isclose(mo.grad(angle)(0.8), -rate * slowing, rtol=1e-6)

    def test_the_energy_of_the_double_pendulum_is_stationary_along_its_motion(self):
        state = np.array([0.4, -1.1, 0.7, 0.2])
        masses, lengths = (1.3, 0.4), (0.7, 1.6)
        slope = mo.grad(double_pendulum_energy)(state, masses, lengths)
        assert abs(slope @ double_pendulum_ode(0.0, state, masses, lengths)) < 1e-13


class TestSymplectic:
    @pytest.mark.parametrize("method", ["leapfrog", "yoshida4", "pefrl"])
    def test_every_input(self, method):
        def energy(q, v, length, t):
            ts = np.array([0.0, 0.5 * t, t])
            orbit = symplectic(pendulum_acceleration, q, v, ts, length, 1.0, method=method, steps=5)
            return orbit.positions[-1] + 2 * orbit.velocities[1] ** 2

        point = [1.1, 0.2, 0.8, 2.0]
        for i, d in enumerate(mo.gradient(energy, *point)):
            expected = difference(lambda x, i=i: energy(*point[:i], x, *point[i + 1 :]), point[i])
            assert np.isclose(d, expected, rtol=1e-8)

    def test_the_jacobian_of_a_step_is_symplectic(self):
        def step(state):
            orbit = symplectic(
                pendulum_acceleration, state[0], state[1], [0.0, 1.0], 1.0, 1.0, method="yoshida4", steps=3
            )
            return np.stack([orbit.positions[-1], orbit.velocities[-1]])

        assert np.isclose(np.linalg.det(mo.jacobian(step)(np.array([1.0, 0.5]))), 1.0, atol=1e-13)


class TestBodies:
    positions = np.array([[0.0, 0.1], [1.0, 0.2], [-0.4, 0.9]])
    velocities = np.array([[0.1, 0.0], [0.0, 0.9], [-0.6, 0.1]])
    masses = np.array([1.0, 0.3, 0.2])

    @pytest.mark.parametrize("softening", [0.0, 0.2])
    def test_gravity_is_the_slope_of_the_energy(self, softening):
        slope = mo.grad(nbody_energy)(self.positions, self.velocities, self.masses, 1.3, softening)
        force = self.masses[:, None] * gravity(self.positions, self.masses, 1.3, softening)
        assert np.allclose(slope, -force, atol=1e-13)

    def test_an_adjoint_conserves_what_the_motion_does(self):
        """The energy at the end has the same gradient, at the start, as the energy at the start."""

        def energy(positions, velocities, t):
            solution = odesolve(nbody_ode, (positions, velocities), [0.0, t], self.masses, rtol=1e-10, atol=1e-10)
            return nbody_energy(solution.y[0][-1], solution.y[1][-1], self.masses)

        at_the_end = mo.gradient(lambda x, v: energy(x, v, 0.8), self.positions, self.velocities)
        at_the_start = mo.gradient(lambda x, v: nbody_energy(x, v, self.masses), self.positions, self.velocities)
        for late, early in zip(at_the_end, at_the_start):
            assert np.allclose(late, early, atol=1e-6)

    def test_the_gradient_with_respect_to_the_masses(self):
        def place(masses):
            start = (self.positions, self.velocities)
            return odesolve(nbody_ode, start, [0.0, 0.5], masses, method="dop853", steps=6).y[0][-1, 0, 0]

        (d,) = mo.gradient(place, self.masses)
        for i in range(3):
            unit = np.eye(3)[i]
            assert np.isclose(d[i], difference(lambda s: place(self.masses + s * unit), 0.0), rtol=1e-7)  # noqa: B023

    @pytest.mark.parametrize("e", [0.0, 0.4, 0.9])
    def test_the_closed_form_moves_with_its_velocity(self, e):
        for i in range(2):
            slope = mo.grad(lambda t: kepler_orbit(t, 1.3, e, 2.0)[0][i])(0.9)  # noqa: B023
            assert np.isclose(slope, kepler_orbit(0.9, 1.3, e, 2.0)[1][i], rtol=1e-11)

    def test_the_closed_form_with_respect_to_its_elements(self):
        def place(a, e, mu):
            return kepler_orbit(2.3, a, e, mu)[0] @ np.array([0.3, 0.8])

        elements = [1.3, 0.6, 2.0]
        for i, d in enumerate(mo.gradient(place, *elements)):
            expected = difference(lambda x, i=i: place(*elements[:i], x, *elements[i + 1 :]), elements[i])
            assert np.isclose(d, expected, rtol=1e-8)
