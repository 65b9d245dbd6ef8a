"""Tables of the outcomes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..racing.race import is_wrong
from ..report import Table
from .race import Outcome

COMPILED = ("JAX", "JAX, switch", "native", "xla")
SLOW = 3


def table(outcomes: Sequence[Outcome], contenders: Sequence[str]) -> Table:
    """Times: hand-written in ms, the others relative to it; last row: geometric means over the programs that run."""
    others = [c for c in contenders if c != "hand"]
    rows = [
        [
            "program",
            "by hand, ms",
            *(f"{c}, x" for c in others),
            "native / JAX",
            "xla / JAX, switch",
            "eager, x (small)",
        ]
    ]
    for o in outcomes:
        hand = f"{o.seconds['hand'] * 1e3:.3g}" if "hand" in o.seconds else _why(o, "hand")
        cells = [f"{r:.2f}" if (r := o.ratio(c)) is not None else _why(o, c) for c in others]
        rows.append(
            [o.program.name, hand, *cells, _over(o, "native", "JAX"), _over(o, "xla", "JAX, switch"), _eager(o)]
        )
    means = [_mean([o.ratio(c) for o in outcomes]) for c in others]
    over = _mean([_quotient(o, "xla", "JAX, switch") for o in outcomes])
    return [*rows, ["geometric mean", "", *means, "", over, _mean([_eager_ratio(o) for o in outcomes])]]


def summary(groups: Mapping[str, Sequence[Outcome]], contenders: Sequence[str]) -> Table:
    """A row for each group and compiled contender: its geometric mean over the hand-written adjoint, and counts.

    morula counts as ahead of JAX where it takes less time than each of JAX's versions that run.
    """
    rows = [["group", "contender", "programs", "run", "geometric mean, x", f"over {SLOW} x", "ahead of JAX"]]
    for group, outcomes in groups.items():
        for c in (c for c in contenders if c in COMPILED):
            ratios = [r for o in outcomes if (r := o.ratio(c)) is not None]
            slow = str(sum(r > SLOW for r in ratios))
            ahead = "" if c.startswith("JAX") else str(sum(_is_ahead(o, c) for o in outcomes))
            rows.append([group, c, str(len(outcomes)), str(len(ratios)), _mean(ratios), slow, ahead])
    return rows


def compilation(outcomes: Sequence[Outcome], contenders: Sequence[str]) -> Table:
    """Seconds of the first call beyond those of a later one, by contender."""
    rows = [["program", *(f"{c}, s" for c in contenders)]]
    for o in outcomes:
        found = [o.compilation(c) for c in contenders]
        rows.append([o.program.name, *("" if s is None else f"{s:.3f}" for s in found)])
    return rows


def iterations(outcomes: Sequence[Outcome], contenders: Sequence[str]) -> Table:
    """Nanoseconds for one innermost iteration, value and gradient."""
    rows = [["program", "iterations", *(f"{c}, ns" for c in contenders)]]
    for o in outcomes:
        if o.program.iterations is not None:
            n = o.program.iterations(o.program.size)
            cells = [f"{o.seconds[c] / n * 1e9:.2f}" if c in o.seconds else _why(o, c) for c in contenders]
            rows.append([o.program.name, f"{n:,}", *cells])
    return rows


def memory(outcomes: Sequence[Outcome], contenders: Sequence[str]) -> Table:
    """The peak memory of a call beyond the process's memory before it, in MB."""
    rows = [["program", *(f"{c}, MB" for c in contenders)]]
    for o in outcomes:
        if o.memory:
            rows.append([o.program.name, *(f"{o.memory[c] / 1e6:.1f}" if c in o.memory else "" for c in contenders)])
    return rows


def failures(outcomes: Sequence[Outcome]) -> list[str]:
    """A line with the cause for each contender without a time."""
    return [
        f"{o.program.name}, {contender}: {failure.text if is_wrong(failure) else failure.reason}"
        for o in outcomes
        for contender, failure in o.failures.items()
    ]


def _why(outcome: Outcome, contender: str) -> str:
    if contender not in outcome.failures:
        return ""
    return "wrong" if is_wrong(outcome.failures[contender]) else "fails"


def _over(outcome: Outcome, contender: str, other: str) -> str:
    quotient = _quotient(outcome, contender, other)
    return "" if quotient is None else f"{quotient:.2f}"


def _quotient(outcome: Outcome, contender: str, other: str) -> float | None:
    if {contender, other} <= outcome.seconds.keys():
        return outcome.seconds[contender] / outcome.seconds[other]
    return None


def _is_ahead(outcome: Outcome, contender: str) -> bool:
    others = [seconds for c, seconds in outcome.seconds.items() if c.startswith("JAX")]
    return contender in outcome.seconds and bool(others) and outcome.seconds[contender] < min(others)


def _eager_ratio(outcome: Outcome) -> float | None:
    if {"hand", "eager"} <= outcome.small.keys():
        return outcome.small["eager"] / outcome.small["hand"]
    return None


def _eager(outcome: Outcome) -> str:
    ratio = _eager_ratio(outcome)
    return _why(outcome, "eager") if ratio is None else f"{ratio:.0f}"


def _mean(ratios: Sequence[float | None]) -> str:
    """The geometric mean, with the number of values if some are missing."""
    known = [r for r in ratios if r is not None]
    if not known:
        return ""
    mean = math.exp(sum(map(math.log, known)) / len(known))
    return f"{mean:.2f}" + (f" (of {len(known)})" if len(known) < len(ratios) else "")
