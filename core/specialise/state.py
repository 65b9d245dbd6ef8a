"""Changes made by a region of a program: variables, arrays, lists, dicts, attributes of objects.

Everything mutable is a *holder*: the dict of a scope's variables, a ``Storage``, a list, a dict, a set, an object with
attributes.  The first change of a holder within a region saves its content, so that a region can be run, its outcome
recorded, and the state before it restored.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from ..ir.dynamic import Value
from ..values.items import entries_of, items_of
from .instances import held_by_instance, hold
from .traced import Array, Storage

RAW = (bytearray, array)
"""Containers of numbers that are known while compiling."""

After = dict[int, tuple[Any, Any]]
"""Holders with their contents after a region, by id."""


def content(holder: Any) -> Any:
    """Return a copy of a holder's content."""
    if isinstance(holder, Storage):
        return holder.value
    if isinstance(holder, dict):
        return dict(entries_of(holder))
    if isinstance(holder, (list, deque)):
        return list(items_of(holder))
    if isinstance(holder, set):
        return set(items_of(holder))
    if isinstance(holder, RAW):
        return list(holder)
    return dict(held_by_instance(holder))


def present(holder: Any) -> Any:
    """Return a holder's content, to be read only: a plain list, dict, set or deque is its own."""
    return holder if type(holder) in (dict, list, set, deque) else content(holder)


def value_after(x: Array, after: After) -> Value:
    """Return an array's elements as a region left them; a view is read where the builder writes."""
    present = after.get(id(x.storage), (None, x.storage.value))[1]
    return present if x.view is None else x.view.read(present)


def put(holder: Any, held: Any) -> None:
    """Set a holder's content."""
    if isinstance(holder, Storage):
        holder.value = held
    elif isinstance(holder, list):
        list.__setitem__(holder, slice(None), held)
    elif isinstance(holder, deque):
        deque.clear(holder)
        deque.extend(holder, held)
    elif isinstance(holder, dict):
        kind = OrderedDict if isinstance(holder, OrderedDict) else dict  # a subclass may override these methods
        kind.clear(holder)
        kind.update(holder, held)
    elif isinstance(holder, RAW):
        holder[:] = type(holder)(held) if isinstance(holder, bytearray) else array(holder.typecode, held)
    elif isinstance(holder, set):
        set.clear(holder)
        set.update(holder, held)
    else:
        hold(holder, held)


class Changes:
    """The holders that a region has changed, with their contents before it, in the order of their first changes."""

    def __init__(self) -> None:
        self.before: dict[int, tuple[Any, Any]] = {}
        self.part_of: Any = self  # the region that contains it, once it is committed

    def touch(self, holder: Any) -> None:
        """Save a holder's content; to be called before a change."""
        if id(holder) not in self.before:
            self.before[id(holder)] = holder, content(holder)

    @property
    def holders(self) -> list[Any]:
        return [holder for holder, _ in self.before.values()]

    def undo(self, is_new: Callable[[Any], bool]) -> dict[int, tuple[Any, Any]]:
        """Restore the contents before the region; return those after it.

        Holders made inside (``is_new``) stay as they are: outside references to them are among the region's changes.
        """
        after = {key: (holder, content(holder)) for key, (holder, _) in self.before.items()}
        for holder, held in self.before.values():
            if not is_new(holder):
                put(holder, held)
        return after
