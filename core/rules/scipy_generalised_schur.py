"""Derivatives of the generalised Schur form of a pair of matrices, ``scipy.linalg.qz`` and ``ordqz``.

A = Q S Z^H and B = Q T Z^H with triangular S and T give, for changes of A and B,

    Q^H dA Z = dS + V S - S W,    Q^H dB Z = dT + V T - T W,    V = Q^H dQ,    W = Z^H dZ.

As for the Schur form of one matrix (``scipy_schur``), dS and dT are zero below the diagonal or its blocks, where both
equations determine the lower parts of V and W.  The diagonal of T is real, which fixes the phases of Q relative to those of
Z; the phase that they share is arbitrary, and is not turned.  In a real block of two, LAPACK makes T diagonal, and scales alpha and beta by
an arbitrary number, which is held constant.

Source: B. Kagstrom and L. Westin, "Generalized Schur methods with condition estimators for solving the generalized Sylvester
equation", IEEE Trans. Autom. Control 34, 1989.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..errors import NoDerivative
from .kept_decompositions import EQUAL_PAIRS
from .matrix_factorisations import safe_reciprocal
from .products import hermitian as dagger
from .scipy_factorisations import refuse_overwrite
from .scipy_schur import below_blocks, beside_diagonal, half, on_diagonal
from .stacks import one_by_one
from .table import joint, runs_compiled


def coupled_sylvester(a: Any, b: Any, c: Any, d: Any, m: Any, k: Any, adjoint: bool) -> tuple[Any, Any]:
    """X, W with X b - a W = m and X d - c W = k; ``adjoint``: X, W with X b^H + W d^H = m and a^H X + c^H W = -k."""
    if np.result_type(a, m, k).kind == "c":  # SciPy has LAPACK's solver for real matrices only
        return by_columns_adjoint(a, b, c, d, m, k) if adjoint else by_columns(a, b, c, d, m, k)
    (tgsyl,) = scipy.linalg.get_lapack_funcs(("tgsyl",), (a, b, c, d, m, k))
    if adjoint:
        x, w, scale, _, info = tgsyl(a, b, -k, c, d, -m, trans="T")
    else:
        w, x, scale, _, info = tgsyl(a, b, -m, c, d, -k)
    if info != 0:
        raise NoDerivative(EQUAL_PAIRS)
    return x / scale, w / scale


def column_solver(a: Any, c: Any, b_jj: Any, d_jj: Any) -> Any:
    """The triangular b_jj c - d_jj a, which is singular if the j-th eigenvalue of (b, d) is one of (a, c)."""
    e = b_jj * c - d_jj * a
    if np.any(np.abs(np.diagonal(e)) <= 8.0 * len(e) * np.spacing(np.max(np.abs(b_jj * c)) + np.max(np.abs(d_jj * a)))):
        raise NoDerivative(EQUAL_PAIRS)
    return e


def by_columns(a: Any, b: Any, c: Any, d: Any, m: Any, k: Any) -> tuple[Any, Any]:
    x, w = np.zeros_like(m + k), np.zeros_like(m + k)
    for j in range(len(b)):
        m_j, k_j = m[:, j] - x[:, :j] @ b[:j, j], k[:, j] - x[:, :j] @ d[:j, j]
        w[:, j] = scipy.linalg.solve_triangular(column_solver(a, c, b[j, j], d[j, j]), d[j, j] * m_j - b[j, j] * k_j)
        by_first = np.abs(b[j, j]) >= np.abs(d[j, j])
        x[:, j] = (m_j + a @ w[:, j]) / b[j, j] if by_first else (k_j + c @ w[:, j]) / d[j, j]
    return x, w


def by_columns_adjoint(a: Any, b: Any, c: Any, d: Any, m: Any, k: Any) -> tuple[Any, Any]:
    x, w = np.zeros_like(m + k), np.zeros_like(m + k)
    bh, dh = np.conj(b), np.conj(d)
    for j in range(len(b) - 1, -1, -1):
        e = column_solver(a, c, b[j, j], d[j, j])
        m_j = m[:, j] - x[:, j + 1 :] @ bh[j, j + 1 :] - w[:, j + 1 :] @ dh[j, j + 1 :]
        x[:, j] = scipy.linalg.solve_triangular(e, dh[j, j] * k[:, j] + dagger(c) @ m_j, "C")
        w[:, j] = scipy.linalg.solve_triangular(e, -bh[j, j] * k[:, j] - dagger(a) @ m_j, "C")
    return x, w


def lower_turns(s: Any, t: Any, m: Any, k: Any) -> tuple[Any, Any]:
    """X and W below the blocks of ``s`` for which X s - s W is ``m`` and X t - t W is ``k`` there."""
    x, w = np.zeros_like(m + k), np.zeros_like(m + k)
    if len(s) > 1 and (i := half(s)) < len(s):
        low, turn = coupled_sylvester(s[i:, i:], s[:i, :i], t[i:, i:], t[:i, :i], m[i:, :i], k[i:, :i], False)
        x[i:, :i], w[i:, :i] = low, turn
        right = m[:i, :i] + s[:i, i:] @ turn, k[:i, :i] + t[:i, i:] @ turn
        x[:i, :i], w[:i, :i] = lower_turns(s[:i, :i], t[:i, :i], *right)
        right = m[i:, i:] - low @ s[:i, i:], k[i:, i:] - low @ t[:i, i:]
        x[i:, i:], w[i:, i:] = lower_turns(s[i:, i:], t[i:, i:], *right)
    low = below_blocks(s)
    return np.where(low, x, 0.0), np.where(low, w, 0.0)


def lower_turns_adjoint(s: Any, t: Any, m: Any, k: Any) -> tuple[Any, Any]:
    """X and W below the blocks for which X s^H + W t^H is ``m`` and s^H X + t^H W is ``-k`` there: the transpose."""
    x, w = np.zeros_like(m + k), np.zeros_like(m + k)
    if len(s) > 1 and (i := half(s)) < len(s):
        x[:i, :i], w[:i, :i] = lower_turns_adjoint(s[:i, :i], t[:i, :i], m[:i, :i], k[:i, :i])
        x[i:, i:], w[i:, i:] = lower_turns_adjoint(s[i:, i:], t[i:, i:], m[i:, i:], k[i:, i:])
        s_across, t_across = dagger(s[:i, i:]), dagger(t[:i, i:])
        right = (
            m[i:, :i] - x[i:, i:] @ s_across - w[i:, i:] @ t_across,
            k[i:, :i] + s_across @ x[:i, :i] + t_across @ w[:i, :i],
        )
        x[i:, :i], w[i:, :i] = coupled_sylvester(s[i:, i:], s[:i, :i], t[i:, i:], t[:i, :i], *right, True)
    low = below_blocks(s)
    return np.where(low, x, 0.0), np.where(low, w, 0.0)


def lower_turns_pullback(dy: Any, y: Any, s: Any, t: Any, m: Any, k: Any) -> tuple[Any, ...]:
    (x, w), low = y, below_blocks(s)
    dx, dw = (np.zeros_like(x) if d is None else np.where(low, d, 0.0) for d in dy)
    p, q = lower_turns_adjoint(s, t, dx, dw)
    return p @ dagger(w) - dagger(x) @ p, q @ dagger(w) - dagger(x) @ q, p, q


def lower_turns_adjoint_pullback(dy: Any, y: Any, s: Any, t: Any, m: Any, k: Any) -> tuple[Any, ...]:
    (p, q), low = y, below_blocks(s)
    dp, dq = (np.zeros_like(p) if d is None else np.where(low, d, 0.0) for d in dy)
    x, w = lower_turns(s, t, dp, dq)
    return p @ dagger(w) - dagger(x) @ p, q @ dagger(w) - dagger(x) @ q, x, w


joint(lower_turns, lower_turns_pullback)
joint(lower_turns_adjoint, lower_turns_adjoint_pullback)
runs_compiled(lower_turns, lower_turns_adjoint, sample=lambda s, t, m, k: (np.zeros_like(s + m), np.zeros_like(s + m)))


def pair_weights(ds: Any, dt: Any, dq: Any, dz: Any, s: Any, t: Any, q: Any, z: Any) -> tuple[Any, Any]:
    """The cotangents of V = Q^H dQ and W = Z^H dZ, of which dS = M - V S + S W and dT are made."""
    v = -(ds @ dagger(s) + dt @ dagger(t))
    w = dagger(s) @ ds + dagger(t) @ dt
    return v if dq is None else v + dagger(q) @ dq, w if dz is None else w + dagger(z) @ dz


def difference_beside(g: Any) -> Any:
    return beside_diagonal(g, -1) - beside_diagonal(g, 1)


def turns_within_blocks(v: Any, w: Any, s: Any, t: Any) -> Any:
    """What the cotangent of T gains from the turns v and w of each block [[t1, 0], [0, t2]], which keep it diagonal.

    The entries off the diagonal stay zero: n12 + v t2 - t1 w = 0 and n21 - v t1 + t2 w = 0.
    """
    dv, dw = difference_beside(v), difference_beside(w)
    t1, t2 = np.diagonal(t)[:-1], np.diagonal(t)[1:]
    in_block = beside_diagonal(s, -1) != 0
    scale = np.where(
        in_block, safe_reciprocal(t1 * t1 - t2 * t2, 8.0 * len(t) * np.spacing(np.max(np.abs(t)) ** 2)), 0.0
    )
    # v = (t1 n21 + t2 n12) / (t1^2 - t2^2), w = (t2 n21 + t1 n12) / (t1^2 - t2^2)
    n21, n12 = (t1 * dv + t2 * dw) * scale, (t2 * dv + t1 * dw) * scale
    return on_diagonal(n21, -1) + dagger(on_diagonal(n12, -1))


def qz_cotangents(ds: Any, dt: Any, dq: Any, dz: Any, s: Any, t: Any, q: Any, z: Any) -> tuple[Any, Any]:
    """The cotangents of A = Q S Z^H and B = Q T Z^H; any of the four given may be None."""
    low = below_blocks(s)
    ds = np.zeros_like(s) if ds is None else np.where(low, 0.0, ds)
    dt = np.zeros_like(t) if dt is None else np.triu(dt)
    v, w = pair_weights(ds, dt, dq, dz, s, t, q, z)
    if s.dtype.kind == "f":
        blocks = on_diagonal((beside_diagonal(s, -1) != 0) * 1.0, -1)
        dt = np.where((blocks + blocks.T) != 0, 0.0, dt)
        v, w = pair_weights(ds, dt, dq, dz, s, t, q, z)
        dt = dt + turns_within_blocks(v, w, s, t)
    else:
        # The diagonal of dT stays real: v - w is its imaginary part over T's diagonal; the sum of both is not turned.
        turn = 0.5 * np.imag(np.diagonal(v - w))
        dt = dt + np.diag(1j * turn * safe_reciprocal(np.real(np.diagonal(t))))
    v, w = pair_weights(ds, dt, dq, dz, s, t, q, z)
    p, r = lower_turns_adjoint(s, t, np.where(low, v - dagger(v), 0.0), np.where(low, w - dagger(w), 0.0))
    return q @ (ds + p) @ dagger(z), q @ (dt + r) @ dagger(z)


def qz_pullback(
    dy: Any, y: Any, A: Any, B: Any, output: str = "real", lwork: Any = None, sort: Any = None, overwrite_a: bool = False,
    overwrite_b: bool = False, check_finite: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    refuse_overwrite(overwrite_a, overwrite_b)
    return qz_cotangents(*dy, *y)


def values_cotangents(dalpha: Any, dbeta: Any, alpha: Any, beta: Any, s: Any, t: Any) -> tuple[Any, Any]:
    """What the cotangents of S and T gain from alpha and beta, whose ratios are the eigenvalues; either may be None.

    They are the diagonals of S and T, but in a real block of two.  LAPACK scales those of a block by a number that is not a smooth function:
    it is held constant, so that beta is and alpha = lam beta.  For the eigenvalue lam of T^-1 S = M, dlam = w^T (dS - lam dT) z / (w^T T z).
    """
    dalpha = np.zeros_like(alpha) if dalpha is None else dalpha
    dbeta = np.zeros_like(beta) if dbeta is None else dbeta
    if s.dtype.kind == "c":
        return np.diag(dalpha), np.diag(dbeta)
    if len(s) == 1:
        return np.real(dalpha)[:, None], dbeta[:, None]
    in_block = beside_diagonal(s, -1) != 0
    none = np.zeros_like(in_block[:1])
    is_single = ~(np.concatenate([in_block, none]) | np.concatenate([none, in_block]))
    of_first = beta[:-1] * dalpha[:-1] + beta[1:] * np.conj(
        dalpha[1:]
    )  # of the eigenvalue with positive imaginary part
    t1, t2 = (np.where(in_block, x, 1.0) for x in (np.diagonal(t)[:-1], np.diagonal(t)[1:]))
    m21, m12 = beside_diagonal(s, -1) / t2, beside_diagonal(s, 1) / t1
    lam = np.where(in_block, alpha[:-1] / np.where(in_block, beta[:-1], 1.0), 0.0)
    rest = lam - np.diagonal(s)[:-1] / t1
    weight = np.where(in_block, of_first * np.conj(safe_reciprocal(m21 * m12 + rest * rest)), 0.0)
    w1, w2, z1, z2 = (np.conj(x) for x in (m21 / t1, rest / t2, m12, rest))
    entries = [np.real(weight * w * z) for w, z in ((w1, z1), (w2, z2), (w2, z1), (w1, z2))]
    with_lam = [np.real(weight * np.conj(lam) * w * z) for w, z in ((w1, z1), (w2, z2))]
    single_s, single_t = np.diag(np.where(is_single, np.real(dalpha), 0.0)), np.diag(np.where(is_single, dbeta, 0.0))
    ds = on_diagonal(entries[0], 0) + on_diagonal(entries[1], 1) + on_diagonal(entries[2], -1)
    ds = ds + dagger(on_diagonal(entries[3], -1))
    return single_s + ds, single_t - on_diagonal(with_lam[0], 0) - on_diagonal(with_lam[1], 1)


def ordqz_pullback(
    dy: Any, y: Any, A: Any, B: Any, sort: Any = "lhp", output: str = "real", overwrite_a: bool = False,
    overwrite_b: bool = False, check_finite: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    refuse_overwrite(overwrite_a, overwrite_b)
    ds, dt, dalpha, dbeta, dq, dz = dy
    s, t, alpha, beta, q, z = y
    if dalpha is not None or dbeta is not None:
        more_s, more_t = values_cotangents(dalpha, dbeta, alpha, beta, s, t)
        ds, dt = more_s if ds is None else ds + more_s, more_t if dt is None else dt + more_t
    return qz_cotangents(ds, dt, dq, dz, s, t, q, z)


joint(scipy.linalg.qz, one_by_one(qz_pullback, 2, 2))
joint(scipy.linalg.ordqz, one_by_one(ordqz_pullback, 2, 2))
