"""Factorisations of ``scipy.linalg`` and solutions with triangles and factors in XLA, with SciPy's errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jax import lax

from ...ir.dynamic import Operation
from ...ir.matrix_errors import DIAGONAL, MINOR, NOT_FINITE_IN_SCIPY
from ...rules import known_matrices
from .kept_factors import solution
from .library import takes
from .lower import INTEGER, NUMBERING, Site, Walk, lowers

_NOT_FINITE = Site(*NOT_FINITE_IN_SCIPY)
_MINOR = Site(*MINOR, (INTEGER,))
_DIAGONAL = Site(*DIAGONAL, (INTEGER,))
NUMBERING.update((scipy.linalg.cholesky, scipy.linalg.cho_factor, scipy.linalg.solve_triangular))


def _one_matrix(*constants: str) -> Callable[[Operation], bool]:
    accepts = takes(*constants, "check_finite", "overwrite_a", "overwrite_b")
    return lambda op: accepts(op) and all(v.type.ndim <= 2 for v in op.positional)


def _finite(walk: Walk, check_finite: bool, *arrays: Any) -> list[Any]:
    """Return the operands as arrays, after SciPy's check."""
    found = list(map(jnp.asarray, arrays))
    if check_finite:
        bad = [jnp.logical_not(jnp.all(jnp.isfinite(x))) for x in found]
        walk.fail_if(jnp.any(jnp.stack(bad)), _NOT_FINITE)
    return found


# Cholesky


def _first_minor(a: Any) -> Any:
    """The order of the first leading minor that is not positive, by elimination in the lower triangle."""
    rows = jnp.arange(a.shape[0])

    def step(k: Any, state: Any) -> Any:
        m, found = state
        pivot = jnp.real(m[k, k])
        found = jnp.where((found == 0) & jnp.logical_not(pivot > 0), k + 1, found)
        column = jnp.where(rows > k, m[:, k], 0)
        return m - jnp.outer(column, jnp.conj(column)) / pivot, found

    return lax.fori_loop(0, len(rows), step, (a, jnp.zeros((), np.int64)))[1]


def _factor(walk: Walk, a: Any, lower: bool) -> Any:
    """The Cholesky factor from one triangle; the other triangle is zero."""
    a = jnp.tril(a) if lower else jnp.conj(jnp.triu(a)).T
    factor = lax.linalg.cholesky(a, symmetrize_input=False)
    is_bad = jnp.any(jnp.isnan(jnp.diagonal(factor)))
    minor = lax.cond(is_bad, _first_minor, lambda a: jnp.zeros((), np.int64), a)
    walk.fail_if(is_bad, _MINOR, [minor])
    return factor if lower else jnp.conj(factor).T


@lowers(scipy.linalg.cholesky, fails=True, when=_one_matrix("lower"))
def _cholesky(walk: Walk, op: Operation, a: Any, lower: bool = False, check_finite: bool = True, **rest: Any) -> Any:
    return _factor(walk, *_finite(walk, check_finite, a), bool(lower))


@lowers(scipy.linalg.cho_factor, fails=True, when=_one_matrix("lower"))
def _cho_factor(walk: Walk, op: Operation, a: Any, lower: bool = False, check_finite: bool = True, **rest: Any) -> Any:
    (a,) = _finite(walk, check_finite, a)
    other = jnp.triu(a, 1) if lower else jnp.tril(a, -1)
    return _factor(walk, a, bool(lower)) + other, jnp.asarray(bool(lower))


@lowers(known_matrices.solved_by_cholesky, fails=True, when=_one_matrix("lower"))
def _solved_by_cholesky(
    walk: Walk, op: Operation, a: Any, b: Any, c: Any, lower: bool = False, check_finite: bool = True
) -> Any:
    b, c = _finite(walk, check_finite, b, c)
    x = b[:, None] if b.ndim == 1 else b
    for adjoint in (not lower, bool(lower)):
        x = lax.linalg.triangular_solve(
            c, x, left_side=True, lower=bool(lower), transpose_a=adjoint, conjugate_a=adjoint
        )
    return jnp.reshape(x, b.shape)


# LU


@lowers(scipy.linalg.lu_factor, fails=True, when=_one_matrix())
def _lu_factor(walk: Walk, op: Operation, a: Any, check_finite: bool = True, **rest: Any) -> Any:
    factors, exchanged, _ = lax.linalg.lu(_finite(walk, check_finite, a)[0])
    return factors, exchanged.astype(op.results[1].type.dtype)


def _is_solved(op: Operation) -> bool:
    return all(v.type.is_static and 0 not in v.type.shape for v in op.positional)


@lowers(known_matrices.solved_by_lu, fails=True, when=_is_solved)
def _solved_by_lu(
    walk: Walk, op: Operation, a: Any, b: Any, lu: Any, piv: Any, trans: int = 0, check_finite: bool = True
) -> Any:
    b, lu = _finite(walk, check_finite, b, lu)
    order = lax.linalg.lu_pivots_to_permutation(jnp.asarray(piv, jnp.int32), lu.shape[-1])
    sides = b[:, None] if b.ndim == 1 else b
    sides = jnp.conj(sides) if trans == 1 else sides  # A^T X = B is A^H conj(X) = conj(B)
    x = solution(lu, order, sides, trans != 0)
    return jnp.reshape(jnp.conj(x) if trans == 1 else x, b.shape)


# Triangles


@lowers(scipy.linalg.solve_triangular, fails=True, when=_one_matrix("trans", "lower", "unit_diagonal"))
def _solve_triangular(
    walk: Walk, op: Operation, a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False,
    check_finite: bool = True, **rest: Any,
) -> Any:  # fmt: skip
    a, b = _finite(walk, check_finite, a, b)
    dtype = op.results[0].type.dtype
    a, x = a.astype(dtype), (b[:, None] if b.ndim == 1 else b).astype(dtype)
    if not unit_diagonal:
        zeros = jnp.diagonal(a) == 0
        walk.fail_if(jnp.any(zeros), _DIAGONAL, [jnp.argmax(zeros).astype(np.int64)])
    kind = {"N": 0, "T": 1, "C": 2}.get(trans, trans)
    found = lax.linalg.triangular_solve(
        a, x, left_side=True, lower=bool(lower), transpose_a=kind != 0, conjugate_a=kind == 2,
        unit_diagonal=bool(unit_diagonal),
    )  # fmt: skip
    return jnp.reshape(found, b.shape)
