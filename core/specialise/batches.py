"""Batches inside compiled code: what ``lanes`` (of ``vmap``) and operations on all samples do on traced values.

As for a derivative, the function is traced into a typed function of its own, for one sample; ``passes.batch`` makes the function for
all samples of it, which is inlined where it was called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..errors import BadInput
from ..faults import kind_of
from ..ir import typed
from ..ir.derived import Derived
from ..ir.dynamic import Function, Value
from ..ir.traced_text import Text
from ..ir.typed import INT64, ArrayType
from ..passes.batch import batch, without_rules
from ..passes.batch.duals import is_of_few_numbers, joined, with_partials
from ..passes.custom_derivatives import without_marks
from ..passes.inline import inline
from ..values.layout import held_by
from .functions import Captured
from .iterators import Iterator
from .rows import Rows
from .scopes import Choice, Conflict, Late
from .traced import Array, Scalar, Storage, Traced


def trace_lanes(
    trace: Any, of_one: Callable[..., Any], arrays: Sequence[Any], axis: Any, name: str
) -> tuple[list[Any], list[Any], Any]:
    """Return the results of ``of_one`` for all samples of a program's arrays, those that are the same, and the structure."""
    builder = trace.builder
    given = [trace.value(x) for x in arrays]
    count = given[0].type.shape[0]
    for v in given[1:]:
        if v.type.shape[0] != count:  # lengths that are known have been compared
            builder.same_length(count, v.type.shape[0])
    parameters = [Value("x", ArrayType(v.type.dtype, v.type.shape[1:])) for v in given]

    counts: list[int] = []

    def run() -> tuple[list[Value], Any]:
        trace.axes[axis] = count
        around, trace.level_of_batch = trace.level_of_batch, trace.level
        only_reverse, trace.only_reverse = trace.only_reverse, False  # see ``with_partials``
        try:
            found = trace.call(of_one, trace.new([_sample(p) for p in parameters]))
        finally:
            del trace.axes[axis]
            trace.level_of_batch, trace.only_reverse = around, only_reverse
        leaves, alike, y = trace.iterate(found)
        if differs(y, set()):
            raise BadInput(
                f"vmap: {name} returns values of different kinds, or texts of numbers, depending on the sample; return numbers and arrays "
                "in one structure"
            )
        counts[:] = [len(leaves), len(alike)]
        return [trace.value(x) for x in (*leaves, *alike)], y

    made = Captured(trace, name, parameters, run)
    first = builder.constant(0, np.int64)
    if made.raises:
        of_first = [builder.getitem(v, [first], ("i", *[":"] * (v.type.ndim - 1)), []) for v in given]
        made.settle(inline(builder, made.function, [*of_first, *made.free]))
    refuse_changes(trace, made, name)
    report: list[str] = []
    alike = set(made.asked[counts[0] :])
    operands = [*given, *made.free]

    def of_all(function: Function, results: Sequence[bool] = ()) -> list[Value]:
        varying = [True] * len(parameters) + [False] * len(made.free)
        whole = batch(without_marks(function), varying, count, trace.target, axis, report, results)
        return inline(builder, whole if trace.axes else without_rules(whole), operands)

    if trace.level and not trace.taylor_order and not alike and is_of_few_numbers(made.function):
        y, *partials = of_all(with_partials(made.function, trace.target, trace.level > 1))
        values = [joined(builder, y, [v for v in operands if v.type.is_inexact], partials)]
        report[0] += "; its derivatives are computed with the values"
    else:
        values = of_all(made.function, [v in alike for v in made.results])
    trace.batches.append(f"vmap of {name}: {report[0]}")
    found = dict(zip(made.results, values))
    results = [trace.wrap(found[v]) for v in made.asked]
    return trace.new(results[: counts[0]]), trace.new(results[counts[0] :]), made.outcome


def differs(y: Any, seen: set[int], leaf: type | tuple[()] = ()) -> bool:
    """Whether a structure, without the leaves of a class, depends on values that are not known while compiling."""
    if isinstance(y, leaf):
        return False
    if isinstance(y, (Traced, Conflict, Late)) or type(y) in (Choice, Derived, Rows, Text):
        return True
    held = None if id(y) in seen else held_by(y)
    seen.add(id(y))
    return held is not None and any(differs(e, seen, leaf) for e in held[1])


def _sample(parameter: Value) -> Any:
    return Array(Storage(parameter)) if parameter.type.shape else Scalar(parameter)


def refuse_changes(trace: Any, made: Captured, name: str) -> None:
    """Refuse a function that leaves something behind that all samples would share."""
    for holder, _ in made.region.after.values():
        if holder is trace.numbers.turns:  # identifies arrays that loops make, none of which leaves a sample
            continue
        if not isinstance(holder, Iterator) and trace.made_in(holder) is not made.region.changes:
            what = (
                "an array"
                if isinstance(holder, Storage)
                else "variables"
                if type(holder) is dict
                else f"a {kind_of(holder)}"
            )
            raise BadInput(f"vmap: {name} changes {what} that all samples share; return the new values instead")


def _check(trace: Any, function: str, axis: Any) -> None:
    if axis not in trace.axes:
        raise BadInput(without_axis(function, axis, trace.axes))


def without_axis(function: str, axis: Any, known: Iterable[Any] = ()) -> str:
    names = [repr(a) for a in known if isinstance(a, str)]
    return f"{function}: no vmap around this call has axis_name={axis!r}" + (
        f"; there is {', '.join(names)}" if names else ""
    )


def trace_sum(trace: Any, x: Any, axis: Any) -> Any:
    _check(trace, "psum", axis)
    value = trace.value(x)
    if value.type.dtype.kind == "b":
        value = trace.builder.cast(value, np.int64)
    return trace.wrap(
        trace.builder.call(typed.lane_sum, [value], [ArrayType(value.type.dtype, value.type.shape)], axis=axis)[0]
    )


def trace_joined(trace: Any, x: Any, axis: Any) -> Any:
    _check(trace, "all_gather", axis)
    value = trace.value(x)
    kind = ArrayType(value.type.dtype, (trace.axes[axis], *value.type.shape))
    return trace.wrap(trace.builder.call(typed.lanes_joined, [value], [kind], axis=axis)[0])


def trace_index(trace: Any, axis: Any) -> Any:
    _check(trace, "axis_index", axis)
    return trace.wrap(trace.builder.call(typed.lane_index, [], [INT64], axis=axis)[0])
