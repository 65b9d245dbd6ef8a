"""Iteration by functions such as ``sum``, ``any`` and ``max``: a loop if the length is unknown or large."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from ..errors import BadInput
from ..ir.dynamic import walk
from ..source.trees import fill_locations
from .comprehensions import counted
from .fused_loops import can_fuse
from .iterators import Iterator, Walk, remaining
from .loop_statements import UNROLLED, Uncounted
from .loops import Loop
from .scopes import Scope, local_names
from .suspended import Generator

_RETURN = {True: ast.Return(ast.Constant(True)), False: ast.Return(ast.Constant(False))}


def is_fused(x: Any) -> bool:
    """Whether x is a generator, or takes its items from one, that can be run through by one loop (see ``fused_loops``)."""
    return can_fuse(x) and (not isinstance(x, Generator) or can_fuse(x.first))


class Folds:
    """The part of the interpreter that runs through iterables on behalf of functions."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    def fold(self, iterable: Any, start: Any, combine: Callable[[Any, Any], Any]) -> Any:
        """Fold ``combine`` over an iterable; as a loop if it has many or an unknown number of items of one form."""
        is_nested = isinstance(iterable, Generator) and iterable.is_fresh and len(iterable.node.generators) > 1
        if is_fused(iterable) and self.trace.allows("may_grow") or is_nested and self.trace.may_grow:
            iterable = self.trace.call(list, iterable)
        generator = iterable if isinstance(iterable, Generator) else None
        if generator is not None and not (generator.is_fresh and len(generator.node.generators) == 1):
            items = self.trace.iterate(generator)
            for x in counted(self.trace, items) if is_nested else items:
                start = combine(start, x)
            return start
        source = iterable if generator is None else generator.first
        sequence = remaining(self.trace, source)
        total = self.trace.new({"total": start})

        def add(x: Any) -> None:
            self.trace.touch(total)
            total["total"] = combine(total["total"], x)

        def one(item: Any) -> None:
            if generator is None:
                add(item)
            else:
                self.trace.expressions.within(generator.around, lambda: self.one_generated(generator, item, add))

        if generator is not None:
            generator.finish(self.trace)
        if sequence is None or isinstance(sequence.length, int) and sequence.length <= UNROLLED:
            for x in self.trace.iterate(source):
                one(x)
            return total["total"]

        def body(index: Any) -> None:
            self.trace.touch(total)
            one(sequence.item(index))

        trips, once = (
            (self.trace.loops.int64(0), self.trace.loops.int64(sequence.length), 1),
            self.trace.loops.iteration(body, None, []),
        )
        if isinstance(source, Walk):
            source.move(self.trace, position=None)
        try:
            self.trace.loops.attempt(lambda: Loop(self.trace, once, trips, None, []).run())
        except Uncounted:
            raise BadInput(
                "compiled code cannot catch an exception raised in a generator that a function such as sum or any consumes; write a "
                "loop instead"
            ) from None
        return total["total"]

    def unless_it_matters(self, run: Callable[[], Any]) -> Any:
        """Return what ``run`` returns if its only other effect is to advance iterators; else NotImplemented.

        The iterators' positions are unknown afterwards, so taking another item from them is refused.
        """
        region = self.trace.run_region(lambda _: run())
        advanced = []
        for holder, _ in region.after.values():
            if isinstance(holder, Iterator):
                advanced.append(holder)
            elif self.trace.made_in(holder) is not region.changes:
                return NotImplemented
        if any(op.may_raise for op in walk(region.block)):
            return NotImplemented
        if advanced and self.trace.ways is not None and self.trace.allows("may_fork"):
            return NotImplemented  # then it stops where Python does, and forks
        self.trace.commit(region)
        for iterator in advanced:
            iterator.lose(self.trace)
        return region.result

    def search(self, generator: Generator, is_any: bool) -> Any:
        """Record ``any`` or ``all`` of a generator expression with effects as a loop that stops where Python stops."""
        found = (
            ast.If(generator.node.elt, [_RETURN[is_any]], [])
            if is_any
            else ast.If(generator.node.elt, [ast.Pass()], [_RETURN[is_any]])
        )
        body: ast.stmt = found
        for part in reversed(generator.node.generators):
            for test in reversed(part.ifs):
                body = ast.If(test, [body], [])
            body = ast.For(part.target, part.iter, [body], [])
        fill_locations(ast.copy_location(body, generator.node))
        generator.finish(self.trace)
        jump = self.trace.expressions.within(generator.scope, lambda: self.trace.loops.for_over(body, generator.first))
        return not is_any if jump is None else self.trace.calls.returned(jump, not is_any)

    def one_generated(self, x: Generator, item: Any, add: Callable[[Any], None]) -> None:
        (part,) = x.node.generators
        scope = Scope(local_names(x.node), self.trace.scope, None, self.trace.scope.name)
        self.trace.new(scope.vars)

        def run(tests: list[ast.expr]) -> None:
            if not tests:
                add(self.trace.expressions.expression(x.node.elt))
                return
            test = self.trace.expressions.truth(self.trace.expressions.expression(tests[0]))
            if test is True:
                run(tests[1:])
            elif test is not False:
                self.trace.branch(self.trace.value(test), lambda: run(tests[1:]), lambda: None)

        self.trace.expressions.within(scope, lambda: (self.trace.statements.assign(part.target, item), run(part.ifs)))
