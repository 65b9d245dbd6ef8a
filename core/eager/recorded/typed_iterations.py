"""Iterations that the backward sweep of a loop makes again: their typed sweeps hold little, and record one operation.

A tape holds every array that an iteration computes, since the array is the key of its cotangent. The typed form of an
iteration (``connected.iteration``) stores what its adjoint reads. It takes the place of the iteration where it computes
the same numbers to the last bit, changes nothing else, and stands in no other derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import MorulaError
from ...rules.connected import connected
from ...values.cotangents import conform
from ...values.layout import scan
from ...values.reachable import reached
from ..structured.captured import made_on
from .tape import Cotangents, Record, Tape

LEAST_BYTES = 2**15
"""The smallest state, in bytes, for which a typed form is made: that takes some ten milliseconds."""


def typed_iterations(tape: Tape, loop: Any, k: int, state: tuple[Any, ...], goes_on: bool) -> TypedIterations | None:
    """Return the typed form of the iterations of a loop, which is before iteration k; None if there is none.

    ``tape`` is that of the run to which the loop belongs. If the loop goes on after iteration k, and that changes the
    types of the variables (two of them were one array, say), the form is that of the next iteration.
    """
    if tape.parent is not None or tape.integers:
        return None
    try:
        found = TypedIterations(loop, k, state)
        after = found.checked(tape, k, state)
        if after is not None and goes_on and found.leaves(loop.items(k + 1), after) is None:
            found = TypedIterations(loop, k + 1, after)
            after = found.checked(tape, k + 1, after)
    except MorulaError:  # it cannot be traced, or has no derivative
        return None
    return None if after is None else found


class TypedIterations:
    """The iterations of a loop as typed sweeps, for variables of one combination of types."""

    def __init__(self, loop: Any, k: int, state: tuple[Any, ...]) -> None:
        self.loop = loop
        self.iteration = connected.iteration(loop.body, loop.items(k), state, loop.read)
        self.key = scan((loop.items(k), state, loop.read))[1]

    @property
    def sweeps(self) -> Any:
        return self.iteration.sweeps

    def checked(self, tape: Tape, k: int, state: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the state after iteration k; None if Python computes another one, or the tape has computed a constant."""
        constants = [guard.found for guard in self.iteration.program.guards]
        given: set[int] = set()
        reached([x for x in constants if isinstance(x, (float, complex, np.inexact, tuple, list))], given)
        if given and any(not given.isdisjoint(made) for made in made_on(tape)) or not np.isfinite(self.sweeps.stored):
            return None
        expected, found = self.loop.attempt(Tape(), k, state)[1], self.advance(k, k + 1, state)
        return found if found is not None and all(map(_is_same, expected, found)) else None

    def leaves(self, items: Any, state: tuple[Any, ...]) -> list[Any] | None:
        """The numbers and arrays that an iteration reads; None if their types are others."""
        leaves, key = scan((items, state, self.loop.read))
        return leaves if key == self.key else None

    def advance(self, k: int, stop: int, state: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Return the state before iteration ``stop``, from that before iteration k; None if types change on the way."""
        iteration = self.iteration
        if not iteration.program.is_current():
            return None
        for i in range(k, stop):
            leaves = self.leaves(self.loop.items(i), state)
            if leaves is None:
                return None
            try:
                found = iteration.advance(*(state[j] for j in iteration.places), *iteration.others(leaves))
            except Exception:  # the recorded form raises the error again, if it is the program's
                return None
            state = iteration.next(state, found)
        return state

    def record(self, tape: Tape, k: int, stop: int, state: tuple[Any, ...]) -> tuple[int, tuple[Any, ...]]:
        """Run iterations as long as types stay the same, as one record; return the iteration reached, and the state."""
        iteration, begin, held = self.iteration, state, []
        if not iteration.program.is_current():
            return k, state
        while k < stop:
            leaves = self.leaves(self.loop.recorded_items(tape, k), state)
            if leaves is None:
                break
            others = iteration.others(leaves)
            try:
                found = self.sweeps.forward(*(state[j] for j in iteration.places), *others)
            except Exception:
                break
            state = iteration.next(state, found[: self.sweeps.count])
            held.append((found[self.sweeps.count :], others))
            k += 1
        if held:
            tape.records.append((_pull, state, self, begin, held))
        return k, state


def _is_same(x: Any, y: Any) -> bool:
    if not isinstance(x, (int, float, complex, np.number, np.ndarray)):
        return type(x) is type(y) and x == y
    same_form = type(x) is type(y) and np.asarray(x).dtype == np.asarray(y).dtype
    return same_form and np.array_equal(x, y, equal_nan=np.asarray(x).dtype.kind in "fc")


def _pull(table: Cotangents, record: Record) -> None:
    _, after, typed, begin, held = record
    places, sweeps = typed.iteration.places, typed.sweeps
    taken = [table.take(after[i]) for i in places]
    if all(g is None for g in taken):
        return
    seeded = [places[i] for i in sweeps.seeded]
    dys = [_cotangent(g, after[i]) for i, g in zip(places, taken) if i in seeded]
    own = sum(sweeps.active[: len(places)])
    for saved, others in reversed(held):
        found: Sequence[Any] = sweeps.backward(*saved, *dys)
        dys = list(found[:own])
        active = [x for x, is_active in zip(others, sweeps.active[len(places) :]) if is_active]
        for x, g in zip(active, found[own:]):
            table.add(x, conform(g, x))
    for i, g in zip(seeded, dys):
        table.add(begin[i], conform(g, begin[i]))


def _cotangent(g: Any, y: Any) -> Any:
    """A cotangent in the type of the value, zero for None."""
    dtype = np.asarray(y).dtype
    return np.asarray(np.zeros(np.shape(y), dtype) if g is None else conform(g, y), dtype)[()]
