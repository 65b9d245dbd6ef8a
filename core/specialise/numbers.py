"""Which array a variable holds after a loop: the program carries a number that identifies each array.

Carrying an array through a loop, and merging two after a branch, makes a new array, whose *origins* are the arrays that
it may be.
Usually nothing depends on which of them it is.  If something does, such as a result that may be an argument, the
program is traced once more with a number for each array (``Needed``): an array that is made once has a constant number,
one made in an iteration gets a counted number, and loops and branches carry the numbers along with the arrays.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

from ..errors import BadInput
from .forms import numbers_in
from .scopes import Late
from .traced import Array, Scalar, Storage

_SITES = 1 << 20  # the most arrays that a program may make, not counting iterations

REMEDY = (
    "compiled code returns an array that may be one of several arrays, or a view of one, depending on values known only at run "
    "time; return a copy of it"
)


class Needed(BaseException):
    """The program must be traced again with array numbers."""


class _Counted(NamedTuple):
    """The number of an array made at a place in the program, in a counted iteration; None outside of loops."""

    turn: Any
    site: int


class Numbers:
    """The origins of arrays, and, if ``is_kept``, their numbers."""

    def __init__(self, trace: Any, is_kept: bool) -> None:
        self.trace = trace
        self.is_kept = is_kept
        self.origins: dict[int, tuple[Array, list[Array]]] = {}
        self.wholes: dict[int, Array] = {}  # the arrays with origins, by storage
        self.unclear: set[int] = set()  # results of a recursion, which no number identifies
        self.known: dict[int, tuple[Array, Any]] = {}
        self.count = 0
        self.turns: dict[str, Any] = {"turn": 0}  # the number of iterations so far, of all loops
        self.open: list[tuple[Any, Any]] = []  # the iterations being interpreted: region and number

    def may_be(self, x: Array, others: list[Array], is_unclear: bool = False) -> None:
        """Note which arrays ``x`` may be; the list may grow later."""
        self.origins[id(x)] = x, others
        if not any(o.storage is x.storage for o in others):  # else only their identity differs
            self.wholes[id(x.storage)] = x
        if is_unclear:
            self.unclear.add(id(x))

    def all_origins(self, x: Array) -> list[Array]:
        """Return the arrays that an array may be, without those that have origins themselves."""
        found: dict[int, Array] = {}
        seen: set[int] = set()
        waiting = [x]
        while waiting:
            a = waiting.pop()
            if id(a) in seen:
                continue
            seen.add(id(a))
            waiting += self.origins[id(a)][1] if id(a) in self.origins else ()
            if id(a) not in self.origins or id(a) in self.unclear:
                found[id(a)] = a
        return list(found.values())

    def memory(self, x: Array) -> set[int]:
        """Return the ids of the storages into which an array may look."""
        found: set[int] = set()
        waiting = [x]
        while waiting:
            storage = waiting.pop().storage
            if id(storage) not in found:
                found.add(id(storage))
                if id(storage) in self.wholes:
                    waiting += self.origins[id(self.wholes[id(storage)])][1]
        return found

    def is_part(self, x: Array) -> bool:
        """Whether an array looks into another one that may be one of several."""
        return self.wholes.get(id(x.storage), x) is not x

    def is_name(self, x: Array) -> bool:
        """Whether an array is one of several that share a storage and differ only in identity."""
        return id(x) in self.origins and self.wholes.get(id(x.storage)) is not x

    def set(self, x: Array, number: Any) -> None:
        self.known[id(x)] = x, number

    def of(self, x: Array) -> Any:
        """Return an array's number; a new one if it has none yet."""
        if id(x) not in self.known:
            if id(x) in self.origins and id(x) not in self.unclear:
                raise BadInput(REMEDY)
            self.count += 1
            self.set(x, _Counted(self._turn_of(x), self.count))
        number = self.known[id(x)][1]
        return self._counted(number) if isinstance(number, _Counted) else number

    def _counted(self, number: _Counted) -> Any:
        """Return the number as a value; computed at each use, since one branch's value is not known in another."""
        if number.turn is None:
            return number.site
        unchecked = self.trace.unchecked
        return unchecked(operator.add, unchecked(operator.mul, number.turn, _SITES), number.site)

    def _turn_of(self, x: Array) -> Any:
        """Return the number of the iteration in which an array is made; None outside of loops."""
        regions = [id(r) for r in self.trace.changes]
        made = self.trace.resolved(x.region)
        if made is None:
            return None
        depth = regions.index(id(made)) if id(made) in regions else len(regions)
        inside = [turn for region, turn in self.open if id(region) in regions[: depth + 1]]
        return inside[-1] if inside else None

    # Loops

    def begin(self, region: Any) -> None:
        """Begin an iteration."""
        if self.is_kept:
            self.trace.touch(self.turns)
            self.turns["turn"] = self.trace.unchecked(operator.add, self.turns["turn"], 1)
            self.open.append((region, self.turns["turn"]))

    def end(self) -> None:
        if self.is_kept:
            self.open.pop()


class Carried:
    """The numbers of the arrays that a loop carries; ``held`` is a dict of the program that the loop carries too."""

    def __init__(self, trace: Any, held: dict[str, Any]) -> None:
        self.trace = trace
        self.numbers: Numbers = trace.numbers
        self.held = held

    def places(self, slots: list[Any]) -> list[tuple[int, Any]]:
        """Return the slots of variables and of containers' contents, with their indices."""
        if not self.numbers.is_kept:
            return []
        own = (id(self.held), id(self.numbers.turns))
        return [(i, s) for i, s in enumerate(slots) if not isinstance(s.holder, Storage) and id(s.holder) not in own]

    def first(self, slots: list[Any]) -> None:
        for i, slot in self.places(slots):
            for k, x in enumerate(arrays_in(slot.first) if slot.form == "carried" else ()):
                self.held[f"{i} {k}"] = self.numbers.of(x)

    def general(self, slots: list[Any]) -> None:
        for i, slot in self.places(slots):
            for k, x in enumerate(arrays_in(slot.general) if slot.form == "carried" else ()):
                self.numbers.set(x, self.held[f"{i} {k}"])

    def last(self, slots: list[Any]) -> None:
        """Set the numbers at the end of an iteration."""
        places = self.places(slots)
        if places:
            self.trace.touch(self.held)
        for i, slot in places:
            found = slot.held()
            for k, x in enumerate(arrays_in(found.x if isinstance(found, Late) else found)):
                self.held[f"{i} {k}"] = self.numbers.of(x)

    def after(self, slots: list[Any], outcome: list[tuple[Any, Any]]) -> None:
        """Set the numbers of the arrays that the slots hold after the loop, if they are known."""
        places = {id(slot): i for i, slot in self.places(slots)}
        for slot, x in outcome:
            for k, a in enumerate(arrays_in(x) if id(slot) in places else ()):
                number = self.held.get(f"{places[id(slot)]} {k}")
                number = number.x if isinstance(number, Late) else number
                if isinstance(number, (int, Scalar)):
                    self.numbers.set(a, number)


def arrays_in(x: Any) -> list[Array]:
    return [e for e in numbers_in(x) if isinstance(e, Array)]
