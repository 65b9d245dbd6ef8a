"""Gradients of gradients of a program of numbers with control flow: the time and the code of each level over the last."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import morula as mo

from ..eager.timing import timed
from ..report import Table

LEVELS, POINT, STEPS = 5, 0.7, 20


def growth(x, n):
    y = x
    while n > 0:
        if y < 1.0:
            y = y * math.exp(0.1 * x) + 0.05
        else:
            y = math.sin(y) * x + 0.3
        n -= 1
    return y


def nested(repeats: int) -> Table:
    eager: list[Callable[..., Any]] = [growth]
    for _ in range(LEVELS):
        eager.append(mo.grad(eager[-1]))
    native = [mo.jit(f, target="native") for f in eager]
    programs = {f"eager {n}": f for n, f in enumerate(eager)} | {f"native {n}": f for n, f in enumerate(native)}
    times = timed({name: lambda f=f: f(POINT, STEPS) for name, f in programs.items()}, repeats)
    rows = [["level", "eager, us", "over the last", "native, us", "over the last", "lines of IR", "lines of LLVM IR"]]
    for n, f in enumerate(native):
        cells = [cell for path in ("eager", "native") for cell in _over_the_last(times, path, n)]
        lowered = f.lower(POINT, STEPS)
        rows.append([str(n), *cells, *(f"{_lines(lowered, language):,}" for language in ("ir", "llvm"))])
    return rows


def _over_the_last(times: dict[str, float], path: str, level: int) -> Iterator[str]:
    seconds, before = times[f"{path} {level}"], times.get(f"{path} {level - 1}")
    yield f"{seconds * 1e6:.4g}"
    yield "" if before is None else f"{seconds / before:.2f}"


def _lines(lowered: Any, language: str) -> int:
    return len(lowered.as_text(language).splitlines())
