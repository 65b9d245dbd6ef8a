"""Unbiased estimates of the trace of an operator from its products with random vectors.

All are linear in A for given probes and a given subspace, which is held constant in derivatives. So the derivative of an
estimate is itself an unbiased estimate of the derivative of the trace, tr(dA), and costs no derivative of a QR
factorisation. It is the derivative of the estimate for ``hutchinson`` only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput, MorulaError, constant, random
from ..operators import LinearOperator, as_operator


@dataclass
class Estimate:
    """A random estimate."""

    value: Any
    """The estimate, a number."""
    error: Any
    """Its standard error: the standard deviation of independent samples divided by the root of their number; for
    ``xtrace``, whose samples are not quite independent, an approximation."""


def hutchinson(A: Any, key: Any, samples: int = 32) -> Estimate:
    """Estimate the trace as the mean of z·A z for random signs z.

    Args:
        A: operator or matrix (n, n).
        key: an int or a ``mo.random.Generator``.
        samples: the number of products with A.

    Returns:
        An ``Estimate``; unbiased, with standard deviation ``sqrt(2 / samples)`` times the Frobenius norm of the
        off-diagonal part for symmetric A. Its derivative is that of the estimate, and an unbiased estimate of tr(dA).

    Raises:
        BadInput: A is not square, ``samples`` is no integer, or there are fewer than two.
        MorulaError: A holds NaN or Inf, or gives it.

    Source: M.F. Hutchinson, "A stochastic estimator of the trace of the influence matrix for Laplacian smoothing
    splines", Comm. Statist. Simulation Comput. 18 (1989) 1059-1076.

    >>> hutchinson(np.diag([1.0, 2.0, 3.0]), key=0).value  # exact for diagonal matrices
    np.float64(6.0)
    """
    A = square(A, "hutchinson", samples, 2)
    z = signs(key, A.shape[0], samples, A.dtype)
    return finite("hutchinson", mean(np.sum(z * (A @ z), axis=0)))


def hutchpp(A: Any, key: Any, samples: int = 48) -> Estimate:
    """Estimate the trace exactly on a subspace that holds the large eigenvalues, and by ``hutchinson`` on the rest.

    Args:
        A: operator or matrix (n, n).
        key: an int or a ``mo.random.Generator``.
        samples: the number of products with A, a third of them for the subspace and for each other part.

    Returns:
        An ``Estimate``; unbiased. Its error falls like 1 / samples for positive semidefinite A. Its derivative holds the
        subspace constant, and is an unbiased estimate of tr(dA).

    Raises:
        BadInput: A is not square, ``samples`` is no integer, or there are fewer than six.
        MorulaError: A holds NaN or Inf, or gives it.

    Source: R.A. Meyer, C. Musco, C. Musco and D.P. Woodruff, "Hutch++: optimal stochastic trace estimation", SOSA 2021,
    algorithm 1.

    >>> float(hutchpp(np.diag([9.0, 0.0, 0.0, 0.0]), key=0, samples=6).value.round(9))
    9.0
    """
    A = square(A, "hutchpp", samples, 6)
    n = A.shape[0]
    generator = _generator(key)
    count = samples // 3
    k = min(count, n)
    Q = _range(A, signs(generator, n, k, A.dtype))
    G = signs(generator, n, count, A.dtype)
    G = G - Q @ (np.conj(Q.T) @ G)
    inside = np.sum(np.conj(Q) * (A @ Q))
    rest = mean(np.sum(np.conj(G) * (A @ G), axis=0))
    return finite("hutchpp", Estimate(inside + rest.value, rest.error))


def xtrace(A: Any, key: Any, samples: int = 32) -> Estimate:
    """Estimate the trace like ``hutchpp``, with each probe once as a probe and once for the subspace of all others.

    Args:
        A: operator or matrix (n, n).
        key: an int or a ``mo.random.Generator``.
        samples: the number of products with A, half of them for the subspace; at most 2 n are used.

    Returns:
        An ``Estimate``; unbiased, and the most accurate one for a given number of products. Its derivative holds the
        subspaces constant, and is an unbiased estimate of tr(dA).

    Raises:
        BadInput: A is not square, ``samples`` is no integer, or there are fewer than four.
        MorulaError: A holds NaN or Inf, or gives it.

    Source: E.N. Epperly, J.A. Tropp and R.J. Webber, "XTrace: making the most of every sample in stochastic trace
    estimation", SIAM J. Matrix Anal. Appl. 45 (2024) 1-23, sections 2.1 and 2.3.

    >>> float(xtrace(np.diag([9.0, 0.0, 0.0, 0.0]), key=0, samples=6).value.round(9))
    9.0
    """
    A = square(A, "xtrace", samples, 4)
    n = A.shape[0]
    m = min(samples // 2, n)
    if n == 0:
        zero = np.zeros((), A.dtype)[()]
        return Estimate(zero, np.abs(zero))
    generator = _generator(key)
    omega = generator.standard_normal((n, m)).astype(A.dtype)
    if A.dtype.kind == "c":
        omega = omega + 1j * generator.standard_normal((n, m))
    images = A @ omega
    Q, S = _leave_one_out(images)
    AQ = A @ Q
    core = np.conj(Q.T) @ AQ
    # The space without probe i is that of Q without the direction Q s_i.
    inside = np.trace(core) - np.sum(np.conj(S) * (core @ S), axis=0)
    if m == n:
        # The whole space less one direction, on which z·A z is what is missing.
        return finite("xtrace", Estimate(np.trace(core), 0.0 * np.abs(np.trace(core))))
    shares = np.conj(Q.T) @ omega
    shares = shares - S * np.sum(np.conj(S) * shares, axis=0)
    rest = omega - Q @ shares
    products = np.sum(np.conj(rest) * (images - AQ @ shares), axis=0)
    # The direction of the rest is uniform in a space of dimension n - m + 1; scaled to its mean length.
    return finite("xtrace", mean(inside + (n - m + 1) * products / np.sum(np.abs(rest) ** 2, axis=0)))


@constant
def _range(A: LinearOperator, probes: Any) -> Any:
    """Return an orthonormal basis of the images of the probes."""
    return np.linalg.qr(A @ probes)[0]


@constant
def _leave_one_out(images: Any) -> tuple[Any, Any]:
    """Return the basis Q of the images, and s_i with Q s_i orthogonal to all images but the i-th."""
    Q, R = np.linalg.qr(images)
    # A zero on the diagonal, from a matrix of small rank, is replaced by a rounding error.
    sizes = np.abs(np.diagonal(R))
    largest = np.max(sizes)
    least = np.finfo(R.dtype).eps * largest if largest > 0.0 else 0.0 * largest + 1.0
    S = np.conj(np.linalg.inv(R + np.diag(np.where(sizes < least, least, 0.0)))).T
    return Q, S / np.linalg.norm(S, axis=0)


def mean(values: Any) -> Estimate:
    """Return the mean of the samples, with its standard error."""
    m = values.shape[0]
    value = np.sum(values) / m
    return Estimate(value, np.sqrt(np.sum(np.abs(values - value) ** 2) / (m * (m - 1))))


def square(A: Any, name: str, samples: int, least: int) -> LinearOperator:
    """Return A as a square operator."""
    A = as_operator(A, f"{name}: A")
    if A.shape[0] != A.shape[1]:
        raise BadInput(f"{name}: A has shape {A.shape}, expected a square operator")
    check_count(name, "samples", samples)
    if samples < least:
        raise BadInput(f"{name}: samples is {samples!r}, expected at least {least}")
    return A


def check_count(name: str, argument: str, count: Any) -> None:
    """Raise BadInput unless ``count`` is an integer."""
    if not isinstance(count, (int, np.integer)) or isinstance(count, bool):
        raise BadInput(f"{name}: {argument} is {count!r}, expected an integer")


def finite(name: str, estimate: Estimate) -> Estimate:
    """Return an estimate; raise an error if it is NaN or infinite."""
    if not np.isfinite(estimate.value):
        raise MorulaError(f"{name}: the estimate is {estimate.value}: A holds NaN or Inf, or its products give it")
    return estimate


def _generator(key: Any) -> random.Generator:
    return key if isinstance(key, random.Generator) else random.Generator(key)


def signs(key: Any, n: int, count: int, dtype: Any) -> Any:
    """Return random signs (n, count), in the dtype of the operator."""
    return np.where(_generator(key).bernoulli(0.5, (n, count)), 1.0, -1.0).astype(dtype)
