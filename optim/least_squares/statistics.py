"""What a fit says of the accuracy of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import BadInput, jacobian
from ..flatten import Layout
from .losses import chosen_loss, reweighted, total


def parameter_covariance(r: Callable[..., Any], x: Any, *args: Any, loss: Any = "linear", scale: float = 1.0) -> Any:
    """Return the covariance of fitted parameters, ``value / (m - n) · (JᵀJ)⁻¹``, as a function to differentiate.

    ``least_squares`` computes the same without a derivative, since most programs do not differentiate it.

    Args:
        r: ``r(x, *args)`` returns m residuals; twice differentiable from its source where the result is differentiated.
        x: the solution of ``least_squares``, of n numbers.
        args: further arguments of ``r``.
        loss, scale: as for ``least_squares``.

    Returns:
        The matrix (n, n), in the order of the unknowns.

    Raises:
        BadInput: there are not more residuals than unknowns.
        numpy.linalg.LinAlgError: the data do not determine the parameters.

    >>> t = np.arange(5.0)
    >>> parameter_covariance(lambda b: b[0] + b[1] * t - t**2, np.array([-2.0, 4.0])).round(6).tolist()
    [[2.8, -0.933333], [-0.933333, 0.466667]]
    """
    layout, rho = Layout(x, "x"), chosen_loss("parameter_covariance", loss)
    residual = np.reshape(r(x, *args), (-1,))
    freedom = np.size(residual) - layout.size
    if freedom <= 0:
        raise BadInput(
            f"parameter_covariance: {np.size(residual)} residuals for {layout.size} unknowns, expected more residuals"
        )
    slopes = jacobian(lambda v: np.reshape(r(layout.structure(v), *args), (-1,)))(layout.vector(x))
    _, weighted = reweighted(rho, residual, slopes, scale)
    norms = np.sqrt(np.sum(weighted**2, axis=0))
    triangle = np.linalg.qr(weighted / norms, mode="r")
    half = np.linalg.inv(triangle) / norms[:, None]
    return total(rho, residual, scale) / freedom * (half @ half.T)


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
