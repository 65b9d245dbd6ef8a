"""Records a compiled function as one operation on a tape, with a compiled pullback.

If the result is one real number, its gradient is computed in the forward pass, and the backward pass scales it.
Otherwise the backward pass recomputes the function, in one program with its backward sweep.  A function that mutates its
arguments, or reads outside values that the run computed, is recorded from its source as if it were not compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import Any

import numpy as np

from ..api import pullback
from ..eager.arrays.integers import carries
from ..eager.recorded.custom import distinct
from ..eager.recorded.tape import Cotangents, Record, Tape
from ..eager.structured.captured import made_on
from ..specialise.traced import always_traces
from ..specialise.transforms import trace_pullback_of_inexact
from ..values.array_classes import is_array_class
from ..values.cotangents import conform, scale
from ..values.layout import Again, Describe, Fixed, Holder, Hole, Layout, Static, build, layout_of
from ..values.numbers import Int, call_on
from ..values.reachable import reached
from .compiled import Compilation


def pullback_of_inexact(f: Callable[..., Any], given: Any) -> Any:
    """Return the pullback of ``f(given)``; compiled, Python ints are not differentiated: they may be lengths or indices.

    A recorded call has no differentiated ints: those are recorded from the function's source.
    """
    return pullback(f, given)


always_traces(pullback_of_inexact)(trace_pullback_of_inexact)


def value_and_gradient_of(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function ``(args, kwargs) -> (y, gradient)`` for an ``f`` that returns a real number."""

    def apply(given: Any) -> Any:
        return f(*given[0], **given[1])

    def value_and_gradient(args: Any, kwargs: Any) -> Any:
        y, back = pullback_of_inexact(apply, (args, kwargs))
        return y, back(1.0)[0]

    return value_and_gradient


def pullback_of(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the pullback of ``f`` as a function ``(dy, args, kwargs) -> cotangents``."""

    def apply(given: Any) -> Any:
        return f(*given[0], **given[1])

    def pull(dy: Any, args: Any, kwargs: Any) -> Any:
        return pullback_of_inexact(apply, (args, kwargs))[1](dy)[0]

    return pull


def record_call(tape: Tape, jitted: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a compiled function on a tape."""
    if tape.tangents is not None and tape.tangents.is_series:  # a program has a pullback, but no series
        return jitted.recorded(tape, args, kwargs)
    given = jitted.given(args, kwargs)
    described = Describe()
    layout = described.describe(given)
    leaves = described.leaves
    if any(type(x) is Int or carries(tape, x) for x in leaves) or _has_int(layout) or _has_class(layout):
        return jitted.recorded(tape, args, kwargs)
    found, _ = jitted.compilation(*given)
    if not is_operation(found) or not _is_apart(tape, found, [*described.static, *_keys(layout)]):
        return jitted.recorded(tape, args, kwargs)
    kept = _Kept(jitted, given, leaves, layout)
    if is_real_number(found):
        if not jitted.has_gradient(given):
            return jitted.recorded(tape, args, kwargs)
        y, gradient = call_on(tape.parent, jitted.with_gradient, *given)
        y = call_on(tape.parent, distinct, y)
        tape.records.append((_scale_gradient, y, jitted, gradient, kept))
        return y
    y = call_on(tape.parent, jitted.plain, *given[0], **given[1])
    if found.program.may_give_arguments and _share_memory(y, leaves):
        return jitted.recorded(tape, args, kwargs)
    if _has_class(layout_of(y)):  # a distinct copy is of no derived class
        return jitted.recorded(tape, args, kwargs)
    y = call_on(tape.parent, _distinct, y)
    results = Describe()
    of_y = _each_once(results.describe(y), set())
    if _hides_numbers(results):
        return jitted.recorded(tape, args, kwargs)
    if not jitted.has_pull(found, build(of_y, [_zero(x) for x in results.leaves]), given):
        return jitted.recorded(tape, args, kwargs)
    tape.records.append((_run_again, results.leaves, jitted, of_y, kept))
    return y


def _share_memory(y: Any, leaves: list[Any]) -> bool:
    """Return whether an array of the result aliases an argument."""
    arrays = [x for x in leaves if isinstance(x, np.ndarray)]
    return any(np.may_share_memory(x, a) for x in _leaves_of(y) if isinstance(x, np.ndarray) for a in arrays)


class _Kept:
    """The arguments of a recorded call."""

    def __init__(self, jitted: Any, given: Any, leaves: list[Any], layout: Layout) -> None:
        self.jitted, self.given, self.leaves, self.layout = jitted, given, leaves, layout
        self.operands = leaves

    def add(self, table: Cotangents, gradient: Any, dy: Any = None) -> None:
        for x, g in zip(self.leaves, along(self.layout, gradient, len(self.leaves))):
            if g is not None and (isinstance(x, (float, complex, np.inexact)) or isinstance(x, np.ndarray)):
                g = g if dy is None else table.run(scale, dy, g)
                table.add(x, table.run(conform, g, x))


def _scale_gradient(table: Cotangents, record_call: Record) -> None:
    _, y, _, gradient, kept = record_call
    dy = table.take(y)
    if dy is not None:
        kept.add(table, gradient, dy)


def _run_again(table: Cotangents, record_call: Record) -> None:
    _, results, jitted, layout, kept = record_call
    dys = [table.take(y) for y in results]
    if all(dy is None for dy in dys):
        return
    dys = [_zero(y) if dy is None else table.run(conform, dy, y) for y, dy in zip(results, dys)]
    kept.add(table, table.run(jitted.pull, build(layout, dys), *build(kept.layout, kept.leaves)))


def _each_once(layout: Layout, seen: set[int]) -> Layout:
    """Return a result's layout in which an array or holder that stands in several places is in the first one alone.

    A pullback adds the cotangents of all places, but the tape has one for each array and number.
    """
    if isinstance(layout, Again) or isinstance(layout, Hole) and layout.index in seen:
        return Fixed(None)
    if isinstance(layout, Hole):
        seen.add(layout.index)
    if isinstance(layout, Holder):
        return replace(layout, parts=[_each_once(part, seen) for part in layout.parts])
    return layout


def _zero(y: Any) -> Any:
    if isinstance(y, np.ndarray):
        return np.zeros_like(y) if y.dtype.kind in "fc" else None
    return type(y)(0) if isinstance(y, (float, complex, np.inexact)) else None


def is_operation(found: Compilation) -> bool:
    """Return whether a call does not mutate its arguments and returns a new object, of one structure for all runs."""
    program = found.program
    return not (
        program.is_irregular or program.written or program.updates or program.knows_objects or program.gives_arguments
    )


def is_real_number(found: Compilation) -> bool:
    """Return whether the result is one real number."""
    results = found.program.function.block.results
    return found.program.is_number and results[0].type.dtype.kind == "f"


def _is_apart(tape: Tape, found: Compilation, static: list[Any]) -> bool:
    """Return whether no static or outside value that the function reads was computed on a tape."""
    program = found.program
    values = static + [
        guard.found for guard in program.guards if isinstance(guard.found, (float, complex, np.inexact, tuple, list))
    ]
    given: set[int] = set()
    reached([*values, *(source.read() for source in program.hidden)], given)
    return not given or all(given.isdisjoint(made) for made in made_on(tape))


def _has_int(layout: Layout) -> bool:
    """Return whether a layout contains an ``Int``, the recorded tier's differentiated integer."""
    if isinstance(layout, Holder):
        return any(map(_has_int, layout.parts))
    value = getattr(layout, "value", None)
    return type(value) is Int or isinstance(value, Static) and type(value.value) is Int


def _has_class(layout: Layout) -> bool:
    """Return whether a layout contains an array of a class derived from ``ndarray``, whose cotangent has another structure."""
    return isinstance(layout, Holder) and (is_array_class(layout.kind) or any(map(_has_class, layout.parts)))


def _keys(layout: Layout) -> list[Any]:
    """Return the keys of the dicts in a layout."""
    if not isinstance(layout, Holder):
        return []
    keys = [layout.names] if issubclass(layout.kind, dict) else []
    return keys + [key for part in layout.parts for key in _keys(part)]


def _hides_numbers(results: Describe) -> bool:
    """Return whether a result holds inexact numbers that are no leaves and so have no cotangent, as the items of a set.

    Members of an enumeration and classes are not made by a run.
    """
    hidden = [x for x in results.static if not isinstance(x, Enum)]
    hidden += [x for x in results.leaves if isinstance(x, np.ndarray) and x.dtype.kind == "O"]
    values = [x for x in hidden if isinstance(x, (float, complex))]  # of a derived class
    reached(hidden, set(), values=values)
    return any(isinstance(x, (float, complex)) or getattr(x, "dtype", np.dtype(bool)).kind in "fc" for x in values)


def _leaves_of(y: Any) -> list[Any]:
    found = Describe()
    found.describe(y)
    return found.leaves


def _distinct(y: Any) -> Any:
    return distinct(y) if isinstance(y, (list, tuple, np.ndarray, float, complex, np.inexact)) else y


def along(layout: Layout, x: Any, n: int) -> list[Any]:
    """Return the parts of a gradient ``x`` that correspond to the n leaves of a layout; None where it has none."""
    found: list[Any] = [None] * n

    def walk(layout: Layout, x: Any) -> None:
        if x is None or isinstance(layout, Again):
            return
        if isinstance(layout, Hole):
            found[layout.index] = x
        elif isinstance(layout, Holder):
            if isinstance(x, (list, tuple)):
                parts = list(x)
            elif isinstance(x, dict):
                parts = list(x.values())
            else:
                parts = [getattr(x, name, None) for name in layout.names[1:]]
            for part, e in zip(layout.parts, parts):
                walk(part, e)

    walk(layout, x)
    return found
