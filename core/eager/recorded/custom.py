"""Custom derivatives, and other functions that act in the backward sweep.

``adjoint`` gives a function its pullback.  ``hook``, ``stop_gradient`` and ``nestlevel`` are plain functions outside of
a derivative, with a handler for recorded code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ...errors import BadInput, NoDerivative
from ...rules.connected import connected
from ...rules.registry import ADJOINTS, HANDLERS, HELD, TANGENTS, handles, key_of
from ...source.definitions import describe
from ...source.requirements import check_function, kind_of
from ...values import tree
from ...values.cotangents import conform
from ...values.holders import Objects, kind_of as kind_of_holder
from ...values.numbers import Int, call_on
from ...values.silence import warning_as, warnings_now
from ...values.strong_zero import is_zero
from ...values.tree_in_programs import rebuild_recorded
from ..rewriting.instrument import instrument
from ..structured.functions import forget
from . import known
from .snapshots import as_it_is
from .structure import same_number
from .tape import Cotangents, Record, Tape, is_alone

Function = Callable[..., Any]


def adjoint(f: Function) -> Callable[[Function], Function]:
    """Give ``f`` a custom pullback; use as the decorator of a function that defines it.

    Args:
        f: the function or callable to which the pullback is given.  The decorated function takes the same arguments
            and returns ``(y, back)``.  ``back(dy)`` returns a tuple with one cotangent per positional argument, None
            for zero; for a single argument the cotangent alone suffices.

    Returns:
        The decorator, which returns its function unchanged.

    Raises:
        BadInput: ``f`` or the decorated function is not callable; when differentiated, the result is not ``(y, back)``
            or the cotangents do not fit the arguments.

    >>> from morula.core import grad, pullback
    >>> def half(x):
    ...     return x / 2
    >>> @adjoint(half)
    ... def _(x):
    ...     return half(x), lambda dy: dy / 2
    >>> grad(half)(3.0)
    0.5
    """
    if not callable(f):
        raise BadInput(f"@adjoint expects the function whose pullback is defined, not {kind_of(f)}")

    def register(definition: Function) -> Function:
        if not callable(definition):
            raise BadInput(f"@adjoint({describe(f)}) decorates a function, not {kind_of(definition)}")

        def handler(tape: Tape, *args: Any, **kwargs: Any) -> Any:
            if tape.tangents is not None and tape.tangents.is_series:
                return connected.call_in_taylor(tape, f, args, kwargs)
            if tape.tangents is not None and key_of(f) in TANGENTS:
                return connected.call_with_tangent(tape, f, args, kwargs)
            pair = call_on(tape.parent, definition, *args, **kwargs)
            if not isinstance(pair, tuple) or len(pair) != 2 or not callable(pair[1]):
                raise BadInput(f"the adjoint of {describe(f)} must return (y, back), with back a function of dy")
            y, back, snapshot = as_result(tape, f, *pair)
            tape.records.append((_adjoint_back, snapshot, f, back, as_it_is(args), warnings_now()))
            return y

        handle(f, handler)
        ADJOINTS[key_of(f)] = definition
        forget()
        known.forget_all()
        return definition

    return register


def handle(f: Any, handler: Function) -> None:
    """Call ``handler`` in place of ``f`` in recorded code.

    A method that is bound to an object is called there as a function of the class, with the object as first argument.
    """
    if type(f) is not MethodType or type(f.__func__) is not FunctionType:
        HANDLERS[key_of(f)] = handler
        return
    owner, function, otherwise = f.__self__, f.__func__, HANDLERS.get(f.__func__)

    def of_owner(tape: Tape, *args: Any, **kwargs: Any) -> Any:
        if args and args[0] is owner:
            return handler(tape, *args[1:], **kwargs)
        return (otherwise or instrument(function))(tape, *args, **kwargs)

    HANDLERS[function] = of_owner


def as_result(tape: Tape, f: Function, y: Any, linear: Function) -> tuple[Any, Function, Any]:
    """Return the result of a custom definition with an identity of its own, its linear function, and its snapshot.

    Raises:
        BadInput: the result holds an object of a class, whose attributes have no identity of their own.
    """
    if key_of(f) in HELD:  # objects may hold arguments, too
        if not isinstance(y, (np.ndarray, np.number, float, complex, int)):
            y = call_on(tape.parent, tree.rebuild, y, lambda _, e: distinct(e))
    elif isinstance(kind_of_holder(type(y)), Objects):
        raise BadInput(
            f"the adjoint or tangent of {describe(f)} returned {kind_of(y)}; return numbers, arrays, or lists, tuples and dicts "
            "of these, and make the object of them outside of the function"
        )
    y = call_on(tape.parent, distinct, y)
    if isinstance(y, np.ndarray) and y.dtype.kind == "O":
        shape = y.shape
        return y, lambda dy: linear(_filled(dy, shape)), as_it_is(y.ravel().tolist())
    return y, linear, as_it_is(y)


def _filled(dy: Any, shape: tuple[int, ...]) -> Any:
    """Return the cotangents of the entries of an array of objects as an array of numbers."""
    return np.reshape(np.array([0.0 if g is None else g for g in dy]), shape)


def distinct(y: Any, made: dict[int, Any] | None = None) -> Any:
    """Return a copy of ``y`` with a new identity, because a custom pullback may return an argument or a constant.

    An array or a list in two places of ``y`` is in two places of the copy; ``made`` holds their copies, by identity.
    """
    made = {} if made is None else made
    if id(y) in made:
        return made[id(y)]
    if isinstance(y, np.ndarray):
        new = made[id(y)] = np.copy(y)
        if y.dtype.kind == "O":
            for i in np.ndindex(y.shape):
                new[i] = distinct(y[i], made)
        return new
    if type(y) in (float, complex) or isinstance(y, np.inexact):
        return same_number(y)
    if type(y) is list:
        filled = made[id(y)] = []
        filled.extend([distinct(e, made) for e in y])
        return filled
    if type(y) is dict:
        return {k: distinct(e, made) for k, e in y.items()}
    if isinstance(y, tuple):
        parts = [distinct(e, made) for e in y]
        return type(y)(*parts) if hasattr(y, "_make") else tuple(parts)
    return Int(y) if type(y) in (int, Int) else y


def one_for_each(f: Function, cotangents: Any, args: Sequence[Any]) -> tuple[Any, ...]:
    """Return the result of a custom pullback as a tuple with one cotangent for each argument of ``f``."""
    if not isinstance(cotangents, tuple) or len(args) == 1 and isinstance(args[0], tuple) and len(cotangents) != 1:
        cotangents = (cotangents,)
    if len(cotangents) != len(args):
        raise BadInput(
            f"the pullback of {describe(f)} returned {len(cotangents)} cotangent(s) for {len(args)} argument(s); return "
            "one cotangent for each argument, None where it is zero"
        )
    return cotangents


def _adjoint_back(table: Cotangents, record: Record) -> None:
    _, y, f, back, args, state = record
    dy = table.take(y)
    if dy is None:
        return
    if table.is_strong and is_alone(table.parent) and is_zero(dy):
        return
    with nullcontext() if table.is_strong else warning_as(state):  # a repeated sweep does not warn again
        cotangents = one_for_each(f, table.run(back, dy), args)
    for i, (x, g) in enumerate(zip(args, cotangents)):
        if g is not None and not isinstance(x, (np.ndarray, float, complex, int, np.number)):
            _check_places(f, x, g)
        if isinstance(x, (np.ndarray, float, complex, np.number)) and g is not None and np.shape(g) != np.shape(x):
            raise BadInput(
                f"the pullback of {describe(f)} returned a cotangent of shape {np.shape(g)} for argument {i}, which has "
                f"shape {np.shape(x)}"
            )
        if g is not None:
            table.add(x, table.run(conform, g, x) if isinstance(x, (np.ndarray, float, complex, np.number)) else g)


def _check_places(f: Function, x: Any, g: Any) -> None:
    """Refuse one object as cotangent of two places of an array: it may mean the total or the share of each place."""
    found: dict[int, Any] = {}

    def leaf(path: Any, x: Any, g: Any) -> None:
        if g is not None and found.setdefault(id(x), g) is g and id(x) in seen:
            raise NoDerivative(one_for_two(f))
        seen.add(id(x))

    seen: set[int] = set()
    with suppress(BadInput):  # the kinds may differ: the cotangent of an object may be a dict of attributes
        tree.rebuild(x, leaf, g, is_leaf=lambda x: isinstance(x, np.ndarray), is_shared=False, is_lenient=True)


def one_for_two(f: Function) -> str:
    """Return the error message for one cotangent in two places."""
    return (
        f"the pullback of {describe(f)} returned one object as the cotangent of two places of an argument that hold the "
        "same array. The cotangents of these places are added: return a copy for each place if each has this cotangent, or "
        "the total in one place and None in the others"
    )


def hook(g: Function, x: Any) -> Any:
    """Return ``x``; in the backward sweep replace its cotangent ``dx`` by ``g(dx)``.

    Args:
        g: takes and returns a cotangent of the structure of ``x``.
        x: a number, an array or a structure of these.

    Returns:
        ``x``.

    Raises:
        BadInput: ``g`` is not callable.

    >>> from morula.core import grad, pullback
    >>> grad(lambda x: hook(lambda dx: 10 * dx, x) ** 2)(3.0)
    60.0
    """
    check_function(g)
    return x


@handles(hook)
def _hook(tape: Tape, g: Function, x: Any) -> Any:
    check_function(g)
    y = call_on(tape.parent, distinct, x)
    tape.records.append((hook_back, as_it_is(y), g, as_it_is(x), warnings_now()))
    return y


def hook_has_no_tangent(g: Function) -> NoDerivative:
    """Return the error for a hook in forward mode."""
    return NoDerivative(
        f"morula.hook with {describe(g)} changes or looks at a cotangent, and forward mode has none; use reverse mode "
        "(morula.grad, morula.pullback), or leave the hook out"
    )


def hook_back(table: Cotangents, record: Record) -> None:
    _, y, g, x, state = record
    dy = table.take(y)
    if dy is not None:
        with nullcontext() if table.is_strong else warning_as(state):
            table.add(x, table.run(g, dy))


def stop_gradient(x: Any) -> Any:
    """Return ``x`` as a constant, through which no derivative passes.

    Args:
        x: a number, an array, or lists, tuples and dicts of these.

    Returns:
        A value equal to ``x``, of the same structure.

    >>> from morula.core import grad, pullback
    >>> grad(lambda x: x * stop_gradient(x))(3.0)
    3.0
    """
    return x


@handles(stop_gradient)
def _stop_gradient(tape: Tape, x: Any) -> Any:
    if isinstance(x, dict):
        return {k: _stop_gradient(tape, v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        parts = [_stop_gradient(tape, e) for e in x]
        return type(x)._make(parts) if hasattr(x, "_make") else type(x)(parts)  # type: ignore[union-attr]
    return int(x) if type(x) is Int else distinct(x) if type(x) is not int else x


def nestlevel() -> int:
    """Return the number of nested derivatives that are being taken of the calling code.

    Returns:
        0 outside of any derivative, 1 in a function that is differentiated once, and so on.

    >>> from morula.core import grad, pullback
    >>> nestlevel(), pullback(lambda x: x * nestlevel(), 1.0)[0]
    (0, 1.0)
    """
    return 0


@handles(nestlevel)
def _nestlevel(tape: Tape | None) -> int:
    level = 0
    while tape is not None:
        level, tape = level + (not tape.is_between), tape.parent
    return level


def taylor_order() -> int:
    """Return the order of the series that the innermost derivative of the calling code computes; 0 in other modes."""
    return 0


@handles(taylor_order)
def _taylor_order(tape: Tape) -> int:
    return tape.tangents.order if tape.tangents is not None and tape.tangents.is_series else 0


HANDLERS[tree.rebuild] = rebuild_recorded
