"""``checkpoint``: a call that is recomputed in the backward sweep instead of being kept on the tape.

The second run must see the same state as the first, so for its duration the containers, objects and variables that the
function can reach are restored.  A call that cannot be repeated is kept on the tape like any other: if it wrote into an
array, if a value that it computed is held elsewhere (in a list, an attribute, a variable, a generator), or if it reads
an iterator, which cannot be rewound.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain
from types import CellType, FunctionType
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...exclusion import undo
from ...rules.registry import handles
from ...source.definitions import describe
from ...source.requirements import check_function
from ...values.attributes import attributes, remove_entry, set_entry
from ...values.memory import identity, owner
from ...values.numbers import NUMBER_TYPES
from ...values.program_state import EMPTY, Reach, Variables, entries_of
from ..unrecorded.opaque import Opaque
from .call import call
from .pullback import seed
from .tape import Cotangents, Record, Tape, snapshot, sweep_within


def checkpoint(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call ``f`` and recompute the call in the backward sweep instead of keeping its intermediate results.

    For the second run, the containers, objects and variables that ``f`` can reach are restored.  A function that writes
    into arrays, stores computed values elsewhere or reads an iterator is not repeated but kept.

    Args:
        f: a function that returns numbers and arrays, or lists and tuples of these.
        *args: positional arguments of ``f``.
        **kwargs: keyword arguments of ``f``.

    Returns:
        ``f(*args, **kwargs)``.

    Raises:
        BadInput: ``f`` is not callable.
        NoDerivative: in the backward sweep, the second run fails or gives another result, as with random numbers.

    >>> from morula.core import grad, pullback
    >>> grad(lambda x: checkpoint(lambda u: u * u * u, x))(2.0)
    12.0
    """
    check_function(f)
    return f(*args, **kwargs)


@handles(checkpoint)
def _checkpoint(tape: Tape, f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    check_function(f)
    if tape.tangents is not None:  # forward mode stores nothing
        return call(tape, f, *args, **kwargs)
    state = State(f, args, kwargs)
    first, written = len(tape.records), set(tape.written)
    y = call(tape, f, *args, **kwargs)
    made = tape.records[first:]
    if state.is_whole and _is_numeric(y) and not _writes(tape, written, made) and not escapes(made, y):
        tape.records[first:] = [(_run_again, snapshot(y), f, args, kwargs, state)]
    return y


def _is_numeric(y: Any) -> bool:
    if isinstance(y, (tuple, list)):
        return all(map(_is_numeric, y))
    return isinstance(y, (np.ndarray, float, complex, int, np.number))


def _writes(tape: Tape, before: set[int], made: list[Record]) -> bool:
    """Whether the records of a call write into arrays.

    ``tape.written`` shows new arrays; a record about an array that was written before counts as a write too.
    """
    arrays = (r[1] for r in made if isinstance(r[1], np.ndarray))
    return tape.written != before or bool(before) and any(id(owner(a)) in before for a in arrays)


def _run_again(table: Cotangents, record: Record) -> None:
    _, y, f, args, kwargs, state = record
    dy = table.take(y)
    if dy is None:
        return
    again = Tape(table.parent)
    again.integers = None if table.tape is None else table.tape.integers
    with state.restored():
        try:
            found = call(again, f, *args, **kwargs)
        except Exception as error:
            raise _differs(f) from error
        if not _same(found, y):
            raise _differs(f)
        seed(table, found, dy)
        sweep_within(again, table, found)


def _differs(f: Any) -> NoDerivative:
    return NoDerivative(
        f"{describe(f)} returned a different result when checkpoint recomputed it for the backward pass: a value that it "
        "reads has changed since, or it draws random numbers. Pass such values as arguments, or call it without checkpoint"
    )


def _same(x: Any, y: Any) -> bool:
    """Whether two runs gave the same numbers; NaNs count as equal."""
    if isinstance(x, (tuple, list)):
        return isinstance(y, (tuple, list)) and len(x) == len(y) and all(map(_same, x, y))
    return np.array_equal(x, y, equal_nan=not isinstance(x, int))


# The state that a function can reach


class State:
    """A snapshot of the containers, objects and variables that can be reached from some values."""

    def __init__(self, *roots: Any) -> None:
        reach = Reach(*roots)
        self.held = reach.held
        self.is_whole = reach.is_whole and not reach.iterators  # whether everything reached can be restored

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Restore the snapshot for the duration of a ``with`` statement."""
        now = [(x, entries, entries_of(x)) for x, entries in self.held]
        changed = [(x, then, since) for x, then, since in now if not _same_entries(then, since)]
        ending = [partial(_put_back, now)]
        try:
            for x, then, _ in changed:
                _put(x, then)
            yield
        finally:
            # This also undoes changes made during the ``with`` statement.
            try:
                undo(ending)
            except BaseException:
                undo(ending)
                raise


def _put_back(now: list[tuple[Any, Any, Any]]) -> None:
    for x, _, since in now:
        if not _same_entries(entries_of(x), since):
            _put(x, since)


def _same_entries(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return list(a) == list(b) and all(a[key] is b[key] for key in a)
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


def _put(x: Any, entries: Any) -> None:
    if isinstance(x, list):
        list.__setitem__(x, slice(None), entries)
    elif isinstance(x, (set, deque, dict)):
        kind: Any = next(k for k in (set, deque, OrderedDict, dict) if isinstance(x, k))
        kind.clear(x)
        (kind.extend if kind is deque else kind.update)(x, entries)
    elif isinstance(x, CellType):
        if entries[0] is EMPTY:
            del x.cell_contents
        else:
            x.cell_contents = entries[0]
    elif type(x) is Variables:
        for name in x.names:
            if name not in entries:
                x.scope.pop(name, None)
            elif x.scope.get(name, EMPTY) is not entries[name]:
                x.scope[name] = entries[name]
    elif not isinstance(x, frozenset):
        held = dict(attributes(x))
        for name in held.keys() - entries.keys():
            remove_entry(x, name)
        for name, value in entries.items():
            if held.get(name, EMPTY) is not value:
                set_entry(x, name, value)


# Values that outlive a call


def escapes(made: list[Record], y: Any) -> bool:
    """Whether a result of some records, a number or an array, is referenced from outside of these records and ``y``.

    Compares reference counts with the references found in the records; an unexplained reference counts as outside.
    """
    if _surely_owned(made, y):
        return False
    passed = {identity(x) for x in _values_in([y])}
    results: dict[int, Any] = {id(x): x for x in _values_in([r[1] for r in made]) if identity(x) not in passed}
    results |= {id(owner(x)): owner(x) for x in results.values() if isinstance(x, np.ndarray)}
    counts: Counter[int] = Counter()
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


def _values_in(found: Any) -> Iterator[Any]:
    """Yield the numbers and arrays in nested tuples, lists and dicts."""
    for x in found:
        if type(x) in NUMBER_TYPES or isinstance(x, np.ndarray):
            yield x
        elif isinstance(x, (tuple, list)):
            yield from _values_in(x)
        elif isinstance(x, dict):
            yield from _values_in(x.values())


_PARTS: dict[type, Callable[[Any], Any]] = {
    tuple: iter,
    list: iter,
    dict: dict.values,
    Opaque: lambda x: (x.inputs,),
    FunctionType: lambda x: (x.__closure__,),
    CellType: entries_of,
}
"""Functions that return what an object in a record refers to, by class."""
