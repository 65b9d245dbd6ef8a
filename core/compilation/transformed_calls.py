"""Tracing of morula's own functions: derivatives, and functions that define part of the backward sweep."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import api, forward
from ..eager.recorded import custom
from ..eager.unrecorded import refused
from ..errors import BadInput, NoDerivative
from ..implicit import constant
from ..ir.builder import text_of_shape
from ..ir.dynamic import Function, Value
from ..ir.memory_policies import policy_of
from ..ir.typed import custom as operation, inverts, refused as refused_operation, rerun_begins, rerun_ends
from ..jacobians import series as taylor_mode
from ..jacobians.functions import forwarddiff, hessian, jacfwd, jacobian
from ..jacobians.matrices import each
from ..passes.reverse.cotangents import conform
from ..rules import find_rule
from ..rules.connected import connected
from ..rules.registry import ADJOINTS, key_of
from ..source.definitions import describe
from ..source.requirements import check_function
from ..specialise import pushforwards, transforms
from ..specialise.batches import trace_lanes
from ..specialise.functions import Captured, constant_for_derivatives
from ..specialise.surface.operators import stored
from ..specialise.traced import BY_RULE, Array, Traced, always_traces
from ..values import tree
from ..values.attributes import attributes
from ..values.layout import Build, Describe, has_identity
from ..values.tree_in_programs import rebuild_traced

__all__ = ["call_with_adjoint"]


for _factory in (api.grad, api.value_and_grad, jacobian, jacfwd, hessian, api.adjoint, api.tangent, constant):
    always_traces(_factory)(lambda trace, *args, _factory=_factory, **kwargs: _factory(*args, **kwargs))
always_traces(api.pullback)(transforms.trace_pullback)
always_traces(api.gradient)(transforms.trace_gradient)
always_traces(forward.jvp)(pushforwards.trace_jvp)
always_traces(forward.linearize)(
    lambda trace, f, *primals: pushforwards.trace_linearize(trace, forward.ones_like, forward.filled, f, *primals)
)
always_traces(taylor_mode.taylor)(
    lambda trace, f, x, order, series=None: taylor_mode.along(
        lambda *call: pushforwards.trace_series(trace, *call), f, x, order, series
    )
)
always_traces(each)(
    lambda trace, f, rows: trace_lanes(trace, lambda row: (trace.call(f, row[0]), [], None), [rows], f, "a Jacobian")[0]
)
always_traces(forwarddiff)(lambda trace, f, x: trace.call(f, x))
always_traces(tree.rebuild)(
    lambda trace, *args, **options: rebuild_traced(trace, (np.ndarray, Array), *args, **options)
)
always_traces(custom.nestlevel)(lambda trace: trace.level)
always_traces(custom.taylor_order)(lambda trace: trace.taylor_order)


def values_of(trace: Any, x: Any) -> tuple[list[Value], list[Any], Any]:
    """Return the values of the traced leaves of x, all leaves, and the layout."""
    found = Describe(Traced, shared=())
    layout = found.describe(x)
    return [trace.value(leaf) for leaf in found.leaves if isinstance(leaf, Traced)], found.leaves, layout


def rebuilt(trace: Any, leaves: Sequence[Any], layout: Any, values: Sequence[Value]) -> Any:
    given = iter(values)
    build = Build([trace.wrap(next(given)) if isinstance(leaf, Traced) else leaf for leaf in leaves])
    made = build.build(layout)
    for x in build.made.values():
        trace.new(x)
    return made


@always_traces(custom.stop_gradient)
def _stop_gradient(trace: Any, x: Any) -> Any:
    if not trace.level:
        return x
    values, leaves, layout = values_of(trace, x)
    return rebuilt(trace, leaves, layout, [constant_for_derivatives(trace.builder, v) for v in values])


@always_traces(refused.no_derivative)
def _no_derivative(trace: Any, y: Any, reason: str, wrt: Any = None) -> Any:
    refused.check_reason(reason)
    others = [v for v in values_of(trace, y if wrt is None else wrt)[0] if v.type.is_inexact]
    trace.refuses = trace.refuses or bool(others)
    if not trace.level or not others:
        return y

    def of_leaf(path: Any, x: Any) -> Any:
        v = trace.value(x)
        if not v.type.is_inexact:
            return x
        return trace.wrap(trace.builder.call(refused_operation, [v, *others], [v.type], reason=reason)[0])

    return tree.rebuild(y, of_leaf, is_leaf=lambda x: isinstance(x, _INEXACT), constant=lambda _, x: x)


_INEXACT = (Traced, np.ndarray, np.inexact, float, complex)


@always_traces(custom.hook)
def _hook(trace: Any, g: Callable[[Any], Any], x: Any) -> Any:
    check_function(g)
    if not trace.level:
        return x
    trace.by_hand += 1
    return with_pullback(trace, x, (x,), lambda dy: (trace.call(g, dy),), f"the hook {describe(g)}")


@always_traces(api.checkpoint)
def _checkpoint(
    trace: Any, f: Callable[..., Any], *args: Any, policy: Any = None, memory: Any = None, **kwargs: Any
) -> Any:
    """Trace ``f`` with loops that have a memory policy."""
    check_function(f)
    before, trace.memory_policy = trace.memory_policy, policy_of(policy, memory)
    chosen = trace.memory_policy
    trace.policies.append(chosen)
    is_rerun = trace.level > 0 and not chosen.is_stored and not chosen.is_inverse
    try:
        if is_rerun:
            trace.builder.call(rerun_begins, [], [], call=chosen)
        y = trace.call(f, *args, **kwargs)
        if is_rerun:
            trace.builder.call(rerun_ends, [], [], call=chosen)
        return y
    finally:
        trace.memory_policy = before


def trace_invertible(trace: Any, f: Any, args: tuple[Any, ...]) -> Any:
    """Trace an invertible step; in a loop that is reversed by inverses, trace its inverse too, as a function."""
    y = trace.call(f.step, *args)
    if trace.level and trace.memory_policy is not None and trace.memory_policy.is_inverse:
        after = values_of(trace, y)[0]
        before = values_of(trace, args[: len(y) if isinstance(y, tuple) else 1])[0]
        count, others = len(after), args[len(y) if isinstance(y, tuple) else 1 :]
        parameters = [Value("after", v.type) for v in after]

        def run() -> tuple[list[Value], Any]:
            given = [trace.wrap(p) for p in parameters]
            return values_of(trace, trace.call(f.inverse, *given, *others))[0], None

        made = captured_by_hand(trace, "inverse", parameters, run, f"the inverse of {f.__name__}")
        if len(made.asked) != count or len(before) != count:
            raise BadInput(f"the inverse of {f.__name__} returns {len(made.asked)} values for a state of {len(before)}")
        trace.builder.call(
            inverts,
            [*after, *before, *made.free],
            [],
            inverse=made.function,
            count=count,
            tolerance=f.tolerance,
            report=f.report,
            name=f.__name__,
        )
    return y


connected.trace_invertible = trace_invertible


def call_with_adjoint(trace: Any, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Trace a differentiated call of a function with a derivative from ``@adjoint``."""
    y, pull = traced_adjoint(trace, f, args, kwargs)
    return with_pullback(trace, y, args, pull, f"the pullback of {describe(f)}", f)


def traced_adjoint(trace: Any, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Trace the definition from ``@adjoint``; return the value and the function that traces the pullback."""
    trace.by_hand += 1
    trace.level -= 1
    try:
        pair = trace.call(ADJOINTS[key_of(f)], *args, **kwargs)
    finally:
        trace.level += 1
    if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
        raise BadInput(f"the adjoint of {describe(f)} must return (y, back), with back a function of dy")
    y, back = pair

    def pull(dy: Any) -> tuple[Any, ...]:
        trace.level -= 1
        try:
            return custom.one_for_each(f, trace.call(back, dy), args)
        finally:
            trace.level += 1

    return y, pull


def call_by_rule(trace: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Trace a differentiated call of a composite function whose rule has its own convention at a kink.

    The traced composite gives the value, the rule the pullback.  Return ``NotImplemented`` if the rule does not apply to
    these arguments or lacks a pullback for one of them; the composite itself is then differentiated.
    """
    rule = find_rule(function)
    assert rule is not None
    if not BY_RULE[function](*args, **kwargs):
        return NotImplemented
    args, kwargs = rule.positional(args, kwargs)
    args = tuple(trace.call(np.asarray, x) if isinstance(x, list) and values_of(trace, x)[0] else x for x in args)
    place = rule.position_of_out
    out = args[place] if len(args) > place else kwargs.get("out")
    args = args[:place] + ((None, *args[place + 1 :]) if len(args) > place + 1 else ())
    if out is not None:
        kwargs = {name: x for name, x in kwargs.items() if name != "out"}
        return stored(trace, trace.value(trace.call(function, *args, **kwargs)), out)
    pullbacks = rule.pullbacks + (None,) * len(args)
    known = [rule.together is not None or p is not None for p, _ in zip(pullbacks, args)]
    others = [x for x, has in zip(args, known) if not has] + list(kwargs.values())
    if any(v.type.is_inexact for v in values_of(trace, others)[0]):
        return NotImplemented

    def inside(f: Any, *inner: Any) -> Any:
        trace.level -= 1
        try:
            return trace.call(f, *inner, *args, **kwargs)
        finally:
            trace.level += 1

    def fitted(x: Any, dx: Any) -> Any:
        if isinstance(x, Traced) and dx is not None and x.type.is_inexact:
            return trace.wrap(conform(trace.builder, trace.value(dx), x.type))
        return dx

    y = inside(function)

    def pull(dy: Any) -> tuple[Any, ...]:
        if rule.together is not None:
            found = [*inside(rule.together, dy, y), *[None] * len(args)]
        else:
            found = [None if p is None else inside(p, dy, y) for p in pullbacks]
        return tuple(fitted(x, dx) for x, dx in zip(args, found))

    return with_pullback(trace, y, args, pull, f"the rule of {describe(function)}")


def with_pullback(
    trace: Any,
    y: Any,
    args: tuple[Any, ...],
    pull: Callable[[Any], tuple[Any, ...]],
    what: str,
    f: Callable[..., Any] | None = None,
) -> Any:
    """Return y with a pullback given by hand (for ``f``): ``pull`` maps its cotangent to those of ``args`` only."""
    if not any(v.type.is_inexact for v in values_of(trace, y)[0]):
        return y
    made = captured_pullback(trace, y, args, pull, what, f)
    backward = Function("backward", [*made.free, *made.cotangents], made.function.block)
    return with_derivative(trace, y, args, made.free, backward=backward)


def with_derivative(
    trace: Any, y: Any, args: tuple[Any, ...], residuals: Sequence[Value], **functions: Function
) -> Any:
    """Return y as the results of a ``custom`` operation with the ``backward`` and ``forward`` functions."""
    values, leaves, layout = values_of(trace, y)
    given, _, _ = values_of(trace, args)
    results = trace.builder.call(
        operation,
        [*values, *given, *residuals],
        [v.type for v in values],
        n=len(values),
        m=len(given),
        level=trace.level,
        **functions,
    )
    return rebuilt(trace, leaves, layout, results)


def captured_pullback(
    trace: Any,
    y: Any,
    args: tuple[Any, ...],
    pull: Callable[[Any], tuple[Any, ...]],
    what: str,
    f: Callable[..., Any] | None,
) -> Any:
    """Trace a pullback given by hand into a function of the cotangents of y's inexact leaves, its ``cotangents``."""
    values, leaves, layout = values_of(trace, y)
    cotangents = [Value("dy", v.type) for v in values if v.type.is_inexact]

    def run() -> tuple[list[Value], Any]:
        seeds = iter(cotangents)
        inside = [trace.wrap(next(seeds)) if isinstance(e, Traced) and e.type.is_inexact else None for e in leaves]
        found = pull(Build(inside).build(layout))
        for x, dx in zip(args, found):
            if f is not None:
                _check_places(f, x, dx, {})
        gathered, at = _Gathered(trace, what), 0
        for x, dx in zip(args, found):
            at = gathered.add(x, dx, at)
        return gathered.sums, None

    made = captured_by_hand(trace, "backward", cotangents, run, what)
    made.cotangents = cotangents
    return made


def captured_by_hand(trace: Any, name: str, parameters: list[Value], run: Callable[[], Any], what: str) -> Any:
    """Trace a derivative given by hand into a function of a sweep, in which a ``try`` of the program no longer applies."""
    tries, trace.tries = trace.tries, trace.tries_around
    try:
        made = Captured(trace, name, parameters, run)
    finally:
        trace.tries = tries
    if made.raises:
        raise BadInput(f"{what} raises an exception on every path")
    if made.region.after:
        raise BadInput(
            f"{what} changes a variable or object outside of it, which compiled code would do only once; return the new value "
            "instead"
        )
    made.function.block.results = made.asked
    return made


def _check_places(f: Callable[..., Any], x: Any, dx: Any, found: dict[int, Any]) -> None:
    """Refuse one cotangent for two occurrences of one array: it may mean the total, or the part of each."""
    if dx is None or isinstance(x, Traced) and not isinstance(x, Array):
        return
    if isinstance(x, Array):
        if found.get(id(x)) is dx:
            raise NoDerivative(custom.one_for_two(f))
        found[id(x)] = dx
    elif isinstance(x, (list, tuple)):
        for e, de in zip(x, dx):
            _check_places(f, e, de, found)
    elif isinstance(x, dict):
        for k, e in x.items():
            _check_places(f, e, dx.get(k), found)
    else:
        for k, e in attributes(x):
            _check_places(f, e, getattr(dx, k, None), found)


class _Gathered:
    """The cotangents of the inexact leaves of the arguments, cast to their types, in the order of ``values_of``.

    An object or container in several places has its leaves once, with the sums of the cotangents of the places; one
    cotangent in several places counts once.
    """

    def __init__(self, trace: Any, what: str) -> None:
        self.trace, self.what = trace, what
        self.sums: list[Value] = []
        # Of each holder: where its leaves begin and end, and its cotangent.
        self.met: dict[int, tuple[int, int, Any]] = {}

    def add(self, x: Any, dx: Any, at: int) -> int:
        """Add the cotangent of x, whose leaves begin at ``at``; return where the next ones begin."""
        if isinstance(x, Traced):
            return self.add_leaf(x, dx, at) if x.type.is_inexact else at
        if isinstance(x, (list, tuple)):
            parts = list(zip(x, [None] * len(x) if dx is None else dx))
        elif isinstance(x, dict):
            parts = [(e, None if dx is None else dx.get(k)) for k, e in x.items()]
        else:
            found = Describe(Traced, shared=())
            found.describe(x)
            if not any(isinstance(leaf, Traced) and leaf.type.is_inexact for leaf in found.leaves):
                return at
            parts = [(e, getattr(dx, k, None)) for k, e in attributes(x)]
        if id(x) not in self.met:
            if has_identity(type(x)):
                self.met[id(x)] = at, at, dx
            after = self.add_parts(parts, at)
            if has_identity(type(x)):
                self.met[id(x)] = at, after, dx
            return after
        begin, end, first = self.met[id(x)]
        if dx is not first and dx is not None:
            self.add_parts(parts, begin)
        return end if begin == at else at

    def add_parts(self, parts: list[tuple[Any, Any]], at: int) -> int:
        for e, de in parts:
            at = self.add(e, de, at)
        return at

    def add_leaf(self, x: Traced, dx: Any, at: int) -> int:
        builder, kind = self.trace.builder, x.type
        is_new = at == len(self.sums)
        if dx is not None:
            g = self.trace.value(dx)
            if g.type.shape != kind.shape:
                shapes = text_of_shape(g.type.shape), text_of_shape(kind.shape)
                raise BadInput(
                    "{} returned a cotangent of shape {} for an argument of shape {}".format(self.what, *shapes)
                )
            g = builder.cast(g, kind.dtype)
            if is_new:
                self.sums.append(g)
            else:
                self.sums[at] = builder.call(operator.add, [self.sums[at], g], [kind])[0]
        elif is_new:
            self.sums.append(builder.zeros(kind.shape, kind.dtype))
        return at + 1


connected.call_with_adjoint = call_with_adjoint
connected.call_by_rule = call_by_rule
