"""Arrays that may be one of several: a write into one of them is repeated in the others, under a condition.

After ``m = a if c else b`` the array m has a storage of its own, with the elements of a or of b.  Its *places* tell which
memory it is: a's where c holds, else b's.  A write into m is repeated in its places, each under its condition, and a
write into a place in the arrays that may be there.  What is never read is removed by ``simplify``.

A place whose memory is made in a branch is the merged array itself, where that branch was taken.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from ..ir.dynamic import Value
from .surface.views import in_numpy
from .traced import Array, Scalar, Storage, View


class Place(NamedTuple):
    """A memory that an array is, looking into it through ``view``, where a condition holds; True: it always holds."""

    condition: Value | bool
    storage: Storage
    view: View | None


class Through(View):
    """A view of what another view shows."""

    __slots__ = ("first", "then")

    def __init__(self, first: View, then: View) -> None:
        self.first = first
        self.then = then
        super().__init__(
            lambda base: then.read(first.read(base)),
            lambda base, x: first.write(base, then.write(first.read(base), x)),
        )


def through(first: View | None, then: View | None) -> View | None:
    return then if first is None else first if then is None else Through(first, then)


def _written(view: View | None, old: Value, x: Value) -> Value:
    return x if view is None else view.write(old, x)


def _read(view: View | None, x: Value) -> Value:
    return x if view is None else view.read(x)


def _values_of(view: View | None) -> list[Value]:
    """Return the indices and lengths of a view."""
    if isinstance(view, Through):
        return [*_values_of(view.first), *_values_of(view.then)]
    return [] if view is None else in_numpy(view)[0]


class Aliases:
    """The arrays of a program that may be one of several."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace
        self.places: dict[int, tuple[Storage, list[Place]]] = {}  # of merged arrays, by storage
        self.users: dict[int, tuple[Storage, list[Storage]]] = {}  # by storage: the merged ones that may be it

    # Noted

    def link(self, merger: Any, made: Array, a: Array, b: Array) -> bool:
        """Note which memory ``made`` is after the branches that leave it as ``a`` or ``b``; False if that cannot be told."""
        found: list[tuple[list[Any], Storage, View | None]] = []
        for side, x in enumerate((a, b)):
            if x.type != made.type or x.is_read_only or self.text(x.storage):
                return False
            region = merger.regions[side]
            is_new = self.trace.made_in(x.storage) is region
            known = [Place(True, x.storage, x.view)]
            if is_new:
                with self.trace.builder.writing(merger.blocks[side].operations):
                    known = self.flat(x.storage, region, x.view)
            for place in known:
                kept = self.kept(merger, side, place, made) if is_new else place
                if kept is None or self.is_inside(merger, side, kept.view):
                    return False
                same = next((e for e in found if e[1] is kept.storage and e[2] is kept.view), None)
                if same is None:
                    same = [False, False], kept.storage, kept.view
                    found.append(same)
                same[0][side] = kept.condition
        places = []
        for conditions, storage, view in found:
            first, second = (Scalar(c) if isinstance(c, Value) else c for c in conditions)
            on = merger.merge(first, second)
            if on is not False:
                places.append(Place(on.ir if isinstance(on, Scalar) else on, storage, view))
        self.places[id(made.storage)] = made.storage, places
        for place in places:
            if place.storage is not made.storage:
                self.users.setdefault(id(place.storage), (place.storage, []))[1].append(made.storage)
        return True

    def kept(self, merger: Any, side: int, place: Place, made: Array) -> Place | None:
        """Return what stands after the branches for a place in one of them; None if that is not known."""
        if self.trace.made_in(place.storage) is not merger.regions[side]:
            return place
        first = merger.places.setdefault((side, id(place.storage)), (made.storage, place.view, place.condition))
        if first[0] is made.storage:
            return Place(place.condition, made.storage, None)
        if first[2] is not True or place.condition is not True or first[1] not in (None, place.view):
            return None
        return Place(True, first[0], None if first[1] is place.view else place.view)

    def is_inside(self, merger: Any, side: int, view: View | None) -> bool:
        """Whether a view has indices that are known only in a branch."""
        values = {v for v in _values_of(view) if not v.is_constant}
        return bool(values) and any(r in values for op in merger.blocks[side].operations for r in op.results)

    def leave(self, inner: set[Value], left: set[int]) -> None:
        """Note that the values ``inner`` are not known any more; ``left``: the storages that are still in use."""
        for key, (storage, places) in list(self.places.items()):
            if storage.value in inner or any(v in inner for p in places for v in (p.condition, *_values_of(p.view))):
                if key in left:
                    text = (
                        "an array that was chosen by a condition in a differentiated function cannot be written to after it; copy it "
                        "first"
                    )
                    for x in self.all_of(storage):
                        x.tied = x.tied or text
                else:
                    self.places[key] = storage, []

    # Asked

    def text(self, storage: Storage) -> str:
        """Return why a storage, or one that it may be, must not be written to."""
        return next((x.tied for x in self.all_of(storage) if x.tied), "")

    def is_one_of_several(self, storage: Storage) -> bool:
        return id(storage) in self.places or id(storage) in self.users

    def all_of(self, storage: Storage) -> list[Storage]:
        """Return the storages that may be the same memory as a storage, itself included."""
        found = {id(storage): storage}
        waiting = [storage]
        while waiting:
            x = waiting.pop()
            near = [p.storage for p in self.places.get(id(x), (x, ()))[1]] + [*self.users.get(id(x), (x, ()))[1]]
            waiting += [other for other in near if id(other) not in found]
            found.update((id(other), other) for other in near)
        return list(found.values())

    def flat(self, storage: Storage, region: Any, view: View | None = None, on: Value | bool = True) -> list[Place]:
        """Return the places of a storage, without those that have places themselves, and were made in ``region``."""
        places = self.places.get(id(storage), (storage, ()))[1]
        if not places:
            return [Place(on, storage, view)]
        found = []
        for place in places:
            condition, inner = self.both(on, place.condition), through(place.view, view)
            if place.storage is storage or region is not None and self.trace.made_in(place.storage) is not region:
                found.append(Place(condition, place.storage, inner))
            else:
                found += self.flat(place.storage, region, inner, condition)
        return found

    def both(self, a: Value | bool, b: Value | bool) -> Value | bool:
        if a is True or b is True:
            return b if a is True else a
        return self.trace.value(self.trace.call(operator.and_, Scalar(a), Scalar(b)))

    # Written

    def write(self, storage: Storage, view: View | None, x: Value) -> None:
        """Write into a part of a storage, and of all that it may be."""
        self.trace.touch(storage)
        storage.value = _written(view, storage.value, x)
        if not self.is_one_of_several(storage):
            return
        memory = [storage]
        for on, place, inner in self.flat(storage, None):
            if place is not storage:
                memory.append(place)
                self.update(place, on, lambda old, inner=inner: _written(through(inner, view), old, x))
        for place in memory:
            for user in self.users_of(place):
                if user is storage:
                    continue
                for on, other, inner in self.flat(user, None):
                    if other is not place:
                        continue
                    if place is storage and inner is None:
                        self.update(user, on, lambda old: _written(view, old, x))
                    else:
                        self.update(user, on, lambda _, of=place, inner=inner: _read(inner, of.value))

    def users_of(self, storage: Storage) -> list[Storage]:
        """Return the storages of which one of the places is this one, directly or through others."""
        found: dict[int, Storage] = {}
        waiting = [storage]
        while waiting:
            for user in self.users.get(id(waiting.pop()), (None, ()))[1]:
                if self.trace.is_older(user) and id(user) not in found:
                    found[id(user)] = user
                    waiting.append(user)
        return list(found.values())

    def update(self, storage: Storage, on: Value | bool, new: Callable[[Value], Value]) -> None:
        """Change a storage where a condition holds."""
        builder = self.trace.builder
        holds = on if isinstance(on, bool) else builder.integers.truth(on)
        if holds is False:
            return
        self.trace.touch(storage)
        old = storage.value
        storage.value = new(old) if holds else builder.if_(on, lambda: [new(old)], lambda: [old])[0]
