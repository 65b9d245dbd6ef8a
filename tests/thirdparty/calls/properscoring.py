"""Scores of forecasts: integrals in closed form, by sorting, and by adaptive quadrature of a distribution."""

from __future__ import annotations

import numpy as np
import properscoring as ps
from scipy import stats

from thirdparty.harness import Call

DISTRIBUTION = "properscoring"
FIELD = "statistics"

SEEN, MEMBERS = np.array([1.0, 2.0]), np.random.default_rng(3).normal(size=(2, 5))


def by_quadrature(observed: float, mean: float) -> float:
    return ps.crps_quadrature(observed, stats.norm(loc=mean).cdf, xmin=-10.0, xmax=10.0)


CALLS = {
    "gaussian": Call(ps.crps_gaussian, SEEN, np.array([0.5, 1.0]), np.array([1.0, 2.0])),
    "with_its_gradient": Call(lambda x, m, s: ps.crps_gaussian(x, m, s, grad=True), 1.2, 0.5, 2.0),
    "ensemble": Call(ps.crps_ensemble, SEEN, MEMBERS),
    "weighted_ensemble": Call(lambda x, w: ps.crps_ensemble(x, MEMBERS, w), SEEN, np.abs(MEMBERS) + 0.5),
    "by_quadrature": Call(by_quadrature, 1.2, 0.3),
    "brier": Call(lambda p: ps.brier_score(np.array([0.0, 1.0]), p), np.array([0.2, 0.7])),
}
