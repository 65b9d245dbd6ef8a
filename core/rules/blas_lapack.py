"""Derivatives of wrappers in ``scipy.linalg.blas`` and ``scipy.linalg.lapack`` that Python code calls directly.

The formulas are in ``scipy_factorisations`` and ``scipy_linear_algebra``; this file maps them to the wrappers'
arguments. Vectors are taken to be contiguous, the default of ``incx`` and ``offx``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
from scipy.linalg import blas, lapack

from ..errors import NoDerivative
from .products import hermitian as dagger
from .scipy_factorisations import (
    cho_solve_pullback,
    factor_cotangent,
    lu_factor_pullback,
    lu_solve_pullback,
    triangle,
)
from .scipy_linear_algebra import solve_banded_pullback, solve_pullback, solve_triangular_pullback
from .table import joint


def each(
    module: Any, name: str, pullback: Callable[..., Any], letters: str = "sdcz", writes: tuple[str, ...] = ()
) -> None:
    """Register the wrappers of one routine, one per numeric type."""
    for letter in letters:
        joint(getattr(module, letter + name), of_real(pullback) if letter in "sd" else pullback, writes)


def of_real(pullback: Callable[..., Any]) -> Callable[..., Any]:
    """The pullback of a routine of real numbers: the wrappers take the real parts of complex arrays."""

    @wraps(pullback)
    def of_real_parts(dy: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        return pullback(dy, y, *map(real_part, args), **{name: real_part(x) for name, x in kwargs.items()})

    return of_real_parts


def real_part(x: Any) -> Any:
    return np.real(x) if np.iscomplexobj(x) else x


def refuse_strides(*given: tuple[int | None, int | None]) -> None:
    if any(value is not None and value != expected for value, expected in given):
        raise NoDerivative("a BLAS routine has a derivative for contiguous vectors only; leave out n, incx and offx")


def succeeded(info: int, routine: str) -> None:
    if info != 0:
        raise NoDerivative(f"LAPACK's {routine} failed with info={info}, so its result has no derivative")


# Vectors


def axpy_pullback(
    dz: Any, z: Any, x: Any, y: Any, n: Any = None, a: Any = 1.0, offx: int = 0, incx: int = 1, offy: int = 0,
    incy: int = 1,
) -> tuple[Any, ...]:  # fmt: skip
    refuse_strides((n, len(x)), (offx, 0), (incx, 1), (offy, 0), (incy, 1))
    return np.conj(a) * dz, dz, None, np.sum(dz * np.conj(x))


def scal_pullback(dz: Any, z: Any, a: Any, x: Any, n: Any = None, offx: int = 0, incx: int = 1) -> tuple[Any, ...]:
    refuse_strides((n, len(x)), (offx, 0), (incx, 1))
    return np.sum(dz * np.conj(x)), np.conj(a) * dz


def copy_pullback(
    dz: Any, z: Any, x: Any, y: Any, n: Any = None, offx: int = 0, incx: int = 1, offy: int = 0, incy: int = 1
) -> tuple[Any, ...]:
    refuse_strides((n, len(x)), (offx, 0), (incx, 1), (offy, 0), (incy, 1))
    return dz, None


def dot_pullback(
    dz: Any, z: Any, x: Any, y: Any, n: Any = None, offx: int = 0, incx: int = 1, offy: int = 0, incy: int = 1
) -> tuple[Any, ...]:
    refuse_strides((n, len(x)), (offx, 0), (incx, 1), (offy, 0), (incy, 1))
    return dz * np.conj(y), dz * np.conj(x)


def dotc_pullback(
    dz: Any, z: Any, x: Any, y: Any, n: Any = None, offx: int = 0, incx: int = 1, offy: int = 0, incy: int = 1
) -> tuple[Any, ...]:
    refuse_strides((n, len(x)), (offx, 0), (incx, 1), (offy, 0), (incy, 1))
    return np.conj(dz) * y, dz * x


def nrm2_pullback(dz: Any, z: Any, x: Any, n: Any = None, offx: int = 0, incx: int = 1) -> Any:
    refuse_strides((n, len(x)), (offx, 0), (incx, 1))
    return (np.zeros_like(x) if z == 0 else dz * x / z,)


def lartg_pullback(dy: Any, y: Any, f: Any, g: Any) -> tuple[Any, Any]:
    """The rotation by c, s that takes (f, g) to (r, 0)."""
    c, s, r = y
    dc, ds, dr = (0.0 if d is None else d for d in dy)
    turn = (c * ds - s * dc) / r
    return c * dr - s * turn, s * dr + c * turn


each(blas, "axpy", axpy_pullback, writes=("y",))
each(blas, "scal", scal_pullback, writes=("x",))
each(blas, "copy", copy_pullback, writes=("y",))
each(blas, "dot", dot_pullback, "sd")
each(blas, "dotu", dot_pullback, "cz")
each(blas, "dotc", dotc_pullback, "cz")
each(blas, "nrm2", nrm2_pullback, "sd")
joint([getattr(blas, name) for name in ("scnrm2", "dznrm2")], nrm2_pullback)
each(lapack, "lartg", lartg_pullback, "sd")


# Matrices


def turned(a: Any, trans: int) -> Any:
    """The matrix, its transpose or its conjugate transpose (``trans`` 0, 1, 2); each map is its own adjoint."""
    return a if trans == 0 else np.transpose(a) if trans == 1 else dagger(a)


def gemv_pullback(
    dz: Any, z: Any, alpha: Any, a: Any, x: Any, beta: Any = 0.0, y: Any = None, offx: int = 0, incx: int = 1,
    offy: int = 0, incy: int = 1, trans: int = 0, overwrite_y: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    refuse_strides((offx, 0), (incx, 1), (offy, 0), (incy, 1))
    ga, gb, gc, *rest = gemm_pullback(
        dz[:, None],
        z[:, None],
        alpha,
        a,
        np.asarray(x)[:, None],
        beta,
        None if y is None else np.asarray(y)[:, None],
        trans,
    )
    return ga, gb, gc[:, 0], rest[0], None if y is None else rest[1][:, 0]


def gemm_pullback(
    dz: Any, z: Any, alpha: Any, a: Any, b: Any, beta: Any = 0.0, c: Any = None, trans_a: int = 0, trans_b: int = 0,
    overwrite_c: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    left, right = turned(np.asarray(a), trans_a), turned(np.asarray(b), trans_b)
    ga = turned(np.conj(alpha) * dz @ dagger(right), trans_a)
    gb = turned(np.conj(alpha) * dagger(left) @ dz, trans_b)
    rest = (None, None) if c is None else (np.sum(dz * np.conj(c)), np.conj(beta) * dz)
    return np.sum(dz * np.conj(left @ right)), ga, gb, *rest


def outer_pullback(conjugate: bool) -> Callable[..., tuple[Any, ...]]:
    def pullback(
        dz: Any, z: Any, alpha: Any, x: Any, y: Any, incx: int = 1, incy: int = 1, a: Any = None, overwrite_x: int = 1,
        overwrite_y: int = 1, overwrite_a: int = 0,
    ) -> tuple[Any, ...]:  # fmt: skip
        refuse_strides((incx, 1), (incy, 1))
        row = np.conj(y) if conjugate else np.asarray(y)
        gx = np.conj(alpha) * (dz @ np.conj(row))
        gy = np.conj(alpha) * (np.transpose(dz) @ np.conj(x))
        galpha = np.sum(dz * np.conj(np.asarray(x)[:, None] * row))
        return galpha, gx, np.conj(gy) if conjugate else gy, None, None, None if a is None else dz

    return pullback


def symmetric_product_pullback(
    dz: Any, z: Any, alpha: Any, a: Any, x: Any, beta: Any = 0.0, y: Any = None, offx: int = 0, incx: int = 1,
    offy: int = 0, incy: int = 1, lower: int = 0, overwrite_y: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    refuse_strides((offx, 0), (incx, 1), (offy, 0), (incy, 1))
    read = triangle(np.asarray(a), bool(lower))
    matrix = read + np.transpose(read) - np.diag(np.diag(read))
    g = np.conj(alpha) * dz[:, None] * np.conj(x)
    both = triangle(g + np.transpose(g), bool(lower)) - np.diag(np.diag(g))
    rest = (None, None) if y is None else (np.sum(dz * np.conj(y)), np.conj(beta) * dz)
    return np.sum(dz * np.conj(matrix @ x)), both, np.conj(alpha) * (np.conj(matrix) @ dz), *rest


def symmetric_rank_pullback(
    dz: Any, z: Any, alpha: Any, x: Any, lower: int = 0, incx: int = 1, offx: int = 0, n: Any = None, a: Any = None,
    overwrite_a: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    refuse_strides((incx, 1), (offx, 0), (n, len(x)))
    g = triangle(dz, bool(lower))
    gx = alpha * ((g + np.transpose(g)) @ x)
    return np.asarray(x) @ g @ x, gx, None, None, None, None, None if a is None else dz


def symmetric_rank2_pullback(
    dz: Any, z: Any, alpha: Any, x: Any, y: Any, lower: int = 0, incx: int = 1, offx: int = 0, incy: int = 1,
    offy: int = 0, n: Any = None, a: Any = None, overwrite_a: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    refuse_strides((incx, 1), (offx, 0), (incy, 1), (offy, 0), (n, len(x)))
    g = triangle(dz, bool(lower))
    both = g + np.transpose(g)
    skipped = (None,) * 6
    return np.asarray(x) @ both @ y, alpha * (both @ y), alpha * (both @ x), *skipped, None if a is None else dz


each(blas, "gemv", gemv_pullback)
each(blas, "gemm", gemm_pullback)
each(blas, "ger", outer_pullback(False), "sd")
each(blas, "geru", outer_pullback(False), "cz")
each(blas, "gerc", outer_pullback(True), "cz")
each(blas, "symv", symmetric_product_pullback, "sd")
each(blas, "syr", symmetric_rank_pullback, "sd")
each(blas, "syr2", symmetric_rank2_pullback, "sd")


# Factors and solutions


def potrf_pullback(dy: Any, y: Any, a: Any, lower: int = 0, clean: int = 1, overwrite_a: int = 0) -> tuple[Any, ...]:
    succeeded(y[1], "potrf")
    g = factor_cotangent(triangle(dy[0], bool(lower)), triangle(y[0], bool(lower)), bool(lower))
    return (g if clean else g + dy[0] - triangle(dy[0], bool(lower)),)


def potrs_pullback(dy: Any, y: Any, c: Any, b: Any, lower: int = 0, overwrite_b: int = 0) -> tuple[Any, ...]:
    (dc, _), db = cho_solve_pullback(dy[0], y[0], (c, bool(lower)), b)
    return dc, db


def trtrs_pullback(
    dy: Any, y: Any, a: Any, b: Any, lower: int = 0, trans: int = 0, unitdiag: int = 0, lda: Any = None,
    overwrite_b: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    succeeded(y[1], "trtrs")
    return solve_triangular_pullback(dy[0], y[0], a, b, trans, bool(lower), bool(unitdiag))


def trtri_pullback(dy: Any, y: Any, c: Any, lower: int = 0, unitdiag: int = 0, overwrite_c: int = 0) -> tuple[Any, ...]:
    """The routine copies the other triangle, and a unit diagonal that it does not read, unchanged to the result."""
    succeeded(y[1], "trtri")
    kept = np.eye(len(c), dtype=bool) if unitdiag else np.zeros(np.shape(c), dtype=bool)
    inverse = triangle(np.where(kept, 1.0, y[0]), bool(lower))
    through = dy[0] - triangle(dy[0], bool(lower)) + np.where(kept, dy[0], 0.0)
    g = triangle(-dagger(inverse) @ (dy[0] - through) @ dagger(inverse), bool(lower))
    return (np.where(kept, 0.0, g) + through,)


def getrf_pullback(dy: Any, y: Any, a: Any, overwrite_a: int = 0) -> tuple[Any, ...]:
    succeeded(y[2], "getrf")
    return (lu_factor_pullback(dy[:2], y[:2], a),)


def getrs_pullback(dy: Any, y: Any, lu: Any, piv: Any, b: Any, trans: int = 0, overwrite_b: int = 0) -> tuple[Any, ...]:
    (dlu, _), db = lu_solve_pullback(dy[0], y[0], (lu, piv), b, trans)
    return dlu, None, db


def gesv_pullback(dy: Any, y: Any, a: Any, b: Any, overwrite_a: int = 0, overwrite_b: int = 0) -> tuple[Any, ...]:
    succeeded(y[3], "gesv")
    ga, gb = (0.0, None) if dy[2] is None else solve_pullback(dy[2], y[2], a, b)
    return ga if dy[0] is None else ga + lu_factor_pullback(dy[:2], y[:2], a), gb


def posv_pullback(
    dy: Any, y: Any, a: Any, b: Any, lower: int = 0, overwrite_a: int = 0, overwrite_b: int = 0
) -> tuple[Any, ...]:
    succeeded(y[2], "posv")
    ga, gb = (0.0, None) if dy[1] is None else solve_pullback(dy[1], y[1], a, b, lower=bool(lower), assume_a="pos")
    return ga if dy[0] is None else ga + potrf_pullback((dy[0], None), (y[0], 0), a, lower, 0)[0], gb


def sysv_pullback(
    dy: Any, y: Any, a: Any, b: Any, lwork: int = 0, lower: int = 0, overwrite_a: int = 0, overwrite_b: int = 0
) -> tuple[Any, ...]:
    succeeded(y[3], "sysv")
    if dy[0] is not None:
        raise NoDerivative("LAPACK's sysv has a derivative for the solution only, not for the factors")
    ga, gb = solve_pullback(dy[2], y[2], a, b, lower=bool(lower), assume_a="sym")
    return ga, gb


def gbsv_pullback(
    dy: Any, y: Any, kl: int, ku: int, ab: Any, b: Any, overwrite_ab: int = 0, overwrite_b: int = 0
) -> tuple[Any, ...]:
    """The first ``kl`` rows of ``ab`` are workspace for the fill-in of the factors."""
    succeeded(y[3], "gbsv")
    if dy[0] is not None:
        raise NoDerivative("LAPACK's gbsv has a derivative for the solution only, not for the factors")
    _, g, gb = solve_banded_pullback(dy[2], y[2], (kl, ku), np.asarray(ab)[kl:], b)
    return None, None, np.concatenate([np.zeros((kl, g.shape[1]), g.dtype), g]), gb


def gtsv_pullback(
    dy: Any, y: Any, dl: Any, d: Any, du: Any, b: Any, overwrite_dl: int = 0, overwrite_d: int = 0,
    overwrite_du: int = 0, overwrite_b: int = 0,
) -> tuple[Any, ...]:  # fmt: skip
    succeeded(y[4], "gtsv")
    if any(g is not None for g in dy[:3]):
        raise NoDerivative("LAPACK's gtsv has a derivative for the solution only, not for the factors")
    nothing = np.zeros(1)
    bands = np.stack([np.concatenate([nothing, du]), d, np.concatenate([dl, nothing])])
    _, g, gb = solve_banded_pullback(dy[3], y[3], (1, 1), bands, b)
    return g[2, :-1], g[1], g[0, 1:], gb


for _name, _pullback in (
    *(("potrf", potrf_pullback), ("potrs", potrs_pullback), ("trtrs", trtrs_pullback), ("trtri", trtri_pullback)),
    *(("getrf", getrf_pullback), ("getrs", getrs_pullback), ("gesv", gesv_pullback), ("posv", posv_pullback)),
    *(("sysv", sysv_pullback), ("gbsv", gbsv_pullback), ("gtsv", gtsv_pullback)),
):
    each(lapack, _name, _pullback)
