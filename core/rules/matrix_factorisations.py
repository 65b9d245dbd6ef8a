"""Derivatives of ``numpy.linalg``'s factorisations: Cholesky, QR, eigenvalues, singular values.

Written for A = f(factors), the differential of each factor follows from that of A; a pullback is its transpose. For the
real inner product <X, Y> = Re tr(X^H Y), with X^H the conjugate transpose, everything below holds for complex matrices
as well as for real ones, and for stacks of matrices.

Triangles that are read.  ``cholesky``, ``eigh`` and ``eigvalsh`` read one triangle of their argument as a Hermitian
matrix.  The gradient is that of this function of the array: zero in the triangle that is not read, and the sum of both
contributions of an off-diagonal pair in the entry that is read.  For a loss of A = B + B^T it is the usual one.

Vectors that are not unique.  Eigenvectors have an arbitrary sign (or phase), and within the eigenspace of a repeated
eigenvalue an arbitrary rotation; so have singular vectors, and the added columns of ``svd(full_matrices=True)`` and
``qr(mode="complete")``.  The derivative is that of parallel transport: vectors do not rotate within the arbitrary
subspace, v^H dv = 0.  For a loss that does not depend on the choice, this is the gradient.  ``eig`` is an exception:
LAPACK fixes the phase (unit length, largest component real), and the derivative is that of LAPACK's choice.

Repeated values. The reciprocal of a difference of eigenvalues is taken as zero if the difference is zero to rounding.
So losses of the eigenvalues, or of the projector onto a whole eigenspace, have a finite and correct gradient. A loss
that weighs eigenvectors of one eigenspace by functions of their eigenvalues, v @ diag(f(lam)) @ v^H, has further terms:
the limits f'(lam) of the divided differences (Daleckii and Krein). They are second derivatives of the loss, in an
eigenvalue and an eigenvector, which a pullback does not receive. On a tape, ``repeated_values`` of ``eager`` adds the terms;
typed programs find them by rotations of the vectors (``equal_values``). Equal singular values are treated in the same way, except that the
rotation of U relative to V, which is that of U @ V^H, is determined.

Sources: M. Giles, "Collected matrix derivative results for forward and reverse mode AD", 2008; I. Murray,
"Differentiation of the Cholesky decomposition", arXiv:1602.07527; M. Seeger et al., "Auto-differentiating linear
algebra", arXiv:1710.08717; S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions with
application in optimum experimental design", 2010; D. Roberts and L. Roberts, "QR and LQ decomposition matrix
backpropagation algorithms", arXiv:2009.10071; Z.-Q. Wan and S.-X. Zhang, "AD for complex valued SVD", arXiv:1909.02659.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import NoDerivative
from .factor_kernels import cholesky_adjoint, half_lower
from .products import hermitian as dagger
from .table import as_complex, decomposes, real_or_complex, vjp, zero

SMALL_ORDER = 8
"""Compiled programs handle smaller matrices in loops, and NumPy stacks of them, in less time than by a call for each."""


def diagonal_matrix(d: Any) -> Any:
    """The matrices with the last axis of ``d`` on their diagonal."""
    return np.where(np.eye(d.shape[-1], dtype=bool), d[..., None, :], 0.0)


def with_real_diagonal(a: Any) -> Any:
    """``a`` without the imaginary parts of its diagonal."""
    return np.where(np.eye(a.shape[-1], dtype=bool), np.real(a), a) if a.dtype.kind == "c" else a


def onto_triangle(g: Any, lower: bool) -> Any:
    """The cotangent of an array of which one triangle is read, from that of the Hermitian matrix that it represents."""
    found = np.tril(g) + dagger(np.triu(g, 1)) if lower else np.triu(g) + dagger(np.tril(g, -1))
    return with_real_diagonal(found)


def from_triangle(a: Any, lower: bool) -> Any:
    """The Hermitian matrix that one triangle of ``a`` represents."""
    found = np.tril(a) + dagger(np.tril(a, -1)) if lower else np.triu(a) + dagger(np.triu(a, 1))
    return with_real_diagonal(found)


def from_upper(m: Any) -> Any:
    """The Hermitian matrix with the upper triangle of ``m``."""
    return from_triangle(m, False)


def safe_reciprocal(d: Any, tolerance: Any = 0.0) -> Any:
    """1/d, and zero where ``d`` is not above ``tolerance`` in size."""
    small = np.abs(d) <= tolerance
    return np.where(small, 0.0, 1.0 / np.where(small, 1.0, d))


def resolution(s: Any) -> Any:
    """The size below which a difference of the eigenvalues or singular values ``s`` (..., n) is rounding: (..., 1)."""
    return 8.0 * s.shape[-1] * np.spacing(np.max(np.abs(s), axis=-1, keepdims=True, initial=0.0))


def reciprocal_gaps(s: Any) -> Any:
    """F with F_ij = 1 / (s_j - s_i), zero where the two are equal to rounding."""
    return safe_reciprocal(s[..., None, :] - s[..., :, None], resolution(s)[..., None])


def in_one_space(s: Any) -> Any:
    """A mask (..., n, n) of the pairs of distinct vectors whose values are equal to rounding."""
    same = np.abs(s[..., None, :] - s[..., :, None]) <= resolution(s)[..., None]
    return same & ~np.eye(s.shape[-1], dtype=bool)


def has_equal(s: Any) -> Any:
    """Whether two of the sorted values ``s`` are equal to rounding, which are neighbours."""
    return np.any(np.abs(np.diff(s, axis=-1)) <= resolution(s))


def needs_limits(y: Any) -> Any:
    """Whether the result of a decomposition into values and vectors has equal values, or singular values that are zero."""
    values = y[0] if len(y) == 2 else y[1]
    return has_equal(values) or len(y) == 3 and np.any(values <= resolution(values))


def columns_read(*masks: Any) -> Any:
    """A mask of the columns in which the loss reads an entry of some result; None if unknown."""
    if any(m is None for m in masks):
        return None
    found = False
    for m in masks:
        found = found | np.any(m, axis=tuple(range(m.ndim - 1)))
    return found


def weighs(ds: Any, s: Any, m: Any, read: Any = None) -> Any:
    """Whether a loss seems to weigh vectors of one space by functions of their values; ``m`` is V^H dV.

    Where a function of the values is zero (e.g. at the zero matrix), zero cotangents do not show whether the loss
    depends on the vectors: it counts if it reads (``read``) such columns.
    """
    mixed = np.abs(m + dagger(m)) > 1e4 * np.spacing(np.max(np.abs(m), axis=(-2, -1), keepdims=True, initial=0.0))
    size = np.max(np.abs(ds), axis=-1, keepdims=True, initial=0.0)[..., None]
    apart = np.abs(ds[..., None, :] - ds[..., :, None]) > 1e4 * np.spacing(size)
    seen = mixed | apart
    if read is not None:
        nothing = (ds[..., None, :] == 0) & (ds[..., :, None] == 0) & (m == 0) & (dagger(m) == 0)
        seen = seen | (nothing & (read[:, None] & read))
    return np.any(in_one_space(s) & seen)


def refuse_weighed(ds: Any, s: Any, m: Any, name: str, read: Any = None) -> None:
    """Refuse a loss that seems to weigh vectors of one space by functions of their values."""
    if weighs(ds, s, m, read):
        raise NoDerivative(name + " met equal values" + WEIGHED)


WEIGHED = (
    ", and the loss uses both the values and their vectors, which compiled code cannot differentiate. Differentiate "
    "it outside of mo.jit; or use scipy.linalg.sqrtm, expm, logm or polar; or, where only the values are needed, "
    "compute them with eigvalsh or svdvals"
)


def without_complement(du: Any, u: Any, k: int) -> tuple[Any, Any]:
    """The first ``k`` columns of the unitary ``u`` and their cotangent, which includes that of the other columns.

    The columns span the complement, so that dU2 = -U1 dU1^H U2.
    """
    if u.shape[-1] == k:
        return u, du
    if du is None:
        return u[..., :k], None
    u1, u2 = u[..., :k], u[..., k:]
    return u1, du[..., :k] - u2 @ dagger(du[..., k:]) @ u1


# Cholesky: A = L L^H, dL = L Phi(L^-1 dA L^-H), Phi the lower triangle with half the diagonal (Murray, eq. 8)


def cholesky_cotangent(dl: Any, l: Any) -> Any:  # noqa: E741
    """The cotangent of the Hermitian A = L L^H."""
    if np.ndim(l) == 2 and l.shape[-1] > SMALL_ORDER:
        return cholesky_adjoint(dl, l)
    phi = half_lower(dagger(l) @ dl)
    inverse = np.linalg.inv(l)
    return dagger(inverse) @ phi @ inverse


def cholesky_pullback(dy: Any, y: Any, a: Any, *, upper: bool = False) -> Any:
    if upper:
        return onto_triangle(cholesky_cotangent(dagger(dy), dagger(y)), False)
    return onto_triangle(cholesky_cotangent(dy, y), True)


vjp(np.linalg.cholesky, cholesky_pullback)


# QR (Roberts and Roberts, section 3; Walter and Lehmann, section 4; the diagonal of R is real)


def qr_square_cotangent(dq: Any, dr: Any, q: Any, r: Any) -> Any:
    """The cotangent of A = Q R for square R and Q with orthonormal columns; ``dq`` may be None."""
    size = np.max(np.abs(r), axis=(-2, -1), initial=0.0)[..., None]
    if np.any(np.abs(np.diagonal(r, axis1=-2, axis2=-1)) <= r.shape[-1] * np.spacing(size)):
        raise NoDerivative(
            "a QR factorisation has no derivative here: the columns of the matrix (the first ones, if there are more than rows) are "
            "linearly dependent"
        )
    m = np.triu(dr) @ dagger(r)
    if dq is not None:
        m = m - dagger(q) @ dq
    g = q @ from_upper(m)
    if dq is not None:
        g = g + dq
    return dagger(np.linalg.solve(r, dagger(g)))


def qr_cotangent(dq: Any, dr: Any, q: Any, r: Any) -> Any:
    """The cotangent of A = Q R, A of shape (..., m, n) with n columns in ``r``; ``dq`` or ``dr`` may be None."""
    k, n = min(q.shape[-2], r.shape[-1]), r.shape[-1]
    q, dq = without_complement(dq, q, k)
    r = r[..., :k, :]
    dr = np.zeros_like(r) if dr is None else dr[..., :k, :]
    if k == n:
        return qr_square_cotangent(dq, dr, q, r)
    r2, dr2 = r[..., k:], dr[..., k:]  # Q^H A2 = R2 for the columns A2 beyond the square part
    through_q = q @ r2 @ dagger(dr2)
    dq = through_q if dq is None else dq + through_q
    square = qr_square_cotangent(dq, dr[..., :k], q, r[..., :k])
    return np.concatenate([square, q @ dr2], axis=-1)


def qr_pullback(dy: Any, y: Any, a: Any, mode: str = "reduced") -> Any:
    if mode == "r":
        return qr_cotangent(None, dy, np.linalg.qr(a)[0], y)
    if mode in ("reduced", "complete"):
        return qr_cotangent(dy[0], dy[1], y[0], y[1])
    raise NoDerivative(f"numpy.linalg.qr has no derivative for mode={mode!r}; use 'reduced', 'complete' or 'r'")


vjp(np.linalg.qr, qr_pullback)


# Hermitian eigenvalues: A = V diag(lam) V^H, dV = V (F o V^H dA V), dlam = diag(V^H dA V) (Giles, section 3.1)


def eigh_cotangent(dlam: Any, dv: Any, lam: Any, v: Any) -> Any:
    """The cotangent of the Hermitian matrix with eigenvalues ``lam`` and eigenvectors ``v``; one may be None."""
    if dv is None:
        return (v * dlam[..., None, :]) @ dagger(v)
    middle = reciprocal_gaps(lam) * (dagger(v) @ dv)
    if dlam is not None:
        middle = np.where(np.eye(lam.shape[-1], dtype=bool), dlam[..., None, :], middle)
    return v @ middle @ dagger(v)


def eigh_pullback(dy: Any, y: Any, a: Any, UPLO: str = "L", *, read: Any = (None, None)) -> Any:
    if dy[0] is not None and dy[1] is not None and has_equal(y[0]):
        refuse_weighed(dy[0], y[0], dagger(y[1]) @ dy[1], "numpy.linalg.eigh", columns_read(*read))
    return onto_triangle(eigh_cotangent(dy[0], dy[1], y[0], y[1]), UPLO in ("L", "l"))


def eigvalsh_pullback(dy: Any, y: Any, a: Any, UPLO: Any = "L") -> Any:
    v = np.linalg.eigh(a, UPLO)[1]
    return onto_triangle((v * dy[..., None, :]) @ dagger(v), UPLO in ("L", "l"))


vjp(np.linalg.eigh, eigh_pullback)
vjp(np.linalg.eigvalsh, eigvalsh_pullback)


# General eigenvalues: A = V diag(lam) V^-1, dV = V (F o V^-1 dA V) before the columns are scaled


def before_scaling(dv: Any, v: Any) -> Any:
    """The cotangent of eigenvectors before LAPACK's ``geev`` scales them to length one with the largest component real."""
    if v.dtype.kind == "c":
        row = np.argmax(np.where(np.imag(v) == 0, np.abs(v), -1.0), axis=-2)
        real_row = np.arange(v.shape[-2])[:, None] == row[..., None, :]
        pivot = np.sum(np.where(real_row, np.real(v), 0.0), axis=-2, keepdims=True)
        turn = np.imag(np.sum(np.conj(v) * dv, axis=-2, keepdims=True)) / pivot
        dv = dv - np.where(real_row, 1j * turn, 0.0)
    return dv - v * np.real(np.sum(np.conj(v) * dv, axis=-2, keepdims=True))


def eig_cotangent(dlam: Any, dv: Any, lam: Any, v: Any) -> Any:
    """The cotangent of the matrix with eigenvalues ``lam`` and eigenvectors ``v``; one cotangent may be None."""
    middle = 0.0 if dlam is None else diagonal_matrix(dlam)
    if dv is not None and v.shape[-1]:
        middle = middle + np.conj(reciprocal_gaps(lam)) * (dagger(v) @ before_scaling(dv, v))
    return np.linalg.solve(dagger(v), middle @ dagger(v))


def eig_in_complex(a: Any) -> Any:
    w, v = np.linalg.eig(a)
    return as_complex(w), as_complex(v), not np.iscomplexobj(w)


def in_the_order_of(lam: Any, y: Any) -> Any:
    """W with W_ij = 1 where y_i is lam_j, shared by equal ones: without vectors LAPACK may order values differently."""
    distance = np.abs(y[..., :, None] - lam[..., None, :])
    nearest = np.min(distance, axis=-1, keepdims=True, initial=np.inf)
    same = np.where(distance <= nearest + resolution(lam)[..., None], 1.0, 0.0)
    return same / np.sum(same, axis=-1, keepdims=True)


def eigvals_cotangent(dy: Any, y: Any, a: Any) -> Any:
    lam, v, _ = eig_in_complex(a)
    return eig_cotangent((dy[..., None, :] @ in_the_order_of(lam, y))[..., 0, :], None, lam, v)


vjp(np.linalg.eig, lambda dy, y, a: eig_cotangent(dy[0], dy[1], y[0], y[1]))
vjp(np.linalg.eigvals, eigvals_cotangent)


def eigvals_in_complex(a: Any) -> Any:
    w = np.linalg.eigvals(a)
    return as_complex(w), not np.iscomplexobj(w)


real_or_complex(np.linalg.eig, eig_in_complex, lambda dy, y, a: (eig_cotangent(dy[0], dy[1], y[0], y[1]),))
real_or_complex(np.linalg.eigvals, eigvals_in_complex, lambda dy, y, a: (eigvals_cotangent(dy[0], y[0], a),))


# Singular values: A = U diag(s) V^H (Wan and Zhang, eqs. 8 to 12; the phase that U and V share is split evenly)


def svd_columns_read(read: Any, k: int) -> Any:
    """A mask of the triples (u, s, v) that a loss reads, from their masks; None if it reads no s or no vectors."""
    u, s, vh = read
    if s is None or u is None and vh is None:
        return None
    masks = [m[..., :k] for m in (u, s, None if vh is None else np.swapaxes(vh, -1, -2)) if m is not None]
    return columns_read(*masks)


def refuse_zeros(s: Any, u: Any, v: Any, read: Any) -> None:
    """Refuse a loss of values and vectors if a value is zero, for rectangular or complex matrices."""
    if u.shape[-2] > s.shape[-1] or v.shape[-2] > s.shape[-1] or u.dtype.kind == "c":
        if np.any((s <= resolution(s)) & read):
            raise NoDerivative("a singular value decomposition met values of zero" + WEIGHED)


def svd_cotangent(du: Any, ds: Any, dv: Any, u: Any, s: Any, v: Any, read: Any = None) -> Any:
    """The cotangent of U diag(s) V^H, any of the three cotangents None; u (..., m, k or m), v (..., n, k or n).

    ``read``: the columns of these that the loss reads, if known.
    """
    k = s.shape[-1]
    if read is not None:
        refuse_zeros(s, u, v, read)
    u, du = without_complement(du, u, k)
    v, dv = without_complement(dv, v, k)
    if du is None and dv is None:
        return (u * ds[..., None, :]) @ dagger(v)
    if ds is not None and has_equal(s):
        for x, dx in ((u, du), (v, dv)):
            if dx is not None:
                refuse_weighed(ds, s, dagger(x) @ dx, "a singular value decomposition", read)
    tolerance = resolution(s)
    s_inverse = safe_reciprocal(s, tolerance)
    middle = 0.0 if ds is None else diagonal_matrix(ds)
    turn, outside = 0.0, 0.0
    together, against = 0.0, 0.0  # rotations of U and V: common, and relative
    if du is not None:
        m = dagger(u) @ du
        together, against = 0.5 * (m - dagger(m)), 0.5 * (m - dagger(m))
        turn = turn + np.imag(np.diagonal(m, axis1=-2, axis2=-1))
        if u.shape[-2] > k:
            outside = outside + ((du - u @ m) * s_inverse[..., None, :]) @ dagger(v)
    if dv is not None:
        m = dagger(v) @ dv
        together, against = together + 0.5 * (m - dagger(m)), against - 0.5 * (m - dagger(m))
        turn = turn - np.imag(np.diagonal(m, axis1=-2, axis2=-1))
        if v.shape[-2] > k:
            outside = outside + (u * s_inverse[..., None, :]) @ dagger(dv - v @ m)
    sums = safe_reciprocal(s[..., None, :] + s[..., :, None], tolerance[..., None])
    off = together * reciprocal_gaps(s) + against * sums
    middle = middle + np.where(np.eye(k, dtype=bool), 0.0, off)
    if u.dtype.kind == "c":
        middle = middle + diagonal_matrix(0.5j * turn * s_inverse)
    return u @ middle @ dagger(v) + outside


def hermitian_svd_cotangent(du: Any, ds: Any, dv: Any, u: Any, s: Any, v: Any) -> Any:
    """``svd_cotangent`` for a Hermitian matrix: U holds its eigenvectors, and V = U sign(lam)."""
    sign = np.sign(np.real(np.sum(np.conj(u) * v, axis=-2)))
    if dv is not None:
        du = dv * sign[..., None, :] + (0.0 if du is None else du)
    if ds is not None and du is not None:
        refuse_weighed(ds * sign, s * sign, dagger(u) @ du, "a singular value decomposition")
    return eigh_cotangent(None if ds is None else ds * sign, du, s * sign, u)


def singular_values_cotangent(ds: Any, a: Any, hermitian: bool = False) -> Any:
    """The cotangent of ``a`` from that of its singular values."""
    u, _, vh = np.linalg.svd(a, full_matrices=False, hermitian=hermitian)
    g = (u * ds[..., None, :]) @ vh
    return onto_triangle(g, True) if hermitian else g


def svd_pullback(
    dy: Any, y: Any, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False,
    *, read: Any = (None, None, None),
) -> Any:  # fmt: skip
    if not compute_uv:
        return singular_values_cotangent(dy, a, hermitian)
    dv = None if dy[2] is None else dagger(dy[2])
    if hermitian:
        return onto_triangle(hermitian_svd_cotangent(dy[0], dy[1], dv, y[0], y[1], dagger(y[2])), True)
    columns = svd_columns_read(read, np.shape(y[1])[-1])
    return svd_cotangent(dy[0], dy[1], dv, y[0], y[1], dagger(y[2]), columns)


vjp(np.linalg.svd, svd_pullback)
decomposes(np.linalg.eigh, np.linalg.svd)
zero(needs_limits)
vjp(np.linalg.svdvals, lambda dy, y, x: singular_values_cotangent(dy, x))
