"""``while`` statements, and what they share with ``for``: unrolled while compiling, or recorded as one operation."""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Callable, Iterator, Sequence as Statements
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from ..errors import BadInput
from ..source.trees import nodes
from .branches import Jump
from .loops import RAISED, Loop
from .raising import Ended, Raised, Region
from .scopes import Late, names_read_after
from .slots import Lesson, Slot, changed_slots, predicted_slots
from .traced import NeedsConcrete, Scalar
from .ways import Fork

UNROLLED = 4
"""Loops of at most this many iterations are unrolled."""

LONG = 20_000
"""Unrolled loops of more statements than this cause a warning."""


@dataclass(frozen=True)
class Seen:
    """An iteration that was interpreted with the values before the loop, and the lessons about the loops inside it."""

    region: Region
    inside: dict[Any, Lesson]
    may_break: bool


class Uncounted(BaseException):
    """A counted loop's iterations may raise an exception that is caught, so it needs another form."""


class LoopStatements:
    """What runs ``while``; ``for_statements`` adds ``for``."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace
        self.unrolled_only: dict[int, ast.For] = {}  # loops over iterators that could not be recorded as loops
        self.depth = 0  # how many loop statements are around

    def run_While(self, node: ast.While) -> Jump | None:
        with self.apart():
            return self.run_while(node)

    def run_while(self, node: ast.While) -> Jump | None:
        count = 0
        while True:
            test = self.trace.expressions.truth(self.trace.expressions.expression(node.test))
            if test is False:
                return self.trace.statements.run(node.orelse)
            if test is not True:
                return self.settled_while(node, test)
            counts = Counter(self.trace.lessons.counts)
            region = self.trace.run_region(lambda region: self.round_that_may_fork(node, region))
            jump, again = region.result or (None, True)
            partly = region.raised is not None and region.raised.condition is not True
            if partly or jump is not None and not jump.certain or not isinstance(again, bool):
                may_break = jump is not None and "break" in jump.conditions
                return self.settled_while(node, True, Seen(region, self.trace.lessons.since(counts), may_break))
            self.trace.commit(region)
            if jump is not None and not jump.conditions.get("continue"):
                return None if "break" in jump.conditions else jump
            count += 1
            if count > LONG:
                raise BadInput(
                    f"a while loop whose condition is known while compiling was unrolled for {count} iterations; let its condition "
                    "depend on an argument, or use range"
                )

    def round_that_may_fork(self, node: ast.While, region: Region) -> tuple[Jump | None, Any]:
        """Run one iteration; up to a condition at which the program forks, it has certainly run."""
        ways, out = self.trace.ways, region.block.operations
        before = None if ways is None else ways.out
        if ways is None or before is None or before is not self.trace.frames[-2]:
            return self.one_round(node)
        ways.out = out
        try:
            return self.one_round(node)
        except Fork:
            before += out
            raise
        finally:
            ways.out = before

    def one_round(self, node: ast.While) -> tuple[Jump | None, Any]:
        jump = self.trace.statements.run(node.body)
        if jump is not None and (jump.certain and not jump.conditions.get("continue") or not jump.certain):
            return jump, True
        return jump, self.trace.expressions.truth(self.trace.expressions.expression(node.test))

    def settled_while(self, node: ast.While, test: Any, seen: Seen | None = None) -> Jump | None:
        """Record a ``while`` as one loop; if carried places have no single form, as a first iteration and a loop.

        ``seen`` is an iteration that was interpreted before.
        """
        before, lesson = self.trace.lessons.next(node, "way")
        region = None
        if before is not None and before.way == "peeled":
            with suppress(BadInput):
                region = self.interpreted_as(lesson, "peeled", lambda: self.peeled_while(node, test))
        try:
            region = region or self.interpreted_as(lesson, "loop", lambda: self.traced_while(node, test, seen=seen))
        except NeedsConcrete:
            raise
        except BadInput as error:
            region = self.peeled(lesson, error, lambda: self.peeled_while(node, test))
            if region is None:
                raise error from None
        self.trace.commit(region)
        return region.result

    def interpreted_as(self, lesson: Lesson, way: str, run: Callable[[], Jump | None]) -> Region:
        """Interpret a loop in one of the ways, and note which if it succeeds."""
        region = self.trace.run_region(lambda _: run())
        lesson.way = way
        return region

    def peeled(self, lesson: Lesson, error: BadInput, run: Callable[[], Jump | None]) -> Region | None:
        """Interpret a loop that was refused with ``error`` as a first iteration and a loop; None if that is refused too."""
        key = id(lesson.node)
        if self.trace.failures.get(key) == reason(error):
            return None
        with suppress(BadInput):
            return self.interpreted_as(lesson, "peeled", run)
        self.trace.failures[key] = reason(error)
        return None

    def peeled_while(self, node: ast.While, test: Any) -> Jump | None:
        def rest() -> Jump | None:
            again = self.trace.expressions.truth(self.trace.expressions.expression(node.test))
            return (
                self.trace.statements.run(node.orelse) if again is False else self.traced_while(node, again, "peeled")
            )

        def first() -> Jump | None:
            return self.then(self.trace.statements.run(node.body), rest)

        return (
            first()
            if test is True
            else self.trace.branch(self.trace.value(test), first, lambda: self.trace.statements.run(node.orelse))
        )

    def then(self, jump: Jump | None, rest: Callable[[], Jump | None]) -> Jump | None:
        """Interpret the remaining iterations after one that left with ``jump``; a ``break`` ends here."""
        if jump is None:
            return rest()
        leaving = {k: c for k, c in jump.conditions.items() if k != "continue" and c is not False}
        if jump.dead:
            return jump
        if any(c is True for c in leaving.values()):
            return None if leaving.get("break") is True else jump
        if not leaving:
            return rest()
        left = self.trace.statements.unless(Jump(leaving, jump.value), rest)
        if left is None or left.dead:
            return left
        left.conditions.pop("break", None)
        return left if any(c is not False for c in left.conditions.values()) else None

    def traced_while(self, node: ast.While, test: Any, way: str = "loop", seen: Seen | None = None) -> Jump | None:
        state, errors = (
            self.trace.new({"return": False, "broke": False, "raised": False, "which": 0}),
            list[BaseException](),
        )

        def turn(index: Any) -> Any:
            self.assume_test(node.test)
            jump = self.trace.statements.run(node.body)
            return self.goes_on(
                jump, state, lambda: self.trace.expressions.truth(self.trace.expressions.expression(node.test))
            )

        step = self.iteration(turn, state, errors)
        own = [Slot(state, "broke", "carried")] if seen is not None and seen.may_break else []
        self.settle(node, lambda slots: Loop(self.trace, step, None, test, [*slots, *own]), node.body, way, seen)
        self.throw_after(state, errors)
        return self.after_loop(node, state)

    def iteration(
        self, step: Callable[[Any], Any], state: dict[str, Any] | None, errors: list[BaseException]
    ) -> Callable[[Any], Any]:
        """Return an iteration that may raise: inside a ``try`` it ends the loop and notes its errors.

        ``state`` and ``errors`` take what was raised.  Without ``state`` the loop must be written in another form
        (``Uncounted``).
        """

        def run(index: Any) -> Any:
            try:
                go, raised = self.trace.attempted(lambda: step(index), False)
            except Ended:
                return RAISED
            if raised is None:
                return go
            if not any(self.trace.sees(type(e)) for e in raised.errors):
                self.trace.end_if(raised)
                return RAISED if raised.condition is True else go
            if state is None:
                raise Uncounted
            self.trace.touch(state)
            state["raised"], state["which"] = raised.condition, raised.which
            for i, x in enumerate(x for e in raised.errors for x in self.trace.parts(e)):
                state[f"part {i}"] = x
            errors[:] = raised.errors
            return go

        return run

    def throw_after(self, state: dict[str, Any], errors: list[BaseException]) -> None:
        """Raise, after a loop, the exception that ended it."""
        if state["raised"] is False:
            return
        count = sum(key.startswith("part ") for key in state)
        parts = iter([settled_part(state[f"part {i}"]) for i in range(count)])
        moved = [
            self.trace.with_parts(e, lambda _: next(parts)) if next(self.trace.parts(e), None) is not None else e
            for e in errors
        ]
        self.trace.throw(Raised(state["raised"], state["which"], moved))

    def assume_test(self, test: ast.expr) -> None:
        """Assume the test at the start of an iteration, which bounds integers; the test's operations are not kept."""
        if not any(isinstance(n, (ast.Call, ast.NamedExpr, ast.Await, ast.Yield)) for n in nodes(test)):
            found = self.trace.run_region(
                lambda _: self.trace.expressions.truth(self.trace.expressions.expression(test))
            ).result
            if isinstance(found, Scalar):
                self.trace.builder.integers.assume(self.trace.value(found), True)

    def goes_on(self, jump: Jump | None, state: dict[str, Any], test: Callable[[], Any]) -> Any:
        """Return whether a loop goes on after an iteration that left with ``jump``, which is noted in ``state``."""
        if jump is None:
            return test()
        if jump.dead:
            raise Ended
        leaving = {k: c for k, c in jump.conditions.items() if k != "continue" and c is not False}
        if not leaving:
            return test()
        self.trace.touch(state)
        if "return" in leaving:
            state["return"], state["value"] = leaving["return"], jump.value
        if "break" in leaving:
            state["broke"] = leaving["break"]
        left = self.trace.statements.any_of(Jump(leaving))
        if left is True:
            return False
        return self.trace.branch(self.trace.value(left), lambda: False, test)

    def after_loop(self, node: Any, state: dict[str, Any]) -> Jump | None:
        left = [c for c in (state["return"], state["broke"]) if c is not False]
        jump = None
        if node.orelse:
            done = left[0] if len(left) == 1 else self.trace.call(operator.or_, *left) if left else False
            if done is False:
                jump = self.trace.statements.run(node.orelse)
            else:
                jump = self.trace.branch(
                    self.trace.value(done), lambda: None, lambda: self.trace.statements.run(node.orelse)
                )
        if state["return"] is False:
            return jump
        if state["broke"] is False and isinstance(node, ast.While) and isinstance(node.test, ast.Constant):
            return Jump({"return": True}, settled_part(state["value"]))  # there is no other way out
        returned = Jump({"return": state["return"]}, settled_part(state["value"]))
        return returned if jump is None else self.trace.statements.unless(returned, lambda: jump)

    def settle(
        self,
        node: Any,
        loop: Callable[[Any], Loop],
        body: Statements[ast.stmt],
        way: str,
        seen: Seen | None = None,
    ) -> None:
        """Run a loop with the places carried that an earlier attempt has found, or with the variables that it assigns.

        With an iteration that was ``seen``, the places that it changed are carried too. If that needs a known number, only
        those are carried that change.
        """
        before, lesson = self.trace.lessons.next(node, "slots")
        failed = self.trace.failures.get((id(node), way), "")

        def run(slots: list[Slot], inside: dict[Any, Any]) -> None:
            made = loop(slots)
            made.inside, made.names_read_after = inside, names_read_after(self.trace.scope, node)
            try:
                made.run()
            finally:
                lesson.learn(self.trace, made.slots, made.inside)

        def as_before() -> None:
            assert before is not None
            run(before.slots(self.trace), before.inside)

        def predicted() -> None:
            run(predicted_slots(self.trace, list(body)), {})

        def of_changes() -> None:
            run([], {})

        def as_seen() -> None:
            assert seen is not None
            slots = predicted_slots(self.trace, list(body))
            known = {(id(s.holder), s.key) for s in slots}
            run([*slots, *changed_slots(self.trace, seen.region, {}, known)], seen.inside)

        tries = [predicted, of_changes] if seen is None else [as_seen, predicted, of_changes]
        if before is not None:
            tries.insert(0, as_before)
            failed = before.error
        elif failed:
            tries = [of_changes, predicted]
        for i, one in enumerate(tries):
            try:
                self.attempt(one)
            except BadInput as error:
                lesson.error = reason(error)
                if i + 1 < len(tries) and (i or lesson.error != failed):
                    continue
                self.trace.failures[id(node), way] = lesson.error
                raise
            lesson.error = ""
            return

    def attempt(self, run: Callable[[], None]) -> None:
        """Run something; if it fails, its changes are undone."""
        region = self.trace.run_region(lambda _: run())
        self.trace.commit(region)

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Forget, after the outermost loop, which loops have failed."""
        self.depth += 1
        try:
            yield
        finally:
            self.depth -= 1
            if not self.depth:
                self.trace.failures.clear()


def reason(error: BadInput) -> str:
    """Return a text that is equal for errors with the same cause."""
    return f"{type(error).__name__} {error}"


def settled_part(x: Any) -> Any:
    """Return the value that a loop has left, also if it may be unassigned."""
    return x.x if isinstance(x, Late) else x
