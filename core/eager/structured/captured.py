"""Globals that a compiled function takes for constants, though a run may have computed them.

A run can bind a global to what it has computed, and write into an array that a global holds.  A function compiled with
that for a constant has no derivative by it, so it is recorded there instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...values.memory import owner
from ...values.reachable import reached
from ..recorded.tape import Tape
from .functions import Compiled


def is_constant(tape: Tape, compiled: Compiled) -> bool:
    """Whether no global of a compiled function depends on what has been recorded on ``tape`` and those around it."""
    if compiled.is_fixed:
        return True
    if compiled.arrays_given is None:
        values = [value for _, _, value in compiled.guards if not callable(value)]
        given: set[int] = set()
        reached(values, given)
        if given and any(not given.isdisjoint(made) for made in made_on(tape)):
            return False
        # What was not computed by now never will be, as what computes makes new objects; but an array can be written to.
        compiled.arrays_given = {id(owner(x)) for x in values if isinstance(x, np.ndarray)}
        compiled.is_fixed = not compiled.arrays_given
    around: Tape | None = tape
    while around is not None:
        if not compiled.arrays_given.isdisjoint(around.written):
            return False
        around = around.parent
    return True


def made_on(tape: Tape | None) -> Iterator[set[int]]:
    """The identities of the numbers and the owners of the arrays that each tape knows."""
    while tape is not None:
        found: set[int] = set()
        reached(tape.inputs or (), found)
        for _, y, *_ in tape.records:
            reached(y, found)
        yield found
        tape = tape.parent
