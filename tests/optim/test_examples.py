"""The examples of fits, programs and bilevel problems find what they look for, and draw it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from morula.core.testing.differences import ridders

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def drawn(example, path, *arguments):
    pytest.importorskip("matplotlib")
    example.main(str(path), *arguments)
    return path.stat().st_size > 15_000


def test_false_values_do_not_move_a_robust_fit(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    example = load("robust_nist_fit")
    assert example.distance(example.plain(example.Y)) < 1e-6  # the certified parameters, from the true data
    y = example.falsified()
    b, scale = example.robust(y)
    assert example.distance(b) < 2.0 < 20.0 < example.distance(example.plain(y))
    false = list(example.MISTAKES)
    by_observation = example.influence(y, b, -1.0, loss="tukey", scale=scale)
    assert np.all(by_observation[false] == 0.0) and np.max(np.abs(by_observation)) > 0.1
    assert drawn(example, tmp_path / "picture.png")


def test_a_portfolio_follows_the_expected_returns_within_its_limits(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    example = load("portfolio")
    slopes = example.sensitivity(example.TRUE_AVERSION)
    weights = example.portfolio(example.TRUE_AVERSION, example.RETURNS)
    mix, insurer = np.cos(np.arange(8.0)), np.eye(8)[1]
    expected, _ = ridders(
        lambda s: float(mix @ example.portfolio(example.TRUE_AVERSION, example.RETURNS + s * insurer)), 1e-4, 4
    )
    assert np.isclose(mix @ slopes[:, 1], expected, rtol=1e-5)
    assert np.allclose(np.sum(slopes, axis=0), 0.0, atol=1e-7) and np.isclose(np.sum(weights), 1.0)
    assert abs(example.found_aversion(*example.held(6, 1e-3)) / example.TRUE_AVERSION - 1.0) < 0.02
    assert drawn(example, tmp_path / "picture.png")


def test_a_learned_start_is_better_than_a_random_one_on_tasks_never_seen():
    example = load("meta_learning")
    start, losses = example.learned(steps=60)
    new = example.tasks(8, np.random.default_rng(1))
    assert np.mean(losses[-20:]) < 0.6 * np.mean(losses[:20])
    assert example.error(start, new) < 0.7 * example.error(example.first_weights(np.random.default_rng(0)), new)


def test_cameras_and_points_are_found_from_pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    example = load("bundle_adjustment")
    cameras, points, start, known, pictures, fit = example.solved()
    assert fit.converged and abs(fit.residual_standard_deviation / example.NOISE - 1.0) < 0.1
    assert example.size_of(example.misfits(start, known, pictures)) > 30.0
    # The error of the unknowns in the metric of their covariance has as many degrees of freedom as there are unknowns.
    off = fit.jacobian @ (fit.x - example.joined(cameras, points)) / example.NOISE
    assert 0.7 < np.sum(off**2) / len(fit.x) < 1.3
    assert drawn(example, tmp_path / "picture.png")
