"""Recognises the frames of a kind that is known: one generated function for each kind.

``looked_at`` walks over a frame by what is opened of it, and makes a key.  A matcher does the same for one key: it is straight-line code which tests
classes, lengths and names in the order of the walk, and returns everything that is seen, or None for a frame of another kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..values.layout import NUMBERS, NUMBERS_OF_NUMPY, STATIC, held_by
from .opened_structures import ANY_LENGTH, CLOSED, ITEM, Opened, is_plain, item_of

Matcher = Callable[..., "list[Any] | None"]


def matcher(objects: Sequence[Any], opened: Sequence[Opened | None]) -> Matcher:
    """Return a function of objects that returns what ``looked_at`` finds in them if its key is that of these objects, and else None."""
    source = _Source()
    names = [source.name(x) for x in objects]
    for name, x, inside in zip(names, objects, opened):
        source.look(name, x, inside)
    body = [*source.tests, *source.apart(), f"return [{', '.join(source.found)}]"]
    text = "\n    ".join([f"def match({', '.join(names)}):", *body])
    exec(text, source.constants)
    return source.constants["match"]


class _Source:
    """The code of a matcher while it is written."""

    def __init__(self) -> None:
        self.tests: list[str] = []
        self.found: list[str] = []
        self.with_identity: list[str] = []  # opened objects, which may stand in one place only
        self.count = 0
        self.constants: dict[str, Any] = {"CLOSED": CLOSED, "item_of": item_of, "held_by": held_by}

    def name(self, x: Any) -> str:
        self.count += 1
        return f"x{self.count}"

    def constant(self, x: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = x
        return name

    def require(self, test: str) -> None:
        self.tests.append(f"if not ({test}): return None")

    def look(self, name: str, x: Any, opened: Opened | None) -> None:
        self.found.append(name)
        kind = type(x)
        if kind in STATIC:
            value = self.constant(x)
            self.require(f"type({name}) is {self.constant(kind)} and ({name} is {value} or {name} == {value})")
            return
        if opened is None:
            self.require(f"type({name}) not in CLOSED")
            return
        self.require(f"type({name}) is {self.constant(kind)}")
        if kind in NUMBERS or kind in NUMBERS_OF_NUMPY:
            return
        if kind is not tuple:
            self.with_identity.append(name)
        inside = opened.get(ANY_LENGTH)
        if inside is not None and (item := item_of(x, inside.get(ITEM))) is not None:
            self.require(f"item_of({name}, {self.constant(inside.get(ITEM))}) == {self.constant(item)}")
        elif kind is np.ndarray:
            self.require(f"{name}.dtype == {self.constant(x.dtype)} and {name}.shape == {self.constant(x.shape)}")
        else:
            self.entries(name, x, opened)

    def entries(self, name: str, x: Any, opened: Opened) -> None:
        """Test the entries of a container or an object."""
        kind, entries = type(x), name
        held: Any = (x.__dict__, [*x.__dict__.values()]) if is_plain(kind) else held_by(x)
        inside = [self.name(e) for e in held[1]]
        if kind is list or kind is tuple:
            self.require(f"len({name}) == {len(x)}")
        elif kind is dict:
            self.require(f"tuple({name}) == {self.constant(tuple(x))}")
            entries = f"{name}.values()"
        elif is_plain(kind):
            self.tests.append(f"d = {name}.__dict__")
            self.require(f"tuple(d) == {self.constant(tuple(x.__dict__))}")
            entries = "d.values()"
        else:
            self.tests.append(f"h = held_by({name})")
            self.require(f"h is not None and h[0] == {self.constant(held[0])}")
            entries = "h[1]"
        if inside:
            self.tests.append(f"{', '.join(inside)}, = {entries}")
        for i, (e, value) in enumerate(zip(inside, held[1])):
            self.look(e, value, opened.get(i))

    def apart(self) -> list[str]:
        """Return the test that no two of the opened objects are one: ``looked_at`` refuses such a frame."""
        if len(self.with_identity) < 2:
            return []
        ids = ", ".join(f"id({x})" for x in self.with_identity)
        return [f"if len({{{ids}}}) < {len(self.with_identity)}: return None"]
