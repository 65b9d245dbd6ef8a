"""The places that a loop carries, and predictions of them.

A loop is interpreted until the places that it carries, and their types, settle.  A loop inside it is interpreted anew in each of
these attempts.  So that the work does not double with each level, an attempt begins with what the previous attempt of the
enclosing loop has found about the loops inside (``Lessons``): they then settle at once.

A loop that cannot be recorded is tried in several ways, and with several predictions.  So that these do not multiply with
each level either, lessons and ``Trace.failures`` keep why the last of them failed.  Where the loop is met again in another
attempt at a loop around it, that is tried first; if it fails for the same reason, so would the others.
"""

from __future__ import annotations

import ast
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadInput
from ..faults import kind_of
from ..ir.derived import is_known
from ..ir.dynamic import Value
from ..ir.typed import ArrayType
from ..source.trees import nodes
from .choices import empty_like
from .forms import NUMBERS, containers, has_function, same_constant, same_entries
from .numbers import arrays_in
from .scopes import UNBOUND, Choice, Conflict, Late, Unread
from .state import RAW, content, present
from .traced import Array, Scalar, Storage


@dataclass(eq=False)
class Slot:
    """A place that a loop carries: ``holder`` itself for an array's storage, else ``holder[key]`` or its attribute."""

    holder: Any
    key: Any
    form: str  # carried, late or local
    first: Any = UNBOUND  # the object there before the loop
    may_be_absent: bool = False  # it may be unassigned, and is carried as a pair (value, whether absent)
    is_read_early: bool = False  # an iteration may read what an earlier one has assigned, or nothing has
    types: list[ArrayType] | None = None
    first_types: list[ArrayType] = field(default_factory=list)  # those before the loop
    learned: tuple[list[ArrayType], list[ArrayType]] | None = (
        None  # ``first_types`` and ``types`` in an earlier attempt
    )
    chosen: Any = None  # the choice that was carried in an earlier attempt
    flagged: Any = None  # what was carried with a flag in an earlier attempt
    reason: str = ""
    last: Any = None  # the object there after an iteration
    tied: str = ""  # why its content after the loop must not be changed
    general: Any = None  # for carried slots, the object there at the start of an iteration
    started: list[Any] = field(default_factory=list)  # the contents of its containers at that time
    parameters: list[Value] = field(default_factory=list)
    initial: list[Value] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.key if isinstance(self.key, str) else ""

    def begin(self) -> None:
        """Note what the place holds before the loop."""
        found = self.held()
        self.may_be_absent = (
            isinstance(found, Late) and _is_number(found.x) and found.unread is None and not found.before
        )
        self.first = self.held()
        if self.first is UNBOUND or isinstance(self.first, (Conflict, Late)):
            self.form = "late"

    def held(self, after: Mapping[int, tuple[Any, Any]] = {}) -> Any:  # noqa: B006 (it is only read)
        """Return what the place holds now, or held at the end of a region that changed the holders ``after``."""
        x = after[id(self.holder)][1] if id(self.holder) in after else None
        if isinstance(self.holder, Storage):
            return Array(Storage(x if x is not None else self.holder.value))
        if x is None:
            x = present(self.holder)
        if self.key is None:  # a whole list
            return list(x)
        assert isinstance(x, dict)
        x = x.get(self.key, UNBOUND)
        if self.may_be_absent and x is not UNBOUND and not isinstance(x, Conflict):
            return (x.x, x.absent) if isinstance(x, Late) else (x, False)
        return x

    def wants_flag(self, x: Any) -> bool:
        """Note that an iteration reads the place, which may be unassigned; False if ``x``, assigned later, cannot be carried."""
        self.is_read_early = self.form == "late" and self.first is UNBOUND and is_carried(x)
        return self.is_read_early

    @property
    def is_absent_before(self) -> bool:
        """Whether it is carried with a flag that says that nothing is there before the loop."""
        return self.may_be_absent and isinstance(self.first, tuple) and self.first[1] is True

    def carry_flag(self, trace: Any, last: Any) -> bool:
        """Carry the place with a flag that tells whether it is unassigned; ``last`` has the form of its values."""
        if not is_carried(last):
            return False
        self.form, self.may_be_absent, self.first, self.types = "carried", True, (empty_like(trace, last), True), None
        return True

    def expected(self, first: list[ArrayType]) -> list[ArrayType]:
        """Return the types to begin with: what they became in an earlier attempt that began with the same, else ``first``."""
        if self.learned is None or self.learned[0] != first or not all(t.is_static for t in self.learned[1]):
            return first
        return list(self.learned[1])


@dataclass
class Lesson:
    """The findings of one interpretation of a loop: how it was written, and the places that it carries."""

    node: Any
    way: str = ""  # how the loop was written: "loop", "peeled" or "unrolled"
    places: list[tuple[Any, ...]] = field(default_factory=list)  # holder, key, of the scope, types, choice, with a flag
    inside: dict[Any, Any] = field(default_factory=dict)
    error: str = ""  # why it could not be recorded

    def learn(self, trace: Any, slots: list[Slot], inside: dict[Any, Any]) -> None:
        self.inside, self.places = inside, []
        for slot in slots:
            if (
                slot.form == "carried"
                and slot.types is not None
                or slot.form == "late"
                and (slot.first is UNBOUND or isinstance(slot.first, Unread))
            ):
                types = (slot.first_types, slot.types) if slot.form == "carried" else None
                chosen = slot.first if slot.form == "carried" and type(slot.first) is Choice else None
                flagged = slot.first[0] if slot.form == "carried" and slot.is_absent_before else None
                self.places.append((slot.holder, slot.key, slot.holder is trace.scope.vars, types, chosen, flagged))

    def slots(self, trace: Any) -> list[Slot]:
        """Return slots for the places that are still there: an object that was made in the earlier attempt is gone."""
        found = []
        for holder, key, is_of_scope, types, chosen, flagged in self.places:
            region = None if is_of_scope else trace.made_in(holder)
            if is_of_scope or region is None or any(region is made for made in trace.changes):
                where = trace.scope.vars if is_of_scope else holder
                found.append(Slot(where, key, "carried", learned=types, chosen=chosen, flagged=flagged))
        return found


class Lessons:
    """The lessons of one attempt at a loop, of all loops inside it, in the order of interpretation."""

    def __init__(self, before: dict[Any, Lesson] | None = None) -> None:
        self.before = before or {}  # those of the previous attempt
        self.found: dict[Any, Lesson] = {}
        self.counts: Counter[Any] = Counter()
        # What undoes the ties of objects from before, if the attempt is given up.
        self.ties: list[Callable[[], Any]] = []

    def next(self, node: Any, kind: str) -> tuple[Lesson | None, Lesson]:
        """Return the lesson of the previous attempt about a loop that is met now, and the one to be filled."""
        key = id(node), kind, self.counts[id(node), kind]
        self.counts[id(node), kind] += 1
        before = self.before.get(key)
        lesson = self.found[key] = Lesson(node)
        return (before if before is not None and before.node is node else None), lesson

    def since(self, counts: Counter[Any]) -> dict[Any, Lesson]:
        """Return the lessons found since ``counts`` was copied, numbered as if they were the first."""
        return {
            (node, kind, count - counts[node, kind]): lesson
            for (node, kind, count), lesson in self.found.items()
            if count >= counts[node, kind]
        }


def predicted_slots(trace: Any, body: list[Any]) -> list[Slot]:
    """Return slots for the variables that a loop's statements assign: those that hold numbers, and those that hold nothing.

    Of the latter only those that an iteration assigns outside of branches.
    """
    scope = trace.scope
    found: list[Slot] = []
    surely = set(_assigned(body))
    names = dict.fromkeys(name for statement in body for name in _stored(statement))
    for name in names:
        x = scope.vars.get(name, UNBOUND)
        is_new = name in surely and (x is UNBOUND or isinstance(x, Unread))
        if name in scope.local and (isinstance(x, (Scalar, int, float, complex)) or is_new):
            found.append(Slot(scope.vars, name, "carried"))
    return found


def changed_slots(trace: Any, region: Any, start: Mapping[Any, Any], known: set[tuple[int, Any]]) -> list[Slot]:
    """Return slots for the places other than ``known`` (the ids of their holders, and keys) that a region has changed.

    ``start`` holds the contents of holders at its start where they differ from those noted in the region.

    Raises:
        BadInput: a set, or another container that no loop can carry, has changed.
    """
    new = []
    for key, (holder, after) in region.after.items():
        if trace.made_in(holder) is region.changes:
            continue
        before = start.get(key, region.changes.before[key][1])
        if isinstance(holder, Storage):
            if (key, None) not in known and after is not before:
                new.append(Slot(holder, None, "carried"))
        elif isinstance(holder, (list, deque)):
            if (key, None) not in known and not same_entries(before, after):
                new.append(Slot(holder, None, "carried"))
        elif isinstance(holder, (set, *RAW)):
            if after != before:
                raise BadInput(
                    f"a {kind_of(holder)} that changes in a loop that is not unrolled cannot be compiled; use an array "
                    f"{'of bools that marks the elements present' if isinstance(holder, set) else 'of NumPy'}"
                )
        else:
            for k in {**before, **after}:
                late = before.get(k)
                if isinstance(late, Late) and after.get(k) is late.x:
                    continue  # it was only read: each iteration checks it anew
                if (key, k) not in known and not same_constant(before.get(k, UNBOUND), after.get(k, UNBOUND)):
                    flagged = after[k].x if isinstance(after.get(k), Late) else None
                    new.append(Slot(holder, k, "carried", flagged=flagged))
    return new


def _stored(node: ast.AST) -> Iterator[str]:
    for n in nodes(node):
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load):
            yield n.id


def _assigned(statements: list[Any]) -> Iterator[str]:
    """Yield the names that statements assign outside of branches; loops count as entered."""
    for statement in statements:
        if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.expr)):
            yield from _stored(statement)
        elif isinstance(statement, ast.For):
            yield from _stored(statement.target)
        if isinstance(statement, (ast.For, ast.While, ast.With)):
            yield from _assigned(statement.body)


def is_changed(slot: Slot) -> bool:
    """Whether an iteration has changed an array or a container that a variable held at its start."""
    if slot.form != "carried" or isinstance(slot.holder, Storage) or slot.key is None:
        return False
    held = containers(slot.general, [])
    return any(x.storage.value not in slot.parameters for x in arrays_in(slot.general)) or not all(
        same_entries(a, content(x)) for x, a in zip(held, slot.started)
    )


def is_carried(x: Any) -> bool:
    """Whether a value can be carried by a loop before which there is none: the lengths of its arrays are known."""
    return not isinstance(x, (Conflict, Late)) and not has_function(x) and all(a.type.is_static for a in arrays_in(x))


def _is_number(x: Any) -> bool:
    return isinstance(x, (Scalar, *NUMBERS)) and not is_known(x)
