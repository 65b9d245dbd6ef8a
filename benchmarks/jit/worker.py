"""The process of one contender, and the requests that it answers.

A failed request returns a ``Failure``.  So does a request that takes too long or kills the process; the next one then
starts a new process.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

Answer = Any


@dataclass(frozen=True)
class Failure:
    """Why there is no answer: one line, and all there is to say."""

    reason: str
    text: str


@dataclass(frozen=True)
class Started:
    """What a first call gave: the loss, its gradients, and the seconds it took, compilation and all."""

    value: float
    gradients: tuple[Any, ...]
    seconds: float


class Worker:
    """A contender's process.  ``order`` asks it for something and waits for the answer, ``limit`` seconds at most."""

    def __init__(self, contender: str, environment: dict[str, str]) -> None:
        self.contender = contender
        self.environment = environment
        self.process: Any = None
        self.connection: Any = None

    def order(self, what: str, *details: Any, limit: float = 300.0) -> Answer | Failure:
        if self.process is None:
            self._start()
        try:
            self.connection.send((what, details))
            if self.connection.poll(limit):
                return self.connection.recv()
            self.stop()
            reason = f"more than {limit:.0f} s"
        except (EOFError, OSError):
            reason = f"its process ended with code {self.stop()}"
        return Failure(reason, reason)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other, self.contender), daemon=True)
        with _environment(self.environment):
            self.process.start()
        other.close()

    def stop(self) -> int | None:
        """End the process, whatever it is doing; its exit code."""
        if self.process is None:
            return None
        self.process.join(0.2)  # what has crashed ends with its own code
        self.process.kill()
        self.process.join()
        self.connection.close()
        code, self.process = self.process.exitcode, None
        return code


@contextlib.contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _serve(connection: Any, contender: str) -> None:
    desk = _Desk(contender)
    while True:
        try:
            what, details = connection.recv()
        except EOFError:
            return
        try:
            answer = getattr(desk, what)(*details)
        except Exception as error:
            said = " ".join([str(error), *getattr(error, "__notes__", ())]).split()
            answer = Failure(f"{type(error).__name__}: {' '.join(said)}", traceback.format_exc())
        connection.send(answer)


class _Desk:
    """The orders, in the contender's process."""

    def __init__(self, contender: str) -> None:
        from .contenders import CONTENDERS

        self.contender = CONTENDERS[contender]
        self.call: Any = None
        # By the processor where there is one of it, so that what else the machine does is not counted.
        self.clock = process_time if len(os.sched_getaffinity(0)) == 1 else perf_counter

    def start(self, name: str, size: Any) -> Started:
        """Make the call for a program at a size, and call it."""
        from .program import find

        program = find(name)
        self.call = self.contender.start(program, program.inputs(size))
        start = self.clock()
        value, gradients = self.contender.finish(self.call())
        seconds = self.clock() - start
        gradients = gradients if isinstance(gradients, tuple) else (gradients,)
        return Started(float(value), tuple(np.array(g) for g in gradients), seconds)

    def time(self, rounds: int) -> float:
        """Seconds for a call, the mean of so many."""
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
        """Seconds until a call is back, whether or not its result has arrived, the mean of so many."""
        call, finish = self.call, self.contender.finish
        start = self.clock()
        for _ in range(rounds):
            result = call()
        seconds = self.clock() - start
        finish(result)  # type: ignore[possibly-unbound]
        return seconds / rounds

    def memory(self) -> int:
        """How many bytes more than before it the process holds during a call, at its peak."""
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # what is free but still held would hide what the call needs
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
        before = _status("VmRSS")
        self.contender.finish(self.call())
        return _status("VmHWM") - before

    def slope(self, name: str, size: Any) -> tuple[float, float, float]:
        """The loss's slope along a random direction: by morula's eager gradient, by differences, and the latter's error."""
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
