"""Exceptions that a program may raise, and the handlers that may catch them.

An unconditional exception is a Python exception of the interpreter: it unwinds to the ``try`` that catches it, or to
the condition under which it is raised.  An exception on a traced condition (a check, or a branch that raises) ends the
program by ``raise_if`` if no ``try`` can see it.  If one can, everything up to the end of the region becomes a branch,
the *guard*, which runs if nothing was raised.  A region that ends closes its guards: the changes made before the
exception and those made after the whole region are merged, and ``Raised`` says whether it has raised, and what.  The
surrounding region continues under a guard of its own, up to the ``try``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadInput, MorulaError
from ..faults import fault, is_fault
from ..ir.derived import Derived
from ..ir.dynamic import Block, Value
from ..ir.exceptions import Recipe
from ..ir.places import calls_to
from ..ir.traced_text import Text
from ..ir.typed import raise_if
from ..values.attributes import attributes, set_entry
from .merging import Merger
from .scopes import UNBOUND
from .state import After, Changes
from .traced import Trace, Traced

UNKNOWN_END = (
    "the end of an iterator depends on a condition that is not known while compiling; make an array of its items, and count those "
    "in use"
)

Sees = Callable[[type], bool]
"""Whether a ``try`` sees exceptions of a class."""


@dataclass
class Raised:
    """A part of the program has raised ``errors[which]`` if ``condition`` holds."""

    condition: Any
    which: Any
    errors: list[BaseException]

    @classmethod
    def of(cls, error: BaseException) -> Raised:
        """Return an unconditional exception as ``Raised``."""
        return error.raised if isinstance(error, OneOf) else cls(True, 0, [error])


class OneOf(Exception):
    """One of several exceptions, raised unconditionally; which one is known only at run time."""

    def __init__(self, raised: Raised) -> None:
        super().__init__()
        self.raised = raised


class Ended(BaseException):
    """A call does not return: the program has certainly raised an exception in it."""


@dataclass
class Region:
    """A part of the program that was interpreted apart: its operations, outcome and changes.

    ``raised``: it may have raised; the outcome holds if it has not.  ``ended``: the program has ended in it.
    """

    block: Block
    changes: Changes
    result: Any = None
    after: After = field(default_factory=dict)
    raised: Raised | None = None
    ended: bool = False


@dataclass
class Guard:
    """Operations that run if an earlier part, ``other``, has not raised; it runs if the condition is ``holds``."""

    condition: Value
    holds: bool
    other: Region
    rest: Region
    outer: Any  # the surrounding region
    out: list[Any]
    may_fork: bool = False  # the program may fork at the condition, until the guard is closed


class Raising(Trace):
    """The part of the interpreter that tracks what may have been raised."""

    changes: list[Changes]
    guards: list[Guard]
    frames: list[list[Any]]  # the operations of the open regions and guards
    tries: list[Sees]
    ways: Any  # the conditions of the current statement, if its body may fork
    iterations: int  # how many loops are around that are interpreted as one iteration
    handled: list[Raised]  # what the surrounding handlers have caught
    contexts: dict[int, tuple[BaseException, BaseException | None]]
    lines: dict[int, tuple[BaseException, int]]  # where exceptions were raised, by their ids

    def made_in(self, x: Any) -> Any:
        raise NotImplementedError

    def save(self, holder: Any) -> None:
        raise NotImplementedError

    def merge_changes(self, merger: Merger, sides: list[Region]) -> None:
        raise NotImplementedError

    # Raising

    def check(self, condition: Value, kind: type[BaseException], text: str, values: tuple[Value, ...]) -> bool:
        """Handle a check of the builder, where a ``try`` or a handler is around; return whether it was handled."""
        if condition.is_constant and all(v.is_constant for v in values):
            self.chain(error := kind(text.format(*(v.constant for v in values)) if values else text))
            raise error
        if not self.sees(kind) and not self.handled:
            return False
        error = kind(Text(text, [self.wrap(v) for v in values]) if values else text)
        self.chain(error)
        self.throw(Raised(self.wrap(condition), 0, [error]))
        return True

    def sees(self, kind: type) -> bool:
        return any(sees(kind) for sees in self.tries)

    def chain(self, error: BaseException) -> None:
        """Note which exception was being handled when this one was raised."""
        self.note_line(error)
        if id(error) not in self.contexts:
            handled = self.handled[-1].errors[0] if self.handled else None
            self.contexts[id(error)] = error, handled if handled is not error else None

    def note_line(self, error: BaseException) -> None:
        """Note where an exception is first raised."""
        self.lines.setdefault(id(error), (error, self.builder.line))

    def line_of(self, error: BaseException) -> int:
        return self.lines.get(id(error), (error, self.builder.line))[1]

    def throw(self, raised: Raised) -> None:
        """Raise; a traced condition opens a guard if a ``try`` sees the exception, else it ends the program."""
        if raised.condition is True:
            is_plain = len(raised.errors) == 1 and not isinstance(raised.errors[0], MorulaError)
            raise raised.errors[0] if is_plain else OneOf(raised)
        if not any(self.sees(type(e)) for e in raised.errors):
            return self.end_if(raised)
        condition = self.value(raised.condition)
        ways = self.ways
        may_fork = ways is not None and ways.open is None and self.builder.out is ways.out
        taken = ways.take(condition, None) if ways is not None and may_fork else None
        if taken:
            return self.throw(Raised(True, raised.which, raised.errors))
        if taken is None:
            self.open_guard(condition, True, None, raised)
            self.guards[-1].may_fork = may_fork
        return None

    def throw_one_of(self, condition: Any, which: Any, errors: list[Exception]) -> None:
        for error in errors:
            self.chain(error)
        self.throw(Raised(condition, which if len(errors) > 1 else 0, [*errors]))

    def end_if(self, raised: Raised) -> None:
        """End the program at run time if it has raised."""
        for place, error in enumerate(raised.errors):
            condition = raised.condition
            if len(raised.errors) > 1:
                is_this = self.call(operator.eq, raised.which, place)
                condition = is_this if condition is True else self.call(operator.and_, condition, is_this)
            if condition is not False:
                self.raise_error(condition, error)

    def raise_error(self, condition: Any, error: BaseException) -> None:
        """Record the end of the program with an exception, whose arguments may be traced."""
        if isinstance(error, StopIteration):
            raise BadInput(UNKNOWN_END)
        recipe = Recipe(error, self.contexts, lambda x: isinstance(x, Traced))
        operands = [self.value(condition), *map(self.value, recipe.values)]
        here, self.builder.line = self.builder.line, self.line_of(error)
        self.builder.call(raise_if, operands, [], exception=recipe.exception, text=recipe.text)
        self.builder.line = here
        if not operands[0].is_constant:
            self.builder.integers.assume(operands[0], False)

    def as_python(self, run: Callable[[], Any]) -> Any:
        """Run something, and turn the engine's errors into Python's where Python raises too.

        Not in a loop, whose iterations are interpreted as one: an error may concern only some of them.
        """
        try:
            return run()
        except BadInput as error:
            if error.in_python is None or self.iterations:
                raise
            python = error.in_python
        raise python

    # Guards

    def attempted(self, run: Callable[[], Any], default: Any = UNBOUND) -> tuple[Any, Raised | None]:
        """Interpret something here; return its outcome, or ``default`` if it raised, and what it may have raised."""
        mark, result, raised = len(self.guards), default, None
        try:
            result = run()
        except MorulaError:
            raise
        except Exception as error:
            if is_fault(error):
                raise fault(error) from error
            raised = Raised.of(error)
        while len(self.guards) > mark:
            result, raised = self.close_guard(result, raised, default)
        return (None if result is UNBOUND else result), raised

    def open_guard(self, condition: Value, holds: bool, other: Region | None, raised: Raised) -> None:
        """Continue under a guard, which runs unless the condition is ``holds``: then ``other`` has run, and raised."""
        if self.builder.out is not self.frames[-1]:
            raise BadInput(
                "compiled code cannot catch an exception raised here; test for its cause with an `if` before, or leave out the try"
            )
        other = other or Region(Block(), Changes())
        other.raised = raised
        rest = Region(Block(), Changes())
        self.guards.append(Guard(condition, holds, other, rest, self.region, self.builder.out))
        self.changes.append(rest.changes)
        self.region = rest.changes
        self.frames.append(rest.block.operations)
        self.builder.out = rest.block.operations
        self.builder.integers.assume(condition, not holds)

    def leave_guard(self) -> Guard:
        guard = self.guards.pop()
        rest = guard.rest
        rest.after = rest.changes.undo(lambda holder: self.made_in(holder) is rest.changes)
        self.changes.pop()
        self.frames.pop()
        self.region = guard.outer
        self.builder.out = guard.out
        return guard

    def drop_guards(self, mark: int) -> None:
        """Drop the guards opened since ``mark``, with their changes."""
        while len(self.guards) > mark:
            self.end_fork(self.leave_guard())

    def close_guard(self, result: Any, raised: Raised | None, default: Any) -> tuple[Any, Raised]:
        """Merge a guard with the part before it; return the outcome, and what either may have raised."""
        guard = self.leave_guard()
        try:
            return self.merged_guard(guard, result, raised, default)
        finally:
            self.end_fork(guard)

    def end_fork(self, guard: Guard) -> None:
        if guard.may_fork and self.ways is not None:
            self.ways.open = None

    def merged_guard(self, guard: Guard, result: Any, raised: Raised | None, default: Any) -> tuple[Any, Raised]:
        guard.rest.raised = raised
        sides = [guard.other, guard.rest] if guard.holds else [guard.rest, guard.other]
        at = sides.index(guard.rest)
        merger = Merger(
            self, guard.condition, [s.block for s in sides], [s.after for s in sides], [s.changes for s in sides]
        )
        found = self.merged_raised(merger, sides)
        if result is not default:
            result = self.outcome_of_one(merger, at, result, default)
        self.merge_changes(merger, sides)
        merger.finish()
        return result, found

    def merged_raised(self, merger: Merger, sides: list[Region]) -> Raised:
        """Merge what two sides may have raised."""
        first, second = (s.raised or Raised(False, 0, []) for s in sides)
        condition = merger.merge(first.condition, second.condition)
        if _same(first.errors, second.errors) and self.context_of(first.errors[0]) is self.context_of(second.errors[0]):
            if len({calls_to(self.line_of(e)) for e in (first.errors[0], second.errors[0])}) > 1:
                self.lines[id(first.errors[0])] = first.errors[0], self.builder.line  # use the statement around both
            return Raised(condition, 0, first.errors)
        errors = [self.exported(merger, i, e) for i, f in enumerate((first, second)) for e in f.errors]
        which = first.which, second.which
        if first.errors and second.errors:
            with self.builder.writing(sides[1].block.operations):
                which = first.which, self.call(operator.add, second.which, len(first.errors))
        elif not any(isinstance(x, Traced) for x in which):
            which = (first.which if first.errors else second.which,) * 2
        return Raised(condition, merger.merge(*which), errors)

    def exported(self, merger: Merger, side: int, error: BaseException) -> BaseException:
        """Return an exception raised in a region as it is seen after it."""
        return (
            self.with_parts(error, lambda x: merger.one_side(x, side))
            if next(self.parts(error), None) is not None
            else error
        )

    def with_parts(self, error: BaseException, change: Callable[[Any], Any]) -> BaseException:
        """Return a copy of an exception with its traced values changed, also in its cause and context."""
        made = type(error).__new__(type(error))
        made.args = tuple(_changed(x, change) for x in error.args)
        for name, x in attributes(error):
            set_entry(made, name, _changed(x, change))
        cause, context = error.__cause__, self.context_of(error)
        made.__cause__ = self.with_parts(cause, change) if cause is not None else None
        made.__suppress_context__ = error.__suppress_context__
        changed = made.__cause__ if context is cause else self.with_parts(context, change) if context else None
        self.contexts[id(made)] = made, changed
        self.lines[id(made)] = made, self.line_of(error)
        return made

    def context_of(self, error: BaseException) -> BaseException | None:
        return self.contexts.get(id(error), (error, None))[1]

    def parts(self, x: Any) -> Iterator[Traced]:
        """Yield the traced values in an exception, in the order in which ``with_parts`` changes them."""
        if isinstance(x, Traced):
            yield x
        elif isinstance(x, Text):
            yield from x.values
        elif type(x) is Derived:
            yield from self.parts([x.plain, x.held])
        elif type(x) in (tuple, list, dict):
            for e in x.values() if type(x) is dict else x:
                yield from self.parts(e)
        elif isinstance(x, BaseException):
            yield from self.parts(x.args)
            yield from self.parts(tuple(e for _, e in attributes(x)))
            cause, context = x.__cause__, self.context_of(x)
            yield from self.parts(cause)
            if context is not cause:
                yield from self.parts(context)

    def outcome_of_one(self, merger: Merger, side: int, result: Any, default: Any) -> Any:
        """Return an outcome that holds if the guard was run."""
        raise NotImplementedError


def _changed(x: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(x, Traced):
        return change(x)
    if isinstance(x, Text):
        return Text(x.template, [_changed(e, change) for e in x.values])
    if type(x) is Derived:
        return Derived(x.cls, _changed(x.plain, change), _changed(x.held, change))
    if type(x) in (tuple, list):
        return type(x)(_changed(e, change) for e in x)
    if type(x) is dict:
        return {k: _changed(e, change) for k, e in x.items()}
    return x


def _same(first: list[BaseException], second: list[BaseException]) -> bool:
    """Whether two lists hold one exception each, and these are alike."""
    if len(first) != 1 or len(second) != 1:
        return False
    a, b = first[0], second[0]
    if a is b:
        return True
    plain = all(type(x) in (str, int, float, bool) for e in (a, b) for x in e.args)
    plain = plain and not attributes(a) and not attributes(b) and a.__cause__ is b.__cause__ is None
    return plain and type(a) is type(b) and repr(a.args) == repr(b.args)
