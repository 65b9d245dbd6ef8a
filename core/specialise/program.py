"""A function and its arguments -> a ``Program``: the typed function, and the conversion from and to Python objects."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..errors import BadInput, MorulaError
from ..exclusion import undo
from ..faults import kind_of, refused
from ..ir.builder import Builder
from ..ir.derived import Derived, derived_of, is_known
from ..ir.dynamic import Block, Function, Value, operands, verify, walk
from ..ir.places import calls_to, raised_at
from ..ir.traced_text import Text
from ..recursion import DeepRecursion
from ..source.definitions import describe
from ..values.layout import Build, layout_of, names_of_arguments, scan
from . import surface  # noqa: F401  it registers what functions do on traced values
from .aliases import Aliases
from .arguments import identifier, traced_leaf, type_of_argument
from .array_subclasses import ArraySubclasses
from .branches import Branches
from .called_back import restore
from .calls import Calls
from .constants import as_known, know_pattern, known_content
from .containers import Containers
from .derived_objects import DerivedObjects
from .expressions import Expressions
from .float_errors import around_a_program
from .folds import Folds
from .for_statements import ForStatements
from .handlers import Handlers
from .identity import Candidates
from .instances import is_array_like, is_instance
from .matching import Matching
from .merging import describe as describe_value
from .numbers import Numbers
from .object_arrays import ObjectArray, as_numbers
from .objects import Objects
from .operators import Operators
from .outside import Outside, Source
from .raising import Ended, Raised
from .recursion import Recursions
from .result_arrays import Make
from .results import Results
from .rows import Rows
from .scopes import UNASSIGNED, UNBOUND, Choice, Conflict, Late
from .slots import Lessons
from .state import Changes
from .statements import StatementsOf
from .steps import Steps
from .surface.memory_order import in_order_of
from .surface.overflow import too_large
from .traced import FUNCTIONS, Array, NeedsConcrete, Scalar, Storage, Trace, Traced
from .uninterpreted import Uninterpreted
from .updates import Itself, Plan
from .ways import MOST


class Interpreter(Branches):
    """Interprets a Python function on traced arguments and records it as typed IR."""

    components: ClassVar[dict[str, type]] = {
        "expressions": Expressions,
        "statements": StatementsOf,
        "handlers": Handlers,
        "loops": ForStatements,
        "folds": Folds,
        "matching": Matching,
        "calls": Calls,
        "operators": Operators,
        "recursive_calls": Recursions,
        "uninterpreted": Uninterpreted,
        "objects": Objects,
        "containers": Containers,
        "arrays": ArraySubclasses,
        "derived": DerivedObjects,
    }
    """The parts of the interpreter.  Each part holds the interpreter as its ``trace``, and reaches the others through it."""

    expressions: Expressions
    statements: StatementsOf
    handlers: Handlers
    loops: ForStatements
    folds: Folds
    matching: Matching
    calls: Calls
    operators: Operators
    recursive_calls: Recursions
    uninterpreted: Uninterpreted
    objects: Objects
    containers: Containers
    arrays: ArraySubclasses
    derived: DerivedObjects

    def __init__(self, is_numbered: bool = False) -> None:
        for name, part in self.components.items():
            setattr(self, name, part(self))
        self.builder = Builder()
        self.changes: list[Changes] = []
        self.made: dict[int, tuple[Any, Any]] = {}
        self.active = []
        self.recursions, self.roomy = {}, {}
        self.tied: dict[int, tuple[Any, str]] = {}
        self.aliases = Aliases(self)
        self.disordered: dict[int, Any] = {}
        self.candidates: dict[int, Candidates] = {}
        self.merged: dict[int, tuple[Any, Value, Any, Any]] = {}
        self.called_back: dict[int, Any] = {}
        # For a test of which of two options a choice is: the number that tells.
        self.tests_of_choices: dict[Value, Any] = {}
        self.seen_outside: dict[int, tuple[Any, Any]] = {}
        self.owners: dict[int, Any] = {}
        self.suspended: list[Any] = []
        self.stops: list[int] = []
        self.scopes, self.guards, self.frames, self.tries = [], [], [], []
        self.tries_around: list[Any] = []  # those around the derivative that is being taken
        self.unrollable: set[Value] = set()
        self.lessons, self.outside = Lessons(), Outside()
        self.failures, self.handled = {}, []
        self.contexts, self.lines, self.memory_policy = {}, {}, None
        self.builder.check = self.check
        self.given_arrays: list[Array] = []
        self.given_objects: dict[int, Any] = {}
        self.hidden_parameters: list[Value] = []
        self.warned: set[str] = set()
        self.axes, self.by_own_rule, self.batches, self.lowered, self.policies = {}, [], [], [], []
        self.filters: list[Any] = []  # those of warnings, before each context that sets some
        self.filter_regions: list[Any] = []
        self.recorded = False  # whether warnings are recorded, and dropped with the record
        self.iterations, self.differentiates = 0, False
        self.numbers = Numbers(self, is_numbered)
        self.new(self.numbers.turns)
        self.varying: frozenset[Any] | None = frozenset()
        self.positions: dict[Value, int] = {}  # the positions of the arguments' leaves, by parameter
        self.called: list[Any] = []
        self.checked, self.known, self.matrices = set(), {}, {}
        self.knows_patterns, self.patterns, self.consulted = False, set(), set()
        self.keys: dict[int, Any] = {}  # dict keys and set elements that cache their hash
        self.may_fork = self.may_choose = self.copies_arguments = False
        self.wanted, self.reached, self.assumed = set(), set(), set()
        self.ways, self.forks, self.steps = None, MOST, Steps()

    def method_of(self, node: ast.AST) -> Callable[[Any], Any]:
        """Return the method that interprets a statement or an expression: ``run_If``, ``eval_Call``."""
        part, name = _SYNTAX.get(type(node), ("statements", "unknown"))
        return getattr(getattr(self, part), name)

    # The interface of ``Trace``

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self.calls.call(function, *args, **kwargs)

    def iterate(self, x: Any) -> Any:
        return self.calls.iterate(x)

    def attribute(self, x: Any, name: str) -> Any:
        return self.objects.attribute(x, name)

    def where(self, line: int | None = None) -> str:
        return self.statements.where(line)

    def value(self, x: Any) -> Value:
        if isinstance(x, Scalar):
            return x.ir
        if isinstance(x, Array):
            present = x.storage.value
            return present if x.view is None else x.view.read(present)
        if isinstance(x, Value):
            return x
        if type_of_argument(x) is not None:
            return self.builder.constant(x)
        if type(x) is Derived or is_known(x):
            return self.value(x.plain if type(x) is Derived else derived_of(x).plain)
        if type(x) is int:
            if self.sees(OverflowError):
                raise BadInput(
                    "an int needs more than 64 bits in a try that catches OverflowError, which Python's ints would not raise; compute "
                    "with floats, or outside of the try"
                )
            raise OverflowError(too_large(self))
        if isinstance(x, (list, tuple)):
            return self.value(FUNCTIONS[np.array](self, x))
        if isinstance(x, (Conflict, Late)) or x is UNBOUND:
            raise BadInput(getattr(x, "text", UNASSIGNED))
        if type(x) is Rows:
            x.refuse()
        if type(x) is Choice:
            raise BadInput(
                f"a number or array is needed, but this is {' or '.join(map(describe_value, x.options))}; test it first"
            )
        if isinstance(x, Text):
            raise BadInput(
                "a number is needed, but this is a string formatted from numbers that are not known while compiling; compute with "
                "the numbers"
            )
        if is_array_like(x):
            return self.value(self.call(np.asarray, x))
        if isinstance(x, ObjectArray):
            return self.value(as_numbers(x))
        raise BadInput(f"a number or an array is needed, but this is a {kind_of(x)}")

    def wrap(self, value: Value) -> Any:
        if value.type.shape:
            return Array(Storage(value))
        return Scalar(value) if known_content(self, value) is None else as_known(self, Scalar(value))

    def write(self, array: Array, value: Value) -> None:
        storage = array.storage
        array.check_writeable("assignment destination is read-only")
        if text := self.aliases.text(storage):
            raise BadInput(text)
        self.aliases.write(storage, array.view, value)

    def concrete(self, x: Any, what: str) -> Any:
        if not isinstance(x, Traced):
            return x
        value = self.value(x)
        found = known_content(self, value) if not value.type.shape else None
        if found is not None:
            return found.item()
        raise NeedsConcrete(value, what)

    def is_parameter(self, value: Value) -> bool:
        return value in self.positions or value in self.hidden_parameters

    def leaves_behind(self, value: Value) -> frozenset[int] | None:
        made_by = self.builder.makers()
        found: set[int] = set()
        waiting, seen = [value], set()
        while waiting:
            v = waiting.pop()
            if v in seen or v.is_constant:
                continue
            seen.add(v)
            if v in self.positions:
                found.add(self.positions[v])
            elif v in made_by:
                op = made_by[v]
                waiting += op.operands
                inner = [p for block in op.blocks for o in walk(block) for b in o.blocks for p in b.parameters]
                defined = {r for block in op.blocks for o in walk(block) for r in o.results}
                defined.update(inner, *(block.parameters for block in op.blocks))
                waiting += [u for block in op.blocks for u in operands(block) if u not in defined]
            else:
                return None
        return frozenset(found)

    def end_with(self, error: BaseException) -> None:
        """End the program with its function's unconditional error; raise it now if no effect comes before it."""
        raised = Raised.of(error)
        has_effect = any(op.may_raise or op.blocks for op in self.builder.out)
        if not has_effect and len(raised.errors) == 1 and next(self.parts(raised.errors[0]), None) is None:
            error = raised.errors[0]
            error.__context__ = self.context_of(error)
            raise raised_at(error, calls_to(self.line_of(error)))
        self.end_if(raised)

    # Inputs from outside

    def hidden(self, x: np.ndarray) -> Array:
        parameter = Value("hidden", type_of_argument(x))
        self.hidden_parameters.append(parameter)
        know_pattern(self, parameter, x)
        made = traced_leaf(parameter, x, not x.flags.writeable)
        made.storage.region = None
        self.given_arrays.append(made)
        return made

    def hidden_number(self, x: Any) -> Scalar:
        self.hidden_parameters.append(Value("hidden", type_of_argument(x)))
        return Scalar(self.hidden_parameters[-1])

    def constant_array(self, x: np.ndarray) -> Any:
        return in_order_of(Array(Storage(self.builder.constant(x))), x)

    def warn(self, text: str) -> None:
        if text not in self.warned:
            self.warned.add(text)
            warnings.warn(text, RuntimeWarning, stacklevel=2)


_SYNTAX: dict[type, tuple[str, str]] = {
    getattr(ast, name.partition("_")[2]): (part, name)
    for part, cls in Interpreter.components.items()
    for name in dir(cls)
    if name.startswith(("run_", "eval_")) and isinstance(getattr(ast, name.partition("_")[2], None), type)
}
"""Which part interprets a kind of syntax node, by which method."""


@dataclass
class Program:
    """A specialised program.

    ``function`` takes ``leaves`` (positions among the leaves of ``(args, kwargs)``, see ``layout``; static ones are
    left out), then the arrays and numbers that ``hidden`` reads.  It returns the numbers and arrays of the result, then
    the new elements of the arrays at the parameter positions in ``written``.
    """

    function: Function
    leaves: list[int]
    hidden: list[Source]
    written: list[int]
    read_only: list[int]  # positions of hidden read-only parameters
    asked: list[int]  # positions of parameters of which the program asks whether they are writeable
    strides: dict[int, tuple[int, ...]]  # of the parameters whose memory order matters
    arrays: list[Make]  # make further arrays from the results and are appended to them
    plan: Plan
    updates: list[tuple[Any, Callable[..., None]]]  # of numbered objects of the caller, or of outside ones
    guards: list[Source]
    knows_objects: bool  # whether the plan or the updates need the caller's containers and objects
    gives_arguments: bool  # whether the result contains arguments, themselves or as views
    may_give_arguments: bool  # whether that depends on a condition
    is_number: bool  # whether the result is one number, not in a container
    differentiates: bool  # whether it contains a derivative
    has_capacity: bool  # whether a list may grow longer than its capacity: see ``growing_lists``
    is_irregular: bool  # whether the result contains a list of traced length or itself, or refuses some derivatives
    outside: dict[int, type]
    """The outside lists, dicts and objects, by id: the program assumes that no argument is one of them."""
    locks: tuple[Any, ...]  # held while it runs, and its changes are made
    batches: tuple[str, ...]  # how each batch is computed
    ranges: dict[int, tuple[int, int]]  # in which ints among the leaves are assumed to lie: see ``assumed_ranges``
    contents: dict[int, np.ndarray]  # which the program assumes of parameters: see ``know_pattern``
    policies: tuple[Any, ...]  # the memory policies of checkpointed calls, with what was chosen for each loop

    def result(self, results: list[Any], parameters: Sequence[Any], objects: Any) -> Any:
        """Build the Python result from the function's results, its parameters, and the caller's numbered objects.

        Also make the program's changes of arguments in the caller's own objects.
        """
        count = len(results) - len(self.written)
        for place, new in zip(self.written, results[count:]):
            parameters[place][...] = new
        if self.arrays:
            del results[count:]
            for make in self.arrays:
                results.append(make(results, parameters))
        made = self.plan(results, parameters, objects)
        for number, update in self.updates:
            update(number.x if isinstance(number, Itself) else objects[number], results, parameters, objects)
        return made

    def is_current(self) -> bool:
        """Whether all guards hold: everything found outside while compiling is still there."""
        return all(guard.holds() for guard in self.guards)


def specialise(
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    static: Collection[int] = (),
    read_only: Collection[int] = (),
    **options: Any,
) -> Program:
    """Return the typed program of ``f(*args, **kwargs)`` for arguments of these types.

    ``static`` lists the positions of leaves of ``(args, kwargs)`` whose values are compile-time constants,
    ``read_only`` those of arrays that cannot be written to: the program raises where it writes to one.  ``options`` are
    set on the trace (``target``: the back end; ``may_fork``: see ``ways``; ``may_choose``: see ``choices``; ``may_grow``: see
    ``growing_lists``; ``steps``: how long it may take; ``leaves_effects``: see ``left_to_python``; ``knows_patterns``).

    Raises:
        NeedsConcrete: a leaf or another number must be known while compiling; it is ``error.value``.
        BadInput: the function cannot be compiled: what, where, and the remedy.
            ``error.wanted``: the options that would have made a difference; ``error.reached``: how many different
            statements and calls have been interpreted.
    """
    trace = Interpreter(options.pop("is_numbered", False))
    vars(trace).update(options)
    try:
        try:
            with around_a_program():
                return _traced(trace, f, args, kwargs, static, read_only)
        finally:
            refusal = restore(trace.seen_outside)
            trace.outside.restore()
            if refusal is not None:
                trace.statements.locate_in(refusal, f)
                raise refusal
    except BadInput as error:
        error.wanted, error.reached = trace.wanted, len(trace.reached)  # type: ignore[attr-defined]
        raise


def _traced(
    trace: Interpreter,
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    static: Collection[int],
    read_only: Collection[int],
) -> Program:
    given = (tuple(args), dict(kwargs))
    originals, _ = scan(given)
    layout = layout_of(given)
    names = names_of_arguments(f, layout)
    parameters = [Value(identifier(n), type_of_argument(x)) for n, x in zip(names, originals)]
    trace.positions = {p: i for i, p in enumerate(parameters)}
    kept = [i for i in range(len(originals)) if i not in static]
    block = Block()
    trace.builder.out = block.operations
    trace.frames.append(block.operations)
    raised, depth = DeepRecursion(8_000), len(Trace.stack)
    ending = [lambda: Trace.stack.__delitem__(slice(depth, None)), raised.end]
    try:
        Trace.stack.append(trace)
        raised.begin()
        for parameter, x in zip(parameters, originals):
            know_pattern(trace, parameter, x)
        leaves = [x if i in static else traced_leaf(parameters[i], x, i in read_only) for i, x in enumerate(originals)]
        building = Build(leaves)
        inside, by_name = building.build(layout)
        trace.outside.take_static(building.fixed)
        for x in building.made.values():
            if isinstance(x, (list, dict)) or is_instance(x):
                trace.new(x)
                trace.given_objects[id(x)] = x
        results = Results(trace, [parameters[i] for i in kept], building.made)
        arrays = [(parameters[i], x) for i, x in enumerate(leaves) if isinstance(x, Array)]
        trace.given_arrays += [x for _, x in arrays]
        for p, x in arrays:
            results.arrays.note_parameter(x, results.place[p])
        try:
            y = trace.call(f, *inside, **by_name)
            for generator in trace.suspended:
                generator.refuse_if_left(trace)
        except Ended:
            y = None
        except MorulaError:
            raise
        except Exception as error:
            y = trace.end_with(error)
        trace.outside.locks.finish()
        results.note_changes(trace.outside.changes(trace))
        hidden = list(trace.outside.inputs.values())
        for i, (_, x) in enumerate(hidden, len(kept)):
            if isinstance(x, Array):
                results.arrays.note_parameter(x, i)
        try:
            plan, updates = results.plan_of_result(y), results.updates()
            made = results.arrays.finish(results.values)
        except BadInput as error:
            trace.statements.locate_in(error, f)
            raise
        written = [(p, x) for p, x in arrays if x.storage.value is not p]
    finally:
        try:
            undo(ending)
        except BaseException:
            undo(ending)
            raise
    of_hidden = zip(trace.hidden_parameters, (x for _, x in hidden))
    of_arrays = [(p, x) for p, x in of_hidden if isinstance(x, Array)]
    written += [(p, x) for p, x in of_arrays if x.storage.value is not p]
    block.results = [*results.values, *(x.storage.value for _, x in written)]
    everything = [*(parameters[i] for i in kept), *trace.hidden_parameters]
    name = getattr(f, "__name__", type(f).__name__)
    with refused(describe(f)):
        function = verify(Function(name, everything, block, getattr(getattr(f, "__code__", None), "co_filename", "")))
    place = {p: i for i, p in enumerate(everything)}
    places = [place[p] for p, _ in written]
    shown = {*places, *results.arrays.shown}
    given = [*((place[p], x, originals[trace.positions[p]]) for p, x in arrays),
             *((i, x, s.found) for i, (s, x) in enumerate(hidden, len(kept)) if isinstance(x, Array))]  # fmt: skip
    trace.outside.loosen(results.constants)
    has_one_memory = not (written or updates or trace.differentiates or trace.outside.compared)
    return Program(
        function,
        kept,
        [source for source, _ in hidden],
        places,
        [len(kept) + i for i, (_, x) in enumerate(hidden) if isinstance(x, Array) and x.storage.is_read_only],
        [place[p] for p, x in (*arrays, *of_arrays) if x.storage.is_asked],
        {i: x.strides for i, array, x in given if array.storage.is_copied or array.storage.is_viewed and i in shown},
        made,
        plan,
        updates,
        list(trace.outside.guards.values()),
        results.knows_objects,
        results.gives_numbers or results.arrays.gives_arguments,
        results.arrays.may_give_arguments,
        isinstance(y, Scalar),
        trace.differentiates,
        trace.has_capacity,
        results.is_irregular or trace.refuses,
        {} if has_one_memory else trace.outside.holders(),
        tuple(trace.outside.locks.found),
        tuple(trace.batches),
        {i: trace.ranges[i] for i in sorted(trace.assumed)},
        {i: trace.known[p] for i, p in enumerate(everything) if p in trace.consulted},
        tuple(trace.policies),
    )
