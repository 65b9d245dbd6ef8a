"""Forward and Taylor mode inside compiled code: ``jvp(f, primals, tangents)`` and ``taylor`` on traced values.

As for ``transforms``, f becomes a typed function of its own; ``passes.forward`` adds the computation of tangents to it, or
``passes.taylor`` that of series, and the result is inlined where ``jvp`` was called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.derived import plain
from ..ir.dynamic import Function, Value
from ..ir.typed import type_of
from ..passes.columns import by_rows
from ..passes.custom_derivatives import without_custom, without_marks
from ..passes.forward import forward
from ..passes.inline import inline
from ..passes.reverse.activity import may_have_cotangent
from ..passes.reverse.cotangents import as_type
from ..passes.side_by_side import products_of_loops
from ..passes.taylor import taylor
from ..values.layout import Describe
from ..values.tangents import as_arguments, check, once, paired
from .entered import InStructure, is_python_int
from .scopes import Choice
from .traced import Array, Traced
from .transforms import Run, differentiated, traced_leaves


def trace_jvp(trace: Any, f: Callable[..., Any], primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Return the value of ``f(*primals)`` in a program, and its tangent."""
    return pushed(trace, f, *as_arguments(primals, tangents))


def trace_series(trace: Any, f: Callable[..., Any], primals: tuple[Any, ...], series: Sequence[tuple[Any, ...]]) -> Any:
    """Return the value of ``f(*primals)`` in a program, and the coefficients of its Taylor series from that of t on.

    ``series`` holds, from the coefficient of t on, tuples with an entry for each argument.
    """
    order = len(series)
    if not order:
        return [trace.call(f, *primals)]

    def with_series(function: Function, varying: Sequence[bool]) -> Function:
        return taylor(function, varying, order, trace.target, trace.is_strong, trace.level > 0)

    y, coefficients = _pushed(trace, f, primals, series, {}, with_series, order)
    return [y, *coefficients]


def pushed(
    trace: Any, f: Callable[..., Any], primals: tuple[Any, ...], tangents: tuple[Any, ...], kwargs: Any = None
) -> tuple[Any, Any]:
    def with_tangents(function: Function, varying: Sequence[bool]) -> Function:
        return forward(function, varying, trace.target, trace.is_strong, trace.level > 0)

    y, (dy,) = _pushed(trace, f, primals, [tangents], kwargs or {}, with_tangents)
    return y, dy


def _pushed(
    trace: Any,
    f: Callable[..., Any],
    primals: tuple[Any, ...],
    given: Sequence[tuple[Any, ...]],
    kwargs: dict[str, Any],
    transform: Callable[[Function, Sequence[bool]], Function],
    order: int = 0,
) -> tuple[Any, list[Any]]:
    """Return the value of a function, and for each tuple of tangents that is given one of the result.

    ``order`` is that of a Taylor series, else 0. ``transform`` makes, of a typed function, one that takes and returns so many tangents for each value that varies.
    """
    each = [once(trace.call(paired, primals, tangents), (np.ndarray, Array)) for tangents in given]
    pairs = [(path, x, [e[i][2] for e in each]) for i, (path, x, _) in enumerate(each[0])]
    ints = [(path[0][1], _varies(dxs)) for path, x, dxs in pairs if is_python_int(x)]
    of_ints = [[varies for k, varies in ints if k == i] for i in range(len(primals))]
    run = Run(trace, f, primals, kwargs, range(len(primals)), integers=of_ints, order=order)
    pairs = [(path, x, dxs) for path, x, dxs in pairs if _varies(dxs) or not is_python_int(x)]
    made = run.made
    kinds = [kind for e in run.entered for kind in e.types if kind is not None]
    if len(kinds) != len(pairs):
        raise BadInput("jvp: the tangents do not match the arguments; pass arguments of plain containers and objects")
    seeds = [
        [_tangent(trace, kind, path, dx) or trace.builder.zeros(kind.shape, kind.dtype) for dx in dxs]
        for kind, (path, _, dxs) in zip(kinds, pairs)
        if _varies(dxs)
    ]
    active = [_varies(dxs) for _, _, dxs in pairs] + [False] * len(made.free)
    pushforward = transform(
        by_rows(products_of_loops(without_marks(made.function), trace.target, trace.is_strong)), active
    )
    trace.differentiates = True
    pushforward = without_custom(pushforward, run.is_over)
    found = inline(trace.builder, pushforward, [*run.arguments, *made.free, *chain(*seeds)])
    count = len(made.results)
    varying = [v for v in made.function.block.results if may_have_cotangent(v)]
    leaves = traced_leaves(made.outcome[1])  # type: ignore[index]
    tangents = []
    for k in range(len(given)):
        by_result = dict(zip(varying, found[count + k :: len(given)]))
        # Two results may become the same value of the program, with different tangents: they are told apart before that.
        by_own = {own: by_result.get(result) for own, result in zip(made.results, made.function.block.results)}
        tangents.append({id(leaf): by_own[own] for leaf, own in zip(leaves, made.asked, strict=True)})
    run.settle(found[:count])
    dys = [_shown(trace, run.y, by_leaf) for by_leaf in tangents]  # restoring the arguments changes lists and dicts
    return run.restored(), dys


def _varies(dxs: Sequence[Any]) -> bool:
    return any(dx is not None for dx in dxs)


class Linear:
    """The linear map of tangents that ``linearize`` returns."""

    def __init__(self, primals: tuple[Any, ...], fill: Callable[..., Any], transposed: Any) -> None:
        self.primals, self.fill, self.transposed = primals, fill, transposed

    def __morula_trace__(self, trace: Any, *tangents: Any) -> Any:
        _, given = as_arguments(self.primals, tangents)
        for path, x, dx in once(trace.call(paired, self.primals, given), (np.ndarray, Array)):
            kind = x.type if isinstance(x, Traced) else type_of(x)
            _tangent(trace, kind, path, dx)
        return self.transposed.pull(trace.call(self.fill, self.primals, given))[0]

    def __call__(self, *tangents: Any) -> Any:
        return self.__morula_trace__(self.transposed.trace, *tangents)


def trace_linearize(
    trace: Any, ones: Callable[..., Any], fill: Callable[..., Any], f: Callable[..., Any], *primals: Any
) -> tuple[Any, Linear]:
    """Return the value of ``f(*primals)`` in a program, and the transpose of its pullback."""
    y, back = differentiated(trace, f, primals, {}, range(len(primals)))
    _, transposed = differentiated(trace, back, (trace.call(ones, y),), {}, (0,))
    return y, Linear(primals, fill, transposed)


def _tangent(trace: Any, kind: Any, path: Any, dx: Any) -> Value | None:
    if dx is None:
        return None
    if not isinstance(dx, (Traced, int, float, complex, np.generic, np.ndarray)):
        raise BadInput(f"tangents{path!r} is a {type(dx).__name__}: a tangent is a number or an array of numbers")
    value = trace.value(dx)
    check(path, kind, value.type.dtype, value.type.shape)
    return trace.builder.cast(value, kind.dtype)


def _shown(trace: Any, y: Any, tangents: dict[int, Value | None]) -> Any:
    """Return the tangent of a result in its structure: None for what has none."""
    if type(y) is Choice:
        return Choice(y.which, [_shown(trace, e, tangents) for e in y.options])
    y = plain(y)
    if isinstance(y, tuple):
        return getattr(y, "_make", type(y))([_shown(trace, e, tangents) for e in y])
    if type(y) is list:
        return trace.new([_shown(trace, e, tangents) for e in y])
    if type(y) is dict:
        return trace.new({k: _shown(trace, e, tangents) for k, e in y.items()})
    found = Describe(Traced, shared=(Array, np.ndarray))
    layout = found.describe(y)
    leaves = [_of_leaf(trace, leaf, tangents) for leaf in found.leaves]
    return InStructure(leaves, trace, found.leaves).build(layout)


def _of_leaf(trace: Any, y: Any, tangents: dict[int, Value | None]) -> Any:
    t = tangents.get(id(y))
    kind = y.type if isinstance(y, Traced) else type_of(y)
    if t is not None:
        return trace.wrap(as_type(trace.builder, t, kind))
    if kind.is_inexact:
        return trace.wrap(as_type(trace.builder, trace.builder.zeros(kind.shape, kind.dtype), kind))
    return 0 if kind.weak and kind.dtype.kind == "i" else None
