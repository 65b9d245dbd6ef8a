"""Canonical polyadic (CP) decompositions: sums of outer products of vectors, by alternating least squares.

Source: T. Kolda and B. Bader, "Tensor decompositions and applications", SIAM Review 51 (2009) 455-500, section 3.4 and figure 3.3.

A column's length and sign may move from one factor to another. Here every factor but the last has columns of length one, and the initial
guess decides signs and the order of terms. In this gauge a solution is a fixed point of a sweep, isolated where the decomposition
is essentially unique, and the implicit function theorem holds there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput, MorulaError, constant, implicit
from .unfolding import are_ranks, as_tensor, unfold


@dataclass
class Canonical:
    """x = sum over r of the outer products of the columns ``factors[k][:, r]``."""

    factors: list[Any]
    """One matrix (n_k, rank) for each axis; all but the last have columns of length one."""
    iterations: int
    """The number of sweeps."""
    converged: bool
    """Whether the last sweep changed the factors by less than the tolerance."""

    def to_array(self) -> Any:
        """Return the array that the decomposition represents.

        >>> Canonical([np.ones((2, 1)), np.ones((3, 1))], 0, True).to_array().shape
        (2, 3)
        """
        found = self.factors[0]
        for factor in self.factors[1:]:
            found = found[..., None, :] * factor
        return np.sum(found, axis=-1)

    def weights(self) -> Any:
        """Return the length of each term: (rank,).

        >>> Canonical([np.ones((1, 2)), np.array([[3.0, 0.0], [4.0, 1.0]])], 0, True).weights()
        array([5., 1.])
        """
        return np.linalg.norm(self.factors[-1], axis=0)


def cp(
    x: Any,
    rank: int,
    initial: Sequence[Any] | None = None,
    rtol: float = 1e-12,
    max_iterations: int = 2000,
    seed: int = 0,
) -> Canonical:
    """Approximate an array by a sum of ``rank`` outer products, by alternating least squares.

    Args:
        x: real array of at least two axes.
        rank: the number of terms.
        initial: a matrix (n_k, rank) for each axis; by default drawn from a normal distribution.
        rtol: converged when a sweep changes the factors by less than this, relative to their norm; at least four rounding
            errors.
        max_iterations: the largest number of sweeps.
        seed: of the initial guess.

    Returns:
        A ``Canonical`` decomposition. Its gradient is that of the converged factors, by the implicit function theorem: the
        linear system has rank * sum(n_k) unknowns. The initial guess has no gradient. To differentiate the sweeps
        themselves, call ``sweep`` of this module in a loop.

    Raises:
        BadInput: ``x`` is complex, has less than two axes, or holds NaN or Inf; or the initial factors' shapes do not fit.
        MorulaError: the columns of the factors became linearly dependent or zero, so that the rank is too large; a gradient is asked for of a decomposition that has not converged, or that is not isolated.

    Source: Kolda and Bader (2009), figure 3.3.

    >>> a, b, c = np.eye(3)[:, :2], np.eye(4)[:, 1:3], np.eye(5)[:, :2]
    >>> x = np.einsum("ir,jr,kr->ijk", a, b, 3.0 * c)
    >>> found = cp(x, 2)
    >>> found.converged, bool(np.allclose(found.to_array(), x)), np.round(found.weights(), 9).tolist()
    (True, True, [3.0, 3.0])
    """
    x = as_tensor(x, 2, "cp")
    if x.dtype.kind == "c":
        raise BadInput("cp: got a complex array; expected a real one: decompose its real and imaginary parts together")
    if not are_ranks([rank]):
        raise BadInput(f"cp: the rank is {rank!r}; expected an integer from 1")
    if initial is None:
        rng = np.random.default_rng(seed)
        initial = [rng.normal(size=(n, rank)).astype(x.dtype) for n in x.shape]
    if [np.shape(f) for f in initial] != [(n, rank) for n in x.shape]:
        raise BadInput(
            f"cp: the initial factors have shapes {[np.shape(f) for f in initial]}; expected {[(n, rank) for n in x.shape]}"
        )
    try:
        factors, iterations, converged = constant(_solve)(x, list(initial), rtol, max_iterations)
    except np.linalg.LinAlgError:
        raise MorulaError(TOO_LARGE) from None

    def residual(factors: list[Any]) -> list[Any]:
        if not converged:
            raise MorulaError(
                f"cp has not converged after {iterations} sweeps, so its factors have no gradient; raise max_iterations or change the "
                "rank"
            )
        return [a - b for a, b in zip(factors, sweep(x, factors))]

    return Canonical(implicit(factors, residual), iterations, converged)


def _solve(x: Any, factors: list[Any], rtol: float, max_iterations: int) -> tuple[list[Any], int, bool]:
    rtol = max(rtol, 4.0 * float(np.finfo(x.dtype).eps))
    for k in range(max_iterations):
        before, factors = factors, _swept(x, factors)
        change = sum([np.sum((a - b) ** 2) for a, b in zip(before, factors)])
        if change <= rtol**2 * sum([np.sum(a**2) for a in factors]):
            return factors, k + 1, True
    return factors, max_iterations, False


def _swept(x: Any, factors: list[Any]) -> list[Any]:
    """Return the factors after one sweep, or raise an error that tells what is wrong with the rank."""
    found = sweep(x, factors)
    if not np.all(np.isfinite(found[-1])):
        raise MorulaError(TOO_LARGE)
    return found


TOO_LARGE = (
    "cp: a sweep has no unique solution, since columns of the factors are zero or linearly dependent; lower the rank, or give "
    "other initial factors"
)


def sweep(x: Any, factors: Sequence[Any]) -> list[Any]:
    """Return the factors after one sweep of alternating least squares; all but the last have columns of length one.

    Args:
        x: array with one axis for each factor.
        factors: matrices (n_k, rank).
    """
    found, last = list(factors), len(factors) - 1
    for axis in range(len(found)):
        others = [f for k, f in enumerate(found) if k != axis]
        gram, product = others[0].T @ others[0], others[0]
        for f in others[1:]:
            gram = gram * (f.T @ f)
            product = np.reshape(product[:, None, :] * f, (-1, product.shape[1]))  # Khatri-Rao
        factor = np.linalg.solve(gram, (unfold(x, axis) @ product).T).T
        found[axis] = factor if axis == last else factor / np.linalg.norm(factor, axis=0)
    return found
