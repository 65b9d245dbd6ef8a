"""The kernels of ``rules.kept_factors`` in XLA: LU factors that the backward sweep uses again."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from ...ir.dynamic import Operation
from ...rules import kept_factors
from .library import SINGULAR, takes
from .lower import Walk, lowers


@lowers(kept_factors.factored, when=takes())
def _factored(walk: Walk, op: Operation, a: Any) -> Any:
    factors, exchanged, _ = lax.linalg.lu(jnp.asarray(a))
    return jnp.concatenate([_turned(factors), exchanged[..., None, :].astype(factors.dtype)], axis=-2)


def _turned(x: Any) -> Any:
    return jnp.swapaxes(x, -1, -2)


def _checked(walk: Walk, kept: Any) -> tuple[Any, Any]:
    """Return the factors and the order of the rows; a singular matrix sets the program's error."""
    kept = jnp.asarray(kept)
    factors = _turned(kept[..., :-1, :])
    walk.fail_if(jnp.any(jnp.diagonal(factors, axis1=-2, axis2=-1) == 0), SINGULAR)
    exchanged = jnp.real(kept[..., -1, :]).astype(jnp.int32)
    return factors, lax.linalg.lu_pivots_to_permutation(exchanged, kept.shape[-1])


def _triangle(factors: Any, b: Any, lower: bool, adjoint: bool) -> Any:
    return lax.linalg.triangular_solve(
        factors, b, left_side=True, lower=lower, unit_diagonal=lower, transpose_a=adjoint, conjugate_a=adjoint
    )


def solution(factors: Any, order: Any, b: Any, adjoint: bool) -> Any:
    if adjoint:
        x = _triangle(factors, _triangle(factors, b, False, True), True, True)
        return jnp.take_along_axis(x, jnp.argsort(order, axis=-1)[..., None], axis=-2)
    b = jnp.take_along_axis(b, order[..., None], axis=-2)
    return _triangle(factors, _triangle(factors, b, True, False), False, False)


@lowers(kept_factors.solve_factored, fails=True, when=takes("adjoint"))
def _solve_factored(walk: Walk, op: Operation, a: Any, b: Any, kept: Any, adjoint: bool = False) -> Any:
    factors, order = _checked(walk, kept)
    b = jnp.asarray(b, factors.dtype)
    is_vector = b.ndim == 1
    b = b[:, None] if is_vector else b
    batch = jnp.broadcast_shapes(factors.shape[:-2], b.shape[:-2])
    factors, b = (jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (factors, b))
    x = solution(factors, jnp.broadcast_to(order, (*batch, order.shape[-1])), b, adjoint)
    return x[..., 0] if is_vector else x


@lowers(kept_factors.inv_factored, fails=True, when=takes("adjoint"))
def _inv_factored(walk: Walk, op: Operation, a: Any, kept: Any, adjoint: bool = False) -> Any:
    factors, order = _checked(walk, kept)
    return solution(
        factors, order, jnp.broadcast_to(jnp.eye(factors.shape[-1], dtype=factors.dtype), factors.shape), adjoint
    )


@lowers(kept_factors.slogdet_factored, when=takes())
def _slogdet_factored(walk: Walk, op: Operation, a: Any, kept: Any) -> Any:
    return _sign_and_logarithm(jnp.asarray(kept))


@lowers(kept_factors.det_factored, when=takes())
def _det_factored(walk: Walk, op: Operation, a: Any, kept: Any) -> Any:
    sign, logarithm = _sign_and_logarithm(jnp.asarray(kept))
    return sign * jnp.exp(logarithm)


def _sign_and_logarithm(kept: Any) -> tuple[Any, Any]:
    n = kept.shape[-1]
    d = jnp.diagonal(kept[..., :n, :], axis1=-2, axis2=-1)
    size = jnp.abs(d)
    odd = jnp.sum(jnp.real(kept[..., n, :]) != jnp.arange(n), axis=-1) % 2
    sign = (1 - 2 * odd).astype(kept.dtype) * jnp.prod(d / jnp.where(size == 0, 1, size), axis=-1)
    return sign, jnp.sum(jnp.log(size), axis=-1)
