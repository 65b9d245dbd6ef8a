"""Kalman filters: objects whose methods replace their matrices, inverses and likelihoods by attribute."""

from __future__ import annotations

import numpy as np
from filterpy.common.discretization import Q_discrete_white_noise, van_loan_discretization
from filterpy.gh import GHFilter
from filterpy.kalman import (
    ExtendedKalmanFilter,
    IMMEstimator,
    KalmanFilter,
    MerweScaledSigmaPoints,
    SquareRootKalmanFilter,
    UnscentedKalmanFilter,
)

from thirdparty.harness import Call

DISTRIBUTION = "filterpy"
FIELD = "filtering"

MEASURED = np.array([1.3, 2.1, 2.9, 4.2, 5.1])


def tracker(process: float, noise: float) -> KalmanFilter:
    f = KalmanFilter(dim_x=2, dim_z=1)
    f.x = np.array([0.0, 1.0])
    f.F = np.array([[1.0, 1.0], [0.0, 1.0]])
    f.H = np.array([[1.0, 0.0]])
    f.P *= 10.0
    f.R *= noise
    f.Q = Q_discrete_white_noise(dim=2, dt=1.0, var=process)
    return f


def log_likelihood(process: float, noise: float, measured: np.ndarray) -> float:
    f, total = tracker(process, noise), 0.0
    for z in measured:
        f.predict()
        f.update(z)
        total += f.log_likelihood
    return total


def smoothed(process: float, noise: float, measured: np.ndarray) -> np.ndarray:
    f = tracker(process, noise)
    means, covariances, _, _ = f.batch_filter(measured)
    return f.rts_smoother(means, covariances)[0]


def unscented(process: float, noise: float, measured: np.ndarray) -> np.ndarray:
    f = UnscentedKalmanFilter(
        dim_x=2,
        dim_z=1,
        dt=0.5,
        fx=lambda x, dt: np.array([x[0] + x[1] * dt, x[1] - 0.1 * np.sin(x[0]) * dt]),
        hx=lambda x: np.array([np.sqrt(1 + x[0] ** 2)]),
        points=MerweScaledSigmaPoints(n=2, alpha=0.1, beta=2.0, kappa=1.0),
    )
    f.x = np.array([0.0, 1.0])
    f.P *= 0.2
    f.R *= noise
    f.Q = Q_discrete_white_noise(2, dt=0.5, var=process)
    for z in measured:
        f.predict()
        f.update(z)
    return f.x


def extended(noise: float, measured: np.ndarray) -> np.ndarray:
    f = ExtendedKalmanFilter(dim_x=2, dim_z=1)
    f.x = np.array([[1.0], [0.5]])
    f.F = np.array([[1.0, 0.5], [0.0, 1.0]])
    f.R *= noise
    for z in measured:
        f.update(
            np.array([[z]]),
            lambda x: np.array([[x[0, 0] / np.sqrt(x[0, 0] ** 2 + 4), 0.0]]),
            lambda x: np.sqrt(x[0:1] ** 2 + 4),
        )
        f.predict()
    return f.x


def interacting_models(noise: float, measured: np.ndarray) -> np.ndarray:
    switching = np.array([[0.97, 0.03], [0.03, 0.97]])
    bank = IMMEstimator([tracker(0.1, noise), tracker(1.0, noise)], np.array([0.6, 0.4]), switching)
    for z in measured:
        bank.predict()
        bank.update(z)
    return bank.mu


def square_root(noise: float, measured: np.ndarray) -> np.ndarray:
    f = SquareRootKalmanFilter(dim_x=2, dim_z=1)
    f.x = np.array([[0.0], [1.0]])
    f.F = np.array([[1.0, 1.0], [0.0, 1.0]])
    f.H = np.array([[1.0, 0.0]])
    f.P, f.R, f.Q = np.eye(2) * 10, np.array([[noise]]), np.eye(2) * 0.1
    for z in measured:
        f.predict()
        f.update(z)
    return f.P


def discretised(dynamics: np.ndarray, step: float) -> tuple[np.ndarray, np.ndarray]:
    return van_loan_discretization(dynamics, np.array([[0.0], [2.0]]), step)


def g_h_filter(g: float, h: float, measured: np.ndarray) -> np.ndarray:
    return GHFilter(x=0.0, dx=1.0, dt=1.0, g=g, h=h).batch_filter(measured)


CALLS = {
    "log_likelihood": Call(log_likelihood, 0.1, 5.0, MEASURED),
    "smoothed": Call(smoothed, 0.1, 5.0, MEASURED),
    "unscented": Call(unscented, 0.1, 0.5, MEASURED),
    "extended": Call(extended, 0.5, MEASURED),
    "interacting_models": Call(interacting_models, 0.5, MEASURED),
    "square_root": Call(square_root, 0.5, MEASURED),
    "discretised": Call(discretised, np.array([[0.0, 1.0], [-1.0, -0.2]]), 0.1),
    "g_h_filter": Call(g_h_filter, 0.8, 0.2, MEASURED),
}
