"""Derivatives of ``scipy.linalg``'s reductions by a unitary matrix: Schur and Hessenberg form, and what follows from them.

A = Z T Z^H with a change dA gives Z^H dA Z = M = dT + W T - T W, where W = Z^H dZ is skew-Hermitian.  Below the diagonal
of T (or its blocks, or its first subdiagonal, for Hessenberg form) dT is zero.  There the equation determines the lower
part of W, and only that part enters; W in turn gives dZ and dT.  A pullback solves the transposed equation once.

Vectors that are not unique.  The phases of the Schur vectors of a complex matrix are arbitrary, and so is the rotation
within a block [[a, b], [-b, a]] of the real form.  The derivative is that of parallel transport, as for eigenvectors: for
a loss that does not depend on the choice, it is the gradient.  Other blocks of the real form are standardised by LAPACK
to equal diagonal entries, and the complex Hessenberg form to real entries below the diagonal, which is differentiated.

Where there is no derivative.  Eigenvalues that are equal have no Schur vectors of their own, and a zero below the
diagonal of the Hessenberg form leaves the following columns free: an error, unless the cotangent is zero there.

Sources: G. Golub and C. Van Loan, "Matrix Computations", 4th ed., 2013, sections 7.4, 7.6 and 9.1; I. Jonsson and
B. Kagstrom, "Recursive blocked algorithms for solving triangular systems", ACM Trans. Math. Softw. 28, 2002.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.linalg._matfuncs

from ..errors import NoDerivative
from .kept_decompositions import EQUAL_EIGENVALUES, below_blocks, eigenvalues_of_real_form
from .matrix_factorisations import safe_reciprocal
from .products import hermitian as dagger
from .scipy_factorisations import refuse_overwrite
from .stacks import one_by_one
from .table import joint, model, runs_compiled, vjp

# The lower part of W


def half(t: Any) -> int:
    """The index at which ``t`` is divided into two: no block is cut."""
    k = len(t) // 2
    return k + 1 if t[k, k - 1] != 0 else k


def triangular_sylvester(a: Any, b: Any, m: Any, adjoint: bool, largest: float) -> Any:
    """The solution of X b - a X = m, or of X b^H - a^H X = m, with triangular ``a`` and ``b``."""
    (trsyl,) = scipy.linalg.get_lapack_funcs(("trsyl",), (a, b, m))
    turn = "C" if adjoint else "N"
    x, scale, info = trsyl(a, b, -m, trana=turn, tranb=turn, isgn=-1)
    if info != 0:
        if np.max(np.abs(m)) > 1e4 * np.spacing(largest):
            raise NoDerivative(EQUAL_EIGENVALUES)
        return np.zeros_like(x)
    return x / scale


def lower_turn(t: Any, m: Any) -> Any:
    """The X below the blocks of ``t`` for which X t - t X is ``m`` there, for one matrix."""
    largest = float(np.max(np.abs(m), initial=0.0))

    def solve(t: Any, m: Any) -> Any:
        x = np.zeros(m.shape, np.result_type(t, m))
        if len(t) > 1 and (k := half(t)) < len(t):
            low = triangular_sylvester(t[k:, k:], t[:k, :k], m[k:, :k], False, largest)
            x[k:, :k] = low
            x[:k, :k] = solve(t[:k, :k], m[:k, :k] + t[:k, k:] @ low)
            x[k:, k:] = solve(t[k:, k:], m[k:, k:] - low @ t[:k, k:])
        return x

    return np.where(below_blocks(t), solve(t, m), 0.0)


def lower_turn_adjoint(t: Any, m: Any) -> Any:
    """The Y below the blocks of ``t`` for which Y t^H - t^H Y is ``m`` there: the transpose of ``lower_turn``."""
    largest = float(np.max(np.abs(m), initial=0.0))

    def solve(t: Any, m: Any) -> Any:
        y = np.zeros(m.shape, np.result_type(t, m))
        if len(t) > 1 and (k := half(t)) < len(t):
            y[:k, :k] = solve(t[:k, :k], m[:k, :k])
            y[k:, k:] = solve(t[k:, k:], m[k:, k:])
            across = dagger(t[:k, k:])
            right = m[k:, :k] - y[k:, k:] @ across + across @ y[:k, :k]
            y[k:, :k] = triangular_sylvester(t[k:, k:], t[:k, :k], right, True, largest)
        return y

    return np.where(below_blocks(t), solve(t, m), 0.0)


def lower_turn_pullback(dy: Any, x: Any, t: Any, m: Any) -> tuple[Any, Any]:
    y = lower_turn_adjoint(t, np.where(below_blocks(t), dy, 0.0))
    return y @ dagger(x) - dagger(x) @ y, y


def lower_turn_adjoint_pullback(dy: Any, y: Any, t: Any, m: Any) -> tuple[Any, Any]:
    x = lower_turn(t, np.where(below_blocks(t), dy, 0.0))
    return y @ dagger(x) - dagger(x) @ y, x


joint(lower_turn, lower_turn_pullback)
joint(lower_turn_adjoint, lower_turn_adjoint_pullback)
runs_compiled(lower_turn, lower_turn_adjoint, sample=lambda t, m: np.zeros_like(t + m))


# Schur form


def turning_weights(dz: Any, dt: Any, z: Any, t: Any) -> Any:
    """The cotangent of W = Z^H dZ, of which dZ = Z W and dT = M - W T + T W are made; ``dz`` may be None."""
    g = dagger(t) @ dt - dt @ dagger(t)
    return g if dz is None else g + dagger(z) @ dz


def beside_diagonal(a: Any, k: int) -> Any:
    return np.diagonal(a, k, -2, -1)


def on_diagonal(d: Any, k: int) -> Any:
    """The matrices (..., n, n) with ``d`` (..., n - 1) on the diagonal -1, or on the main one from its (1 + k)-th entry."""
    n = d.shape[-1] + 1
    place = np.arange(n - 1)
    rows, columns = (place + 1, place) if k < 0 else (place + k, place + k)
    found = np.zeros((*d.shape[:-1], n, n), d.dtype)
    found[..., rows, columns] = d
    return found


def schur_cotangent(dt: Any, dz: Any, t: Any, z: Any) -> Any:
    """The cotangent of A = Z T Z^H, T triangular or of real blocks of two; one of ``dt``, ``dz`` may be None."""
    low = below_blocks(t)
    dt = np.zeros_like(t) if dt is None else np.where(low, 0.0, dt)
    if t.dtype.kind == "f":
        # A block [[a, b], [c, a]] is turned by w so that its diagonal entries stay equal: 2 (b + c) w is their difference
        # without that turn.
        g = turning_weights(dz, dt, z, t)
        turn = 0.5 * (beside_diagonal(g, 1) - beside_diagonal(g, -1))
        b, c = beside_diagonal(t, 1), beside_diagonal(t, -1)
        rounding = 8.0 * t.shape[-1] * np.spacing(np.max(np.abs(t), axis=(-2, -1), initial=0.0))[..., None]
        share = np.where(c != 0, turn * safe_reciprocal(b + c, rounding), 0.0)
        dt = dt + on_diagonal(share, 0) - on_diagonal(share, 1)
    g = turning_weights(dz, dt, z, t)
    return z @ (dt + lower_turn_adjoint(t, np.where(low, g - dagger(g), 0.0))) @ dagger(z)


def schur_pullback(
    dy: Any, y: Any, a: Any, output: str = "real", lwork: Any = None, overwrite_a: bool = False, sort: Any = None,
    check_finite: bool = True,
) -> tuple[Any]:  # fmt: skip
    refuse_overwrite(overwrite_a)
    return (schur_cotangent(dy[0], dy[1], y[0], y[1]),)


def rsf2csf_pullback(dy: Any, y: Any, T: Any, Z: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """T = G T' G^H is a Schur form itself, and Z' = Z G."""
    dt, dz = dy
    turn = np.linalg.solve(Z, y[1])
    through_turn = None if dz is None else dagger(Z) @ dz
    return schur_cotangent(dt, through_turn, y[0], turn), None if dz is None else dz @ dagger(turn)


# Schur form with chosen eigenvalues first: what LAPACK's ``gees`` does after it has found a form


def reordered_schur(a: Any, t: Any, z: Any, selected: Any) -> tuple[Any, Any, Any]:
    """The Schur form of A with the eigenvalues first that a mask selects in the form T = Z^H A Z, its vectors, and their number.

    T and Z are a cache, whose own derivative is zero.

    Raises:
        LinAlgError: the eigenvalues are too close to each other.
    """
    (trsen,) = scipy.linalg.get_lapack_funcs(("trsen",), (t, z))
    size = {} if np.iscomplexobj(t) else {"lwork": max(1, len(t)), "liwork": 1}
    form, vectors, *rest = trsen(selected, t, z, job="N", **size)
    if rest[-1] != 0:
        raise np.linalg.LinAlgError("Eigenvalues could not be separated for reordering.")
    return form, vectors, int(rest[-4])


def reordered_schur_pullback(dy: Any, y: Any, a: Any, t: Any, z: Any, selected: Any) -> tuple[Any, None, None, None]:
    return schur_cotangent(dy[0], dy[1], y[0], y[1]), None, None, None


joint(reordered_schur, reordered_schur_pullback)
runs_compiled(reordered_schur, sample=lambda a, t, z, selected: (t, z, 1))


def schur_with_chosen_first(a: Any, t: Any, z: Any, sort: Any, real: bool) -> tuple[Any, Any, Any]:
    """``scipy.linalg.schur`` with ``sort``, from the form T and the vectors Z in any order, for compiled code."""
    values = eigenvalues_of_real_form(t) if real else np.diagonal(t)
    if sort == "lhp":
        selected = np.real(values) < 0.0
    elif sort == "rhp":
        selected = np.real(values) >= 0.0
    elif sort == "iuc":
        selected = np.abs(values) <= 1.0
    elif sort == "ouc":
        selected = np.abs(values) > 1.0
    else:
        selected = np.zeros(len(t), bool)
        for i in range(len(t)):
            x = values[i]
            selected[i] = bool(sort(x.real, x.imag)) if real else bool(sort(x))
    return reordered_schur(a, t, z, selected)


joint(scipy.linalg.schur, one_by_one(schur_pullback, 2))
joint(scipy.linalg.rsf2csf, one_by_one(rsf2csf_pullback, 2, 2))


def parlett(F: Any, T: Any, n: int, minden: Any) -> tuple[Any, Any]:
    """f(T) for an upper triangular T, from f of its diagonal, diagonal by diagonal (Golub and Van Loan, algorithm 9.1.1)."""
    F = np.array(F)
    for p in range(1, n):
        for i in range(n - p):
            j = i + p
            s = T[i, j] * (F[j, j] - F[i, i])
            s = s + T[i, i + 1 : j] @ F[i + 1 : j, j] - F[i, i + 1 : j] @ T[i + 1 : j, j]
            den = T[j, j] - T[i, i]
            F[i, j] = s / den if den != 0.0 else s
            minden = np.minimum(minden, np.abs(den))
    return F, minden


model(scipy.linalg._matfuncs._funm_loops, parlett)


# Hessenberg form: the first column of Q is that of the identity


def hessenberg_turn_adjoint(h: Any, m: Any) -> Any:
    """The Y below the subdiagonal for which Y H^H - H^H Y is ``m`` (below the diagonal, but for its first column)."""
    n = h.shape[-1]
    y = np.zeros_like(h + m)
    rows = np.arange(n)
    hh = dagger(h)
    for j in range(n - 3, -1, -1):
        right = m[..., :, j + 1] - (y @ hh[..., :, j + 1, None])[..., 0] + (hh @ y[..., :, j + 1, None])[..., 0]
        y[..., :, j] = np.where(rows >= j + 2, right / hh[..., j, j + 1, None], 0.0)
    return y


def hessenberg_cotangent(dh: Any, dq: Any, h: Any, q: Any) -> Any:
    n = h.shape[-1]
    if n <= 2:
        return np.zeros_like(h) if dh is None else dh
    size = np.max(np.abs(h), axis=(-2, -1), initial=0.0)[..., None]
    below = beside_diagonal(h, -1)
    if np.any(np.abs(below[..., : n - 2]) <= n * np.spacing(size)):
        raise NoDerivative(
            "a Hessenberg form has no derivative here: an entry below its diagonal is zero, so that the following columns "
            "are not determined"
        )
    dh = np.zeros_like(h) if dh is None else np.triu(dh, -1)
    if h.dtype.kind == "c":
        # The entries below the diagonal stay real: each fixes the phase of the next column, and so of all that follow.
        turn = np.imag(np.diagonal(turning_weights(dq, dh, q, h), 0, -2, -1))
        following = np.cumsum(turn[..., ::-1], axis=-1)[..., -2::-1]
        dh = dh + 1j * on_diagonal(following * safe_reciprocal(np.real(below)), -1)
    g = turning_weights(dq, dh, q, h)
    return q @ (dh + hessenberg_turn_adjoint(h, np.tril(g - dagger(g), -1))) @ dagger(q)


def hessenberg_pullback(
    dy: Any, y: Any, a: Any, calc_q: bool = False, overwrite_a: bool = False, check_finite: bool = True
) -> Any:
    refuse_overwrite(overwrite_a)
    if calc_q:
        return hessenberg_cotangent(dy[0], dy[1], y[0], y[1])
    return hessenberg_cotangent(dy, None, y, scipy.linalg.hessenberg(a, calc_q=True)[1])


vjp(scipy.linalg.hessenberg, hessenberg_pullback)


# Balancing: B = D^-1 A D with a permutation and powers of two, which are constant where they are continuous


def matrix_balance_pullback(
    dy: Any, y: Any, A: Any, permute: Any = True, scale: Any = True, separate: bool = False, overwrite_a: bool = False
) -> Any:
    refuse_overwrite(overwrite_a)
    if separate:
        scaling, permutation = y[1] if len(y) == 2 else y[1:]  # typed programs have no tuples within tuples
        back = np.argsort(permutation)
        scaled = dy[0] * scaling / scaling[:, None]
        return scaled[back[:, None], back]
    d = y[1]
    inverse = np.linalg.inv(d)
    return dagger(inverse) @ dy[0] @ dagger(d)


vjp(scipy.linalg.matrix_balance, matrix_balance_pullback)
