"""Conditions on traced values: both branches are interpreted, and their changes are merged."""

from __future__ import annotations

import ast
import gc
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadInput
from ..faults import kind_of
from ..ir.dynamic import Block, Value, walk
from ..ir.places import Line
from ..values.items import are_in_one_order, entries_of
from .aliases import Aliases
from .called_back import held_outside, held_with, holds_the_same, storing
from .forms import of_items, same_constant
from .identity import Candidates
from .instances import has_attributes_beside_items, hold_part, is_instance
from .iterators import VIEWS, Iterator
from .keys import refuse_change_of_key
from .merging import Merger, difference
from .numbers import Numbers
from .outside import Outside
from .raising import UNKNOWN_END, Ended, Raising, Region
from .rows import unclear
from .scopes import UNBOUND, Late, Scope
from .state import RAW, Changes, content, present, put
from .traced import Array, NeedsConcrete, Storage, Traced
from .ways import Fork, Ways, reachable


@dataclass
class Jump:
    """How control leaves a list of statements: the condition of each kind of jump (return, break, continue).

    ``True`` is an unconditional jump.  ``dead``: an exception was raised, so control does not go on at all.
    """

    conditions: dict[str, Any] = field(default_factory=dict)
    value: Any = UNBOUND
    dead: bool = False
    covers: bool = False  # one of the conditions always holds

    @property
    def is_taken(self) -> bool:
        """Whether a jump is taken on every path, so that what follows is unreachable."""
        return self.certain or self.covers

    @property
    def certain(self) -> bool:
        return self.dead or any(c is True for c in self.conditions.values())


class NotKnownYet(BaseException):
    """A recursive call's result is not known yet, so the branch that makes it does not contribute to the outcome."""


class Branches(Raising):
    """The part of the interpreter that runs regions and branches."""

    lessons: Any  # what attempts at the loop around have found: see ``slots``
    failures: dict[
        Any, str
    ]  # why loops could not be recorded, while a loop around them is tried in other ways: ``slots``
    memory_policy: Any  # how loops save memory in their adjoints; the callee of their operations
    made: dict[int, tuple[Any, Any]]
    aliases: Aliases
    tied: dict[int, tuple[Any, str]]
    """Containers and objects that may be one of two, with the reason why they can no longer be changed."""
    disordered: dict[int, Any]
    """Dicts with two possible orders of their keys."""
    candidates: dict[int, Candidates]
    """The objects that each merged object may be."""
    merged: dict[int, tuple[Any, Value, Any, Any]]
    """The merged objects, each with the condition and the objects of its two branches."""
    scopes: list[Scope]
    called_back: dict[int, Any]
    """Objects that special methods called by C may change."""
    seen_outside: dict[int, tuple[Any, Any]]
    """Outside holders that such methods can change, with their contents before."""
    owners: dict[int, Any]
    """The owners of the ``__dict__``s that the program has taken, by the dict's id: both change together."""
    suspended: list[Any]
    """The generators that have something to run when they are closed."""
    outside: Outside
    varying: frozenset[Any] | None
    """The places of outside numbers that are inputs, since the program changes them; None: none can be."""
    given_arrays: list[Array]
    given_objects: dict[int, Any]
    """The containers and objects of the arguments, which the caller also holds."""
    stops: list[int]
    """The number of regions around each of the user's ``__next__`` calls in progress."""
    called: list[Any]
    may_fork: bool
    may_choose: bool
    """Whether places may hold values of several kinds (see ``choices``)."""
    unrollable: set[Value]
    """The indices of the loops that could be unrolled: their trips are known."""
    may_grow: bool
    """Whether lists may have a length that is known only at run time (see ``growing_lists``)."""
    copies_arguments: bool
    """Whether such a list holds a copy of an array or object of the caller."""
    ways: Ways | None
    """The conditions of the current statement, if its body may fork."""
    forks: int
    """How many more times this trace may fork."""
    reached: set[ast.stmt | ast.expr]
    """The statements and calls that have been interpreted, which tell how far this trace has come."""
    numbers: Numbers

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    def go_to(self, node: ast.stmt | ast.expr) -> None:
        """Set the source line of the operations recorded from here on."""
        self.reached.add(node)
        scope = self.scope
        self.builder.line = Line.of(node.lineno, scope.filename, scope.own_name, scope.caller)

    def touch(self, holder: Any) -> None:
        """Save a holder's content and refuse the change if it is not allowed; to be called before every change."""
        holder = self.owners.get(id(holder), holder)
        refuse_change_of_key(self, holder)
        self.outside.change(self, holder)
        if id(holder) in self.tied:
            raise BadInput(self.tied[id(holder)][1])
        self.save(holder)

    def touch_attributes(self, x: Any) -> None:
        """Save an object's attributes before a change; to be called before every change of one."""
        if has_attributes_beside_items(x):
            if self.outside.is_outside(x):
                self.outside.refuse_change(x)
            self.touch(self.dict_beside_items(x))
        else:
            self.touch(x)

    def dict_beside_items(self, x: Any) -> dict[str, Any]:
        """Return the ``__dict__`` of a container, a holder that is as old as the container."""
        if id(x.__dict__) not in self.made:
            self.note_made(x.__dict__, self.made_in(x))
        return x.__dict__

    def refuse_unknown_entries(self, holder: Any, order: bool = True) -> None:
        """Refuse to read a whole dict whose keys, or if ``order`` matters their order, depend on a traced condition."""
        if isinstance(holder, VIEWS):
            (holder,) = gc.get_referents(holder)
        self.outside.read_whole(holder)
        if order and id(self.owners.get(id(holder), holder)) in self.disordered:
            raise BadInput(
                "the order of a dict's keys depends on a condition that is not known while compiling; insert them in the same order "
                "on both paths, or iterate over sorted(...)"
            )
        number = (
            next((e for e in holder if isinstance(e, Traced)), None) if isinstance(holder, (set, frozenset)) else None
        )
        if number is not None:  # others may equal it
            raise NeedsConcrete(self.value(number), "an element of a set")
        self.settle_all(holder if isinstance(holder, dict) else {})
        held = holder if isinstance(holder, dict) else {}
        late = next((k for k, x in entries_of(held) if isinstance(x, Late)), None)
        if late is not None:
            raise BadInput(
                f"whether a dict has the key {late!r} depends on a condition that is not known while compiling; insert the key on both "
                "paths, with a value that marks it as absent"
            )

    def settle_all(self, holder: Any) -> None:
        """Put what is certainly there here into the places of a dict or an object that are unassigned on other paths."""
        for key, x in list(present(holder).items()):
            if isinstance(x, Late) and self.builder.integers.truth(self.value(x.absent)) is False:
                self.touch(holder)
                hold_part(holder, key, x.x)

    def save(self, holder: Any) -> None:
        """Save a holder's content before a change, also of a holder that the program may no longer change."""
        holder = self.owners.get(id(holder), holder)
        if self.changes and self.made_in(holder) is not self.region:
            self.changes[-1].touch(holder)

    def made_in(self, x: Any) -> Any:
        """Return the region in which a storage or an object was made."""
        return self.resolved(x.region if isinstance(x, Storage) else self.made.get(id(x), (None, None))[1])

    def is_older(self, x: Any) -> bool:
        """Whether a storage or an object was made in the present region or around it, not in one that has ended."""
        made = self.made_in(x)
        return made is None or any(made is changes for changes in self.changes)

    def resolved(self, region: Any) -> Any:
        """Return the region that a region has become a part of."""
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
        """Note that an object was made in this region, and return it."""
        self.note_made(x, self.region)
        return x

    def run_region(self, run: Callable[[Region], Any]) -> Region:
        """Interpret something in a new region and undo its changes; ``commit`` redoes them and raises its error."""
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
        except BaseException:  # given up, and perhaps interpreted in another way
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
        """Return the run of a branch in which its condition's bounds on integers are assumed."""

        def run(_: Region) -> Any:
            self.builder.integers.assume(condition, holds)
            return self.unless_unknown(lambda: self.as_python(way))

        return run

    def commit(self, region: Region) -> None:
        """Append a region's operations and redo its changes."""
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
        """Interpret both branches; each function returns a Jump, None, or an expression's value."""
        ways, known = self.ways, self.builder.integers.truth(condition)
        if ways is None or ways.open is not None or self.builder.out is not ways.out:
            if known is not None:
                return self.as_python(then if known else other)
            return self.both_ways(condition, then, other)
        taken = ways.take(condition, known)
        if taken is not None:
            self.builder.integers.assume(condition, taken)
            return self.as_python(then if taken else other)
        try:
            return self.both_ways(condition, then, other)
        finally:
            if not (self.guards and self.guards[-1].may_fork and self.guards[-1].condition is condition):
                ways.open = None

    def uneven(self) -> None:
        """Note that two branches leave objects that cannot be merged; fork if possible."""
        at = None if self.ways is None else self.ways.open
        if at is not None and self.allows("may_fork") and self.forks > 0:
            raise Fork(*at)

    def way_of(self, condition: Value) -> bool | None:
        """Return the branch of a condition that decides the program's structure; None if its body cannot fork here."""
        self.uneven()
        ways = self.ways
        if ways is None or self.builder.out is not ways.out or not self.allows("may_fork"):
            return None
        taken = ways.take(condition, self.builder.integers.truth(condition))
        if taken is None:
            self.uneven()
            ways.open = None
        else:
            self.builder.integers.assume(condition, taken)
        return taken

    def both_ways(
        self,
        condition: Value,
        then: Callable[[], Any],
        other: Callable[[], Any],
        roots: Callable[[], list[Any]] | None = None,
    ) -> Any:
        """Interpret both branches and merge them; ``roots``: all later references to objects, if they are known."""
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
                may_fork = self.ways is not None and self.ways.open is not None and self.ways.open[1] is condition
                self.open_guard(condition, side is sides[0], side, side.raised)
                self.guards[-1].may_fork = may_fork
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
        """End the program in a branch that raises what no ``try`` catches."""
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
        """Merge the holders that either side has changed, or only those reachable from ``roots``."""
        holders = {key: holder for s in sides for key, (holder, _) in s.after.items()}
        kept = None if roots is None else reachable(roots, [s.after for s in sides])
        merged = []  # merge all before writing any: the sides are read as they were left
        for key, holder in holders.items():
            if kept is not None and key not in kept:
                continue
            if any(self.made_in(holder) is s.changes for s in sides):
                continue  # nothing outside of its branch refers to it
            held = [s.after[key][1] if key in s.after else present(holder) for s in sides]
            self.note_kept(holder, *held)
            merged.append((holder, self.merged_content(merger, holder, *held)))
        for holder, content_after in merged:
            self.save(holder)
            put(holder, content_after)

    def note_kept(self, holder: Any, a: Any, b: Any) -> None:
        """Note the places of an outside dict or object where one branch has left the value that was found there."""
        if isinstance(a, dict) and id(holder) in self.outside.changed:
            for key in a.keys() & b.keys():
                if a[key] is not b[key]:
                    self.outside.keep(holder, key)

    def unless_unknown(self, way: Callable[[], Any]) -> Any:
        try:
            return way()
        except NotKnownYet:
            return Jump(dead=True)

    def one_way(self, merger: Merger, sides: list[Region], dead: list[bool]) -> Any:
        """Go on with the one branch that has not ended the program; its values need no merging."""
        here = dead.index(False) if False in dead else 0
        alive = sides[here]
        merger.afters[1 - here] = {}
        if all(dead):
            if not any(op.may_raise for s in sides for op in walk(s.block)):
                raise NotKnownYet
            merger.finish()
            raise Ended
        # Nothing after an exception is reached, so the other branch's operations need no condition.
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
        return Jump(conditions, value.x if isinstance(value, Late) else value, covers=covers)

    def merged_content(self, merger: Merger, holder: Any, a: Any, b: Any) -> Any:
        if isinstance(holder, Storage):
            found = merger.leaf(a, b)
            return found if found is not None else a
        if isinstance(holder, (list, deque)):
            if not merger.are_rows(a, b):
                return [merger.merge(x, y) for x, y in zip(a, b)]
            rows = merger.rows(a, b, "")
            if rows is not None:
                return [rows]
            self.uneven()
            return [unclear(difference(of_items(holder, a), of_items(holder, b), "a container"))]
        if isinstance(holder, (set, *RAW)):
            if a == b:
                return a
            self.uneven()
            what = "an array of bools that marks the elements present" if isinstance(holder, set) else "a NumPy array"
            raise BadInput(
                f"the elements of a {kind_of(holder)} depend on a condition that is not known while compiling; use {what}"
            )
        is_iterator = isinstance(holder, Iterator)
        if is_iterator and any(not same_constant(a.get(k), b.get(k)) for k in {**a, **b}):
            self.uneven()
        if not are_in_one_order(a, b) or a.keys() != b.keys():
            if not any(holder is scope.vars for scope in self.scopes):
                self.uneven()
        if not are_in_one_order(a, b):
            self.disordered[id(holder)] = holder
        keys = {**a, **b}
        return {k: merger.merge(a.get(k, UNBOUND), b.get(k, UNBOUND), k if isinstance(k, str) else "") for k in keys}
