"""Run the programs, and print and write the tables; see the package's docstring."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable
from datetime import date
from statistics import quantiles
from typing import Any

import morula as mo

from ..report import RESULTS, machine, markdown
from .compiled import TARGETS, Compiled, compile_all, counts
from .eager import PEERS, measure
from .programs import Case, cases, differentiated


def distribution(ratios: list[float], what: str) -> str:
    """One line with the distribution of some programs' ratios."""
    if len(ratios) < 2:
        return f"{what}: {len(ratios)} programs."
    first, middle, third = quantiles(ratios, n=4, method="inclusive")
    within = [f"{sum(r <= bound for r in ratios) / len(ratios):.0%} within {bound}" for bound in (12, 35)]
    return (
        f"{what}: {len(ratios)} programs; median {middle:.1f}, quartiles {first:.1f} and {third:.1f}, "
        f"{', '.join(within)}, largest {max(ratios):.1f}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generality", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats, and no file written")
    parser.add_argument("--no-peers", action="store_true", help="morula alone, and no file written")
    parser.add_argument(
        "--only", nargs="+", choices=("eager", *TARGETS), default=("eager", *TARGETS), help="these paths"
    )
    parser.add_argument("names", nargs="*", help="only the programs whose names contain one of these; no file written")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chosen = [
        case
        for case in cases()
        if differentiated(case[2]) and (not options.names or any(n in case[0] for n in options.names))
    ]
    if not chosen:
        parser.error(f"no program has a name that contains {' or '.join(options.names)}")
    sections = ["# Generality", machine()]
    if "eager" in options.only:
        sections += eager_sections(chosen, 3 if options.quick else 7, [] if options.no_peers else list(PEERS))
    for target in TARGETS:
        if target in options.only:
            sections += compiled_sections(chosen, target)
    if not (options.names or options.quick or options.no_peers) and len(options.only) == 1 + len(TARGETS):
        (RESULTS / f"generality-{date.today()}.md").write_text("\n\n".join(sections) + "\n")


def eager_sections(chosen: Iterable[Case], repeats: int, given: list[str]) -> list[str]:
    """Time the eager gradients; return the summary and the table."""
    rows: list[list[Any]] = []
    refused: list[str] = []
    for case in chosen:
        try:
            row = measure(case, repeats, given)
        except mo.NoDerivative as error:  # some packages run numba-compiled code if numba is installed
            print(f"{case[0]:55s} refused: {str(error).splitlines()[0]}", flush=True)
            refused.append(case[0])
            continue
        rows.append(row)
        print(f"{row[0]:55s} {row[1] * 1e6:10.1f} us   first {row[2]:6.2f} s   {row[3]:7.1f} x", flush=True)
    able = {peer: sum(isinstance(row[4 + i], float) for row in rows) for i, peer in enumerate(given)}
    wrong = {peer: sum(row[4 + i] == "wrong" for row in rows) for i, peer in enumerate(given)}
    summary = [
        "Value and gradient over the plain call:",
        distribution([row[3] for row in rows if not row[-1]], "Packages that speed was worked on with"),
        distribution([row[3] for row in rows if row[-1]], "Packages held out"),
        distribution([row[3] for row in rows], "All"),
        f"Refused: {', '.join(refused) or 'none'}.",
        f"Longest first call: {max((row[2] for row in rows), default=0.0):.2f} s.",
        *(f"{p} runs {n} of them rightly, and gives a wrong gradient for {wrong[p]}." for p, n in able.items()),
    ]
    table = [["program", "plain, us", "first call, s", "morula", *given, "held out"]]
    for row in rows:
        shown = [f"{x:.1f}" if isinstance(x, float) else str(x) for x in row[3:-1]]
        table.append([row[0], f"{row[1] * 1e6:.1f}", f"{row[2]:.2f}", *shown, "yes" if row[-1] else ""])
    print("\n".join(summary), flush=True)
    return ["## Eager", *summary, markdown(table)]


def compiled_sections(chosen: Iterable[Case], target: str) -> list[str]:
    """Compile the programs for a target; return the counts and the table."""
    found: list[Compiled] = []
    for c in compile_all([(name, held_out) for name, _, _, held_out in chosen], target):
        found.append(c)
        detail = f"first {c.first:6.2f} s   {c.ratio:7.2f} x" if c.outcome == "right" else c.reason
        print(f"{c.program:55s} {target} {c.outcome:8s} {detail}", flush=True)
    summary = [
        counts([c for c in found if not c.held_out], "Packages that morula was worked on with"),
        counts([c for c in found if c.held_out], "Packages held out"),
        counts(found, "All"),
    ]
    table = [["program", "outcome", "first call, s", "value and gradient over the plain call", "held out"]]
    for c in found:
        ratio = f"{c.ratio:.2f}" if c.outcome == "right" else ""
        table.append([c.program, c.outcome, f"{c.first:.2f}", ratio, "yes" if c.held_out else ""])
    print("\n".join(summary), flush=True)
    return [f"## Compiled: {target}", *summary, markdown(table)]


if __name__ == "__main__":
    main()
