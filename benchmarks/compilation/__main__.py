"""Run the races, and print and write the report; see the package's docstring."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from datetime import date

from ..racing.race import Stable
from ..report import RESULTS, machine, markdown
from . import costs, tables
from .contenders import CONTENDERS
from .desk import Desk
from .program import HELD_OUT, RACES, TUNED, programs
from .race import MAIN, Outcome, race


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compilation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three repeats, and no file written")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="programs, groups, costs; no file written")
    parser.add_argument("--with", nargs="+", dest="contenders", choices=list(CONTENDERS), default=list(MAIN))
    parser.add_argument("--memory", action="store_true", help="measure peaks too")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that a call may take, compilation included")
    parser.add_argument("--cores", type=int, default=1, help="processor cores to use")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-options.cores :])
    contenders = ["hand", *(c for c in options.contenders if c != "hand")]

    title = (
        f"# Compiled gradients, {date.today()}\n\n{machine()}; {options.cores} used; all float64 unless said otherwise"
    )
    sections: list[str] = []

    def tell(*more: str) -> None:
        sections.extend(more)
        print(*more, sep="\n\n", end="\n\n", flush=True)

    tell(title)
    stable = Stable(Desk, CONTENDERS.values(), options.limit)
    groups: dict[str, list[Outcome]] = {}
    try:
        for group in RACES:
            chosen = [
                p for n, p in programs(group).items() if not options.only or n in options.only or group in options.only
            ]
            outcomes: list[Outcome] = []
            for program in chosen:
                print(f"{program.name} ...", file=sys.stderr, flush=True)
                outcomes.append(race(program, stable, contenders, 3 if options.quick else 9, options.memory))
            if outcomes:
                groups[group] = outcomes
                tell(*_sections(group, outcomes, contenders))
        if groups:
            tell("## Summary of the groups", markdown(tables.summary(_with_unions(groups), contenders)))
        if not options.only or "costs" in options.only:
            for section in _costs(stable, options.limit, 3 if options.quick else 9):
                tell(section)
    finally:
        stable.close()
    text = "\n\n".join(sections) + "\n"
    if not options.quick and not options.only:
        path = RESULTS / f"compilation-{date.today()}.md"
        path.write_text(text)
        print(f"written: {path}")


def _with_unions(groups: dict[str, list[Outcome]]) -> dict[str, list[Outcome]]:
    """The groups, and all tuned-on and all held-out programs where both of their groups have run."""
    unions = {"all tuned on": TUNED, "all held out": HELD_OUT}
    complete = {name: parts for name, parts in unions.items() if groups.keys() >= set(parts)}
    return groups | {name: [o for part in parts for o in groups[part]] for name, parts in complete.items()}


def _sections(group: str, outcomes: list[Outcome], contenders: list[str]) -> list[str]:
    made = [f"## Value and gradient: {group}", markdown(tables.table(outcomes, contenders))]
    for heading, rows in (
        ("Nanoseconds for an innermost iteration", tables.iterations(outcomes, contenders)),
        ("Compilation: seconds of the first call beyond a later one", tables.compilation(outcomes, contenders)),
        ("Peak memory of a call", tables.memory(outcomes, contenders)),
    ):
        if len(rows) > 1:
            made += [f"### {heading}: {group}", markdown(rows)]
    failures = tables.failures(outcomes)
    if failures:
        made += [f"### What has no time: {group}", "\n".join(f" - {line}" for line in failures)]
    return made


def _costs(stable: Stable, limit: float, repeats: int) -> Iterator[str]:
    for heading, rows in (
        ("The first call of straight lines", lambda: costs.growth(limit)),
        ("The first call where an earlier process has compiled", lambda: costs.cached(limit)),
        ("A call that computes next to nothing, value and gradient", lambda: costs.overhead(stable, repeats)),
        ("Peak memory and time, value and gradient", lambda: costs.kept(limit)),
    ):
        print(f"{heading} ...", file=sys.stderr, flush=True)
        yield f"## {heading}\n\n{markdown(rows())}"


if __name__ == "__main__":
    main()
