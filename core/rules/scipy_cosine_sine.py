"""The cosine-sine decomposition ``scipy.linalg.cossin`` and its derivative.

A unitary X of four blocks is diag(U1, U2) S diag(V1, V2)^H, where S consists of the cosines and sines of angles theta.  Changes of a
unitary X are X K with K^H = -K.  In the basis V = diag(V1, V2), let K11, K12, K22 be the blocks of V^H K V.  The blocks are first given the
same size: an identity in S counts as an angle of 0 or pi/2, and the columns that it lacks in the other factors have zero entries in K.
From the differential of X V = U S,

    dtheta = -diag(H) / 2,                      H = K12 + K12^H,    N = K12 - K12^H,
    A1 + A2 = -H / sin(theta_j - theta_i),      B1 + B2 = -(K11 + K22) - H cot(theta_j - theta_i),
    A1 - A2 = -N / sin(theta_j + theta_i),      B1 - B2 = -(K11 - K22) - N cot(theta_j + theta_i)

entry by entry, where A1 = U1^H dU1, B1 = V1^H dV1, and so on.  A denominator of zero belongs to vectors that are not unique.  The phases of
complex vectors (i = j) and rotations of several vectors of one identity are always arbitrary: as for other vectors
(``matrix_factorisations``), the derivative is that of parallel transport, the least change.  Where angles are equal, 0 or pi/2, further
rotations are; there a loss that depends on them is refused.

The gradient is the one that is itself tangent to the unitary matrices.

Source: C. Van Loan, "Computing the CS and the generalized singular value decompositions", Numer. Math. 46, 1985, for the decomposition, which
consists of the singular value decompositions of the blocks.  The differential follows as that of these.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..errors import NoDerivative
from .matrix_factorisations import diagonal_matrix, safe_reciprocal, weighs
from .products import hermitian as dagger
from .table import joint, model, runs_compiled

NOT_UNITARY = (
    "scipy.linalg.cossin has a derivative only for unitary matrices, which X is not: X^H X is not the identity"
)
CHOICE = (
    "scipy.linalg.cossin has no derivative here: angles are equal, 0 or pi/2, and the loss depends on the choice of their vectors, which are "
    "not unique. Use products that do not depend on it, such as projectors, or the angles only"
)


def skew(a: Any) -> Any:
    return 0.5 * (a - dagger(a))


def identities(m: int, p: int, q: int) -> tuple[int, int, int, int, int]:
    """The number of angles, and the sizes of the identities in the blocks 11, 12, 21 and 22 of S."""
    r = min(p, q, m - p, m - q)
    return r, min(p, q) - r, min(p, m - q) - r, min(m - p, q) - r, min(m - p, m - q) - r


def factors(x: Any, p: int, q: int, swap_sign: bool = False) -> Any:
    """U1, U2, theta, V1^H and V2^H of each matrix in ``x`` (..., m, m)."""
    m = x.shape[-1]
    if x.ndim == 2:
        (u1, u2), theta, (v1h, v2h) = scipy.linalg.cossin(x, p, q, separate=True, swap_sign=swap_sign)
        return u1, u2, theta, v1h, v2h
    found = [factors(a, p, q, swap_sign) for a in np.reshape(x, (-1, m, m))]
    return tuple(np.reshape(np.stack(part), (*x.shape[:-2], *part[0].shape)) for part in zip(*found))


def sample(x: Any, p: int, q: int, swap_sign: bool = False) -> Any:
    return factors(np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape), p, q)


def places(m: int, p: int, q: int) -> tuple[Any, Any, Any, Any]:
    """For each column of U1, U2, V1 and V2 its place among all angles: theta, then those of the identities 11, 12, 21 and 22."""
    r, n11, n12, n21, n22 = identities(m, p, q)
    at = np.arange(r + n11 + n12 + n21 + n22)
    own, i11, i12 = at[:r], at[r : r + n11], at[r + n11 : r + n11 + n12]
    i21, i22 = at[r + n11 + n12 : r + n11 + n12 + n21], at[r + n11 + n12 + n21 :]
    orders = (i11, own, i12), (i22, own, i21), (i11, own, i21), (i22, own, i12)
    u1, u2, v1, v2 = map(np.concatenate, orders)
    return u1, u2, v1, v2


def spread(a: Any, rows: Any, columns: Any, size: int) -> Any:
    """``a`` (..., n, k) with its rows and columns at these places of a matrix of ``size`` rows, which is zero elsewhere."""
    row, column = np.full(size, len(rows)), np.full(size, len(columns))
    row[rows], column[columns] = np.arange(len(rows)), np.arange(len(columns))
    padded = np.pad(a, [(0, 0)] * (a.ndim - 2) + [(0, 1), (0, 1)])
    return padded[..., row[:, None], column]


def differences_and_sums(theta: Any) -> tuple[Any, Any]:
    """theta_j - theta_i and theta_j + theta_i."""
    return theta[..., None, :] - theta[..., :, None], theta[..., None, :] + theta[..., :, None]


def near_zero(angle: Any, tolerance: Any) -> Any:
    return np.abs(np.sin(angle)) <= tolerance


def taken(a: Any, rows: Any, columns: Any) -> Any:
    return a[..., rows[:, None], columns]


def depends_on_choice(
    dtheta: Any, weights: Any, together: Any, opposite: Any, theta: Any, r: int, tolerance: Any
) -> Any:
    """Whether the loss depends on turns of vectors that are not unique, or may weigh such vectors by functions of their angles.

    ``together`` and ``opposite`` are the weights of turns that keep X where angles are equal, and where their sum is 0 or pi.
    """
    difference, total = differences_and_sums(theta)
    own = np.arange(theta.shape[-1]) < r
    is_single = np.eye(len(own), dtype=bool)
    is_free = own[:, None] | own
    is_equal, is_opposite = (
        near_zero(difference, tolerance) & is_free & ~is_single,
        near_zero(total, tolerance) & is_free,
    )
    limit = 1e5 * np.spacing(np.max(sum(np.abs(w) for w in weights), axis=(-2, -1), keepdims=True, initial=0.0))
    depends = np.any(is_equal & (np.abs(together) > limit)) | np.any(is_opposite & (np.abs(opposite) > limit))
    if dtheta is None:
        return depends
    # The cotangent of a sine does not show at an angle of 0 whether the loss weighs vectors by it.
    several = is_opposite & ~is_single if weights[0].dtype.kind == "f" else is_opposite
    hermitian: Any = sum(np.abs(w + dagger(w)) for w in weights)
    return depends | np.any(several) | weighs(dtheta, theta[..., :r], hermitian[..., :r, :r])


def pullback(dy: Any, y: Any, x: Any, p: int, q: int, swap_sign: bool = False) -> tuple[Any]:
    u1, u2, theta, v1h, v2h = y
    m, r = x.shape[-1], theta.shape[-1]
    if np.any(np.abs(dagger(x) @ x - np.eye(m, dtype=x.dtype)) > np.sqrt(np.finfo(x.dtype).eps)):
        raise NoDerivative(NOT_UNITARY)
    _, n11, n12, n21, n22 = identities(m, p, q)
    angles = np.concatenate([np.zeros(n11), np.full(n12 + n21, 0.5 * np.pi), np.zeros(n22)]).astype(theta.dtype)
    theta = np.concatenate([theta, np.broadcast_to(angles, (*theta.shape[:-1], len(angles)))], axis=-1)
    size, at = theta.shape[-1], places(m, p, q)
    # The weights of the turns A1, A2, B1 and B2 in the loss.
    turns = [(u1, dy[0]), (u2, dy[1]), (dagger(v1h), dagger_of(dy[3])), (dagger(v2h), dagger_of(dy[4]))]
    weights = [
        np.zeros((*x.shape[:-2], size, size), x.dtype) if dw is None else spread(dagger(w) @ dw, place, place, size)
        for (w, dw), place in zip(turns, at)
    ]
    a1, a2, b1, b2 = map(skew, weights)
    difference, total = differences_and_sums(theta)
    tolerance = 8 * m * np.finfo(theta.dtype).eps
    is_equal, is_sum_zero = near_zero(difference, tolerance), near_zero(total, tolerance)
    sign = np.sign(np.cos(total))
    a_plus, a_minus, b_plus, b_minus = 0.5 * (a1 + a2), 0.5 * (a1 - a2), 0.5 * (b1 + b2), 0.5 * (b1 - b2)
    if any(dw is not None for _, dw in turns):
        if depends_on_choice(dy[2], weights, a_plus + b_plus, a_minus + sign * b_minus, theta, r, tolerance):
            raise NoDerivative(CHOICE)
    h = -safe_reciprocal(np.sin(difference), tolerance) * (a_plus + np.cos(difference) * b_plus)
    n = -safe_reciprocal(np.sin(total), tolerance) * (a_minus + np.cos(total) * b_minus)
    k_sum = np.where(is_equal, 0.5 * (a_plus - b_plus), -b_plus)
    k_difference = np.where(is_sum_zero, 0.5 * (sign * a_minus - b_minus), -b_minus)
    if dy[2] is not None:
        beyond = [(0, 0)] * (theta.ndim - 1) + [(0, size - r)]
        h = h - 0.5 * diagonal_matrix(np.pad(dy[2], beyond))
    k12 = taken(h + n, at[2], at[3])
    k12 = -k12 if swap_sign else k12
    k11, k22 = taken(k_sum + k_difference, at[2], at[2]), taken(k_sum - k_difference, at[3], at[3])
    k1 = np.concatenate([k11 @ v1h, k12 @ v2h], axis=-1)
    k2 = np.concatenate([-dagger(k12) @ v1h, k22 @ v2h], axis=-1)
    return (x @ np.concatenate([dagger(v1h) @ k1, dagger(v2h) @ k2], axis=-2),)


def dagger_of(a: Any) -> Any:
    return None if a is None else dagger(a)


joint(factors, pullback)
runs_compiled(factors, sample=sample)


# The function in terms of the factors


def diagonal_blocks(a: Any, b: Any) -> Any:
    across = np.zeros((*a.shape[:-1], b.shape[-1]), a.dtype)
    below = np.zeros((*b.shape[:-1], a.shape[-1]), a.dtype)
    return np.concatenate([np.concatenate([a, across], axis=-1), np.concatenate([below, b], axis=-1)], axis=-2)


def cosines_and_sines(theta: Any, m: int, p: int, q: int, swap_sign: bool) -> Any:
    """The matrix S of the angles."""
    _, n11, n12, n21, n22 = identities(m, p, q)
    u1, u2, v1, v2 = places(m, p, q)
    ones, none = np.ones_like(theta[..., :1]), np.zeros_like(theta[..., :1])
    c = np.concatenate([np.cos(theta), *[ones] * n11, *[none] * (n12 + n21), *[ones] * n22], axis=-1)
    s = np.concatenate([np.sin(theta), *[none] * n11, *[ones] * (n12 + n21), *[none] * n22], axis=-1)
    c, s = diagonal_matrix(c), diagonal_matrix(-s if swap_sign else s)
    above = np.concatenate([taken(c, u1, v1), taken(-s, u1, v2)], axis=-1)
    return np.concatenate([above, np.concatenate([taken(s, u2, v1), taken(c, u2, v2)], axis=-1)], axis=-2)


def cossin(
    X: Any, p: Any = None, q: Any = None, separate: bool = False, swap_sign: bool = False, compute_u: bool = True,
    compute_vh: bool = True,
) -> Any:  # fmt: skip
    if p or q:
        p, q, x = 1 if p is None else int(p), 1 if q is None else int(q), np.asarray(X)
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"Cosine Sine decomposition only supports square matrices, got {x.shape[-2:]}")
        for name, size in (("p", p), ("q", q)):
            if size >= x.shape[-1] or size <= 0:
                raise ValueError(f"invalid {name}={size}, 0<{name}<{x.shape[-1]} must hold")
    elif len(X) != 4:
        raise ValueError(f"When p and q are None, exactly four arrays should be in X, got {len(X)}")
    else:
        x11, x12, x21, x22 = [np.atleast_2d(a) for a in X]
        p, q = x11.shape[-2:]
        x = np.concatenate([np.concatenate([x11, x12], axis=-1), np.concatenate([x21, x22], axis=-1)], axis=-2)
    if x.dtype.char not in "fdFD":
        x = x.astype(complex if x.dtype.kind == "c" else float)
    u1, u2, theta, v1h, v2h = factors(x, p, q, swap_sign)
    none = np.zeros((*x.shape[:-2], 0, 0), x.dtype)
    u1, u2 = (u1, u2) if compute_u else (none, none)
    v1h, v2h = (v1h, v2h) if compute_vh else (none, none)
    if separate:
        return (u1, u2), theta, (v1h, v2h)
    return diagonal_blocks(u1, u2), cosines_and_sines(theta, x.shape[-1], p, q, swap_sign), diagonal_blocks(v1h, v2h)


model(scipy.linalg.cossin, cossin)
