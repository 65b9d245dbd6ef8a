"""Tracing of functions with a custom tangent: both modes are in the program, the reverse one by transposition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..eager.forward.custom import check_pair, wrong_tangent
from ..errors import BadInput
from ..ir.builder import Builder, text_of_shape
from ..ir.dynamic import Function, Value
from ..ir.typed import type_of
from ..passes.forward.transposition import transposed
from ..passes.reverse.cotangents import as_type, strong
from ..rules.connected import connected
from ..rules.registry import ADJOINTS, TANGENTS, key_of
from ..source.definitions import describe
from ..specialise.traced import Traced
from ..values.layout import Build
from ..values.tangents import paired
from .transformed_calls import captured_by_hand, captured_pullback, traced_adjoint, values_of, with_derivative


def call_with_custom_tangent(trace: Any, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Trace a differentiated call of a function with a derivative from ``@tangent``, and perhaps one from ``@adjoint``.

    Where only reverse mode follows, the latter is all that is needed.
    """
    if trace.only_reverse and key_of(f) in ADJOINTS:
        return connected.call_with_adjoint(trace, f, args, kwargs)
    trace.level -= 1
    try:
        y, push = check_pair(f, trace.call(TANGENTS[key_of(f)], *args, **kwargs))
    finally:
        trace.level += 1
    results = [v for v in values_of(trace, y)[0] if v.type.is_inexact]
    operands = [v for v in values_of(trace, args)[0] if v.type.is_inexact]
    if not results or not operands:
        return y
    made, seeds = _captured(trace, f, y, args, push)
    forward = made.function.block
    if key_of(f) in ADJOINTS:
        y_again, pull = traced_adjoint(trace, f, args, kwargs)
        by_hand = captured_pullback(trace, y_again, args, pull, f"the pullback of {describe(f)}", f)
        backward, cotangents, free = by_hand.function.block, by_hand.cotangents, by_hand.free
    else:
        free, cotangents = [], [Value("dy", v.type) for v in results]
        b = Builder(True)
        with b.block() as backward:
            function = Function("forward", [*made.free, *seeds], forward)
            found = transposed(b, function, made.free, cotangents, trace.target)
            backward.results = [as_type(b, g, v.type) for g, v in zip(found, operands)]
    residuals = list(dict.fromkeys([*made.free, *free]))
    return with_derivative(
        trace,
        y,
        args,
        residuals,
        backward=Function("backward", [*residuals, *cotangents], backward),
        forward=Function("forward", [*residuals, *seeds], forward),
    )


def _captured(trace: Any, f: Callable[..., Any], y: Any, args: tuple[Any, ...], push: Any) -> tuple[Any, list[Value]]:
    """Trace a custom tangent into a function of the tangents of the arguments' inexact leaves, which are also returned."""
    given, leaves, layout = values_of(trace, args)
    seeds = [Value("dx", strong(v.type)) for v in given if v.type.is_inexact]

    def run() -> tuple[list[Value], Any]:
        fresh = iter(seeds)
        inside = [
            trace.wrap(next(fresh)) if isinstance(e, Traced) and e.type.is_inexact else _zero(trace, e) for e in leaves
        ]
        trace.level -= 1
        try:
            dy = trace.call(push, *Build(inside).build(layout))
        finally:
            trace.level += 1
        return _of_result(trace, f, y, dy), None

    return captured_by_hand(trace, "forward", seeds, run, f"the tangent of {describe(f)}"), seeds


def _zero(trace: Any, x: Any) -> Any:
    """Return the tangent of an argument's leaf that does not vary: None for what has no derivative."""
    kind = x.type if isinstance(x, Traced) else type_of(x)
    if kind.is_inexact:
        return trace.wrap(trace.builder.zeros(kind.shape, kind.dtype))
    return 0 if kind.weak and kind.dtype.kind == "i" else None


def _of_result(trace: Any, f: Callable[..., Any], y: Any, dy: Any) -> list[Value]:
    """Return the tangents of the inexact leaves of a result."""
    try:
        pairs = trace.call(paired, y, dy)
    except BadInput as error:
        raise wrong_tangent(f, error) from None
    found = []
    for _, e, de in pairs:
        if not isinstance(e, Traced) or not e.type.is_inexact:
            continue
        if de is None:
            found.append(trace.builder.zeros(e.type.shape, e.type.dtype))
            continue
        t = trace.value(de)
        if t.type.shape != e.type.shape:
            shapes = text_of_shape(t.type.shape), text_of_shape(e.type.shape)
            raise BadInput(
                f"the tangent of {describe(f)} does not fit its result: it has shape {shapes[0]}, and the result has shape "
                f"{shapes[1]}"
            )
        found.append(trace.builder.cast(t, e.type.dtype))
    return found


connected.call_with_custom_tangent = call_with_custom_tangent
