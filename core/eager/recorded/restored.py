"""The state that a function can reach, restored while the function runs again."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import CellType
from typing import Any

from ...exclusion import undo
from ...values.attributes import attributes, remove_entry, set_entry
from ...values.memory import identity
from ...values.program_state import EMPTY, Reach, Variables, entries_of


class State:
    """A snapshot of the containers, objects and variables that can be reached from some values."""

    def __init__(self, *roots: Any) -> None:
        reach = Reach(*roots)
        self.held = reach.held
        self.is_whole = reach.is_whole and not reach.iterators  # whether everything reached can be restored
        self.values = reach.values
        self.outside = {identity(x) for x in reach.values}  # the numbers and the arrays' owners that were there before

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
