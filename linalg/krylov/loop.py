"""The loop of all iterative methods: stopping, history, restarts from the true residual, and how the solve ended."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput, MorulaError
from .recurrence import Method, applied, norm_of
from .solution import Status

# Plain ints, which a compiled loop can carry.
RUNNING = -1
CONVERGED, MAX_ITERATIONS = int(Status.CONVERGED), int(Status.MAX_ITERATIONS)
STAGNATED, BREAKDOWN = int(Status.STAGNATED), int(Status.BREAKDOWN)


def iterate(
    method: Method, A: Any, b: Any, x0: Any, M: Any, rtol: float, atol: float, limit: int
) -> tuple[Any, int, float, Any, int]:
    """Return x, the number of steps, the norm of b - A x, the history (limit + 1,), and the code of the status.

    A recurrence's estimate of the residual drifts from b - A x, which is therefore computed when the run ends. If it is
    too large, another run begins from there, as long as that helps.
    """
    dtype = np.result_type(A.dtype, np.asarray(b).dtype, np.float32)
    b = np.asarray(b, dtype=dtype)
    x = np.zeros(A.shape[1], dtype) if x0 is None else np.array(x0, dtype=dtype)
    if not (np.all(np.isfinite(b)) and np.all(np.isfinite(x))):
        which = "b" if not np.all(np.isfinite(b)) else "x0"
        raise BadInput(f"{method.name}: {which} holds NaN or Inf, expected finite numbers")
    eps = float(np.finfo(dtype).eps)
    rtol = max(rtol, eps ** (2 / 3))
    target = max(rtol * norm_of(b), atol)
    history = np.zeros(limit + 1)
    residual = b if x0 is None else b - A @ x
    norm = norm_of(residual)
    history[0] = norm
    measure = _measure(method, A, residual, norm, target, rtol, 0.0)
    iterations, code = 0, RUNNING
    if measure <= target:
        code = CONVERGED
    elif limit <= 0:
        code = MAX_ITERATIONS
    while code == RUNNING:
        last, kept, kept_residual, kept_norm = measure, x, residual, norm
        # The right-hand side is scaled to norm 1, so that no product underflows.
        run = method.start(A, M, residual / norm)
        while (
            iterations < limit
            and not run.ended
            and run.norm < 1.0 / eps
            and run.measure(target / norm, rtol) > target / norm
        ):
            run.step()
            iterations += 1
            history[iterations] = norm * run.norm
        x = x + norm * run.solution()
        residual = b - A @ x
        norm = norm_of(residual)
        measure = _measure(method, A, residual, norm, target, rtol, run.scale)
        # A run that has met the target by its own estimate must have come at least half of the way.
        needed = (1.0 - eps**0.5) * last if run.ended else 0.5 * last
        if measure <= target:
            code = CONVERGED
        elif not norm < kept_norm / eps**0.5:
            code = BREAKDOWN  # the run has diverged
        elif iterations >= limit:
            code = MAX_ITERATIONS
        elif not measure < needed:
            code = BREAKDOWN if run.broken else STAGNATED
        if code == BREAKDOWN:
            _refuse_nan(method, A, M, kept_residual)
        if code == BREAKDOWN or (code == STAGNATED and measure > last):
            x, norm = kept, kept_norm
    history = np.where(np.arange(limit + 1) < iterations, history, norm)
    return x, iterations, norm, history, code


def _measure(method: Method, A: Any, residual: Any, norm: Any, target: Any, rtol: float, scale: Any) -> Any:
    """Return what is compared with the target: the residual norm, or that of a least-squares problem (see ``lsqr``)."""
    if not method.least_squares:
        return norm
    slope = norm_of(A.H @ residual)
    if slope == 0.0:
        return 0.0
    return min(norm, target * (slope / norm) / (rtol * max(scale, slope / norm)))


def _refuse_nan(method: Method, A: Any, M: Any, residual: Any) -> None:
    """Raise an error if it is the operator that makes a finite vector NaN or Inf, and not an overflow on the way."""
    for name, operator in (("the preconditioner", M), ("A", A)):
        if not np.all(np.isfinite(applied(operator, residual))):
            raise MorulaError(f"{method.name}: {name} applied to a finite vector gave NaN or Inf")
