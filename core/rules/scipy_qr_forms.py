"""Derivatives of the forms of QR in ``scipy.linalg``: RQ, products with Q, and the factors of a matrix that is changed.

Each is reduced to the cotangent of A = Q R in ``matrix_factorisations``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..errors import NoDerivative
from .matrix_factorisations import qr_cotangent
from .products import hermitian as dagger
from .scipy_factorisations import refuse_overwrite
from .table import joint, model, vjp

# RQ: with J, which reverses the order, (J A)^H = (J Q)^H (J R J)^H is a QR factorisation


def turned(x: Any, both: bool) -> Any:
    """(J x)^H, or (J x J)^H."""
    return dagger(x[..., ::-1, ::-1] if both else x[..., ::-1, :])


def rq_pullback(
    dy: Any, y: Any, a: Any, overwrite_a: bool = False, lwork: Any = None, mode: str = "full", check_finite: bool = True
) -> Any:
    refuse_overwrite(overwrite_a)
    if mode == "r":
        n, m = np.shape(a)[-1], np.shape(a)[-2]
        dr, r = (x[..., max(n - m, 0) :] for x in (dy, y))
        dq, q = None, scipy.linalg.rq(a, mode="economic")[1]
    else:
        (dr, dq), (r, q) = dy, y
    dr, dq = None if dr is None else turned(dr, True), None if dq is None else turned(dq, False)
    return dagger(qr_cotangent(dq, dr, turned(q, False), turned(r, True)))[..., ::-1, :]


vjp(scipy.linalg.rq, rq_pullback)


def qr_multiply(
    a: Any, c: Any, mode: str = "right", pivoting: bool = False, conjugate: bool = False, overwrite_a: bool = False,
    overwrite_c: bool = False,
) -> Any:  # fmt: skip
    q, *rest = scipy.linalg.qr(a, mode="economic", pivoting=pivoting)
    q = np.conj(q) if conjugate else q
    return (q @ c if mode == "left" else c @ q, *rest)


model(scipy.linalg.qr_multiply, qr_multiply)


# The factors of a matrix A = Q R after a change of A


def factors_cotangents(g: Any, Q: Any, R: Any) -> tuple[Any, Any]:
    """The cotangents of Q and R from that of their product."""
    return g @ dagger(R), dagger(Q) @ g


def qr_insert_pullback(
    dy: Any, y: Any, Q: Any, R: Any, u: Any, k: int, which: str = "row", rcond: Any = None, overwrite_qru: bool = False,
    check_finite: bool = True,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The factored matrix is Q R with ``u`` inserted before its k-th row or column."""
    if np.ndim(u) != 1:
        raise NoDerivative(
            "scipy.linalg.qr_insert has a derivative for a single row or column; insert several one by one"
        )
    g = qr_cotangent(dy[0], dy[1], y[0], y[1])
    axis = 0 if which == "row" else 1
    return *factors_cotangents(np.delete(g, k, axis), Q, R), np.take(g, k, axis)


def qr_delete_pullback(
    dy: Any, y: Any, Q: Any, R: Any, k: int, p: int = 1, which: str = "row", overwrite_qr: bool = False,
    check_finite: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """The factored matrix is Q R without ``p`` rows or columns from the k-th."""
    refuse_overwrite(overwrite_qr)
    g = qr_cotangent(dy[0], dy[1], y[0], y[1])
    axis = 0 if which == "row" else 1
    k = k + g.shape[axis] + p if k < 0 else k
    gone = np.zeros((p, g.shape[1]) if axis == 0 else (g.shape[0], p), g.dtype)
    before, after = np.split(g, [k], axis)
    return factors_cotangents(np.concatenate([before, gone, after], axis), Q, R)


def qr_update_pullback(
    dy: Any, y: Any, Q: Any, R: Any, u: Any, v: Any, overwrite_qruv: bool = False, check_finite: bool = True
) -> tuple[Any, Any, Any, Any]:
    """The factored matrix is Q R + u v^H."""
    refuse_overwrite(overwrite_qruv)
    g = qr_cotangent(dy[0], dy[1], y[0], y[1])
    return *factors_cotangents(g, Q, R), g @ v, dagger(g) @ u


joint(scipy.linalg.qr_insert, qr_insert_pullback)  # type: ignore[attr-defined]
joint(scipy.linalg.qr_delete, qr_delete_pullback)  # type: ignore[attr-defined]
joint(scipy.linalg.qr_update, qr_update_pullback)  # type: ignore[attr-defined]
