"""Programs of ``numpy.linalg``'s functions for back ends that have code for the decompositions in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .factor_kernels import gram_solve
from .kept_factors import factored, inv_factored
from .kept_triangles import gram_by_triangle
from .library_programs import are_matrices, are_stacks, by_matrix, expands
from .products import hermitian as dagger

EVERYWHERE = "native", "xla"


# Norms


def matrix_norm_by_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return np.linalg.norm(x, ord, (-2, -1), keepdims)


def vector_norm_by_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    if axis is not None and np.size(axis) == 1:
        return np.linalg.norm(x, ord, axis, keepdims)
    axes = [k % x.ndim for k in (range(x.ndim) if axis is None else axis)]
    rest = [k for k in range(x.ndim) if k not in axes]
    rows = np.reshape(np.transpose(x, rest + axes), (*[x.shape[k] for k in rest], -1))
    found = np.linalg.norm(rows, ord, -1)
    return np.reshape(found, [1 if k in axes else n for k, n in enumerate(x.shape)]) if keepdims else found


def is_not_empty(*arrays: Any, **constants: Any) -> bool:
    return len(arrays) == 1 and arrays[0].ndim > 0 and 0 not in arrays[0].shape and arrays[0].dtype.kind in "iufc"


expands(np.linalg.matrix_norm, matrix_norm_by_norm, is_not_empty, EVERYWHERE)
expands(np.linalg.vector_norm, vector_norm_by_norm, is_not_empty, EVERYWHERE)


# Pseudo-inverses and ranks


def reciprocals(x: Any, is_kept: Any) -> Any:
    """1 / x where a mask holds, else 0."""
    return np.where(is_kept, 1 / np.where(is_kept, x, 1), 0).astype(x.dtype)


def hermitian_pseudo_inverse(lam: Any, v: Any, cut: Any) -> Any:
    return (v * reciprocals(lam, np.abs(lam) > cut)[..., None, :]) @ dagger(v)


def pseudo_inverse(u: Any, s: Any, vh: Any, cut: Any) -> Any:
    return dagger(vh) @ (reciprocals(s, s > cut)[..., None] * dagger(u))


def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:  # type: ignore[attr-defined]
    if rcond is not None and rtol is not np._NoValue:  # type: ignore[attr-defined]
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        default = max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol is None else rtol
        rcond = 1e-15 if rtol is np._NoValue else default  # type: ignore[attr-defined]
    if hermitian:
        lam, v = np.linalg.eigh(a)
        largest = np.max(np.abs(lam), axis=-1, keepdims=True)
        return hermitian_pseudo_inverse(lam, v, np.asarray(rcond)[..., None] * largest)
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return pseudo_inverse(u, s, vh, np.asarray(rcond)[..., None] * s[..., :1])


def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    s = np.abs(np.linalg.eigvalsh(A)) if hermitian else np.linalg.svdvals(A)
    if tol is None:
        rtol = max(A.shape[-2:]) * np.finfo(s.dtype).eps if rtol is None else np.asarray(rtol)[..., None]
        tol = np.max(s, axis=-1, keepdims=True) * rtol
    else:
        tol = np.asarray(tol)[..., None]
    return np.count_nonzero(s > tol, axis=-1)


def is_stack_of_matrices(*arrays: Any, **constants: Any) -> bool:
    """Whether an array is a matrix of a dtype of LAPACK's or a stack of them, and the other arguments are constants."""
    (a, *others) = arrays
    return not others and a.ndim >= 2 and 0 not in a.shape and a.dtype.char in "fdFD"


expands(np.linalg.pinv, pinv, is_stack_of_matrices, EVERYWHERE)
expands(np.linalg.matrix_rank, matrix_rank, is_stack_of_matrices, EVERYWHERE)


# Condition numbers of other orders


def cond_by_inverse(x: Any, p: Any = None) -> Any:
    """Infinite for a singular matrix."""
    factors = factored(x)
    if np.any(np.diagonal(factors[:-1]) == 0):
        return np.linalg.norm(x, p) * np.inf
    return np.linalg.norm(x, p) * np.linalg.norm(inv_factored(x, factors), p)


def is_by_inverse(x: Any, p: Any = None) -> bool:
    return x.ndim >= 2 and x.shape[-2] == x.shape[-1] and p in (1, -1, np.inf, -np.inf, "fro", "nuc")


expands(np.linalg.cond, cond_by_inverse, lambda x, p=None: are_matrices(x) and is_by_inverse(x, p))
expands(np.linalg.cond, by_matrix(np.linalg.cond, 2), lambda x, p=None: are_stacks(2)(x) and is_by_inverse(x, p))


# Equations of tensors


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    moved = [k % a.ndim for k in (axes or ())]
    a = np.transpose(a, [k for k in range(a.ndim) if k not in moved] + moved)
    n = int(np.prod(b.shape))
    return np.reshape(np.linalg.solve(np.reshape(a, (n, n)), np.ravel(b)), a.shape[b.ndim :])


def tensorinv(a: Any, ind: int = 2) -> Any:
    n = int(np.prod(a.shape[:ind]))
    return np.reshape(np.linalg.inv(np.reshape(a, (n, n))), a.shape[ind:] + a.shape[:ind])


def are_tensors(*arrays: Any, **constants: Any) -> bool:
    return all(0 not in x.shape and x.dtype.char in "fdFD" for x in arrays)


expands(np.linalg.tensorsolve, tensorsolve, are_tensors, EVERYWHERE)
expands(np.linalg.tensorinv, tensorinv, are_tensors, EVERYWHERE)


# (A^H A)^-1 C


def gram_solve_by_qr(a: Any, c: Any) -> Any:
    return gram_by_solves(a, c, np.linalg.qr(a, mode="r"))


def gram_by_solves(a: Any, c: Any, r: Any) -> Any:
    import scipy.linalg

    between = scipy.linalg.solve_triangular(r, c, trans=2, check_finite=False)
    return scipy.linalg.solve_triangular(r, between, check_finite=False)


expands(gram_solve, gram_solve_by_qr, are_matrices, EVERYWHERE)
expands(gram_by_triangle, gram_by_solves, are_matrices, EVERYWHERE)
