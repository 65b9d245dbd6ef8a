"""Eigenvectors and singular vectors of equal values, and of singular values of zero, weighed by functions of these: v @ diag(f(lam)) @ v^H.

The gradient then has terms f'(lam), limits of divided differences, that the cotangents of ``lam`` and ``v`` at one point do
not tell: they are second derivatives of the loss, by a value and a vector.  So where a decomposition gives equal values, a
tape of its own is put between the run and the enclosing derivative.  It records what is computed from ``lam`` and ``v`` and the
backward sweep down to them, and is then swept itself, from the cotangent of ``lam`` to ``v``.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from ...errors import NoDerivative
from ...rules import find_rule
from ...rules.matrix_factorisations import (
    diagonal_matrix,
    in_one_space,
    reciprocal_gaps,
    resolution,
    safe_reciprocal,
    without_complement,
)
from ...rules.products import hermitian as dagger
from ...rules.registry import HANDLERS
from ...rules.table import pull
from ...source.definitions import user_frame
from ..recorded.call import call
from ..recorded.tape import Cotangents, Record, Tape, sweep
from .apply import pull_back
from .arrays import call_rule


def handles_equal_values(*functions: Any) -> None:
    """Register ``eigh`` or ``svd`` of a library."""
    for function in functions:
        HANDLERS[function] = functools.partial(_decompose, function)


def _needs_limits(parts: tuple[Any, Any, Any]) -> bool:
    """Whether vectors belong to equal values, or the left and right ones of zero turn by themselves."""
    s = np.asarray(parts[0])
    return bool(np.any(in_one_space(s))) or parts[2] is not None and bool(np.any(s <= resolution(s)))


class _Met:
    """A decomposition on the tape between: the cotangents of its vectors, where it is they that are asked for."""

    asked = False
    found: Any = None

    def __init__(self, name: str) -> None:
        file, line = user_frame()
        self.what = f"{name}, called at {file}:{line},"


def _decompose(function: Any, tape: Tape, *args: Any, **kwargs: Any) -> Any:
    rule: Any = find_rule(function)
    before = len(tape.records)
    y = call_rule(tape, rule, args, kwargs)
    parts = _parts(function, y, args, kwargs)
    if len(tape.records) == before or parts is None or not _needs_limits(parts):
        return y
    plain = tape.records[-1]
    if tape.is_between:
        tape.records[-1] = (_pull_between, y, plain[3][0], _Met(function.__name__))
        return y
    if tape.level is None:
        tape.parent = tape.level = Tape(tape.parent)
        tape.level.is_between = True
    level = tape.level
    if not level.records or level.records[-1][0] is not _pull_between or level.records[-1][1] is not y:
        level.records.append((_pull_between, y, None, _Met(function.__name__)))
    tape.records[-1] = (_pull_equal, *plain[1:], level, level.records[-1][3])
    return y


def _pull_between(table: Cotangents, record: Record) -> None:
    """Give the cotangents to who asks for them; NaN marks what would depend on limits of another decomposition."""
    _, y, a, met = record
    g = table.take(y)
    if met.asked:
        met.found = g
    elif g is not None and a is not None:
        table.add(a, np.full(np.shape(a), np.nan, a.dtype))


def _parts(function: Any, y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any] | None:
    """Values, left and right vectors (None: the same); None for what has no vectors, or not all of one matrix."""
    if not isinstance(y, tuple) or kwargs.get("hermitian") or len(args) > 2:
        return None
    if len(y) == 3:
        return y[1], y[0], y[2]
    whole = kwargs.get("b") is None and not (len(args) > 1 and isinstance(args[1], np.ndarray))
    return (y[0], y[1], None) if whole and np.shape(y[0])[-1] == np.shape(y[1])[-2] else None


def _pull_equal(table: Cotangents, record: Record) -> None:
    *plain, level, met = record
    _, y, rule, args, kwargs = plain
    values, left, right = _parts(rule.function, y, args, kwargs)  # type: ignore[misc]
    used = table.reached(values) and (table.reached(left) or right is not None and table.reached(right))
    if not used or not _is_recorded_on(level, table):
        return pull_back(table, tuple(plain))
    if _orders(level.parent) > 1:
        raise NoDerivative(
            f"{met.what} met equal values, where a loss that uses both these and their vectors has derivatives "
            "of first and second order only; use scipy.linalg.sqrtm, expm, logm or polar"
        )
    dvalues = table.run(np.copy, table.window(values))
    n = np.shape(values)[-1]
    turns: Any = []
    for delta in _directions(n, level.parent is not None):
        inner = Cotangents(None if level.parent is None else functools.partial(call, level.parent), level.parent)
        inner.tape = level
        inner.add(dvalues, np.array(np.broadcast_to(delta, np.shape(values)), dtype=np.asarray(values).dtype))
        met.asked, met.found = True, None
        try:
            sweep(level, inner)
        finally:
            met.asked = False
        turns.append(_vectors(met, right is not None))
    scales = _scales(n, level.parent is not None)
    run = functools.partial(call, level.parent) if level.parent is not None else lambda f, *a: f(*a)
    dy = table.take(y)
    found = run(_cotangent, rule, dy, y, args, kwargs, turns, scales)
    level.records.append((_refuse_chain, found, met))
    table.add(args[0], found)


def _refuse_chain(table: Cotangents, record: Record) -> None:
    """What depends on the limits of a later decomposition has a derivative that is not known on this tape."""
    if table.take(record[1]) is not None:
        raise NoDerivative(record[2].what + CHAIN)


def _vectors(met: _Met, has_right: bool) -> tuple[Any, Any]:
    """The cotangents of left and right vectors in that of a decomposition."""
    found = met.found
    left, right = (None, None) if found is None else (found[0], found[2]) if has_right else (found[1], None)
    for g in (left, right):
        if g is not None and np.any(np.isnan(g)):
            raise NoDerivative(met.what + CHAIN)
    return left, right


CHAIN = (
    " met equal values, and so did another decomposition, from which its matrix was made or that was made from it; the limits "
    "that their derivative needs are not taken: use scipy.linalg.sqrtm, expm, logm or polar for one of them"
)


def _orders(tape: Tape | None) -> int:
    """How many derivatives of the program record on a tape and on those around it."""
    count = 0
    while tape is not None:
        count, tape = count + (not tape.is_between), tape.parent
    return count


def _directions(n: int, again: bool) -> list[Any]:
    """In which the values move apart: each by itself if the gradient is differentiated again, else all at once."""
    return [np.eye(n)[k] for k in range(n)] if again else [np.arange(1.0, n + 1)]


class _Scale(NamedTuple):
    """What makes the turns in one direction the limits: of pairs by differences and by sums of values, of single values."""

    apart: np.ndarray
    together: np.ndarray
    single: np.ndarray


def _scales(n: int, again: bool) -> list[_Scale]:
    """For each direction; a pair moves apart by as much to either side."""
    if not again:
        delta = np.arange(1.0, n + 1)
        return [_Scale(0.5 * safe_reciprocal(delta - delta[:, None]), 0.5 / (delta + delta[:, None]), 1 / delta)]
    unit = np.eye(n)
    return [_Scale(0.25 * (e - e[:, None]), 0.25 * np.maximum(e, e[:, None]), e) for e in unit]


def _cotangent(rule: Any, dy: Any, y: Any, args: Any, kwargs: Any, turns: Any, scales: Any) -> Any:
    """The cotangent of the matrix: the rule's, and the limits for pairs of equal values."""
    if len(y) == 3:
        u, s, vh = y
        k = s.shape[-1]
        v = dagger(vh)
        du, ds, dvh = dy
        limit = diagonal_matrix(ds)
        outside: Any = 0.0
        for (nu, nvh), scale in zip(turns, scales):
            nv = None if nvh is None else dagger(nvh)
            limit = limit + _limit(nv, v, s, scale) + _limit(nu, u, s, scale)
            limit = limit + _limit_at_zero(nu, u, s, scale) - _limit_at_zero(nv, v, s, scale)
            outside = outside + _limit_outside(nu, u, s, scale) @ vh[..., :k, :]
            outside = outside + u[..., :k] @ dagger(_limit_outside(nv, v, s, scale))
        return pull(rule, (du, None, dvh), y, args, kwargs)[0] + u[..., :k] @ limit @ vh[..., :k, :] + outside
    (dlam, dv), (lam, v) = dy, y
    turn = reciprocal_gaps(lam) * (dagger(v) @ dv)
    for (n, _), scale in zip(turns, scales):
        turn = turn + _limit(n, v, lam, scale)
    apart = np.broadcast_to(np.arange(1.0, lam.shape[-1] + 1), lam.shape).astype(lam.dtype)
    # Values that differ, and vectors that turn as much: so the rule gives the limits the form of its argument.
    dv = v @ (turn * (apart[..., None, :] - apart[..., :, None]))
    return pull(rule, (dlam, dv), (apart, v), args, kwargs)[0]


def _limit(n: Any, v: Any, s: Any, scale: _Scale) -> Any:
    """The limit of how vectors turn within the space of equal values; ``n`` is the second derivative of the loss."""
    if n is None:
        return 0.0
    v, n = without_complement(n, v, s.shape[-1])
    m = dagger(v) @ n
    return np.where(in_one_space(s), (m - dagger(m)) * scale.apart, 0.0)


def _limit_at_zero(n: Any, v: Any, s: Any, scale: _Scale) -> Any:
    """The same of how left and right vectors turn against each other where both values are zero: pairs, and phases."""
    if n is None:
        return 0.0
    v, n = without_complement(n, v, s.shape[-1])
    m = dagger(v) @ n
    at_zero = s <= resolution(s)
    turn = (m - dagger(m)) * scale.together
    return np.where(at_zero[..., None, :] & at_zero[..., :, None], turn, 0.0)


def _limit_outside(n: Any, v: Any, s: Any, scale: _Scale) -> Any:
    """The same of how vectors of the value zero turn out of the space of all."""
    k = s.shape[-1]
    if n is None or v.shape[-2] == k:
        return np.zeros_like(v[..., :k])
    v, n = without_complement(n, v, k)
    return np.where((s <= resolution(s))[..., None, :], (n - v @ (dagger(v) @ n)) * scale.single, 0.0)


def _is_recorded_on(level: Tape, table: Cotangents) -> bool:
    """Whether the sweep is recorded on a tape: another run of a part of the program is not."""
    tape = table.parent
    while tape is not None and tape is not level:
        tape = tape.parent
    return tape is level


handles_equal_values(np.linalg.eigh, np.linalg.svd)
