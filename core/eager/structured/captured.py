"""Detect globals that a structured function treats as constants although the recorded run has computed them.

A run can bind a global to a computed value, or write into an array that a global holds.  The structured form has no
derivative with respect to such a global, so the call is recorded instead.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...values.memory import owner
from ...values.reachable import reached
from ..recorded.tape import Tape
from .functions import Compiled


def is_constant(tape: Tape, compiled: Compiled) -> bool:
    """Whether no global that ``compiled`` has read depends on values recorded on ``tape`` or its enclosing tapes."""
    if compiled.is_fixed:
        return True
    if compiled.arrays_given is None:
        values = [value for _, _, value in compiled.guards if not callable(value)]
        given: set[int] = set()
        reached(values, given)
        if given and any(not given.isdisjoint(made) for made in made_on(tape)):
            return False
        # Operations make new objects, so a value that is not on a tape now never will be; arrays can still be written.
        compiled.arrays_given = {id(owner(x)) for x in values if isinstance(x, np.ndarray)}
        compiled.is_fixed = not compiled.arrays_given
    around: Tape | None = tape
    while around is not None:
        if not compiled.arrays_given.isdisjoint(around.written):
            return False
        around = around.parent
    return True


def made_on(tape: Tape | None) -> Iterator[set[int]]:
    """Yield, for each tape outwards, the identities of its inputs and results: numbers, and owners of arrays."""
    while tape is not None:
        found: set[int] = set()
        reached(tape.inputs or (), found)
        for _, y, *_ in tape.records:
            reached(y, found)
        yield found
        tape = tape.parent
