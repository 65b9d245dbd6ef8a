"""Kernels of adjoints that call LAPACK where NumPy has no function for the structure: triangles, Gram matrices, Frechet derivatives.

A kernel is a function like those of ``numpy.linalg``, with a rule of its own, so adjoints that use it are differentiated again.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from .products import hermitian as dagger
from .table import joint, linear, runs_compiled


@functools.cache
def routine(library: str, name: str, kind: str) -> Any:
    """A function of BLAS or LAPACK for a dtype, by its character."""
    from scipy.linalg import blas, lapack

    return getattr({"blas": blas, "lapack": lapack}[library], {"f": "s", "d": "d", "F": "c", "D": "z"}[kind] + name)


def half_lower(m: Any) -> Any:
    """The lower triangle with half the diagonal."""
    return np.tril(m) - 0.5 * np.where(np.eye(m.shape[-1], dtype=bool), m, 0.0)


# L^-H M L^-1 for a lower triangle L


def congruence(l: Any, m: Any, adjoint: bool = False) -> Any:  # noqa: E741
    """Return L^-H M L^-1, or L^-1 M L^-H for the ``adjoint``; ``l`` and ``m`` are one matrix each."""
    dtype = np.result_type(l, m)
    upper = np.asarray(l, dtype, order="C").T  # LAPACK's matrices are column-major
    return overwritten_congruence(upper, np.array(m, dtype, order="C").T, adjoint)


def overwritten_congruence(upper: Any, x: Any, adjoint: bool = False) -> Any:
    """``congruence`` of the transposes of L and M, column-major; it overwrites the latter."""
    trsm = routine("blas", "trsm", upper.dtype.char)
    x = trsm(1.0, upper, x, side=0, trans_a=2 if adjoint else 0, overwrite_b=True)
    return trsm(1.0, upper, x, side=1, trans_a=0 if adjoint else 2, overwrite_b=True).T


def congruence_pullback(dy: Any, y: Any, l: Any, m: Any, adjoint: bool = False) -> tuple[Any, Any]:  # noqa: E741
    if adjoint:
        dl = -np.linalg.solve(dagger(l), dy @ dagger(y) + dagger(dy) @ y)
    else:
        dl = -dagger(np.linalg.solve(l, dagger(y @ dagger(dy) + dagger(y) @ dy)))
    return np.tril(dl), congruence(l, dy, not adjoint)


joint(congruence, congruence_pullback)
linear(congruence, 1)
runs_compiled(congruence)


# The adjoint of a Cholesky factorisation


def cholesky_adjoint(dl: Any, l: Any) -> Any:  # noqa: E741
    """Return L^-H P L^-1, P the lower triangle of L^H dL with half the diagonal, for one matrix L.

    Where dL is diagonal, as for a log-determinant, P is, and one call of LAPACK's inverse gives the result.
    """
    dtype = np.result_type(l, dl)
    d = np.real(np.conj(np.diagonal(l)) * np.diagonal(dl))
    if not (np.all(d > 0) and np.count_nonzero(dl) == len(d)):
        upper = np.asarray(l, dtype, order="C").T
        product = routine("blas", "trmm", dtype.char)(
            1.0, upper, np.array(dl, dtype, order="C").T, side=1, trans_a=2, overwrite_b=True
        )
        phi = np.tril(product.T)
        np.einsum("ii->i", phi)[:] *= 0.5
        return overwritten_congruence(upper, phi.T)
    scaled = np.asarray(l / np.sqrt(0.5 * d), dtype, order="C").T
    inverse = routine("lapack", "potri", dtype.char)(scaled, overwrite_c=True)[0].T
    lower = np.tril(inverse)
    return lower + dagger(np.tril(lower, -1))


def cholesky_adjoint_pullback(dg: Any, g: Any, dl: Any, l: Any) -> tuple[Any, Any]:  # noqa: E741
    m = half_lower(congruence(l, dg, True))
    by_l = dl @ dagger(m) - dagger(np.linalg.solve(l, dagger(g @ dagger(dg) + dagger(g) @ dg)))
    return l @ m, np.tril(by_l)


joint(cholesky_adjoint, cholesky_adjoint_pullback)
linear(cholesky_adjoint, 0)
runs_compiled(cholesky_adjoint)


# (A^H A)^-1 C for a matrix A of full column rank


def gram_solve(a: Any, c: Any) -> Any:
    """Return (A^H A)^-1 C for one matrix A of full column rank, by the triangle of its QR factorisation."""
    dtype = np.result_type(a, c)
    n = a.shape[1]
    qr = routine("lapack", "geqrf", dtype.char)(np.asarray(a, dtype), lwork=64 * n)[0]
    trtrs = routine("lapack", "trtrs", dtype.char)
    return np.ascontiguousarray(trtrs(qr[:n], trtrs(qr[:n], np.asarray(c, dtype), trans=2)[0])[0])


def gram_solve_pullback(dy: Any, y: Any, a: Any, c: Any) -> tuple[Any, Any]:
    w = gram_solve(a, dy)
    return -a @ (w @ dagger(y) + y @ dagger(w)), w


joint(gram_solve, gram_solve_pullback)
linear(gram_solve, 1)
runs_compiled(gram_solve)


# The Frechet derivative of the exponential


def expm_frechet(a: Any, e: Any) -> Any:
    """Return the derivative of expm at A in the direction E, for one matrix; Al-Mohy and Higham (2009), algorithm 6.4."""
    import scipy.linalg

    return scipy.linalg.expm_frechet(a, e, compute_expm=False, check_finite=False)


def upper_block(a: Any, e: Any) -> Any:
    """Return [[A, E], [0, A]], of which a function has the Frechet derivative L(A, E) in its upper right block."""
    top, bottom = np.concatenate([a, e], axis=-1), np.concatenate([np.zeros_like(e), a], axis=-1)
    return np.concatenate([top, bottom], axis=-2)


def expm_frechet_pullback(dz: Any, z: Any, a: Any, e: Any) -> tuple[Any, Any]:
    n = a.shape[-1]
    g = expm_frechet(dagger(upper_block(a, e)), upper_block(np.zeros_like(dz), dz))
    return g[:n, :n] + g[n:, n:], g[:n, n:]


joint(expm_frechet, expm_frechet_pullback)
linear(expm_frechet, 1)
runs_compiled(expm_frechet)
