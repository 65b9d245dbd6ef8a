"""Loops that are reversed by inverses: on a tape, such a loop is one record, which holds none of the states within it.

Its sweep computes the state before an iteration from the state after it, runs the iteration on a tape of its own, sweeps
and drops that, and goes on to the iteration before. The inverse is that of the step which the iteration calls
(``invertible``), or is derived from the iteration itself (``connected.iteration``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.memory_policies import TOLERANCE, Report
from ...rules.connected import connected
from ...values.layout import scan
from ...values.memory import identity, owner
from .invertible import CALLS, Invertible
from .outliving import values_in
from .pullback import seed
from .repeated import Contents, Repeat, nothing, sweep_and_drop
from .restored import State
from .tape import Cotangents, Record, Tape

NUMBER_CLASSES = (int, float, complex, np.number)


class Inversion:
    """The iterations of a loop that is reversed by inverses; ``loop`` runs one of them on a tape.

    Its variables are those that an iteration assigns, and the arrays that it reads and writes into (``written``: their
    numbers among what it reads).
    """

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self.steps: list[_Declared | _Derived] = []  # that of each iteration
        self.derived = _Derived(self, loop)
        self.written: list[int] = []
        self.__name__, self.__code__ = f"a loop of {loop.body.__name__}", loop.body.__code__

    def refuse(self, why: str) -> BadInput:
        place = f"{self.__code__.co_filename}:{self.__code__.co_firstlineno}"
        return BadInput(f"the loop at {place} cannot be reversed by an inverse: {why}")

    def run(self, tape: Tape, items: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run the loop's iterations, numbered by ``items``, and leave one record."""
        begin, repeat = state, Repeat(tape, self, state, {}, self.loop.roots)
        for k in items:
            before = state
            goes_on, state, _ = repeat.step(lambda: self.iteration(tape, k, before), before)  # noqa: B023
            if not goes_on:
                break
            if not repeat.is_possible:
                raise self.refuse("an iteration leaves values elsewhere than in the variables that it assigns")
            if repeat.contents:
                self.note_writes(repeat.contents, begin, state)
            if len(self.steps) == 1 and self.steps[0] is self.derived:
                self.derived.derive(k, (*state, *self.arrays()))  # refuses here what cannot be inverted
        if self.steps:
            begin, after = (*begin, *self.arrays()), (*state, *self.arrays())
            tape.records.append((_invert, after, self, begin, repeat.state, repeat.contents))
        return state

    def arrays(self) -> list[Any]:
        return [self.loop.read[j] for j in self.written]

    def note_writes(self, contents: Contents, begin: tuple[Any, ...], state: tuple[Any, ...]) -> None:
        """Note the arrays from before the loop that iterations write into.

        Raises:
            BadInput: such an array is no variable of the loop, or can be read by another name.
        """
        read = self.loop.read
        self.written = [j for j, x in enumerate(read) if any(x is a for a, _ in contents)]
        begin, state = (*begin, *self.arrays()), (*state, *self.arrays())
        roots = State(self.loop.body, self.loop.source, [x for j, x in enumerate(read) if j not in self.written])
        others = {id(owner(x)) for x in roots.values if isinstance(x, np.ndarray)}
        for a, _ in contents:
            names = [sum(isinstance(x, np.ndarray) and owner(x) is a for x in values) for values in (begin, state)]
            if id(a) in others or names != [1, 1] or not any(x is a for x in state):
                raise self.refuse(
                    "an iteration writes into an array from before the loop that is not one of its variables, or that has "
                    "another name too; copy the array before the loop"
                )

    def again(self, tape: Tape, k: int, before: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run iteration k once more from the variables before it, which it may write into; return those after it."""
        loop, n = self.loop, len(before) - len(self.written)
        read, given = loop.read, dict(zip(self.written, before[n:]))
        loop.read = tuple(given.get(j, x) for j, x in enumerate(read))
        try:
            return (*loop.attempt(tape, k, before[:n])[1], *before[n:])
        finally:
            loop.read = read

    def iteration(self, tape: Tape, k: int, before: tuple[Any, ...]) -> tuple[bool, tuple[Any, ...], Any]:
        """Run an iteration; return whether there is one, the state, and the step's other arguments, which are kept."""
        token = CALLS.set([])
        try:
            goes_on, after = self.loop.attempt(tape, k, before)
            calls = CALLS.get() or []
        finally:
            CALLS.reset(token)
        if not goes_on:
            return goes_on, after, ()
        if calls:
            step = _Declared(self, calls, before, after)
            self.steps.append(step)
            return goes_on, after, step.others
        self.steps.append(self.derived)
        return goes_on, after, ()

    def check(self, begin: tuple[Any, ...], found: tuple[Any, ...]) -> None:
        """Compare the state before the loop with the one that the inverses have led to."""
        step = self.steps[0]
        drift = float(np.max([_drift(begin[i], found[i]) for i in step.places], initial=0.0))  # NaN if one is
        for report in (step.report, self.loop.policy.report):
            report.drift = drift
        if not drift <= step.tolerance:
            raise BadInput(
                f"the inverse of {step.name} does not lead back to the state before the loop: its drift is {drift:.3g}, "
                f"and {step.tolerance:g} was allowed"
            )


class _Declared:
    """The call of an invertible step in an iteration, and the variables that are its state before and after."""

    def __init__(self, inversion: Inversion, calls: list[Any], before: tuple[Any, ...], after: tuple[Any, ...]) -> None:
        self.inversion = inversion
        if len(calls) != 1:
            raise inversion.refuse(f"an iteration must call one function from morula.invertible, not {len(calls)}")
        called, args, y = calls[0]
        self.step: Invertible = called
        self.name, self.tolerance, self.report = called.__name__, called.tolerance, called.report
        self.others = args[len(y) :]
        self.after, self.places = _places(y, after), _places(args[: len(y)], before)
        others = [i for i, (a, b) in enumerate(zip(before, after)) if a is not b and i not in self.after]
        if -1 in self.after or -1 in self.places or others:
            raise inversion.refuse(
                f"the arguments of {self.name} must be the variables that it assigns, as in `q, p = step(q, p)`, and an "
                "iteration must assign no other"
            )

    def before(self, table: Cotangents, k: int, after: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the state before iteration k, in objects of its own."""
        found = table.run(self.step.inverse, *(after[i] for i in self.after), *self.others)
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(self.places):
            raise self.inversion.refuse(
                f"the inverse of {self.name} returns {len(found)} values for a state of {len(self.places)}"
            )
        state = list(after)
        for i, x in zip(self.places, found):
            is_given = any(x is y for y in (*after, *self.others))
            state[i] = _own(x) if is_given else x
        return tuple(state)


class _Derived:
    """The inverse that follows from an iteration itself, for each combination of types that its variables have."""

    def __init__(self, inversion: Inversion, loop: Any) -> None:
        self.inversion, self.loop = inversion, loop
        self.found: dict[Any, Callable[..., tuple[Any, ...]]] = {}
        self.places: list[int] = []
        self.report = Report()
        self.name = "an iteration"
        given = loop.policy.tolerance
        self.tolerance = TOLERANCE if given is None else given

    def derive(self, k: int, after: tuple[Any, ...]) -> Callable[[], tuple[Any, ...]]:
        """Return what computes the state before iteration k from that after it; None stands for what is not read.

        Raises:
            BadInput: no inverse follows from the iteration.
        """
        written = self.inversion.written
        read = tuple(None if j in written else x for j, x in enumerate(self.loop.read))
        given = self.loop.items(k), after, read
        try:
            leaves, key = scan(given)
            if key not in self.found:
                self.found[key] = connected.iteration(self.loop.body, *given, tuple(written)).inverse
        except BadInput as error:
            raise self.inversion.refuse(str(error)) from error
        return lambda: self.found[key](after, leaves)

    def before(self, table: Cotangents, k: int, after: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the state before iteration k, in objects of its own."""
        found = self.derive(k, after)()
        self.places = [i for i, x in enumerate(found) if x is not None]
        return tuple(_own(y if x is None else x) for x, y in zip(found, after))


def _own(x: Any) -> Any:
    """An equal number or array as an object of its own."""
    return np.copy(x, "K") if isinstance(x, np.ndarray) else x * 1 if isinstance(x, NUMBER_CLASSES) else x


def _places(values: tuple[Any, ...], among: tuple[Any, ...]) -> list[int]:
    """Return which of some variables hold values; -1 where none does. Each is found once."""
    found: list[int] = []
    for x in values:
        found.append(next((i for i, y in enumerate(among) if y is x and i not in found), -1))
    return found


def _drift(x: Any, y: Any) -> float:
    if not isinstance(x, (np.ndarray, *NUMBER_CLASSES)):
        return 0.0
    scale = 1.0 + float(np.max(np.abs(x), initial=0.0))
    return float(np.max(np.abs(np.asarray(y) - x), initial=0.0)) / scale


def _invert(table: Cotangents, record: Record) -> None:
    _, state, inversion, begin, reached, contents = record
    dys = table.take(state)
    if dys is None:
        _undo_writes(table, contents)
        return
    with reached.restored():
        for k in reversed(range(len(inversion.steps))):
            before = inversion.steps[k].before(table, k, state)
            held = tuple(np.copy(x, "K") if isinstance(x, np.ndarray) else x for x in before)  # it may write into them
            again = Tape(table.parent)
            again.integers = None if table.tape is None else table.tape.integers
            after = inversion.again(again, k, before)
            if dys is not None:
                seed(table, after, dys)
            again.records.append((nothing, after))
            del state, after
            sweep_and_drop(again, table, reached.outside.union(map(identity, values_in(before))))
            dys, state = table.take(before), held
            for x in before:
                table.drop(x)
    _undo_writes(table, contents)
    inversion.check(begin, state)
    seed(table, begin, dys)


def _undo_writes(table: Cotangents, contents: Contents) -> None:
    """Give the arrays that the loop has written into what they held before it."""
    for a, before in contents:
        table.redo.append((a, ..., np.copy(a)))
        table.write(a, ..., before)
