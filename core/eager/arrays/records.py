"""Structured arrays on the tape: arrays of records with named fields, some of which are numbers.

A field or a record of an array is a view of its memory, so its cotangent needs no special treatment.  A function that
moves whole records (a copy, ``take``, a sort) is followed by moving their positions in the same way.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..recorded.tape import Cotangents, Record, Tape


def numeric_fields(x: np.ndarray) -> Iterator[np.ndarray]:
    """Yield views of the fields that hold floating-point numbers, including those of nested records."""
    if x.dtype.names is None:
        if x.dtype.kind in "fc":
            yield x
        return
    for name in x.dtype.names:
        yield from numeric_fields(x[name])


def holds_numbers(dtype: np.dtype[Any]) -> bool:
    if dtype.names is None:
        return dtype.base.kind in "fc"
    return any(holds_numbers(dtype[name]) for name in dtype.names)


def moved(tape: Tape, y: np.ndarray, source: np.ndarray, places: np.ndarray, chosen: Any = ...) -> None:
    """Record that the records ``y[chosen]`` were copied from ``places`` in the flattened ``source``."""
    if holds_numbers(y.dtype):
        tape.records.append((moved_back, y, source, places, chosen))


def moved_back(table: Cotangents, record: Record) -> None:
    _, y, source, places, chosen = record
    index = np.unravel_index(places, source.shape) if source.ndim else ()
    for part, origin in zip(numeric_fields(y), numeric_fields(source)):
        if table.reached(part):
            window = table.window(part)
            g = table.run(np.copy, table.run(operator.getitem, window, chosen))
            table.write(window, chosen, 0)
            table.add_at(origin, tuple(np.asarray(i) for i in index), g)


def moved_by(tape: Tape, function: Any, y: np.ndarray, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Record a function that moves records: applied to positions, it tells where each came from.

    Returns False if the function does more than move records.
    """
    sources: list[np.ndarray] = []

    def positions(x: Any) -> Any:
        if isinstance(x, np.ndarray) and x.dtype.kind == "V":
            first = sum(s.size for s in sources)
            sources.append(x)
            return np.arange(first, first + x.size).reshape(x.shape)
        return type(x)(map(positions, x)) if type(x) in (tuple, list) else x

    if function is np.sort:
        named = dict(zip(("a", "axis", "kind", "order"), args)) | kwargs
        places = np.argsort(**named)
        source = named["a"]
        axis = -1 if named.get("axis", -1) is None else named.get("axis", -1)
        flat = np.arange(source.size).reshape(source.shape if named.get("axis", -1) is not None else -1)
        moved(tape, y, source, np.take_along_axis(flat, places, axis))
        return True
    try:
        places = function(*map(positions, args), **kwargs)
    except (TypeError, ValueError):
        return False
    if not sources or not isinstance(places, np.ndarray) or places.shape != y.shape or places.dtype.kind != "i":
        return False
    if any(s.dtype != y.dtype for s in sources):
        return False
    first = 0
    for source in sources:
        chosen = (first <= places) & (places < first + source.size)
        moved(tape, y, source, places[chosen] - first, chosen)
        first += source.size
    return True
