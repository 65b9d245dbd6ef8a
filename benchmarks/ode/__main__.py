"""Run the contenders, and print and write the report; see the package's docstring."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import date
from functools import partial

import numpy as np

from ..racing.desk import Desk, Started
from ..racing.race import Stable, timed
from ..report import RESULTS, Table, machine, markdown
from ..worker import Failure
from .contenders import BY_HAND, CONTENDERS
from .program import GROUPS, Program, programs

TITLES = {"problems": "Problems", "batches": "Many at once", "held_out": "Held out"}
GOALS = {"native": 1.5, "xla": 4.0}
"""The ratio of times to those of C that is to be reached."""


def error(program: Program, answer: Started) -> float | None:
    """The largest error of the end value, or of the gradient by the parameters, relative to the largest number."""
    expected = program.reference()
    if expected is None:
        return None
    found = answer.results[0]
    if program.is_gradient:  # the value and the gradient by y0 come first
        found = np.concatenate([np.ravel(x) for x in answer.results[2:]])
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


def rows(program: Program, stable: Stable, contenders: Sequence[str], repeats: int) -> tuple[list[str], list[str]]:
    """The row of times, and the row of errors."""
    failures: dict[str, Failure] = {}
    lacking: list[str] = []
    first: dict[str, float] = {}
    errors: dict[str, float] = {}
    for contender in contenders:
        answer = stable.order(contender, "start", program.name, None)
        if isinstance(answer, Started):
            first[contender] = answer.seconds
            off = error(program, answer)
            if off is not None:
                errors[contender] = off
        elif answer.reason.startswith("LookupError"):
            lacking.append(contender)
        else:
            failures[contender] = answer
            print(f"  {contender}: {answer.text}", file=sys.stderr, flush=True)
    seconds = timed(stable, list(first), repeats, failures)
    cells = [program.name]
    for contender in contenders:
        if contender in seconds:
            cells.append(f"{1e3 * seconds[contender]:.3g}")
        else:
            cells.append("" if contender in lacking else failures[contender].reason.partition(":")[0])
    for contender, goal in GOALS.items():
        ratio = seconds[contender] / seconds[BY_HAND] if {contender, BY_HAND} <= set(seconds) else None
        cells.append("" if ratio is None else f"{ratio:.2f}" if ratio <= goal else f"**{ratio:.2f}**")
    cells += [f"{first[c]:.1f}" if c in first else "" for c in GOALS]
    return cells, [program.name, *(f"{errors[c]:.0e}" if c in errors else "" for c in contenders)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ode", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three repeats, and no file written")
    parser.add_argument("--only", nargs="+", default=[""], help="the beginnings of programs' names; no file written")
    parser.add_argument("--groups", nargs="+", default=list(GROUPS), choices=GROUPS, help="no file written unless all")
    parser.add_argument("--with", nargs="+", dest="contenders", choices=list(CONTENDERS), default=list(CONTENDERS))
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    contenders = [c for c in CONTENDERS if c in options.contenders]
    titles = ["ms", *contenders, *(f"{c} / {BY_HAND}" for c in GOALS), *(f"first {c} call, s" for c in GOALS)]
    sections = [f"# Initial-value problems, {date.today()}"]
    sections += [f"{machine()}; one core used; float64; times in ms; a gradient is the value and the gradient."]
    stable = Stable(partial(Desk, __package__ or ""), CONTENDERS.values(), 240.0)
    try:
        for group in options.groups:
            times: Table = [titles]
            errors: Table = [["error", *contenders]]
            for name, program in programs(group).items():
                if name.startswith(tuple(options.only)):
                    print(name, "...", file=sys.stderr, flush=True)
                    time, off = rows(program, stable, contenders, 3 if options.quick else 11)
                    times.append(time)
                    errors += [off] if any(off[1:]) else []
            if len(times) > 1:
                found = [f"## {TITLES[group]}", markdown(times), *([markdown(errors)] if len(errors) > 1 else [])]
                sections += found
                print(*found, sep="\n\n", flush=True)
    finally:
        stable.close()
    whole = options.only == [""] and options.groups == list(GROUPS) and contenders == list(CONTENDERS)
    if whole and not options.quick:
        path = RESULTS / f"ode-{date.today()}.md"
        path.write_text("\n\n".join(sections) + "\n")
        print(f"written: {path}")


if __name__ == "__main__":
    main()
