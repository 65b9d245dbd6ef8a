"""How objects are made and changed when a program has run: those in several places of its results, and the holders that it changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..values.attributes import attributes, remove_entry, set_entry
from ..values.holders import kind_of as kind_of_holder
from ..values.items import base_of, count_of
from .scopes import UNBOUND

Plan = Callable[[Sequence[Any], Sequence[Any], Sequence[Any]], Any]
"""Makes an object from the program's results, the leaves of the arguments, and the objects that held these."""


class Shared:
    """Builds an object once per run for several places of a result, before its contents if it contains itself.

    A dict at the end of the results of a run holds what is built.
    """

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.is_planning = False
        self.like: Any = None  # the object, if it contains itself

    def __call__(self, results: Sequence[Any], leaves: Sequence[Any], objects: Sequence[Any]) -> Any:
        assert self.plan is not None and isinstance(results, list)
        if not results or type(results[-1]) is not dict:
            results.append({})
        made = results[-1]
        if id(self) in made:
            return made[id(self)]
        if self.like is None:
            made[id(self)] = self.plan(results, leaves, objects)
        else:
            kind = kind_of_holder(type(self.like))
            assert kind is not None
            new = made[id(self)] = kind.blank(self.like)
            entries = kind.entries(self.plan(results, leaves, objects))
            kind.fill(new, [k for k, _ in entries], [e for _, e in entries])
        return made[id(self)]


def assignment(plan: Plan) -> Callable[..., None]:
    def update(x: Any, results: Sequence[Any], leaves: Sequence[Any], objects: Sequence[Any]) -> None:
        x.put(plan(results, leaves, objects))

    return update


class Itself:
    """An outside holder that an update changes."""

    def __init__(self, x: Any) -> None:
        self.x = x


def refilled(plan: Plan) -> Callable[..., None]:
    def update(x: Any, results: Sequence[Any], leaves: Sequence[Any], objects: Sequence[Any]) -> None:
        list.__setitem__(x, slice(None), plan(results, leaves, objects))

    return update


def update_of(
    kind: type, changed: dict[Any, Plan], gone: list[Any], order: list[Any], keys: dict[Any, Plan]
) -> Callable[..., None]:
    """Return what changes a list, a dict or an object; ``keys`` tells how keys of a dict are made that are no constants."""

    def update(x: Any, results: Sequence[Any], leaves: Sequence[Any], objects: Sequence[Any]) -> None:
        if issubclass(kind, list):
            if gone:
                list.__delitem__(x, slice(min(gone), None))
            for i, plan in changed.items():
                new = plan(results, leaves, objects)
                list.append(x, new) if i == count_of(x) else list.__setitem__(x, i, new)
        elif issubclass(kind, dict):
            base = base_of(x)
            for k in gone:
                base.__delitem__(x, k)
            for k, plan in changed.items():
                key = keys[k](results, leaves, objects) if k in keys else k
                base.__setitem__(x, key, plan(results, leaves, objects))
            for k in order:
                base.__setitem__(x, k, base.pop(x, k))
        else:
            for k in gone:
                remove_entry(x, k)
            for k, plan in changed.items():
                new = plan(results, leaves, objects)
                if new is not UNBOUND:
                    set_entry(x, k, new)
                elif any(name == k for name, _ in attributes(x)):
                    remove_entry(x, k)

    return update
