"""Runs a function in Taylor mode, and returns the coefficients of its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...errors import BadInput
from ...rules.connected import connected
from ...values.tangents import once, paired
from ..forward.run import entered, seed, tangent_of
from ..recorded.pullback import run_on
from ..recorded.structure import Arguments, plain
from ..recorded.tape import Tape
from . import pushes as pushes
from .tables import taylor_tape

Function = Callable[..., Any]


def run_taylor(
    parent: Tape | None, f: Function, primals: tuple[Any, ...], coefficients: Sequence[tuple[Any, ...]]
) -> list[Any]:
    """Return the coefficients of the series of ``f`` along a path, computed on the tape of an enclosing derivative, if any.

    ``coefficients`` holds, from that of t on, tuples with an entry for each argument; None: zero.

    Raises:
        BadInput: the coefficients do not fit the primals.
        NoDerivative: the series of the result depends on a call without one.
    """
    order = len(coefficients)
    each = [paired(primals, tuple(c)) for c in coefficients]
    chosen = sorted({path[0][1] for pairs in each for path, _, c in pairs if c is not None})
    each = [once([pair for pair in pairs if pair[0][0][1] in chosen]) for pairs in each]
    tape = taylor_tape(parent, order)
    series = tape.tangents
    found: list[Any] = []

    def begun(arguments: Arguments) -> None:
        fresh = list(entered(arguments))
        for part, pairs in zip(series.parts, each):
            if len(fresh) != len(pairs):
                raise BadInput(
                    "the series does not match the arguments; pass arguments of plain containers and objects"
                )
            for x, (path, like, c) in zip(fresh, pairs):
                if c is not None:
                    seed(part, path, x, like, c)

    def ended(y: Any) -> None:
        found.extend(tangent_of(part, y) for part in series.parts)

    try:
        y, arguments = run_on(tape, f, primals, {}, chosen, begun, ended)
    finally:
        series.end()
    y = arguments.restore(y, set())
    return [plain(y) if parent is None else y, *found]


connected.run_taylor = run_taylor
