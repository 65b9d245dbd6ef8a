"""Tables of the outcomes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..racing.race import is_wrong
from ..report import Table
from .contenders import BY_HAND, PEERS
from .race import Outcome


def table(outcomes: Sequence[Outcome], contenders: Sequence[str]) -> Table:
    """Milliseconds, and morula's times relative to the fastest peer's; last row: geometric means.

    A module with several derivatives counts once in them, by the geometric mean of its ratios.
    """
    contenders = [c for c in contenders if c != BY_HAND or any(c in o.seconds for o in outcomes)]
    compared = [c for c in contenders if c not in (*PEERS, BY_HAND)]
    by_hand = [c for c in compared if BY_HAND in contenders]
    titles = [*(f"{c} / best peer" for c in compared), *(f"{c} / {BY_HAND}" for c in by_hand)]
    rows = [["derivative", *(f"{c}, ms" for c in contenders), *titles]]
    for o in outcomes:
        times = [f"{o.seconds[c] * 1e3:.3g}" if c in o.seconds else _why(o, c) for c in contenders]
        ratios = [_shown(o.ratio(c)) for c in compared] + [_shown(o.ratio(c, [BY_HAND])) for c in by_hand]
        rows.append([o.derivative.name, *times, *ratios])
    means = [_shown(_mean_of_modules(outcomes, c)) for c in compared]
    return [*rows, ["geometric mean", *("" for _ in contenders), *means, *("" for _ in by_hand)]]


def compilation(outcomes: Sequence[Outcome], contenders: Sequence[str]) -> Table:
    """Seconds of the first call beyond those of a later one, by contender."""
    rows = [["derivative", *(f"{c}, s" for c in contenders)]]
    for o in outcomes:
        found = [o.compilation(c) for c in contenders]
        rows.append([o.derivative.name, *("" if s is None else f"{s:.2f}" for s in found)])
    return rows


def failures(outcomes: Sequence[Outcome]) -> list[str]:
    """A line with the cause for each contender without a time."""
    return [
        f"{o.derivative.name}, {contender}: {failure.text if is_wrong(failure) else failure.reason}"
        for o in outcomes
        for contender, failure in o.failures.items()
    ]


def _why(outcome: Outcome, contender: str) -> str:
    if contender not in outcome.failures:
        return ""
    failure = outcome.failures[contender]
    return "wrong" if is_wrong(failure) else failure.reason if failure.reason.startswith("more than") else "fails"


def _shown(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def _mean_of_modules(outcomes: Sequence[Outcome], contender: str) -> float | None:
    by_module: dict[str, list[float]] = {}
    for o in outcomes:
        ratio = o.ratio(contender)
        if ratio is not None:
            by_module.setdefault(o.derivative.module, []).append(ratio)
    return _mean([_mean(ratios) for ratios in by_module.values()]) if by_module else None


def _mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))
