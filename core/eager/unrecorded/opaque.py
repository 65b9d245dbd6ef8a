"""Records of opaque calls on the tape: functions without rule or source, and objects that keep values inside C code.

They run (``opaque_calls``), and the tape records their results together with their inputs.  An error is raised only if a
cotangent reaches a result that depends on a differentiated argument.  The dependence is found after the run from the tape,
which holds the inputs and results of every operation.  A result that existed before the call (a queue returns what was put
into it) has only been moved, and its cotangent passes.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...rules.connected import connected
from ...rules.table import Rule
from ...source.definitions import describe, example, user_frame
from ...values.memory import identity, is_about_memory, owner
from ...values.numbers import NUMBER_TYPES, PASSIVE, differentiable, is_exact, is_of_exact
from ...values.reachable import is_foreign, reached
from ..arrays.integers import enlist
from ..arrays.records import numeric_fields
from ..recorded.tape import Cotangents, Record, Tape, snapshot

RANDOM = ("random", "_random", "numpy.random")


INSTEAD: dict[Any, str] = {}
"""For functions that cannot be differentiated: a differentiable function that computes the same, for the message."""


class Opaque:
    """One opaque call: its inputs, and what ``judge`` finds out about it from the tape."""

    __slots__ = ("active", "depends", "function", "inputs", "later", "moved", "overwrites", "says", "shown", "where")

    def __init__(
        self,
        function: Any,
        inputs: tuple[Any, ...],
        overwrites: bool = False,
        says: Callable[[], str] | None = None,
        later: tuple[Any, ...] = (),
    ) -> None:
        self.function, self.inputs = function, inputs
        self.later = later  # further values on which it may depend, perhaps results of calls that are recorded after it
        self.overwrites = (
            overwrites  # whether it overwrites all memory of an argument, so that unchanged entries may be new too
        )
        self.says = says  # returns the error's text where the default, for a call, does not fit
        self.shown: Any = None  # the owner of the memory that the call shows as bytes
        self.where = user_frame()
        self.depends = True  # whether it depends on a differentiated argument
        self.active = False  # whether its results depended on one before the call
        self.moved: set[int] | None = None  # results that are objects from before the call; None: not judged yet


def runs_text(function: Any) -> bool:
    return function is eval or function is exec


class Unrecorded:
    """Python code that C called unrecorded, used as the function of an ``Opaque``."""

    __slots__ = ("__code__", "__name__", "caller", "is_called")

    def __init__(self, code: types.CodeType, caller: Any) -> None:
        self.__code__, self.__name__, self.caller = code, code.co_qualname, caller
        self.is_called = runs_text(caller) or getattr(caller, "__code__", None) is code  # called by the program itself


def note(
    tape: Tape,
    y: Any,
    function: Any,
    inputs: tuple[Any, ...],
    says: Callable[[], str] | None = None,
    later: tuple[Any, ...] = (),
) -> None:
    """Record ``y`` as a result of ``function``, if it can hold a derivative."""
    if isinstance(y, np.ndarray) and y.dtype.kind == "V":
        y = tuple(numeric_fields(y))
    elif is_foreign(type(y)) and getattr(y, "__dict__", None):
        y = (y, *vars(y).values())
    elif isinstance(y, dict):
        y = tuple(y.values())
    if holds_values(y):
        tape.records.append(
            (without_derivative, snapshot(y), Opaque(function, snapshot(inputs), says=says, later=later))
        )


def may_hold_numbers(x: Any) -> bool:
    return differentiable(x) or type(x) in (bytearray, memoryview) or is_foreign(type(x))


def note_given(tape: Tape, function: Any, inputs: tuple[Any, ...], shown: Any = None) -> Opaque:
    """Record that ``function`` was given numbers, although its result cannot hold a derivative."""
    opaque = Opaque(function, snapshot(inputs))
    opaque.shown = shown
    tape.records.append((nothing, (), opaque))
    return opaque


def note_as_bytes(tape: Tape, y: Any, function: Any) -> None:
    """Record that ``function`` reinterprets memory that may hold floats as numbers without derivatives."""
    if isinstance(y, np.ndarray) and y.base is not None and y.dtype.kind not in "fcVO":
        holder = owner(y)
        if not isinstance(holder, np.ndarray) or holder.dtype.kind in "fc":
            opaque = note_given(tape, function, (holder,), holder)
            if y.dtype.kind in "iu":
                enlist(tape, y, function, bits=opaque)


def nothing(table: Cotangents, record: Record) -> None:
    """Do nothing: a result that holds no number has no cotangent."""


def note_overwritten(tape: Tape, a: np.ndarray, old: np.ndarray, opaque: Opaque, surely: bool = True) -> None:
    """Record that a call wrote into the array ``a``, which held ``old``.

    An unchanged entry may have been written too: zero times something may have been added to zero.  If no entry has
    changed, ``surely`` is False: there may have been no write, and an array that carries a derivative keeps it.
    """
    if surely:
        tape.written.add(id(owner(a)))
    tape.records.append((overwritten, a, old, surely, opaque))


def holds_values(y: Any) -> bool:
    if isinstance(y, (tuple, list)):
        return any(map(holds_values, y))
    if isinstance(y, (bytes, bytearray)):
        return len(y) > 1
    return type(y) not in PASSIVE and (differentiable(y) or is_foreign(type(y)))


def keeps(kind: type) -> bool:
    """Whether an object may keep given values inside C code; a random generator keeps only its state."""
    return is_foreign(kind) and not (kind.__module__ or "").startswith(RANDOM)


def without_derivative(table: Cotangents, record: Record) -> None:
    _, y, opaque = record
    dy = table.take(y)
    if dy is None:
        return
    if opaque.moved is None:
        judge(table.tape)
    _pass_on(table, y, dy, opaque)


def _pass_on(table: Cotangents, y: Any, dy: Any, opaque: Opaque) -> None:
    if dy is None:
        return
    if isinstance(y, (tuple, list)):
        for e, de in zip(y, dy):
            _pass_on(table, e, de, opaque)
    elif opaque.moved and identity(y) in opaque.moved:
        if isinstance(dy, np.ndarray) and dy.dtype == np.uint8:  # for memory that no array owns
            table.arrays[id(y)] = dy
        else:
            table.add(y, dy)
    elif _not_zero(dy):
        refuse(table, y, dy, opaque)


def refuse(table: Cotangents, y: Any, dy: Any, opaque: Opaque) -> None:
    """Refuse the cotangent ``dy`` of ``y``, the result of an opaque call, if ``y`` may depend on an argument."""
    if opaque.depends:
        raise refusal(opaque)
    if type(opaque.function) is not Unrecorded and is_about_memory(opaque.function, (*opaque.inputs, y)):
        connected.refuse_if_given(table, y, dy, opaque.where)


def _not_zero(g: Any) -> bool:
    names = g.dtype.names if isinstance(g, np.ndarray) else None
    return bool(np.any(g != 0)) if names is None else any(_not_zero(g[name]) for name in names)


def overwritten(table: Cotangents, record: Record) -> None:
    """Undo the write of an opaque function into an array, and refuse a cotangent of the written contents."""
    _, a, old, surely, opaque = record
    if surely:
        table.redo.append((a, ..., table.run(np.copy, a)))
        table.write(a, ..., old)
    if not table.reached(a):
        return
    window = table.window(a)
    if _not_zero(np.asarray(window)):
        if opaque.moved is None:
            judge(table.tape)
        if surely or not opaque.active:
            refuse(table, table.redo[-1][2] if surely else a, np.asarray(window), opaque)
    if surely:
        table.write(window, ..., np.zeros((), window.dtype))


def refusal(opaque: Opaque) -> NoDerivative:
    """Return the error for a cotangent that has reached the result of an opaque function."""
    if opaque.says is not None:
        return NoDerivative(opaque.says())
    function = opaque.function
    if type(function) is Unrecorded:
        if not function.is_called:
            return _refusal_of_unrecorded(function, opaque.where)
        function = function.caller
    short = getattr(function, "__name__", "f")
    if opaque.overwrites:
        return NoDerivative(
            f"{describe(function)}, called at {opaque.where[0]}:{opaque.where[1]} with overwrite_...=True, may "
            "have overwritten an argument that is read afterwards; leave overwrite_... out, or do not read the argument again"
        )
    reason, remedy = "has no derivative rule and no Python source to differentiate,", "Give"
    exact = next((type(x).__name__ for x in opaque.inputs if is_exact(type(x))), None)
    if exact is not None:
        reason = f"is given a number ({exact}) that is computed in integers, which carry no derivative,"
    elif isinstance(function, FunctionType) and is_of_exact(function):
        reason, remedy = "computes in integers, which carry no derivative,", "Compute with floats, or give"
    instead = next((f"{text} can be differentiated. " for f, text in INSTEAD.items() if f is function), "")
    return NoDerivative(
        f"{describe(function)}, called at {opaque.where[0]}:{opaque.where[1]}, {reason} "
        f"and its result influences the output. {instead}{remedy} it a derivative:\n"
        f"{example(short)}"
        "or wrap the argument in morula.stop_gradient if no derivative should pass."
    )


def _refusal_of_unrecorded(function: Unrecorded, where: tuple[str, int]) -> NoDerivative:
    return NoDerivative(
        f"{describe(function)} was called by code written in C "
        f"({describe(function.caller)}, called at {where[0]}:{where[1]}), where its operations are not recorded, but the value "
        "that it stored or returned influences the output. Call it from Python code instead, e.g. once beforehand if it caches "
        "a value"
    )


def _entries(y: Any) -> Iterator[Any]:
    """Yield the entries of nested lists and tuples."""
    if isinstance(y, (tuple, list)):
        for e in y:
            yield from _entries(e)
    else:
        yield y


def _identify(values: Any, found: set[int], seen: set[int] | None = None) -> None:
    """Do what ``reached`` does, with a shortcut for numbers, arrays and rules, of which most records consist."""
    seen = set() if seen is None else seen
    for x in values:
        kind = type(x)
        if kind in NUMBER_TYPES:
            found.add(id(x))
        elif kind is np.ndarray and x.dtype.kind != "O":
            found.add(id(x) if x.base is None else id(owner(x)))
        elif kind is tuple or kind is list:
            if id(x) not in seen:
                seen.add(id(x))
                _identify(x, found, seen)
        elif kind not in NEVER_REACHING:
            reached(x, found, seen)


NEVER_REACHING = PASSIVE - {FunctionType, bytes} | {Rule}


def may_depend(tape: Tape | None, opaque: Opaque) -> bool:
    """Return False if an opaque call surely does not depend on the inputs of a tape; at a fraction of the cost of ``judge``."""
    if tape is None or tape.inputs is None or opaque.later:
        return True
    needed: set[int] = set()
    _identify(opaque.inputs, needed)
    for _, y, *saved in reversed(tape.records):
        given: set[int] = set()
        _identify((y,), given)
        if not needed.isdisjoint(given):
            _identify(saved, needed)
    inputs: set[int] = set()
    reached(tape.inputs, inputs)
    return not needed.isdisjoint(inputs)


def judge(tape: Tape | None) -> None:
    """Determine for each opaque call on a tape whether it depends on the inputs, and which of its results are old."""
    if tape is None:
        return
    known: set[int] = set()
    reached(tape.inputs or (), known)
    active = set(known)
    produced = set(known)  # the inputs and the results of operations
    for _, y, *saved in tape.records:
        taken: set[int] = set()
        opaque = next((s for s in saved if type(s) is Opaque), None)
        _identify(opaque.inputs if opaque is not None else saved, taken)
        given: set[int] = set()
        if opaque is None and isinstance(y, np.ndarray) and y.dtype.kind == "O":
            given.add(id(owner(y)))  # a write: what the array holds now may be made later
        else:
            _identify((y,), given)
        depends = tape.inputs is None or not taken.isdisjoint(active)
        if opaque is not None and opaque.later and not depends:
            later: set[int] = set()
            reached(opaque.later, later)
            depends = not later.isdisjoint(active)
        if opaque is not None:
            opaque.depends, opaque.active = depends, not given.isdisjoint(active)
            # The call may have made what a container among the inputs holds now, so count only direct inputs.
            handed = {id(x) for x in opaque.inputs if type(x) in NUMBER_TYPES}
            handed |= {id(owner(x)) for x in opaque.inputs if isinstance(x, np.ndarray)}
            # Unrecorded code may have made a known value itself, so only inputs and recorded results count as old.
            opaque.moved = given & (produced if type(opaque.function) is Unrecorded else known | handed)
            # An object of C code may have stored what the call gave it, so it counts as changed.
            keeping = {id(x) for x in _entries(y) if keeps(type(x))}
            given -= opaque.moved - keeping if not isinstance(y, np.ndarray) else set()
        elif isinstance(y, (tuple, list)):
            given -= known | taken  # these are views of older values
        if depends:
            active |= given
        known |= taken | given
        if opaque is None or isinstance(y, (tuple, list, np.ndarray, *NUMBER_TYPES)):
            produced |= given
