"""Finds the line of a compiled program on which an Inf or NaN first appears, by interpreting its typed IR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..eager.observed.non_finite import Origin, Origins, non_finite
from ..eager.observed.observer import Place
from ..errors import NonFinite
from ..ir.dynamic import Function, Operation
from ..ir.evaluate import Evaluation
from ..ir.places import calls_to
from ..ir.typed import debug_print
from ..source.definitions import is_of_library


def error_of(origins: Origins, function: Function, arguments: Sequence[Any]) -> NonFinite | None:
    """Return the error for a program whose results for these arguments are not finite; None if the interpreter's are."""
    run = _Finding(origins)
    results = run.call(function, arguments)
    bad = [(x, name) for x in results if isinstance(x, np.ndarray) and (name := origins.bad(x))]
    if not bad:
        return None
    found = [run.found[id(x)][1] for x, _ in bad if id(x) in run.found]
    return non_finite(bad[0][1], found)


class _Finding(Evaluation):
    """Runs a program, and notes for each value that is not finite which operation made it of finite operands."""

    def __init__(self, origins: Origins) -> None:
        super().__init__()
        self.bad = origins.bad
        self.found: dict[int, tuple[Any, Origin]] = {}  # by the identity of the array, which is kept alive

    def ran(self, op: Operation) -> None:
        for result in op.results:
            x = self.values[result]
            name = self.bad(x) if isinstance(x, np.ndarray) else None
            if name and id(x) not in self.found:
                given = [e for e in map(self.get, op.positional) if self.bad(e)]
                known = next((self.found[id(e)][1] for e in given if id(e) in self.found), None)
                self.found[id(x)] = x, known or Origin(name, _place(op), False, bool(given), _name(op))

    def run_call(self, op: Operation) -> list[Any]:
        return [] if op.callee is debug_print else super().run_call(op)


def _name(op: Operation) -> str:
    """Return the name of an operation, which may be one of a derivative of what the line says."""
    return f"{getattr(op.callee, '__name__', None) or op.callee or op.kind}, computed for the program"


def _place(op: Operation) -> Place:
    """Return the user's line of an operation, and that of the library that it called."""
    calls = calls_to(op.line)
    if not calls:
        return Place("a line that is not known", int(op.line))
    file, name, line = calls[-1]
    users = next((c for c in reversed(calls) if not is_of_library(c[0])), calls[-1])
    return Place(users[0], users[2], None if users is calls[-1] else (file, line, name))
