"""Times of programs in one process, interleaved."""

from __future__ import annotations

import gc
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any


def timed(programs: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The median time in seconds of each program, after one warm-up run.

    Within a measurement a program is repeated, for about two milliseconds.
    """
    rounds = {}
    for name, program in programs.items():
        program()
        once = _seconds(program, 1)
        rounds[name] = max(1, int(2e-3 / max(once, 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(repeats):
        for name, program in programs.items():
            times[name].append(_seconds(program, rounds[name]) / rounds[name])
    return {name: median(values) for name, values in times.items()}


def _seconds(program: Callable[[], Any], rounds: int) -> float:
    gc.collect()
    start = perf_counter()
    for _ in range(rounds):
        program()
    return perf_counter() - start
