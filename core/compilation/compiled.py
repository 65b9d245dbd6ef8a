"""The stages of compilation, timed: from a Python function and its arguments to an executable program."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .. import callbacks, debug  # noqa: F401  what ``callback`` and ``print`` do on traced values
from ..eager.recorded.tape import NotANumber, around
from ..errors import BadInput
from ..exclusion import one_at_a_time
from ..faults import refused
from ..ir.dynamic import Block, Function, Operation, walk
from ..ir.typed import STACK, callback, debug_print
from ..passes.columns import by_rows
from ..passes.custom_derivatives import without_custom
from ..passes.index_proofs import without_checks
from ..passes.library_programs import with_library_programs
from ..passes.side_by_side import products_of_loops
from ..passes.simplify import simplify
from ..passes.twins import with_twins
from ..recursion import DeepRecursion, deeply
from ..rules.connected import connected
from ..source.definitions import describe
from ..specialise import Program, specialise
from ..specialise.clocks import Clock
from ..specialise.drivers import Driver, is_users
from ..specialise.left_to_python import EFFECT
from ..specialise.numbers import Needed
from ..specialise.outside import Varying
from ..specialise.steps import Steps
from ..specialise.traced import NeedsConcrete
from ..specialise.warned import Warned
from ..values.layout import layout_of, names_of_arguments, objects_of, scan
from ..values.memory import overlaps_itself
from ..values.spilled import Offloaded
from ..values.strong_zero import is_nan
from . import custom_tangents, targets, transformed_calls  # noqa: F401  what they do on traced values
from .forms import Forms
from .non_finite import error_of
from .progress import told


def _passes(target: str) -> list[tuple[str, Callable[[Function], Function]]]:
    """Return the passes over the whole program, with their names."""
    return [
        ("without custom derivatives", without_custom),
        ("without checks that never fail", without_checks),
        ("library programs", lambda function: with_library_programs(function, target)),
        ("simplify", simplify),
        ("side by side", lambda function: products_of_loops(function, target)),
        ("by rows", by_rows),
        # A copy that each write keeps up to date: XLA may copy the whole array for a write.
        *([("twins", with_twins)] if target == "native" else []),
    ]


CAPACITY = 64
"""The capacity of a list that a loop makes longer, at first; a program whose list is full is compiled with a larger one."""

FINAL = 1 << 14
"""The capacity in programs that cannot run again, since they print or call Python."""

IS_ARGUMENT_AND_OUTSIDE = (
    "an argument of the compiled function holds a list, dict or object that the function also reads from outside "
    "(a global or closure variable) and changes, differentiates or compares by `is`; read it from the argument only, "
    "or pass a copy"
)


@dataclass(frozen=True)
class Checks:
    """Options of a program: run-time checks of index bounds (native code) and of overflow of Python ints; its threads."""

    bounds: bool = True
    overflow: bool = True
    parallel: bool | int = False
    """Whether native loops run in several threads: on all cores, or in this number of threads."""


@dataclass
class Compilation:
    """One program on its way through the stages."""

    f: Callable[..., Any]
    target: str
    reason: str
    program: Program
    stages: list[tuple[str, Function]]  # the typed function after each pass
    seconds: dict[str, float]
    checks: Checks
    static: frozenset[int] = frozenset()  # leaves that are compile-time constants
    read_only: frozenset[int] = frozenset()  # read-only leaves that the function writes to on some path
    why_static: dict[int, str] = field(default_factory=dict)
    is_strong: bool = False  # see ``strong_zero``
    lists: int = CAPACITY  # the capacity of lists that loops make longer
    executable: Any = None
    enter: Any = None  # the quick way in

    @property
    def capacity(self) -> int:
        """The capacity of lists that loops make longer; 0 if there is none that may become too long."""
        return self.lists if self.program.has_capacity else 0

    @property
    def function(self) -> Function:
        return self.stages[-1][1]

    def compile(self, keep: bool = False) -> Compilation:
        """Compile the program unless that is done; ``keep`` retains the IR after each pass."""
        if self.executable is None:
            with one_at_a_time, told("generating code for", self.f), refused(describe(self.f)):
                self._compile(keep)
        return self

    def _compile(self, keep: bool) -> None:
        if self.executable is not None:  # by another thread meanwhile
            return
        began = time.perf_counter()
        made = deeply(lambda: targets.compile_for(self.target, self.function, self.checks.bounds, self.checks.parallel))
        self.seconds["compile"] = time.perf_counter() - began
        if not keep:
            self.stages = self.stages[-1:]
            self.program.function = self.function
        self.executable = made

    @cached_property
    def may_repeat(self) -> bool:
        """Whether NaN results may be recomputed with strong products: the program has effects only at its end."""
        return self.program.differentiates and not self.is_strong and not calls_python(self.function.block)

    def run(self, leaves: Sequence[Any], given: Any) -> Any:
        """Return the Python result for ``given = (args, kwargs)`` and its leaves.

        Raises:
            NotANumber: a result is NaN, and strong products may give a number; no effect has happened yet.
        """
        program = self.program
        parameters = [leaves[i] for i in program.leaves]
        parameters += [source.read() for source in program.hidden]
        if program.written:
            check_overlap(parameters, program.written)
        objects = objects_of(given) if program.knows_objects or program.outside else ()
        if program.outside and any(id(x) in program.outside for x in objects):
            raise BadInput(IS_ARGUMENT_AND_OUTSIDE)
        tape = around(None)  # that observes this thread: see ``debug_nans``
        before = [np.array(x) for x in parameters] if tape is not None else []
        results = self.executable(parameters)
        if self.may_repeat and any(map(is_nan, results)):
            raise NotANumber
        if tape is not None and any(map(tape.observer.bad, results)):
            error = error_of(tape.observer, self.function, before)
            if error is not None:
                raise error
        return program.result(results, parameters, objects)

    @property
    def patterns(self) -> tuple[int, ...]:
        """The leaves that are arrays of integers whose content the program assumes."""
        leaves = self.program.leaves
        return tuple(leaves[place] for place in self.program.contents if place < len(leaves))

    def fits(self, leaves: Sequence[Any]) -> bool:
        """Return whether ints among the leaves lie in the ranges that the program assumes."""
        return all(low <= leaves[i] <= high for i, (low, high) in self.program.ranges.items())

    def is_current(self) -> bool:
        """Return whether the program's guards on state outside its arguments still hold."""
        return self.program.is_current() and all(map(self._fits, range(len(self.program.hidden))))

    def _fits(self, i: int) -> bool:
        x = self.program.hidden[i].read()
        place = len(self.program.leaves) + i
        kind = self.function.parameters[place].type
        found = self.program.hidden[i].found
        if type(found) is not np.ndarray:
            return type(x) is type(found) and (type(x) is not int or -(2**63) <= x < 2**63)
        return (
            type(x) is np.ndarray
            and x.dtype == kind.dtype
            and x.shape == kind.shape
            and x.strides == self.program.strides.get(place, x.strides)
            and x.flags.writeable is (place not in self.program.read_only)
            and (place not in self.program.contents or np.array_equal(x, self.program.contents[place]))
        )

    @property
    def written(self) -> frozenset[int]:
        """The leaves that the program writes to on some path, or of which it asks whether they are writeable."""
        program = self.program
        places = {*program.written, *program.asked}
        return self.read_only | {program.leaves[i] for i in places if i < len(program.leaves)}


def operations(block: Block, within: frozenset[Function] = frozenset()) -> Iterator[Operation]:
    """Yield the operations of a block, with those of its blocks and of the functions that it calls."""
    for op in walk(block):
        yield op
        if isinstance(op.callee, Function) and op.callee not in within:
            yield from operations(op.callee.block, within | {op.callee})


def calls_python(block: Block) -> bool:
    """Whether a program calls Python functions, or prints, while it runs."""
    return any(op.callee in (callback, debug_print) for op in operations(block))


def has_effects(block: Block) -> bool:
    """Return whether a program calls Python other than to warn, read a clock or hold states: a second run would do so again."""

    def is_effect(function: Any) -> bool:
        if isinstance(function, Driver):  # of a solver in C, which runs a typed function
            return has_effects(function.function.block)
        held_by = getattr(function, "__self__", None)
        return not isinstance(function, (Warned, Clock)) and not isinstance(held_by, Offloaded)

    return any(
        op.callee is debug_print or op.callee is callback and is_effect(op.named["function"].constant)
        for op in operations(block)
    )


def refuse_waiting(f: Callable[..., Any], program: Program) -> None:
    """Refuse a program that calls Python while it holds locks."""
    for op in operations(program.function.block) if program.locks else ():
        if op.callee is callback and is_users(op.named["function"].constant):
            raise BadInput(
                f"{describe(f)} enters a lock from outside, which is held while the program runs, and calls Python, which could wait "
                "for the lock; call Python before or after it"
            )


def check_overlap(parameters: Sequence[Any], written: Sequence[int]) -> None:
    """Raise if an array that is written to shares memory with another one."""
    arrays = [(i, x) for i, x in enumerate(parameters) if type(x) is np.ndarray]
    for place in written:
        x = parameters[place]
        if x.base is not None and overlaps_itself(x):
            raise BadInput(
                "the compiled function writes into an array in which several elements share memory; pass a copy of it"
            )
        for i, other in arrays:
            if i != place and (
                x is other or (x.base is not None or other.base is not None) and _share_memory(x, other)
            ):
                raise BadInput(
                    "the compiled function writes into an array that shares memory with another argument, or with an array from outside "
                    "(a global or closure variable) that it reads; pass a copy"
                )


def _share_memory(x: np.ndarray, y: np.ndarray) -> bool:
    try:
        return np.shares_memory(x, y, max_work=1000)
    except np.exceptions.TooHardError:
        return True


def specialised(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    target: str,
    checks: Checks,
    static: Collection[int] = (),
    level: int = 0,
    is_strong: bool = False,
    capacity: int = CAPACITY,
    most: float = math.inf,
    seconds: float = math.inf,
    is_pure: bool = False,
    ranges: Mapping[int, tuple[int, int]] | None = None,
) -> Compilation:
    """Trace and simplify ``f(*args, **kwargs)``; numbers that have to be known become static.

    ``most`` calls and ``seconds`` are what its traces may take, see ``steps``; ``is_pure``: whether it may not have effects.
    ``ranges`` are those that it may assume for ints among the leaves; the caller compares them with what it is called with.

    Raises:
        BadInput: it cannot be compiled; what, where, and what to do.
    """
    with one_at_a_time, told("tracing", f):  # what is being traced is known to all of its values (``Trace.stack``)
        steps = Steps(most, seconds)
        return _specialised(
            f, args, kwargs, target, checks, set(static), level, is_strong, capacity, steps, is_pure, ranges or {}
        )


def _specialised(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    target: str,
    checks: Checks,
    static: set[int],
    level: int,
    is_strong: bool,
    capacity: int,
    steps: Steps,
    is_pure: bool,
    ranges: Mapping[int, tuple[int, int]],
) -> Compilation:
    first = targets.first_choice(target)
    why: dict[int, str] = {}
    fixed = {i for i, x in enumerate(scan((args, kwargs))[0]) if type(x) is np.ndarray and not x.flags.writeable}
    read_only: set[int] = set()  # of these, what is written to
    forms = Forms(steps)
    options = {
        "level": level,
        "is_strong": is_strong,
        "overflow_check": checks.overflow,
        "varying": frozenset(),
        "capacity": capacity,
        "steps": steps,
        "leaves_effects": is_pure,
        "ranges": ranges,
        "knows_patterns": False,
    }
    is_numbered = False
    began = time.perf_counter()
    while True:
        try:
            of_form = {
                **dict.fromkeys(forms.begin(), True),
                "is_numbered": is_numbered,
                **options,
            }
            program = specialise(f, args, kwargs, static, read_only, target=first[0], **of_form)
        except BadInput as error:
            if not options["knows_patterns"] and is_of_sparse(error):
                options["knows_patterns"] = True
                continue
            if options["varying"]:  # as constants, which are guarded, these numbers could be compiled
                options["varying"] = None
                continue
            try:
                why |= needed(f, args, kwargs, error, static)
            except BadInput as final:
                forms.refuse(final, error)
            static |= why.keys()
            continue
        except Needed:
            is_numbered = True
            continue
        except Varying as found:
            options["varying"] = found.places
            continue
        if is_pure and has_effects(program.function.block):
            raise BadInput(EFFECT)
        of_interest = {*program.written, *program.asked}
        refused_writes = fixed.intersection(program.leaves[i] for i in of_interest if i < len(program.leaves))
        if not read_only.issuperset(refused_writes):
            read_only |= refused_writes
            continue
        if program.has_capacity and capacity < FINAL and calls_python(program.function.block):
            capacity = options["capacity"] = FINAL  # it cannot run again
            continue
        if program.differentiates and not is_strong and calls_python(program.function.block):
            is_strong = options["is_strong"] = True  # it cannot be run again where a result is NaN: see ``may_repeat``
            continue
        refuse_waiting(f, program)
        chosen = targets.choose(program.function, target, first, bool(checks.parallel))
        if chosen[0] == first[0] or not _is_for(first[0], program.function):
            break
        first = chosen  # the traced program uses an operation that the other target lacks
    seconds = {"trace": time.perf_counter() - began}
    stages = [("trace", program.function)]
    deep = DeepRecursion(8_000)
    try:
        deep.begin()
        with refused(describe(f)):
            for name, run in _passes(chosen[0]):
                began = time.perf_counter()
                stages.append((name, run(stages[-1][1])))
                seconds[name] = time.perf_counter() - began
    finally:
        deep.end()
    return Compilation(
        f, *chosen, program, stages, seconds, checks, frozenset(static), frozenset(read_only), why, is_strong, capacity
    )


def is_of_sparse(error: BadInput) -> bool:
    """Whether a refusal is about code of ``scipy.sparse``, which could be compiled if the patterns of matrices were known."""
    return "sparse" in Path(getattr(error, "raised_in", "")).parts and "scipy" in Path(error.raised_in).parts  # type: ignore[attr-defined]


def compiled_part(function: Function) -> targets.Executable:
    """Compile a typed function that a compiled program runs from Python."""
    with one_at_a_time:
        target = "native" if targets.is_installed("native") else "xla"
        for _, run in _passes(target):
            function = run(function)
        return deeply(lambda: targets.compile_for(target, function, True))


connected.compiled_part = compiled_part


def _is_for(target: str, function: Function) -> bool:
    """Return whether a function can be compiled only for this target: stacks need native code."""
    return target == "native" and any(v.type is STACK for op in walk(function.block) for v in op.results)


def needed(
    f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], error: BadInput, static: Collection[int]
) -> dict[int, str]:
    """Return the leaves that must become static so that tracing knows a number it needs, with the reason for each.

    Raises:
        BadInput: the number depends on an array or another value that cannot be static; or ``error`` has another cause.
    """
    if not isinstance(error, NeedsConcrete):
        raise error
    what, _, where = str(error).partition("\n")
    where = "\n" + where if where else ""
    what, _, remedy = what.partition("; ")
    text = f"{what} must be known while compiling, but"
    leaves = error.leaves
    names = names_of_arguments(f, layout_of((args, kwargs)))
    if leaves is None or not leaves or not leaves.isdisjoint(static):
        raise BadInput(
            f"{text} is computed while the program runs; {remedy or 'use a mask or a fixed upper bound instead'}{where}"
        ) from error
    values, _ = scan((args, kwargs))
    for i in sorted(leaves):
        if error.is_of_c and not isinstance(values[i], (int, np.integer, np.bool_)):
            remedy = remedy or (
                "use NumPy's functions (np.searchsorted, np.sort) or a loop, or call the function through mo.callback"
            )
            raise BadInput(f"{text} depends on {names[i]}; {remedy}{where}") from error
        if isinstance(values[i], np.ndarray):
            remedy = remedy or "compute it before the call and pass it as an int, which becomes a compile-time constant"
            raise BadInput(f"{text} depends on the array {names[i]}; {remedy}{where}") from error
        if not isinstance(values[i], (int, np.integer, np.bool_)):
            remedy = remedy or (
                "compute it before the call and pass it as an int, or make that argument a compile-time constant with "
                "static_argnames"
            )
            raise BadInput(f"{text} depends on {names[i]}, which is not an integer; {remedy}{where}") from error
    return dict.fromkeys(leaves, what)
