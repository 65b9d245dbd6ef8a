"""Value and gradient, compiled by ``mo.jit`` for each target, compared with the eager gradient."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np

import morula as mo

from ..worker import Failure, Worker
from .eager import cost
from .programs import cases, differentiated, total

TARGETS = ("native", "xla", "partial")
"""``partial`` is native code with ``jit(partial=True)``."""
LIMIT = 90.0
"""Seconds that compiling, running and timing one program may take."""


@dataclass(frozen=True)
class Compiled:
    """How one program fared for one target: ``outcome`` is right, wrong, refused, failed or slow."""

    program: str
    held_out: bool
    outcome: str
    reason: str = ""
    first: float = 0.0
    ratio: float = 0.0


class Desk:
    """Compiles programs, in a process of its own."""

    def __init__(self) -> None:
        warnings.simplefilter("ignore")
        self.cases = {name: (function, arguments) for name, function, arguments, _ in cases()}

    def compile(self, name: str, target: str) -> tuple[str, str, float, float]:
        """Return the outcome, its reason, the seconds of the first call and the ratio to the plain call's time."""
        f, arguments = self.cases[name]

        def loss(*xs: Any) -> Any:
            y = f(*xs)
            return y if isinstance(y, float) else total(y)

        run = mo.value_and_grad(loss, differentiated(arguments))
        expected = run(*arguments)
        is_partial = target == "partial"
        compiled = mo.jit(run, target="native" if is_partial else target, partial=is_partial)
        start = process_time()
        try:
            found = compiled(*arguments)
        except mo.MorulaError as error:
            return "refused", str(error), process_time() - start, 0.0
        first = process_time() - start
        for _ in range(is_partial and 3):  # functions without loops are compiled after some calls
            found = compiled(*arguments)
        for x, y in zip((found[0], *found[1]), (expected[0], *expected[1]), strict=True):
            if not np.allclose(x, y, rtol=1e-6, atol=1e-9, equal_nan=True):
                return "wrong", f"{x!r} for {y!r}", first, 0.0
        times = cost({"plain": lambda: f(*arguments), "compiled": lambda: compiled(*arguments)}, 3)
        return "right", "", first, times["compiled"] / times["plain"]


def compile_all(names: Iterable[tuple[str, bool]], target: str) -> Iterable[Compiled]:
    """Compile each program, given by its name and whether it is held out."""
    worker = Worker(Desk, {})
    for name, held_out in names:
        answer = worker.order("compile", name, target, limit=LIMIT)
        if isinstance(answer, Failure):
            slow = answer.reason.startswith("more than")
            yield Compiled(name, held_out, "slow" if slow else "failed", answer.reason)
        else:
            yield Compiled(name, held_out, *answer)
    worker.stop()


def counts(found: list[Compiled], what: str) -> str:
    """One line with the number of programs by outcome."""
    by_outcome = Counter(c.outcome for c in found)
    listed = ", ".join(f"{by_outcome[o]} {o}" for o in ("right", "refused", "wrong", "failed", "slow"))
    ratios = sorted(c.ratio for c in found if c.outcome == "right")
    middle = f"; value and gradient over the plain call, median {ratios[len(ratios) // 2]:.2f}" if ratios else ""
    return f"{what}: {len(found)} programs: {listed}{middle}."
