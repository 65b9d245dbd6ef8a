"""LU factors that the backward sweep uses again, for ``numpy.linalg``'s solve, det and slogdet.

``factored`` computes the factors, and each kernel its function's result from the matrix and these factors.  A kernel's
derivative is that of its function of the matrix: the factors are a cache, whose own derivative is zero and never asked for.
So a kernel's pullback, which is again written with kernels, is right to every order.

The factors of a matrix A, P A = L U, are one array of n + 1 rows: the transpose of LAPACK's array of L and U, so that its
memory is in the order that LAPACK reads, and a row with the rows' interchanges, counted from 0.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..values.strong_zero import CONTRACTIONS, Strong, solution
from .linear_algebra import cofactors, det_by_series, inv_pullback, matrix_product
from .products import hermitian as dagger
from .table import expansion, joint, linear, reuses, runs_compiled, solves, zero

SLOGDET = type(np.linalg.slogdet(np.eye(1)))


@functools.cache
def lapack(name: str, kind: str) -> Any:
    """A function of LAPACK for a dtype, by its character."""
    from scipy.linalg import lapack as functions

    return getattr(functions, {"f": "s", "d": "d", "F": "c", "D": "z"}[kind] + name)


def factored(a: Any) -> Any:
    """Return the LU factors of matrices (..., n, n) in an array (..., n + 1, n)."""
    a = np.asarray(a)
    n = a.shape[-1]
    found = np.empty((*a.shape[:-2], n + 1, n), a.dtype)
    found[..., :n, :] = np.swapaxes(a, -1, -2)
    getrf = lapack("getrf", a.dtype.char)
    for each in np.reshape(found, (-1, n + 1, n)) if n else ():
        _, each[n], _ = getrf(each[:n].T, overwrite_a=True)
    return found


def interchanges(f: Any) -> Any:
    """The rows' interchanges, as LAPACK's integers."""
    return np.real(f[..., -1, :]).astype(np.int32)


def stacked(compute: Any, shape: tuple[int, ...], dtype: Any, *stacks: Any) -> Any:
    """Results of ``compute`` for each matrix of stacks that broadcast to the stack of ``shape``."""
    found = np.empty(shape, dtype)
    whole = [np.broadcast_to(x, (*shape[:-2], *x.shape[-2:])) for x in stacks]
    for i in np.ndindex(shape[:-2]):
        found[i] = compute(*(x[i] for x in whole))
    return found


def solve_factored(a: Any, b: Any, f: Any, adjoint: bool = False) -> Any:
    """Solve A X = B, or A^H X = B, by the factors of A; ``b`` is a vector or a stack of matrices.

    Raises:
        LinAlgError: A is singular.
    """
    if type(b) is Strong:
        return solution(lambda _, x: solve_factored(a, x, f, adjoint), a, b)
    b = np.asarray(b)
    dtype = np.result_type(a, b)
    n = f.shape[-1]
    if np.any(np.diagonal(f[..., :n, :], axis1=-2, axis2=-1) == 0):
        raise np.linalg.LinAlgError("Singular matrix")
    getrs, trans = lapack("getrs", dtype.char), 2 if adjoint else 0
    if n == 0 or b.size == 0:
        return np.zeros(b.shape, dtype)
    if f.ndim == 2 and b.ndim <= 2:
        return np.ascontiguousarray(getrs(f[:n].T, interchanges(f), b, trans)[0])
    shape = (*np.broadcast_shapes(f.shape[:-2], b.shape[:-2]), *b.shape[-2:])
    return stacked(lambda f, b: getrs(f[:n].T, interchanges(f), b, trans)[0], shape, dtype, f, b)


def inv_factored(a: Any, f: Any, adjoint: bool = False) -> Any:
    """The inverse of A, or of A^H, by the factors of A.

    Raises:
        LinAlgError: A is singular.
    """
    n = f.shape[-1]
    if np.any(np.diagonal(f[..., :n, :], axis1=-2, axis2=-1) == 0):
        raise np.linalg.LinAlgError("Singular matrix")
    getri = lapack("getri", f.dtype.char)

    def inverse(f: Any) -> Any:
        x, _ = getri(f[:n].T, interchanges(f), lwork=64 * n)
        return x if not adjoint else np.conj(x.T) if np.iscomplexobj(x) else x.T

    if f.ndim == 2 and n:
        return np.ascontiguousarray(inverse(f))
    return stacked(inverse, (*f.shape[:-2], n, n), f.dtype, f)


def slogdet_factored(a: Any, f: Any) -> Any:
    """Factor by factor with the functions of C, as NumPy computes it, so that results are the same to the last digit."""
    n = f.shape[-1]
    odd = np.sum(np.real(f[..., n, :]) != np.arange(n), axis=-1) % 2
    diagonal = np.diagonal(f[..., :n, :], axis1=-2, axis2=-1)
    signs, logarithms = np.empty(odd.shape, f.dtype), np.empty(odd.shape, f.real.dtype)
    for i in np.ndindex(odd.shape):
        sign, logarithm = -1.0 if odd[i] else 1.0, 0.0
        for x in diagonal[i].tolist():
            size = abs(x)
            if size == 0:
                sign, logarithm = 0.0, -np.inf
                break
            sign *= x / size
            logarithm += math.log(size) if size < np.inf else size
        signs[i], logarithms[i] = sign, logarithm
    return SLOGDET(signs[()], logarithms[()])


def det_factored(a: Any, f: Any) -> Any:
    """By the logarithm, as NumPy computes it, since the product of the diagonal may overflow before it is complete."""
    sign, logarithm = slogdet_factored(a, f)
    with np.errstate(over="ignore"):
        return sign * np.exp(logarithm)


def outer(z: Any, x: Any, as_vectors: bool) -> Any:
    """z x^H for vectors, or for matrices; a single column is multiplied without a call of BLAS."""
    if as_vectors:
        return z[:, None] * np.conj(x)
    return z * dagger(x) if z.shape[-1] == 1 else z @ dagger(x)


def solve_factored_pullback(dy: Any, y: Any, a: Any, b: Any, f: Any, adjoint: bool = False) -> tuple[Any, Any, None]:
    z = solve_factored(a, dy, f, not adjoint)
    return outer(-y, z, np.ndim(b) == 1) if adjoint else outer(-z, y, np.ndim(b) == 1), z, None


def inv_factored_pullback(dy: Any, y: Any, a: Any, f: Any, adjoint: bool = False) -> tuple[Any, None]:
    return inv_pullback(dagger(dy), dagger(y), a) if adjoint else inv_pullback(dy, y, a), None


def slogdet_factored_pullback(dy: Any, y: Any, a: Any, f: Any) -> tuple[Any, None]:
    """The real part of tr(A^-1 dA) changes the logarithm; for complex matrices the imaginary part turns the sign."""
    dsign, dlog = dy
    trace = 0.0 if dlog is None else dlog
    if dsign is not None:
        trace = trace + 1j * np.imag(np.conj(y[0]) * dsign)
    return np.expand_dims(trace, (-2, -1)) * inv_factored(a, f, True), None


def det_factored_pullback(dy: Any, y: Any, a: Any, f: Any) -> tuple[Any, None]:
    # A determinant that underflows is not that of a singular matrix, which the factors tell.
    if np.all(np.diagonal(f[..., :-1, :], axis1=-2, axis2=-1) != 0):
        return np.expand_dims(dy * np.conj(y), (-2, -1)) * inv_factored(a, f, True), None
    return np.expand_dims(dy, (-2, -1)) * np.conj(cofactors(a)), None


def solve_product(a: Any, y: Any, b: Any, f: Any, adjoint: bool = False) -> Any:
    return matrix_product(dagger(a) if adjoint else a, y, b)


zero(factored)
joint(solve_factored, solve_factored_pullback)
joint(inv_factored, inv_factored_pullback)
joint(slogdet_factored, slogdet_factored_pullback)
joint(det_factored, det_factored_pullback)
linear(solve_factored, 1)
solves(solve_factored, solve_product)
expansion(det_factored, lambda a, f: det_by_series(a))
runs_compiled(factored, solve_factored, inv_factored, slogdet_factored, det_factored)
reuses(np.linalg.solve, factored, solve_factored)
reuses(np.linalg.slogdet, factored, slogdet_factored)
reuses(np.linalg.det, factored, det_factored)
CONTRACTIONS[solve_factored] = solve_factored
