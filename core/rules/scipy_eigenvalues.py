"""Derivatives of ``scipy.linalg``'s eigenvalues: Hermitian, generalised, tridiagonal, banded, general, left and right.

What is said of vectors that are not unique, and of repeated values, in ``matrix_factorisations`` holds here.  The vectors of
a generalised problem A v = lam B v with general matrices have length one and an arbitrary phase: their derivative is that of
parallel transport, v^H dv = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..errors import NoDerivative
from .kept_decompositions import is_matrix
from .matrix_factorisations import (
    columns_read,
    diagonal_matrix,
    eig_cotangent,
    eigvals_cotangent,
    from_triangle,
    in_the_order_of,
    onto_triangle,
    reciprocal_gaps,
    refuse_weighed,
    resolution,
    safe_reciprocal,
)
from .products import hermitian as dagger
from .scipy_factorisations import refuse_overwrite
from .scipy_linear_algebra import band
from .stacks import one_by_one
from .table import as_complex, decomposes, instead, joint, real_or_complex

# Eigenvalues: A v = lam B v with V^H B V = 1, so that dlam = v^H (dA - lam dB) v


def generalised_eigh_cotangents(dlam: Any, dv: Any, lam: Any, v: Any, all_lam: Any, all_v: Any) -> tuple[Any, Any]:
    """The cotangents of A and of B from those of some eigenvalues and eigenvectors, given with all of them."""
    ga, gb = 0.0, 0.0
    if dlam is not None:
        ga = (v * dlam[..., None, :]) @ dagger(v)
        gb = -(v * (dlam * lam)[..., None, :]) @ dagger(v)
    if dv is not None:
        gaps = safe_reciprocal(lam[..., None, :] - all_lam[..., :, None], resolution(all_lam)[..., None])
        w = dagger(all_v) @ dv
        ga = ga + all_v @ (gaps * w) @ dagger(v)
        # Within an eigenspace only the scale is determined, by v^H B v = 1.
        gb = gb - all_v @ (gaps * w * lam[..., None, :] + np.where(gaps == 0, 0.5 * w, 0.0)) @ dagger(v)
    return ga, gb


def scipy_eigh_pullback(
    dy: Any, y: Any, a: Any, b: Any = None, *, lower: bool = True, eigvals_only: bool = False, overwrite_a: bool = False,
    overwrite_b: bool = False, type: int = 1, check_finite: bool = True, subset_by_index: Any = None,
    subset_by_value: Any = None, driver: Any = None, read: Any = (None, None),
) -> tuple[Any, Any]:  # fmt: skip
    refuse_overwrite(overwrite_a, overwrite_b)
    a = np.asarray(a)
    if b is not None and type != 1:
        return other_type_cotangents(
            dy, y, a, np.asarray(b), type, lower, eigvals_only, subset_by_index, subset_by_value
        )
    if eigvals_only:
        dlam, dv = dy, None
        lam, v = scipy.linalg.eigh(
            a, b, lower=lower, subset_by_index=subset_by_index, subset_by_value=subset_by_value, driver=driver
        )
    else:
        (dlam, dv), (lam, v) = dy, y
    partial = dv is not None and lam.shape[-1] < a.shape[-1]
    all_lam, all_v = scipy.linalg.eigh(a, b, lower=lower) if partial else (lam, v)
    if dlam is not None and dv is not None and not partial:
        refuse_weighed(dlam, lam, dagger(v) @ dv, "scipy.linalg.eigh", columns_read(*read))
    ga, gb = generalised_eigh_cotangents(dlam, dv, lam, v, all_lam, all_v)
    return onto_triangle(ga, lower), None if b is None else onto_triangle(gb, lower)


def other_type_cotangents(
    dy: Any, y: Any, a: Any, b: Any, type: int, lower: bool, eigvals_only: bool, by_index: Any, by_value: Any
) -> tuple[Any, Any]:
    """A B v = lam v (type 2) and B A v = lam v (type 3), by C = B^-1: A w = lam C w with w^H C w = 1, w = B v or v."""
    whole = from_triangle(b, lower)
    c = np.linalg.inv(whole)
    dlam, dv = (dy, None) if eigvals_only else dy
    if eigvals_only:
        lam, v = scipy.linalg.eigh(a, b, lower=lower, type=type, subset_by_index=by_index, subset_by_value=by_value)
    else:
        lam, v = y
    all_lam, all_v = lam, v
    if dv is not None and lam.shape[-1] < a.shape[-1]:
        all_lam, all_v = scipy.linalg.eigh(a, b, lower=lower, type=type)
    w, all_w = (whole @ v, whole @ all_v) if type == 2 else (v, all_v)
    dw = c @ dv if dv is not None and type == 2 else dv
    ga, gc = generalised_eigh_cotangents(dlam, dw, lam, w, all_lam, all_w)
    if dv is not None and type == 2:  # v = C w
        gc = gc + 0.5 * (dv @ dagger(w) + w @ dagger(dv))
    return onto_triangle(ga, lower), onto_triangle(-c @ gc @ c, lower)


def scipy_eigvalsh_pullback(
    dy: Any, y: Any, a: Any, b: Any = None, *, lower: bool = True, overwrite_a: bool = False, overwrite_b: bool = False,
    type: int = 1, check_finite: bool = True, subset_by_index: Any = None, subset_by_value: Any = None,
    driver: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    return scipy_eigh_pullback(
        dy, y, a, b, lower=lower, eigvals_only=True, overwrite_a=overwrite_a, overwrite_b=overwrite_b, type=type,
        subset_by_index=subset_by_index, subset_by_value=subset_by_value, driver=driver,
    )  # fmt: skip


def eigvalsh_with_vectors(
    a: Any, b: Any = None, *, lower: bool = True, check_finite: bool = True, **options: Any
) -> Any:
    return scipy.linalg.eigh(a, lower=lower, check_finite=check_finite)[0]


def is_whole(a: Any, b: Any = None, **options: Any) -> bool:
    """Whether a call is for all eigenvalues of a Hermitian matrix, without further options."""
    return is_matrix(a) and b is None and options.keys() <= {"lower", "check_finite"}


def tridiagonal_cotangents(g: Any) -> tuple[Any, Any]:
    return np.diagonal(g), np.diagonal(g, 1) + np.diagonal(g, -1)


def eigh_tridiagonal_pullback(
    dy: Any, y: Any, d: Any, e: Any, eigvals_only: bool = False, select: str = "a", select_range: Any = None,
    check_finite: bool = True, tol: float = 0.0, lapack_driver: str = "auto",
) -> tuple[Any, Any]:  # fmt: skip
    if eigvals_only:
        return eigvalsh_tridiagonal_pullback(dy, y, d, e, select, select_range)
    lam, v = y
    partial = dy[1] is not None and lam.shape[-1] < v.shape[0]
    all_lam, all_v = scipy.linalg.eigh_tridiagonal(d, e) if partial else (lam, v)
    return tridiagonal_cotangents(generalised_eigh_cotangents(dy[0], dy[1], lam, v, all_lam, all_v)[0])


def eigvalsh_tridiagonal_pullback(
    dy: Any, y: Any, d: Any, e: Any, select: str = "a", select_range: Any = None, check_finite: bool = True,
    tol: float = 0.0, lapack_driver: str = "auto",
) -> tuple[Any, Any]:  # fmt: skip
    v = scipy.linalg.eigh_tridiagonal(d, e, select=select, select_range=select_range)[1]
    return tridiagonal_cotangents((v * dy) @ dagger(v))


# Hermitian matrices in band storage


def onto_band(g: Any, a_band: Any, lower: bool) -> Any:
    """The cotangent of the diagonals that represent a Hermitian matrix, from the matrix's."""
    diagonal = 0 if lower else a_band.shape[0] - 1
    row, inside = band(a_band, diagonal)
    at = g[row, np.arange(a_band.shape[1])]
    both = (g + dagger(g))[row, np.arange(a_band.shape[1])]
    on_diagonal = np.arange(a_band.shape[0])[:, None] == diagonal
    return np.where(inside, np.where(on_diagonal, np.real(at), both), 0.0)


def eig_banded_pullback(
    dy: Any, y: Any, a_band: Any, lower: bool = False, eigvals_only: bool = False, overwrite_a_band: bool = False,
    select: str = "a", select_range: Any = None, max_ev: int = 0, check_finite: bool = True,
) -> tuple[Any, ...]:  # fmt: skip
    refuse_overwrite(overwrite_a_band)
    a_band = np.asarray(a_band)
    if eigvals_only:
        dlam, dv = dy, None
        lam, v = scipy.linalg.eig_banded(a_band, lower, select=select, select_range=select_range, max_ev=max_ev)
    else:
        (dlam, dv), (lam, v) = dy, y
    partial = dv is not None and lam.shape[-1] < v.shape[0]
    all_lam, all_v = scipy.linalg.eig_banded(a_band, lower) if partial else (lam, v)
    return (onto_band(generalised_eigh_cotangents(dlam, dv, lam, v, all_lam, all_v)[0], a_band, lower),)


def eigvals_banded_pullback(
    dy: Any, y: Any, a_band: Any, lower: bool = False, overwrite_a_band: bool = False, select: str = "a",
    select_range: Any = None, check_finite: bool = True,
) -> tuple[Any, ...]:  # fmt: skip
    return eig_banded_pullback(dy, y, a_band, lower, True, overwrite_a_band, select, select_range)


joint(scipy.linalg.eig_banded, one_by_one(eig_banded_pullback, 2))
joint(scipy.linalg.eigvals_banded, one_by_one(eigvals_banded_pullback, 2))


# General matrices: with (B V)^-1 (dA V - dB V diag(lam)) = K, dlam is K's diagonal and dV = V (F o K), before scaling


def generalised_eig_cotangents(dlam: Any, dv: Any, lam: Any, v: Any, b: Any) -> tuple[Any, Any]:
    """The cotangents of A and B from those of all eigenvalues and vectors of length one; either may be None."""
    if not np.all(np.isfinite(lam)):
        raise NoDerivative(
            "scipy.linalg.eig met infinite eigenvalues: the second matrix is singular, and they have no derivative"
        )
    middle = 0.0 if dlam is None else diagonal_matrix(dlam)
    if dv is not None:
        across = dv - v * np.sum(np.conj(v) * dv, axis=-2, keepdims=True)
        middle = middle + np.conj(reciprocal_gaps(lam)) * (dagger(v) @ across)
    left = np.linalg.solve(dagger(b @ v), middle)
    return left @ dagger(v), -left @ dagger(v * lam[..., None, :])


def refuse_generalised(b: Any, left: bool, homogeneous: bool) -> None:
    if homogeneous or (left and b is not None):
        raise NoDerivative(
            "scipy.linalg.eig has no derivative with homogeneous_eigvals=True, nor for left eigenvectors with b=; those are the "
            "right ones of the conjugate transposes"
        )


def scipy_eig_pullback(
    dy: Any, y: Any, a: Any, b: Any = None, left: bool = False, right: bool = True, overwrite_a: bool = False,
    overwrite_b: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    refuse_overwrite(overwrite_a, overwrite_b)
    refuse_generalised(b, left, homogeneous_eigvals)
    if not (left or right):
        return scipy_eigvals_pullback(dy, y, a, b)
    if b is not None:
        return generalised_eig_cotangents(dy[0], dy[1], y[0], y[1], np.asarray(b))
    if not left:
        return eig_cotangent(dy[0], dy[1], y[0], y[1]), None
    # The left eigenvectors are the right ones of A^H, for the conjugate eigenvalues.
    g = 0.0
    if dy[1] is not None:
        g = dagger(eig_cotangent(None, dy[1], np.conj(y[0]), y[1]))
    if right and not (dy[0] is None and dy[2] is None):
        g = g + eig_cotangent(dy[0], dy[2], y[0], y[2])
    elif not right and dy[0] is not None:
        g = g + eigvals_cotangent(dy[0], y[0], a)
    return g, None


def scipy_eigvals_pullback(
    dy: Any, y: Any, a: Any, b: Any = None, overwrite_a: bool = False, check_finite: bool = True,
    homogeneous_eigvals: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    refuse_overwrite(overwrite_a)
    refuse_generalised(b, False, homogeneous_eigvals)
    if b is None:
        return eigvals_cotangent(dy, y, a), None
    lam, v, _ = eig_in_complex(a, b)
    dlam = (dy[..., None, :] @ in_the_order_of(lam, y))[..., 0, :]
    return generalised_eig_cotangents(dlam, None, lam, v, np.asarray(b))


joint(scipy.linalg.eigh, scipy_eigh_pullback)
decomposes(scipy.linalg.eigh)
joint(scipy.linalg.eigvalsh, scipy_eigvalsh_pullback)
instead(scipy.linalg.eigvalsh, eigvalsh_with_vectors, is_whole)
joint(scipy.linalg.eigh_tridiagonal, one_by_one(eigh_tridiagonal_pullback, 1, 1))
joint(scipy.linalg.eigvalsh_tridiagonal, one_by_one(eigvalsh_tridiagonal_pullback, 1, 1))
joint(scipy.linalg.eig, scipy_eig_pullback)
joint(scipy.linalg.eigvals, scipy_eigvals_pullback)


def eig_in_complex(
    a: Any, b: Any = None, left: bool = False, right: bool = True, overwrite_a: bool = False, overwrite_b: bool = False,
    check_finite: bool = True, homogeneous_eigvals: bool = False,
) -> Any:  # fmt: skip
    """The eigenvalues, which SciPy returns as complex numbers, and the eigenvectors, which are real if all eigenvalues are."""
    found: Any = scipy.linalg.eig(a, b, left, right, False, False, check_finite, homogeneous_eigvals)
    lam, vectors = (found[0], found[1:]) if left or right else (found, ())
    return lam, *map(as_complex, vectors), not any(map(np.iscomplexobj, vectors))


def eig_in_complex_pullback(
    dy: Any, y: Any, a: Any, b: Any = None, left: bool = False, right: bool = True, overwrite_a: bool = False,
    overwrite_b: bool = False, check_finite: bool = True, homogeneous_eigvals: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    dy, y = (x[:-1] if left or right else x[0] for x in (dy, y))
    return scipy_eig_pullback(dy, y, a, b, left, right, homogeneous_eigvals=homogeneous_eigvals)


real_or_complex(scipy.linalg.eig, eig_in_complex, eig_in_complex_pullback, always_complex=1)
