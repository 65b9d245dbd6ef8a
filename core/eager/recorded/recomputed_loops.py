"""Loops with a memory policy, on a tape: they are run leg by leg, and a leg keeps its start alone.

``source.loop_bodies`` turns the loops of a function into calls of a ``PolicyRun``. It runs one iteration after the other
and drops its records (``repeated``). What stays is a record for each leg: the backward sweep runs the leg again, as legs
in turn whose lengths the binomial schedule gives, and its last segment with all of its records. An iteration that cannot
be repeated keeps its records, and a new leg begins after it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from functools import partial
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...errors import BadInput
from ...ir.memory_policies import Costs, Plan, Policy, planned
from ...ir.schedules import split
from ...rules.registry import CALLERS
from ...source.definitions import NoSource, describe
from ...source.loop_bodies import WithLoops, with_loops
from ...values.spilled import Spill
from .access import getitem, iterate
from .call import call
from .inverted_loops import Inversion
from .offloaded import offload
from .repeated import Legs, Repeat, is_leg, join, may_merge, merged
from .tape import Tape
from .typed_iterations import LEAST_BYTES, TypedIterations, typed_iterations

_ALLOCATED = 1.25
"""The memory that long-lived arrays among short-lived ones take, in units of their bytes: the allocator leaves gaps."""

_found: WeakKeyDictionary[FunctionType, WithLoops | None] = WeakKeyDictionary()


def with_policy(f: Any, policy: Policy) -> Any:
    """Return ``f`` with its loops run under a policy; callables other than functions and methods as they are."""
    if isinstance(f, partial):
        return partial(with_policy(f.func, policy), *f.args, **f.keywords)
    if isinstance(f, MethodType) and isinstance(f.__func__, FunctionType):
        return MethodType(with_policy(f.__func__, policy), f.__self__)
    if not isinstance(f, FunctionType):
        return f
    if f not in _found:
        try:
            _found[f] = with_loops(f)
        except (NoSource, SyntaxError):
            _found[f] = None
    found = _found[f]
    return f if found is None else found.bind(f, _PolicyRun(policy, _For), _PolicyRun(policy, _While))


class _PolicyRun:
    """What runs the loops of a function under a policy."""

    def __init__(self, policy: Policy, kind: Callable[..., _Loop]) -> None:
        self.policy, self.kind = policy, kind

    def run(self, tape: Tape, body: Any, source: Any, state: tuple[Any, ...], read: tuple[Any, ...]) -> tuple[Any, ...]:
        first, loop = len(tape.records), self.kind(body, source, read, self.policy)
        if tape.parent is not None:  # its tape holds all that the iterations compute
            return loop.plain(tape, state)
        if self.policy.is_inverse:
            return Inversion(loop).run(tape, loop.numbers(), state)
        if self.policy.is_offloaded:
            loop.spill, loop.first = Spill(self.policy.directory), first
            return loop.whole(tape, state)
        state = loop.whole(tape, state)
        join(tape, first, state)
        return state


CALLERS[_PolicyRun] = lambda tape, run, *args: run.run(tape, *args)


class _Loop:
    """A loop whose body is a function of an item, the state and the other variables that it reads."""

    plan: Plan
    typed: TypedIterations | None = None  # what makes iterations again
    is_recorded = False  # whether the iterations that are made again are recorded one by one
    spill: Spill | None = None  # where states are held, if not in memory
    first: int  # the place of the first leg's record

    def __init__(self, body: Any, source: Any, read: tuple[Any, ...], policy: Policy) -> None:
        self.body, self.source, self.read, self.policy = body, source, read, policy

    @property
    def roots(self) -> tuple[Any, ...]:
        """What an iteration can reach besides the state."""
        return self.body, self.source, self.read

    def whole(self, tape: Tape, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run the whole loop."""
        raise NotImplementedError

    def find_typed(self, tape: Tape, k: int, state: tuple[Any, ...], goes_on: bool) -> None:
        """Find the typed form of the iterations, if it saves memory; iteration k comes next, and perhaps another."""
        if _bytes(state) >= LEAST_BYTES:
            self.typed = typed_iterations(tape, self, k, state, goes_on)

    def plain(self, tape: Tape, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run the whole loop and keep all of its records."""
        goes_on, k = True, 0
        while goes_on:
            goes_on, state = self.attempt(tape, k, state)
            k += 1
        return state

    def step(self, tape: Tape, k: int, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run iteration k."""
        return self.attempt(tape, k, state)[1]

    def attempt(self, tape: Tape, k: int, state: tuple[Any, ...]) -> tuple[bool, tuple[Any, ...]]:
        """Run iteration k if there is one; return whether there is, and the state."""
        raise NotImplementedError

    def numbers(self) -> Iterable[int]:
        """The numbers of the iterations."""
        return itertools.count()

    def items(self, k: int) -> tuple[Any, ...]:
        """What the body is called with in iteration k, before the state."""
        return ()

    def recorded_items(self, tape: Tape, k: int) -> tuple[Any, ...]:
        """The same, recorded where an item is taken out of an array."""
        return self.items(k)

    def plan_for(self, length: int | None, state: tuple[Any, ...], residuals: float) -> Plan | None:
        """Return the plan; ``residuals`` are the bytes that the records of an iteration hold.

        The sweep of recorded iterations makes about half as many: overwritten entries and cotangents of local arrays.
        """
        held = sum(map(_bytes, state))  # two variables that are one array at first will be two
        rest = 3 * held + 2 * _bytes(self.read) + residuals
        if self.typed is not None:
            costs = Costs(length, held, self.typed.sweeps.stored, rest, _ALLOCATED)
        else:
            rest += held + 0.1 * (self.policy.memory or 0.0)  # memory that the allocator cannot use
            costs = Costs(length, held, 1.6 * residuals, rest)
        plan = planned(self.policy, costs)
        costs.note(self.policy, self.body.__code__.co_firstlineno, plan)
        return plan

    def run(self, tape: Tape, at: int, stop: int, snapshots: int, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Make iterations ``at`` to ``stop`` again; keep at most so many states, and all records of the last segment."""
        at, state = self.legs(tape, at, stop, snapshots, state, True)
        while at < stop:
            before = at
            if self.typed is not None and not self.is_recorded:
                at, state = self.typed.record(tape, at, stop, state)
            if at == before:
                at, state = at + 1, self.step(tape, at, state)
        return state

    def legs(
        self, tape: Tape, at: int, stop: int, snapshots: int, state: tuple[Any, ...], is_again: bool = False
    ) -> tuple[int, tuple[Any, ...]]:
        """Run up to the last segment; return its beginning, and the state there."""
        length = self.plan.segment
        last = at + max(0, stop - at - 1) // length * length
        while at < last:
            leg = split((last - at) // length + 1, max(1, snapshots)) * length
            made = self.leg_again(tape, at, at + leg, snapshots, state) if is_again else None
            state = self.leg(tape, at, at + leg, snapshots, state) if made is None else made
            at, snapshots = at + leg, snapshots - 1
        return last, state

    def leg_again(
        self, tape: Tape, start: int, stop: int, snapshots: int, state: tuple[Any, ...]
    ) -> tuple[Any, ...] | None:
        """Run a leg that has been run before, without recording it; None if that is not possible."""
        if self.typed is None or self.is_recorded:
            return None
        repeat = self.repeat(tape, start, stop, snapshots, state)
        after = self.typed.advance(start, stop, state)
        if after is None or not repeat.is_possible:
            return None
        del state
        repeat.must_end(after)
        self.end(tape, repeat, stop, after)
        return after

    def leg(self, tape: Tape, start: int, stop: int, snapshots: int, state: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run iterations of which only the state before them is kept."""
        while start < stop:
            repeat = self.repeat(tape, start, stop, snapshots, state)
            is_over = False
            while not is_over:
                first, before = len(tape.records), state
                state = repeat.step(partial(self.step, tape, start, before), before)
                start += 1
                if not repeat.is_possible:
                    repeat.end(start - 1, before, first)
                    break
                del before
                is_over = repeat.must_end(state) or start == stop
            else:
                self.end(tape, repeat, start, state)
        return state

    def repeat(self, tape: Tape, start: int, stop: int, snapshots: int, state: tuple[Any, ...]) -> Repeat:
        """Begin a leg."""
        repeat = Repeat(tape, Legs(self, start, stop, snapshots), state, {}, self.roots)
        repeat.spill = self.spill
        return repeat

    def end(self, tape: Tape, repeat: Repeat, stop: int, state: tuple[Any, ...]) -> None:
        """End a leg before iteration ``stop``, after which nothing else refers to the state before it."""
        repeat.end(stop, state)
        if self.spill is not None:
            repeat.args = ()
            offload(tape, self.first, state, self.spill)


class _For(_Loop):
    def whole(self, tape: Tape, state: tuple[Any, ...]) -> tuple[Any, ...]:
        if not self.is_repeatable():
            return self.plain(tape, state)
        items = self.source
        start, residuals = 0, 0.0
        if (self.policy.memory is not None or self.policy.is_offloaded) and len(items):
            self.plan = Plan(1, 1)
            first = self.repeat(tape, 0, 1, 1, state)
            state = first.step(partial(self.step, tape, 0, state))
            if first.is_possible:
                first.must_end(state)
                first.end(1, state)
            start, residuals = 1, first.bytes
        if start < len(items):
            self.find_typed(tape, start, state, start + 1 < len(items))
        plan = self.plan_for(len(items) - start, state, residuals)
        if plan is None:
            for k in range(start, len(items)):
                state = self.step(tape, k, state)
            return state
        self.plan = plan
        last, state = self.legs(tape, start, len(items), plan.snapshots, state)
        return self.leg(tape, last, len(items), 1, state)

    def plain(self, tape: Tape, state: tuple[Any, ...]) -> tuple[Any, ...]:
        for item in iterate(tape, self.source):
            state = call(tape, self.body, item, *state, *self.read)
        return state

    def attempt(self, tape: Tape, k: int, state: tuple[Any, ...]) -> tuple[bool, tuple[Any, ...]]:
        return True, call(tape, self.body, *self.recorded_items(tape, k), *state, *self.read)

    def items(self, k: int) -> tuple[Any, ...]:
        return (self.source[k],)

    def recorded_items(self, tape: Tape, k: int) -> tuple[Any, ...]:
        return (getitem(tape, self.source, k),) if type(self.source) is np.ndarray else self.items(k)

    def is_repeatable(self) -> bool:
        """Whether the items can be given again; a list is copied."""
        items = self.source
        if type(items) is list:
            self.source = tuple(items)
        return type(items) in (range, list, tuple) or type(items) is np.ndarray and items.ndim > 0

    def numbers(self) -> Iterable[int]:
        if not self.is_repeatable():
            raise BadInput(
                f"the loop of {describe(self.body)} cannot be reversed by an inverse: it must be over a range, a list, a tuple or "
                "an array"
            )
        return range(len(self.source))


class _While(_Loop):
    """A loop of unknown length: legs of equal length, of which two become one when as many as the plan allows are held."""

    def whole(self, tape: Tape, state: tuple[Any, ...]) -> tuple[Any, ...]:
        plan = self.plan_for(None, state, _bytes(state))
        assert plan is not None
        self.plan, distance = plan, plan.segment
        most = max(2, plan.snapshots - plan.snapshots % 2)
        base, at, goes_on = len(tape.records), 0, True
        while goes_on:
            legs = tape.records[base:]
            if len(legs) == most and may_merge(legs, state):
                tape.records[base:] = map(merged, legs[::2], legs[1::2])
                distance *= 2
            at, state, goes_on = self.next_leg(tape, at, at + distance, state)
        for number, record in enumerate(tape.records[base:]):
            if is_leg(record):
                record[2].snapshots = max(1, plan.snapshots - number)
        return state

    def next_leg(self, tape: Tape, start: int, stop: int, state: tuple[Any, ...]) -> tuple[int, tuple[Any, ...], bool]:
        """Run a leg; return the iterations so far, the state, and whether the loop goes on."""
        repeat = self.repeat(tape, start, stop, 1, state)
        at, is_over = start, False
        while not is_over:
            first, before = len(tape.records), state
            goes_on, after = repeat.step(partial(self.attempt, tape, at, before), before)
            if not goes_on or not repeat.is_possible:
                repeat.end(at, before, first)
                return (at + 1, after, True) if goes_on else (at, before, False)
            at, state = at + 1, after
            del before, after
            is_over = repeat.must_end(state) or at == stop
        self.end(tape, repeat, at, state)
        return at, state, True

    def attempt(self, tape: Tape, k: int, state: tuple[Any, ...]) -> tuple[bool, tuple[Any, ...]]:
        if not call(tape, bool, call(tape, self.source, *state, *self.read)):
            return False, state
        return True, call(tape, self.body, *state, *self.read)


def _bytes(x: Any) -> float:
    """The bytes of the arrays and numbers in nested tuples and lists; an array counts once."""
    found: dict[int, float] = {}

    def visit(x: Any) -> None:
        if isinstance(x, np.ndarray):
            found[id(x)] = float(x.nbytes)
        elif isinstance(x, (tuple, list)):
            for e in x:
                visit(e)
        else:
            found[id(x)] = 32.0

    visit(x)
    return sum(found.values())
