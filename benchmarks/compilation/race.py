"""Run the contenders of a program on the same arguments, compare their results and time them, interleaved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median

import numpy as np

from ..worker import Failure, Worker
from .contenders import CONTENDERS
from .desk import Desk, Started
from .program import Program

MAIN = ("hand", "JAX", "JAX, switch", "native", "xla")
LEAST, LONG = 2e-3, 1.0
"""Seconds: the shortest measurement, and the longest call that is timed more than once."""


@dataclass
class Outcome:
    """The results of one program, by contender: seconds per call and for the first call, peak bytes, failures."""

    program: Program
    seconds: dict[str, float] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    memory: dict[str, int] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    small: dict[str, float] = field(default_factory=dict)

    def ratio(self, contender: str) -> float | None:
        """The contender's time relative to the hand-written adjoint's."""
        if contender in self.seconds and "hand" in self.seconds:
            return self.seconds[contender] / self.seconds["hand"]
        return None

    def compilation(self, contender: str) -> float | None:
        """The compilation time in seconds: the first call's time beyond that of a later call."""
        if contender in self.first and contender in self.seconds:
            return max(0.0, self.first[contender] - self.seconds[contender])
        return None


class Stable:
    """The contenders' processes."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self.workers = {c.name: Worker(partial(Desk, c.name), c.environment) for c in CONTENDERS.values()}

    def order(self, contender: str, what: str, *details: object) -> object:
        return self.workers[contender].order(what, *details, limit=self.limit)

    def close(self) -> None:
        for worker in self.workers.values():
            worker.stop()


def race(program: Program, stable: Stable, contenders: Sequence[str], repeats: int, memory: bool = False) -> Outcome:
    """Check the contenders' results, then time them.

    At the small size, the eager gradient is compared with differences of the plain program, and the hand-written one
    with the eager one.  At the full size, all are compared with the hand-written one.  Wrong contenders are not timed.
    """
    outcome = Outcome(program)
    if not _small(program, stable, outcome, repeats):
        return outcome
    reference = stable.order("hand", "start", program.name, program.size)
    if isinstance(reference, Failure):
        outcome.failures["hand"] = reference
        return outcome
    assert isinstance(reference, Started)
    running = ["hand"]
    outcome.first.setdefault("hand", reference.seconds)
    for contender in contenders:
        if contender == "hand" or (contender == "JAX, literal" and program.jax_literal is None):
            continue
        answer = stable.order(contender, "start", program.name, program.size)
        wrong = answer if isinstance(answer, Failure) else differs(answer, reference, program.rtol)
        if wrong:
            outcome.failures[contender] = wrong
        else:
            running.append(contender)
            outcome.first[contender] = answer.seconds  # type: ignore[union-attr]
    outcome.seconds = _timed(stable, running, repeats, outcome)
    if memory:
        for contender in running:
            answer = stable.order(contender, "memory")
            if isinstance(answer, int):
                outcome.memory[contender] = answer
    return outcome


def _small(program: Program, stable: Stable, outcome: Outcome, repeats: int) -> bool:
    """Whether the hand-written gradient is right; also time it and the eager path at the small size."""
    slopes = stable.order("eager", "slope", program.name, program.small)
    eager = stable.order("eager", "start", program.name, program.small)
    if isinstance(slopes, Failure):
        outcome.failures["eager"] = slopes
    elif isinstance(eager, Started):
        slope, differences, error = slopes  # type: ignore[misc]
        if not abs(slope - differences) <= max(1e-5, program.rtol) * abs(differences) + 100 * error:
            text = f"slope {slope:.12g} by the eager gradient, {differences:.12g} by differences"
            outcome.failures["eager"] = Failure("wrong against differences", text)
    hand = stable.order("hand", "start", program.name, program.small)
    if isinstance(hand, Failure):
        outcome.failures["hand"] = hand
        return False
    assert isinstance(hand, Started)
    outcome.first["hand"] = hand.seconds
    if isinstance(eager, Started):
        wrong = differs(hand, eager, program.rtol)
        if wrong:
            outcome.failures["hand"] = wrong
            return False
        outcome.small = _timed(stable, ["hand", "eager"], min(repeats, 3), outcome)
    return True


def _timed(stable: Stable, contenders: Sequence[str], repeats: int, outcome: Outcome) -> dict[str, float]:
    """The median over repeats, interleaved so that a slow phase of the machine affects all alike.

    A contender whose call takes more than ``LONG`` is timed once.
    """
    rounds: dict[str, int] = {}
    times: dict[str, list[float]] = {}
    for contender in contenders:
        once = stable.order(contender, "time", 1)
        if isinstance(once, float) and once > LONG:
            times[contender] = [once]
        elif isinstance(once, float):
            rounds[contender] = max(1, int(LEAST / max(once, 1e-9)))
        elif isinstance(once, Failure):
            outcome.failures[contender] = once
    for _ in range(repeats):
        for contender, count in rounds.items():
            answer = stable.order(contender, "time", count)
            if isinstance(answer, float):
                times.setdefault(contender, []).append(answer)
            elif isinstance(answer, Failure):
                outcome.failures[contender] = answer
    return {c: median(times[c]) for c in contenders if c in times and c not in outcome.failures}


def differs(answer: object, reference: Started, rtol: float) -> Failure | None:
    """The difference between an answer and the reference, or None if they agree."""
    assert isinstance(answer, Started)
    pairs = [("value", np.array(answer.value), np.array(reference.value))]
    pairs += [(f"gradient {i}", *pair) for i, pair in enumerate(zip(answer.gradients, reference.gradients))]
    if len(answer.gradients) != len(reference.gradients):
        return Failure("wrong: number of gradients", f"{len(answer.gradients)} for {len(reference.gradients)}")
    for what, found, expected in pairs:
        if found.shape != expected.shape:
            return Failure(f"wrong: shape of {what}", f"{found.shape} for {expected.shape}")
        worst, largest = np.max(np.abs(found - expected), initial=0.0), np.max(np.abs(expected), initial=0.0)
        if not worst <= rtol * largest:
            return Failure(f"wrong: {what}", f"{what} is off by {worst:.3g} where the largest is {largest:.3g}")
    return None
