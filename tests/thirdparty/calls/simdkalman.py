"""Kalman filters for many series at once: stacked small matrices, missing measurements, learnt noise."""

from __future__ import annotations

import numpy as np
import simdkalman

from thirdparty.harness import Call

DISTRIBUTION = "simdkalman"
FIELD = "filtering"
HELD_OUT = True

SERIES = np.cumsum(np.sin(np.arange(16.0)).reshape(2, 8), axis=1)


def filter_of(process: float, noise: float) -> simdkalman.KalmanFilter:
    return simdkalman.KalmanFilter(
        state_transition=np.array([[1.0, 1.0], [0.0, 1.0]]),
        process_noise=np.diag([0.1, 0.01]) * process,
        observation_model=np.array([[1.0, 0.0]]),
        observation_noise=noise,
    )


def smoothed(process: float, noise: float, series: np.ndarray) -> np.ndarray:
    return filter_of(process, noise).smooth(series).observations.mean


def predicted(process: float, noise: float, series: np.ndarray) -> np.ndarray:
    found = filter_of(process, noise).predict(series, 3)
    return found.observations.mean + found.observations.cov


def with_gaps(series: np.ndarray) -> np.ndarray:
    known = series.copy()
    known[0, 3] = np.nan
    return filter_of(1.0, 0.5).smooth(known).states.mean


def likelihood(process: float, noise: float) -> np.ndarray:
    found = filter_of(process, noise).compute(SERIES, 0, filtered=True, log_likelihood=True)
    return found.log_likelihood


def learnt(series: np.ndarray) -> np.ndarray:
    return filter_of(1.0, 0.5).em(series, n_iter=2).observation_noise


CALLS = {
    "smoothed": Call(smoothed, 1.0, 0.5, SERIES),
    "predicted": Call(predicted, 1.0, 0.5, SERIES),
    "with_gaps": Call(with_gaps, SERIES),
    "likelihood": Call(likelihood, 1.0, 0.5),
    "learnt": Call(learnt, SERIES),
}
