"""States between the legs of a loop that are moved from memory to files.

On the tape, a token (``Spilled``) takes the place of an array: it is the key of the array's cotangent, and a leg that is
run again starts from a copy that is read back. An array stays in memory if anything but the records of legs refers to
it, since its own identity is then the key.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...values.memory import owner
from ...values.spilled import Spill, Spilled
from .outliving import ALONE
from .tape import Cotangents, Record, Tape

RESULT, ARGUMENTS, STATE = 1, 3, 5
"""Where the record of a leg holds the state after it, the state before it, and what it can reach."""


def offload(tape: Tape, first: int, state: tuple[Any, ...], spill: Spill) -> None:
    """Move the arrays before the last leg that are not part of the state after it.

    The records of the loop's legs begin at ``first``. Nothing but these may refer to the state before the last leg.
    """
    live = {id(owner(x)) for x in state if isinstance(x, np.ndarray)}
    before = tape.records[-1][ARGUMENTS]  # the loop's frames refer to it until the leg returns
    waiting = {id(x): x for x in before if _is_movable(x) and id(x) not in live}
    while waiting:
        key, x = waiting.popitem()
        places = [*_records_with(tape, first, x)]
        token = Spilled(spill, x)
        for place in places:
            tape.records[place] = _exchanged(tape.records[place], x, token)
        reaches = [tape.records[place][STATE] for place in places]
        for reach in reaches:
            reach.values = [y for y in reach.values if y is not x]
        if sys.getrefcount(x) > ALONE + _count(before, x):
            for place in places:
                tape.records[place] = _exchanged(tape.records[place], token, x)
            for reach in reaches:
                reach.values = [*reach.values, x]
        else:
            for reach in reaches:
                reach.outside.discard(key)


def _count(values: tuple[Any, ...], x: Any) -> int:
    return sum(y is x for y in values)


def _is_movable(x: Any) -> bool:
    return type(x) is np.ndarray and x.base is None and x.dtype.kind in "biufc" and x.nbytes > 0


def _records_with(tape: Tape, first: int, x: np.ndarray) -> Any:
    """Yield the places of the last records that refer to an array, up to the one that made it."""
    for place in reversed(range(first, len(tape.records))):
        record = tape.records[place]
        if not _count(record[RESULT], x) and not _count(record[ARGUMENTS], x):
            return
        yield place
        if not _count(record[ARGUMENTS], x):
            return


def _exchanged(record: Record, x: Any, by: Any) -> Record:
    parts = list(record)
    for place in (RESULT, ARGUMENTS):
        parts[place] = tuple(by if y is x else y for y in parts[place])
    return tuple(parts)


def loaded(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[int, tuple[Spilled, np.ndarray]]]:
    """Return arguments with arrays in place of tokens, and the pairs of a token and its array."""
    found: dict[int, tuple[Spilled, np.ndarray]] = {}
    for x in args:
        if type(x) is Spilled and id(x) not in found:
            found[id(x)] = x, x.load()
    return tuple(found[id(x)][1] if type(x) is Spilled else x for x in args), found


def give_back(table: Cotangents, pairs: dict[int, tuple[Spilled, np.ndarray]]) -> None:
    """Move the cotangents of arrays that were read back to their tokens."""
    for key, (token, x) in pairs.items():
        g = table.take(x)
        if g is not None:
            table.numbers[key] = g
            table.alive[key] = token
