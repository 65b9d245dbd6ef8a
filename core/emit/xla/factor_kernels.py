"""The kernels of ``rules.factor_kernels`` in XLA, by its triangular solutions; those without a lowering run in Python."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from ...ir.dynamic import Operation
from ...rules import factor_kernels
from .library import takes
from .lower import Walk, lowers


def _solved(triangle: Any, b: Any, lower: bool, adjoint: bool = False, left: bool = True) -> Any:
    return lax.linalg.triangular_solve(
        triangle, b, left_side=left, lower=lower, transpose_a=adjoint, conjugate_a=adjoint
    )


@lowers(factor_kernels.congruence, when=takes("adjoint"))
def _congruence(walk: Walk, op: Operation, l: Any, m: Any, adjoint: bool = False) -> Any:  # noqa: E741
    l, m = jnp.asarray(l), jnp.asarray(m)  # noqa: E741
    return _solved(l, _solved(l, m, True, not adjoint), True, adjoint, left=False)


@lowers(factor_kernels.cholesky_adjoint, when=takes())
def _cholesky_adjoint(walk: Walk, op: Operation, dl: Any, l: Any) -> Any:  # noqa: E741
    dl, l = jnp.asarray(dl), jnp.asarray(l)  # noqa: E741
    m = jnp.tril(jnp.conj(l).T @ dl)
    m = m - 0.5 * jnp.diag(jnp.diagonal(m))
    return _solved(l, _solved(l, m, True, True), True, left=False)


@lowers(factor_kernels.gram_solve, when=takes())
def _gram_solve(walk: Walk, op: Operation, a: Any, c: Any) -> Any:
    r = jnp.linalg.qr(jnp.asarray(a), mode="r")
    return _solved(r, _solved(r, jnp.asarray(c), False, True), False)
