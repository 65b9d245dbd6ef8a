"""Runs a function and returns its pullback, by the structured tier if possible, else on a tape."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from types import FunctionType
from typing import Any

import numpy as np

from ... import rules
from ...errors import BadInput, NoDerivative
from ...exclusion import undo
from ...faults import prune
from ...recursion import DeepRecursion
from ...rules.connected import connected
from ...rules.registry import HANDLERS
from ...source.requirements import result_is_none
from ...values.attributes import WithAttributes, attributes, public_names
from ...values.cotangents import conform
from ...values.holders import SparseMatrices, kind_of
from ...values.numbers import REAL, call_on
from ...values.silence import silently
from ...values.sparse_patterns import OF_RESULTS, check_same, pattern_of
from ...values.strong_zero import is_nan
from .. import libraries  # noqa: F401  the handlers register themselves
from ..arrays import buffers, iteration, mutation, number_functions, numpy_layer, raw_memory, repeated_values  # noqa: F401
from ..arrays.apply import SINGULAR
from ..arrays.raw_memory import refuse_leftovers
from ..libraries import builtin_functions, caches, standard_library  # noqa: F401
from ..rewriting.instrument import template_of
from ..structured import fused  # noqa: F401
from ..structured.functions import Compiled, is_structured
from ..unrecorded import locks, watched  # noqa: F401
from ..unrecorded.held import Held, exposed, globals_of
from . import builtin_iteration, known  # noqa: F401
from .call import call
from .compiled_calls import parameters, run_compiled
from .construct import give_back
from .snapshots import as_it_is, held_in_order
from .structure import Arguments, as_gradient, is_structure_of_numbers
from .tape import OBSERVED, Cotangents, NotANumber, Tape, around, sweep

Function = Callable[..., Any]


ALLOCATIONS = 100_000
"""The threshold of the garbage collector while a tape grows.

A tape makes many objects and frees none: collecting after every 700 new ones would take a fifth of the time.
"""


class _OfOneRun:
    """Base of pullbacks: they hold values of one run, so they cannot be pickled and are their own copies."""

    def __call__(self, dy: Any) -> tuple[Any, ...]:
        known.begin()  # a fused operation may have to be recorded again
        try:
            return self.run(None, dy)
        except Exception as error:
            prune(error)
            raise

    def __morula_call__(self, tape: Tape, dy: Any) -> tuple[Any, ...]:
        return self.run(tape, dy)

    def run(self, parent: Tape | None, dy: Any) -> tuple[Any, ...]:
        """The cotangents of the arguments, computed on the tape of an enclosing derivative if there is one."""
        raise NotImplementedError

    def __dir__(self) -> list[str]:
        return public_names(self)

    def __repr__(self) -> str:
        return "<pullback of one run>"

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        raise BadInput(
            "a pullback cannot be pickled: it holds values and code of a run in this process. Pickle the function and its "
            "arguments, and call morula.pullback in the other process; or send the cotangents to this process"
        )


class Back(_OfOneRun):
    """The pullback of one run: maps a cotangent of the result to the cotangents of the arguments."""

    held: Held | None = None  # the contents of shared arrays, for a pullback that is called later

    def __init__(self, tape: Tape, arguments: Arguments, y: Any) -> None:
        self.tape, self.arguments, self.y = tape, arguments, as_it_is(y, with_attributes=True)

    def kept(self) -> set[int]:
        """Return the ids of result arrays that the caller must not change: none, as ``held`` keeps shared contents."""
        return set()

    def run(self, parent: Tape | None, dy: Any) -> tuple[Any, ...]:
        level = self.tape.level
        if level is None:
            return self.observed(parent, dy) if parent is None and OBSERVED else self.run_on(parent, dy)
        before, level.parent = len(level.records), parent
        try:
            return self.run_on(level, dy)
        finally:
            del level.records[before:]

    def observed(self, parent: Tape | None, dy: Any) -> tuple[Any, ...]:
        """Sweep under the eyes of the observer of this thread, if it has one."""
        parent = around(parent)
        if parent is None:
            return self.run_on(None, dy)
        gradients = self.sweep_strongly(parent, dy)  # only that: it would be repeated if a product were NaN
        parent.observer.ended(gradients)
        return gradients

    def run_on(self, parent: Tape | None, dy: Any) -> tuple[Any, ...]:
        try:
            return self.sweep(Cotangents(None if parent is None else functools.partial(call, parent), parent), dy)
        except (NotANumber, NoDerivative):
            pass  # a NaN from zero times infinity may have reached a call without derivative
        return self.sweep_strongly(parent, dy)

    def sweep_strongly(self, parent: Tape | None, dy: Any) -> tuple[Any, ...]:
        """Sweep with strong products, in which a zero cotangent times an infinite slope gives zero."""
        return self.sweep(Cotangents(functools.partial(call_on, parent), parent, is_strong=True), dy)

    def sweep(self, table: Cotangents, dy: Any) -> tuple[Any, ...]:
        table.tape = self.tape
        seed(table, self.y, dy)
        first, *rest = gc.get_threshold()
        try:
            if 0 < first < ALLOCATIONS:
                gc.set_threshold(ALLOCATIONS, *rest)
            if self.held is None:
                silently(sweep, self.tape, table, refuse_leftovers)
            else:
                with self.held.restored(table.parent):
                    silently(sweep, self.tape, table, refuse_leftovers)
        finally:
            if 0 < first < ALLOCATIONS:
                gc.set_threshold(first, *rest)
        return self.arguments.gradients(table)


class CompiledBack(_OfOneRun):
    """The pullback of one run of a structured function."""

    def __init__(
        self,
        compiled: Compiled,
        saved: Any,
        y: Any,
        args: Sequence[Any],
        active: Sequence[bool],
        chosen: Sequence[int],
        again: Callable[[Tape | None], tuple[Any, Back]],
    ) -> None:
        self.compiled, self.saved, self.y, self.args = compiled, saved, as_it_is(y, with_attributes=True), args
        self.active, self.chosen = active, chosen
        self.again = again  # records the same run on a tape
        self.held: Held | None = None

    def kept(self) -> set[int]:
        """Return the ids of saved arrays, except arguments: the caller must not change these."""
        return {id(x) for x in _arrays_in(self.saved)} - set(map(id, self.args))

    def run(self, parent: Tape | None, dy: Any) -> tuple[Any, ...]:
        with nullcontext() if self.held is None else self.held.restored(parent):
            return self.pull(parent, dy)

    def pull(self, parent: Tape | None, dy: Any) -> tuple[Any, ...]:
        dy = check_cotangent(self.y, dy)
        try:
            found = () if dy is None else silently(call_on, parent, self.compiled.pull, self.saved, dy, self.y)
        except (*SINGULAR, NoDerivative):  # the tape treats infinite slopes, and its errors name the line of a call
            return self.again(parent)[1].run(parent, dy)
        for g in found:
            if g != g if type(g) is float else is_nan(g):
                return self.again(parent)[1].sweep_strongly(parent, dy)
        found = iter(found)
        pulled = [next(found, None) if is_active else None for is_active in self.active]
        gradients: list[Any] = []
        taken = list(_arrays_in(dy))
        for i in self.chosen:
            x, g = self.args[i], pulled[i]
            if not self.active[i]:
                gradients.append(None)
            elif isinstance(x, np.ndarray):
                zero = g is None or isinstance(g, int)
                if parent is None and not zero and any(np.may_share_memory(g, other) for other in taken):
                    g = np.copy(g)  # the caller must be the only owner of a gradient
                taken += _arrays_in(g)
                gradients.append(np.zeros_like(x) if zero else g)
            elif parent is not None and g is not None:
                converted = type(x) in (float, complex) and type(g) is not type(x)
                gradients.append(call_on(parent, as_gradient, g, x) if converted else g)
            else:
                gradients.append(as_gradient(0 if g is None else g, x))
        return tuple(gradients)


def _arrays_in(x: Any) -> Iterator[np.ndarray]:
    """Yield the arrays in nested tuples and lists."""
    if isinstance(x, np.ndarray):
        yield x
    elif isinstance(x, (tuple, list)):
        for e in x:
            if isinstance(e, (np.ndarray, tuple, list)):
                yield from _arrays_in(e)


def record_run(
    parent: Tape | None,
    f: Function,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    argnums: Sequence[int] | None = None,
    lasting: bool = False,
) -> tuple[Any, Back | CompiledBack]:
    """Run ``f`` and return its result and pullback.

    ``argnums`` are positions of arguments that hold numbers; None stands for all positional arguments, of which those
    without numbers get the gradient None.
    A ``lasting`` pullback stays valid when the caller writes into an argument before calling it.
    """
    is_outermost = parent is None
    if is_outermost and OBSERVED:
        parent = around(None)
    observer: Any = None if parent is None else parent.observer
    if type(f) is FunctionType and not kwargs and is_structured(f) and f not in HANDLERS and observer is None:
        compiled = _record_compiled(parent, f, args, argnums, lasting)
        if compiled is not None:
            return compiled
    if isinstance(f, FunctionType) and f not in HANDLERS and rules.find_rule(f) is None:
        template_of(f)  # report a missing source before anything runs
    y, back = _record_on_tape(f, args, kwargs, range(len(args)) if argnums is None else argnums, parent)
    if lasting:
        back.held = Held(parent, exposed(back.tape, back.arguments.references))
    if is_outermost and observer is not None:
        observer.ended(y)
    return y, back


def _record_on_tape(
    f: Function, args: Sequence[Any], kwargs: dict[str, Any], chosen: Sequence[int], parent: Tape | None
) -> tuple[Any, Back]:
    tape = Tape(parent)
    y, arguments = run_on(tape, f, args, kwargs, chosen)
    back = Back(tape, arguments, y)
    return arguments.restore(y, set()), back


def run_on(
    tape: Tape,
    f: Function,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    chosen: Sequence[int],
    begun: Callable[[Arguments], None] | None = None,
    ended: Callable[[Any], None] | None = None,
) -> tuple[Any, Arguments]:
    """Run ``f`` on a tape; return its result, which holds the fresh numbers and arrays, and the entered arguments.

    ``begun`` is called with the arguments before the run, and ``ended`` with the result while they are still entered.
    """
    is_outermost = tape.is_outermost
    if is_outermost:
        known.begin()
    arguments = Arguments(tape)
    deep = DeepRecursion()
    ending = [arguments.release, arguments.leave, lambda: give_back(tape)]
    if is_outermost:
        ending += (known.forget, lambda: known.runs.discard(tape), deep.end)
    first, *rest = gc.get_threshold()
    try:
        fresh = arguments.enter(args, chosen)
        if begun is not None:
            begun(arguments)
        if 0 < first < ALLOCATIONS:
            gc.set_threshold(ALLOCATIONS, *rest)
        if is_outermost:
            deep.begin()
            known.runs.add(tape)
        y = call(tape, f, *fresh, **kwargs)
        del fresh
        if ended is not None:
            ended(y)
        arguments.has_returned = True
    finally:
        tape.over = True
        try:
            undo(ending)
        except BaseException:
            undo(ending)
            raise
        finally:
            if 0 < first < ALLOCATIONS:  # another thread's run may have raised it meanwhile, and be gone
                gc.set_threshold(first, *rest)
    return y, arguments


def _record_compiled(
    parent: Tape | None, f: FunctionType, args: Sequence[Any], argnums: Sequence[int] | None, lasting: bool
) -> tuple[Any, CompiledBack] | None:
    """Run the compiled form of ``f``; None without one, or if it raises: the tape raises again on the user's lines."""
    values = parameters(f, args)
    if values is None or rules.find_rule(f) is not None:
        return None
    chosen = range(len(args)) if argnums is None else argnums
    active = tuple(i in chosen and (argnums is not None or is_structure_of_numbers(x)) for i, x in enumerate(values))
    held = [call_on(parent, np.copy, x) if lasting and type(x) is np.ndarray else x for x in values]
    run = run_compiled(parent, parent, f, held, active)
    if run is None:
        return None
    compiled, y, saved = run
    y = next((x for x, copy in zip(values, held) if y is copy), y)  # a function may return its argument
    again = functools.partial(_record_on_tape, f, held[: len(args)], {}, chosen)
    back = CompiledBack(compiled, saved, y, args, active, chosen, again)
    if lasting:
        back.held = Held(parent, globals_of(compiled))
    return y, back


def check_cotangent(y: Any, dy: Any) -> Any:
    """Return the cotangent of a number, an array or a tuple of these, converted to the form of ``y``."""
    if type(y) is float and type(dy) is float:
        return dy
    if dy is None:
        return None
    if isinstance(y, tuple):
        if not isinstance(dy, (tuple, list)) or len(dy) != len(y):
            raise BadInput(f"the result is a tuple of length {len(y)}; its cotangent must be one too, not {dy!r}")
        return [check_cotangent(e, de) for e, de in zip(y, dy)]
    if np.shape(dy) != np.shape(y):
        raise BadInput(f"the result has shape {np.shape(y)}, but its cotangent has shape {np.shape(dy)}")
    return conform(dy, y)


def seed(table: Cotangents, y: Any, dy: Any) -> None:
    """Enter the cotangent of the result into ``table``; refuse one of another structure or shape."""
    if dy is None:
        return
    if y is None:
        raise result_is_none()
    if type(dy) is float and type(y) in REAL:
        table.add(y, dy)
    elif type(y) is WithAttributes:
        seed(table, y.container, dy)
        given = dict(attributes(dy))
        for name, value in y.attributes.items():
            seed(table, value, given.get(name))
    elif isinstance(y, (tuple, list)):
        parts = held_in_order(dy)
        if parts is None or len(parts) != len(y):
            raise BadInput(
                f"the result is a {type(y).__name__} of length {len(y)}; its cotangent must be one too, not {dy!r}"
            )
        for e, de in zip(y, parts):
            seed(table, e, de)
    elif isinstance(y, dict):
        if not isinstance(dy, dict) or not set(dy) <= set(y):
            raise BadInput(
                f"the result is a dict with keys {sorted(map(str, y))}; its cotangent must be a dict with keys among these, not {dy!r}"
            )
        for key, value in dy.items():
            seed(table, y[key], value)
    elif isinstance(y, np.ndarray):
        if np.shape(dy) != y.shape:
            raise BadInput(f"the result has shape {y.shape}, but its cotangent has shape {np.shape(dy)}")
        table.add(y, table.run(conform, dy, y))
    else:
        if isinstance(kind_of(type(dy)), SparseMatrices):
            check_same(pattern_of(dict(attributes(y))), pattern_of(dict(attributes(dy))), OF_RESULTS)
        if np.shape(dy) != () and isinstance(y, (int, float, complex, np.number)):
            raise BadInput(f"the result is a number, but its cotangent has shape {np.shape(dy)}")
        table.add(y, dy)


connected.record_run = record_run
