"""Parts of an argument that a traced function has not looked into, and its calls of itself for them.

``compilation.autobatching`` traces a recursive function once for all places of a structure that look alike: for all inner nodes of a tree, say.
What hangs below such a place is a ``Part``.  A call of the function for a part is not traced into; its result is an input
of the program.  Any other use of a part raises ``LooksInto``, and the function is traced again with that part opened.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.dynamic import Value
from ..source.definitions import describe
from ..values.layout import NUMBERS, NUMBERS_OF_NUMPY, STATIC, held_by
from . import surface
from .scopes import Closure
from .traced import FUNCTIONS, Array
from .unopened import LooksInto, Part

MOST_RESULTS = 10_000

_SHALLOW = (
    isinstance,
    len,
    type,
    bool,
    iter,
    next,
    enumerate,
    zip,
    reversed,
    list,
    tuple,
    dict,
    operator.getitem,
    operator.not_,
)
"""Functions that do not look into the items of a container."""

_GOING_THROUGH = (len, bool, operator.not_, iter, enumerate, zip, reversed, sum, np.array, np.asarray, np.stack)

_PASSING = frozenset("append appendleft copy extend get insert items keys pop popleft values".split())
"""Methods of containers that take and return items without looking into them."""


class Recursive(BaseException):
    """A function that has been called for a part calls itself: its calls are frames of their own."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function


class NeedsResult(BaseException):
    """The form of the result of a call is not known yet."""

    def __init__(self, call: Call) -> None:
        self.call = call


class Unsuited(BadInput):
    """The calls of a function for parts cannot be computed together."""


class IntsAreDifferentiated(Unsuited):
    """The structure holds ints of which a derivative is taken: they are indices and counts for compiled code."""


class Outdated(Unsuited):
    """A global or another value from outside has changed, and the function now looks into other parts."""


@dataclass(frozen=True)
class Call:
    """A call for parts: the function and its arguments.

    An argument is ``("shared", number)``, ``("place", number)``, ``("each", place of a list, place in an item)`` for a call for each item of
    a list, or ``("constant", value, its text)``: 1, 1.0 and True are equal.
    """

    function: Any
    arguments: tuple[tuple[Any, ...], ...]

    @functools.cached_property
    def of_frame(self) -> tuple[tuple[tuple[str, Any], ...], list[tuple[str, Any, Any]]]:
        """What the arguments of the frame are, and those of the arguments that are its objects."""
        arguments: list[tuple[str, Any]] = []
        objects: list[tuple[str, Any, Any]] = []
        for what, x, *rest in self.arguments:
            arguments.append(("shared", x) if what == "shared" else ("object", len(objects)))
            if what != "shared":
                objects.append((what, x, rest[0] if rest else None))
        return tuple(arguments), objects

    @functools.cached_property
    def of_each(self) -> int | None:
        """The place of the list for each of whose items the call is made."""
        return next((x for what, x, *_ in self.arguments if what == "each"), None)


@dataclass
class Frame:
    """One call while it is traced."""

    functions: set[FunctionType]  # whose calls are frames
    of_each_item: bool  # whether a call may be made for each item of a list of unknown length
    places: dict[int, int]  # the program's objects for the opened parts of the arguments, by id
    shared: dict[int, int]  # likewise what is the same for all frames
    results: Sequence[Callable[[Any], Any]]  # of the calls, in order: functions of the number of the item, or of None
    opened: list[tuple[Any, list[Any]]]  # opened containers, with their contents
    fresh: dict[int, Value]  # the elements of its arrays at the beginning, by id
    arrays: list[Array]  # its arrays
    keep: list[Any]  # what the ids are of
    calls: list[Call] = field(default_factory=list)
    is_entering: bool = True

    @property
    def opened_ids(self) -> set[int]:
        return {id(x) for x, _ in self.opened}

    def call(self, trace: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a call for parts; NotImplemented if it is to be traced as any other."""
        if self.is_entering:  # the call that the frame is
            self.is_entering = False
            return NotImplemented
        if type(function) is FunctionType and function in self.functions:
            return self.result(function, args, kwargs)
        given = (*args, *kwargs.values())
        if any(function is f for f in _SHALLOW):
            part = next((x for x in given if type(x) is Part), None)
        elif type(function) is BuiltinMethodType and function.__name__ in _PASSING:
            part = None
        else:
            part = _part_in(given)
        if not _is_traced_into(function):
            if part is not None:
                raise LooksInto(part, any(function is f for f in (*_GOING_THROUGH, Part._go_through)))
            return NotImplemented
        is_for_parts = part is not None or any(id(x) in self.opened_ids for x in given)
        if is_for_parts and any(f is function for f, *_ in trace.active):
            if type(function) is not FunctionType:
                raise Unsuited(
                    f"{describe(function)} is defined inside of the function and calls itself; define it outside, with what it uses as arguments"
                )
            raise Recursive(function)
        return NotImplemented

    def result(self, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of the next call for a part."""
        if kwargs:
            raise Unsuited(f"{describe(function)} is called with keywords; pass arguments by position")
        self.check_unchanged()
        found = Call(function, tuple(self.described(function, x) for x in args))
        number = None
        if found.of_each is not None:
            if not self.of_each_item:
                raise Unsuited(f"the results of {describe(function)} for the items of a list differ in form")
            number, *others = [x.number for x in args if type(x) is Part and x.number is not None]
            if (
                any(x.ir is not number.ir for x in others)
                or len({x for what, x, *_ in found.arguments if what == "each"}) > 1
            ):
                raise Unsuited(
                    f"{describe(function)} is called for items of several lists, or for several items of one"
                )
            if found in self.calls:  # loops may be traced several times
                return self.results[self.calls.index(found)](number)
        if len(self.calls) == MOST_RESULTS:
            raise Unsuited(f"{describe(function)} is called more than {MOST_RESULTS} times for the parts of one part")
        if len(self.calls) == len(self.results):
            raise NeedsResult(found)
        self.calls.append(found)
        return self.results[len(self.calls) - 1](number)

    def described(self, function: FunctionType, x: Any) -> tuple[Any, ...]:
        is_changed = isinstance(x, Array) and (x.view is not None or self.fresh.get(id(x)) is not x.storage.value)
        if id(x) in self.places and not is_changed:
            return "place", self.places[id(x)]
        if id(x) in self.shared and not is_changed:
            return "shared", self.shared[id(x)]
        if type(x) is Part and x.number is not None:
            return "each", *x.place
        if type(x) in STATIC or type(x) in NUMBERS or type(x) in NUMBERS_OF_NUMPY:
            return "constant", x, repr(x)
        raise Unsuited(
            f"{describe(function)} calls itself with an argument that it has computed; pass only parts of its arguments, and return what is computed"
        )

    def check_unchanged(self) -> None:
        """Refuse programs that store something in the structure, or in what is shared."""
        if any(x.storage.value is not self.fresh[id(x)] for x in self.arrays):
            raise Unsuited("the function writes into an array of its arguments; let it write into a copy")
        for x, before in self.opened:
            held = held_by(x)
            if held is None or len(held[1]) != len(before) or any(a is not b for a, b in zip(held[1], before)):
                raise Unsuited(f"the function changes a {type(x).__name__} of the structure that it is called for")


def _part_in(x: Any) -> Part | None:
    """Return a part in arguments, also inside of lists, tuples and dicts."""
    if type(x) is Part:
        return x
    inside = x if isinstance(x, (list, tuple)) else list(x.values()) if isinstance(x, dict) else ()
    return next((p for p in map(_part_in, inside) if p is not None), None)


def _is_traced_into(function: Any) -> bool:
    """Whether a call is that of a function of the program, which is read statement by statement."""
    if type(function) is MethodType:
        function = function.__func__
    if type(function) is Closure:
        return True
    return (
        type(function) is FunctionType
        and function not in FUNCTIONS
        and surface.find(function) is None
        and not _is_numpys(function)
    )


def _is_numpys(function: FunctionType) -> bool:
    return (function.__module__ or "").partition(".")[0] in ("numpy", "scipy", "morula")


def enter(trace: Any, frame: Frame, function: Any, args: Sequence[Any]) -> Any:
    """Call ``function`` in a frame, and return its result."""
    around, trace.part_frame = trace.part_frame, frame
    try:
        y = trace.call(function, *args)
        frame.check_unchanged()
        part = _part_in(y)
        if part is not None:
            raise LooksInto(part)
        return y
    finally:
        trace.part_frame = around
