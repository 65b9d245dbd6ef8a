"""Jacobians of fits as arrays or as sparse matrices, and steps and variances by the normal equations of a sparse one.

With the scaled Jacobian A = J D⁻¹, the steps solve (Aᵀ A + λ) q = -Aᵀ r, whose matrix SuperLU factorises in an order that keeps its factors
sparse: for the cameras and points of bundle adjustment it eliminates the points first, as their Schur complement does. The residuals
are exact, so rounding in the matrix, which has the square of the condition, changes the path and not the minimum.

Source: J. Nocedal and S.J. Wright, Numerical Optimization, 2nd ed. (2006), section 10.3; B. Triggs et al., "Bundle adjustment: a modern synthesis",
Lecture Notes in Computer Science 1883 (2000), section 6.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from ...linalg.operators.selected_inverse import factorised, selected_inverse
from ..flatten import Vector
from .steps import tangent_of

RANK = np.finfo(np.float64).eps ** 0.75
"""A pivot of the scaled normal equations below this part of the largest belongs to unknowns that the residuals do not determine."""
LARGE = 2**27
"""The number of entries from which on an array that holds a place is a sparse matrix, since it would take a gigabyte."""


def blank(m: int, n: int) -> Any:
    """Return a Jacobian that holds the place of the first one; only its type counts, and that only in compiled code."""
    return np.zeros((m, n)) if m * n <= LARGE else scipy.sparse.csr_array((m, n))


def entries(slopes: Any) -> np.ndarray:
    """Return the entries, those that are stored of a sparse matrix."""
    return slopes if isinstance(slopes, np.ndarray) else slopes.data


def column_norms(slopes: Any) -> Vector:
    if isinstance(slopes, np.ndarray):
        return np.linalg.norm(slopes, axis=0)
    return np.sqrt(np.asarray(slopes.multiply(slopes).sum(axis=0)).reshape(-1))


def scaled_columns(slopes: Any, factors: Vector) -> Any:
    return slopes * factors if isinstance(slopes, np.ndarray) else slopes @ scipy.sparse.diags_array(factors)


def scaled_rows(slopes: Any, factors: Vector) -> Any:
    if isinstance(slopes, np.ndarray):
        return slopes * factors[:, None]
    return scipy.sparse.csr_array(scipy.sparse.diags_array(factors) @ slopes)


def plane(residual: Vector, slopes: Any, D: Vector) -> Any:
    """Return the tangent plane of the model for a Jacobian of either kind."""
    return tangent_of(residual, slopes, D) if isinstance(slopes, np.ndarray) else SparseTangent(residual, slopes, D)


class SparseTangent:
    """The tangent plane of the model at one point, in the scaled unknowns ``q = D p``; the steps of ``steps.py`` read it."""

    def __init__(self, residual: Vector, slopes: Any, D: Vector) -> None:
        self.A = scaled_columns(slopes, 1.0 / D)
        self.slope = self.A.T @ residual
        self.B = _normal_matrix(self.A)
        self._last: tuple[float, Any] = (-1.0, None)
        """The last multiplier and its factors, since a step and its rate are asked for in turn."""

    @cached_property
    def _whole(self) -> tuple[Any, bool]:
        """The factors of the normal equations, shifted where these are singular, and whether they are not."""
        return _factors(self.B)

    @property
    def is_determined(self) -> bool:
        """Whether the residuals determine all parameters."""
        return self._whole[1]

    @property
    def offset(self) -> float:
        """The length of the component of the residual that the parameters could still remove."""
        return float(np.sqrt(max(-(self.slope @ self.newton()), 0.0)))

    def newton(self) -> Vector:
        """Return the Gauss-Newton step."""
        return -self._whole[0].solve(self.slope)

    def damped(self, multiplier: float) -> Vector:
        """Return the minimiser of |r + J p|² + multiplier |q|²."""
        return -self._shifted(multiplier).solve(self.slope)

    def rate(self, q: Vector, multiplier: float) -> float:
        """Return qᵀ (B + multiplier)⁻¹ q, where B is the matrix of the quadratic model."""
        return float(q @ self._shifted(multiplier).solve(q))

    def change(self, q: Vector) -> float:
        """Return by how much the step changes the sum of squares of the linear model."""
        return 2.0 * float(self.slope @ q) + self.square(q)

    def square(self, q: Vector) -> float:
        """Return |J p|²."""
        product = self.A @ q
        return float(product @ product)

    def unknowns(self, q: Vector) -> Vector:
        """Return D p."""
        return q

    def _shifted(self, multiplier: float) -> Any:
        if multiplier == 0.0:
            return self._whole[0]
        if self._last[0] != multiplier:
            self._last = multiplier, factorised(_plus(self.B, np.full(len(self.slope), multiplier)))
        return self._last[1]


def preconditioner_of(slopes: Any) -> Any:
    """Return a function that solves with JᵀJ, which is nearly the Hessian of half the sum of squares."""
    return _factors(_normal_matrix(slopes))[0].solve


def sparse_covariance(slopes: Any, variance: float) -> Any:
    """Return the entries of ``variance · (JᵀJ)⁻¹`` at which JᵀJ has entries, a sparse matrix; NaN if it is singular.

    An unknown that no residual depends on has an infinite variance.
    """
    norms = column_norms(slopes)
    is_lost = norms == 0.0
    B = _normal_matrix(scaled_columns(slopes, 1.0 / np.where(is_lost, 1.0, norms)))
    factors, is_determined = _factors(B)
    B.sum_duplicates()
    i, j = B.indices.astype(np.int64), np.repeat(np.arange(B.shape[1]), np.diff(B.indptr))
    if is_determined:
        norms = np.where(is_lost, 1.0, norms)
        found = variance * selected_inverse(factors, i, j) / (norms[i] * norms[j])
    else:
        found = np.full(len(i), np.nan)
    return scipy.sparse.csr_array((np.where(is_lost[i], np.inf, found), (i, j)), shape=B.shape)


def _normal_matrix(A: Any) -> Any:
    """Return AᵀA in CSC format, with a one on the diagonal for a column of zeros, whose step is zero anyway."""
    B = scipy.sparse.csc_array(A.T @ A)
    return _plus(B, 1.0 * (B.diagonal() == 0.0))


def _plus(B: Any, diagonal: Vector) -> Any:
    return scipy.sparse.csc_array(B + scipy.sparse.diags_array(diagonal))


def _factors(B: Any) -> tuple[Any, bool]:
    """Return factors of B, or of B with a small shift if it is singular, and whether it is not."""
    largest = float(np.max(B.diagonal(), initial=1.0))
    try:
        factors = factorised(B)
        if float(np.min(np.abs(factors.U.diagonal()), initial=largest)) > RANK * largest:
            return factors, True
    except RuntimeError:  # a pivot is zero
        pass
    return factorised(_plus(B, np.full(B.shape[0], RANK * largest))), False
