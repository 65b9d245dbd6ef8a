"""Run the races, and print and write the report; see the package's docstring."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from datetime import date
from functools import partial

from ..racing.desk import Desk
from ..racing.race import Stable
from ..report import RESULTS, machine, markdown
from . import tables
from .contenders import CONTENDERS
from .forward import forward
from .nested import LEVELS, nested
from .program import GROUPS, derivatives
from .race import Outcome, race

TITLES = {"objectives": "GradBench's objectives", "programs": "Modes", "batches": "Batches"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.modes", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three repeats, and no file written")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="derivatives, modules, objectives, programs, nested; no file written"
    )
    parser.add_argument("--with", nargs="+", dest="contenders", choices=list(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--forward", action="store_true", help="eager forward mode on the programs of generality, too")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that a call may take, compilation included")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    repeats = 3 if options.quick else 9
    contenders = [c for c in CONTENDERS if c in options.contenders]
    sections: list[str] = []

    def tell(*more: str) -> None:
        sections.extend(more)
        print(*more, sep="\n\n", end="\n\n", flush=True)

    tell(f"# Derivatives in every mode, {date.today()}\n\n{machine()}; one core used; all float64")
    for section in _races(_chosen(options.only), contenders, repeats, options.limit):
        tell(section)
    if not options.only or "nested" in options.only:
        print("nested ...", file=sys.stderr, flush=True)
        tell(f"## {LEVELS} levels of `grad`", markdown(nested(repeats)))
    if options.forward:
        print("forward ...", file=sys.stderr, flush=True)
        tell("## Eager forward mode over the plain call", *forward(repeats))
    if not options.quick and not options.only:
        path = RESULTS / f"modes-{date.today()}.md"
        path.write_text("\n\n".join(sections) + "\n")
        print(f"written: {path}")


def _chosen(only: list[str] | None) -> Callable[[str, str], bool]:
    """Whether a derivative of a group is to run, by the names on the command line."""
    return lambda group, name: not only or bool({group, name, name.partition(",")[0]} & set(only))


def _races(chosen: Callable[[str, str], bool], contenders: list[str], repeats: int, limit: float) -> Iterator[str]:
    stable = Stable(partial(Desk, __package__ or ""), CONTENDERS.values(), limit)
    try:
        for group in GROUPS:
            outcomes: list[Outcome] = []
            for name, derivative in derivatives(group).items():
                if chosen(group, name):
                    print(f"{name} ...", file=sys.stderr, flush=True)
                    outcomes.append(race(derivative, stable, contenders, repeats))
            if outcomes:
                yield from _sections(TITLES[group], outcomes, contenders)
    finally:
        stable.close()


def _sections(title: str, outcomes: list[Outcome], contenders: list[str]) -> Iterator[str]:
    yield f"## {title}"
    yield markdown(tables.table(outcomes, contenders))
    yield f"### Compilation: seconds of the first call beyond a later one: {title}"
    yield markdown(tables.compilation(outcomes, contenders))
    failures = tables.failures(outcomes)
    if failures:
        yield f"### What has no time: {title}"
        yield "\n".join(f" - {line}" for line in failures)


if __name__ == "__main__":
    main()
