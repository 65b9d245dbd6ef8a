"""The desk of a contender: it answers requests in the contender's process."""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Started:
    """The results of a first call, and its seconds, including compilation."""

    results: tuple[np.ndarray, ...]
    seconds: float


class Desk:
    """Answers the requests, in the contender's process; ``package`` has the contenders and the programs."""

    def __init__(self, package: str, contender: str) -> None:
        self.contender = importlib.import_module(f"{package}.contenders").CONTENDERS[contender]
        self.find = importlib.import_module(f"{package}.program").find
        self.call: Any = None
        # On a single processor, measure processor time, which excludes the machine's other work.
        self.clock = process_time if len(os.sched_getaffinity(0)) == 1 else perf_counter

    def start(self, name: str, size: Any) -> Started:
        """Prepare the call for a program at a size, and call it for the first time."""
        program = self.find(name)
        self.call = self.contender.start(program, program.inputs(size))
        start = self.clock()
        result = self.contender.finish(self.call())
        seconds = self.clock() - start
        return Started(tuple(np.array(leaf) for leaf in leaves(result)), seconds)

    def time(self, rounds: int) -> float:
        """Seconds per call, averaged over ``rounds`` calls."""
        call, finish = self.call, self.contender.finish
        gc.collect()
        gc.disable()
        start = self.clock()
        for _ in range(rounds):
            finish(call())
        seconds = self.clock() - start
        gc.enable()
        return seconds / rounds

    def returns(self, rounds: int) -> float:
        """Seconds until a call returns, without waiting for its result, averaged over ``rounds`` calls."""
        call, finish = self.call, self.contender.finish
        start = self.clock()
        for _ in range(rounds):
            result = call()
        seconds = self.clock() - start
        finish(result)  # type: ignore[possibly-unbound]
        return seconds / rounds

    def memory(self) -> int:
        """The peak memory of the process during a call, in bytes beyond its memory before the call."""
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # freed memory that the process still holds would hide the call's memory
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
        before = _status("VmRSS")
        self.contender.finish(self.call())
        return _status("VmHWM") - before


def leaves(result: Any) -> Iterator[Any]:
    """The numbers and arrays of nested tuples and lists, in their order."""
    if isinstance(result, (tuple, list)):
        for part in result:
            yield from leaves(part)
    else:
        yield result


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0
