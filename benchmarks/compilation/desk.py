"""The desk of a contender: it answers requests in the contender's process."""

from __future__ import annotations

import ctypes
import gc
import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Started:
    """The result of a first call: the loss, its gradients, and its seconds, including compilation."""

    value: float
    gradients: tuple[Any, ...]
    seconds: float


class Desk:
    """Answers the requests, in the contender's process."""

    def __init__(self, contender: str) -> None:
        from .contenders import CONTENDERS

        self.contender = CONTENDERS[contender]
        self.call: Any = None
        # On a single processor, measure processor time, which excludes the machine's other work.
        self.clock = process_time if len(os.sched_getaffinity(0)) == 1 else perf_counter

    def start(self, name: str, size: Any) -> Started:
        """Prepare the call for a program at a size, and call it for the first time."""
        from .program import find

        program = find(name)
        self.call = self.contender.start(program, program.inputs(size))
        start = self.clock()
        value, gradients = self.contender.finish(self.call())
        seconds = self.clock() - start
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        return Started(float(value), tuple(np.array(g) for g in gradients), seconds)

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

    def slope(self, name: str, size: Any) -> tuple[float, float, float]:
        """The loss's slope along a random direction by the eager gradient and by differences, and the latter's error."""
        import morula as mo
        from morula.core.testing.differences import ridders

        from .program import find

        program = find(name)
        args = list(program.inputs(size))
        rng = np.random.default_rng(7)
        along = {i: rng.normal(size=np.shape(args[i])) for i in program.argnums}

        def moved(h: float) -> float:
            return float(program.numpy(*(a + h * along[i] if i in along else a for i, a in enumerate(args))))

        _, gradients = mo.value_and_grad(program.numpy, program.argnums)(*args)
        slope = sum(float(np.sum(g * along[i])) for g, i in zip(gradients, program.argnums))
        return slope, *ridders(moved, 1e-2)


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024
    return 0
