"""The examples of large systems, of the Kalman filter and of a Gaussian process, with the figures that they print."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_noises_of_the_nile_are_the_published_ones():
    nile = example("kalman_nile")
    variances, found = nile.fit()
    assert variances == {name: pytest.approx(value, rel=1e-3) for name, value in nile.PUBLISHED.items()}
    assert found.value == pytest.approx(632.54, abs=0.02)


def test_the_smoothed_level_of_the_nile_is_the_posterior_mean():
    nile = example("kalman_nile")
    level = nile.smoothed_level(nile.PUBLISHED)
    n, observed, drift = len(level), nile.PUBLISHED["observed"], nile.PUBLISHED["drift"]
    steps = np.diff(np.eye(n), axis=0)
    expected = np.linalg.solve(np.eye(n) / observed + steps.T @ steps / drift, nile.FLOW / observed)
    np.testing.assert_allclose(level, expected, rtol=1e-6)


def test_the_conductivity_of_a_smaller_plate_is_recovered(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    picture = tmp_path / "picture.png"
    assert example("inverse_conductivity").main(24, 25, str(picture)) < 0.1
    assert picture.stat().st_size > 10_000


def test_the_hyperparameters_by_products_alone_are_nearly_those_of_the_exact_likelihood():
    enso = example("southern_oscillation")
    y = enso.PRESSURE - np.mean(enso.PRESSURE)
    p, _ = enso.fit()
    exact, best = enso.fit(enso.exact_negative_log_likelihood)
    assert enso.exact_negative_log_likelihood(p, y) < best.value + 0.05
    np.testing.assert_allclose(np.exp(p), np.exp(exact), rtol=0.06)
    cycle, slow = enso.smoothed(exact)
    K = enso.covariance(exact, len(y)).todense()
    np.testing.assert_allclose(cycle + slow, y - np.exp(2 * exact[0]) * np.linalg.solve(K, y), atol=1e-6)
    assert np.exp(exact[0]) == pytest.approx(1.952, abs=2e-3)
