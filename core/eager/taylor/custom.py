"""Custom derivatives in Taylor mode, and the solutions of equations.

A custom tangent of y = f(x) gives y' = push(x'), where what ``push`` has computed from x varies with t, too. In nested forward mode,
later derivatives are of the plain values, as code around the derivative sees them. Here, the definition runs on a tape of its own,
whose series are one order shorter, and ``push`` maps the series of x' there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...errors import BadInput, NoDerivative
from ...rules.connected import connected
from ...rules.registry import ADJOINTS, TANGENTS, key_of
from ...rules.table import Rule, pull
from ...source.definitions import describe, user_frame
from ...values import tree
from ...values.numbers import PASSIVE, call_on
from ...values.tangents import has_tangent
from ..forward.custom import check_pair, paired_result
from ..forward.transposed import ones
from ..recorded.custom import distinct, one_for_each, stop_gradient
from ..recorded.structure import same_number
from ..recorded.tape import Tape
from .tables import Coefficients, taylor_tape

Function = Callable[..., Any]


def call_in_taylor(tape: Tape, f: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function with a custom derivative in Taylor mode."""
    series: Coefficients = tape.tangents
    definition = TANGENTS.get(key_of(f)) or ADJOINTS[key_of(f)]
    made: list[Any] = []

    def tangent(run: Function, derivative: Function) -> Any:
        pair = run(definition, *args, **kwargs)
        if key_of(f) in TANGENTS:
            check_pair(f, pair)
        elif not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
            raise BadInput(f"the adjoint of {describe(f)} must return (y, back), with back a function of dy")
        made.append(call_on(tape.parent, distinct, pair[0]))
        if not any(series.varies(x) for x in _leaves(args)):
            return None
        dxs = tuple(map(derivative, args))
        return run(pair[1], *dxs) if key_of(f) in TANGENTS else run(_transposed, f, pair[1], ones(pair[0]), args, dxs)

    series.length += 1
    _set_by_tangent(series, args, tangent, lambda dy: paired_result(f, made[0], dy))
    return made[0]


def series_by_pullback(series: Coefficients, y: Any, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Set the series of the result of a call by transposing the pullback of its rule.

    The pullback runs on a tape of a lower order, so the cost is cubic in the order: each order runs the lower ones.
    """

    def tangent(run: Function, derivative: Function) -> Any:
        again, back = run(_with_pullback, rule, args, kwargs)
        return run(_transposed, rule.function, back, ones(again), args, tuple(map(derivative, args)))

    _set_by_tangent(series, args, tangent, lambda dy: _pairs(y, dy))


def _with_pullback(rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Function]:
    y = rule.function(*args, **kwargs)

    def back(dy: Any) -> tuple[Any, ...]:
        found = pull(rule, dy, y, args, kwargs)
        return (*found, *[None] * (len(args) - len(found)))

    return y, back


def _pairs(y: Any, dy: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(y, (list, tuple)):
        for e, de in zip(y, dy or ()):
            yield from _pairs(e, de)
    elif dy is not None:
        yield y, dy


def _set_by_tangent(series: Coefficients, args: Any, tangent: Function, paired: Function) -> None:
    """Set the series of a result y from that of its derivative: y' = ``tangent(run, derivative)``.

    ``run`` calls functions on a tape whose series are one order shorter, and ``derivative`` returns the derivative of an
    argument's series there. ``paired(dy)`` gives the numbers and arrays of y with those of y'.
    """
    parent = series.tape.parent
    inner = taylor_tape(parent, series.order - 1) if series.order > 1 else parent
    shorter: Coefficients | None = inner.tangents if series.order > 1 else None  # type: ignore[union-attr]
    try:
        if shorter is not None:
            for x in _leaves(args):
                _set(shorter, x, series.get(x)[: shorter.order])
        dy = tangent(partial(call_on, inner), partial(_derivative, series, shorter))
        for e, de in paired(dy):
            found = [de, *(shorter.get(de) if shorter is not None else [])]
            series.set(e, [None if c is None else call_on(parent, _divided, c, k) for k, c in enumerate(found, 1)])
        for part in shorter.parts if shorter is not None else ():
            for mine in series.parts:
                mine.lost = mine.lost or part.lost
    finally:
        if shorter is not None:
            shorter.end()
            inner.over = True  # type: ignore[union-attr]


def _divided(c: Any, k: int) -> Any:
    return np.copy(c) / k if isinstance(c, np.ndarray) else c / k


def _transposed(f: Function, back: Function, seed: Any, args: tuple[Any, ...], dxs: tuple[Any, ...]) -> Any:
    """Return the tangent of a result by transposing a pullback."""

    def pulled(dy: Any) -> tuple[Any, ...]:
        return tuple(_zeros(x) if g is None else g for g, x in zip(one_for_each(f, back(dy), args), args))

    return connected.pullback(pulled, seed)[1](dxs)[0]


def _zeros(x: Any) -> Any:
    def zero(_: Any, e: Any) -> Any:
        return np.zeros_like(e) if isinstance(e, np.ndarray) else 0.0

    return tree.rebuild(x, zero, is_leaf=has_tangent, constant=lambda *_: None)


def _leaves(args: Any) -> list[Any]:
    found: list[Any] = []
    tree.rebuild(args, lambda _, x: found.append(x), is_leaf=has_tangent, is_shared=False)
    return found


def _set(series: Coefficients, x: Any, coefficients: list[Any]) -> None:
    for part, c in zip(series.parts, coefficients):
        if c is not None and isinstance(x, np.ndarray):
            part.write(part.window(x), ..., c)
        elif c is not None:
            part.numbers[id(x)] = x, c


def _derivative(series: Coefficients, shorter: Coefficients | None, x: Any) -> Any:
    """Return the derivative of the series of an argument, in its structure; its own series is on another tape."""

    def one(_: Any, e: Any) -> Any:
        first, *later = series.get(e)
        if isinstance(e, np.ndarray):
            made = np.zeros(e.shape, e.dtype) if first is None else series.run(np.copy, first)
        else:
            kind = float if type(e) in PASSIVE or isinstance(e, int) else type(e)
            made = same_number(kind(0) if first is None else first)
        if shorter is not None:
            _set(shorter, made, [None if c is None else series.run(_times, c, k) for k, c in enumerate(later, 2)])
        return made

    return tree.rebuild(x, one, is_leaf=has_tangent, constant=lambda *_: None)


def _times(c: Any, k: int) -> Any:
    return c * k


def series_of_root(tape: Tape, x: Any, residual: Function, args: tuple[Any, ...]) -> Any:
    """Return the root ``x`` of a residual, with its series: those of steps of Newton's method from x as a constant.

    Each step doubles the number of coefficients that are right.
    """
    series: Coefficients = tape.tangents
    where = user_frame()
    return tape.call(_newton, distinct(x), residual, args, series.order.bit_length(), describe(residual), where)


def _newton(x: Any, residual: Function, args: tuple[Any, ...], steps: int, name: str, where: tuple[str, int]) -> Any:
    shape = np.shape(x)
    for _ in range(steps):
        r, back = connected.pullback(lambda x: np.ravel(np.array(residual(x, *args))), x)
        rows = [np.ravel(np.array(back(row)[0])) for row in np.eye(len(r))]
        slopes = np.stack(rows)
        if slopes.shape[0] != slopes.shape[1] or not np.linalg.cond(stop_gradient(slopes)) < 1 / np.finfo(float).eps:
            raise NoDerivative(
                f"the solution of an equation, computed at {where[0]}:{where[1]}, has no derivative: the Jacobian of {name} is "
                "singular there, so the solution is not unique or not differentiable"
            )
        step = np.reshape(np.linalg.solve(slopes, r), shape)
        step = step if shape else step[()]
        x = x - (step - stop_gradient(step))  # the value stays as it is
    return x


connected.call_in_taylor = call_in_taylor
connected.series_of_root = series_of_root
