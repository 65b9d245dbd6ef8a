"""Custom tangents: ``tangent`` gives a function its pushforward; in reverse mode, that is transposed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import BadInput, NoDerivative
from ...rules.connected import connected
from ...rules.registry import ADJOINTS, TANGENTS, key_of
from ...source.definitions import describe
from ...source.requirements import kind_of
from ...values import tree
from ...values.numbers import PASSIVE, call_on
from ...values.tangents import has_tangent
from ..recorded import known
from ..recorded.custom import as_result, handle
from ..recorded.snapshots import as_it_is
from ..recorded.structure import same_number
from ..recorded.tape import Cotangents, Record, Tape
from ..structured.functions import forget
from .run import tangent_of
from .tangents import Tangents

Function = Callable[..., Any]


def tangent(f: Function) -> Callable[[Function], Function]:
    """Give ``f`` a custom tangent; use as the decorator of a function that defines it.

    Args:
        f: the function or callable to which the tangent is given.  The decorated function takes the same arguments and
            returns ``(y, push)``.  ``push(*tangents)`` takes one tangent per positional argument, in the structure of the
            argument (zero where it does not vary, None for what has no derivative), and returns the tangent of y.  It must be
            linear; reverse mode transposes it, unless ``f`` has an ``adjoint``, too.

    Returns:
        The decorator, which returns its function unchanged.

    Raises:
        BadInput: ``f`` or the decorated function is not callable; when differentiated, the result is not ``(y, push)``, or
            the tangent does not have the structure of y.

    >>> from morula.core import grad, jvp
    >>> def half(x):
    ...     return x / 2
    >>> @tangent(half)
    ... def _(x):
    ...     return half(x), lambda dx: dx / 2
    >>> jvp(half, (3.0,), (1.0,)), grad(half)(3.0)
    ((1.5, 0.5), 0.5)
    """
    if not callable(f):
        raise BadInput(f"@tangent expects the function whose tangent is defined, not {kind_of(f)}")

    def register(definition: Function) -> Function:
        if not callable(definition):
            raise BadInput(f"@tangent({describe(f)}) decorates a function, not {kind_of(definition)}")
        key = key_of(f)
        TANGENTS[key] = definition
        if key not in ADJOINTS:
            handle(f, lambda tape, *args, **kwargs: _call(tape, f, args, kwargs))
        forget()
        known.forget_all()
        return definition

    return register


def check_pair(f: Function, pair: Any) -> tuple[Any, Any]:
    if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
        raise BadInput(
            f"the tangent of {describe(f)} must return (y, push), with push a function of the arguments' tangents"
        )
    return pair


def wrong_tangent(f: Function, error: BadInput) -> BadInput:
    """Return the error for a custom tangent whose result does not fit the function's."""
    return BadInput(f"the tangent of {describe(f)} does not fit its result: {error}")


def _call(tape: Tape, f: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function with a custom tangent in recorded code."""
    if tape.tangents is not None and tape.tangents.is_series:
        return connected.call_in_taylor(tape, f, args, kwargs)
    if tape.tangents is not None:
        return call_with_tangent(tape, f, args, kwargs)
    y, push = check_pair(f, call_on(tape.parent, TANGENTS[key_of(f)], *args, **kwargs))
    y, _, snapshot = as_result(tape, f, y, push)
    tape.records.append((_push_back, snapshot, f, push, as_it_is(args)))
    return y


def call_with_tangent(tape: Tape, f: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function with a custom tangent in forward mode."""
    tangents: Tangents = tape.tangents
    y, push = check_pair(f, call_on(tape.parent, TANGENTS[key_of(f)], *args, **kwargs))
    y = as_result(tape, f, y, push)[0]
    tangents.length += 1
    try:
        dxs = [tangent_of(tangents, x) for x in args]
    except NoDerivative as error:
        refused = error
        tangents.lose(y, lambda: refused)
        return y
    if any(map(_varies, dxs)):
        for e, de in paired_result(f, y, tangents.run(push, *dxs)):
            tangents.set(e, tangents.run(np.copy, de) if isinstance(de, np.ndarray) else de)
    return y


def paired_result(f: Function, y: Any, dy: Any) -> list[tuple[Any, Any]]:
    """Return the numbers and arrays of a result with their tangents.

    Raises:
        BadInput: the tangent has another structure or shape than the result.
    """
    found: list[tuple[Any, Any]] = []

    def leaf(path: Any, e: Any, de: Any) -> None:
        if de is not None and np.shape(de) != np.shape(e):
            raise BadInput(f"it has shape {np.shape(de)}, and the result has shape {np.shape(e)}")
        found.append((e, de))

    try:
        tree.rebuild(y, leaf, dy, is_leaf=has_tangent, is_shared=False, is_lenient=True, names=("result", "tangent"))
    except BadInput as error:
        raise wrong_tangent(f, error) from None
    return [(e, de) for e, de in found if de is not None]


def _varies(dx: Any) -> bool:
    """Whether a tangent, in the structure of its argument, is not zero everywhere."""
    found: list[bool] = []
    tree.rebuild(dx, lambda _, t: found.append(bool(np.any(t != 0))), is_leaf=has_tangent)
    return any(found)


def _push_back(table: Cotangents, record: Record) -> None:
    """Pull a cotangent back by the transpose of the custom tangent."""
    _, y, f, push, args = record
    dy = table.take(y)
    if dy is None:
        return

    def checked(*dxs: Any) -> Any:
        t = push(*dxs)
        paired_result(f, y, t)
        return t

    _, back = connected.record_run(table.parent, checked, [_ones(x) for x in args], {})
    for x, g in zip(args, back.run(table.parent, dy)):
        if g is not None:
            table.add(x, g)


def _ones(x: Any) -> Any:
    """Return ones in the structure of an argument, None for what has no tangent: the tangent is linear."""

    def one(_: Any, e: Any) -> Any:
        return (
            np.ones_like(e) if isinstance(e, np.ndarray) else same_number(type(e)(1) if type(e) not in PASSIVE else 1.0)
        )

    return tree.rebuild(x, one, is_leaf=has_tangent, constant=lambda *_: None)


connected.call_with_tangent = call_with_tangent
