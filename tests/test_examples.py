"""The examples run; the main one on a small budget, with its figures checked."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
MAIN_JOB = ROOT / "examples" / "lynx_hare.py"
CHECKED_WITH_THEIR_PACKAGE = {"orbit_design", "pendulum_period"}  # in tests/physics
CHECKED_HERE = {"ten_bar_truss", "sparse_diagnosis"}
CHECKED_WITH_THEIR_PACKAGE |= {"spectral_graph_design", "low_rank_image_recovery"}  # in tests/linalg
CHECKED_WITH_THEIR_PACKAGE |= {"inverse_conductivity", "kalman_nile", "sheet_with_fibres"}  # in tests/linalg
CHECKED_WITH_THEIR_PACKAGE |= {"southern_oscillation"}  # in tests/linalg
CHECKED_WITH_THEIR_PACKAGE |= {
    "school_influenza",
    "bouncing_ball",
    "robertson_rates",
    "pendulum_control",
    "kepler_million_steps",
    "beam_on_soil",
    "missing_interaction",
    "neural_sde",
}  # in tests/ode
CHECKED_WITH_THEIR_PACKAGE |= {"robust_nist_fit", "portfolio", "meta_learning", "bundle_adjustment"}  # in tests/optim
SCRIPTS = sorted(
    path
    for path in (ROOT / "examples").glob("*.py")
    if path != MAIN_JOB and path.stem not in CHECKED_WITH_THEIR_PACKAGE | CHECKED_HERE
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_example_runs(script, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "MPLBACKEND": "Agg"}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def lynx_hare() -> ModuleType:
    return loaded(MAIN_JOB)


def test_the_best_angle_of_a_throw_is_45_degrees_without_air_and_flatter_with_it():
    throws = loaded(ROOT / "examples" / "throws_against_the_wind.py")
    assert np.rad2deg(throws.best_angles(np.array([20.0, 40.0]), 0.0)) == pytest.approx([45.0, 45.0], abs=0.2)
    assert throws.distance(20.0, 0.7, 0.0) == pytest.approx(20.0**2 * np.sin(1.4) / throws.GRAVITY, rel=1e-3)
    with_air = np.rad2deg(throws.best_angles(np.array([20.0, 40.0, 60.0])))
    assert with_air == pytest.approx([43.87, 41.39, 38.88], abs=0.2)


def test_the_truss_of_ten_bars_has_the_published_weight_and_prices():
    truss = loaded(ROOT / "examples" / "ten_bar_truss.py")
    found = truss.design()
    assert found.converged and found.value == pytest.approx(truss.PUBLISHED, abs=0.01)
    assert truss.saved_by_displacement() == pytest.approx(np.sum(np.abs(found.multipliers[1])), rel=1e-6)


def test_few_measurements_diagnose_tumours():
    diagnosis = loaded(ROOT / "examples" / "sparse_diagnosis.py")
    train, validation, test = diagnosis.split()
    weight, model = diagnosis.learned(train, validation, steps=8)
    kept = np.count_nonzero(model["weights"])
    assert 0.5 < weight / 0.0066 < 2.0 and 5 <= kept <= 20
    assert diagnosis.accuracy(model, test) > 0.95


def test_the_speed_of_sound_is_found_from_echoes_within_a_megabyte(monkeypatch):
    sounding = loaded(ROOT / "examples" / "sounding_the_ground.py")
    monkeypatch.setattr(sounding, "SOURCES", sounding.SOURCES[1::2])
    truth, damping = sounding.ground(), sounding.absorbing()
    records = np.stack([sounding.recorded(truth, s, damping) for s in sounding.SOURCES])
    before, _ = sounding.value_and_gradient(sounding.layers(), records, damping)
    found, after = sounding.invert(records, sounding.layers(), 30)
    assert after < 0.01 * before
    assert np.linalg.norm(found - truth) < 0.6 * np.linalg.norm(sounding.layers() - truth)


def test_the_classical_model_of_lynx_and_hare_has_the_published_rates(lynx_hare):
    p = lynx_hare.fit_classical(lynx_hare.YEARS, lynx_hare.DATA)
    found = lynx_hare.rates(p)
    assert found == {name: pytest.approx(value, rel=0.04) for name, value in lynx_hare.PUBLISHED.items()}
    deviations = np.sqrt(np.diagonal(lynx_hare.covariance(p)))[
        [0, 2, 1, 3]
    ]  # relative ones: the parameters are logarithms
    published = [
        0.064 / 0.55,
        0.0043 / 0.028,
        0.091 / 0.80,
        0.0036 / 0.024,
    ]  # posterior deviations over means (Carpenter)
    assert np.allclose(deviations, published, rtol=0.2)


def test_a_network_that_says_nothing_is_the_classical_model(lynx_hare, monkeypatch):
    monkeypatch.setattr(lynx_hare, "ADAM_STEPS", 0)
    monkeypatch.setattr(lynx_hare, "BFGS_STEPS", 0)
    reference = {"rates": np.log([0.5, 0.8]), "encounters": np.log([0.5, 0.5]), "start": lynx_hare.DATA[0]}
    p, _ = lynx_hare.fit_hybrid(reference, lynx_hare.YEARS, lynx_hare.DATA)
    y = np.array([0.3, -1.2])
    assert lynx_hare.hybrid(0.0, y, p) == pytest.approx(lynx_hare.classical(0.0, y, reference), abs=1e-15)


def test_populations_that_explode_cost_infinitely_much(lynx_hare):
    reference = {"rates": np.log([0.5, 0.8]), "encounters": np.log([0.5, 0.5]), "start": lynx_hare.DATA[0]}
    p = {**reference, "encounters": np.array([np.log(0.5), 300.0]), "network": lynx_hare.Chain()}
    with np.errstate(all="ignore"):
        assert lynx_hare.penalised_misfit(p, reference, lynx_hare.YEARS, lynx_hare.DATA) == np.inf


def test_the_hybrid_model_learns_and_the_picture_is_drawn(lynx_hare, monkeypatch, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(lynx_hare, "ADAM_STEPS", 4)
    monkeypatch.setattr(lynx_hare, "BFGS_STEPS", 4)
    lynx_hare.main(str(tmp_path / "picture.png"))
    assert (tmp_path / "picture.png").stat().st_size > 20_000
    words = capsys.readouterr().out.split()
    before, after = float(words[words.index("loss") + 1]), float(words[words.index("->") + 1])
    assert after < before
