"""Conditions on traced values: both branches are interpreted, and what they have changed is merged."""

from __future__ import annotations

import ast
import gc
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadInput
from ..ir.dynamic import Block, Value, walk
from ..ir.places import Line
from .called_back import held_outside, held_with, holds_the_same, storing
from .identity import Candidates
from .instances import held_by_instance, is_instance
from .iterators import VIEWS, Iterator
from .merging import Merger, in_one_order, of_items, same_constant
from .numbers import Numbers
from .outside import Outside
from .raising import UNKNOWN_END, Ended, Raising, Region
from .scopes import UNBOUND, Late, Scope
from .state import Changes, content, put
from .traced import Array, NeedsConcrete, Storage, Traced
from .ways import Fork, Ways, reachable


@dataclass
class Jump:
    """How control leaves a list of statements: for each kind (return, break, continue) on which condition.

    ``True`` is a certain one.  ``dead``: it does not go on at all, since an exception was raised.
    """

    conditions: dict[str, Any] = field(default_factory=dict)
    value: Any = UNBOUND
    dead: bool = False
    covers: bool = False  # one of the conditions holds, whichever

    @property
    def is_taken(self) -> bool:
        """Whether it is taken on every path: what follows is not reached."""
        return self.certain or self.covers

    @property
    def certain(self) -> bool:
        return self.dead or any(c is True for c in self.conditions.values())


class NotKnownYet(BaseException):
    """What a recursive call returns is not known yet: the branch that makes it says nothing of the outcome."""


class Branches(Raising):
    """The part of the interpreter that runs regions."""

    memory_policy: Any  # of loops, for their adjoints: the callee of their operations
    made: dict[int, tuple[Any, Any]]
    tied: dict[int, tuple[Any, str]]
    """Containers and objects that may be one of two, with the reason why they can no longer be changed."""
    disordered: dict[int, Any]
    """Dicts whose keys are in one of two orders."""
    candidates: dict[int, Candidates]
    """The objects that each merged object may be."""
    scopes: list[Scope]
    called_back: dict[int, Any]
    """Objects that special methods which are called by C change."""
    seen_outside: dict[int, tuple[Any, Any]]
    """What such methods can change outside, with what it held."""
    owners: dict[int, Any]
    """The objects whose ``__dict__`` the program has taken, by the identity of that: a change of one is a change of the other."""
    suspended: list[Any]
    """The generators that do something when they are closed."""
    outside: Outside
    given_arrays: list[Array]
    given_objects: dict[int, Any]
    """The containers and objects of the arguments, which the caller has, too."""
    stops: list[int]
    """The number of regions around each ``__next__`` of the user's that is being run."""
    called: list[Any]
    may_fork: bool
    ways: Ways | None
    """Of the statement that is interpreted, where its body may fork."""
    forks: int
    """How many more times this trace may fork."""
    is_uneven: bool
    """Whether two branches have left behind what cannot be one object."""
    numbers: Numbers

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    def go_to(self, node: ast.stmt | ast.expr) -> None:
        """What is written from here on comes from the line of a statement or an expression."""
        scope = self.scope
        self.builder.line = Line.of(node.lineno, scope.filename, scope.own_name, scope.caller)

    def set_attribute(self, x: Any, name: str, value: Any) -> None:
        raise NotImplementedError

    def warn(self, text: str) -> None:
        raise NotImplementedError

    def touch(self, holder: Any) -> None:
        """To be called before anything that can hold values changes."""
        holder = self.owners.get(id(holder), holder)
        self.outside.refuse_change(holder)
        if id(holder) in self.tied:
            raise BadInput(self.tied[id(holder)][1])
        self.save(holder)

    def refuse_unknown_entries(self, holder: Any, order: bool = True) -> None:
        """Refuse to read a whole dict where its keys depend on a traced condition, or, if it counts, their ``order``."""
        if isinstance(holder, VIEWS):
            (holder,) = gc.get_referents(holder)
        self.outside.read_whole(holder)
        if order and id(holder) in self.disordered:
            raise BadInput(
                "the order of the keys of a dict depends on a condition that is not known while compiling; put them in in one order on "
                "both paths, or read them in the order of sorted(...)"
            )
        number = (
            next((e for e in holder if isinstance(e, Traced)), None) if isinstance(holder, (set, frozenset)) else None
        )
        if number is not None:  # others may be equal to it
            raise NeedsConcrete(self.value(number), "an element of a set that is not known while compiling")
        held = holder if isinstance(holder, dict) else {}
        late = next((k for k, x in held.items() if isinstance(x, Late)), None)
        if late is not None:
            raise BadInput(
                f"whether a dict has the key {late!r} depends on a condition that is not known while compiling; put the key in on both "
                "paths, with a value that says that there is none"
            )

    def save(self, holder: Any) -> None:
        """Note what is held before a change, also of what the program itself may no longer change."""
        holder = self.owners.get(id(holder), holder)
        if self.changes and self.made_in(holder) is not self.region:
            self.changes[-1].touch(holder)

    def made_in(self, x: Any) -> Any:
        """The region in which a storage or an object was made."""
        return self.resolved(x.region if isinstance(x, Storage) else self.made.get(id(x), (None, None))[1])

    def resolved(self, region: Any) -> Any:
        """The region that a region has become a part of."""
        while region is not None and region.part_of is not region:
            region = region.part_of
        return region

    def note_made(self, x: Any, region: Any) -> None:
        if isinstance(x, Storage):
            x.region = region
        else:
            self.made[id(x)] = x, region
            if is_instance(x) and storing(type(x)):
                self.called_back[id(x)] = x
                for held in held_outside(type(x)):
                    self.seen_outside.setdefault(id(held), (held, content(held)))

    def new(self, x: Any) -> Any:
        """Note that an object was made here."""
        self.note_made(x, self.region)
        return x

    def run_region(self, run: Callable[[Region], Any]) -> Region:
        """Interpret something apart and take its changes back; ``commit`` does what it did, and raises what it raised."""
        changes = Changes()
        outer = self.region
        self.changes.append(changes)
        self.region = changes
        for x in self.called_back.values():
            for holder in held_with(x):
                changes.touch(holder)
        touched = [*changes.before]
        made = Region(Block(), changes)
        guards, frames, handled, scopes = len(self.guards), len(self.frames), len(self.handled), len(self.scopes)
        suspended = len(self.suspended)
        try:
            with self.builder.writing(made.block.operations):
                self.frames.append(made.block.operations)
                try:
                    made.result, made.raised = self.attempted(lambda: run(made))
                except Ended:
                    made.ended = True
                finally:
                    self.drop_guards(guards)
                    del self.frames[frames:], self.handled[handled:], self.scopes[scopes:]
        except BaseException:  # it is given up, and perhaps run in another way
            del self.suspended[suspended:]
            raise
        finally:
            made.after = changes.undo(lambda holder: self.made_in(holder) is changes)
            for key in touched:
                if key in made.after and holds_the_same(changes.before[key][1], made.after[key][1]):
                    del changes.before[key], made.after[key]
            self.changes.pop()
            self.region = outer
        return made

    def assuming(self, condition: Value, holds: bool, way: Callable[[], Any]) -> Callable[[Region], Any]:
        """A branch, in which it is known of integers what its condition says."""

        def run(_: Region) -> Any:
            self.builder.integers.assume(condition, holds)
            return self.unless_unknown(lambda: self.as_python(way))

        return run

    def commit(self, region: Region) -> None:
        """Let a region have been run here."""
        self.builder.out += region.block.operations
        for holder, held in region.after.values():
            self.save(holder)
            put(holder, held)
        region.changes.part_of = self.region
        if region.ended:
            raise Ended
        if region.raised is not None:
            self.throw(region.raised)

    def branch(self, condition: Value, then: Callable[[], Any], other: Callable[[], Any]) -> Any:
        """Both of two ways, each a function that gives a Jump, None, or (as the value of an expression) an object."""
        ways = self.ways
        if ways is None or ways.open is not None or self.builder.out is not ways.out:
            return self.both_ways(condition, then, other)
        taken = ways.take(condition)
        if taken is not None:
            self.builder.integers.assume(condition, taken)
            return self.as_python(then if taken else other)
        try:
            return self.both_ways(condition, then, other)
        finally:
            ways.open = None

    def uneven(self) -> None:
        """To be called where two branches leave behind what cannot be one object: the body forks, if it may."""
        self.is_uneven = True
        if self.ways is not None and self.ways.open is not None and self.forks > 0:
            raise Fork(*self.ways.open)

    def way_of(self, condition: Value) -> bool | None:
        """The way of a condition on which the program's own structure depends; None if its body cannot fork here."""
        self.uneven()
        ways = self.ways
        if ways is None or self.forks <= 0 or self.builder.out is not ways.out:
            return None
        taken = ways.take(condition)
        if taken is None:
            self.uneven()
        return taken

    def both_ways(
        self,
        condition: Value,
        then: Callable[[], Any],
        other: Callable[[], Any],
        roots: Callable[[], list[Any]] | None = None,
    ) -> Any:
        """Interpret both branches and merge them; ``roots``: all that refers to objects after these, if not everything does."""
        sides = [self.run_region(self.assuming(condition, *way)) for way in ((True, then), (False, other))]
        for side in sides:
            self.end_side(side)
        dead = [s.ended or isinstance(s.result, Jump) and s.result.dead for s in sides]
        blocks, afters = [s.block for s in sides], [s.after for s in sides]
        merger = Merger(self, condition, blocks, afters, [s.changes for s in sides])
        if any(dead):
            return self.one_way(merger, sides, dead)
        for side, alive in (sides, sides[::-1]):
            if side.raised is not None and side.raised.condition is True:
                self.open_guard(condition, side is sides[0], side, side.raised)
                self.commit(alive)
                return alive.result
        raised = self.merged_raised(merger, sides) if any(s.raised for s in sides) else None
        result = self.merged_outcome(merger, *(s.result for s in sides))
        self.merge_changes(
            merger, sides, None if roots is None else [*roots(), result, *(s.result for s in sides), raised]
        )
        merger.finish()
        if raised is not None:
            self.throw(raised)
        return result

    def end_side(self, side: Region) -> None:
        """Let a branch end the program where it raises what no ``try`` sees."""
        if side.raised is not None and self.stops and any(isinstance(e, StopIteration) for e in side.raised.errors):
            self.uneven()
            raise BadInput(UNKNOWN_END)
        if side.raised is None or any(self.sees(type(e)) for e in side.raised.errors):
            return
        with self.builder.writing(side.block.operations):
            self.end_if(side.raised)
        side.ended = side.raised.condition is True
        side.raised = None

    def merge_changes(self, merger: Merger, sides: list[Region], roots: list[Any] | None = None) -> None:
        """Let everything be changed that one of two sides has changed, or of that what is reached from ``roots``."""
        holders = {key: holder for s in sides for key, (holder, _) in s.after.items()}
        kept = None if roots is None else reachable(roots, [s.after for s in sides])
        merged = []  # all of it before any of it is there: the sides are read as they were left
        for key, holder in holders.items():
            if kept is not None and key not in kept:
                continue
            if any(self.made_in(holder) is s.changes for s in sides):
                continue  # nothing outside of its branch refers to it
            held = [s.after[key][1] if key in s.after else _held(holder) for s in sides]
            merged.append((holder, self.merged_content(merger, holder, *held)))
        for holder, content_after in merged:
            self.save(holder)
            put(holder, content_after)

    def unless_unknown(self, way: Callable[[], Any]) -> Any:
        try:
            return way()
        except NotKnownYet:
            return Jump(dead=True)

    def one_way(self, merger: Merger, sides: list[Region], dead: list[bool]) -> Any:
        """The other way has ended the program: what is alive goes on, its values leaving the operation unmerged."""
        here = dead.index(False) if False in dead else 0
        alive = sides[here]
        merger.afters[1 - here] = {}
        if all(dead):
            if not any(op.may_raise for s in sides for op in walk(s.block)):
                raise NotKnownYet
            merger.finish()
            raise Ended
        # What follows an exception is not reached, so the operations of the other way need no condition.
        operations = merger.blocks[here].operations
        merger.blocks[here] = Block()
        merger.finish()
        self.builder.integers.assume(merger.condition, here == 0)
        self.builder.out += operations
        for holder, held in alive.after.values():
            self.save(holder)
            put(holder, held)
        alive.changes.part_of = self.region
        if alive.raised is not None:
            self.throw(alive.raised)
        return alive.result

    def outcome_of_one(self, merger: Merger, side: int, result: Any, default: Any) -> Any:
        if result is None:
            return None
        if isinstance(result, Jump):
            conditions = {
                k: c if isinstance(c, bool) else merger.one_side(c, side) for k, c in result.conditions.items()
            }
            value = result.value if result.value is UNBOUND else merger.one_side(result.value, side)
            return Jump(conditions, value, result.dead, result.covers)
        if default is UNBOUND:
            return merger.one_side(result, side)
        return merger.merge(*((result, default) if side == 0 else (default, result)))

    def merged_outcome(self, merger: Merger, a: Any, b: Any) -> Any:
        if not isinstance(a, Jump) and not isinstance(b, Jump):
            return merger.merge(a, b)
        a, b = a or Jump(), b or Jump()
        covers = a.is_taken and b.is_taken
        conditions = {}
        for kind in {**a.conditions, **b.conditions}:
            conditions[kind] = merger.merge(a.conditions.get(kind, False), b.conditions.get(kind, False))
        value = merger.merge(a.value, b.value)
        return Jump(conditions, getattr(value, "x", value), covers=covers)

    def merged_content(self, merger: Merger, holder: Any, a: Any, b: Any) -> Any:
        if isinstance(holder, Storage):
            found = merger.leaf(a, b)
            return found if found is not None else a
        if isinstance(holder, (list, deque)):
            if len(a) == len(b):
                return [merger.merge(x, y) for x, y in zip(a, b)]
            self.uneven()
            raise BadInput(merger.conflict(of_items(holder, a), of_items(holder, b), f"a {type(holder).__name__}").text)
        if isinstance(holder, set):
            if a == b:
                return a
            self.uneven()
            raise BadInput(
                "a set has other elements on one path than on another of a condition that is not known while compiling; use an array of "
                "bools that says which elements it has"
            )
        is_iterator = isinstance(holder, Iterator)
        if is_iterator and any(not same_constant(a.get(k), b.get(k)) for k in {**a, **b}):
            self.uneven()
        if not in_one_order(a, b) or a.keys() != b.keys():
            if not any(holder is scope.vars for scope in self.scopes):
                self.uneven()
        if not in_one_order(a, b):
            self.disordered[id(holder)] = holder
        keys = {**a, **b}
        return {k: merger.merge(a.get(k, UNBOUND), b.get(k, UNBOUND), k if isinstance(k, str) else "") for k in keys}


def _held(holder: Any) -> Any:
    if isinstance(holder, Storage):
        return holder.value
    return holder if isinstance(holder, (dict, list, set, deque)) else held_by_instance(holder)
