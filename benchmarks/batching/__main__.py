"""Run the contenders, and print and write the report; see the package's docstring."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from datetime import date
from statistics import median
from typing import Any

import numpy as np

import morula as mo

from ..report import RESULTS, Table, machine, markdown
from . import held_out, programs


def contenders(f: Any, by_hand: Any) -> dict[str, Callable[..., Any]]:
    batch = mo.autobatch(f, in_axes=(None, 0))
    one_by_one = mo.grad(lambda p, samples: sum([f(p, x) for x in samples]))
    together = mo.grad(lambda p, samples: sum(batch(p, samples)))
    return {"one by one": one_by_one, "autobatch": together} | ({"by hand": by_hand} if by_hand else {})


def timed(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def row(name: str, f: Any, make: Any, by_hand: Any, count: int, repeats: int) -> list[str]:
    p = programs.params()
    found = contenders(f, by_hand)
    first = {key: timed(lambda g=g: g(p, make(count))) for key, g in found.items()}
    expected = found["one by one"](p, make(12))
    for g in found.values():
        for key, value in g(p, make(12)).items():
            np.testing.assert_allclose(value, expected[key], rtol=1e-9, atol=1e-12)
    times: dict[str, list[float]] = {key: [] for key in found}
    for i in range(repeats):
        samples = make(count, i + 1)  # other structures than before
        for key, g in found.items():
            times[key].append(timed(lambda g=g, samples=samples: g(p, samples)))
    middle = {key: median(t) for key, t in times.items()}
    cells = [
        name,
        *(f"{1e3 * middle[key]:.0f}" if key in middle else "" for key in ("one by one", "autobatch", "by hand")),
    ]
    cells.append(f"{middle['one by one'] / middle['autobatch']:.1f}")
    cells.append(f"{middle['autobatch'] / middle['by hand']:.2f}" if "by hand" in middle else "")
    cells.append(f"{first['autobatch'] - middle['autobatch']:.1f}")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.batching", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer samples and repeats, and no file written")
    options = parser.parse_args()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
    rows: Table = [
        [
            "gradient, 256 samples",
            "one by one, ms",
            "autobatch, ms",
            "by hand, ms",
            "one by one / autobatch",
            "autobatch / by hand",
            "compiling, s",
        ]
    ]
    for package in (programs, held_out):
        for name, (f, make, by_hand) in package.PROGRAMS.items():
            name += " (held out)" if package is held_out else ""
            rows.append(row(name, f, make, by_hand, 32 if options.quick else 256, 3 if options.quick else 9))
    text = "\n\n".join(["# Batches of structures", machine(), markdown(rows)])
    print(text)
    if not options.quick:
        (RESULTS / f"batching-{date.today()}.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
