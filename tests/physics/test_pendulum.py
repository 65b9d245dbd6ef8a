"""The pendulum: exact periods and motion, energy, the double pendulum's published trajectory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipj, ellipk, ellipkm1

import morula as mo
from morula.ode import odesolve
from morula.physics import (
    double_pendulum_energy,
    double_pendulum_ode,
    pendulum_energy,
    pendulum_ode,
    pendulum_period,
    small_swing_period,
)

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "physics" / "pendulum.json").read_text())


@pytest.mark.parametrize("row", REFERENCE["pendulum"])
def test_periods_of_the_reference(row):
    assert np.isclose(pendulum_period(row["theta0"]) / small_swing_period(), row["period_over_T0"], rtol=1e-14)


def test_the_period_is_the_elliptic_integral():
    amplitude = np.array([1e-6, 0.5, 2.0, 3.1, 3.14159])
    exact = 4 * np.sqrt(2.0 / 9.81) * ellipkm1(np.cos(amplitude / 2) ** 2)
    assert np.allclose(pendulum_period(amplitude, 2.0, 9.81), exact, rtol=1e-14)


@pytest.mark.parametrize("amplitude", [np.pi, 4.0, np.nan, np.array([0.1, -3.2])])
def test_a_pendulum_that_does_not_turn_has_no_period(amplitude):
    with pytest.raises(mo.BadInput, match="must lie between -pi and pi"):
        pendulum_period(amplitude)


def test_the_motion_is_the_elliptic_sine():
    amplitude, length, g = 2.5, 1.7, 9.81
    ts = np.linspace(0.0, 6.0, 40)
    swing = odesolve(pendulum_ode, np.array([amplitude, 0.0]), ts, length, g, method="dop853", rtol=1e-11, atol=1e-11)
    k = np.sin(amplitude / 2)
    sn, cn, dn, _ = ellipj(ellipk(k * k) - np.sqrt(g / length) * ts, k * k)
    assert np.allclose(swing.y[:, 0], 2 * np.arcsin(k * sn), atol=1e-9)


def test_energy_is_conserved_without_damping_and_falls_with_it():
    ts = np.linspace(0.0, 10.0, 50)
    free = odesolve(pendulum_ode, np.array([3.0, 0.0]), ts, rtol=1e-10, atol=1e-10).y
    assert np.ptp(pendulum_energy(free[:, 0], free[:, 1])) < 1e-7
    damped = odesolve(pendulum_ode, np.array([3.0, 0.0]), ts, 1.0, 9.81, 0.2).y
    assert np.all(np.diff(pendulum_energy(damped[:, 0], damped[:, 1], 1.0, 9.81)) < 0)


def test_the_double_pendulum_of_the_reference():
    reference = REFERENCE["double_pendulum"]
    y0 = np.array([np.pi / 2, np.pi / 2, 0.0, 0.0])
    unit = (1.0, 1.0)
    ts = [0.0, *reference["t"]]
    ys = odesolve(double_pendulum_ode, y0, ts, unit, unit, 9.81, method="dop853", rtol=1e-12, atol=1e-12).y
    assert np.allclose(ys[1:], reference["y"], atol=1e-8)


def test_the_double_pendulum_conserves_its_energy():
    masses, lengths = (1.3, 0.4), (0.7, 1.6)
    y0 = np.array([2.0, -1.0, 0.3, 0.5])
    ys = odesolve(double_pendulum_ode, y0, np.linspace(0, 8, 40), masses, lengths, rtol=1e-11, atol=1e-11).y
    energy = double_pendulum_energy(ys, masses, lengths)
    assert np.ptp(energy) < 1e-7 * abs(energy).max()


def test_a_double_pendulum_without_a_second_mass_is_a_pendulum():
    ts = np.linspace(0.0, 3.0, 7)
    double = odesolve(double_pendulum_ode, np.array([1.0, 0.2, 0.0, 0.0]), ts, (1.0, 0.0), (1.5, 0.8), rtol=1e-9).y
    single = odesolve(pendulum_ode, np.array([1.0, 0.0]), ts, 1.5, rtol=1e-9).y
    assert np.allclose(double[:, [0, 2]], single, atol=1e-6)
