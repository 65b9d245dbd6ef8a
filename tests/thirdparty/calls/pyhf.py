"""Statistical models of counting experiments: likelihoods, constrained fits, and the limits made of them."""

from __future__ import annotations

import numpy as np
import pyhf

from thirdparty.harness import Call

DISTRIBUTION = "pyhf"
FIELD = "particle physics"

COUNTING = pyhf.simplemodels.uncorrelated_background(signal=[5.0, 10.0], bkg=[50.0, 60.0], bkg_uncertainty=[7.0, 8.0])
SHIFTED = pyhf.simplemodels.correlated_background(
    signal=[5.0, 10.0], bkg=[50.0, 60.0], bkg_up=[55.0, 65.0], bkg_down=[45.0, 54.0]
)
OBSERVED = [55.0, 65.0]


def log_likelihood(parameters: np.ndarray, observed: np.ndarray) -> float:
    return COUNTING.logpdf(parameters, observed)[0]


def of_a_signal(signal: float, uncertainty: float) -> float:
    background = {
        "name": "background",
        "data": [50.0, 60.0],
        "modifiers": [{"name": "shape", "type": "shapesys", "data": [uncertainty, 8.0]}],
    }
    strength = {"name": "mu", "type": "normfactor", "data": None}
    counted = {"name": "signal", "data": [signal, 10.0], "modifiers": [strength]}
    channel = {"name": "counts", "samples": [counted, background]}
    model = pyhf.Model({"channels": [channel]}, validate=False)
    return model.logpdf([1.1, 1.0, 1.0], [*OBSERVED, *COUNTING.config.auxdata])[0]


def test_statistic(count: float) -> float:
    config = COUNTING.config
    start, bounds, fixed = config.suggested_init(), config.suggested_bounds(), config.suggested_fixed()
    return pyhf.infer.test_statistics.qmu_tilde(1.0, [count, 65.0, *config.auxdata], COUNTING, start, bounds, fixed)


def confidence(strength: float) -> float:
    return pyhf.infer.hypotest(strength, [*OBSERVED, *COUNTING.config.auxdata], COUNTING)


AUXILIARY = COUNTING.config.auxdata
CALLS = {
    "log_likelihood": Call(log_likelihood, np.array([1.0, 0.9, 1.1]), np.array([*OBSERVED, *AUXILIARY])),
    "interpolated": Call(lambda p: SHIFTED.logpdf(p, [*OBSERVED, *SHIFTED.config.auxdata])[0], np.array([1.1, 0.3])),
    "expected_counts": Call(COUNTING.expected_actualdata, np.array([1.0, 0.9, 1.1])),
    "of_a_signal": Call(of_a_signal, 5.0, 7.0),
    "test_statistic": Call(test_statistic, 55.0, rtol=1e-3),
    "confidence": Call(confidence, 1.0, rtol=1e-3),
}
