"""Roots that C code finds by iterating on a Python function, differentiated by the implicit function theorem.

A root x of r is an implicit function of everything that r depends on: J dx = -dr at fixed x, with J the Jacobian of r.
One evaluation of r at x is on the tape.  The cotangent of x becomes a cotangent of that evaluation's result by one
solve with the transpose of J; backward sweeps over that evaluation alone give J.

``mo.implicit`` evaluates the residual anew.  Here the evaluation that the solver itself made is used, because the user's
function may have effects or remember its last result, and must be called as often as in plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...rules.connected import connected
from ...source.definitions import describe, user_frame
from ...values.numbers import call_on
from ..recorded.call import call
from ..recorded.custom import distinct
from ..recorded.tape import Cotangents, Record, Tape, sweep
from ..unrecorded.opaque import Opaque, judge


class Watched:
    """A Python function that C code calls.  Each call is recorded, and ``calls`` keeps (x, y, its evaluation)."""

    def __init__(self, tape: Tape, function: Any) -> None:
        self.tape, self.function = tape, function
        self.calls: list[tuple[Any, Any, Evaluation]] = []

    def __call__(self, x: Any, *args: Any) -> Any:
        x = np.copy(x) if isinstance(x, np.ndarray) else x  # the caller may reuse its memory
        y, evaluation = evaluated(self.tape, self.function, x, *args)
        self.calls.append((x, y, evaluation))
        if self.tape.tangents is not None:
            del self.calls[:-KEPT]
        return y


KEPT = 16
"""How many calls are kept in forward mode, whose memory must not grow: solvers return one of the last points."""

Evaluation = Callable[[], Tape]


def evaluated(tape: Tape, function: Any, x: Any, *args: Any) -> tuple[Any, Evaluation]:
    """Call a function on a tape; return its result and a function that returns the records of the call.

    In forward mode these are on a tape of their own, between the tape and the function.
    """
    if tape.tangents is None:
        first = len(tape.records)
        y = call(tape, function, x, *args)
        return y, lambda: _part(tape, first)
    inner = Tape(tape)
    inner.is_between = True
    return call(inner, function, x, *args), lambda: inner


def _part(tape: Tape, first: int) -> Tape:
    found = Tape()
    found.records = tape.records[first:]
    return found


def root(tape: Tape, x: Any, watched: Watched, *args: Any) -> Any:
    """Return the root ``x`` of a watched function as an implicit function of everything that function depends on."""
    is_series = tape.tangents is not None and tape.tangents.is_series
    for at, y, evaluation in reversed(watched.calls if tape.parent is None and not is_series else ()):
        if np.array_equal(at, x):
            return _attach(tape, at, y, evaluation, watched.function)
    return solution(tape, x, watched.function, *args)


def solution(tape: Tape, x: Any, residual: Callable[..., Any], *args: Any) -> Any:
    """Return the root ``x`` of ``residual(x, *args)`` as an implicit function of everything the residual depends on."""
    x = distinct(x) if tape.parent is None else solution(tape.parent, x, residual, *args)
    if tape.tangents is not None and tape.tangents.is_series:
        return connected.series_of_root(tape, x, residual, args)
    return _attach(tape, x, *evaluated(tape, residual, x, *args), residual)


def _attach(tape: Tape, x: Any, r: Any, evaluation: Evaluation, residual: Any) -> Any:
    records = evaluation()
    if isinstance(r, (list, tuple)):
        r, of_list = evaluated(records if tape.tangents is not None else tape, np.array, r)
        if tape.tangents is None:
            records.records = [*records.records, *of_list().records]
    y = call_on(tape.parent, distinct, x)
    record = implicit_back, y, x, r, records, residual, user_frame()
    tape.records.append(record)
    return y


def implicit_back(table: Cotangents, record: Record) -> None:
    _, y, x, r, evaluation, residual, where = record
    dy = table.take(y)
    if dy is None:
        return
    if any(type(s) is Opaque and s.moved is None for record in evaluation.records for s in record):
        judge(table.tape)
    jacobian = jacobian_of_residual(table, x, r, evaluation, residual, where)
    dr = table.run(np.linalg.solve, table.run(np.transpose, jacobian), table.run(np.reshape, dy, -1))
    dr = table.run(np.negative, dr)
    table.add(r, table.run(np.reshape, dr, r.shape) if isinstance(r, np.ndarray) else table.run(np.ndarray.item, dr))


def jacobian_of_residual(
    table: Cotangents, x: Any, r: Any, evaluation: Tape, residual: Any, where: tuple[str, int]
) -> Any:
    """Return the derivative of the residual ``r`` with respect to the solution ``x``, in an evaluation on a tape."""
    jacobian = table.run(np.stack, [_row(table, x, r, i, evaluation) for i in range(np.size(r))])
    if jacobian.shape[0] != jacobian.shape[1] or not np.linalg.cond(np.asarray(jacobian)) < 1 / np.finfo(float).eps:
        raise NoDerivative(
            f"the solution of an equation, computed at {where[0]}:{where[1]}, has no derivative: the Jacobian of {describe(residual)} is "
            "singular there, so the solution is not unique or not differentiable"
        )
    return jacobian


def _row(table: Cotangents, x: Any, r: Any, i: int, evaluation: Tape) -> Any:
    """Return the i-th row of the Jacobian: the derivative of entry i of ``r`` with respect to ``x``."""
    local = Cotangents(table.evaluate, table.parent, table.is_strong)
    local.unknown = table.unknown
    unit = np.zeros(np.shape(r))
    unit.flat[i] = 1.0
    local.add(r, unit if isinstance(r, np.ndarray) else unit.item())
    sweep(evaluation, local)
    dx = local.take(x)
    return np.zeros(np.size(x)) if dx is None else table.run(np.reshape, dx, -1)
