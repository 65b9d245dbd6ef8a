"""Checks of the products of Hermitian operators, as their methods compute them anyway."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import MorulaError
from .recurrence import inner, length, some


def positive_product(method: str, p: Any, Ap: Any, name: str) -> Any:
    """Return p·Ap, or those of the columns; raise an error naming the operator if one is not real and positive.

    That of a vector of zeros is zero, and no error.
    """
    value = real_product(method, p, Ap, name)
    if some(np.logical_not(value > 0.0)):
        norm = length(p)
        wrong = np.logical_not(value > 0.0) & (norm > 0.0)
        if some(wrong):
            value, norm = _first(wrong, value), _first(wrong, norm)
            raise MorulaError(
                f"{method}: {name} is not positive definite: p·Ap = {value:.6g} for a p of norm {norm:.6g}"
            )
    return value


def real_product(method: str, p: Any, Ap: Any, name: str) -> Any:
    """Return p·Ap, or those of the columns; raise an error naming the operator if one is not real."""
    value = inner(p, Ap)
    if some(np.logical_not(np.isfinite(value))):
        raise MorulaError(f"{method}: {name} applied to a finite vector gave NaN or Inf")
    if value.dtype.kind != "c":
        return value
    bound = length(p) * length(Ap)
    wrong = np.abs(np.imag(value)) > np.sqrt(np.finfo(value.dtype).eps) * bound
    if some(wrong):
        value = _first(wrong, value)
        raise MorulaError(f"{method}: {name} is not Hermitian: p·Ap = {value:.6g} is not real")
    return np.real(value)


def check_hermitian(method: str, q: Any, Aq: Any, p: Any, Ap: Any) -> None:
    """Raise an error if A is not Hermitian, from its products with two vectors, or with the columns of two blocks."""
    lengths = length(q) * length(Ap) + length(p) * length(Aq)
    if some(np.abs(inner(q, Ap) - np.conj(inner(p, Aq))) > np.sqrt(np.finfo(p.dtype).eps) * lengths):
        raise MorulaError(
            f"{method}: A (or the preconditioner) is not Hermitian: q·Ap and Aq·p differ; {method} needs A equal to A.H"
        )


def _first(mask: Any, values: Any) -> Any:
    """Return the value of the first column in the mask."""
    return values if np.ndim(mask) == 0 else values[np.argmax(mask)]
