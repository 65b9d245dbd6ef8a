"""``no_derivative``: a value that depends on others without a known derivative.

A cotangent of the value passes on to the value itself. It is an error only if what the value also depends on was computed from a
differentiated argument; the tape tells that, as for opaque calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import BadInput
from ...rules.registry import handles
from ...source.requirements import kind_of
from ...values.numbers import call_on
from ...values.tangents import has_tangent
from ..recorded.custom import distinct
from ..recorded.snapshots import as_it_is
from ..recorded.tape import Cotangents, Record, Tape
from .opaque import Opaque, judge, may_depend, note_given, refusal


def no_derivative(y: Any, reason: str, wrt: Any = None) -> Any:
    """Return ``y``; a derivative of it with respect to ``wrt`` is an error with the given reason.

    Use it where a result depends on a setting through code that is not differentiated, such as step sizes or the search
    for a root: a derivative would silently be zero. Derivatives with respect to all else pass. It is an error only if
    ``wrt`` depends on a differentiated argument, and the derivative of ``y`` is not zero; compiled code refuses when it
    is compiled.

    Args:
        y: a number, an array, or lists, tuples and dicts of these.
        reason: the text of the error: what has no derivative, why, and what to do instead.
        wrt: what ``y`` depends on, in any structure; ``y`` itself by default.

    Returns:
        A value equal to ``y``, of the same structure.

    Raises:
        BadInput: ``reason`` is not a text.
        NoDerivative: in a derivative, in reverse and forward mode, with the reason.

    >>> from morula.core import constant, grad
    >>> count = constant(lambda x, tolerance: x - x % tolerance)  # a derivative by neither
    >>> def rounded(x, tolerance):
    ...     return no_derivative(x * count(x, tolerance), "rounded has no derivative by tolerance", tolerance)
    >>> grad(rounded)(7.0, 2.0)
    6.0
    >>> grad(rounded, 1)(7.0, 2.0)
    Traceback (most recent call last):
        ...
    morula.core.errors.NoDerivative: rounded has no derivative by tolerance
    """
    check_reason(reason)
    return y


def check_reason(reason: Any) -> None:
    if not isinstance(reason, str) or not reason:
        raise BadInput(f"the reason of no_derivative is {kind_of(reason)}; expected the text of the error")


@handles(no_derivative)
def _recorded(tape: Tape, y: Any, reason: str, wrt: Any = None) -> Any:
    check_reason(reason)
    wrt = y if wrt is None else wrt
    around = call_on(tape.parent, no_derivative, y, reason, wrt)
    result = call_on(tape.parent, distinct, around)
    opaque = note_given(tape, no_derivative, (wrt,))
    opaque.says = lambda: reason
    # A record that has an Opaque depends on its inputs only, so these records have the call in a closure.
    for part, e in _paired(result, y):
        tape.records.append((refused_back, part, e, as_it_is(wrt), lambda: opaque))
    return result


def _paired(result: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the numbers and arrays of a result with those of which they are copies."""
    if isinstance(y, (list, tuple)):
        for part, e in zip(result, y):
            yield from _paired(part, e)
    elif isinstance(y, dict):
        for key, e in y.items():
            yield from _paired(result[key], e)
    elif has_tangent(y):
        yield result, y


def refused_back(table: Cotangents, record: Record) -> None:
    _, result, y, _, call = record
    dy = table.take(result)
    if dy is None:
        return
    opaque: Opaque = call()
    if np.any(dy != 0) and may_depend(table.tape, opaque):
        if opaque.moved is None:
            judge(table.tape)
        if opaque.depends:
            raise refusal(opaque)
    table.add(y, dy)
