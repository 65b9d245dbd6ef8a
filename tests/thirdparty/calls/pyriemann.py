"""Covariance matrices as points of a manifold: means, distances, geodesics and tangent spaces."""

from __future__ import annotations

import numpy as np
from pyriemann.estimation import Covariances
from pyriemann.tangentspace import TangentSpace
from pyriemann.utils.covariance import covariance_sch
from pyriemann.utils.distance import distance, distance_riemann
from pyriemann.utils.geodesic import geodesic_riemann
from pyriemann.utils.mean import mean_covariance, mean_riemann

from thirdparty.harness import Call

DISTRIBUTION = "pyriemann"
FIELD = "machine learning"
HELD_OUT = True

SIGNALS = np.sin(np.arange(3 * 3 * 12.0) ** 1.3).reshape(3, 3, 12)


def estimated(signals: np.ndarray) -> np.ndarray:
    return Covariances("oas").transform(signals)


def schaefer_strimmer(signals: np.ndarray) -> np.ndarray:
    return covariance_sch(signals[0])


def distances(signals: np.ndarray) -> list[float]:
    one, other, _ = Covariances("scm").transform(signals)
    return [distance_riemann(one, other), *(distance(one, other, m) for m in ("logeuclid", "wasserstein", "kullback"))]


def mean(signals: np.ndarray) -> np.ndarray:
    return mean_riemann(Covariances("scm").transform(signals), tol=1e-12)


def log_euclidean_mean(signals: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return mean_covariance(Covariances("scm").transform(signals), metric="logeuclid", sample_weight=weights)


def halfway(signals: np.ndarray, at: float) -> np.ndarray:
    one, other, _ = Covariances("scm").transform(signals)
    return geodesic_riemann(one, other, at)


def features(signals: np.ndarray) -> np.ndarray:
    return TangentSpace().fit_transform(Covariances("lwf").transform(signals))


CALLS = {
    "estimated": Call(estimated, SIGNALS),
    "schaefer_strimmer": Call(schaefer_strimmer, SIGNALS),
    "distances": Call(distances, SIGNALS),
    "mean": Call(mean, SIGNALS),
    "log_euclidean_mean": Call(log_euclidean_mean, SIGNALS, np.array([0.2, 0.5, 0.3])),
    "halfway": Call(halfway, SIGNALS, 0.3),
    "features": Call(features, SIGNALS, rtol=1e-5),
}
