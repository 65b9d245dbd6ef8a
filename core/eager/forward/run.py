"""Runs a function in forward mode, and returns its value and the tangent of that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import BadInput
from ...rules.connected import connected
from ...values.cotangents import fit
from ...values.holders import kind_of
from ...values.numbers import NUMBER_TYPES, Int
from ...values.tangents import check, has_tangent, once, paired
from ...values.tree import spelled
from ..recorded.pullback import run_on
from ..recorded.structure import Arguments, Node, as_gradient, plain
from ..recorded.tape import Tape, around
from .compiled import run_whole
from .pushes import PUSHES
from .tangents import Tangents, forward_tape

Function = Callable[..., Any]


def run_forward(
    parent: Tape | None, f: Function, primals: Sequence[Any], tangents: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """Return ``f(*primals, **kwargs)`` and its tangent, computed on the tape of an enclosing derivative if there is one.

    Raises:
        BadInput: the tangents do not fit the primals.
        NoDerivative: the tangent of the result depends on a call without a derivative.
    """
    parent, is_outermost = around(parent), parent is None
    observer: Any = None if parent is None else parent.observer
    if not kwargs and observer is None:
        found = run_whole(parent, f, primals, tangents)
        if found is not None:
            return found
    pairs = paired(tuple(primals), tuple(tangents))
    chosen = sorted({path[0][1] for path, _, dx in pairs if dx is not None})
    pairs = once([pair for pair in pairs if pair[0][0][1] in chosen])
    tape = forward_tape(parent, PUSHES)
    dy: list[Any] = []

    def begun(arguments: Arguments) -> None:
        fresh = list(entered(arguments))
        if len(fresh) != len(pairs):
            raise BadInput("the tangents do not match the arguments; pass arguments of plain containers and objects")
        for x, (path, like, dx) in zip(fresh, pairs):
            if dx is not None:
                seed(tape.tangents, path, x, like, dx)

    try:
        y, arguments = run_on(
            tape, f, primals, kwargs, chosen, begun, lambda y: dy.append(tangent_of(tape.tangents, y))
        )
    finally:
        tape.tangents.end()
    y = arguments.restore(y, set())
    if is_outermost and observer is not None:
        observer.ended((y, dy[0]))
    return (plain(y) if is_outermost else y), dy[0]


def entered(arguments: Arguments) -> Any:
    """Yield the fresh numbers and arrays of the entered arguments in the order of their structure, each array once."""
    for part in arguments.parts:
        yield from _leaves_of(part, set())


def _leaves_of(part: Any, seen: set[int]) -> Any:
    if isinstance(part, Node):
        if id(part) not in seen:
            seen.add(id(part))
            for inner in part.parts:
                yield from _leaves_of(inner, seen)
    elif part is not None:
        _, fresh, _ = part
        if not isinstance(fresh, np.ndarray) or id(fresh) not in seen:
            seen.add(id(fresh))
            yield fresh


def seed(tangents: Tangents, path: Any, x: Any, like: Any, dx: Any) -> None:
    if type(dx) is float and type(like) is float:
        tangents.numbers[id(x)] = x, dx
        return
    if isinstance(dx, bool) or not isinstance(dx, (int, float, complex, np.number, np.ndarray)):
        raise BadInput(
            f"{spelled(path, 'tangents')} is a {type(dx).__name__}: a tangent is a number or an array of numbers"
        )
    check(path, np.asarray(like), np.asarray(dx).dtype, np.shape(dx))
    if isinstance(x, np.ndarray):
        tangents.write(tangents.window(x), ..., dx)
    else:
        t = dx if isinstance(like, int) else tangents.run(fit, dx, like)
        tangents.numbers[id(x)] = x, float(t) if type(t) is int and not isinstance(like, int) else t


def tangent_of(tangents: Tangents, y: Any, done: dict[int, Any] | None = None) -> Any:
    """Return the tangent of a result in its structure: None for what has none, zero for a number that does not vary."""
    done = {} if done is None else done
    if isinstance(y, np.ndarray):
        return _of_array(tangents, y)
    if type(y) in NUMBER_TYPES or isinstance(y, (float, complex, int)):
        return _of_number(tangents, y) if has_tangent(y) else None
    if id(y) in done:
        return done[id(y)]
    kind = kind_of(type(y))
    if kind is None:
        return None
    new = done[id(y)] = kind.blank(y) if kind.is_mutable else None
    entries = kind.entries(y)
    values = [tangent_of(tangents, value, done) for _, value in entries]
    if kind.only_with_leaves and all(value is None for value in values):
        done[id(y)] = None
        return None
    if not kind.is_mutable:
        return kind.made(y, values)
    kind.fill(new, [key for key, _ in entries], values)
    return new


def _of_number(tangents: Tangents, y: Any) -> Any:
    t = tangents.get(y)
    if t is None:
        return as_gradient(0, y)
    if t != t and tangents.lost is not None:
        raise tangents.lost()
    return as_gradient(t, y) if tangents.tape.parent is None or isinstance(t, int) and type(y) is not Int else t


def _of_array(tangents: Tangents, y: np.ndarray) -> Any:
    if y.dtype.kind not in "fc":
        return None
    t = tangents.get(y)
    if t is None:
        return np.zeros(y.shape, y.dtype)
    if tangents.lost is not None and np.isnan(t).any():
        raise tangents.lost()
    return tangents.run(np.copy, t)


connected.run_forward = run_forward
