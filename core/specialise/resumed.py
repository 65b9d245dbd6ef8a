"""One run of a generator, from one ``yield`` to the next: what each kind of frame does, and how exceptions leave it."""

from __future__ import annotations

import ast
import operator
from types import FunctionType
from typing import Any, NoReturn

from ..errors import BadInput, MorulaError
from ..faults import kind_of
from ..source.definitions import NoSource
from ..source.yields import apart, apart_from_test, has_yield, is_apart
from .branches import Jump
from .iterators import advance, iterator_of
from .raising import Ended, Raised, Sees
from .scopes import definition_of
from .traced import NeedsConcrete

Frame = tuple[Any, ...]
_NOTHING = object()


class Returned(StopIteration):
    """The generator's own ``return``."""


class _Stays(BaseException):
    """An exception does not leave the generator."""


class Run:
    """One run of a generator, from one ``yield`` to the next; it changes ``frames``."""

    def __init__(
        self, trace: Any, generator: Any, frames: list[Frame], sent: Any, thrown: BaseException | None
    ) -> None:
        self.trace = trace
        self.generator = generator
        self.frames = frames
        self.sent = sent
        self.thrown = thrown
        self.tries, self.handled = trace.tries, trace.handled  # those around the call

    def refusing(self, sees: Sees) -> Sees:
        """Return a ``Sees`` that refuses exceptions on traced conditions in a handler if a ``try`` around it sees them."""

        def sees_or_refuses(kind: type) -> bool:
            if sees(kind):
                self.refuse_exception()
            return False

        return sees_or_refuses

    def refuse_exception(self) -> NoReturn:
        raise BadInput(
            "a try or with around a yield cannot catch an exception that depends on a condition not known while compiling; move the "
            "yield out of it"
        )

    def around(self) -> list[Sees]:
        """Return what the ``try`` and ``with`` statements see in which the generator is."""
        found = []
        for frame in self.frames:
            if frame[0] == "with" and not _does_nothing(frame[2]) or frame[0] == "try" and frame[1].finalbody:
                found.append(lambda kind: True)
            elif frame[0] == "try" and frame[2] == "body":
                found.append(self.trace.handlers.sees_of(frame[1]))
        return found

    def enter(self, sees: list[Sees]) -> None:
        """Let the interpreter know what is around the next turn."""
        handled = [Raised.of(f[4]) for f in self.frames if f[0] == "try" and f[2] == "handler"]
        self.trace.tries, self.trace.handled = [*self.tries, *sees], [*self.handled, *handled]

    def run(self) -> Any:
        trace = self.trace
        while True:
            depth, before = len(trace.scopes), list(self.frames)
            sees = self.around()
            self.enter(sees)
            raised = None
            try:
                if sees:
                    found, raised = trace.handlers.attempted_here(self.turn_or_end)
                    if isinstance(found, Returned):
                        raise found
                else:
                    found = self.turn()
            except MorulaError:
                raise
            except Returned:
                raise
            except Exception as error:
                del trace.scopes[depth:]
                self.leave("raise", error)
                continue
            except GeneratorExit as error:
                self.leave("raise", error)
                continue
            if raised is not None:
                error = self.caught(raised, before)
                if error is not None:
                    self.frames[:] = before
                    self.leave("raise", error)
                    continue
            if found is not _NOTHING:
                return found

    def turn_or_end(self) -> Any:
        try:
            return self.turn()
        except Returned as end:
            return end

    def caught(self, raised: Raised, before: list[Frame]) -> BaseException | None:
        """Return the exception that a turn has raised; the program forks if that depends on a traced condition.

        It goes on without a fork where nothing was raised, if all that may have been raised leaves the generator.
        """
        trace = self.trace
        certain = Raised(True, raised.which, raised.errors)
        if raised.condition is not True:
            condition = trace.value(raised.condition)
            trace.tries, trace.handled = self.tries, self.handled
            try:
                trace.branch(condition, lambda: self.escape(certain, before), lambda: None)
                return None
            except _Stays:
                way = trace.way_of(condition)
            if way is None:
                self.refuse_exception()
            if not way:
                return None
        *others, last = raised.errors
        for place, error in enumerate(others):
            is_this = trace.way_of(trace.value(trace.call(operator.eq, raised.which, place)))
            if is_this is None:
                self.refuse_exception()
            if is_this:
                return error
        return last

    def escape(self, raised: Raised, before: list[Frame]) -> None:
        """Raise what leaves the generator after one of some exceptions was raised in it."""
        groups = [([k], None) for k in range(len(raised.errors))]
        self.trace.handlers.for_each(raised, groups, lambda found, _: self.escape_by(found.errors[0], before))

    def escape_by(self, error: BaseException, before: list[Frame]) -> None:
        kept, self.frames[:] = list(self.frames), before
        try:
            while True:
                self.leave("raise", error)
                depth = len(self.frames) - 2  # below the handler
                try:
                    while len(self.frames) > depth:
                        self.enter(list(map(self.refusing, self.around())))
                        if self.turn() is not _NOTHING:
                            raise _Stays
                    raise _Stays
                except MorulaError:
                    raise
                except Returned:
                    raise _Stays from None
                except Exception as found:
                    error = found
        except Exception:
            self.generator.finish(self.trace)
            raise
        finally:
            self.frames[:] = kept
            self.trace.tries, self.trace.handled = self.tries, self.handled

    def turn(self) -> Any:
        """Run the topmost frame one step further; return what is yielded, or ``_NOTHING``."""
        if not self.frames:
            raise Returned
        return getattr(self, self.frames[-1][0] + "_")(*self.frames[-1][1:])

    def push(self, *frame: Any) -> None:
        self.frames.append(frame)

    def block_(self, statements: list[ast.stmt], i: int) -> Any:
        self.frames.pop()
        if i == len(statements):
            return _NOTHING
        self.push("block", statements, i + 1)
        statement = statements[i]
        if not has_yield(statement):
            jump = self.trace.statements.statement(statement)
            if jump is not None:
                self.jump(jump)
            return _NOTHING
        self.trace.go_to(statement)
        try:
            if not is_apart(statement):
                self.push("block", apart(statement) or self.refuse(statement), 0)
                return _NOTHING
            return getattr(self, f"run_{type(statement).__name__}", self.refuse)(statement)
        except MorulaError as error:
            self.trace.statements.locate(error, statement)
            raise

    def jump(self, jump: Jump) -> None:
        if jump.dead:
            raise Ended
        for kind, condition in sorted(jump.conditions.items(), key=lambda entry: entry[1] is not True):
            if self.is_met(condition):
                if isinstance(kind, BaseException):
                    raise kind
                return self.leave(kind, jump.value)

    def is_met(self, condition: Any) -> bool:
        """Whether a jump is taken; if it depends on a traced condition, the program forks."""
        if isinstance(condition, bool):
            return condition
        way = self.trace.way_of(self.trace.value(condition))
        if way is None:
            raise BadInput(
                "a generator returns, or leaves a loop, on a condition that is not known while compiling; make a list or an array of its "
                "items instead"
            )
        return way

    def leave(self, kind: str, value: Any = None) -> None:
        """Leave by an exception, ``return``, ``break`` or ``continue``: unwind the frames to where control goes on."""
        frames = self.frames
        while frames:
            frame = frames.pop()
            if frame[0] in ("for", "while") and kind in ("break", "continue"):
                if kind == "continue":
                    frames.append(frame)
                return
            if frame[0] == "with":
                try:
                    if self.left(*frame[1:], value if kind == "raise" else None):
                        return
                except MorulaError:
                    raise
                except Exception as error:
                    kind, value = "raise", error
            if frame[0] != "try":
                continue
            node, phase = frame[1], frame[2]
            if phase == "handler":
                self.forget(frame)
            if kind == "raise" and phase == "body":
                handler = next((h for h in node.handlers if self.trace.handlers.catches(h, value)), None)
                if handler is not None:
                    if handler.name:
                        self.trace.expressions.store(handler.name, value)
                    self.push("try", node, "handler", handler, value)
                    self.push("block", handler.body, 0)
                    return
            if node.finalbody:
                self.push("after", kind, value)
                self.push("block", node.finalbody, 0)
                return
        if kind == "raise":
            raise value
        raise Returned(value)

    def after_(self, kind: str, value: Any) -> Any:
        self.frames.pop()
        self.leave(kind, value)
        return _NOTHING

    def forget(self, frame: Frame) -> None:
        """Delete the variable that holds a handler's exception."""
        name, held = frame[3].name, self.trace.scope.vars
        if name and name in held:
            self.trace.touch(held)
            del held[name]

    def try_(self, node: ast.Try, phase: str, *caught: Any) -> Any:
        """Go on after a completed part of a ``try`` statement."""
        frame = self.frames.pop()
        if caught:
            self.forget(frame)
        if phase == "body":
            self.push("try", node, "else")
            self.push("block", node.orelse, 0)
        else:
            self.push("block", node.finalbody, 0)
        return _NOTHING

    def for_(self, node: ast.For, iterator: Any) -> Any:
        try:
            x = advance(self.trace, iterator)
        except StopIteration:
            self.frames.pop()
            self.push("block", node.orelse, 0)
            return _NOTHING
        self.trace.statements.assign(node.target, x)
        self.push("block", node.body, 0)
        return _NOTHING

    def while_(self, node: ast.While) -> Any:
        if not has_yield(node.test):
            return self.tested_(node, node.test)
        before, test = apart_from_test(node) or self.refuse(node)
        self.push("tested", node, test)
        self.push("block", before, 0)
        return _NOTHING

    def tested_(self, node: ast.While, test: ast.expr) -> Any:
        """Go on after the test of a ``while``."""
        if self.frames[-1][0] == "tested":
            self.frames.pop()
        if self.known_test(node, test):
            self.push("block", node.body, 0)
        else:
            self.frames.pop()
            self.push("block", node.orelse, 0)
        return _NOTHING

    def known_test(self, node: Any, test: ast.expr) -> bool:
        self.trace.go_to(node)
        return self.known_truth(node, self.trace.expressions.expression(test))

    def known_truth(self, node: Any, x: Any) -> bool:
        test = self.trace.expressions.truth(x)
        if not isinstance(test, bool):
            way = self.trace.way_of(self.trace.value(test))
            if way is not None:
                return way
            error = NeedsConcrete(
                self.trace.value(test),
                "a condition in a generator; use np.where, or an array of all items and a mask",
            )
            self.trace.statements.locate(error, node)
            raise error
        return test

    def run_If(self, node: ast.If) -> Any:
        self.push("block", node.body if self.known_test(node, node.test) else node.orelse, 0)
        return _NOTHING

    def run_While(self, node: ast.While) -> Any:
        self.push("while", node)
        return _NOTHING

    def run_For(self, node: ast.For) -> Any:
        self.push("for", node, iterator_of(self.trace, self.trace.expressions.expression(node.iter)))
        return _NOTHING

    def run_Try(self, node: ast.Try) -> Any:
        self.push("try", node, "body")
        self.push("block", node.body, 0)
        return _NOTHING

    def run_With(self, node: ast.With) -> Any:
        (item,) = node.items
        manager = self.trace.expressions.expression(item.context_expr)
        if self.trace.handlers.is_of_library(manager):
            raise BadInput(
                f"a yield inside a with of {kind_of(manager)} cannot be compiled, since it would hold until the generator is "
                "resumed; put the with around the loop over the generator"
            )
        entered = self.trace.call(self.trace.attribute(manager, "__enter__"))
        self.push("with", node, self.trace.attribute(manager, "__exit__"))
        self.push("block", node.body, 0)
        if item.optional_vars is not None:
            self.push("as", item.optional_vars, entered)
        return _NOTHING

    def as_(self, target: ast.expr, entered: Any) -> Any:
        """Bind the variable of a ``with``."""
        self.frames.pop()
        self.trace.statements.assign(target, entered)
        return _NOTHING

    def with_(self, node: ast.With, leave: Any) -> Any:
        """Go on after a completed ``with``."""
        self.frames.pop()
        self.trace.go_to(node)
        self.trace.call(leave, None, None, None)
        return _NOTHING

    def left(self, node: ast.With, leave: Any, error: BaseException | None) -> bool:
        """Leave a ``with`` by an exception or a jump; return whether its ``__exit__`` has swallowed the exception."""
        if error is None:
            self.trace.call(leave, None, None, None)
            return False
        self.trace.handled.append(Raised.of(error))
        try:
            return self.known_truth(node, self.trace.call(leave, type(error), error, None))
        finally:
            self.trace.handled.pop()

    def run_Expr(self, node: Any) -> Any:
        """Run a statement whose value is a ``yield``."""
        value = node.value
        found = None if value.value is None else self.trace.expressions.expression(value.value)
        if isinstance(value, ast.YieldFrom):
            self.push("from", node, iterator_of(self.trace, found))
            return _NOTHING
        self.push("yield", node)
        return found

    run_Assign = run_AnnAssign = run_Return = run_Expr

    def refuse(self, node: ast.stmt) -> Any:
        raise BadInput(
            "a yield in this place cannot be compiled; assign its value to a variable first, and use if in place of match"
        )

    def yield_(self, node: Any) -> Any:
        """Resume the generator here."""
        self.frames.pop()
        sent, thrown, self.sent, self.thrown = self.sent, self.thrown, None, None
        if thrown is not None:
            raise thrown
        self.give(node, sent)
        return _NOTHING

    def from_(self, node: Any, iterator: Any) -> Any:
        sent, thrown, self.sent, self.thrown = self.sent, self.thrown, None, None
        try:
            if thrown is not None:
                return self.trace.call(self.trace.attribute(iterator, "throw"), thrown)
            if sent is not None:
                return self.trace.call(self.trace.attribute(iterator, "send"), sent)
            return advance(self.trace, iterator)
        except StopIteration as stop:
            if stop is thrown:
                raise
            self.frames.pop()
            self.give(node, stop.value)
        return _NOTHING

    def give(self, node: Any, x: Any) -> None:
        """Use the value of a statement's ``yield``."""
        if isinstance(node, ast.Return):
            self.leave("return", x)
        elif not isinstance(node, ast.Expr):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self.trace.statements.assign(target, x)


def _does_nothing(leave: Any) -> bool:
    """Whether an ``__exit__`` has an empty body, so that it does not matter that an exception passes it."""
    function = getattr(leave, "__func__", None)
    if not isinstance(function, FunctionType):
        return False
    try:
        body: Any = definition_of(function).body  # type: ignore[union-attr]
    except NoSource:
        return False
    return all(isinstance(s, ast.Pass) or isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant) for s in body)
