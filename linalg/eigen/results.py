"""The results of eigenproblems and of truncated singular value decompositions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..krylov.solution import Outcome


@dataclass
class Eigenpairs(Outcome):
    """Some eigenvalues and eigenvectors of a matrix."""

    values: Any
    """The eigenvalues (k,), the most wanted first."""
    vectors: Any
    """The eigenvectors, the columns of (n, k); None if they were not asked for."""
    iterations: int
    """The number of cycles (of steps, for ``lobpcg``) after the first."""
    residual_norms: Any
    """The Euclidean norms of A x - lambda M x, (k,), computed from the pairs."""
    history: Any
    """The largest of the method's estimates of the residual norms, at the start and after each cycle, (iterations + 1,)."""
    code: int
    """The number of the ``status``."""
    method: str = ""
    """The name of the method that found it."""


@dataclass
class SingularTriplets(Outcome):
    """Some singular values and vectors of a matrix."""

    U: Any
    """The left singular vectors, the columns of (m, k); None if vectors were not asked for."""
    values: Any
    """The singular values (k,), the most wanted first."""
    Vh: Any
    """The conjugated right singular vectors, the rows of (k, n); None if vectors were not asked for."""
    iterations: int
    """The number of cycles after the first (of power iterations, for ``randomised_svd``)."""
    residual_norms: Any
    """The norms of (A v - s u, A^H u - s v) / sqrt(2), (k,), computed from the triplets."""
    history: Any
    """The largest of the method's estimates of the residual norms, at the start and after each cycle, (iterations + 1,)."""
    code: int
    """The number of the ``status``."""
    method: str = ""
    """The name of the method that found it."""
