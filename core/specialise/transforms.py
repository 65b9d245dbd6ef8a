"""Derivatives inside compiled code: what ``grad(f)`` and similar functions do on traced values.

``f`` is interpreted in a region of its own, which becomes a typed function of the differentiated arguments and of the
other values that it reads; ``passes.reverse`` makes its forward and backward sweeps, and both are inlined where
``grad(f)`` was called.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import BadInput, two_arguments
from ..faults import kind_of as name_of_kind
from ..ir.builder import Builder, Shape, text_of_shape
from ..ir.derived import Derived, plain
from ..ir.dynamic import Function, Operation, Value
from ..ir.typed import STACK, custom, type_of
from ..passes.columns import by_rows
from ..passes.custom_derivatives import without_custom
from ..passes.inline import inline
from ..passes.reverse import reverse
from ..passes.side_by_side import products_of_loops
from ..passes.twins import with_twins
from ..source.definitions import describe
from ..source.requirements import check_function, no_pair, no_scalar, out_of_range, result_is_none
from ..values.array_classes import ARRAY, array_in, is_traced_array
from ..values.attributes import WithAttributes, attributes
from ..values.holders import Objects, SparseMatrices, blank, is_engines_own, kind_of
from ..values.items import entries_of, items_of
from ..values.layout import Describe, held_by
from ..values.sparse_patterns import OF_RESULTS, check_same, pattern_of
from .assumed_ranges import with_lengths
from .entered import Entered, Restore
from .functions import LEFT_BEHIND, Captured, constant_for_derivatives
from .instances import held_by_instance, hold
from .merging import describe as describe_value
from .scopes import Choice, Conflict
from .traced import Array, Trace, Traced


class Pull:
    """The pullback of a function that was differentiated in a program."""

    def __init__(self, trace: Any, f: Any, y: Any, active: list[Value], entered: list[Entered]) -> None:
        self.trace, self.f, self.y, self.active, self.entered = trace, f, y, active, entered
        self.saved: list[Value] = []
        self.results: list[tuple[Value, Value]] = []  # of the function, with their values in the program
        self.own: dict[int, Value] = {}  # the function's result by leaf of ``y``: in the program, two may be one value
        self.backward: Function | None = None
        self.is_linear = True  # whether no pullback of the user's own is part of it

    def __morula_trace__(self, trace: Trace, dy: Any) -> tuple[Any, ...]:
        return self.pull(dy)

    def __call__(self, dy: Any) -> tuple[Any, ...]:
        return self.pull(dy)

    def pull(self, dy: Any) -> tuple[Any, ...]:
        """Return the arguments' cotangents for the result's cotangent, which has the result's structure."""
        builder = self.trace.builder
        seeds: dict[Value, Value] = {}
        self.seed(self.y, dy, seeds)
        inexact = [(own, v) for own, v in self.results if v.type is STACK or v.type.is_inexact]
        given = [seeds.get(own) or builder.zeros(v.type.shape, v.type.dtype) for own, v in inexact]
        assert self.backward is not None
        found = iter(inline(builder, self.backward, [*self.saved, *given]))
        return tuple(x.gradient([next(found) for _ in x.parameters]) for x in self.entered)

    def seed(self, y: Any, dy: Any, seeds: dict[Value, Value]) -> None:
        """Note the cotangents of the result's leaves."""
        if dy is None:
            return
        if y is None:
            raise result_is_none()
        y = plain(y)
        if is_traced_array(y):
            y, dy = array_in(y), self.trace.arrays.plain(dy)
        if isinstance(y, Conflict):
            y.refuse()
        if type(y) is Choice:
            if type(dy) is not Choice:
                kinds = " or ".join(map(describe_value, y.options))
                raise BadInput(
                    f"the result is {kinds}, depending on a condition that is not known while compiling, so its cotangent is "
                    "ambiguous; return one kind of value"
                )
            y, dy = y.options, dy.options
        if type(y) is WithAttributes:
            self.seed(y.container, dy, seeds)
            y, dy = SimpleNamespace(**y.attributes), SimpleNamespace(**dict(attributes(dy)))
        if isinstance(y, (list, tuple)):
            if not isinstance(dy, (list, tuple)) or len(dy) != len(y):
                raise BadInput(f"the result is a {type(y).__name__} of length {len(y)}; its cotangent must be one too")
            for e, de in zip(y, dy):
                self.seed(e, de, seeds)
        elif isinstance(y, dict):
            if not isinstance(dy, dict) or not set(dy) <= set(y):
                raise BadInput(
                    f"the result is a dict with keys {sorted(map(str, y))}; its cotangent must be a dict with keys among these"
                )
            for key, de in dy.items():
                self.seed(y[key], de, seeds)
        elif type(y) is SimpleNamespace:
            given_parts = dy if isinstance(dy, dict) else dict(attributes(dy))
            if isinstance(kind_of(type(dy)), SparseMatrices):
                self.trace.call(check_same, pattern_of(vars(y)), pattern_of(given_parts), OF_RESULTS)
            for name, e in vars(y).items():
                self.seed(e, given_parts.get(name), seeds)
        elif isinstance(y, Traced) and y.type.is_inexact:
            value, builder = self.own[id(y)], self.trace.builder
            g = self.trace.value(dy)
            g = builder.cast(_of_shape(builder, g, y.type.shape), y.type.dtype)
            seeds[value] = builder.ufunc(np.add, seeds[value], g) if value in seeds else g
        elif not isinstance(y, Traced) and kind_of(type(y)) is not None and not is_engines_own(type(y)):
            raise BadInput(
                f"the result is a {type(y).__name__}, which has no cotangent in compiled code; return its contents as a list or tuple"
            )


def _of_shape(builder: Builder, g: Value, shape: Shape) -> Value:
    """Return a cotangent with its result's shape; lengths known only at run time are compared when the program runs."""
    if g.type.shape == shape:
        return g
    pairs = list(zip(shape, g.type.shape))
    if g.type.ndim != len(shape) or any(isinstance(n, int) and isinstance(m, int) and n != m for n, m in pairs):
        shapes = text_of_shape(shape), text_of_shape(g.type.shape)
        raise BadInput("the result has shape {}, but its cotangent has shape {}".format(*shapes))
    for n, m in pairs:
        if n != m:
            builder.same_length(n, m)
    return builder.getitem(g, [builder.constant(0, np.int64)] * len(shape), (("s", 1),) * len(shape), list(shape))


class OfOneArgument:
    """The pullback of a function that was differentiated with respect to one argument: a cotangent in, a cotangent out."""

    def __init__(self, back: Pull) -> None:
        self.back = back

    def __morula_trace__(self, trace: Trace, dy: Any) -> Any:
        return self.back.pull(dy)[0]

    def __call__(self, dy: Any) -> Any:
        return self.back.pull(dy)[0]


def differentiated(
    trace: Any,
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    chosen: Sequence[int],
    aux: bool = False,
    integers: bool = True,
) -> tuple[Any, Pull]:
    """Return the value of ``f(*args, **kwargs)`` in a program, and its pullback to the chosen arguments.

    With ``aux`` the result is a pair whose second part is not differentiated.  Without ``integers`` Python ints in the
    arguments are not differentiated: they remain ints.
    """
    run = Run(trace, f, args, kwargs, chosen, aux, [integers] * len(chosen), is_reverse=True)
    made = run.made
    trace.differentiates = True
    function = by_rows(products_of_loops(made.function, trace.target, trace.is_strong))
    function = with_twins(function) if trace.target == "native" else function
    sweeps = reverse(
        with_lengths(trace, function, [*run.arguments, *made.free]),
        run.active,
        trace.target,
        trace.is_strong,
        trace.level > 0,
    )

    forward, backward = (without_custom(f, run.is_over) for f in (sweeps.forward, sweeps.backward))
    found = inline(trace.builder, forward, [*run.arguments, *made.free])
    count = len(made.results)
    own = {id(leaf): value for leaf, value in zip(traced_leaves(made.outcome[1]), made.asked, strict=True)}  # type: ignore[index]
    y = run.result(found[:count])
    pull = Pull(trace, f, run.shown, run.parameters, run.entered)
    pull.is_linear = run.is_linear
    pull.results, pull.own = list(zip(made.results, found[:count])), own
    pull.saved, pull.backward = found[count:], backward
    return y, pull


class Run:
    """A call of a function that is differentiated, traced into a function of its own (``made``)."""

    def __init__(
        self,
        trace: Any,
        f: Callable[..., Any],
        args: Sequence[Any],
        kwargs: dict[str, Any],
        chosen: Sequence[int],
        aux: bool = False,
        integers: Sequence[bool | Sequence[bool]] = (),
        order: int = 0,
        is_reverse: bool = False,
    ) -> None:
        """``integers``: for each chosen argument, whether ints are differentiated, or whether each of them is.

        ``order`` is that of a Taylor series, else 0. ``is_reverse`` tells of reverse mode.
        """
        check_function(f)
        self.trace = trace
        self.entered = entered = [Entered(trace, args[i], of_ints) for i, of_ints in zip(chosen, integers)]
        _refuse_one_holder_for_two(entered)
        self.parameters = [p for e in entered for p in e.parameters]
        self.own: dict[int, Any] = {}
        by_hand = trace.by_hand

        def run() -> tuple[list[Value], Any]:
            given = list(args)
            only_reverse = trace.only_reverse
            trace.only_reverse = is_reverse and (only_reverse or not trace.level)
            trace.level += 1
            outer, trace.taylor_order = trace.taylor_order, order
            around, trace.tries_around = trace.tries_around, list(trace.tries)
            try:
                for i, e in zip(chosen, entered):
                    given[i] = e.enter()
                    self.own.update(e.originals)
                y = trace.call(f, *given, **kwargs)
                _refuse_cycles(y, {})
                y = _without_views(trace, y)
                if aux and isinstance(y, tuple) and len(y) == 2:
                    y = (y[0], _constant(trace, y[1], self.own))
                shown = _shown(y)
                written = [pair for e in entered for pair in e.changed()]
            finally:
                trace.level -= 1
                trace.only_reverse = only_reverse
                trace.taylor_order = outer
                trace.tries_around = around
                for e in entered:
                    e.leave(Restore(self.own))
            asked = [trace.value(x) for x in traced_leaves(shown)]
            return asked, (y, shown, written)

        self.made = made = Captured(trace, getattr(f, "__name__", "f"), self.parameters, run)
        self.arguments = [v for e in entered for v in e.values()]
        self.active = [True] * len(self.parameters) + [False] * len(made.free)
        if made.raises:
            made.settle(inline(trace.builder, made.function, [*self.arguments, *made.free]))
        self.is_linear = trace.by_hand == by_hand  # whether no pullback of the user's own is part of it

    def is_over(self, op: Operation) -> bool:
        """Whether a derivative given by hand was for this derivative; those around it differentiate the plain values."""
        by_level = op.callee is custom and "level" in op.named
        return _is_left_behind(op) or by_level and op.named["level"].constant > self.trace.level

    def result(self, values: Sequence[Value]) -> Any:
        """Return the result, with these values of the results of the traced function."""
        self.settle(values)
        return self.restored()

    def restored(self) -> Any:
        """Return the result with the arguments' own arrays and holders in place of their replacements."""
        return Restore(self.own)(self.y)

    def settle(self, values: Sequence[Value]) -> None:
        """Use these values: ``y`` is the result then, with the arguments' replacements, and ``shown`` its structure."""
        trace = self.trace
        self.made.settle(values)
        self.y, self.shown, written = self.made.outcome  # type: ignore[misc]
        _put_back(trace, written)
        for one in trace.candidates.values():
            one.restore(self.own)


def _refuse_one_holder_for_two(entered: list[Entered]) -> None:
    held: set[int] = set()
    for e in entered:
        for x in e.holders:
            if id(x) in held and e.parameters:
                raise two_arguments(x)
        held.update(map(id, e.holders))


def _put_back(trace: Any, written: list[tuple[Array, Any]]) -> None:
    """Write the elements that the function has left in the replacements to the program's own arrays."""
    for x, original in written:
        if isinstance(original, Array):
            trace.write(original, trace.value(x))
        else:
            trace.call(np.copyto, original, x)


def _shown(y: Any, objects: dict[int, Any] | None = None) -> Any:
    """Return a result with new containers and the same entries, and with namespaces in place of objects."""
    objects = {} if objects is None else objects
    if type(y) is Choice:
        return Choice(y.which, [_shown(o, objects) for o in y.options])
    if type(y) is Derived:
        return y.plain
    if isinstance(y, (tuple, list, dict)) and type(y) not in (tuple, list, dict) and (named := attributes(y)):
        if id(y) not in objects:
            objects[id(y)] = shown = WithAttributes({} if isinstance(y, dict) else [], {})
            if isinstance(y, dict):
                shown.container.update((k, _shown(e, objects)) for k, e in entries_of(y))
            else:
                shown.container.extend(_shown(e, objects) for e in items_of(y))
            shown.attributes.update((name, _shown(e, objects)) for name, e in named)
        return objects[id(y)]
    if isinstance(y, tuple):
        return getattr(y, "_make", type(y))([_shown(e, objects) for e in y])
    if isinstance(y, list):
        return [_shown(e, objects) for e in y]
    if isinstance(y, dict):
        return {k: _shown(e, objects) for k, e in y.items()}
    if isinstance(y, Traced) or not isinstance(kind_of(type(y)), Objects) or is_engines_own(type(y)):
        return y
    if id(y) not in objects:
        objects[id(y)] = made = SimpleNamespace()
        vars(made).update((name, _shown(e, objects)) for name, e in attributes(y))
    return objects[id(y)]


def _refuse_cycles(y: Any, within: dict[int, bool]) -> None:
    """Refuse containers that contain themselves, not through an object: they have no finite tree of cotangents.

    ``within`` tells of each container that was visited whether its contents are being visited.
    """
    if isinstance(y, Traced) or within.get(id(y)) is False or isinstance(kind_of(type(y)), Objects):
        return
    if id(y) in within:
        raise BadInput(
            f"the result of a differentiated function contains a {name_of_kind(y)} that contains itself, so compiled code cannot "
            "give its cotangent; return the numbers"
        )
    held = (0, y.options) if type(y) is Choice else held_by(y)
    if held is not None:
        within[id(y)] = True
        for part in held[1]:
            _refuse_cycles(part, within)
        within[id(y)] = False


def traced_leaves(y: Any) -> list[Any]:
    found = Describe(Traced)
    found.describe(_with_options(y))
    return [x for x in found.leaves if isinstance(x, Traced)]


def _with_options(y: Any) -> Any:
    """Return a result with tuples of all options in the place of choices."""
    if type(y) is Choice:
        return (y.which, *map(_with_options, y.options))
    if type(y) is Derived:
        return y.plain, _with_options(y.held)
    if isinstance(y, (tuple, list)):
        return tuple(map(_with_options, y))
    return {k: _with_options(e) for k, e in y.items()} if isinstance(y, dict) else y


def _without_views(trace: Any, y: Any) -> Any:
    """Return a result in which views are copied to arrays of their own."""
    if type(y) is Choice:
        return Choice(y.which, [_without_views(trace, o) for o in y.options])
    if isinstance(y, Array) and y.view is not None:
        return trace.wrap(trace.value(y))
    if is_traced_array(y) and array_in(y).view is not None:
        made = blank(type(y))
        hold(made, {**held_by_instance(y), ARRAY: _without_views(trace, array_in(y))})
        return trace.new(made)
    if isinstance(y, tuple):
        parts = [_without_views(trace, e) for e in y]
        return y if all(a is b for a, b in zip(parts, y)) else getattr(y, "_make", type(y))(parts)
    is_sparse = not isinstance(y, Traced) and isinstance(kind_of(type(y)), SparseMatrices)
    if isinstance(y, (list, dict)) or is_sparse:
        entries: Any = vars(y) if is_sparse else y
        for k, e in list(enumerate(entries) if isinstance(entries, list) else entries.items()):
            if _without_views(trace, e) is not e:
                entries[k] = _without_views(trace, e)
    return y


def _constant(trace: Any, x: Any, own: dict[int, Any]) -> Any:
    """Return x with zero derivatives; the arguments' own arrays are kept."""
    if isinstance(x, Traced):
        if id(x) in own or not x.type.is_inexact:
            return x
        return trace.wrap(constant_for_derivatives(trace.builder, trace.value(x), LEFT_BEHIND))
    if isinstance(x, tuple):
        return getattr(x, "_make", type(x))([_constant(trace, e, own) for e in x])
    if type(x) is Choice:
        return Choice(x.which, [_constant(trace, o, own) for o in x.options])
    if type(x) is Derived:
        return Derived(x.cls, *(_constant(trace, e, own) for e in (x.plain, x.held)))
    if isinstance(x, list):
        return trace.new([_constant(trace, e, own) for e in x])
    return trace.new({k: _constant(trace, e, own) for k, e in x.items()}) if type(x) is dict else x


# What users call


def trace_pullback(trace: Any, f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Pull]:
    return differentiated(trace, f, args, kwargs, range(len(args)))


def trace_pullback_of_inexact(trace: Any, f: Callable[..., Any], given: Any) -> tuple[Any, Pull]:
    return differentiated(trace, f, (given,), {}, (0,), integers=False)


def trace_gradient(trace: Any, f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    y, back = differentiated(trace, f, args, kwargs, range(len(args)))
    return back.pull(scalar_and_unit(trace, f, y)[1])


def trace_value_and_grad(
    trace: Any, f: Callable[..., Any], argnums: Sequence[int], has_aux: bool, args: Any, kwargs: Any
) -> tuple[Any, tuple[Any, ...]]:
    """Return the value, and the gradients with respect to the arguments at some positions."""
    y, back = differentiated(trace, f, args, kwargs, positions(trace, f, argnums, args), has_aux)
    if not has_aux:
        y, dy = scalar_and_unit(trace, f, y)
        return y, back.pull(dy)
    if not isinstance(y, tuple) or len(y) != 2:
        raise no_pair(f, y)
    value, dy = scalar_and_unit(trace, f, y[0])
    return (value, y[1]), back.pull((dy, None))


def positions(trace: Any, f: Any, argnums: Sequence[int], args: Any) -> list[int]:
    for i in argnums:
        if not -len(args) <= i < len(args):
            raise out_of_range(f, i, args)
        if not Entered(trace, args[i]).is_active:
            raise BadInput(
                f"argument {i} of {describe(f)} has no derivative; differentiate with respect to floats, complex numbers, "
                "inexact arrays, or containers and objects that hold them"
            )
    return [i % len(args) for i in argnums]


def scalar_and_unit(trace: Any, f: Any, y: Any) -> tuple[Any, Any]:
    """Return the real scalar that f returns, and the cotangent 1 of it; where f returns something else, raise."""
    if type(y) is not Choice:
        return y, unit(trace, f, y)
    units: dict[int, Any] = {}
    errors: dict[int, BadInput] = {}
    for place, option in enumerate(y.options):
        try:
            units[place] = unit(trace, f, option)
        except BadInput as error:
            errors[place] = error
    if len(units) != 1:
        raise next(iter(errors.values()), no_scalar(f, y))
    ((scalar, dy),) = units.items()
    for place, error in errors.items():
        is_it = trace.call(operator.eq, y.which, place)
        trace.builder.raise_if(trace.value(is_it), BadInput, str(error))
    return y.options[scalar], Choice(scalar, [dy if i == scalar else None for i in range(len(y.options))])


def unit(trace: Any, f: Any, y: Any) -> Any:
    """Return the cotangent 1 of a real scalar."""
    y = array_in(y) if is_traced_array(y) else plain(y)
    kind = y.type if isinstance(y, Traced) else type_of(y) if isinstance(y, (int, float, complex, np.generic)) else None
    if isinstance(y, Conflict):
        missing = "; is a `return` missing at its end?" if "None" in y.text else ""
        raise BadInput(f"{describe(f)} returns values of different kinds: {y.text}{missing}")
    if kind is None:
        raise no_scalar(f, y)
    if kind.dtype.kind == "c":
        raise BadInput(
            f"{describe(f)} returned a complex number, but a gradient needs a real one; return its abs, .real or .imag, or use "
            "morula.pullback with a complex cotangent"
        )
    if kind.shape or kind.dtype.kind == "b":
        raise no_scalar(f, np.empty((), kind.dtype), f" of shape {text_of_shape(kind.shape)}")
    return trace.wrap(trace.builder.constant(1, kind.dtype))


def _is_left_behind(op: Operation) -> bool:
    return op.callee is custom and op.named["backward"].constant.name == LEFT_BEHIND
