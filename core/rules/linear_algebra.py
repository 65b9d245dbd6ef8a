"""Derivatives of ``numpy.linalg``: equations, inverses, determinants, powers, least squares.

Each is the transpose of the differential of the equation that defines the function: A x = b gives A dx = db - dA x, so
that b receives z with A^H z = dx, and A receives -z x^H.  X^H is the conjugate transpose, the matrices may be complex,
and all of it holds for stacks.  Factorisations and norms stand in files of their own, which this one loads.

Sources: M. Giles, "Collected matrix derivative results for forward and reverse mode AD", 2008 (inverse, determinant,
equations); G. Golub and V. Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems whose
variables separate", SIAM J. Numer. Anal. 10, 1973, eq. 4.12.
"""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from ..errors import NoDerivative
from . import matrix_norms as matrix_norms
from .factor_kernels import gram_solve
from .matrix_factorisations import from_triangle, onto_triangle, singular_values_cotangent
from .products import hermitian as dagger
from .table import expansion, for_ranks, joint, linear, model, solves, takes_sequences, vjp, zero
from .transposes import scatter

# Equations


def solve_pullback(dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    if np.ndim(b) == 1:
        z = np.linalg.solve(dagger(a), dy[..., None])
        return -z * np.conj(y)[..., None, :], z[..., 0]
    z = np.linalg.solve(dagger(a), dy)
    return outer(-z, y), z


def inv_pullback(dy: Any, y: Any, a: Any) -> Any:
    return -dagger(y) @ dy @ dagger(y)


def tensorsolve_pullback(dy: Any, y: Any, a: Any, b: Any, axes: Any = None) -> tuple[Any, Any]:
    moved = [axis % np.ndim(a) for axis in (axes or ())]
    order = [axis for axis in range(np.ndim(a)) if axis not in moved] + moved
    a = np.transpose(a, order)
    n = np.size(y)
    z = np.linalg.solve(dagger(np.reshape(a, (n, n))), np.ravel(dy))
    da = np.reshape(-z[:, None] * np.conj(np.ravel(y)), a.shape)
    return np.transpose(da, [order.index(axis) for axis in range(len(order))]), np.reshape(z, np.shape(b))


def tensorinv_pullback(dy: Any, y: Any, a: Any, ind: int = 2) -> Any:
    n = int(np.prod(np.shape(a)[:ind]))
    return np.reshape(inv_pullback(np.reshape(dy, (n, n)), np.reshape(y, (n, n)), a), np.shape(a))


def matrix_product(a: Any, y: Any, b: Any) -> Any:
    return (a @ y[..., None])[..., 0] if np.ndim(b) == 1 else a @ y


def solve_vector_pullback(dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    z = np.linalg.solve(a.T, dy)
    return -z.reshape(-1, 1) * y, z


def solve_matrix_pullback(dy: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    z = np.linalg.solve(a.T, dy)
    return -z @ y.T, z


joint(np.linalg.solve, solve_pullback)
for_ranks(np.linalg.solve, {(2, 1): solve_vector_pullback, (2, 2): solve_matrix_pullback})
solves(np.linalg.solve, matrix_product)
vjp(np.linalg.inv, inv_pullback)
for_ranks(np.linalg.inv, {(2,): (lambda dy, y, a: -y.T @ dy @ y.T,)})
joint(np.linalg.tensorsolve, tensorsolve_pullback)
vjp(np.linalg.tensorinv, tensorinv_pullback)


# Determinants: d det A = det A tr(A^-1 dA), the cofactors of A where A is singular


def cofactors(a: Any) -> Any:
    """d det(a) / da, row by row from the determinants of the minors; polynomial, so exact where ``a`` is singular."""
    n = a.shape[-1]
    k = np.arange(n - 1)
    others = k + (k >= np.arange(n)[:, None])  # row i: the indices but i
    found = np.zeros_like(a)
    for i in range(n):
        minors = np.moveaxis(a[..., others[i], :][..., others], -2, -3)
        found[..., i, :] = np.linalg.det(minors) * (-1.0) ** (i + np.arange(n))
    return found


def det_pullback(dy: Any, y: Any, a: Any) -> Any:
    a = np.asarray(a)
    # A determinant that underflows is not that of a singular matrix, which its logarithm tells.
    if np.all(y != 0) or np.all(np.isfinite(np.linalg.slogdet(a)[1])):
        return np.expand_dims(dy * np.conj(y), (-2, -1)) * dagger(np.linalg.inv(a))
    return np.expand_dims(dy, (-2, -1)) * np.conj(cofactors(a))


def slogdet_pullback(dy: Any, y: Any, a: Any) -> Any:
    """The real part of tr(A^-1 dA) changes the logarithm; for complex matrices the imaginary part turns the sign."""
    dsign, dlog = dy
    trace = 0.0 if dlog is None else dlog
    if dsign is not None:
        trace = trace + 1j * np.imag(np.conj(y[0]) * dsign)
    return np.expand_dims(trace, (-2, -1)) * dagger(np.linalg.inv(a))


def det_by_series(a: Any) -> Any:
    """The determinant by its logarithm, or by products of matrices (Faddeev and LeVerrier) where ``a`` is singular."""
    if np.all(np.isfinite(np.linalg.slogdet(a)[1])):
        sign, logarithm = np.linalg.slogdet(a)  # again, so that what its series inverts is inverted here only
        return sign * np.exp(logarithm)
    n = a.shape[-1]
    unit = np.eye(n)
    c = np.ones_like(a[..., 0, 0])
    m = 0.0 * a
    for k in range(1, n + 1):
        m = a @ m + c[..., None, None] * unit
        c = -np.trace(a @ m, axis1=-2, axis2=-1) / k
    return (-1.0) ** n * c


vjp(np.linalg.det, det_pullback)
expansion(np.linalg.det, det_by_series)
vjp(np.linalg.slogdet, slogdet_pullback)


# Products and powers


def matrix_power_cotangent(dy: Any, a: Any, n: int) -> Any:
    """The cotangent of ``a`` from that of its ``n``-th power, n >= 1, by repeated squaring."""
    if n == 1:
        return dy
    if n % 2:
        rest = dagger(np.linalg.matrix_power(a, n - 1))
        return dy @ rest + matrix_power_cotangent(dagger(a) @ dy, a, n - 1)
    half = dagger(np.linalg.matrix_power(a, n // 2))
    return matrix_power_cotangent(dy @ half + half @ dy, a, n // 2)


def matrix_power_pullback(dy: Any, y: Any, a: Any, n: int) -> Any:
    n = index(n)
    if n == 0:
        return np.zeros_like(a)
    if n > 0:
        return matrix_power_cotangent(dy, a, n)
    inverse = np.linalg.inv(a)
    return inv_pullback(matrix_power_cotangent(dy, inverse, -n), inverse, a)


def multi_dot_pullback(dy: Any, y: Any, arrays: Any, *, out: Any = None) -> Any:
    first, last = np.asarray(arrays[0]), np.asarray(arrays[-1])
    left = first[None, :] if first.ndim == 1 else first
    right = last[:, None] if last.ndim == 1 else last
    chain = [left, *arrays[1:-1], right]
    dy = np.reshape(dy, (left.shape[0], right.shape[1]))
    gradients = []
    for factor, given in zip(chain, arrays):
        rest = chain[len(gradients) + 1 :]
        g = dy @ dagger(np.linalg.multi_dot(rest) if len(rest) > 1 else rest[0]) if rest else dy
        gradients = [*gradients, np.reshape(g, np.shape(given))]
        dy = dagger(factor) @ dy
    return gradients


vjp(np.linalg.matrix_power, matrix_power_pullback)
vjp(np.linalg.multi_dot, multi_dot_pullback)
takes_sequences(np.linalg.multi_dot)


# Pseudo-inverse and least squares, at points where the rank does not change


def refuse_truncation(dropped: Any, size: Any, function: str) -> None:
    """Refuse a cut-off that dropped nonzero singular values: the formulas require the matrix's own rank."""
    if np.any(dropped > np.sqrt(np.spacing(size) * size)):
        raise NoDerivative(
            f"{function} was given a tolerance that cuts off singular values that are not zero; it has a derivative only "
            "where the tolerance keeps the rank of the matrix. Lower the tolerance, or truncate with numpy.linalg.svd."
        )


def refuse_lost_rank(a: Any, p: Any, function: str) -> None:
    """Refuse a pseudo-inverse ``p`` whose tolerance cut off singular values of ``a`` that are not zero.

    Of a matrix that is close to singular, A - A P A is not small either; the trace of P A is the number of values that were kept.
    """
    size = np.max(np.abs(a), initial=0.0)
    product = p @ a
    if np.max(np.abs(a - a @ product), initial=0.0) > np.sqrt(np.spacing(size) * size):
        s = np.linalg.svdvals(a)
        rank = np.rint(np.real(np.trace(product, axis1=-2, axis2=-1)))
        refuse_truncation(np.where(np.arange(s.shape[-1]) < rank[..., None], 0.0, s), np.max(s, initial=0.0), function)


def pinv_cotangent(dy: Any, p: Any, a: Any) -> Any:
    """dP = -P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P (Golub and Pereyra, eq. 4.12), transposed."""
    ph, gh = dagger(p), dagger(dy)
    through = product_of_three(gh, p, ph)
    across = product_of_three(ph, p, gh)
    return (through - a @ (p @ through)) + (across - product_of_three(across, p, a)) - product_of_three(ph, dy, ph)


def product_of_three(x: Any, y: Any, z: Any) -> Any:
    """x y z, multiplied in the order that takes fewer operations."""
    m, k, l, n = x.shape[-2], x.shape[-1], y.shape[-1], z.shape[-1]  # noqa: E741
    return (x @ y) @ z if m * l * (k + n) <= k * n * (l + m) else x @ (y @ z)


def pinv_pullback(dy: Any, y: Any, a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    a = np.asarray(a)
    whole = from_triangle(a, True) if hermitian else a
    refuse_lost_rank(whole, y, "numpy.linalg.pinv")
    g = pinv_cotangent(dy, y, whole)
    return onto_triangle(g, True) if hermitian else g


def lstsq_cotangents(dx: Any, dresiduals: Any, x: Any, a: Any, b: Any, p: Any) -> tuple[Any, Any]:
    """The cotangents of ``a`` and ``b`` for x = P b, computed without forming the cotangent of P."""
    r = b - a @ x
    da, db = 0.0, 0.0
    if dx is not None:
        z = dagger(p) @ dx
        da = -z @ dagger(x) + r @ dagger(p @ z) + (dagger(p) @ x) @ dagger(dx - dagger(a) @ z)
        db = z
    if dresiduals is not None:
        da, db = da - 2 * (r * dresiduals) @ dagger(x), db + 2 * r * dresiduals
    return da, db


def full_rank_cotangents(dx: Any, dresiduals: Any, x: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """``lstsq_cotangents`` for full column rank, without the pseudo-inverse: P^H dx = A (A^H A)^-1 dx."""
    r = b - a @ x
    da, db = np.zeros_like(a), np.zeros_like(b)
    if dx is not None:
        t = gram_solve(a, dx)
        z = a @ t
        da, db = da + outer(r, t) - outer(z, x), db + z
    if dresiduals is not None:
        da, db = da - 2 * (r * dresiduals) @ dagger(x), db + 2 * r * dresiduals
    return da, db


def outer(z: Any, x: Any) -> Any:
    """z x^H; a single column is multiplied without a call of BLAS."""
    return z * dagger(x) if z.shape[-1] == 1 else z @ dagger(x)


def lstsq_pullback(dy: Any, y: Any, a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any]:
    a, b = np.asarray(a), np.asarray(b)
    dx, dresiduals, _, ds = dy
    x, residuals, rank, s = y
    refuse_truncation(s[rank:], np.max(s, initial=0.0), "numpy.linalg.lstsq")
    if b.ndim == 1:
        x, dx = x[:, None], None if dx is None else dx[:, None]
    columns = b[:, None] if b.ndim == 1 else b
    tolerance: Any = None if rcond is None or rcond < 0 else rcond
    dresiduals = None if residuals.size == 0 else dresiduals
    if a.shape[0] >= a.shape[1] and rank == a.shape[1]:
        da, db = full_rank_cotangents(dx, dresiduals, x, a, columns)
    else:
        da, db = lstsq_cotangents(dx, dresiduals, x, a, columns, np.linalg.pinv(a, rtol=tolerance))
    if ds is not None:
        da = da + singular_values_cotangent(ds, a)
    return da + np.zeros_like(a), np.reshape(db + np.zeros_like(columns), b.shape)


def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, ...]:
    """``np.linalg.lstsq`` with residuals of one shape for every rank: zeros where NumPy gives none."""
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond)
    if np.shape(a)[0] > np.shape(a)[1] and not residuals.size:
        residuals = np.zeros(np.shape(x)[1:] or (1,), s.dtype)
    return x, residuals, rank, s


vjp(np.linalg.pinv, pinv_pullback)
joint(np.linalg.lstsq, lstsq_pullback)
joint(lstsq, lstsq_pullback)
zero(np.linalg.matrix_rank)


# The diagonal of each matrix in a stack


def diagonal_pullback(dy: Any, y: Any, x: Any, *, offset: int = 0) -> Any:
    place = np.arange(np.shape(y)[-1])
    rows, columns = place + max(-offset, 0), place + max(offset, 0)
    return scatter(dy, (..., rows, columns), np.shape(x), unique=True)


vjp(np.linalg.diagonal, diagonal_pullback)


# The compiled solvers, which the array API's solve calls directly

model(np.linalg._umath_linalg.solve, lambda a, b, *, signature=None: np.linalg.solve(a, b))  # type: ignore[attr-defined]
model(  # a stack of vectors
    np.linalg._umath_linalg.solve1,  # type: ignore[attr-defined]
    lambda a, b, *, signature=None: np.linalg.solve(a, np.expand_dims(b, -1))[..., 0],
)


linear(np.linalg.solve, 1)
linear(np.linalg.diagonal)
