"""The loop of all eigenvalue iterations: stopping, history, and how the iteration ended."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import MorulaError
from ..krylov import Status

# Plain ints, which a compiled loop can carry.
RUNNING = -1
CONVERGED, MAX_ITERATIONS, STAGNATED = int(Status.CONVERGED), int(Status.MAX_ITERATIONS), int(Status.STAGNATED)
PATIENCE = 60
"""The number of cycles without a smaller residual after which an iteration is said to have stagnated."""


class Cycle(ABC):
    """One run of a method: a space that approximates an invariant one, and the pairs found in it."""

    norms: Any
    """Estimates of the residual norms of the k wanted pairs, (k,)."""
    scale: Any
    """An estimate of the norm of the operator, which the tolerance is relative to."""

    @abstractmethod
    def step(self) -> None:
        """Do one cycle: improve the space, and find the pairs in it."""

    @abstractmethod
    def basis(self) -> Any:
        """Return an orthonormal basis of the wanted space."""


@dataclass
class Method:
    """A method for the loop."""

    name: str
    """What error messages call it: the public function."""
    start: Callable[[], Cycle]
    """Begins a run."""


def iterate(method: Method, rtol: float, limit: int) -> tuple[Any, int, Any, int]:
    """Return a basis of the wanted space, the number of cycles, the history (limit + 1,), and the code of the status."""
    run = method.start()
    eps = float(np.finfo(run.norms.dtype).eps)
    rtol = max(rtol, eps**0.8)
    history = np.zeros(limit + 1)
    iterations, code, idle = 0, RUNNING, 0
    best = np.inf
    while code == RUNNING:
        norm = np.max(run.norms)
        if not np.isfinite(norm):
            raise MorulaError(f"{method.name}: A applied to a finite vector gave NaN or Inf")
        history[iterations] = norm
        idle = 0 if norm < best else idle + 1
        best = min(norm, best)
        if norm <= rtol * run.scale:
            code = CONVERGED
        elif iterations >= limit:
            code = MAX_ITERATIONS
        elif idle >= PATIENCE:
            code = STAGNATED
        else:
            run.step()
            iterations += 1
    return run.basis(), iterations, history, code
