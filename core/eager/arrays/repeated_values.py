"""Decompositions with equal eigenvalues, or with equal or zero singular values, in products v @ diag(f(lam)) @ v^H.

The gradient then contains terms f'(lam), limits of divided differences.  The cotangents of ``lam`` and ``v`` at one
point do not determine them: they are second derivatives of the loss with respect to a value and a vector.  So where a
decomposition gives equal values, an extra tape is put between the run and the enclosing derivative.  It records the
computations from ``lam`` and ``v`` and the backward sweep down to them.  Sweeping it from the cotangent of ``lam`` to
``v`` gives the second derivatives.  The limits are those at the point alone: how the gradient changes where equal values
split depends on third derivatives of the loss, so a derivative of the gradient is refused there.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...rules import find_rule
from ...rules.equal_values import as_distinct
from ...rules.matrix_factorisations import (
    diagonal_matrix,
    in_one_space,
    resolution,
    safe_reciprocal,
    without_complement,
)
from ...rules.products import hermitian as dagger
from ...rules.registry import HANDLERS
from ...rules.table import pull
from ...source.definitions import user_frame
from ..recorded.tape import Cotangents, Record, Tape, sweep
from .apply import pull_back
from .arrays import call_rule


def handles_equal_values(*functions: Any) -> None:
    """Register the ``eigh`` or ``svd`` of a library with this treatment."""
    for function in functions:
        HANDLERS[function] = functools.partial(_decompose, function)


def _no_tangent(function: Any, where: tuple[str, int]) -> NoDerivative:
    return NoDerivative(
        f"{function.__name__}, called at {where[0]}:{where[1]}, met equal values, whose vectors have no tangent; use reverse "
        "mode (morula.grad, morula.pullback), or scipy.linalg.sqrtm, expm, logm or polar"
    )


def _needs_limits(parts: tuple[Any, Any, Any]) -> bool:
    """Whether some values are equal, or singular values are zero, whose left and right vectors rotate independently."""
    s = np.asarray(parts[0])
    return bool(np.any(in_one_space(s))) or parts[2] is not None and bool(np.any(s <= resolution(s)))


class _Met:
    """A decomposition on the extra tape; while ``asked``, a sweep of that tape leaves its cotangents in ``found``."""

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
    if tape.tangents is not None:
        if parts is not None and tape.tangents.varies(parts[0]) and _needs_limits(parts):
            where = user_frame()
            tape.tangents.lose([v for v in parts[1:] if v is not None], lambda: _no_tangent(function, where))
        return y
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
    """Store the cotangents if asked for; else pass NaN, which marks a dependence on another decomposition's limits."""
    _, y, a, met = record
    g = table.take(y)
    if met.asked:
        met.found = g
    elif g is not None and a is not None:
        table.add(a, np.full(np.shape(a), np.nan, a.dtype))


def _parts(function: Any, y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any, Any] | None:
    """Return values, left and right vectors (None: the same); None for a result without vectors or with only some."""
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
    if _is_differentiated(level.parent):
        raise NoDerivative(
            f"{met.what} met equal values; a loss that uses both the values and their vectors then has derivatives "
            "of first order only. For higher orders use scipy.linalg.sqrtm, expm, logm or polar"
        )
    dvalues = table.run(np.copy, table.window(values))
    delta = np.arange(1.0, np.shape(values)[-1] + 1)
    inner = Cotangents(None, level.parent)
    inner.tape = level
    inner.add(dvalues, np.array(np.broadcast_to(delta, np.shape(values)), dtype=np.asarray(values).dtype))
    met.asked, met.found = True, None
    try:
        sweep(level, inner)
    finally:
        met.asked = False
    found = _cotangent(rule, table.take(y), y, args, kwargs, _vectors(met, right is not None))
    level.records.append((_refuse_chain, found, met))
    table.add(args[0], found)


def _refuse_chain(table: Cotangents, record: Record) -> None:
    """Refuse a cotangent that depends on the limits of a later decomposition, unknown on this tape."""
    if table.take(record[1]) is not None:
        raise NoDerivative(record[2].what + CHAIN)


def _vectors(met: _Met, has_right: bool) -> tuple[Any, Any]:
    """Return the cotangents of left and right vectors from that of a decomposition."""
    found = met.found
    left, right = (None, None) if found is None else (found[0], found[2]) if has_right else (found[1], None)
    for g in (left, right):
        if g is not None and np.any(np.isnan(g)):
            raise NoDerivative(met.what + CHAIN)
    return left, right


CHAIN = (
    " met equal values, and so did another decomposition whose result it depends on, or that depends on its result; such "
    "a chain has no derivative rule. Use scipy.linalg.sqrtm, expm, logm or polar for one of them"
)


def _is_differentiated(tape: Tape | None) -> bool:
    """Whether a derivative records on a tape or those around it, without extra tapes."""
    while tape is not None and tape.is_between:
        tape = tape.parent
    return tape is not None


def _cotangent(rule: Any, dy: Any, y: Any, args: Any, kwargs: Any, turned: tuple[Any, Any]) -> Any:
    """Return the cotangent of the matrix: that of the rule plus the limits for pairs of equal values.

    ``turned``: how the cotangents of left and right vectors change as the values grow by 1, 2, 3, ...
    """
    if len(y) == 3:
        u, s, vh = y
        k = s.shape[-1]
        v = dagger(vh)
        du, ds, dvh = dy
        nu, nv = turned[0], None if turned[1] is None else dagger(turned[1])
        limit = diagonal_matrix(ds) + _limit(nv, v, s) + _limit(nu, u, s)
        limit = limit + _limit_at_zero(nu, u, s) - _limit_at_zero(nv, v, s)
        outside = _limit_outside(nu, u, s) @ vh[..., :k, :] + u[..., :k] @ dagger(_limit_outside(nv, v, s))
        return pull(rule, (du, None, dvh), y, args, kwargs)[0] + u[..., :k] @ limit @ vh[..., :k, :] + outside
    lam, v = y
    apart, dv = as_distinct(dy[1], lam, v, _limit(turned[0], v, lam))
    return pull(rule, (dy[0], dv), (apart, v), args, kwargs)[0]


def _growth(s: Any) -> Any:
    return np.arange(1.0, s.shape[-1] + 1)


def _limit(n: Any, v: Any, s: Any) -> Any:
    """Return the limit of the rotation within the space of equal values; ``n`` is the loss's second derivative."""
    if n is None:
        return 0.0
    v, n = without_complement(n, v, s.shape[-1])
    m = dagger(v) @ n
    delta = _growth(s)
    return np.where(in_one_space(s), (m - dagger(m)) * 0.5 * safe_reciprocal(delta - delta[:, None]), 0.0)


def _limit_at_zero(n: Any, v: Any, s: Any) -> Any:
    """Return the limit of the relative rotation of left and right vectors where both values are zero: pairs, phases."""
    if n is None:
        return 0.0
    v, n = without_complement(n, v, s.shape[-1])
    m = dagger(v) @ n
    at_zero, delta = s <= resolution(s), _growth(s)
    return np.where(
        at_zero[..., None, :] & at_zero[..., :, None], (m - dagger(m)) * 0.5 / (delta + delta[:, None]), 0.0
    )


def _limit_outside(n: Any, v: Any, s: Any) -> Any:
    """Return the limit of the rotation of vectors of value zero out of the space spanned by all vectors."""
    k = s.shape[-1]
    if n is None or v.shape[-2] == k:
        return np.zeros_like(v[..., :k])
    v, n = without_complement(n, v, k)
    return np.where((s <= resolution(s))[..., None, :], (n - v @ (dagger(v) @ n)) / _growth(s), 0.0)


def _is_recorded_on(level: Tape, table: Cotangents) -> bool:
    """Whether the sweep is recorded on a tape; that of a repeated run of a part of the program is not."""
    tape = table.parent
    while tape is not None and tape is not level:
        tape = tape.parent
    return tape is level


handles_equal_values(np.linalg.eigh, np.linalg.svd)
