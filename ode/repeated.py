"""The loop of methods that take equal steps and carry nothing from one to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

Step = Callable[[float, Any], Any]


def repeated_states(prepare: Callable[[float], Step], y: Any, times: NDArray[Any], steps: int) -> list[Any]:
    """Return the states at ``times`` from that at the first: ``prepare(h)`` returns the step (t, y) -> y of a size h."""
    states = [y]
    for i in range(len(times) - 1):
        t = float(times[i])
        h = (float(times[i + 1]) - t) / steps
        step = prepare(h)
        for j in range(steps):
            y = step(t + j * h, y)
        states.append(y)
    return states
