"""Which eigenvalues are wanted, and in which order they are returned."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput

HERMITIAN = ("largest", "smallest", "magnitude")
GENERAL = ("magnitude", "largest real", "smallest real", "largest imaginary", "smallest imaginary")


def check_which(name: str, which: Any, known: tuple[str, ...]) -> None:
    """Raise BadInput unless ``which`` is known."""
    if which not in known:
        raise BadInput(f"{name}: which is {which!r}, expected one of {', '.join(repr(w) for w in known)}")


def order_of(values: Any, which: str, sigma: Any) -> Any:
    """Return the indices that sort the eigenvalues, the most wanted first; nearest to ``sigma`` if it is given."""
    distance = _distance(values, which, sigma)
    if np.iscomplexobj(values):
        # Of two conjugate values, the one with positive imaginary part first.
        distance = distance - 1e-9 * np.max(np.abs(values)) * np.sign(np.imag(values))
    return np.argsort(distance, kind="stable")


def _distance(values: Any, which: str, sigma: Any) -> Any:
    """Return numbers that are smaller for more wanted values."""
    if sigma is not None:
        return np.abs(values - sigma)
    if which == "magnitude":
        return -np.abs(values)
    part = np.imag(values) if which.endswith("imaginary") else np.real(values)
    return part if which.startswith("smallest") else -part
