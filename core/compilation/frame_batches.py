"""Runs the frames of a batch: all frames of a kind whose parts have been computed at once, forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..api import adjoint
from ..ir.typed import ArrayType
from ..specialise.parts import LooksInto, NeedsResult, Outdated, Recursive
from ..values import tree
from ..values.layout import Build
from .frame_plans import Group, Plan, Work
from .frames import Kind
from .opened_structures import Ragged, capacity_of, ragged


def _values(leaves: Sequence[Any], variables: Any, x: Any, kind: ArrayType | Ragged) -> Any:
    """Return the leaves that ``_numbers`` has found, in place of ``x``."""
    if not isinstance(kind, Ragged):
        return leaves[variables]
    if kind.kind is np.ndarray:
        return x[0], [leaves[variables]]
    return x[0], [e if v is None else [leaves[i] for i in v] for e, v in zip(x[1], variables)]


def _columns(work: Work, leaves: Sequence[Any]) -> list[Any]:
    """Return the numbers and arrays of all frames of a kind: an array for each place, and for one of any length a list."""
    made: list[Any] = []
    for i, kind in enumerate(work.kind.types):
        values: Any = work.leaves[i]
        variables = work.variables[i] if work.variables else None
        if variables is not None:
            values = [_values(leaves, v, x, kind) for v, x in zip(variables, values)]
        if not isinstance(kind, Ragged):
            values = np.array(values, kind.dtype)
        made.append(values)
    return made


def _own(columns: list[Any], kinds: Sequence[ArrayType | Ragged], first: int, last: int, size: int) -> list[np.ndarray]:
    """Return the numbers and arrays of frames, one array for each place, and one of zeros that tells their number."""
    found = [np.zeros(size)]
    for values, kind in zip(columns, kinds):
        found += (
            ragged(values[first:last], size, kind)
            if isinstance(kind, Ragged)
            else [_filled_up(values[first:last], size)]
        )
    return found


def _filled_up(x: np.ndarray, size: int) -> np.ndarray:
    """Return rows, the last one repeated up to ``size``."""
    return x if len(x) == size else np.concatenate([x, np.repeat(x[-1:], size - len(x), axis=0)])


def run(plan: Plan, shared: Any, leaves: Sequence[Any], keep: Callable[..., None] | None = None) -> list[Any]:
    """Compute the results of all frames; ``keep`` is called with the inputs of each program."""
    results = plan.results()
    columns = {id(work): _columns(work, leaves) for work in plan.works}
    for group in plan.groups:
        kind = group.kind
        for first, last, size in group.pieces:
            own = _own(columns[id(group.work)], kind.types, first, last, size)
            inputs = [
                [x[rows] for x in results[plan.forms.index(form)]]
                for form, rows in zip(kind.results, _rows(group.work, first, last, size))
            ]
            try:
                y = kind.program(shared, own, inputs)
            except (LooksInto, NeedsResult, Recursive):
                raise Outdated("the function looks into other parts than before") from None
            for x, value in zip(results[plan.forms.index(kind.form)], y):  # type: ignore[arg-type]
                x[group.rows(first, last)] = value[: last - first]
            if keep is not None:
                keep(own, inputs)
    return results


def _rows(work: Work, first: int, last: int, size: int) -> Iterator[np.ndarray]:
    """Yield for each call the rows of its results for some frames; for calls for each item of a list, one for each place of an item."""
    for made, parts in zip(work.kind.calls, work.parts):
        found = parts.of(first, last)
        if made.of_each is not None:
            is_item = parts.are_items(first, last)
            capacity = capacity_of(work.leaves[work.kind.leaves.index(made.of_each)][first:last])
            given, found = found, np.zeros((last - first, capacity), np.int64)
            found[:, : is_item.shape[1]][is_item] = given
        yield _filled_up(found, size)


def results_of(plan: Plan, results: list[Any]) -> list[Any]:
    """Return the results for the samples."""
    found = []
    for kind, row in plan.roots:
        form = kind.form
        assert form is not None
        leaves = [
            np.array(x[row]) if t.shape else x[row].item() if t.weak else x[row]
            for x, t in zip(results[plan.forms.index(form)], form.types)
        ]
        found.append(Build(leaves).build(form.layout))
    return found


def execute(plan: Plan, shared: Any, leaves: Sequence[Any]) -> list[Any]:
    """Return the results for all samples.

    ``shared`` are the arguments that are the same for all, ``leaves`` those numbers and arrays of the samples that the plan has numbered.
    """
    return results_of(plan, run(plan, shared, leaves))


@adjoint(execute)
def _(plan: Plan, shared: Any, leaves: Sequence[Any]) -> Any:
    kept: list[Any] = []
    results = run(plan, shared, leaves, lambda *inputs: kept.append(inputs))

    def back(dy: Any) -> Any:
        cotangents = plan.results()
        for (kind, row), given in zip(plan.roots, dy):
            _add(cotangents[plan.forms.index(kind.form)], row, given, kind)  # type: ignore[arg-type]
        total: Any = None
        of_leaves: list[Any] = [0.0 * x for x in leaves]
        steps = reversed(kept)
        for group in reversed(plan.groups):
            of_results = cotangents[plan.forms.index(group.kind.form)]  # type: ignore[arg-type]
            for first, last, size in reversed(group.pieces):
                seeds = []
                for x in of_results:
                    seed = np.zeros((size, *x.shape[1:]), x.dtype)
                    seed[: last - first] = x[group.rows(first, last)]
                    seeds.append(seed)
                own, inputs = next(steps)
                d_shared, d_own, d_results = group.kind.pull(seeds, shared, own, inputs)
                if plan.is_numbered:
                    _add_to_leaves(of_leaves, group, first, last, iter(d_own[1:]))
                total = d_shared if total is None else tree.map_leaves(np.add, total, d_shared)
                for form, parts, found in zip(group.kind.results, group.work.parts, d_results):
                    rows = parts.of(first, last)
                    for x, d in zip(cotangents[plan.forms.index(form)], found):
                        if parts.starts is None:
                            x[rows] += d[: last - first]
                        else:
                            is_item = parts.are_items(first, last)
                            x[rows] += d[: last - first, : is_item.shape[1]][is_item]
        return None, tree.rebuild(total, _once(), is_shared=False), of_leaves

    return results_of(plan, results), back


def _once() -> Callable[[tree.Path, Any], Any]:
    """Return a function for ``tree.rebuild`` that leaves the cotangent of an array in its first place: an adjoint's are added."""
    seen: list[Any] = []

    def first(path: tree.Path, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            if any(x is e for e in seen):
                return None
            seen.append(x)
        return x

    return first


def _add(cotangents: list[np.ndarray], row: int, given: Any, kind: Kind) -> None:
    """Add the cotangent of a sample's result."""
    assert kind.form is not None
    leaves = iter(tree.leaves(given))
    for x, t in zip(cotangents, kind.form.types):
        if t.is_inexact:
            x[row] += next(leaves)


def _add_to_leaves(of_leaves: list[Any], group: Group, first: int, last: int, given: Iterator[Any]) -> None:
    """Add the cotangents of the numbers and arrays that frames have read."""
    for variables, kind in zip(group.work.variables, group.kind.types):
        if not isinstance(kind, Ragged):
            d = next(given)
            for v, of_frame in zip(variables[first:last] if variables is not None else (), d):
                of_leaves[v] = of_leaves[v] + of_frame
            continue
        columns = [next(given) for _ in range(kind.count + 1)][: len(kind.columns)]  # without numbers and lengths
        for i, x in enumerate(variables[first:last] if variables is not None else ()):
            if kind.kind is np.ndarray:
                of_leaves[x] = of_leaves[x] + columns[0][i][: len(of_leaves[x])]
                continue
            for column, d in zip(x, columns):
                for v, e in zip(column, d[i]) if column is not None else ():
                    of_leaves[v] = of_leaves[v] + e
