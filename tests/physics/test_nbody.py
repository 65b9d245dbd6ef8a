"""Gravity between point masses: closed forms and conserved quantities."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import numerical_vjp
from morula.ode import odesolve
from morula.physics import (
    SOLAR_GRAVITATION,
    angular_momentum,
    centre_of_mass,
    figure_eight,
    gravity,
    kepler_orbit,
    momentum,
    nbody_energy,
    nbody_ode,
)

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "physics" / "nbody.json").read_text())


def cluster(n, d, seed=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), 0.3 * rng.normal(size=(n, d)), rng.uniform(0.2, 1.0, n)


@pytest.mark.parametrize("softening", [0.0, 0.3])
def test_gravity_is_the_sum_over_pairs(softening):
    positions, _, masses = cluster(5, 3)
    for i in range(5):
        expected = sum(
            2.5 * masses[j] * (positions[j] - positions[i])
            / (np.sum((positions[j] - positions[i]) ** 2) + softening**2) ** 1.5
            for j in range(5) if j != i
        )  # fmt: skip
        assert np.allclose(gravity(positions, masses, 2.5, softening)[i], expected, rtol=1e-13)


@pytest.mark.parametrize("softening", [0.0, 0.3])
def test_gravity_is_the_slope_of_the_energy(softening):
    positions, velocities, masses = cluster(4, 2)
    (slopes,), _ = numerical_vjp(lambda p: nbody_energy(p, velocities, masses, 1.3, softening), 1.0, positions)
    forces = masses[:, None] * gravity(positions, masses, 1.3, softening)
    assert np.allclose(-slopes, forces, atol=1e-8)


@pytest.mark.parametrize("row", REFERENCE["kepler"], ids=lambda row: f"e={row['e']}")
def test_kepler_orbits_of_the_reference(row):
    position, velocity = kepler_orbit(0.0, row["a"], row["e"], row["GM"])
    assert np.allclose(position, [row["x0"], 0]) and np.allclose(velocity, [0, row["vy0"]])
    later, _ = kepler_orbit(row["period"], row["a"], row["e"], row["GM"])
    assert np.allclose(later, position, atol=1e-13)
    energy = np.sum(velocity**2) / 2 - row["GM"] / np.hypot(*position)
    assert np.isclose(energy, row["energy"]) and np.isclose(position[0] * velocity[1], row["L"])


@pytest.mark.parametrize("e", [0.0, 0.5, 0.9, 0.99, 0.999])
def test_the_closed_form_solves_keplers_equation(e):
    t = np.concatenate([np.linspace(-20, 20, 401), [1e-6, -1e-6, np.pi, 0.0]])
    position, velocity = kepler_orbit(t, 1.5, e, 2.0)
    radius = np.hypot(position[:, 0], position[:, 1])
    anomaly = np.arctan2(position[:, 1] / np.sqrt(1 - e * e), position[:, 0] + 1.5 * e)
    mean = np.sqrt(2.0 / 1.5**3) * t
    assert np.allclose(np.exp(1j * (anomaly - e * np.sin(anomaly))), np.exp(1j * mean), atol=1e-11)
    assert np.allclose(np.sum(velocity**2, axis=1) / 2 - 2.0 / radius, -2.0 / 3.0, atol=1e-8 / (1 - e))


@pytest.mark.parametrize("eccentricity", [-0.1, 1.0, np.nan])
def test_an_orbit_that_is_not_an_ellipse(eccentricity):
    with pytest.raises(mo.BadInput, match="an ellipse has 0 <= e < 1"):
        kepler_orbit(0.0, 1.0, eccentricity)


@pytest.mark.parametrize("e", [0.0, 0.3, 0.6, 0.9])
def test_two_bodies_move_on_kepler_orbits(e):
    masses = np.array([1.0, 0.3])
    ts = np.linspace(0.0, 1.5, 16)
    mu = SOLAR_GRAVITATION * masses.sum()
    relative, relative_velocity = kepler_orbit(ts, 1.0, e, mu)
    share = np.array([-masses[1], masses[0]])[:, None] / masses.sum()
    start = share * relative[0], share * relative_velocity[0]
    x, v = odesolve(nbody_ode, start, ts, masses, SOLAR_GRAVITATION, method="dop853", rtol=1e-11, atol=1e-11).y
    assert np.allclose(x[:, 1] - x[:, 0], relative, atol=1e-7)
    assert np.allclose(v[:, 1] - v[:, 0], relative_velocity, atol=1e-5)


@pytest.mark.parametrize("d", [2, 3])
def test_conserved_quantities(d):
    positions, velocities, masses = cluster(4, d)
    start, ts = (positions, velocities), np.linspace(0, 2, 11)
    x, v = odesolve(nbody_ode, start, ts, masses, 1.0, 0.1, method="dop853", rtol=1e-11, atol=1e-11).y
    assert np.ptp(nbody_energy(x, v, masses, 1.0, 0.1)) < 1e-8
    assert np.ptp(momentum(v, masses), axis=0).max() < 1e-12
    assert np.ptp(angular_momentum(x, v, masses), axis=0).max() < 1e-9
    drift = momentum(velocities, masses) / masses.sum()
    assert np.allclose(centre_of_mass(x, masses), centre_of_mass(positions, masses) + ts[:, None] * drift, atol=1e-11)


def test_angular_momentum_in_the_plane_is_the_third_component_in_space():
    positions, velocities, masses = cluster(3, 2)
    flat = [np.pad(a, ((0, 0), (0, 1))) for a in (positions, velocities)]
    assert np.allclose(angular_momentum(*flat, masses), [0, 0, angular_momentum(positions, velocities, masses)])
    assert np.allclose(
        angular_momentum(*flat, masses), (masses[:, None] * np.cross(flat[0], flat[1])).sum(axis=0)
    )  # fmt: skip


def test_the_figure_eight():
    reference = REFERENCE["figure_eight"]
    positions, velocities, masses, period = figure_eight()
    assert np.isclose(nbody_energy(positions, velocities, masses), reference["energy"], rtol=1e-14)
    assert period == reference["period"]
    ts = np.linspace(0, period, 7)
    x, v = odesolve(nbody_ode, (positions, velocities), ts, masses, method="dop853", rtol=1e-12, atol=1e-12).y
    assert abs(x[-1] - positions).max() < 2 * reference["return_error_after_one_period"]
    # A choreography: a third of a period later, each body is where another one was.
    assert np.allclose(x[2][[2, 0, 1]], positions, atol=1e-6) or np.allclose(x[2][[1, 2, 0]], positions, atol=1e-6)
    assert abs(angular_momentum(x, v, masses)).max() < 1e-7


@pytest.mark.parametrize("positions, masses", [(np.ones((3, 2)), np.ones(2)), (np.ones(3), np.ones(3))])
def test_shapes_that_do_not_fit(positions, masses):
    with pytest.raises(mo.BadInput, match=r"expected \(n, d\) and \(n,\)"):
        gravity(positions, masses)
