"""How the pages of operations try each one: a loss of its result, and ``yes`` or ``no``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import morula as mo

REFUSALS = (AssertionError, mo.MorulaError, np.linalg.LinAlgError, NotImplementedError, TypeError, ValueError)


def loss_of(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a real number that depends on every entry of the result."""

    def loss(a: Any) -> Any:
        y = f(a)
        at = np.arange(np.size(y)).reshape(np.shape(y))
        return np.sum(np.real(y) * np.cos(at) + np.imag(y) * np.sin(at))

    return loss


def tried(check: Callable[[], Any], refusals: tuple[type[Exception], ...] = REFUSALS) -> str:
    """Return ``yes`` if a check raises nothing, ``no`` if it raises one of the refusals."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check()
        except refusals:
            return "no"
    return "yes"
