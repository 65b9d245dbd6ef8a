"""What a fit says of the accuracy of its parameters."""

from __future__ import annotations

import numpy as np


def covariance_of(slopes: np.ndarray, variance: float) -> np.ndarray:
    """Return ``variance · (JᵀJ)⁻¹``; the columns of J are scaled to norm 1, so that units do not affect the rank."""
    norms = np.linalg.norm(slopes, axis=0)
    norms = np.where(norms > 0.0, norms, 1.0)
    _, S, Vt = np.linalg.svd(np.linalg.qr(slopes / norms, mode="r"), full_matrices=False)
    determined = np.finfo(np.float64).eps * max(slopes.shape) * S[0] < S
    half = np.where(determined, Vt.T / np.where(determined, S, 1.0), 0.0) / norms[:, None]
    covariance = variance * (half @ half.T)
    lost = np.linalg.norm(np.where(determined[:, None], 0.0, Vt), axis=0) > np.sqrt(np.finfo(np.float64).eps)
    covariance = np.where(lost[:, None] | lost, np.nan, covariance)
    return np.where(np.eye(len(norms), dtype=bool) & lost, np.inf, covariance)
