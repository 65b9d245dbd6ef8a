"""Run the contenders, and print and write the report; see the package's docstring."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import date
from functools import partial

from ..racing.desk import Desk, Started
from ..racing.race import Stable, differs, timed
from ..report import RESULTS, Table, machine, markdown
from ..worker import Failure
from . import degenerate
from .contenders import CONTENDERS
from .program import GROUPS, Program, programs

TITLES = {
    "programs": "Tuned",
    "small": "Small matrices",
    "large": "Larger matrices",
    "sparse_systems": "Sparse systems",
    "held_out": "Held out",
}
GOAL = 1.15


def row(program: Program, stable: Stable, contenders: Sequence[str], repeats: int) -> list[str]:
    """Compare all results with those of the adjoint by hand, and time the contenders that agree."""
    reference: Started | None = None
    failures: dict[str, Failure] = {}
    lacking: list[str] = []
    first: dict[str, float] = {}
    for contender in contenders:
        answer = stable.order(contender, "start", program.name, program.size)
        if isinstance(answer, Started):
            reference = reference or answer
            wrong = differs(answer, reference, program.rtol)
            answer = wrong or answer
        if isinstance(answer, Started):
            first[contender] = answer.seconds
        elif answer.reason.startswith(("LookupError", "NotImplementedError")):
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
            cells.append("absent" if contender in lacking else failures[contender].reason.partition(":")[0])
    for contender in ("eager", "native", "xla"):
        ratio = seconds[contender] / seconds["by hand"] if {contender, "by hand"} <= set(seconds) else None
        cells.append("" if ratio is None else f"{ratio:.2f}" if ratio <= GOAL else f"**{ratio:.2f}**")
    return [*cells, f"{first.get('native', 0):.1f}", f"{first.get('xla', 0):.1f}"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linalg", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three repeats, and no file written")
    parser.add_argument("--only", nargs="+", default=[""], help="the beginnings of programs' names; no file written")
    parser.add_argument("--groups", nargs="+", default=list(GROUPS), choices=GROUPS, help="no file written unless all")
    parser.add_argument("--with", nargs="+", dest="contenders", choices=list(CONTENDERS), default=list(CONTENDERS))
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    contenders = [c for c in CONTENDERS if c in options.contenders]
    titles = ["value and gradient, ms", *contenders, "eager / by hand", "native / by hand", "xla / by hand"]
    titles += ["first native call, s", "first xla call, s"]
    sections = [f"# Dense linear algebra, {date.today()}", f"{machine()}; one core used; all float64; times in ms"]
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
    if whole:
        sections += degenerate.report()
    if whole and not options.quick:
        path = RESULTS / f"linalg-{date.today()}.md"
        path.write_text("\n\n".join(sections) + "\n")
        print(f"written: {path}")


if __name__ == "__main__":
    main()
