"""Run the contenders, and print and write the report; see the package's docstring."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import Any

import numpy as np

from ..racing.desk import Desk, Started
from ..racing.race import Stable, timed
from ..report import RESULTS, Table, machine, markdown
from ..worker import Failure
from . import robustness
from .contenders import CONTENDERS
from .program import GROUPS, Program, programs

TITLES = {"programs": "Tuned", "held_out": "Held out"}
PEERS = ("by hand", "optimistix", "SciPy", "PyTorch")
COMPILED = ("optimistix", "native", "xla")


def reached(program: Program, answer: Started, args: tuple[Any, ...]) -> float:
    """The largest entry of what a solution makes zero."""
    found = answer.results[0] if len(answer.results) == 1 else answer.results
    return float(np.max(np.abs(program.measure(found, *args))))


def row(program: Program, stable: Stable, contenders: Sequence[str], repeats: int) -> list[str]:
    """Time the contenders that reached a solution; each cell holds milliseconds and what was reached."""
    args = program.inputs(0)
    failures: dict[str, Failure] = {}
    texts: dict[str, str] = {}
    first: dict[str, float] = {}
    solved: list[str] = []
    for contender in contenders:
        answer = stable.order(contender, "start", program.name, 0)
        if isinstance(answer, Failure):
            absent = answer.reason.startswith("LookupError")
            texts[contender] = "" if absent else answer.reason.partition(":")[0]
            if not absent:
                print(f"  {contender}: {answer.text}", file=sys.stderr, flush=True)
            continue
        measure = reached(program, answer, args)
        first[contender], texts[contender] = answer.seconds, f"({measure:.0e})"
        if measure <= program.accuracy:
            solved.append(contender)
        else:
            texts[contender] += " **not solved**"
    seconds = timed(stable, solved, repeats, failures)
    cells = [program.name]
    cells += [f"{1e3 * seconds[c]:.3g} {texts[c]}" if c in seconds else texts[c] for c in contenders]
    best = min((seconds[c] for c in PEERS if c in seconds and c != "by hand"), default=None)
    for ours in ("native", "xla"):
        for other in (best, seconds.get("by hand")):
            ratio = seconds[ours] / other if ours in seconds and other else None
            cells.append("" if ratio is None else f"{ratio:.2f}" if ratio <= 1.0 else f"**{ratio:.2f}**")
    return cells + [f"{first[c]:.2f}" if c in first else "" for c in COMPILED]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.optim", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three repeats, no robustness, and no file written")
    parser.add_argument("--only", nargs="+", default=[""], help="the beginnings of programs' names; no file written")
    parser.add_argument("--groups", nargs="+", default=list(GROUPS), choices=GROUPS, help="no file written unless all")
    parser.add_argument("--with", nargs="+", dest="contenders", choices=list(CONTENDERS), default=list(CONTENDERS))
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    contenders = [c for c in CONTENDERS if c in options.contenders]
    titles = ["ms (reached)", *contenders, "native / best peer", "native / by hand", "xla / best peer", "xla / by hand"]
    titles += [f"first {c} call, s" for c in COMPILED]
    sections = [f"# Optimisation, {date.today()}", f"{machine()}; one core used; all float64"]
    stable = Stable(partial(Desk, __package__ or ""), CONTENDERS.values(), 120.0)
    try:
        for group in options.groups:
            rows: Table = [titles]
            for name, program in programs(group).items():
                if name.startswith(tuple(options.only)):
                    print(name, "...", file=sys.stderr, flush=True)
                    rows.append(row(program, stable, contenders, 3 if options.quick else 11))
            if len(rows) > 1:
                sections += [f"## {TITLES[group]}", markdown(rows)]
                print(*sections[-2:], sep="\n\n", flush=True)
    finally:
        stable.close()
    whole = options.only == [""] and options.groups == list(GROUPS) and contenders == list(CONTENDERS)
    if whole and not options.quick:
        sections += robustness.report()
        path = RESULTS / f"optim-{date.today()}.md"
        path.write_text("\n\n".join(sections) + "\n")
        print(f"written: {path}")


if __name__ == "__main__":
    main()
