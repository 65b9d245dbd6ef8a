"""Derivatives of ``scipy.linalg``'s factorisations, and of solving with a factor: Cholesky, LU, QR, SVD.

The formulas, and the conventions for triangles that are not read and vectors that are not unique, are those of
``matrix_factorisations``.  ``overwrite_a=True`` destroys an argument that the backward sweep needs, and is refused when
a cotangent arrives.

Source for LU: F. de Hoog, R. Anderssen and M. Lukas, "Differentiation of matrix functionals using triangular
factorization", Math. Comp. 80, 2011.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from ..errors import NoDerivative
from .kept_decompositions import is_matrix
from .matrix_factorisations import (
    cholesky_cotangent,
    onto_triangle,
    qr_cotangent,
    singular_values_cotangent,
    svd_columns_read,
    svd_cotangent,
)
from .products import hermitian as dagger
from .table import decomposes, instead, joint, takes_sequences, vjp


def refuse_overwrite(*flags: Any) -> None:
    if any(flags):
        raise NoDerivative(
            "a scipy.linalg function was called with overwrite_...=True, which destroys an argument that its "
            "derivative needs; leave overwrite_... out where a gradient is taken"
        )


def outer(z: Any, x: Any, as_vectors: bool) -> Any:
    """z x^H, for vectors or for matrices of columns."""
    return z[..., :, None] * np.conj(x)[..., None, :] if as_vectors else z @ dagger(x)


def for_columns(solve: Callable[[Any], Any], x: Any, as_vectors: bool) -> Any:
    """The solution for a right-hand side x; the vectors of a stack of equations become matrices with one column."""
    return solve(x[..., None])[..., 0] if as_vectors and np.ndim(x) > 1 else solve(x)


# Cholesky

# The other triangle of cho_factor's result is unspecified: that of the input, or zero (since SciPy 1.18 depending on
# whether the factor overwrites the input).
KEEPS_OTHER_TRIANGLE = bool(scipy.linalg.cho_factor(np.array([[2.0, 1.0], [1.0, 2.0]]))[0][1, 0])


def triangle(a: Any, lower: bool) -> Any:
    return np.tril(a) if lower else np.triu(a)


def factor_cotangent(dc: Any, c: Any, lower: bool) -> Any:
    """The cotangent of the array whose triangle has the Cholesky factor ``c``, either L or L^H."""
    dl, l = (dc, c) if lower else (dagger(dc), dagger(c))  # noqa: E741
    return onto_triangle(cholesky_cotangent(np.tril(dl), np.tril(l)), lower)


def scipy_cholesky_pullback(
    dy: Any, y: Any, a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    refuse_overwrite(overwrite_a)
    return factor_cotangent(dy, y, lower)


def cho_factor_pullback(
    dy: Any, y: Any, a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    refuse_overwrite(overwrite_a)
    g = factor_cotangent(dy[0], y[0], lower)
    keeps = KEEPS_OTHER_TRIANGLE or np.any(y[0] - triangle(y[0], lower))
    return g + dy[0] - triangle(dy[0], lower) if keeps else g


def cho_solve_pullback(
    dy: Any, y: Any, c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True
) -> tuple[Any, Any]:
    c, lower = c_and_lower[0], bool(np.all(c_and_lower[1]))  # SciPy gives a stack of flags beside a stack of factors
    z = for_columns(lambda x: scipy.linalg.cho_solve((c, lower), x), dy, np.ndim(b) == 1)
    g = -outer(z, y, np.ndim(b) == 1)
    both = g + dagger(g)
    factor = triangle(c, lower)
    return (triangle(both @ factor if lower else factor @ both, lower), None), z


vjp(scipy.linalg.cholesky, scipy_cholesky_pullback)
vjp(scipy.linalg.cho_factor, cho_factor_pullback)
joint(scipy.linalg.cho_solve, cho_solve_pullback)


# LU: P^T A = L U, and X = L^-1 P^T dA U^-1 is dL's part below the diagonal and dU's part on and above it


def lu_cotangent(dl: Any, du: Any, l: Any, u: Any) -> Any:  # noqa: E741
    """The cotangent of the product L U, L (..., m, k) with unit diagonal and U (..., k, n)."""
    m, n = l.shape[-2], u.shape[-1]
    dl, du = np.tril(dl, -1), np.triu(du)
    if m > n:  # the rows below the square part: A2 = L2 U
        g2 = dagger(np.linalg.solve(u, dagger(dl[..., n:, :])))
        g1 = lu_cotangent(dl[..., :n, :], du - dagger(l[..., n:, :]) @ g2, l[..., :n, :], u)
        return np.concatenate([g1, g2], axis=-2)
    if m < n:  # the columns beside the square part: A2 = L U2
        g2 = np.linalg.solve(dagger(l), du[..., m:])
        g1 = lu_cotangent(dl - g2 @ dagger(u[..., m:]), du[..., :m], l, u[..., :m])
        return np.concatenate([g1, g2], axis=-1)
    x = np.tril(dagger(l) @ dl, -1) + np.triu(du @ dagger(u))
    return dagger(np.linalg.solve(u, dagger(np.linalg.solve(dagger(l), x))))


def rows(a: Any, order: Any) -> Any:
    """Reorder the rows of each matrix in ``a`` by ``order`` (..., m)."""
    return np.take_along_axis(a, order[..., None], axis=-2)


def lu_pullback(
    dy: Any, y: Any, a: Any, permute_l: bool = False, overwrite_a: bool = False, check_finite: bool = True,
    p_indices: bool = False,
) -> Any:  # fmt: skip
    refuse_overwrite(overwrite_a)
    a = np.asarray(a)
    dl, du = dy[-2], dy[-1]
    l, u = y[-2], y[-1]  # noqa: E741
    dl = np.zeros_like(l) if dl is None else dl
    du = np.zeros_like(u) if du is None else du
    place = scipy.linalg.lu(a, p_indices=True)[0]  # a = (L U)[place]
    if permute_l:
        back = np.argsort(place, axis=-1)
        l, dl = rows(l, back), rows(dl, back)  # noqa: E741
    return rows(lu_cotangent(dl, du, l, u), place)


def interchanged(piv: Any, m: int) -> Any:
    """The order of ``m`` rows after LAPACK's interchanges ``piv`` (..., k)."""
    orders = np.empty((*np.shape(piv)[:-1], m), np.intp)
    orders[...] = np.arange(m)
    for order, exchanges in zip(np.reshape(orders, (-1, m)), np.reshape(piv, (-1, np.shape(piv)[-1]))):
        for i in range(len(exchanges)):
            j = exchanges[i]
            order[i], order[j] = order[j], order[i]
    return orders


def packed(lu: Any) -> tuple[Any, Any]:
    """L and U from LAPACK's packed array."""
    m, n = lu.shape[-2:]
    k = min(m, n)
    return np.tril(lu, -1)[..., :, :k] + np.eye(m, k, dtype=lu.dtype), np.triu(lu)[..., :k, :]


def lu_factor_pullback(dy: Any, y: Any, a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    dlu, (lu, piv) = dy[0], y
    l, u = packed(lu)  # noqa: E741
    k = l.shape[-1]
    back = np.argsort(interchanged(piv, lu.shape[-2]), axis=-1)
    return rows(lu_cotangent(dlu[..., :, :k], dlu[..., :k, :], l, u), back)


def lu_solve_pullback(
    dy: Any, y: Any, lu_and_piv: Any, b: Any, trans: int = 0, overwrite_b: bool = False, check_finite: bool = True
) -> tuple[Any, Any]:
    lu, piv = lu_and_piv
    as_vectors = np.ndim(b) == 1

    def solve(dy: Any, trans: int) -> Any:
        return for_columns(lambda x: scipy.linalg.lu_solve((lu, piv), x, trans), dy, as_vectors)

    if trans == 1:
        z = np.conj(solve(np.conj(dy), 0))
        g = -outer(np.conj(y), np.conj(z), as_vectors)
    elif trans == 2:
        z = solve(dy, 0)
        g = -outer(y, z, as_vectors)
    else:
        z = solve(dy, 2)
        g = -outer(z, y, as_vectors)
    g = rows(g, interchanged(piv, lu.shape[-2]))
    l, u = packed(lu)  # noqa: E741
    return (np.tril(g @ dagger(u), -1) + np.triu(dagger(l) @ g), None), z


vjp(scipy.linalg.lu, lu_pullback)
vjp(scipy.linalg.lu_factor, lu_factor_pullback)
joint(scipy.linalg.lu_solve, lu_solve_pullback)
takes_sequences(scipy.linalg.cho_solve, scipy.linalg.lu_solve)


# Orthogonal factors


def scipy_qr_pullback(
    dy: Any, y: Any, a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", pivoting: bool = False,
    check_finite: bool = True,
) -> Any:  # fmt: skip
    refuse_overwrite(overwrite_a)
    if mode == "raw":
        raise NoDerivative("scipy.linalg.qr has no derivative for mode='raw'; use 'full', 'economic' or 'r'")
    if mode == "r":
        # SciPy gives (R,) for one matrix, and R itself for a stack.
        dr, r = (dy, y) if isinstance(y, np.ndarray) else (dy[0], y[0])
        g = qr_cotangent(None, dr, scipy.linalg.qr(a, mode="economic", pivoting=pivoting)[0], r)
    else:
        g = qr_cotangent(dy[0], dy[1], y[0], y[1])
    return np.take_along_axis(g, np.argsort(y[-1], axis=-1)[..., None, :], axis=-1) if pivoting else g


def scipy_svd_pullback(
    dy: Any, y: Any, a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False,
    check_finite: bool = True, lapack_driver: str = "gesdd", *, read: Any = (None, None, None),
) -> Any:  # fmt: skip
    refuse_overwrite(overwrite_a)
    if not compute_uv:
        return singular_values_cotangent(dy, a)
    dv = None if dy[2] is None else dagger(dy[2])
    columns = svd_columns_read(read, np.shape(y[1])[-1])
    return svd_cotangent(dy[0], dy[1], dv, y[0], y[1], dagger(y[2]), columns)


def scipy_svdvals_pullback(dy: Any, y: Any, a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    refuse_overwrite(overwrite_a)
    return singular_values_cotangent(dy, a)


def svdvals_with_vectors(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    return scipy.linalg.svd(a, full_matrices=False, check_finite=check_finite)[1]


def keeps_argument(a: Any, overwrite_a: bool = False, check_finite: bool = True) -> bool:
    return is_matrix(a) and 0 not in a.shape and not overwrite_a


def values_with_vectors(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, check_finite: bool = True,
    lapack_driver: str = "gesdd",
) -> Any:  # fmt: skip
    return scipy.linalg.svd(a, full_matrices=False, check_finite=check_finite, lapack_driver=lapack_driver)[1]


def is_of_values(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, overwrite_a: bool = False, **rest: Any
) -> bool:
    return keeps_argument(a, overwrite_a) and not compute_uv


vjp(scipy.linalg.qr, scipy_qr_pullback)
vjp(scipy.linalg.svd, scipy_svd_pullback)
decomposes(scipy.linalg.svd)
vjp(scipy.linalg.svdvals, scipy_svdvals_pullback)
instead(scipy.linalg.svdvals, svdvals_with_vectors, keeps_argument)
instead(scipy.linalg.svd, values_with_vectors, is_of_values)
