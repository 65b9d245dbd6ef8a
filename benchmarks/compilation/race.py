"""Run the contenders of a program on the same arguments, compare their results and time them, interleaved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..racing.desk import Started
from ..racing.race import Stable, differs, timed
from ..worker import Failure
from .program import Program

MAIN = ("hand", "JAX", "JAX, switch", "native", "xla")


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
            outcome.first[contender] = answer.seconds
    outcome.seconds = timed(stable, running, repeats, outcome.failures)
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
        slope, differences, error = slopes
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
        outcome.small = timed(stable, ["hand", "eager"], min(repeats, 3), outcome.failures)
    return True
