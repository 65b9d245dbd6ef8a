"""Programs of ``scipy.linalg``'s norms, pseudo-inverses, RQ, and functions of stacks for back ends that have code for the decompositions in them.

The cut-offs below which singular values count as zero are those of SciPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from .dense_programs import EVERYWHERE, hermitian_pseudo_inverse, is_not_empty, is_stack_of_matrices, pseudo_inverse
from .library_programs import OR_VECTOR, are_matrices, expands, refuse_not_finite, treats_stacks
from .products import hermitian as dagger

# Norms


def norm_of_finite(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False, check_finite: bool = True) -> Any:
    """SciPy's norm: numbers of double precision where SciPy calls BLAS or LAPACK, whose sums of squares do not overflow."""
    refuse_not_finite(check_finite, a)
    found = np.linalg.norm(a, ord, axis, keepdims)
    if axis is not None or keepdims or a.dtype.char not in "fdFD":
        return found
    if a.ndim == 1 and ord in (None, 2):
        limits = np.finfo(a.dtype)
        if not (limits.tiny**0.5 / limits.eps < found < limits.max):
            found = np.max(np.abs(a))
            if 0 < found < np.inf:
                found = found * np.linalg.norm(a / found)
        return float(found)
    return float(found) if a.ndim == 2 and ord in (1, np.inf) else found


expands(scipy.linalg.norm, norm_of_finite, is_not_empty, EVERYWHERE)


# Pseudo-inverses


def cut_off(s: Any, shape: Any, atol: Any, rtol: Any) -> Any:
    """SciPy's cut-off for values of a matrix of a shape."""
    rtol = max(shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else rtol
    return (0.0 if atol is None else atol) + rtol * np.max(np.abs(s), axis=-1, keepdims=True)


def scipy_pinv(
    a: Any, *, atol: Any = None, rtol: Any = None, return_rank: bool = False, check_finite: bool = True
) -> Any:
    refuse_not_finite(check_finite, a)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    cut = cut_off(s, a.shape, atol, rtol)
    found = pseudo_inverse(u, s, vh, cut)
    return (found, np.sum(s > cut, axis=-1)) if return_rank else found


def pinvh(
    a: Any, atol: Any = None, rtol: Any = None, lower: bool = True, return_rank: bool = False, check_finite: bool = True
) -> Any:
    refuse_not_finite(check_finite, a)
    lam, v = np.linalg.eigh(a, "L" if lower else "U")
    cut = cut_off(lam, a.shape, atol, rtol)
    found = hermitian_pseudo_inverse(lam, v, cut)
    return (found, np.sum(np.abs(lam) > cut, axis=-1)) if return_rank else found


expands(scipy.linalg.pinv, scipy_pinv, is_stack_of_matrices, EVERYWHERE)
expands(scipy.linalg.pinvh, pinvh, is_stack_of_matrices, EVERYWHERE)


# RQ


def rq(a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", check_finite: bool = True) -> Any:
    """With J, which reverses the order, A = (J R^H J) (J Q^H J) for the factors Q R of J A^H J."""
    refuse_not_finite(check_finite, a)
    turned = dagger(a)[::-1, ::-1]
    wide = a.shape[1] >= a.shape[0]
    if mode == "r" and wide:
        r: Any = np.linalg.qr(turned, mode="r")
        filled = np.zeros(turned.shape, a.dtype)
        filled[: r.shape[0]] = r
        return dagger(filled[::-1, ::-1])
    q, r = np.linalg.qr(turned, mode="reduced" if mode == "economic" else "complete")
    r = dagger(r[::-1, ::-1])
    return r if mode == "r" else (r, dagger(q[::-1, ::-1]))


expands(scipy.linalg.rq, rq, are_matrices, EVERYWHERE)


# The inverse of a matrix that is assumed to be diagonal


def inv_of_diagonal(
    a: Any, overwrite_a: bool = False, check_finite: bool = True, *, assume_a: Any = None, lower: bool = False
) -> Any:
    """SciPy returns the elements beside the diagonal unchanged."""
    refuse_not_finite(check_finite, a)
    diagonal = np.diagonal(a)
    if np.any(diagonal == 0):
        raise np.linalg.LinAlgError("A singular matrix detected: slice(s) [0] are singular.")
    return np.where(np.eye(a.shape[0], dtype=bool), 1 / diagonal, a)


def is_diagonal(*arrays: Any, **constants: Any) -> bool:
    return are_matrices(*arrays) and constants.get("assume_a") == "diagonal"


expands(scipy.linalg.inv, inv_of_diagonal, is_diagonal)


# Stacks

treats_stacks(
    *(scipy.linalg.hessenberg, scipy.linalg.rq, scipy.linalg.lu, scipy.linalg.lu_factor, scipy.linalg.polar),
    *(scipy.linalg.eig_banded, scipy.linalg.eigvals_banded, scipy.linalg.cholesky_banded, scipy.linalg.schur),
)
treats_stacks(scipy.linalg.eigh_tridiagonal, scipy.linalg.eigvalsh_tridiagonal, axes=(1, 1))
treats_stacks(
    *(scipy.linalg.lstsq, scipy.linalg.solveh_banded, scipy.linalg.solve_banded, scipy.linalg.solve_triangular),
    axes=(2, OR_VECTOR),
)
treats_stacks(scipy.linalg.solve_sylvester, axes=(2, 2, 2))
