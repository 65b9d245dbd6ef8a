"""The iterative methods and matrices that they are tested with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from morula.linalg import bicgstab, cg, gmres, idrs, minres, symmlq

HERMITIAN: dict[str, Callable[..., Any]] = {"cg": cg, "minres": minres, "symmlq": symmlq}
GENERAL: dict[str, Callable[..., Any]] = {"gmres": gmres, "bicgstab": bicgstab, "idrs": idrs}
SQUARE = {**HERMITIAN, **GENERAL}


def poisson(n: int) -> Any:
    """The five-point Laplacian on n x n points, CSR."""
    line = scipy.sparse.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1])
    one = scipy.sparse.eye_array(n)
    return (scipy.sparse.kron(line, one) + scipy.sparse.kron(one, line)).tocsr()


def convection_diffusion(n: int, wind: float = 0.5) -> Any:
    """The Laplacian with a wind along the rows: not symmetric, CSR."""
    along = scipy.sparse.diags_array([np.full(n - 1, -wind), np.full(n - 1, wind)], offsets=[-1, 1])
    return (poisson(n) + scipy.sparse.kron(scipy.sparse.eye_array(n), along)).tocsr()


def random_matrix(rng: Any, m: int, n: int, dtype: Any = np.float64) -> Any:
    a = rng.standard_normal((m, n))
    if np.dtype(dtype).kind == "c":
        a = a + 1j * rng.standard_normal((m, n))
    return a.astype(dtype)


def matrix_for(name: str, rng: Any, n: int, dtype: Any = np.float64) -> Any:
    """A well-conditioned matrix of the kind that the method needs."""
    a = random_matrix(rng, n, n, dtype) / np.sqrt(n)
    if name not in HERMITIAN:
        return (a + 3 * np.eye(n)).astype(dtype)
    return (a @ a.conj().T + np.eye(n)).astype(dtype)
