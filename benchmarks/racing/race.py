"""The contenders' processes, the comparison of their results, and their times, interleaved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from ..worker import Failure, Worker
from .contender import Contender
from .desk import Started

LEAST, LONG = 1e-2, 1.0
"""Seconds: the shortest measurement, and the longest call that is timed more than once."""

WARM = 5
"""Calls before the calls in a measurement are counted: the first ones find cold caches, and would make it too short."""


class Stable:
    """The contenders' processes; ``make`` makes a desk from the name of a contender, and must be picklable."""

    def __init__(self, make: Callable[[str], Any], contenders: Iterable[Contender], limit: float) -> None:
        self.limit = limit
        self.workers = {c.name: Worker(partial(make, c.name), c.environment) for c in contenders}

    def order(self, contender: str, what: str, *details: object) -> Any | Failure:
        return self.workers[contender].order(what, *details, limit=self.limit)

    def close(self) -> None:
        for worker in self.workers.values():
            worker.stop()


def timed(stable: Stable, contenders: Sequence[str], repeats: int, failures: dict[str, Failure]) -> dict[str, float]:
    """The median over repeats, interleaved so that a slow phase of the machine affects all alike.

    A contender whose call takes more than ``LONG`` is timed once.  One that fails has no time; ``failures`` gets why.
    """
    rounds: dict[str, int] = {}
    times: dict[str, list[float]] = {}
    for contender in contenders:
        once = stable.order(contender, "time", 1)
        if isinstance(once, float) and once > LONG:
            times[contender] = [once]
            continue
        warm = stable.order(contender, "time", WARM) if isinstance(once, float) and once * WARM < LONG else once
        if isinstance(warm, float):
            rounds[contender] = max(1, int(LEAST / max(warm, 1e-9)))
        elif isinstance(warm, Failure):
            failures[contender] = warm
    for _ in range(repeats):
        for contender, count in rounds.items():
            answer = stable.order(contender, "time", count)
            if isinstance(answer, float):
                times.setdefault(contender, []).append(answer)
            elif isinstance(answer, Failure):
                failures[contender] = answer
    return {c: median(times[c]) for c in contenders if c in times and c not in failures}


def differs(answer: Started, reference: Started, rtol: float) -> Failure | None:
    """The difference between an answer and the reference, or None if they agree: within ``rtol`` of the largest number."""
    if len(answer.results) != len(reference.results):
        return Failure("wrong: number of results", f"{len(answer.results)} for {len(reference.results)}")
    for i, (found, expected) in enumerate(zip(answer.results, reference.results)):
        if found.shape != expected.shape:
            return Failure(f"wrong: shape of result {i}", f"{found.shape} for {expected.shape}")
        worst, largest = np.max(np.abs(found - expected), initial=0.0), np.max(np.abs(expected), initial=0.0)
        if not worst <= rtol * largest:
            return Failure(f"wrong: result {i}", f"result {i} is off by {worst:.3g} where the largest is {largest:.3g}")
    return None


def is_wrong(failure: Failure) -> bool:
    """Whether the results differed, rather than that there were none."""
    return failure.reason.startswith("wrong")
