"""Learning rates as functions of the number of updates made, and the plateau, which needs the loss.

A schedule is any function of the number of updates; it may be used wherever a learning rate is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import BadInput
from .optimiser import Call, Step, check

Schedule = Callable[[Any], Any]


def cosine(peak: float, steps: int, end: float = 0.0) -> Schedule:
    """Fall from ``peak`` to ``end`` along half a cosine in ``steps`` updates, and stay.

    Source: I. Loshchilov and F. Hutter, SGDR (2017), equation 5.

    >>> schedule = cosine(1.0, 10)
    >>> round(float(schedule(0)), 6), round(float(schedule(5)), 6), round(float(schedule(20)), 6)
    (1.0, 0.5, 0.0)
    """
    _check_steps("cosine", steps)
    return lambda t: end + 0.5 * (peak - end) * (1.0 + np.cos(math.pi * np.minimum(t / steps, 1.0)))


def exponential(start: float, decay: float, every: int = 1) -> Schedule:
    """Multiply by ``decay`` for each ``every`` updates.

    >>> exponential(1.0, 0.5, 10)(20)
    0.25
    """
    _check_steps("exponential", every)
    return lambda t: start * decay ** (t / every)


def piecewise(start: float, changes: dict[int, float]) -> Schedule:
    """Multiply by a factor at each of the given numbers of updates.

    >>> schedule = piecewise(1.0, {10: 0.1})
    >>> float(schedule(9)), float(schedule(10))
    (1.0, 0.1)
    """
    pairs = sorted(changes.items())

    def schedule(t: Any) -> Any:
        rate = start
        for at, factor in pairs:
            rate = rate * np.where(t >= at, factor, 1.0)
        return rate

    return schedule


def warm_up(schedule: Schedule | float, steps: int) -> Schedule:
    """Rise linearly in ``steps`` updates to the start of ``schedule``, which then begins.

    >>> schedule = warm_up(0.5, 4)
    >>> float(schedule(0)), float(schedule(2)), float(schedule(9))
    (0.0, 0.25, 0.5)
    """
    _check_steps("warm_up", steps)
    after = schedule if callable(schedule) else lambda t: schedule
    return lambda t: np.minimum(t / steps, 1.0) * after(np.maximum(t - steps, 0))


def one_cycle(peak: float, steps: int, rise: float = 0.3, start: float = 25.0, end: float = 1e4) -> Schedule:
    """Rise from ``peak / start`` to ``peak`` in a part ``rise`` of ``steps``, then fall to ``peak / end``, along cosines.

    Source: L.N. Smith and N. Topin, Super-convergence (2019).

    >>> schedule = one_cycle(1.0, 100)
    >>> round(float(schedule(0)), 6), round(float(schedule(30)), 6)
    (0.04, 1.0)
    """
    _check_steps("one_cycle", steps)
    top = rise * steps
    up, down = cosine(peak / start, 1, peak), cosine(peak, 1, peak / end)

    def schedule(t: Any) -> Any:
        return np.where(t < top, up(np.minimum(t / top, 1.0)), down(np.maximum(t - top, 0.0) / (steps - top)))

    return schedule


@dataclass(frozen=True)
class Plateau(Step):
    """The factor, the least loss, and the number of updates since; one memory for each leaf."""

    factor: float
    patience: int
    least: float

    def remember(self, x: Any) -> tuple[Any, ...]:
        return 1.0, math.inf, 0

    def turn(self, number: int, x: Any, direction: Any, *memory: Any) -> tuple[Any, ...]:
        return (memory[0] * direction, *memory)

    def turn_all(
        self, call: Call, xs: list[Any], directions: list[Any], memories: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        if call.value is None:
            raise BadInput("plateau: the loss is not known; call update(..., value=loss)")
        kept = []
        for scale, best, waited in memories:
            better = call.value < best
            waited = 0 if better else waited + 1
            best = call.value if better else best
            if waited >= self.patience:
                scale, waited = max(scale * self.factor, self.least), 0
            kept.append((scale, best, waited))
        return [memory[0] * u for memory, u in zip(kept, directions, strict=True)], kept


def plateau(factor: float = 0.1, patience: int = 10, least: float = 0.0) -> Step:
    """Make a step that multiplies by ``factor`` whenever the loss has not fallen for ``patience`` updates.

    Put it anywhere into a chain, and give the loss: ``optimiser.update(parameters, gradient, state, value=loss)``.
    """
    check("plateau", "factor", factor, "a number in (0, 1)", 0 < factor < 1)
    _check_steps("plateau", patience)
    return Plateau(factor, patience, least)


def _check_steps(method: str, steps: int) -> None:
    check(method, "the number of updates", steps, "1 or more", steps >= 1)
