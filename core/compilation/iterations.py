"""Iterations of eager loops as typed functions: their inverses and their sweeps, which NumPy runs.

A loop under a memory policy runs its iterations again and again. Recorded on a tape, an iteration holds every array that
it computes; its sweeps as typed IR hold those that the backward sweep reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..callbacks import native_form
from ..emit import typed_python
from ..errors import BadInput
from ..ir.dynamic import Function, Value, walk
from ..ir.typed import Primitive, raise_if
from ..passes.custom_derivatives import without_custom
from ..passes.dead_code import remove_dead_code
from ..passes.inline import copy_function, uses
from ..passes.inversion import derived, not_derived
from ..passes.reverse import reverse
from ..passes.reverse.residuals import stored_bytes
from ..passes.simplify import simplify
from ..specialise import specialise
from ..specialise.traced import NeedsConcrete, Traced
from ..values.layout import scan
from .transformed_calls import captured_by_hand

__all__ = ["Iteration"]

_STATE = (int, float, complex, np.number, np.ndarray, str, type(None))


class Iteration:
    """An iteration ``body(*items, *state, *read)`` that returns the next state, for arguments of the types of the given ones.

    It may write into the arrays among ``read`` at the places ``written``, which ``state`` holds in the end. Ints among
    ``read`` are known. ``step`` is a function of the numbers and arrays of the state, whose places in it are ``places``,
    and of other values; it returns the same of the next state.

    Raises:
        BadInput: the iteration cannot be compiled, changes something else, or changes the types of its variables.
    """

    def __init__(
        self,
        body: Callable[..., Any],
        items: tuple[Any, ...],
        state: tuple[Any, ...],
        read: tuple[Any, ...],
        written: tuple[int, ...] = (),
    ) -> None:
        if not all(isinstance(x, _STATE) for x in state):
            raise BadInput(
                "its variables must be numbers and arrays; declare the inverse of an iteration with morula.invertible"
            )
        self.body = body
        leaves, first = scan((items, state, read, written))[0], len(scan((items, state))[0])
        known = [i for i, x in enumerate(leaves) if i >= first and type(x) is int]
        self.places: list[int] = []
        self.names: list[str] = []
        try:
            self.program = specialise(self, (items, state, read, written), {}, known)
        except NeedsConcrete as error:
            raise BadInput(
                "its inverse would be another program for each number, because an iteration needs a number as an index of "
                "a list or as a length; loop over the list itself, or declare the inverse with morula.invertible"
            ) from error
        effects = [op for op in walk(self.step.block) if isinstance(op.callee, Primitive) and op.callee.effect]
        if self.program.written or self.program.updates or any(op.callee is not raise_if for op in effects):
            raise BadInput("an iteration changes something other than the variables that it assigns, or prints")
        given = {p: i for i, p in enumerate(self.program.function.parameters)}
        if not all(v in given for v in self.free):
            raise BadInput("an iteration reads values that are computed outside of it")
        self.given = [given[v] for v in self.free]

    def __call__(self, items: Any, state: Any, read: Any, written: Any) -> Any:
        """Stand for the iteration in its program."""
        raise NotImplementedError

    def __morula_trace__(self, trace: Any, items: Any, state: Any, read: Any, written: Any) -> None:
        self.places = [i for i, x in enumerate(state) if isinstance(x, Traced)]
        values = [trace.value(state[i]) for i in self.places]
        names, count = self.body.__code__.co_varnames[len(items) :], len(state) - len(written)
        names = (*names[:count], *(names[count + j] for j in written))
        self.names = [names[i] for i in self.places]
        parameters = [Value(name, v.type) for name, v in zip(self.names, values)]

        def run() -> tuple[list[Value], Any]:
            before = list(state)
            for i, p in zip(self.places, parameters):
                before[i] = trace.wrap(p)
            arrays = dict(zip(written, before[count:]))
            trace.level += 1
            try:
                found = trace.call(self.body, *items, *before[:count], *(arrays.get(j, x) for j, x in enumerate(read)))
            finally:
                trace.level -= 1
            found = (*found, *before[count:])
            if [i for i, x in enumerate(found) if isinstance(x, Traced)] != self.places:
                raise BadInput("its variables must have the same types before and after an iteration")
            return [trace.value(found[i]) for i in self.places], None

        made = captured_by_hand(trace, "iteration", parameters, run, "an iteration")
        if [v.type for v in made.asked] != [v.type for v in values]:
            raise BadInput("its variables must have the same types before and after an iteration")
        self.step: Function = made.function
        self.free: list[Value] = made.free

    def others(self, leaves: Sequence[Any]) -> list[Any]:
        """The values that the step takes after the state, from the leaves of ``(items, state, read)``."""
        given = [leaves[i] for i in self.program.leaves]
        given += [source.read() for source in self.program.hidden]
        return [given[i] for i in self.given]

    def next(self, state: Sequence[Any], found: Sequence[Any]) -> tuple[Any, ...]:
        """The state with new numbers and arrays, each in the form of the one before."""
        made = list(state)
        for i, x in zip(self.places, found):
            made[i] = x if x is state[i] else native_form(x, state[i])
        return tuple(made)

    @cached_property
    def plain(self) -> Function:
        return remove_dead_code(copy_function(without_custom(self.step)))

    @cached_property
    def advance(self) -> Callable[..., list[Any]]:
        """A function of the numbers and arrays of the state, and of ``others``: the next state."""
        return typed_python.build(self.plain, frees=True)

    @cached_property
    def inverse(self) -> Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]]:
        """A function of the state after an iteration and of the leaves: the state before it, None for what is not read.

        Raises:
            BadInput: no inverse follows from the iteration.
        """
        step = self.plain
        count, read = len(self.places), {*uses(step.block.operations), *step.block.results}
        wanted = [i for i, p in enumerate(step.parameters[:count]) if p in read]
        made = derived(step, 0, count, wanted)
        if made.missing:
            raise BadInput(not_derived([self.names[i] for i in made.missing]))
        run = typed_python.build(simplify(made.function), frees=True)

        def inverse(after: Sequence[Any], leaves: Sequence[Any]) -> tuple[Any, ...]:
            with np.errstate(all="ignore"):  # the drift tells
                found = run(*(after[i] for i in self.places), *self.others(leaves))
            before: list[Any] = [None] * len(after)
            for i, x in zip(made.found, found):
                before[self.places[i]] = native_form(x, after[self.places[i]])
            return tuple(before)

        return inverse

    @cached_property
    def sweeps(self) -> Sweeps:
        return Sweeps(self)


class Sweeps:
    """The forward and the backward sweep of an iteration; ``stored`` is the number of bytes between them."""

    def __init__(self, iteration: Iteration) -> None:
        step = iteration.step
        self.count = len(step.block.results)
        self.active = [p.type.is_inexact for p in step.parameters]
        made = reverse(step, self.active, "native", is_differentiated=False)
        forward, backward = map(without_custom, (made.forward, made.backward))
        self.stored = stored_bytes(forward, self.count, forward.parameters[: len(iteration.places)])
        self.seeded = [i for i, v in enumerate(step.block.results) if v.type.is_inexact]
        self.forward = typed_python.build(remove_dead_code(forward), frees=True)
        self.backward = typed_python.build(simplify(backward), frees=True)
