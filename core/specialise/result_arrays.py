"""Decides for each array of a result whether it is an argument, a view of one, a new array, or one of several.

A program returns numbers and new arrays.  An array that shares memory with an argument, or with another array of the
result, is made from these after each run by NumPy: a view of the argument itself, at the indices that the program has
computed, or the one of several arrays that a condition has chosen.  It is appended to the program's results, so that an
array in several places of the result is one object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.dynamic import Value
from .identity import candidates, condition
from .numbers import REMEDY, Needed, Numbers
from .surface.views import in_numpy
from .traced import Array

Make = Callable[[Sequence[Any], Sequence[Any]], Any]
"""Makes an array from the program's results and its parameters."""


class Place:
    """Where an array is after a run: at an index of the parameters or of the results."""

    def __init__(self, index: int, is_given: bool = False) -> None:
        self.index = index
        self.is_given = is_given

    @property
    def fetch(self) -> Make:
        if self.is_given:
            return lambda results, parameters: parameters[self.index]
        return lambda results, parameters: results[self.index]


class ResultArrays:
    """The arrays of one result and of the changes of arguments.

    ``give`` adds a value to the program's results and returns its index.
    """

    def __init__(self, trace: Any, give: Callable[[Value], int]) -> None:
        self.trace = trace
        self.numbers: Numbers = trace.numbers
        self.give = give
        self.parameters: dict[int, tuple[Array, Place]] = {}  # by storage
        self.wanted: dict[int, tuple[Array, list[Callable[[int], None]]]] = {}
        self.made: list[tuple[Make, Place]] = []  # to be appended to the results
        self.places: dict[int, Place] = {}  # by array
        self.bases: dict[int, Place] = {}  # by storage
        self.users: dict[int, dict[int, Array]] = {}  # by new storage: the arrays that look into it
        self.carried: dict[int, Array] = {}  # by storage: the array of which a loop has made it
        self.origins: dict[int, dict[int, Array]] = {}  # the origins of these, by storage
        self.several: set[int] = set()  # those of them whose identity matters
        self.numbered: list[tuple[int, Place]] = []
        self.chosen: dict[int, Array] = {}  # by storage: the array that a branch has made of others
        self.options: dict[int, list[tuple[Any, Place]]] = {}  # by array: the choices that may be it, with conditions
        self.gives_arguments = False  # an argument's array, or a view of it, is in the result
        self.may_give_arguments = False
        self.shown: set[int] = set()  # the indices of the parameters that the result contains, wholly or in part

    def note_parameter(self, array: Array, index: int) -> None:
        self.parameters[id(array.storage)] = array, Place(index, is_given=True)

    def plan(self, x: Array) -> Callable[..., Any]:
        """Return the function that finds an array after a run; it works once ``finish`` was called."""
        if self.is_parameter(x):
            given = self.parameters[id(x.storage)][1].index
            self.gives_arguments = True
            self.shown.add(given)
            return lambda results, leaves, objects: leaves[given]
        index = -1

        def settle(found: int) -> None:
            nonlocal index
            index = found

        self.wanted.setdefault(id(x), (x, []))[1].append(settle)
        return lambda results, leaves, objects: results[index]

    def is_parameter(self, x: Array) -> bool:
        return id(x.storage) in self.parameters and self.parameters[id(x.storage)][0] is x

    def is_array(self, index: int) -> bool:
        """Whether a parameter is an array: its only element, read as a number, is not the argument itself."""
        return any(place.index == index for _, place in self.parameters.values())

    def finish(self, given: Sequence[Value]) -> list[Make]:
        """Return what makes the arrays that the program does not return itself; ``given`` are its results."""
        for c in self.trace.candidates.values():
            if isinstance(c.x, Array) and self.numbers.wholes.get(id(c.x.storage)) is c.x:
                (self.carried if c.objects is None else self.chosen)[id(c.x.storage)] = c.x
        for x, _ in self.wanted.values():
            self.find_users(x)
        self.find_shared()
        found = [(self.result_place(x), settles) for x, settles in self.wanted.values()]
        for _, place in self.made:
            place.index += len(given)
        for place, settles in found:
            for settle in settles:
                settle(place.index)
        return [make for make, _ in self.made]

    def find_users(self, x: Array) -> None:
        """Note the arrays that look into new memory."""
        if id(x.storage) in self.parameters:
            return
        users = self.users.setdefault(id(x.storage), {})
        if id(x) not in users:
            users[id(x)] = x
            if id(x.storage) in self.chosen:
                for option, _, _ in self.options_of(self.chosen[id(x.storage)]):
                    self.find_users(option)

    def find_shared(self) -> None:
        """Find the arrays of loops that may be an argument, or the same as another array of the result.

        Raises:
            Needed: there is one, and the program has no array numbers yet.
        """
        while True:
            memory = {storage: self.numbers.memory(next(iter(users.values()))) for storage, users in self.users.items()}
            for storage in memory.keys() & self.carried.keys():
                for x in self.numbers.all_origins(self.carried[storage]):
                    self.origins.setdefault(id(x.storage), {})[id(x)] = x
            before = len(self.several)
            for storage in memory.keys() & self.carried.keys():
                others = (self.parameters.keys(), *(found for other, found in memory.items() if other != storage))
                if any(not found.isdisjoint(memory[storage]) for found in others):
                    self.several.add(storage)
            names = [
                x for x, _ in self.wanted.values() if self.numbers.is_name(x) and candidates(self.trace, x) is None
            ]
            if (self.several or names) and not self.numbers.is_kept:
                raise Needed
            if len(self.several) == before:
                return
            for storage in self.several:
                for x in self.numbers.all_origins(self.carried[storage]):
                    if self.is_known(x.region):
                        self.find_users(x)

    def options_of(self, x: Array) -> Iterable[tuple[Array, Any, Sequence[Value]]]:
        return (candidates(self.trace, x) or {}).values()

    def result_place(self, x: Array) -> Place:
        place = self.place(x)
        return self.make(place.fetch) if place.is_given else place

    def make(self, make: Make) -> Place:
        place = Place(len(self.made))
        self.made.append((make, place))
        return place

    # Where an array is found

    def place(self, x: Array) -> Place:
        if id(x) not in self.places:
            self.places[id(x)] = self.find(x)
        return self.places[id(x)]

    def find(self, x: Array) -> Place:
        if x.is_fixed:
            return self.fixed(x)
        whole = self.whole(x)
        if x is whole or self.numbers.is_name(x):
            return self.by_number(x) if self.needs_number(x) else self.choice(x)
        if self.is_parameter(x):
            return self.parameters[id(x.storage)][1]
        base = self.base(x)
        if base is None:
            return self.new(self.trace.value(x), x.is_read_only)
        shared = self.users.get(id(x.storage), {}).values()
        if whole is None and x is next((u for u in shared if u.view is None), None):
            return base  # the new array itself
        return self.make(self.view(x, base))

    def fixed(self, x: Array) -> Place:
        """Place an array that the program has made read-only; others may look into its memory, and write to it."""
        base = self.base(x)
        if base is None:
            return self.new(self.trace.value(x), True)
        look = self.view(x, base)

        def read_only(results: Sequence[Any], parameters: Sequence[Any]) -> np.ndarray:
            made = look(results, parameters)
            made.flags.writeable = False
            return made

        return self.make(read_only)

    def needs_number(self, x: Array) -> bool:
        """Whether an array's identity depends on a loop, directly or through another result that may be the same."""
        known = candidates(self.trace, x)
        if known is None:
            return True
        return bool(self.several) and any(id(o) in self.origins.get(id(o.storage), ()) for o, _, _ in known.values())

    def base(self, x: Array) -> Place | None:
        """Return the place of the memory into which ``x`` looks; None if nothing else looks into it.

        Raises:
            BadInput: it was made on one path only, so it has no value after the other.
        """
        storage = id(x.storage)
        if storage in self.parameters:
            self.gives_arguments = True
            self.shown.add(self.parameters[storage][1].index)
            return self.parameters[storage][1]
        is_known = self.is_known(x.storage.region)
        whole = self.whole(x)
        if whole is not None and is_known:
            return self.place(whole)
        if whole is None and len(self.users[storage]) == 1:
            return None
        if not is_known:
            raise BadInput(
                "compiled code returns arrays that share memory on only one path of a condition that is not known while compiling; "
                "return copies of them"
            )
        if storage not in self.bases:
            self.bases[storage] = self.new(x.storage.value, x.storage.is_read_only)
        return self.bases[storage]

    def whole(self, x: Array) -> Array | None:
        """Return the array of which ``x`` is a part, if that may be one of several."""
        storage = id(x.storage)
        return self.carried[storage] if storage in self.several else self.chosen.get(storage)

    def by_number(self, x: Array) -> Place:
        """Place one of several arrays, chosen by the number that a loop has carried."""
        before = self.gives_arguments
        at = self.give(self.trace.value(self.numbers.of(x)))
        known: list[tuple[int, Make]] = []
        for origin in self.numbers.all_origins(x):
            if id(origin) in self.numbers.unclear:
                if any(a is not origin and self.is_elsewhere(a) for a in self.numbers.all_origins(origin)):
                    raise BadInput(REMEDY)
            elif self.is_parameter(origin) or self.is_known(origin.region) and self.is_elsewhere(origin):
                number = self.give(self.trace.value(self.numbers.of(origin)))
                known.append((number, self.place(origin).fetch))
                self.gives_arguments |= id(origin.storage) in self.parameters
            elif self.is_elsewhere(origin):
                raise BadInput(REMEDY)
        own = self.new(self.trace.value(x), x.is_read_only)
        earlier = [(number, place.fetch) for number, place in self.numbered]
        self.may_give_arguments |= self.gives_arguments
        self.gives_arguments = before

        def find(results: Sequence[Any], parameters: Sequence[Any]) -> Any:
            number = results[at]
            make = next((make for other, make in (*known, *earlier) if results[other] == number), own.fetch)
            return make(results, parameters)

        place = self.make(find)
        self.numbered.append((at, place))
        return place

    def is_known(self, region: Any) -> bool:
        """Whether arrays made in a region are known at the end."""
        return self.trace.resolved(region) in (None, self.trace.region)

    def is_elsewhere(self, x: Array) -> bool:
        """Whether the memory of an array that a loop may have made is also found elsewhere."""
        storage = id(x.storage)
        if storage in self.parameters or self.numbers.is_part(x) or id(x) in self.wanted:
            return True
        return bool({*self.users.get(storage, ()), *self.origins.get(storage, ())} - {id(x)})

    def new(self, value: Value, is_read_only: bool = False) -> Place:
        """Place an array that the program returns."""
        index = self.give(value)
        if value.type.shape and not is_read_only:
            return Place(index)

        def whole(results: Sequence[Any], parameters: Sequence[Any]) -> np.ndarray:
            made = np.asarray(results[index])
            made.flags.writeable = not is_read_only
            return made

        return self.make(whole)

    def view(self, x: Array, base: Place, numbers: Sequence[Value] = ()) -> Make:
        """Return what makes the view ``x`` of its base; ``numbers`` replace its indices and lengths."""
        fetch = base.fetch
        if x.view is None:
            return lambda results, parameters: fetch(results, parameters)[...]
        values, look = in_numpy(x.view)
        places = [self.give(v) for v in numbers or values]
        return lambda results, parameters: look(fetch(results, parameters), [results[i] for i in places])

    def choice(self, x: Array) -> Place:
        """Place one of several arrays, each with its condition."""
        before = self.gives_arguments
        ways: list[tuple[Any, Place | Make]] = []
        noted = []
        own: Place | None = None
        for option, on, numbers in self.options_of(x):
            if id(option) in self.wanted or self.is_parameter(option):
                ways.append(([on], self.place(option)))
                self.gives_arguments |= id(option.storage) in self.parameters
                continue
            others = self.options.setdefault(id(option), [])  # other choices that may be it: then the same object
            ways += [([on, other], place) for other, place in others]
            noted.append((others, on))
            base = self.base(option)
            if base is None:
                own = own or self.new(self.trace.value(x), x.is_read_only)
            ways.append(([on], own if base is None else self.view(option, base, numbers)))  # type: ignore[arg-type]
        self.may_give_arguments |= self.gives_arguments
        self.gives_arguments = before
        if own is not None and all(way is own for _, way in ways):
            place = own
        else:
            place = self.make(self.chooser(ways))
        for others, on in noted:
            others.append((on, place))
        return place

    def chooser(self, ways: list[tuple[Any, Place | Make]]) -> Make:
        tests = [[self.give(self.trace.value(condition(self.trace, on))) for on in all_of] for all_of, _ in ways]
        makes = [way.fetch if isinstance(way, Place) else way for _, way in ways]
        *first, last = zip(tests, makes)

        def choose(results: Sequence[Any], parameters: Sequence[Any]) -> Any:
            make = next((make for all_of, make in first if all(results[i] for i in all_of)), last[1])
            return make(results, parameters)

        return choose
