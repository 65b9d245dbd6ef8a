"""The derivative of ``scipy.linalg.ldl``: A = L D L^H with a permuted unit triangle L and blocks of one or two in D.

With M = L^-1 dA L^-H = F D + dD + D F^H, where dL = L F and F is triangular without the blocks: outside of the blocks
F = M D^-1, and dD is M in the blocks.  The pivots, which choose the permutation and the blocks, are constant where the factors
are continuous.

Source: J. Bunch and L. Kaufman, "Some stable methods for calculating inertia and solving symmetric linear systems", Math.
Comp. 31, 1977; the differential follows that of LU in ``scipy_factorisations``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..errors import NoDerivative
from .factor_kernels import routine
from .library_programs import are_matrices, expands, refuse_not_finite, treats_stacks
from .products import hermitian as dagger
from .scipy_factorisations import refuse_overwrite
from .scipy_linear_algebra import onto_structure
from .table import runs_compiled, vjp, zero


def ldl_pullback(
    dy: Any, y: Any, A: Any, lower: bool = True, hermitian: bool = True, overwrite_a: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    refuse_overwrite(overwrite_a)
    (dlu, dd, _), (lu, d, perm) = dy, y
    order = perm[..., :, None]
    triangle = np.take_along_axis(lu, order, axis=-2)
    blocks = (d != 0) | np.eye(d.shape[-1], dtype=bool)
    middle = np.zeros_like(d) if dd is None else np.where(blocks, dd, 0.0)
    if dlu is not None:
        if np.any(np.linalg.det(d) == 0):
            raise NoDerivative("scipy.linalg.ldl has no derivative of the triangle at a singular matrix")
        below = np.tri(d.shape[-1], k=-1, dtype=bool) if lower else ~np.tri(d.shape[-1], dtype=bool)
        turn = np.where(below & ~blocks, dagger(triangle) @ np.take_along_axis(dlu, order, axis=-2), 0.0)
        middle = middle + dagger(np.linalg.solve(d, dagger(turn)))
    left = np.linalg.solve(dagger(triangle), middle)
    right = dagger(triangle) if hermitian else np.swapaxes(triangle, -1, -2)
    g = dagger(np.linalg.solve(right, dagger(left)))
    back = np.argsort(perm, axis=-1)
    g = np.take_along_axis(np.take_along_axis(g, back[..., :, None], axis=-2), back[..., None, :], axis=-1)
    return onto_structure(g, "hermitian" if hermitian else "symmetric", lower)


vjp(scipy.linalg.ldl, ldl_pullback)


# A program for back ends that have LAPACK's factorisation


def indefinite_factors(a: Any, *, lower: bool, hermitian: bool) -> tuple[Any, Any]:
    """LAPACK's factors in one matrix, and for each pivot the row it was exchanged with, from 1; in a block of two, negative twice."""
    name = "hetrf" if hermitian and a.dtype.kind == "c" else "sytrf"
    factors, exchanged, _ = routine("lapack", name, a.dtype.char)(a, lower=lower, lwork=64 * len(a))
    return np.ascontiguousarray(factors), exchanged.astype(np.int64)


def ldl_by_factors(
    A: Any, lower: bool = True, hermitian: bool = True, overwrite_a: bool = False, check_finite: bool = True
) -> tuple[Any, Any, Any]:
    """As SciPy decodes LAPACK's factors: the blocks' elements move from the triangle to D, and the exchanges to the triangle."""
    refuse_not_finite(check_finite, A)
    factors, exchanged = indefinite_factors(A, lower=lower, hermitian=hermitian)
    n, places = A.shape[0], np.arange(A.shape[0])
    triangle = (np.tril(factors, -1) if lower else np.triu(factors, 1)) + np.eye(n, dtype=factors.dtype)
    D = np.diag(np.diagonal(factors))
    # The row that each row is exchanged with, and for each row the other one of its block, or the row itself.
    row, partner = np.arange(n), np.arange(n)
    ahead = 1 if lower else -1
    k = 0 if lower else n - 1
    while 0 <= k < n:
        if exchanged[k] > 0:
            row[k] = row[exchanged[k] - 1]
            k += ahead
        else:
            other = k + ahead
            row[other] = row[-exchanged[k] - 1]
            partner[k], partner[other] = other, k
            D[other, k] = factors[other, k]
            D[k, other] = np.conj(factors[other, k]) if hermitian else factors[other, k]
            triangle[other, k] = 0.0
            k += 2 * ahead
    order = np.arange(n)
    for step in range(n):
        k = n - 1 - step if lower else step
        j = row[k]
        if j != k:
            inside = places >= min(k, partner[k]) if lower else places <= max(k, partner[k])
            upper_row, lower_row = triangle[j].copy(), triangle[k].copy()
            triangle[j] = np.where(inside, lower_row, upper_row)
            triangle[k] = np.where(inside, upper_row, lower_row)
            order[j], order[k] = order[k], order[j]
    return triangle, D, np.argsort(order)


zero(indefinite_factors)  # programs of it stand in after differentiation: ``ldl`` has the derivative
runs_compiled(indefinite_factors)
expands(scipy.linalg.ldl, ldl_by_factors, are_matrices)
treats_stacks(scipy.linalg.ldl)
