"""Opaque calls: functions without rule or source, and objects that keep values inside C code.

They run, and the tape records their results together with their inputs.  An error is raised only if a cotangent reaches
a result that depends on a differentiated argument.  The dependence is found after the run from the tape, which holds
the inputs and results of every operation.  A result that existed before the call (a queue returns what was put into it)
has only been moved, and its cotangent passes.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...rules.connected import connected
from ...source.definitions import describe, example, user_frame
from ...values.memory import identity, is_about_memory, owner, pinned, rebased
from ...values.numbers import NUMBER_TYPES, PASSIVE, call_on, differentiable, is_exact, is_of_exact
from ...values.reachable import is_foreign, reached
from ..arrays.integers import carries, enlist, lose
from ..arrays.records import numeric_fields
from ..recorded.tape import Cotangents, Record, Tape, snapshot
from .watching import unwatched

LAZY = {types.GeneratorType, map, filter, zip}
RANDOM = ("random", "_random", "numpy.random")


INSTEAD: dict[Any, str] = {}
"""For functions that cannot be differentiated: a differentiable function that computes the same, for the message."""


class Recording:
    """A Python function handed to C code: calling it records on the tape, until the run is over."""

    __slots__ = ("__weakref__", "caller", "function", "tape")

    def __init__(self, tape: Tape, function: Any, caller: tuple[Any, Any] | None = None) -> None:
        self.tape: Tape | None = tape
        self.function = function
        self.caller = caller  # the C function that calls back with values that it has made, and its inputs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tape = self.tape
        while tape is not None and tape.over:
            tape = tape.parent
        if tape is not None and self.caller is not None:
            note(tape, args, *self.caller)
        return unwatched(call_on, tape, self.function, *args, **kwargs)

    def __morula_call__(self, tape: Tape, *args: Any, **kwargs: Any) -> Any:
        """Do a call from recorded code, which may belong to an enclosing derivative or a later run."""
        own = inner = self.tape
        if tape.over and own is not None and not own.over:  # the caller is a thread that an earlier run has started
            tape = own
        while inner is not None and inner is not tape:
            inner = inner.parent
        within = inner is tape and own is not None and not own.over
        return call_on(own if within else tape, self.function, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)


CALLABLE = (FunctionType, MethodType, functools.partial, functools._lru_cache_wrapper)


def callback(tape: Tape, x: Any, caller: tuple[Any, Any] | None = None) -> Any:
    """Return ``x``, wrapped to record if it is a Python function that C code may call."""
    if not isinstance(x, CALLABLE):
        return x
    recording = Recording(tape, x, caller)
    tape.lent.append(recording)
    return recording


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


def call_opaque(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function without rule or source; record its inputs, its result and what it stored in its arguments."""
    if any(isinstance(x, dict) or hasattr(x, "__dict__") for x in (*args, *kwargs.values()) if not _is_code(x)):
        return call_within_reach(tape, function, function, args, kwargs, lambda: (args, kwargs))
    return _run(tape, function, args, kwargs, (*args, *kwargs.values()))


def call_past_the_class(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ``super().__call__(*args, **kwargs)`` where a Python class overrides the ``__call__`` of a C base class."""
    x = function.__self__
    if isinstance(x, functools.partial):
        return tape.call(x.func, *x.args, *args, **{**x.keywords, **kwargs})
    return call_opaque(tape, function, args, kwargs)


def _is_code(x: Any) -> bool:
    return isinstance(x, (type, ModuleType, np.ndarray)) or type(x) in PASSIVE


def call_within_reach(
    tape: Tape, function: Any, form: Any, args: tuple[Any, ...], kwargs: dict[str, Any], reach: Any, constants: Any = ()
) -> Any:
    """Run a ``form`` of a function that may store computed values in anything that ``reach()`` holds; note these."""
    known: set[int] = set()
    values: list[Any] = []
    reached(reach(), known, values=values)
    arrays = [x for x in values if isinstance(x, np.ndarray) and x.dtype.kind in "fc" and x.flags.writeable]
    arrays = [x for x in arrays if not any(x is a for a in (*args, *kwargs.values()))]
    arrays = [x if type(x) is np.ndarray else x.view(np.ndarray) for x in arrays]
    before = [call_on(tape.parent, np.copy, a) for a in arrays]
    first = len(tape.records)
    # List what the arguments hold now, because they may hold more at the end of the run.
    inputs = *values, *constants, *_defaults((*args, *kwargs.values()))
    y = _run(tape, form(inputs) if form is not function else function, args, kwargs, inputs)
    recorded = _written_since(tape, first)
    for a, old in zip(arrays, before):
        if id(owner(a)) not in recorded and a.tobytes() != old.tobytes():
            note_overwritten(tape, a, old, Opaque(function, snapshot(inputs)))
    left: list[Any] = []
    reached((reach(), None if holds_values(y) else y), set(), values=left)
    made = [x for x in left if identity(x) not in known]
    note(tape, made, function, inputs)
    return y


def _defaults(objects: tuple[Any, ...]) -> Iterator[Any]:
    """Yield the numbers that are defaults of fields in the classes of some objects."""
    classes = {cls for x in objects if hasattr(x, "__dict__") and not _is_code(x) for cls in type(x).__mro__}
    for attribute in (a for cls in classes for a in vars(cls).values()):
        for field in attribute.values() if isinstance(attribute, dict) else (attribute,):
            yield from (x for x in (field, getattr(field, "default", None)) if type(x) in NUMBER_TYPES)


def _written_since(tape: Tape, first: int) -> set[int]:
    """Return the ids of the arrays' owners to which callbacks have written, recorded on the tape."""
    return {id(owner(r[1])) for r in tape.records[first:] if isinstance(r[1], np.ndarray)}


def _run(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], taken: tuple[Any, ...]) -> Any:
    given = [*args, *kwargs.values()]
    bound = getattr(function, "__self__", None)
    if bound is not None and not isinstance(bound, (ModuleType, type)):
        given.append(bound)
        taken = *taken, bound
    else:
        bound = None
    arrays = [a for a in given if isinstance(a, np.ndarray) and a.dtype.kind != "O" and a.flags.writeable]
    arrays = [a if type(a) is np.ndarray else a.view(np.ndarray) for a in arrays]
    known_addresses = exposed(tape)
    arrays += [a for a in known_addresses if not any(a is b for b in arrays)] if known_addresses else []
    before = [call_on(tape.parent, np.copy, a) for a in arrays]
    first = len(tape.records)
    caller = function, taken
    drawn: list[Any] = []
    inside = [_drawing(tape.call(iter, a), drawn) if type(a) in LAZY else callback(tape, a, caller) for a in args]
    y = connected.run_opaque(tape, function, *inside, **{k: callback(tape, v, caller) for k, v in kwargs.items()})
    if function is np.ndarray:
        y = pinned(y)
    inputs = (*taken, *drawn, *(record[1] for record in tape.records[first:]))
    recorded = _written_since(tape, first)
    changed = [a.tobytes() != old.tobytes() for a, old in zip(arrays, before)]
    for a, old, surely in zip(arrays, before, changed):
        if id(owner(a)) in recorded:
            continue
        may = y is None and not any(changed) and a.dtype.kind in "fc" and not any(a is b for b in known_addresses)
        if surely or may:
            note_overwritten(tape, a, old, Opaque(function, snapshot(inputs)), surely)
    note_as_bytes(tape, y, function)
    same = any(y is a for a in given if type(a) not in PASSIVE)
    if same or isinstance(y, np.ndarray) and any(owner(a) is owner(y) for a in arrays):
        return y
    keeps = bound is not None and _keeps(type(bound)) and any(type(x) not in PASSIVE for x in given[:-1])
    if isinstance(y, (np.ndarray, np.integer, list, tuple)) and carries(tape, given):
        if not (getattr(function, "__module__", None) or type(bound).__module__ or "").startswith(RANDOM):
            y = lose(tape, y, function, given)
    note(tape, (y, bound) if keeps else y, function, inputs)
    if y is None:  # it was called for its effect on its arguments
        note(tape, tuple(a for a in args if is_foreign(type(a))), function, inputs)
    if not holds_values(y) and any(map(_may_hold_numbers, inputs)) and is_about_memory(function, inputs):
        note_given(tape, function, inputs)
    return as_view(y, inputs)


def _drawing(iterator: Iterator[Any], drawn: list[Any]) -> Iterator[Any]:
    """Yield from an iterator, and append each value to ``drawn``."""
    for x in iterator:
        drawn.append(x)
        yield x


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
        tape.records.append((_no_derivative, snapshot(y), Opaque(function, snapshot(inputs), says=says, later=later)))


def _may_hold_numbers(x: Any) -> bool:
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


def exposed(tape: Tape) -> list[np.ndarray]:
    """Return the arrays whose address C code knows: it can write to them without being given them."""
    return tape.memory.get(exposed, [])


def as_view(y: Any, inputs: Any) -> Any:
    """Return ``y``, an array that C code made on the memory of an array in ``inputs``, as a view of that array."""
    if not isinstance(y, np.ndarray) or y.base is None or isinstance(y.base, np.ndarray) or owner(y) is not y:
        return y
    values: list[Any] = []
    reached(inputs, set(), values=values)
    return rebased(y, tuple(x for x in values if isinstance(x, np.ndarray) and np.may_share_memory(x, y)))


def note_overwritten(tape: Tape, a: np.ndarray, old: np.ndarray, opaque: Opaque, surely: bool = True) -> None:
    """Record that a call wrote into the array ``a``, which held ``old``.

    An unchanged entry may have been written too: zero times something may have been added to zero.  If no entry has
    changed, ``surely`` is False: there may have been no write, and an array that carries a derivative keeps it.
    """
    if surely:
        tape.written.add(id(owner(a)))
    tape.records.append((_overwritten, a, old, surely, opaque))


def holds_values(y: Any) -> bool:
    if isinstance(y, (tuple, list)):
        return any(map(holds_values, y))
    if isinstance(y, (bytes, bytearray)):
        return len(y) > 1
    return type(y) not in PASSIVE and (differentiable(y) or is_foreign(type(y)))


def _keeps(kind: type) -> bool:
    """Whether an object may keep given values inside C code; a random generator keeps only its state."""
    return is_foreign(kind) and not (kind.__module__ or "").startswith(RANDOM)


def _no_derivative(table: Cotangents, record: Record) -> None:
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


def _overwritten(table: Cotangents, record: Record) -> None:
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
            "have destroyed an argument that is read afterwards; leave that out, or do not read the argument again"
        )
    reason, remedy = "has no derivative rule and no Python source to differentiate,", "Give"
    exact = next((type(x).__name__ for x in opaque.inputs if is_exact(type(x))), None)
    if exact is not None:
        reason = f"is given a number ({exact}) that is computed in integers, where no derivative can be followed,"
    elif isinstance(function, FunctionType) and is_of_exact(function):
        reason, remedy = "computes in integers, where no derivative can be followed,", "Compute with floats, or give"
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
        f"({describe(function.caller)}, called at {where[0]}:{where[1]}), where its operations are not recorded, and what it "
        "stored or returned influences the output. Call it from Python before, so that what it stores is there already, or "
        "let it store nothing that the result depends on"
    )


def _entries(y: Any) -> Iterator[Any]:
    """Yield the entries of nested lists and tuples."""
    if isinstance(y, (tuple, list)):
        for e in y:
            yield from _entries(e)
    else:
        yield y


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
        reached(opaque.inputs if opaque is not None else saved, taken)
        given: set[int] = set()
        reached(y, given)
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
            keeping = {id(x) for x in _entries(y) if _keeps(type(x))}
            given -= opaque.moved - keeping if not isinstance(y, np.ndarray) else set()
        elif isinstance(y, (tuple, list)):
            given -= known | taken  # these are views of older values
        if depends:
            active |= given
        known |= taken | given
        if opaque is None or isinstance(y, (tuple, list, np.ndarray, *NUMBER_TYPES)):
            produced |= given


def evaluate_text(tape: Tape, function: Any, names: dict[str, Any], scope: dict[str, Any], *args: Any) -> Any:
    """Run ``eval`` or ``exec`` in the scope of the caller, as an opaque call."""
    source, *given = args
    scopes = given or [names, scope]
    before = {name: id(value) for name, value in scopes[-1].items()}
    code = source if isinstance(source, types.CodeType) else compile(source.strip(), "<text>", function.__name__)
    used = [s[name] for name in _names(code) for s in scopes if name in s]
    values: list[Any] = []  # what these hold now: the text may store other values
    reached(used, set(), values=values)
    y = connected.run_opaque(tape, function, source, *scopes)
    made = [value for name, value in scopes[-1].items() if before.get(name) != id(value) and name != "__builtins__"]
    note(tape, (y, made), function, (*used, *values))
    return y


def _names(code: types.CodeType) -> set[str]:
    """Return the names that code, including nested code, looks up in its scope."""
    inner = (_names(c) for c in code.co_consts if isinstance(c, types.CodeType))
    return {*code.co_names}.union(*inner)
