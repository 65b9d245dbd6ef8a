"""Checks of the products of Hermitian operators, as their methods compute them anyway."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import MorulaError


def positive_product(method: str, p: Any, Ap: Any, name: str) -> Any:
    """Return p·Ap; raise an error naming the operator if it is not real and positive."""
    value = real_product(method, p, Ap, name)
    if not value > 0.0:
        raise MorulaError(
            f"{method}: {name} is not positive definite: p·Ap = {value:.6g} for a p of norm {np.linalg.norm(p):.6g}"
        )
    return value


def real_product(method: str, p: Any, Ap: Any, name: str) -> Any:
    """Return p·Ap; raise an error naming the operator if it is not real."""
    value = np.vdot(p, Ap)
    if not np.isfinite(value):
        raise MorulaError(f"{method}: {name} applied to a finite vector gave NaN or Inf")
    if value.dtype.kind != "c":
        return value
    bound = float(np.linalg.norm(p) * np.linalg.norm(Ap))
    if abs(value.imag) > np.sqrt(np.finfo(value.dtype).eps) * bound:
        raise MorulaError(f"{method}: {name} is not Hermitian: p·Ap = {value:.6g} is not real")
    return value.real


def check_hermitian(method: str, q: Any, Aq: Any, p: Any, Ap: Any) -> None:
    """Raise an error if A is not Hermitian, from its products with two vectors."""
    lengths = np.linalg.norm(q) * np.linalg.norm(Ap) + np.linalg.norm(p) * np.linalg.norm(Aq)
    if abs(np.vdot(q, Ap) - np.conj(np.vdot(p, Aq))) > np.sqrt(np.finfo(p.dtype).eps) * lengths:
        raise MorulaError(
            f"{method}: A (or the preconditioner) is not Hermitian: q·Ap and Aq·p differ; {method} needs A equal to A.H"
        )
