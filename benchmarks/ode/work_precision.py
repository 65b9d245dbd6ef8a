"""Draw the error of the end value against the time of a compiled solve, for many methods and tolerances.

Run: python -m benchmarks.ode.work_precision [picture.svg]         (benchmarks/results/ode-work-precision.svg by default)

All runs are one program for each method and problem, which takes the tolerance as an argument; a time is the least of several.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np

import morula as mo
from morula.ode import odesolve

from ..report import RESULTS
from .program import Problem, find, references

EXPLICIT = ("bosh3", "tsit5", "dopri5", "vern7", "dop853", "adams")
STIFF = ("rodas4", "rodas5p", "kvaerno5", "radau5", "radau", "bdf", "auto")
DRAWN = {"LV": EXPLICIT, "Pleiades": EXPLICIT, "VdP 1000": STIFF, "Robertson": STIFF}
TOLERANCES = 10.0 ** -np.arange(3, 11)


def solver(problem: Problem) -> Callable[[float], Any]:
    """The compiled end value as a function of the tolerance; atol keeps its ratio to rtol."""
    rate, ratio, times = problem.rate(np), problem.atol / problem.rtol, np.array(problem.span)

    def end(tolerance: float) -> Any:
        settings: dict[str, Any] = {"rtol": tolerance, "atol": ratio * tolerance, "max_steps": 1_000_000}
        return odesolve(rate, problem.y0, times, *problem.args, method=problem.method, **settings).y[-1]

    return mo.jit(end, target="native")


def measured(problem: Problem, repeats: int = 5) -> list[tuple[float, float]]:
    """The error and the milliseconds at each tolerance that the method reaches."""
    f, expected, found = solver(problem), np.array(references()[problem.name]["end"]), []
    for tolerance in TOLERANCES:
        try:
            error = np.max(np.abs(f(tolerance) - expected)) / np.max(np.abs(expected))
        except mo.MorulaError as failure:
            print(f"  {problem.method} at {tolerance:.0e}: {failure}", file=sys.stderr)
            continue
        times = []
        for _ in range(repeats):
            start = process_time()
            f(tolerance)
            times.append(process_time() - start)
        found.append((float(error), 1e3 * min(times)))
    return found


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    path = sys.argv[1] if len(sys.argv) > 1 else str(RESULTS / "ode-work-precision.svg")
    figure, panels = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
    for axes, (name, methods) in zip(panels.ravel(), DRAWN.items(), strict=True):
        for method in methods:
            print(name, method, file=sys.stderr, flush=True)
            points = measured(replace(find(f"{name}, solve").problem, method=method))
            axes.loglog(*zip(*points), "o-", ms=3, label=method)
        axes.set(title=name, xlabel="relative error of the end value", ylabel="ms")
        axes.invert_xaxis()
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None} if path.endswith("svg") else None)
    print(f"written: {path}")


if __name__ == "__main__":
    main()
