"""Stochastic Lanczos quadrature: tr f(A) and log det A of Hermitian matrices from products with random vectors.

S. Ubaru, J. Chen and Y. Saad, "Fast estimation of tr(f(A)) via stochastic Lanczos quadrature", SIAM J. Matrix Anal. Appl.
38 (2017) 1075-1099.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import BadInput, MorulaError
from .krylov_functions import hermitian_function, lanczos_of_columns
from .traces import Estimate, check_count, finite, mean, signs, square

# The Lanczos vectors of several samples are computed side by side, as long as they have fewer numbers together.
AT_ONCE = 1 << 22


def trace_of_function(f: Callable[[Any], Any], A: Any, key: Any, samples: int = 32, steps: int = 30) -> Estimate:
    """Estimate tr f(A) as the mean of z·f(A) z for random signs z, each by a Gauss quadrature from Lanczos vectors.

    Args:
        f: a function of numbers, applied to an array of eigenvalues entry by entry.
        A: Hermitian operator or matrix (n, n).
        key: an int or a ``mo.random.Generator``.
        samples: the number of random vectors.
        steps: the number of Lanczos steps, at most n are used: products with A for each vector. The quadrature is exact
            for polynomials of degree 2 steps - 1, and has an error that falls exponentially with ``steps`` for analytic f.

    Returns:
        An ``Estimate``; unbiased up to the error of the quadrature, which ``error`` does not contain. Its derivative is
        that of the estimate itself, and stores ``steps`` vectors for each sample.

    Raises:
        BadInput: A is not square, ``samples`` or ``steps`` is no integer, or there are fewer than two samples.
        MorulaError: A is found not to be Hermitian; or A or f gives NaN or Inf.

    Source: Ubaru, Chen and Saad (2017).

    >>> estimate = trace_of_function(np.sqrt, np.diag([1.0, 4.0, 9.0]), key=0)
    >>> float(estimate.value.round(9))
    6.0
    """
    return _quadrature("trace_of_function", f, A, key, samples, steps)


def logdet(A: Any, key: Any, samples: int = 32, steps: int = 30) -> Estimate:
    """Estimate log det A of a Hermitian positive definite A by ``trace_of_function``.

    Args:
        A: Hermitian positive definite operator or matrix (n, n).
        key, samples, steps: as for ``trace_of_function``.

    Returns:
        An ``Estimate``, with the derivative of the estimate itself.

    Raises:
        BadInput: as for ``trace_of_function``.
        MorulaError: A is found not to be positive definite, or as for ``trace_of_function``.

    >>> float(np.exp(logdet(np.diag([1.0, 2.0, 4.0]), key=0).value).round(9))
    8.0
    """
    return _quadrature("logdet", _logarithm, A, key, samples, steps)


def _quadrature(name: str, f: Callable[[Any], Any], A: Any, key: Any, samples: int, steps: int) -> Estimate:
    """Do what ``trace_of_function`` does; errors name the caller."""
    A = square(A, name, samples, 2)
    check_count(name, "steps", steps)
    if steps < 1:
        raise BadInput(f"{name}: steps is {steps!r}, expected a positive number")
    n = A.shape[0]
    z = signs(key, n, samples, A.dtype)
    k = min(steps, n)
    if n == 0:
        zero = np.real(z).sum()
        return Estimate(zero, zero)
    together = min(max(AT_ONCE // (k * n), 1), samples)
    parts = []
    for begin in range(0, samples, together):
        T = lanczos_of_columns(name, A, z[:, begin : begin + together], k)[1]
        parts.append(n * hermitian_function(f, T)[:, 0, 0])
    return finite(name, mean(np.concatenate(parts)))


def _logarithm(values: Any) -> Any:
    if not np.all(values > 0.0):
        raise MorulaError(
            f"logdet: A is not positive definite: a Ritz value is {np.min(values):.6g}; add a multiple of the identity, or"
            " use trace_of_function with another function"
        )
    return np.log(values)
