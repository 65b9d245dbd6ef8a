"""Run the contenders on one derivative: compare their results, then time them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..racing.desk import Started
from ..racing.race import Stable, differs, timed
from ..worker import Failure
from .contenders import PEERS
from .program import Derivative


@dataclass
class Outcome:
    """The results for one derivative, by contender: seconds per call and for the first call, failures."""

    derivative: Derivative
    seconds: dict[str, float] = field(default_factory=dict)
    first: dict[str, float] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)

    def ratio(self, contender: str, others: Sequence[str] = PEERS) -> float | None:
        """The contender's time relative to that of the fastest peer, or of the fastest of some others."""
        peers = [self.seconds[peer] for peer in others if peer in self.seconds]
        return self.seconds[contender] / min(peers) if peers and contender in self.seconds else None

    def compilation(self, contender: str) -> float | None:
        """The compilation time in seconds: the first call's time beyond that of a later call."""
        if contender in self.first and contender in self.seconds:
            return max(0.0, self.first[contender] - self.seconds[contender])
        return None


def race(derivative: Derivative, stable: Stable, contenders: Sequence[str], repeats: int) -> Outcome:
    """Compare all results with those of the first contender that has any, a peer; wrong contenders are not timed."""
    outcome = Outcome(derivative)
    reference: Started | None = None
    for contender in contenders:
        answer = stable.order(contender, "start", derivative.name, derivative.size)
        if isinstance(answer, Started):
            reference = reference or answer
            wrong = differs(answer, reference, derivative.rtol)
            if wrong is None:
                outcome.first[contender] = answer.seconds
            else:
                outcome.failures[contender] = wrong
        elif isinstance(answer, Failure) and not answer.reason.startswith("LookupError"):
            outcome.failures[contender] = answer
    outcome.seconds = timed(stable, list(outcome.first), repeats, outcome.failures)
    return outcome
