"""Compare compiled value and gradient with the gradient by hand on a machine that others use, and count what the code does.

Run: python -m benchmarks.compilation.in_turn [GROUP ...] [--only NAME ...]     (all groups of the races, and ``second``)

All times are processor times of one thread, the least of some calls that take turns in one process. The tables show how
a gradient spends its time without showing the program: how the value alone compares, and ``emitted``.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..report import Table, markdown
from . import second
from .emitted import COLUMNS, emitted, row
from .program import RACES, Program, programs

LEAST, SECONDS = 5, 1.5
"""The least number of turns, and the time after which there are no more."""


def least(calls: Sequence[Callable[[], Any]]) -> list[float]:
    """The least processor time of each call, in ms."""
    found = [math.inf for _ in calls]
    end, turn = time.perf_counter() + SECONDS, 0
    while turn < LEAST or time.perf_counter() < end:
        for k, call in enumerate(calls):
            begun = time.process_time()
            call()
            found[k] = min(found[k], 1e3 * (time.process_time() - begun))
        turn += 1
    return found


def agrees(found: Any, expected: Any, rtol: float) -> bool:
    """Whether values and gradients agree, relative to the largest number in each."""
    pairs = [(found[0], expected[0]), *zip(found[1], expected[1], strict=True)]
    return all(np.max(np.abs(np.subtract(x, y))) <= rtol * max(np.max(np.abs(y)), 1e-300) for x, y in pairs)


def measured(program: Program | second.Program) -> tuple[list[str], list[str], float | None]:
    """The rows of both tables, and the ratio to the gradient by hand."""
    import morula as mo

    args, hand = program.inputs(program.size), program.hand
    value = mo.jit(program.numpy, target="native")
    gradient = mo.jit(mo.value_and_grad(program.numpy, program.argnums), target="native")
    calls: list[Callable[[], Any]] = [lambda: value(*args), lambda: gradient(*args)]
    try:
        found = [call() for call in calls]
    except Exception as error:  # noqa: BLE001 - the table says so
        return [program.name, type(error).__name__, "fails", "", "", ""], [], None
    rtol = getattr(program, "rtol", 1e-9)
    if hand is not None:
        if not agrees(found[1], hand(*args), rtol):
            return [program.name, "", "wrong", "", "", ""], [], None
        calls.append(lambda: hand(*args))
    of_value, of_gradient, *by_hand = least(calls)
    ratio = of_gradient / by_hand[0] if by_hand else None
    cells = [f"{by_hand[0]:.3g}", f"{ratio:.2f}"] if ratio is not None else ["", ""]
    times = [program.name, f"{of_value:.3g}", f"{of_gradient:.3g}", f"{of_gradient / of_value:.2f}", *cells]
    return times, [program.name, *row(emitted(gradient, args))], ratio


def report(group: str, chosen: Sequence[Program | second.Program]) -> str:
    """Both tables of a group."""
    times: Table = [["program", "value, ms", "gradient, ms", "gradient / value", "by hand, ms", "over by hand, x"]]
    code: Table = [["program", *COLUMNS.values()]]
    ratios: list[float] = []
    for program in chosen:
        print(f"{program.name} ...", file=sys.stderr, flush=True)
        of_times, of_code, ratio = measured(program)
        times.append(of_times)
        code += [of_code] if of_code else []
        ratios += [] if ratio is None else [ratio]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        times.append(["geometric mean", "", "", "", "", f"{mean:.2f} (of {len(ratios)})"])
    return (
        f"## Value and gradient: {group}\n\n{markdown(times)}\n\n## What the code does: {group}\n\n{markdown(code)}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compilation.in_turn", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", choices=[*RACES, "second"], default=[*RACES, "second"])
    parser.add_argument("--only", nargs="+", metavar="NAME", help="programs of these groups")
    options = parser.parse_args()
    os.environ["MORULA_CACHE"] = "0"
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    for group in options.groups:
        every: dict[str, Any] = second.programs() if group == "second" else programs(group)
        chosen = [p for name, p in every.items() if not options.only or name in options.only]
        if chosen:
            print(report(group, chosen), flush=True)


if __name__ == "__main__":
    main()
