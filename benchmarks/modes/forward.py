"""Eager forward mode over the plain call, for the programs of ``benchmarks/generality``.

The programs of held-out packages are counted, and not named.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import morula as mo

from ..generality.__main__ import distribution
from ..generality.eager import cost
from ..generality.programs import Case, cases, differentiated
from ..report import markdown


def forward(repeats: int) -> Iterator[str]:
    """The sections of the report: distributions, and a table of the programs that are not held out."""
    warnings.simplefilter("ignore")
    rows, held_out, refused = [["program", "plain, us", "forward mode over it"]], [], 0
    for case in cases():
        if not differentiated(case[2]):
            continue
        try:
            plain, ratio = _measured(case, repeats)
        except mo.NoDerivative:
            refused += 1
            continue
        if case[3]:
            held_out.append(ratio)
        else:
            rows.append([case[0], f"{plain * 1e6:.1f}", f"{ratio:.1f}"])
    ratios = [float(row[2]) for row in rows[1:]]
    yield distribution(ratios, "Packages that speed was worked on with")
    yield distribution(held_out, "Packages held out")
    yield distribution([*ratios, *held_out], "All")
    yield f"Refused: {refused}."
    yield markdown(rows)


def _measured(case: Case, repeats: int) -> tuple[float, float]:
    _, f, arguments, _ = case
    chosen = differentiated(arguments)
    tangents = tuple(_ones(x) if i in chosen else None for i, x in enumerate(arguments))
    times = cost({"plain": lambda: f(*arguments), "forward": lambda: mo.jvp(f, arguments, tangents)}, repeats)
    return times["plain"], times["forward"] / times["plain"]


def _ones(x: Any) -> Any:
    return np.ones_like(x) if isinstance(x, np.ndarray) else 1.0
