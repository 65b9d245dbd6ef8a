"""Writes the series of a program's blocks: forward mode's sweep, with several coefficients for each value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.dynamic import Function, Operation, Value
from ..forward.structural import TANGENTS
from ..forward.sweep import Called, Sweep
from ..inline import copy_function, rename
from ..reverse.activity import active_values, may_have_cotangent
from . import formulas as formulas
from .online import Online, is_linear


class SeriesSweep(Sweep):
    """Adds to a function, in place, the computation of Taylor coefficients; ``parts[k - 1]`` has those of t^k."""

    def active_values(self, *args: Any) -> set[Value]:
        return active_values(*args, read=_positional)

    called: Series

    def call(self, op: Operation) -> None:
        if is_linear(op):
            for part in self.parts:
                if part.any(op.positional) or not op.positional:
                    TANGENTS[op.callee](self.builder, op, part)
        else:
            Online(self).whole(op)

    def with_series(self, function: Function, active: Sequence[bool], order: int) -> Function:
        """Return the function that also computes the series of its results, as ``taylor`` does."""
        return with_series(function, active, order, self.target, self.called.is_strong, self.called.is_differentiated)

    def custom(self, op: Operation) -> None:
        Online(self).custom(op)
        self.replaced.update(zip(op.results, op.positional))


def _positional(op: Operation) -> list[Value]:
    """All operands of a custom derivative: what it saved has a series, too."""
    return op.positional


class Series(Called):
    """The functions that a program calls with the computation of series added."""

    sweep = SeriesSweep

    def __init__(self, order: int, is_strong: bool, is_differentiated: bool) -> None:
        super().__init__(is_differentiated, order)
        self.is_strong = is_strong


def with_series(
    function: Function, active: Sequence[bool], order: int, target: str, is_strong: bool, is_differentiated: bool
) -> Function:
    made = copy_function(function)
    called = Series(order, is_strong, is_differentiated)
    seeds = called.seeds([p for p, on in zip(made.parameters, active) if on])
    sweep = SeriesSweep(target, called)
    results = sweep.whole(made, active, seeds, [may_have_cotangent(v) for v in made.block.results])
    made.block.results += results
    rename(made.block, sweep.replaced)
    return Function(f"{function.name}_taylor", [*made.parameters, *seeds], made.block, function.filename)
