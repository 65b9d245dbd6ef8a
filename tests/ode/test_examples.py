"""The examples that solve differential equations find what they look for, and draw it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(draw, path, *arguments):
    pytest.importorskip("matplotlib")
    draw(str(path), *arguments)
    return path.stat().st_size > 15_000


def test_the_rates_of_the_influenza_are_those_of_the_literature(tmp_path):
    example = load("school_influenza")
    logs, covariance, noise = example.fit()
    beta, gamma = np.exp(logs)
    assert 1.64 < beta < 1.8 and 0.43 < gamma < 0.47
    spread = np.exp(logs) * np.sqrt(np.diagonal(covariance))
    assert np.allclose(spread, [0.025, 0.015], rtol=0.1)
    assert drawn(example.draw, tmp_path / "picture.png", logs, covariance, noise)


def test_the_restitution_of_a_ball_is_learned_through_its_bounces(tmp_path):
    example = load("bouncing_ball")
    seen = example.observed()
    found = example.fit(seen)
    assert abs(found - example.TRUE).max() < 4e-3
    assert drawn(example.draw, tmp_path / "picture.png", seen, found)


def test_the_rates_of_robertsons_reaction_are_recovered(tmp_path):
    example = load("robertson_rates")
    seen = example.observed()
    found = example.fit(seen)
    assert abs(found / example.TRUE - 1).max() < 0.03
    assert drawn(example.draw, tmp_path / "picture.png", seen, found)


def test_the_pendulum_is_swung_up_by_a_weak_motor(tmp_path):
    example = load("pendulum_control")
    u = example.plan()
    angle, velocity, _ = example.motion(u, np.array([0.0, example.END]))[-1]
    assert np.cos(angle) < -0.995 and abs(velocity) < 0.1
    assert example.LIMIT * abs(np.tanh(u)).max() < example.LIMIT < 1.0
    assert drawn(example.draw, tmp_path / "picture.png", u)


def test_gravity_and_length_are_found_from_the_force_in_a_pendulums_rod(tmp_path):
    example = load("pendulum_tension")
    seen = example.observed()
    found = example.fit(seen)
    assert np.allclose(found, example.TRUE, rtol=4e-3)
    y = example.motion(found, example.TIMES)
    assert abs(np.hypot(y[:, 0], y[:, 1]) / found[1] - 1).max() < 1e-5
    assert drawn(example.draw, tmp_path / "picture.png", seen, found)


def test_the_delay_of_the_mackey_glass_equation_is_learned(tmp_path):
    example = load("mackey_glass_delay")
    seen = example.observed()
    found = example.fit(seen)
    assert np.allclose(found, example.TRUE, rtol=0.02)
    assert drawn(example.draw, tmp_path / "picture.png", seen, found)


def test_a_neural_ode_tells_spirals_apart(tmp_path):
    example = load("spiral_classes")
    p, losses = example.learned(150, 30)
    assert losses[-1] < 0.1 * losses[0] and example.accuracy(p, *example.spirals(30)) > 0.95
    assert drawn(example.draw, tmp_path / "picture.png", p, losses)


def test_a_latent_ode_learns_from_irregular_measurements(tmp_path):
    example = load("latent_ode")
    times = example.times_of(9)
    assert len(times) == 9 and np.diff(times).max() > 0.25 * example.END
    _, losses = example.learned(60, 8, 9)
    assert losses[-1] < 0.2 * losses[0]


def test_symplectic_methods_keep_the_energy_of_a_planet_over_a_million_steps(tmp_path):
    example = load("kepler_million_steps")
    orbits = example.solved()
    errors = example.energy_errors(orbits)
    assert np.max(errors["leapfrog"]) < 1e-3 and np.max(errors["blanes_moan4"]) < 1e-7
    assert abs(example.growth(errors["leapfrog"]) - 1) < 0.01 and abs(example.growth(errors["blanes_moan4"]) - 1) < 0.01
    assert 9 < example.growth(errors["rk4"]) < 11
    assert drawn(example.draw, tmp_path / "picture.png", orbits)


def test_the_stiffness_of_the_soil_is_found_from_the_deflection_of_a_beam(tmp_path):
    example = load("beam_on_soil")
    seen = example.observed()
    found = example.fit(seen).x
    places = np.linspace(0.2, 0.8, 9)
    assert np.allclose(example.stiffness(places, found), example.stiffness(places, example.TRUE), rtol=0.12)
    assert np.sqrt(np.mean(example.misfits(found, seen) ** 2)) < 1.5
    assert drawn(example.draw, tmp_path / "picture.png", seen, found)


def test_the_missing_interaction_is_found_as_a_formula(tmp_path):
    """The full training takes half a minute; here the terms are chosen from the true interaction with errors of the network's size."""
    example = load("missing_interaction")
    seen = example.observed()
    model = example.trained(seen, 40, 20)
    assert example.loss(model, seen) < 0.01 * example.loss(example.network(), seen)
    exact = np.stack([example.TRUE * y[0] * y[1] for y in seen])
    learned = exact + 0.05 * np.random.default_rng(0).normal(size=exact.shape)
    coefficients = example.formula(seen, learned, seen)
    assert [example.MONOMIALS[i] for i in np.nonzero(coefficients)[1]] == ["x y", "x y"]
    assert np.allclose(coefficients[:, 3], example.TRUE, rtol=0.02)
    assert example.extrapolation_error(coefficients) < 0.1
    assert drawn(example.draw, tmp_path / "picture.png", seen, model, coefficients)


def test_drift_and_noise_of_a_double_well_are_learned_from_transitions():
    """The full search takes half a minute; on a part of the data, drift and noise already have the size of the true ones."""
    example = load("neural_sde")
    grid = np.linspace(-2.5, 2.5, 5001)
    assert abs(np.sum(example.density(grid)) * (grid[1] - grid[0]) - 1.0) < 1e-3
    found = example.learned(example.observed(300), 60)
    in_drift, in_diffusion = example.errors(found.x)
    assert in_drift < 0.5 and in_diffusion < 0.25
