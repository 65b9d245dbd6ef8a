"""The examples of eigenproblems give the numbers that they promise, and draw their pictures, on a small budget."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_club_holds_together_better_and_below_the_bound(tmp_path):
    module = example("spectral_graph_design")
    weights, connectivity, bound = module.design((30.0,), 40)
    laplacian = np.zeros((34, 34))
    for (a, b), w in zip(module.ENDS, weights, strict=True):
        laplacian[[a, b, a, b], [a, b, b, a]] += [w, w, -w, -w]
    assert connectivity == pytest.approx(np.linalg.eigvalsh(laplacian)[1], rel=1e-9)
    assert np.sum(weights) == pytest.approx(78) and np.all(weights > 0)
    assert 1.7 * 0.4685 < connectivity <= bound
    module.draw(str(tmp_path / "graph.png"), weights)
    assert (tmp_path / "graph.png").stat().st_size > 10_000


def test_the_picture_is_recovered_from_its_known_pixels(tmp_path):
    module = example("low_rank_image_recovery")
    picture = module.slice_of_a_head()
    is_known = np.random.default_rng(0).random(picture.shape) < module.KNOWN
    found = module.recover(np.where(is_known, picture, np.nan), is_known, iterations=10)
    assert module.decibels(found, picture) > 21.0
    assert module.decibels(np.where(is_known, picture, np.mean(picture[is_known])), picture) < 14.0
    module.draw(str(tmp_path / "picture.png"), {"recovered": found})
    assert (tmp_path / "picture.png").stat().st_size > 10_000
