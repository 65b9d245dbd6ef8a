"""Derivatives of compiled solvers of ``scipy.optimize`` that take arrays, not functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.optimize

from .table import joint


def nnls_pullback(dy: Any, y: Any, A: Any, b: Any, maxiter: int) -> tuple[Any, Any]:
    """Differentiate the normal equations of the positive variables P: A_P^T (b - A_P x_P) = 0."""
    dx, dnorm, _ = dy
    x, norm, _ = y
    free = x > 0
    residual = b - A @ x
    da, db = np.zeros_like(A), np.zeros_like(b)
    if dx is not None:
        columns = A[:, free]
        u = np.linalg.solve(columns.T @ columns, dx[free])
        pushed = columns @ u
        da[:, free] += np.outer(residual, u) - np.outer(pushed, x[free])
        db += pushed
    if dnorm is not None and norm > 0:
        unit = dnorm * residual / norm
        da -= np.outer(unit, x)
        db += unit
    return da, db


if hasattr(scipy.optimize, "_slsqplib"):  # since SciPy 1.16
    joint(scipy.optimize._slsqplib.nnls, nnls_pullback)  # type: ignore[attr-defined]
