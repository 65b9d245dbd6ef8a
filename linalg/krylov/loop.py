"""The loop of all iterative methods: stopping, history, restarts from the true residual, and how the solve ended."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core import BadInput, MorulaError
from .recurrence import Method, Recurrence, applied, choose, inner, never, norm_of, ratio, some, without
from .solution import Status

# Plain ints, which a compiled loop can carry.
RUNNING = -1
CONVERGED, MAX_ITERATIONS = int(Status.CONVERGED), int(Status.MAX_ITERATIONS)
STAGNATED, BREAKDOWN = int(Status.STAGNATED), int(Status.BREAKDOWN)


def iterate(
    method: Method, A: Any, b: Any, x0: Any, M: Any, rtol: float, atol: float, limit: int
) -> tuple[Any, int, Any, Any, Any]:
    """Return x, the number of steps, the norm of b - A x, the history (limit + 1,), and the code of the status.

    For several right-hand sides, the columns of b, the norm and the code are (k,), and the history is (limit + 1, k).

    A recurrence's estimate of the residual drifts from b - A x, which is therefore computed when the run ends. If it is
    too large, another run begins from there, as long as that helps. The runs of several columns begin together, and each
    ends by itself.
    """
    dtype = np.result_type(A.dtype, np.asarray(b).dtype, np.float32)
    b = np.asarray(b, dtype=dtype)
    x = np.zeros((A.shape[1], *b.shape[1:]), dtype) if x0 is None else np.array(x0, dtype=dtype)
    if not (np.all(np.isfinite(b)) and np.all(np.isfinite(x))):
        which = "b" if not np.all(np.isfinite(b)) else "x0"
        raise BadInput(f"{method.name}: {which} holds NaN or Inf, expected finite numbers")
    eps = float(np.finfo(dtype).eps)
    rtol = max(rtol, eps)
    several = b.ndim == 2
    residual = b if x0 is None else b - A @ x
    norm = norm_of(residual)
    size = norm_of(b)
    target = np.maximum(rtol * size, atol)
    # A smaller residual is asked for, but rounding errors may prevent it.
    enough = np.maximum(eps ** (2 / 3) * size, target)
    history = np.zeros((limit + 1, *b.shape[1:]))
    history[0] = norm
    measure = _measure(method, A, M, residual, norm, target, rtol, 0.0)
    iterations, steps = 0, np.zeros(b.shape[1:], int)
    code = choose(measure <= target, CONVERGED, RUNNING if limit > 0 else MAX_ITERATIONS)
    while some(code == RUNNING):
        last, kept, kept_residual, kept_norm = measure, x, residual, norm
        running = code == RUNNING
        # The right-hand side is scaled to norm 1, so that no product underflows.
        scaled = residual / choose(norm > 0.0, norm, 1.0)
        run = method.start(A, M, without(np.logical_not(running), scaled) if several else scaled)
        goal = ratio(target, norm)
        live = running & _goes_on(run, goal, rtol, eps)
        found, ended, broken = np.zeros_like(x), never(b), never(b)
        while iterations < limit and some(live):
            run.step()
            iterations += 1
            history[iterations] = choose(live, norm * run.norm, history[iterations - 1])
            over = live & np.logical_not(_goes_on(run, goal, rtol, eps))
            if several:
                steps = np.where(live, iterations, steps)
                if some(over):
                    found = np.where(over, run.solution(), found)
                    ended, broken = np.where(over, run.ended, ended), np.where(over, run.broken, broken)
                    run.clear(over)
            live = live & np.logical_not(over)
        if several:
            found = np.where(live, run.solution(), found)
        else:
            found, ended, broken = run.solution(), run.ended, run.broken
        # A compiled loop keeps the memory order of an array, which a preconditioner may change.
        x = np.ascontiguousarray(x + norm * found)
        residual = b - A @ x
        norm = norm_of(residual)
        measure = _measure(method, A, M, residual, norm, target, rtol, run.scale)
        # A run that has met the target by its own estimate must have come at least half of the way.
        is_less = measure < choose(ended, 1.0 - eps**0.5, 0.5) * last
        now = choose(is_less, RUNNING, choose(broken, BREAKDOWN, STAGNATED))
        now = choose(iterations >= limit, MAX_ITERATIONS, now)
        now = choose(norm < kept_norm / eps**0.5, now, BREAKDOWN)  # else the run has diverged
        now = choose(measure <= target, CONVERGED, now)
        if some(running & (now == BREAKDOWN)):
            _refuse_nan(method, A, M, kept_residual)
        is_worse = running & ((now == BREAKDOWN) | ((now == STAGNATED) & (measure > last)))
        x, norm, measure = choose(is_worse, kept, x), choose(is_worse, kept_norm, norm), choose(is_worse, last, measure)
        now = choose((now != RUNNING) & (measure <= enough), CONVERGED, now)
        code = choose(running, now, code)
    # Entries after the last step are not read: with several columns, each has its own last step.
    if several:
        history = np.where(np.arange(limit + 1)[:, None] < steps, history, norm)
    else:
        history[iterations] = norm
    return x, iterations, norm, history, code


def _goes_on(run: Recurrence, goal: Any, rtol: float, eps: float) -> Any:
    """Return whether the run can go on, and has not met its goal."""
    return np.logical_not(run.ended) & (run.norm < 1.0 / eps) & (run.measure(goal, rtol) > goal)


def _measure(method: Method, A: Any, M: Any, residual: Any, norm: Any, target: Any, rtol: float, scale: Any) -> Any:
    """Return what is compared with the target: the residual norm, or that of a least-squares problem (see ``lsqr``)."""
    if not method.least_squares:
        return norm
    gradient = A.H @ residual
    size = norm_of(gradient)
    if M is not None:
        gradient = ratio(gradient, size)
        product = np.real(inner(gradient, M @ gradient))
        # A run refuses an M that is not definite.
        size = size * np.sqrt(choose(product > 0.0, product, np.real(inner(gradient, gradient))))
    slope = ratio(size, norm)
    scaled = target * ratio(slope, rtol * np.maximum(scale, slope))
    return choose(slope > 0.0, np.minimum(norm, scaled), 0.0 * norm)


def _refuse_nan(method: Method, A: Any, M: Any, residual: Any) -> None:
    """Raise an error if it is the operator that makes a finite vector NaN or Inf, and not an overflow on the way."""
    conditioned = A.H @ residual if method.least_squares and M is not None else residual
    for name, operator, vector in (("the preconditioner", M, conditioned), ("A", A, residual)):
        if method.least_squares and operator is A:
            operator = A.H
        if not np.all(np.isfinite(applied(operator, vector))):
            raise MorulaError(f"{method.name}: {name} applied to a finite vector gave NaN or Inf")
