"""Derivatives inside of compiled code: what ``grad(f)`` and its kin do on traced values.

``f`` is interpreted in a region of its own, which becomes a typed function of what is differentiated and of all else that it
reads; ``reverse_typed`` makes its two sweeps, and both are written where ``grad(f)`` was called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .builder import text_of_shape
from .callbacks import type_of
from .columns import by_rows
from .errors import BadInput
from .inline import Copy, inline
from .ir import Block, Function, Value, walk
from .layout import Again, Build, Describe, Fixed, Holder, Hole, Layout
from .pullback import check_function, no_pair, no_scalar, nothing_returned, result_is_none
from .reverse_typed import reverse
from .side_by_side import products_of_loops
from .source import describe
from .specialise.functions import Captured, constant_for_derivatives
from .tape import attributes
from .traced import Array, Scalar, Storage, Trace, Traced
from .typed import FLOAT, STACK, ArrayType, custom


class Entered:
    """A differentiated argument: its leaves, and those that stand for them while the function runs."""

    def __init__(self, trace: Trace, x: Any) -> None:
        self.trace, self.x = trace, x
        found = Describe(Traced, shared=(Array, np.ndarray))
        self.layout, self.leaves, self.holders = found.describe(x), found.leaves, found.objects
        self.types = [differentiable(leaf) for leaf in self.leaves]
        self.parameters = [Value("x", t) for t in self.types if t is not None]
        self.originals: dict[int, Any] = {}  # the program's own array or holder, by identity of what stands for it
        self.fresh: list[Any] = []
        self.objects: list[tuple[Any, Any, Any]] = []

    @property
    def is_active(self) -> bool:
        return bool(self.parameters) or isinstance(self.layout, Holder) and not self.layout.parts

    def values(self) -> list[Value]:
        """The parameters' values in the program."""
        builder, found = self.trace.builder, []
        for leaf, kind in zip(self.leaves, self.types):
            if kind is not None:
                value = self.trace.value(leaf)
                found.append(value if value.type.dtype == kind.dtype else builder.cast(value, kind.dtype))
        return found

    def enter(self) -> Any:
        """The argument that the function is called with."""
        given = iter(self.parameters)
        for leaf, kind in zip(self.leaves, self.types):
            if kind is None:
                self.fresh.append(leaf)
            elif isinstance(leaf, (Array, np.ndarray)):
                self.fresh.append(Array(Storage(next(given))))
                self.originals[id(self.fresh[-1])] = leaf
            else:
                self.fresh.append(Scalar(next(given)))
        build = Build(self.fresh)
        made = build.build(self.layout)
        for number, x in build.made.items():
            self.trace.new(x)  # type: ignore[attr-defined]
            self.originals[id(x)] = self.holders[number]
            self.objects.append((x, self.holders[number], _content(x)))
        return made

    def changed(self) -> tuple[list[tuple[Array, Any]], list[tuple[Any, dict[Any, Any]]]]:
        """The fresh arrays that were written to, with the program's own; its holders, with what they should hold."""
        arrays = [x for x in self.fresh if isinstance(x, Array) and id(x) in self.originals]
        written = [x for x in arrays if x.storage.value not in self.parameters]
        for x in written:
            if sum(self.originals[id(x)] is self.originals[id(other)] for other in arrays) > 1:
                raise BadInput("the function writes into an array that is given to it twice; give it separate copies")
        holders = []
        for x, original, before in self.objects:
            after = _content(x)
            if list(after) != list(before) or any(after[k] is not before[k] for k in after):
                holders.append((original, after))
        return [(x, self.originals[id(x)]) for x in written], holders

    def gradient(self, cotangents: Sequence[Value]) -> Any:
        given = iter(cotangents)
        leaves = [None if kind is None else self.trace.wrap(next(given)) for kind in self.types]
        return _Gradient(leaves, self.trace).build(self.layout)


class _Gradient(Build):
    """Cotangents in the structure of an argument: None for what has none, objects of the same class."""

    def __init__(self, leaves: Sequence[Any], trace: Any) -> None:
        super().__init__(leaves)
        self.trace = trace

    def build(self, layout: Layout) -> Any:
        if isinstance(layout, Fixed):
            return None
        if isinstance(layout, (Hole, Again)):
            return super().build(layout)
        if isinstance(layout.names, tuple) or issubclass(layout.kind, (list, tuple)):
            return self.trace.new(super().build(layout))
        return None  # a bound method


def differentiable(x: Any) -> ArrayType | None:
    """The type of a leaf as it is differentiated: a Python int as a float; None for what has no derivative."""
    kind = x.type if isinstance(x, Traced) else type_of(x)
    if kind.is_inexact:
        return kind
    return FLOAT if kind.weak and kind.dtype.kind == "i" else None


def _content(x: Any) -> dict[Any, Any]:
    if isinstance(x, (list, tuple)):
        return dict(enumerate(x))
    return dict(x) if isinstance(x, dict) else dict(attributes(x))


class Restore:
    """The program's own arrays and holders in place of those that stood for them, in whatever was made meanwhile."""

    def __init__(self, originals: dict[int, Any]) -> None:
        self.originals = originals
        self.seen: set[int] = set()

    def __call__(self, x: Any) -> Any:
        if id(x) in self.originals:
            return self.originals[id(x)]
        if isinstance(x, tuple):
            parts = [self(e) for e in x]
            same = all(a is b for a, b in zip(parts, x))
            return x if same else getattr(x, "_make", type(x))(parts)
        if id(x) not in self.seen:
            self.seen.add(id(x))
            if isinstance(x, (list, dict)):
                for k, e in list(enumerate(x) if isinstance(x, list) else x.items()):
                    if self(e) is not e:
                        x[k] = self(e)
        return x


class Pull:
    """The pullback of a function that was differentiated in a program."""

    def __init__(self, trace: Trace, f: Any, y: Any, active: list[Value], entered: list[Entered]) -> None:
        self.trace, self.f, self.y, self.active, self.entered = trace, f, y, active, entered
        self.saved: list[Value] = []
        self.results: list[Value] = []  # as they are in the program
        self.backward: Function | None = None

    def __morula_trace__(self, trace: Trace, dy: Any) -> tuple[Any, ...]:
        return self.pull(dy)

    def __call__(self, dy: Any) -> tuple[Any, ...]:
        return self.pull(dy)

    def pull(self, dy: Any) -> tuple[Any, ...]:
        """The cotangents of the arguments for that of the result, a structure like it."""
        builder = self.trace.builder
        seeds: dict[Value, Value] = {}
        self.seed(self.y, dy, seeds)
        inexact = [v for v in self.results if v.type is STACK or v.type.is_inexact]
        given = [seeds.get(v) or builder.zeros(v.type.shape, v.type.dtype) for v in inexact]
        assert self.backward is not None
        found = iter(inline(builder, self.backward, [*self.saved, *given]))
        return tuple(x.gradient([next(found) for _ in x.parameters]) for x in self.entered)

    def seed(self, y: Any, dy: Any, seeds: dict[Value, Value]) -> None:
        """Note the cotangents of the result's leaves."""
        if dy is None:
            return
        if y is None:
            raise result_is_none()
        if isinstance(y, (list, tuple)):
            if not isinstance(dy, (list, tuple)) or len(dy) != len(y):
                raise BadInput(f"the result is a {type(y).__name__} of {len(y)}; its cotangent must be one too")
            for e, de in zip(y, dy):
                self.seed(e, de, seeds)
        elif isinstance(y, dict):
            if not isinstance(dy, dict) or not set(dy) <= set(y):
                raise BadInput(f"the result is a dict with keys {sorted(map(str, y))}; its cotangent must be too")
            for key, de in dy.items():
                self.seed(y[key], de, seeds)
        elif isinstance(y, Traced) and y.type.is_inexact:
            value, builder = self.trace.value(y), self.trace.builder
            g = self.trace.value(dy)
            if g.type.shape != y.type.shape:
                shapes = text_of_shape(y.type.shape), text_of_shape(g.type.shape)
                raise BadInput("the result has shape {}, but its cotangent has shape {}".format(*shapes))
            g = builder.cast(g, y.type.dtype)
            seeds[value] = builder.ufunc(np.add, seeds[value], g) if value in seeds else g


def differentiated(
    trace: Any,
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    chosen: Sequence[int],
    aux: bool = False,
) -> tuple[Any, Pull]:
    """The value of ``f(*args, **kwargs)`` in a program and its pullback to the chosen arguments.

    With ``aux`` the result is a pair, through whose second part no cotangent passes.
    """
    check_function(f)
    entered = [Entered(trace, args[i]) for i in chosen]
    parameters = [p for e in entered for p in e.parameters]
    own: dict[int, Any] = {}

    def run() -> tuple[list[Value], Any]:
        given = list(args)
        for i, e in zip(chosen, entered):
            given[i] = e.enter()
            own.update(e.originals)
        trace.level += 1
        try:
            y = trace.call(f, *given, **kwargs)
        finally:
            trace.level -= 1
        y = _without_views(trace, y)
        if aux and isinstance(y, tuple) and len(y) == 2:
            y = (y[0], _constant(trace, y[1], own))
        changes = [e.changed() for e in entered]
        asked = [trace.value(x) for x in _leaves(y)]
        return asked, (y, changes)

    made = Captured(trace, getattr(f, "__name__", "f"), parameters, run)
    arguments = [v for e in entered for v in e.values()]
    if made.raises:
        made.settle(inline(trace.builder, made.function, [*arguments, *made.free]))
    trace.differentiates = True
    sweeps = reverse(
        by_rows(products_of_loops(made.function)),
        [True] * len(parameters) + [False] * len(made.free),
        trace.target,
        trace.is_strong,
        trace.level > 0,
    )
    found = inline(trace.builder, sweeps.forward, [*arguments, *made.free])
    count = len(made.results)
    made.settle(found[:count])
    y, changes = made.outcome  # type: ignore[misc]
    restore = Restore(own)
    _put_back(trace, changes, restore)
    pull = Pull(trace, f, y, parameters, entered)
    pull.results, pull.saved, pull.backward = found[:count], found[count:], sweeps.backward
    return restore(y), pull


def _put_back(trace: Any, changes: list[Any], restore: Restore) -> None:
    """Let the program's own arrays and holders be as the function has left those that stood for them."""
    for arrays, holders in changes:
        for x, original in arrays:
            if isinstance(original, Array):
                trace.write(original, trace.value(x))
            else:
                trace.call(np.copyto, original, x)
        for original, after in holders:
            trace.touch(original)
            after = {k: restore(e) for k, e in after.items()}
            if isinstance(original, list):
                original[:] = after.values()
            elif isinstance(original, dict):
                original.clear()
                original.update(after)
            else:
                for name in [n for n, _ in attributes(original) if n not in after]:
                    object.__delattr__(original, name)
                for name, e in after.items():
                    object.__setattr__(original, name, e)


def _leaves(y: Any) -> list[Any]:
    found = Describe(Traced)
    found.describe(y)
    return [x for x in found.leaves if isinstance(x, Traced)]


def _without_views(trace: Any, y: Any) -> Any:
    """A result in which views of arrays are arrays of their own."""
    if isinstance(y, Array) and y.view is not None:
        return trace.wrap(trace.value(y))
    if isinstance(y, tuple):
        parts = [_without_views(trace, e) for e in y]
        return y if all(a is b for a, b in zip(parts, y)) else getattr(y, "_make", type(y))(parts)
    if isinstance(y, (list, dict)):
        for k, e in list(enumerate(y) if isinstance(y, list) else y.items()):
            if _without_views(trace, e) is not e:
                y[k] = _without_views(trace, e)
    return y


def _constant(trace: Any, x: Any, own: dict[int, Any]) -> Any:
    """x with numbers and arrays through which no cotangent passes; the arguments' own stay."""
    if isinstance(x, Traced):
        if id(x) in own or not x.type.is_inexact:
            return x
        return trace.wrap(constant_for_derivatives(trace.builder, trace.value(x)))
    if isinstance(x, tuple):
        return getattr(x, "_make", type(x))([_constant(trace, e, own) for e in x])
    if isinstance(x, list):
        return trace.new([_constant(trace, e, own) for e in x])
    return trace.new({k: _constant(trace, e, own) for k, e in x.items()}) if type(x) is dict else x


# What users call


def trace_pullback(trace: Any, f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Pull]:
    return differentiated(trace, f, args, kwargs, range(len(args)))


def trace_gradient(trace: Any, f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, ...]:
    y, back = differentiated(trace, f, args, kwargs, range(len(args)))
    return back.pull(unit(trace, f, y))


def trace_value_and_grad(
    trace: Any, f: Callable[..., Any], argnums: Sequence[int], has_aux: bool, args: Any, kwargs: Any
) -> tuple[Any, tuple[Any, ...]]:
    """The value, and the gradients with respect to arguments at some positions."""
    y, back = differentiated(trace, f, args, kwargs, positions(trace, f, argnums, args), has_aux)
    if not has_aux:
        return y, back.pull(unit(trace, f, y))
    if not isinstance(y, tuple) or len(y) != 2:
        raise no_pair(f, y)
    return y, back.pull((unit(trace, f, y[0]), None))


def positions(trace: Any, f: Any, argnums: Sequence[int], args: Any) -> list[int]:
    for i in argnums:
        if not -len(args) <= i < len(args):
            raise BadInput(
                f"argnums {i} is out of range: {describe(f)} was called with {len(args)} positional argument(s)"
            )
        if not Entered(trace, args[i]).is_active:
            raise BadInput(
                f"argument {i} of {describe(f)} has no derivative; differentiate with respect to floats, complex numbers, "
                "inexact arrays, or containers and objects that hold them"
            )
    return [i % len(args) for i in argnums]


def unit(trace: Any, f: Any, y: Any) -> Any:
    """The cotangent 1 of a real scalar."""
    kind = y.type if isinstance(y, Traced) else type_of(y) if isinstance(y, (int, float, complex, np.generic)) else None
    if kind is None:
        raise no_scalar(f, y)
    if kind.dtype.kind == "c":
        raise BadInput(
            f"{describe(f)} returned a complex number; a gradient needs a real one: take abs, .real or .imag, or use "
            "morula.pullback with a complex cotangent"
        )
    if kind.shape or kind.dtype.kind == "b":
        raise no_scalar(f, np.empty((), kind.dtype), f" of shape {text_of_shape(kind.shape)}")
    return trace.wrap(trace.builder.constant(1, kind.dtype))


def trace_jacobian(trace: Any, f: Callable[..., Any], argnums: int, args: Any, kwargs: Any) -> Any:
    """For each leaf of the result an array of its shape, then that of the argument."""
    (position,) = positions(trace, f, (argnums,), args)
    (kind,) = (
        Entered(trace, args[position]).types
        if isinstance(args[position], (Traced, float, np.floating, np.ndarray))
        else (None,)
    )
    if kind is None or kind.dtype.kind != "f":
        raise BadInput(
            f"jacobian needs a real number or array as argument {position}; use morula.pullback, or gather the parameters in "
            "one array"
        )
    y, back = differentiated(trace, f, args, kwargs, (position,))
    if y is None:
        raise nothing_returned(f)
    return _rows(trace, back, y, kind, lambda dy: dy)


def _rows(trace: Any, back: Pull, y: Any, x: ArrayType, whole: Callable[[Any], Any]) -> Any:
    """The Jacobian of one leaf of the result, or of each in a structure; ``whole`` puts a leaf's cotangent in its place."""
    if isinstance(y, (list, tuple)):
        none = [None] * len(y)
        rows = [
            _rows(trace, back, e, x, lambda dy, i=i: whole([*none[:i], dy, *none[i + 1 :]])) for i, e in enumerate(y)
        ]
        return trace.new(rows) if isinstance(y, list) else tuple(rows)
    if isinstance(y, dict):
        return trace.new({k: _rows(trace, back, e, x, lambda dy, k=k: whole({k: dy})) for k, e in y.items()})
    builder = trace.builder
    kind = trace.value(y).type
    if kind.dtype.kind == "c":
        raise BadInput("jacobian needs a real output; split it into .real and .imag, or use morula.pullback")
    if not kind.shape:
        return back.pull(whole(trace.wrap(builder.constant(1, kind.dtype))))[0]
    if not kind.is_static or not x.is_static:
        raise BadInput("jacobian needs arrays whose shapes are known while compiling")
    n = int(np.prod(kind.shape))
    constant = [builder.constant(i, np.int64) for i in (0, n, 1)]

    def row(i: Value, rows: Value) -> list[Value]:
        dy = builder.setitem(builder.zeros((n,), kind.dtype), [i], builder.constant(1, kind.dtype), ("i",))
        dx = trace.value(back.pull(whole(trace.wrap(builder.reshape(dy, kind.shape))))[0])
        return [builder.setitem(rows, [i], dx, ("i", *(":",) * dx.type.ndim))]

    (rows,) = builder.range_(constant[0], constant[1], constant[2], row, [builder.zeros((n, *x.shape), x.dtype)])
    return trace.wrap(builder.reshape(rows, (*kind.shape, *x.shape)))


def without_custom(function: Function) -> Function:
    """The function with the derivatives that were given by hand left out: what is not differentiated needs none."""
    if not any(op.callee is custom for op in walk(function.block)):
        return function
    copy = _WithoutCustom()
    parameters = [copy.define(v) for v in function.parameters]
    return Function(function.name, parameters, copy.block(function.block), function.filename)


class _WithoutCustom(Copy):
    def block(self, block: Block) -> Block:
        parameters = [self.define(v) for v in block.parameters]
        operations = []
        for op in block.operations:
            if op.callee is custom:
                self.known.update((r, self.value(y)) for r, y in zip(op.results, op.operands))
            else:
                operations.append(self.operation(op))
        return Block(parameters, operations, [self.value(v) for v in block.results])
