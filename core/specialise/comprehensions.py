"""Comprehensions and generator expressions that become loops: of unknown length, or too long to be unrolled.

A list comprehension is unrolled first, since its items may be known while compiling or differ in kind.  If it has no
known length, or its unrolled iterations emit many operations, it is a loop that appends to a list of traced length
(``growing_lists``).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..errors import BadInput
from ..source.trees import fill_locations
from .growing_lists import Form, reformed
from .iterators import remaining
from .loop_statements import LONG as MANY, UNROLLED
from .rows import rows_of
from .scopes import Scope, local_names
from .state import put
from .suspended import Generator

LONG, LONG_IN_A_LOOP = 200, 50
"""Iterations over a sequence that would be unrolled into more operations than this are a loop if growing lists make that possible; the second
limit is that inside of a comprehension that is a loop."""

_FOUND, _ITEMS = ".found", ".items"
"""Variables that no program can name."""


class TooManyOperations(BadInput):
    """Unrolled iterations emit so many operations that a loop is tried first."""


def limited(trace: Any, iterable: Any) -> Iterable[Any]:
    """Return the items of an iterable, for iterations that are unrolled.

    Raises:
        TooManyOperations: a loop could index the iterable, and the iterations emit more operations than ``LONG``, if the later ones
            emit as many as the earlier ones. Not in forms that unroll everything.
    """
    length = _known_length(trace, iterable)
    items = trace.iterate(iterable)
    return counted(trace, items, length) if length is not None and length > UNROLLED else items


def counted(trace: Any, items: Iterable[Any], length: int = 0) -> Iterator[Any]:
    """Yield items, and count the operations that are emitted in between: see ``limited``."""
    start = len(trace.builder.out)
    for i, x in enumerate(items):
        emitted = len(trace.builder.out) - start
        most = LONG_IN_A_LOOP if trace.growing else LONG
        if i >= UNROLLED and emitted * max(length, i) > most * i and _can_be_loop(trace):
            raise TooManyOperations(
                f"iterations are unrolled into more than {most} operations; write a for loop over range, which fills an array"
            )
        yield x


def _can_be_loop(trace: Any) -> bool:
    can_grow, can_unroll = trace.allows("may_grow"), trace.allows("may_unroll")
    return can_grow or not can_unroll


def warn_long(trace: Any, emitted: int) -> None:
    """Warn of a comprehension that was unrolled into so many operations."""
    if emitted > MANY:
        trace.warn(
            f"a comprehension is unrolled into {emitted} operations, because its items cannot be computed by a loop; compiling will take "
            f"long\n  {trace.where()}"
        )


def collected(trace: Any, generator: Generator) -> Any:
    """Return the list of the items of a generator expression that has not begun."""
    generator.finish(trace)
    try:
        return trace.expressions.within(
            generator.around, lambda: trace.expressions.listed(generator.node, generator.first)
        )
    except StopIteration as error:
        raise RuntimeError("generator raised StopIteration") from error


def grown(trace: Any, node: ast.ListComp | ast.GeneratorExp, items: Any) -> Any:
    """Evaluate a comprehension over ``items`` as a loop, and return its list."""
    append = ast.Call(ast.Attribute(ast.Name(_FOUND, ast.Load()), "append", ast.Load()), [node.elt], [])
    body: ast.stmt = ast.Expr(append)
    for depth, part in reversed(list(enumerate(node.generators))):
        for test in reversed(part.ifs):
            body = ast.If(test, [body], [])
        body = ast.For(part.target, ast.Name(_ITEMS, ast.Load()) if depth == 0 else part.iter, [body], [])
    fill_locations(ast.copy_location(body, node))
    scope = Scope(local_names(node) | {_FOUND, _ITEMS}, trace.scope, None, trace.scope.name)
    trace.new(scope.vars)
    found: list[Any] = trace.new([])
    scope.vars.update({_FOUND: found, _ITEMS: items})
    most = _known_length(trace, items) if len(node.generators) == 1 else None
    if most is not None:
        trace.roomy[id(found)] = found, most
    trace.growing += 1
    try:
        trace.expressions.within(scope, lambda: trace.statements.run([body]))
    finally:
        trace.growing -= 1
        trace.roomy.pop(id(found), None)
    found = scope.vars[_FOUND]
    rows = rows_of(found)
    if rows is not None and most is not None and not node.generators[0].ifs:
        form = Form(rows.item, rows.kinds, most)
        trace.touch(found)
        put(found, [reformed(trace, rows.of(most, rows.columns), form, False)])
    return found


def _known_length(trace: Any, iterable: Any) -> int | None:
    """Return how many items an iterable has that a loop can index, if that is known while compiling."""
    sequence = remaining(trace, iterable)
    return int(sequence.length) if sequence is not None and isinstance(sequence.length, (int, np.integer)) else None
