"""Least squares by a QR factorisation whose triangle the backward sweep uses again.

Compiled code runs this where the program uses the solution alone, without the rank and the singular values.  The triangle
is a cache without a derivative: see ``kept_factors``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .factor_kernels import routine
from .linear_algebra import lstsq, lstsq_cotangents, outer, refuse_lost_rank
from .products import hermitian as dagger
from .table import instead, joint, linear, runs_compiled


def least_squares(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any]:
    """The solution x of ``numpy.linalg.lstsq`` for one matrix with at least as many rows as columns, and the triangle R.

    R is zero if the matrix is not of full rank by a wide margin; then x is that of NumPy, by singular values.
    """
    kind, n, limits = a.dtype.char, a.shape[1], np.finfo(a.dtype)
    qr, tau, _, _ = routine("lapack", "geqrf", kind)(a, lwork=64 * n)
    condition, _ = routine("lapack", "trcon", kind)(qr[:n])
    least = n * max(0.0 if rcond is None else rcond, limits.eps * len(a))
    if not condition > max(least, np.sqrt(limits.eps)):
        return np.linalg.lstsq(a, b, rcond)[0], np.zeros((n, n), a.dtype)
    name, turn = ("unmqr", "C") if a.dtype.kind == "c" else ("ormqr", "T")
    columns = b[:, None] if b.ndim == 1 else b
    turned = routine("lapack", name, kind)("L", turn, qr, tau, columns, lwork=64 * max(columns.shape))[0]
    x = routine("lapack", "trtrs", kind)(qr[:n], turned[:n])[0]
    return np.ascontiguousarray(np.reshape(x, (n, *b.shape[1:]))), np.triu(qr[:n])


def least_squares_pullback(dy: Any, y: Any, a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any]:
    (dx, _), (x, r) = dy, y
    if b.ndim == 1:
        x, dx, b = x[:, None], dx[:, None], b[:, None]
        da, db = solution_cotangents(dx, x, a, b, r, rcond)
        return da, db[:, 0]
    return solution_cotangents(dx, x, a, b, r, rcond)


def solution_cotangents(dx: Any, x: Any, a: Any, b: Any, r: Any, rcond: Any) -> tuple[Any, Any]:
    if r[0, 0] == 0:
        tolerance: Any = None if rcond is None or rcond < 0 else rcond
        p = np.linalg.pinv(a, rtol=tolerance)
        refuse_lost_rank(a, p, "numpy.linalg.lstsq")
        return lstsq_cotangents(dx, None, x, a, b, p)
    t = gram_by_triangle(a, dx, r)
    z = a @ t
    return outer(b - a @ x, t) - outer(z, x), z


def gram_by_triangle(a: Any, c: Any, r: Any) -> Any:
    """(A^H A)^-1 C for one matrix A = Q R."""
    trtrs = routine("lapack", "trtrs", r.dtype.char)
    return np.ascontiguousarray(trtrs(r, trtrs(r, c, trans=2)[0])[0])


def gram_by_triangle_pullback(dy: Any, y: Any, a: Any, c: Any, r: Any) -> tuple[Any, Any, None]:
    w = gram_by_triangle(a, dy, r)
    return -a @ (w @ dagger(y) + y @ dagger(w)), w, None


def is_tall(a: Any, b: Any, rcond: Any = None) -> bool:
    return a.ndim == 2 and a.shape[0] >= a.shape[1] and a.dtype == b.dtype and a.dtype.char in "fdFD"


def solution_alone(a: Any, b: Any, rcond: Any = None) -> Any:
    return least_squares(a, b, rcond)[0]


joint(least_squares, least_squares_pullback)
joint(gram_by_triangle, gram_by_triangle_pullback)
linear(gram_by_triangle, 1)
runs_compiled(least_squares, gram_by_triangle)
instead(lstsq, solution_alone, is_tall, is_first=True)
