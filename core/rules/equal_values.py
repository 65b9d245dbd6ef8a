"""Decompositions with equal eigenvalues or singular values: what the loss's gradient is within the space of their vectors.

Let M = V^H G V, where G is the gradient with respect to the Hermitian matrix A = V diag(lam) V^H.  Its diagonal is the
cotangent of ``lam``.  Its other entries follow from the cotangent of V divided by differences of eigenvalues, which says
nothing where two eigenvalues are equal.  But there a rotation R of their vectors leaves A as it is, and with it the loss
and G.  So the cotangent of ``lam`` for the vectors V R is the diagonal of R^H M R, and

    r = (e_i + c e_j) / sqrt(2), |c| = 1:    r^H M r = (M_ii + M_jj) / 2 + Re(c M_ij)

gives M_ij from gradients of what follows the decomposition, without second derivatives.  All pairs are rotated in the
rounds of a round-robin tournament, each with c and -c: unless both give the same M_ij, the loss depends on the choice of
the vectors.  Equal singular values are treated in the same way, with one rotation for the left and right vectors; there
M is the Hermitian part of U^H G V.  At singular values of zero, the left and right vectors rotate independently: further turns,
after those of the pairs, give all of U^H G V there (``null_spaces``).

The gradient is right where the values are equal, not where they split: its own derivative is refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import NoDerivative
from .matrix_factorisations import (
    columns_read,
    diagonal_matrix,
    has_equal,
    in_one_space,
    reciprocal_gaps,
    resolution,
    svd_columns_read,
    weighs,
    without_complement,
)
from .null_spaces import between_null_spaces, seen_entries, shifted, turns_null_vectors
from .products import hermitian as dagger


def columns(read: Any, n: int) -> Any:
    """A mask of the values and vectors that a loss reads, from the masks of the results; None if they are unknown."""
    return columns_read(*read) if len(read) == 2 else svd_columns_read(read, n)


@dataclass(frozen=True)
class Turns:
    """The rotations of the vectors of n values; for singular values, of a matrix of so many ``rows`` and ``columns``."""

    n: int
    is_complex: bool
    rows: int
    columns: int
    is_singular: bool

    @property
    def kinds(self) -> int:
        return 2 if self.is_complex else 1

    @property
    def rounds(self) -> int:
        """Of an odd number of vectors one pauses in each round: its partner is itself."""
        return self.n - 1 + self.n % 2

    @property
    def pairs(self) -> int:
        """The number of turns for pairs of equal values."""
        return self.rounds * 2 * self.kinds

    @property
    def count(self) -> int:
        shifts = max(self.rows, self.columns) if self.is_singular else 0
        return self.pairs + shifts * 2 * self.kinds

    @property
    def has_null_spaces(self) -> bool:
        """Whether a value of zero leaves entries open which the values' cotangents do not give."""
        return self.is_singular and (self.rows != self.columns or self.is_complex)


def meets_equal(s: Any, turns: Turns) -> Any:
    return has_equal(s) | np.any(s <= resolution(s)) if turns.has_null_spaces else has_equal(s)


def shift_of(turns: Turns, k: Any) -> tuple[Any, Any, Any]:
    """How far the k-th turn shifts the null space's vectors, the sign of its c, and whether c is imaginary."""
    k = np.maximum(k - turns.pairs, 0)
    return k // (2 * turns.kinds), 1 - 2 * (k % 2), (k // 2) % turns.kinds == 1


def in_one_turn(s: Any, turns: Turns) -> Any:
    """A mask of the pairs that rotate together: those of equal values, except singular values of zero."""
    same = in_one_space(s)
    return same & (s > resolution(s))[..., None, :] if turns.is_singular else same


def turn(turns: Turns, k: Any) -> tuple[Any, Any, Any]:
    """The partner of each vector in the k-th turn, the sign of its c, and whether c is imaginary."""
    n, others = turns.n, turns.rounds
    i, r = np.arange(n), k // (2 * turns.kinds)
    partner = np.where(i < others, (r - i) % others, (r * ((others + 1) // 2)) % others)
    partner = np.where(partner == i, others, partner)
    partner = np.where(partner >= n, i, partner)
    is_imaginary = (k // 2) % turns.kinds == 1
    return partner, (1 - 2 * (k % 2)) * np.where((i < partner) | is_imaginary, 1, -1), is_imaginary


def turned_columns(s: Any, turns: Turns, k: Any) -> Any:
    """A mask of the vectors that the k-th turn rotates."""
    partner, _, _ = turn(turns, k)
    rotated = np.any(in_one_turn(s, turns) & (np.arange(turns.n) == partner[:, None]), axis=-1)
    return rotated & (k >= 0) & (k < turns.pairs)


def turns_some(s: Any, turns: Turns, k: Any) -> Any:
    some = (k < 0) | np.any(turned_columns(s, turns, k))
    if not turns.is_singular:
        return some
    zeros = np.sum(s <= resolution(s), axis=-1)
    size = max(turns.rows, turns.columns) - turns.n + zeros  # of the larger null space
    return some | (k >= turns.pairs) & np.any((zeros > 0) & (shift_of(turns, k)[0] < size))


def moved(s: Any, k: Any) -> Any:
    """The values for the k-th turn: before the first one (k = -1) they are set apart by some per cent.

    The cotangents for these tell the size of those that are zero but for rounding.
    """
    size = np.max(np.abs(s), axis=-1, keepdims=True)
    apart = s + (0.01 * np.where(size > 0, size, 1.0) * np.arange(1.0, s.shape[-1] + 1)).astype(s.dtype)
    return np.where(k < 0, apart, s)


def turned(x: Any, s: Any, turns: Turns, k: Any) -> Any:
    """The vectors in the first columns of ``x``, those of equal values ``s`` rotated by the k-th turn."""
    n = turns.n
    partner, sign, is_imaginary = turn(turns, k)
    c = np.where(is_imaginary, 1j, 1.0) * sign if turns.is_complex else sign
    first = x[..., :n]
    found = ((first + first[..., partner] * c) / np.sqrt(2.0)).astype(x.dtype)
    found = np.where(turned_columns(s, turns, k)[..., None, :], found, first)
    return found if x.shape[-1] == n else np.concatenate([found, x[..., n:]], axis=-1)


def turned_pair(u: Any, s: Any, vh: Any, left: Any, right: Any, turns: Turns, k: Any) -> tuple[Any, Any]:
    """The vectors in the k-th turn; ``left`` and ``right`` are the completed bases."""
    v = dagger(vh)
    shift, sign, is_imaginary = shift_of(turns, k)
    c = np.where(is_imaginary, 1j, 1.0) * sign if turns.is_complex else sign
    is_shift, turned_u, turned_v = k >= turns.pairs, turned(u, s, turns, k), turned(v, s, turns, k)
    is_left = turns.rows >= turns.columns
    shifted_u = shifted(u, left, s, shift if is_left else 0 * shift, c if is_left else 1.0)
    shifted_v = shifted(v, right, s, 0 * shift if is_left else shift, 1.0 if is_left else c)
    return np.where(is_shift, shifted_u, turned_u), dagger(np.where(is_shift, shifted_v, turned_v))


def unobserved(s: Any, ds: Any, turns: Turns) -> tuple[Any, Any, Any]:
    """The least and the largest entries of M that were found, before any was, and the size of cotangents."""
    least = np.full((turns.kinds, *s.shape[:-1], turns.rows, turns.columns), np.inf, s.dtype)
    return least, -least, np.max(np.abs(ds), axis=-1)[..., None, None]


def observed(least: Any, largest: Any, size: Any, ds_turned: Any, s: Any, turns: Turns, k: Any) -> tuple[Any, Any, Any]:
    """The same with the entries that the k-th turn gives: real parts, and for complex matrices imaginary parts."""
    partner, sign, is_imaginary = turn(turns, k)
    found = (sign * 0.5 * (ds_turned - ds_turned[..., partner]))[..., :, None]
    is_seen = turned_columns(s, turns, k)[..., :, None] & (np.arange(turns.n) == partner[:, None])
    if turns.is_singular:
        found = np.broadcast_to(found, is_seen.shape)
        beyond = [(0, 0)] * (s.ndim - 1) + [(0, turns.rows - turns.n), (0, turns.columns - turns.n)]
        shift, sign, is_shift_imaginary = shift_of(turns, k)
        is_null, in_null = seen_entries(ds_turned, s, turns.rows, turns.columns, shift)
        opposite = -1 if turns.rows >= turns.columns else 1  # c stands conjugate on the left
        in_null = in_null * (sign * np.where(is_shift_imaginary, opposite, 1))
        is_shift = k >= turns.pairs
        found = np.where(is_shift, in_null, np.pad(found, beyond))
        is_seen = np.where(is_shift, is_null, np.pad(is_seen, beyond))
        is_imaginary = np.where(is_shift, is_shift_imaginary, is_imaginary)
    is_kind = np.reshape(np.arange(turns.kinds) == is_imaginary * 1, (turns.kinds, *[1] * (s.ndim + 1)))
    is_seen = is_kind & is_seen
    largest_cotangent = np.max(np.abs(ds_turned), axis=-1)[..., None, None]
    return (
        np.where(is_seen, np.minimum(least, found), least),
        np.where(is_seen, np.maximum(largest, found), largest),
        np.where((k < 0) & (largest_cotangent > size), largest_cotangent, size),
    )


def is_turning(size: Any, k: Any, s: Any, turns: Turns, dv: Any, v: Any, dvh: Any = None, vh: Any = None) -> Any:
    """Whether a rotation of the vectors of equal values changes the loss; ``vh`` holds the adjoint right vectors, if any."""
    least = size * np.max(np.abs(s), axis=-1)[..., None, None]
    first, dfirst = without_complement(dv, v, s.shape[-1])
    m = dagger(first) @ dfirst
    is_null_turning: Any = False
    if vh is not None:
        is_null_turning = turns_null_vectors(s, dv, v, least) | turns_null_vectors(s, dagger(dvh), dagger(vh), least)
        first, dfirst = without_complement(dagger(dvh), dagger(vh), s.shape[-1])
        m = m + dagger(first) @ dfirst
    size = np.maximum(least, np.max(np.abs(m), axis=(-2, -1), keepdims=True, initial=0.0))
    is_pair_turning = np.any(in_one_turn(s, turns) & (np.abs(m - dagger(m)) > 1e4 * np.spacing(size)))
    return (k >= 0) & (is_pair_turning | is_null_turning)


def entries_of(least: Any, largest: Any, size: Any, same: Any) -> tuple[Any, Any]:
    """The entries of M that the mask ``same`` selects, and whether the turns contradict each other."""
    least, largest = np.where(same, least, 0.0), np.where(same, largest, 0.0)
    m, spread = 0.5 * (least + largest), largest - least
    found = m[0] - 1j * m[1] if len(m) == 2 else m[0]
    return found, np.any(spread > rounding(size, found))


def rounding(size: Any, m: Any) -> Any:
    return 1e5 * np.spacing(np.maximum(size, np.max(np.abs(m), axis=(-2, -1), keepdims=True, initial=0.0)))


def hermitian_entries(least: Any, largest: Any, size: Any, same: Any) -> tuple[Any, Any]:
    """``entries_of`` a Hermitian M."""
    found, is_contradicted = entries_of(least, largest, size, same)
    is_contradicted = is_contradicted | np.any(np.abs(found - dagger(found)) > rounding(size, found))
    return 0.5 * (found + dagger(found)), is_contradicted


def refuse_choice(is_refused: Any, name: str, met: str = "equal values") -> None:
    if is_refused:
        raise NoDerivative(
            name + f" met {met}, and the loss depends on the choice of their vectors. Use the vectors in products "
            "that do not, as (v * f(lam)) @ v.conj().T or the projector v @ v.conj().T onto the whole space, inside of one "
            "mo.jit; or scipy.linalg.sqrtm, expm, logm or polar"
        )


def hermitian_limit(
    least: Any, largest: Any, size: Any, is_loose: Any, dlam: Any, dv: Any, lam: Any, v: Any, name: str, read: Any
) -> tuple[Any, Any]:
    """Distinct values, and a cotangent of the vectors for which the rule gives the gradient at equal values."""
    limit, is_contradicted = hermitian_entries(least, largest, size, in_one_space(lam))
    is_loose = is_loose | is_contradicted
    refuse_choice(is_loose & weighs(dlam, lam, dagger(v) @ dv, read), name)
    return as_distinct(dv, lam, v, np.where(is_loose, 0.0, limit))


def as_distinct(dv: Any, lam: Any, v: Any, limit: Any) -> tuple[Any, Any]:
    """Distinct values, and a cotangent with which they give the entries that ``lam`` and ``dv`` give, and the ``limit``."""
    m = reciprocal_gaps(lam) * (dagger(v) @ dv) + limit
    apart = np.broadcast_to(np.arange(1.0, lam.shape[-1] + 1), lam.shape).astype(lam.dtype)
    return apart, v @ (m * (apart[..., None, :] - apart[..., :, None]))


def singular_limit(
    least: Any, largest: Any, size: Any, is_loose: Any, du: Any, ds: Any, dvh: Any, u: Any, s: Any, vh: Any,
    left: Any, right: Any, turns: Turns, name: str, read: Any,
) -> Any:  # fmt: skip
    """The part of the gradient that the values, the pairs of equal ones and the null spaces contribute."""
    k = s.shape[-1]
    v = dagger(vh)
    limit, is_contradicted = hermitian_entries(least[..., :k, :k], largest[..., :k, :k], size, in_one_turn(s, turns))
    between = between_null_spaces(s, turns.rows, turns.columns) & np.any(s <= resolution(s), axis=-1)[..., None, None]
    in_null, is_null_contradicted = entries_of(least, largest, size, between)
    is_loose = is_loose | is_contradicted | is_null_contradicted
    is_weighed = False
    for x, dx in ((u, du), (v, None if dvh is None else dagger(dvh))):
        if dx is not None:
            first, dfirst = without_complement(dx, x, k)
            is_weighed = is_weighed | weighs(ds, s, dagger(first) @ dfirst, read)
    if turns.has_null_spaces:
        is_weighed = is_weighed | np.any((s <= resolution(s)) & (True if read is None else read))
    refuse_choice(is_loose & is_weighed, name, "equal values or values of zero")
    ds = np.where((s <= resolution(s)) & ~is_loose, 0.0, ds)
    part = u[..., :k] @ (diagonal_matrix(ds) + np.where(is_loose, 0.0, limit)) @ vh[..., :k, :]
    return part + left @ np.where(is_loose, 0.0, in_null) @ dagger(right)
