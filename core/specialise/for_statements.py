"""``for`` statements: unrolled while compiling, or recorded as one operation."""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.dynamic import Value
from ..source.trees import nodes
from .branches import Jump
from .choices import distributed
from .fused_loops import can_fuse, fused, leaves
from .iterators import (
    LEFT,
    POSITION,
    UNKNOWN,
    Count,
    UnknownPosition,
    Walk,
    advance,
    iterator_of,
    refuse_endless,
    remaining,
)
from .loop_statements import LONG, UNROLLED, LoopStatements, Uncounted
from .loops import Loop
from .raising import Ended
from .scopes import Choice, Conflict
from .sequences import Sequence
from .traced import NeedsConcrete, Scalar

LEFT_BEFORE_A_LOOP = 8
"""A loop over an iterator is unrolled for at most this many iterations that may leave it, if it can be recorded as a loop."""

SHORT = 200
"""A loop that would be unrolled into more statements than this is recorded if growing lists make that possible."""


class ForStatements(LoopStatements):
    """The part of the interpreter that runs ``for`` and ``while``."""

    def run_For(self, node: ast.For) -> Jump | None:
        iterable = self.trace.expressions.expression(node.iter)
        with self.apart():
            return self.for_over(node, iterable)

    def for_over(self, node: ast.For, iterable: Any) -> Jump | None:
        if type(iterable) is Choice:
            return distributed(self.trace, iterable, lambda o: self.for_over(node, o))
        sequence = remaining(self.trace, iterable)
        if sequence is None:
            return self.over_iterator(node, iterator_of(self.trace, iterable))
        known = isinstance(sequence.length, (int, np.integer))
        if known and sequence.length <= UNROLLED:
            return self.unrolled(node, iterator_of(self.trace, iterable))
        before, lesson = self.trace.lessons.next(node, "way")
        whole = partial(self.over, iterable, node, lambda: self.counted(node, sequence))
        peeled = partial(self.over, iterable, node, lambda: self.peeled_for(node, sequence))
        region, refusal, outside, capacity = None, None, self.trace.wanted, self.trace.capacity
        if before is not None and before.way == "unrolled" and known:
            lesson.way = "unrolled"
            return self.unrolled(node, iterator_of(self.trace, iterable))
        self.trace.wanted = set()
        if known:  # an iteration makes a list longer by few items
            self.trace.capacity = max(capacity, 2 * int(sequence.length))
        if before is not None and before.way == "peeled":
            with suppress(BadInput):
                region = self.interpreted_as(lesson, "peeled", peeled)
        try:
            region = region or self.interpreted_as(lesson, "loop", whole)
        except NeedsConcrete as error:
            if not known:
                if isinstance(error, UnknownPosition):  # if the length is known, the loop can be unrolled
                    raise NeedsConcrete(self.trace.value(sequence.length), error.args[0]) from None
                raise
        except BadInput as error:
            region, refusal = self.peeled(lesson, error, peeled), error
            if region is None:
                if not known and error.args[0].startswith(UNKNOWN):
                    raise NeedsConcrete(
                        self.trace.value(sequence.length), error.args[0].replace(UNKNOWN, POSITION)
                    ) from None
                if not known:
                    raise error from None
        finally:
            could_grow = "may_grow" in self.trace.wanted
            self.trace.wanted |= outside
            self.trace.capacity = capacity
        if region is None:
            is_short = not known or size_of(node, int(sequence.length)) <= SHORT
            if refusal is not None and could_grow and not is_short and not self.trace.allows("may_unroll"):
                raise refusal
            self.warn_long(node, int(sequence.length))
            lesson.way = "unrolled"
            return self.unrolled(node, iterator_of(self.trace, iterable))
        self.trace.commit(region)
        return region.result

    def over_iterator(self, node: ast.For, iterator: Any) -> Jump | None:
        """Unroll a loop over an iterator, or record it as a loop where its course or its end is not known while compiling."""
        if can_fuse(iterator):
            whole = partial(fused, self.trace, node, iterator)
        elif isinstance(iterator, Count) and iterator.is_whole:
            whole = partial(self.over_count, node, iterator)
        else:
            return self.unrolled(node, iterator)
        attempts = [partial(self.unrolled, node, iterator, LEFT - LEFT_BEFORE_A_LOOP), whole]
        if self.trace.may_grow and (not isinstance(iterator, Count) or self.trace.scope.consumer is not None):
            attempts.reverse()
        if id(node) in self.unrolled_only:
            attempts = []
        for attempt in attempts:
            try:
                region = self.trace.run_region(lambda _, attempt=attempt: attempt())
            except (NeedsConcrete, BadInput):
                continue
            self.trace.commit(region)
            return region.result
        self.unrolled_only[id(node)] = node
        self.trace.allows("may_grow")  # with growing lists, another attempt comes first
        return self.unrolled(node, iterator)

    def over_count(self, node: ast.For, iterator: Count) -> Jump | None:
        """Run a loop over ``itertools.count``, which only its body can leave."""
        start, by, call = iterator.n, iterator.by, self.trace.unchecked
        iterator.move(self.trace, n=Conflict(UNKNOWN))
        return self.counted(node, Sequence(1 << 62, lambda i: call(operator.add, start, call(operator.mul, i, by))))

    def over(self, iterable: Any, node: ast.For, run: Callable[[], Any]) -> Any:
        """Run a loop by index; an iterator is exhausted afterwards, unless the loop may be left early."""
        if not isinstance(iterable, Walk):
            return run()
        iterable.lose(self.trace)
        found = run()
        if not leaves(self.trace, node):
            iterable.move(self.trace, position=None)
        return found

    def peeled_for(self, node: ast.For, sequence: Sequence) -> Jump | None:
        """Interpret the first iteration, which may give carried places their form, then a loop over the others."""
        call = self.trace.unchecked

        def first() -> Jump | None:
            self.trace.statements.assign(node.target, sequence.item(0))
            return self.then(self.trace.statements.run(node.body), lambda: self.counted(node, others, "peeled"))

        length = call(operator.sub, sequence.length, 1)
        bounds = sequence.bounds and (call(operator.add, sequence.bounds[0], sequence.bounds[2]), *sequence.bounds[1:])
        others = Sequence(length, lambda i: sequence.item(call(operator.add, i, 1)), bounds)
        runs = self.trace.expressions.truth(call(operator.gt, sequence.length, 0))
        return (
            first()
            if runs is True
            else self.trace.branch(self.trace.value(runs), first, lambda: self.trace.statements.run(node.orelse))
        )

    def warn_long(self, node: ast.For, count: int) -> None:
        size = size_of(node, count)
        if size > LONG:
            self.trace.warn(
                f"the loop at {self.trace.scope.filename}:{node.lineno} is unrolled into {size} statements, because its index must "
                "be known while compiling; compiling will take long"
            )

    def counted(self, node: ast.For, sequence: Sequence, way: str = "loop") -> Jump | None:
        state, errors = (
            self.trace.new({"return": False, "broke": False, "raised": False, "which": 0}),
            list[BaseException](),
        )
        start, stop, step = sequence.bounds or (0, sequence.length, 1)

        def item(index: Any) -> Any:
            return index if sequence.bounds else sequence.item(index)

        if not leaves(self.trace, node):

            def body(index: Any) -> Any:
                self.trace.statements.assign(node.target, item(index))
                jump = self.trace.statements.run(node.body)
                if jump is not None and jump.dead:
                    raise Ended

            trips, once = (self.int64(start), self.int64(stop), step), self.iteration(body, None, errors)
            with suppress(Uncounted):
                self.settle(
                    node, lambda slots: Loop(self.trace, once, trips, None, slots), [node.target, *node.body], way
                )  # type: ignore[list-item]
                return self.after_loop(node, state)
        counter = self.trace.new({"i": start})
        compare = operator.lt if step > 0 else operator.gt

        def turn(_: Any) -> Any:
            index = counter["i"]
            if isinstance(index, Scalar):
                if not isinstance(start, Scalar) and not isinstance(stop, Scalar):
                    self.trace.unrollable.add(index.ir)
                self.trace.builder.integers.index(
                    index.ir, self.trace.value(start), self.trace.value(stop), self.trace.builder.constant(step)
                )
            self.trace.statements.assign(node.target, item(index))
            jump = self.trace.statements.run(node.body)

            def again() -> Any:
                self.trace.touch(counter)
                counter["i"] = self.trace.unchecked(operator.add, index, step)
                return self.trace.expressions.truth(self.trace.call(compare, counter["i"], stop))

            return self.goes_on(jump, state, again)

        first = self.trace.expressions.truth(self.trace.call(compare, start, stop))
        if first is False:
            return self.trace.statements.run(node.orelse)
        step_ = self.iteration(turn, state, errors)
        self.settle(node, lambda slots: Loop(self.trace, step_, None, first, slots), [node.target, *node.body], way)  # type: ignore[list-item]
        self.throw_after(state, errors)
        return self.after_loop(node, state)

    def int64(self, x: Any) -> Value:
        return self.trace.builder.cast(self.trace.value(x), np.int64)

    def unrolled(self, node: ast.For, iterator: Any, left: int = 0) -> Jump | None:
        """Unroll the iterations; ``left`` counts the earlier ones that could leave the loop on a traced condition."""
        refuse_endless(iterator, left, LEFT)
        for count in itertools.count():
            refuse_endless(iterator, count)
            try:
                x = advance(self.trace, iterator)
            except StopIteration:
                return self.trace.statements.run(node.orelse)
            self.trace.statements.assign(node.target, x)
            jump = self.trace.statements.run(node.body)
            if jump is not None:
                return self.then(jump, lambda: self.unrolled(node, iterator, left + 1))
        return None


def size_of(node: ast.For, count: int) -> int:
    """The number of statements of an unrolled loop."""
    return count * sum(isinstance(n, ast.stmt) for n in nodes(node))
