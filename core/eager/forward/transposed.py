"""Tangents where only a pullback is known: the pullback of a record is linear, and its transpose maps tangents.

The pullback runs on a tape of its own, from a cotangent of ones to the cotangents of the operands. The backward sweep of that
tape takes the operands' tangents to the tangent of the result.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...values.memory import owner
from ...values.numbers import PASSIVE, call_on
from ...values.reachable import reached
from ..arrays.records import numeric_fields
from ..recorded.call import call
from ..recorded.structure import same_number
from ..recorded.tape import Cotangents, NotANumber, Record, Tape, sweep
from ..unrecorded.opaque import Opaque
from .tangents import Tangents


def push_transposed(tangents: Tangents, record: Record) -> None:
    """Set the tangents of a record's results by transposing its pullback."""
    if not varies(tangents, record):
        return
    y = record[1]
    try:
        found = _transposed(tangents, record, is_strong=False)
        if _has_nan(found):
            found = _transposed(tangents, record, is_strong=True)
    except NotANumber:
        found = _transposed(tangents, record, is_strong=True)
    except NoDerivative as error:
        refused = error
        return tangents.lose(y, lambda: refused)
    tangents.set(y, found)


def varies(tangents: Tangents, record: Record) -> bool:
    taken: set[int] = set()
    parts = list(_operands(record[2:]))
    reached([getattr(x, "operands", x) for x in parts], taken)
    if not taken.isdisjoint(tangents.numbers) or not taken.isdisjoint(tangents.arrays):
        return True
    return tangents.tape.integers is not None and any(map(tangents.varies, parts))


def _transposed(tangents: Tangents, record: Record, is_strong: bool) -> Any:
    parent = tangents.tape.parent
    inner = Tape(parent)
    inner.is_between = True
    y = record[1]
    dy = ones(y)
    inner.records = Dependent(dy)
    pulled = Cotangents(functools.partial(call, inner), inner)
    pulled.tape = tangents.tape
    pulled.add(y, dy)
    record[0](pulled, record)
    if pulled.unknown:  # marked by NaN
        pulled.is_strong = True
        numbers = [g for key, g in pulled.numbers.items() if key in tangents.numbers]
        for g in [*numbers, *(g for key, g in pulled.arrays.items() if key in tangents.arrays)]:
            if np.isnan(g).any():
                pulled.check(g)
    evaluate: Any = None if parent is None and not is_strong else functools.partial(call_on, parent)
    table = Cotangents(evaluate, parent, is_strong)
    for key, g in pulled.numbers.items():
        if key in tangents.numbers:
            table.add(g, tangents.numbers[key][1])
    for key, g in pulled.arrays.items():
        if key in tangents.arrays:
            memory = tangents.arrays[key][1]
            if g.dtype == np.uint8:  # of a buffer
                g, memory = _as_numbers(g, key, record), _as_numbers(memory, key, record)
            memory = memory if memory.shape == g.shape else np.ndarray(g.shape, g.dtype, memory, 0, g.strides)
            for part, t in zip(numeric_fields(g), numeric_fields(memory)):
                table.add(part, t)
    sweep(inner, table)
    return _taken(table, dy)


def _as_numbers(memory: np.ndarray, key: int, record: Record) -> np.ndarray:
    """Return the bytes of a buffer as numbers, of the dtype as which the operands of a record show them."""
    shown = {x.dtype for x in _operands(record[1:]) if isinstance(x, np.ndarray) and id(owner(x)) == key}
    if len(shown) != 1 or memory.nbytes % next(iter(shown)).itemsize:
        raise NoDerivative(
            "memory that no array owns is read as numbers of several dtypes, so its tangent is not known; copy it to an array"
        )
    return memory.view(*shown)


class Dependent(list[Record]):
    """The records of operations that depend on a cotangent; slopes and other factors do not, and are not differentiated."""

    def __init__(self, dy: Any) -> None:
        super().__init__()
        self.known: set[int] = set()
        reached(dy, self.known)

    def append(self, record: Record) -> None:
        taken: set[int] = set()
        reached([x.inputs if type(x) is Opaque else getattr(x, "operands", x) for x in record[1:]], taken)
        if not taken.isdisjoint(self.known):
            reached(record[1], self.known)
            super().append(record)


def ones(y: Any) -> Any:
    """Return new ones in the form of a result: a pullback is linear, but may treat zeros apart."""
    if isinstance(y, np.ndarray):
        return np.ones(y.shape, float if y.dtype.kind == "O" else y.dtype) if y.dtype.kind in "fcO" else None
    if isinstance(y, (list, tuple)):
        return [ones(e) for e in y]
    if isinstance(y, dict):
        return {k: ones(e) for k, e in y.items()}
    if type(y) in PASSIVE or not isinstance(y, (int, float, complex, np.number)):
        return None
    return same_number(1.0 if isinstance(y, int) else type(y)(1))


def _taken(table: Cotangents, dy: Any) -> Any:
    if isinstance(dy, (list, tuple)):
        return [_taken(table, e) for e in dy]
    if isinstance(dy, dict):
        return {k: _taken(table, e) for k, e in dy.items()}
    return None if dy is None else table.take(dy)


def _operands(parts: Any) -> Any:
    for x in parts:
        if isinstance(x, (list, tuple)):
            yield from _operands(x)
        elif isinstance(x, dict):
            yield from _operands(x.values())
        else:
            yield x


def _has_nan(t: Any) -> bool:
    if isinstance(t, (list, tuple)):
        return any(map(_has_nan, t))
    if isinstance(t, dict):
        return any(map(_has_nan, t.values()))
    return t is not None and bool(np.any(np.isnan(np.asarray(t))))
