"""Bounds of the number of iterations of loops, for targets whose memory has fixed size.

The backward sweep of a loop of at most n iterations can save residuals in arrays of n elements, where a loop of unknown
length is run again from held states. A bound is proved (``index_proofs``): the index of an outer loop has one, and the
lengths of arrays have one. Bounds are used as long as what is saved fits into memory.

A loop needs no bound if its backward sweep reads only what is still there after the loop. This is tried for all loops
without a bound; those whose backward sweep turns out to need more are marked so, and the sweeps written once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ...ir.affine import Interval
from ...ir.dynamic import Function, Operation, Value, walk
from ...ir.typed import AtMost, Storeless
from ..index_proofs import analyse
from ..inline import copy_function

if TYPE_CHECKING:
    from .sweep import Sweeps


def bounded(function: Function, given: Mapping[Value, Interval] | None = None) -> Function:
    """Return a function whose loops carry the bounds that are proved, or ``function`` itself if there are none.

    ``given`` holds intervals of parameters.
    """
    if not without_bound(function):
        return function
    made = copy_function(function)
    places = dict(zip(function.parameters, made.parameters))
    found = analyse(made, {places[v]: interval for v, interval in (given or {}).items()}).iterations
    marked = [op for op in without_bound(made) if op in found]
    for op in marked:
        op.callee = AtMost(found[op])
    return made if marked else function


def without_bound(function: Function) -> list[Operation]:
    """Return the ``range`` loops of a function whose number of iterations has no bound, and that have no policy."""
    return [op for op in walk(function.block) if op.kind == "range" and op.callee is None and op.iterations is None]


def unbounded(function: Function) -> Function:
    """Return a function whose loops carry no bounds, or ``function`` itself if none does."""
    if not any(isinstance(op.callee, AtMost) for op in walk(function.block)):
        return function
    made = copy_function(function)
    for op in walk(made.block):
        if isinstance(op.callee, AtMost):
            op.callee = None
    return made


def storeless(function: Function, sweeps_of: Callable[[Function], Sweeps]) -> Sweeps:
    """Return the sweeps of a function in which loops without a bound store nothing, as far as this is possible."""
    made = copy_function(function)
    loops = [op for op in walk(made.block) if op.kind in ("range", "while") and op.callee is None]
    tried = {op: Storeless() for op in loops if op.iterations is None}
    if not tried:
        return sweeps_of(function)
    for op, mark in tried.items():
        op.callee = mark
    sweeps = sweeps_of(made)
    while any(mark.values for mark in tried.values()):
        for op, mark in tried.items():
            op.callee = None if mark.values else mark
        tried = {op: mark for op, mark in tried.items() if not mark.values}
        sweeps = sweeps_of(made)
    for f in (sweeps.forward, sweeps.backward):
        for op in walk(f.block):
            if isinstance(op.callee, Storeless):
                op.callee = None
    return sweeps
