"""The results of eigenproblems and of truncated singular value decompositions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..krylov import Status


@dataclass
class Eigenpairs:
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

    @property
    def status(self) -> Status:
        """How the iteration ended."""
        return Status(self.code)

    @property
    def message(self) -> str:
        """How the iteration ended, in words."""
        return Status(self.code).message

    @property
    def converged(self) -> bool:
        """Whether all residuals meet the tolerance."""
        return self.code == 0


@dataclass
class SingularTriplets:
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

    @property
    def status(self) -> Status:
        """How the iteration ended."""
        return Status(self.code)

    @property
    def message(self) -> str:
        """How the iteration ended, in words."""
        return Status(self.code).message

    @property
    def converged(self) -> bool:
        """Whether all residuals meet the tolerance."""
        return self.code == 0
