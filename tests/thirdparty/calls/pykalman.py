"""Kalman filtering, smoothing and expectation maximisation on masked arrays."""

from __future__ import annotations

import numpy as np
from pykalman import AdditiveUnscentedKalmanFilter, KalmanFilter

from thirdparty.harness import Call

DISTRIBUTION = "pykalman"
FIELD = "filtering"

MEASURED = np.array([1.0, 2.0, 2.5, 4.0])


def tracker(process: float, noise: float) -> KalmanFilter:
    return KalmanFilter(
        transition_matrices=np.array([[1.0, 1.0], [0.0, 1.0]]),
        observation_matrices=np.array([[1.0, 0.0]]),
        transition_covariance=process * np.eye(2),
        observation_covariance=np.array([[noise]]),
        initial_state_mean=np.array([0.0, 0.0]),
        initial_state_covariance=np.eye(2),
    )


def filtered(process: float, noise: float, measured: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return tracker(process, noise).filter(measured)


def smoothed(process: float, noise: float, measured: np.ndarray) -> np.ndarray:
    return tracker(process, noise).smooth(measured)[0]


def log_likelihood(process: float, noise: float, measured: np.ndarray) -> float:
    return tracker(process, noise).loglikelihood(measured)


def with_a_missing_measurement(process: float, measured: np.ndarray) -> np.ndarray:
    return tracker(process, 0.5).filter(np.ma.masked_array(measured, [False, False, True, False]))[0]


def unscented(strength: float, measured: np.ndarray) -> np.ndarray:
    f = AdditiveUnscentedKalmanFilter(
        lambda x: np.array([x[0] + strength * np.sin(x[1]), x[1]]),
        lambda x: x[:1] ** 2,
        np.eye(2) * 0.1,
        np.eye(1) * 0.2,
        np.array([1.0, 0.5]),
        np.eye(2),
    )
    return f.smooth(measured)[0]


def learnt(measured: np.ndarray) -> np.ndarray:
    f = KalmanFilter(transition_matrices=[[1.0]], observation_matrices=[[1.0]])
    return f.em(measured, n_iter=2).transition_covariance


CALLS = {
    "filtered": Call(filtered, 0.1, 0.5, MEASURED),
    "smoothed": Call(smoothed, 0.1, 0.5, MEASURED),
    "log_likelihood": Call(log_likelihood, 0.1, 0.5, MEASURED),
    "with_a_missing_measurement": Call(with_a_missing_measurement, 0.1, MEASURED),
    "unscented": Call(unscented, 0.3, MEASURED),
    "learnt": Call(learnt, MEASURED),
}
