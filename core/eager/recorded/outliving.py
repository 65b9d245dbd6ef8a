"""Values that outlive the records of a call, so that the call must be kept instead of being made again."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from types import CellType, FunctionType
from typing import Any

import numpy as np

from ...values.memory import identity, owner
from ...values.numbers import NUMBER_TYPES
from ...values.program_state import entries_of
from ..unrecorded.opaque import Opaque
from .tape import Record


def escapes(made: list[Record], y: Any, outside: set[int], before: Any = ()) -> bool:
    """Whether a result of some records, a number or an array, is referenced from outside of these records and ``y``.

    ``outside`` identifies values that were there before: arrays that the records write into.  ``before`` are further
    values that must not be referenced elsewhere: those that the steps before have returned, in a tuple.  Compares
    reference counts with the references found in the records; an unexplained reference counts as outside.
    """
    if not before and _surely_owned(made, y):
        return False
    passed = {identity(x) for x in values_in([y])} | outside
    results: dict[int, Any] = {id(x): x for x in values_in([r[1] for r in made]) if identity(x) not in passed}
    earlier = [x for x in values_in(before) if identity(x) not in outside]
    results |= {id(x): x for x in earlier}
    results |= {id(owner(x)): owner(x) for x in results.values() if isinstance(x, np.ndarray)}
    counts: Counter[int] = Counter(map(id, earlier))
    del earlier
    if before:
        counts.update(map(id, values_in([y])))
    sample: list[Any] = [(object(),)]
    x = sample[0]
    alone = sys.getrefcount(x)  # the count of an object that only a record and the name x refer to
    seen: set[int] = set()
    waiting: list[Any] = [e for record in made for e in record]
    while waiting:
        x = waiting.pop()
        if isinstance(x, np.ndarray):
            counts[id(x)] += 1
            if x.base is not None and id(x) not in seen:
                seen.add(id(x))
                waiting.append(x.base)
        elif type(x) in NUMBER_TYPES:
            counts[id(x)] += 1
        elif type(x) in _PARTS and sys.getrefcount(x) <= alone:
            waiting += _PARTS[type(x)](x)
    del x
    results[0] = object()
    references = {key: sys.getrefcount(x) for key, x in results.items()}
    none = references.pop(0)
    return any(n - none > counts[key] for key, n in references.items())


def is_shared(y: Any, outside: set[int]) -> bool:
    """Whether a number or an array in the tuple ``y``, except those ``outside``, is referenced from elsewhere, or might be."""
    for x in y:
        if isinstance(x, (tuple, list, dict)):
            return True
        if type(x) not in NUMBER_TYPES and not isinstance(x, np.ndarray) or identity(x) in outside:
            continue
        while isinstance(x, np.ndarray) and x.base is not None:  # a view refers to what it shows
            if sys.getrefcount(x) > ALONE + sum(x is e for e in y):
                return True
            x = x.base
        if sys.getrefcount(x) > ALONE + max(1, sum(x is e for e in y)):
            return True
    return False


_sample = [object()]
ALONE = max(sys.getrefcount(x) for x in _sample) - 1
"""The references of an object that nothing but the name of a loop and the call that counts them refers to."""


def _surely_owned(made: list[Record], y: Any) -> bool:
    """Whether the records account for all references to their results: a fast check for plain numbers."""
    results = [r[1] for r in made]
    counts = Counter(map(id, chain.from_iterable(made)))
    counts[id(y)] = sys.maxsize  # the result of the call may be referenced anywhere
    results.append(object())
    *references, none = map(sys.getrefcount, results)
    results.pop()
    return all(map(NUMBER_TYPES.__contains__, map(type, results))) and all(
        n - none <= counts[id(x)] for n, x in zip(references, results)
    )


def values_in(found: Any) -> Iterator[Any]:
    """Yield the numbers and arrays in nested tuples, lists and dicts."""
    for x in found:
        if type(x) in NUMBER_TYPES or isinstance(x, np.ndarray):
            yield x
        elif isinstance(x, (tuple, list)):
            yield from values_in(x)
        elif isinstance(x, dict):
            yield from values_in(x.values())


_PARTS: dict[type, Callable[[Any], Any]] = {
    tuple: iter,
    list: iter,
    dict: dict.values,
    Opaque: lambda x: (x.inputs,),
    FunctionType: lambda x: (x.__closure__,),
    CellType: entries_of,
}
"""Functions that return what an object in a record refers to, by class."""
