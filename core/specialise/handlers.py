"""``raise``, ``assert``, ``try`` and ``with``."""

from __future__ import annotations

import ast
import operator
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import numpy as np

from ..errors import BadInput, MorulaError
from ..faults import kind_of
from ..ir.dynamic import Block, walk
from ..ir.typed import callback
from . import float_errors
from .branches import Jump
from .choices import distributed
from .drivers import is_users
from .locks import is_outside
from .raising import Ended, OneOf, Raised, Sees

_PLAIN = (
    ast.Assign, ast.AugAssign, ast.Pass, ast.Return, ast.Break, ast.Continue, ast.Name, ast.Constant, ast.UnaryOp, ast.BinOp,
    ast.Add, ast.Sub, ast.Mult, ast.USub, ast.UAdd, ast.Not, ast.expr_context, ast.Expr, ast.Tuple,
)  # fmt: skip
"""The syntax that a handler may use if it is to treat all caught exceptions alike."""


class Handlers:
    """The part of the interpreter that raises and catches exceptions."""

    # Raising

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    def run_Raise(self, node: ast.Raise) -> None:
        if node.exc is None:
            if not self.trace.handled:
                raise RuntimeError("No active exception to reraise")
            self.trace.throw(self.trace.handled[-1])
        distributed(self.trace, self.instance_of(node.exc), lambda error: self.raised(error, node))

    def raised(self, error: Any, node: ast.Raise) -> None:
        if not isinstance(error, BaseException):
            raise TypeError("exceptions must derive from BaseException")
        if not isinstance(error, Exception):
            raise BadInput(
                f"compiled code cannot raise a {type(error).__name__}; raise an exception derived from Exception"
            )
        if node.cause is not None:
            cause = self.instance_of(node.cause)
            if cause is not None and not isinstance(cause, BaseException):
                raise TypeError("exception causes must derive from BaseException")
            error.__cause__ = cause
        self.trace.chain(error)
        raise OneOf(Raised.of(error)) if isinstance(error, MorulaError) else error

    def instance_of(self, node: ast.expr) -> Any:
        x = self.trace.expressions.expression(node)
        return self.trace.call(x) if isinstance(x, type) else x

    def run_Assert(self, node: ast.Assert) -> None:
        test = self.trace.expressions.truth(self.trace.expressions.expression(node.test))
        if isinstance(test, bool) and test:
            return
        args = () if node.msg is None else (self.trace.expressions.expression(node.msg),)
        error = AssertionError(*args)
        self.trace.chain(error)
        self.trace.throw(Raised(True if isinstance(test, bool) else self.trace.call(operator.not_, test), 0, [error]))

    # Catching

    def run_Try(self, node: ast.Try) -> Jump | None:
        if not node.finalbody:
            return self.caught(node)
        self.trace.tries.append(lambda kind: True)
        try:
            jump, raised = self.attempted_here(lambda: self.caught(node))
        finally:
            self.trace.tries.pop()
        return self.afterwards(jump, raised, lambda: self.trace.statements.run(node.finalbody))

    def afterwards(self, jump: Jump | None, raised: Raised | None, last: Callable[[], Jump | None]) -> Jump | None:
        """Run a ``finally`` block however control leaves the statement; the block may itself leave."""

        def left() -> Jump | None:
            found = last()
            if found is None or found.dead:
                return found or jump
            return found if found.is_taken or jump is None else self.trace.statements.unless(found, lambda: jump)

        def failed(raised: Raised) -> Jump | None:
            found = self.while_handling(raised, last)
            if found is None:
                self.trace.throw(raised)
            elif not found.is_taken:
                self.trace.statements.unless(found, lambda: self.trace.throw(raised))
            return found

        if raised is None:
            return left() if jump is None or not jump.dead else jump
        if raised.condition is True:
            return failed(raised)
        certain = Raised(True, raised.which, raised.errors)
        return self.trace.branch(self.trace.value(raised.condition), lambda: failed(certain), left)

    def caught(self, node: ast.Try) -> Jump | None:
        """Interpret ``try``, ``except`` and ``else``."""
        self.trace.tries.append(self.sees_of(node))
        try:
            jump, raised = self.attempted_here(lambda: self.trace.statements.run(node.body))
        finally:
            self.trace.tries.pop()

        def passed() -> Jump | None:
            if jump is None:
                return self.trace.statements.run(node.orelse)
            return (
                jump
                if jump.is_taken or not node.orelse
                else self.trace.statements.unless(jump, lambda: self.trace.statements.run(node.orelse))
            )

        if raised is None:
            return passed()
        certain = Raised(True, raised.which, raised.errors)
        if raised.condition is True:
            return self.dispatched(node, certain)
        return self.trace.branch(self.trace.value(raised.condition), lambda: self.dispatched(node, certain), passed)

    def attempted_here(self, run: Callable[[], Any]) -> tuple[Any, Raised | None]:
        """``attempted`` for code whose jumps stay within the current function.

        Raises:
            BadInput: it calls Python at run time, whose exceptions a program cannot catch.
        """
        scopes, out, start = len(self.trace.scopes), self.trace.builder.out, len(self.trace.builder.out)
        jump, raised = self.trace.attempted(lambda: self.trace.as_python(run))
        del self.trace.scopes[scopes:]
        for op in walk(Block([], out[start:])):
            is_checked = not self.trace.checked.isdisjoint(op.results)
            kind = _may_raise(op) if op.kind == "call" and not is_checked else None
            if kind is not None and self.trace.sees(kind):
                name = getattr(op.callee, "__name__", "a callback")
                raise BadInput(
                    f"compiled code cannot catch an exception raised by {name}; check its argument before, or call it outside of "
                    "the try"
                )
        return jump, raised

    def sees_of(self, node: ast.Try) -> Sees:
        """Return which exceptions a ``try`` sees; all of them if that cannot be determined yet."""
        try:
            kinds = [
                self.trace.expressions.expression(h.type) if h.type is not None else BaseException
                for h in node.handlers
            ]
            flat = tuple(k for kind in kinds for k in (kind if isinstance(kind, tuple) else (kind,)))
            issubclass(ValueError, flat)
        except (MorulaError, Ended):
            raise
        except Exception:  # not a class, or no such name: an error only if an exception gets here
            return lambda kind: True
        return lambda kind: issubclass(kind, flat) or any(issubclass(k, kind) for k in flat)

    def dispatched(self, node: ast.Try, raised: Raised) -> Jump | None:
        """Interpret the handlers of a raised exception."""
        groups: dict[tuple[int, int], list[int]] = {}
        for place, error in enumerate(raised.errors):
            at = next((i for i, h in enumerate(node.handlers) if self.catches(h, error)), -1)
            is_any = at < 0 or node.handlers[at].name is None and all(map(_is_plain, node.handlers[at].body))
            groups.setdefault((at, -1 if is_any else place), []).append(place)
        return self.for_each(raised, [(places, at) for (at, _), places in groups.items()],
                             lambda found, at: self.handle(node, at, found))  # fmt: skip

    def for_each(
        self, raised: Raised, groups: list[tuple[list[int], Any]], handle: Callable[[Raised, Any], Any]
    ) -> Any:
        """Call ``handle`` for the group that contains the raised exception."""
        (places, key), *others = groups
        errors = [raised.errors[k] for k in places]
        which: Any = 0
        for position, place in enumerate(places[1:] if len(places) > 1 else (), 1):
            is_this = self.trace.call(operator.eq, raised.which, place)
            which = self.trace.call(
                operator.add, which, self.trace.call(operator.mul, self.trace.call(int, is_this), position)
            )
        this = Raised(True, which, errors)
        if not others:
            return handle(this, key)
        is_one: Any = False
        for place in places:
            is_one = self.trace.expressions.either(is_one, self.trace.call(operator.eq, raised.which, place))
        if isinstance(is_one, bool):
            return handle(this, key) if is_one else self.for_each(raised, others, handle)
        return self.trace.branch(
            self.trace.value(is_one), lambda: handle(this, key), lambda: self.for_each(raised, others, handle)
        )

    def handle(self, node: ast.Try, at: int, raised: Raised) -> Jump | None:
        if at < 0:
            self.trace.throw(raised)
        handler = node.handlers[at]
        if handler.name:
            self.trace.expressions.store(handler.name, raised.errors[0])
        jump = self.while_handling(raised, lambda: self.trace.statements.run(handler.body))
        if handler.name and handler.name in self.trace.scope.vars:
            self.trace.touch(self.trace.scope.vars)
            del self.trace.scope.vars[handler.name]
        return jump

    def while_handling(self, raised: Raised, run: Callable[[], Jump | None]) -> Jump | None:
        """Run a handler: a bare ``raise`` raises this exception again, and new exceptions have it as their context."""
        self.trace.handled.append(raised)
        try:
            return run()
        except MorulaError:
            raise
        except Exception as error:
            self.trace.chain(error)
            raise
        finally:
            self.trace.handled.pop()

    def catches(self, handler: ast.ExceptHandler, error: BaseException) -> bool:
        return handler.type is None or isinstance(error, self.trace.expressions.expression(handler.type))

    # Contexts

    def run_With(self, node: ast.With) -> Jump | None:
        return self.within_contexts(node.items, node.body)

    def within_contexts(self, items: list[ast.withitem], body: list[ast.stmt]) -> Jump | None:
        if not items:
            return self.trace.statements.run(body)
        manager = self.trace.expressions.expression(items[0].context_expr)
        if not hasattr(type(manager), "__exit__"):
            kind = kind_of(manager)
            raise TypeError(f"'{kind}' object does not support the context manager protocol")
        with ExitStack() as stack:
            if self.is_of_library(manager):
                return self.within_library_context(stack, manager, items, body)
            entered = self.trace.call(self.trace.attribute(manager, "__enter__"))
        if items[0].optional_vars is not None:
            self.trace.statements.assign(items[0].optional_vars, entered)
        leave = self.trace.attribute(manager, "__exit__")
        self.trace.tries.append(lambda kind: True)
        try:
            jump, raised = self.attempted_here(lambda: self.within_contexts(items[1:], body))
        finally:
            self.trace.tries.pop()

        def passed() -> Jump | None:
            self.trace.call(leave, None, None, None)
            return jump

        def failed(found: Raised, _: Any) -> Jump | None:
            error = found.errors[0]
            self.trace.handled.append(found)
            swallowed = self.trace.expressions.truth(self.trace.call(leave, type(error), error, None))
            self.trace.handled.pop()
            if swallowed is False:
                self.trace.throw(found)
            elif swallowed is not True:
                self.trace.throw(Raised(self.trace.call(operator.not_, swallowed), 0, [error]))
            return None

        if raised is None:
            return passed()
        groups = [([k], None) for k in range(len(raised.errors))]
        certain = Raised(True, raised.which, raised.errors)
        if raised.condition is True:
            return self.for_each(certain, groups, failed)
        return self.trace.branch(
            self.trace.value(raised.condition), lambda: self.for_each(certain, groups, failed), passed
        )

    def is_of_library(self, manager: Any) -> bool:
        """Whether a context manager is one of NumPy or Python that is entered while compiling."""
        may_swallow = hasattr(getattr(type(manager), "__exit__", None), "__code__") and type(
            manager
        ).__module__ not in (
            "numpy",
            "warnings",
        )
        return not may_swallow and isinstance(manager, (AbstractContextManager, np.errstate))

    def within_library_context(
        self, stack: ExitStack, manager: Any, items: list[ast.withitem], body: list[ast.stmt]
    ) -> Jump | None:
        """Enter a context manager of NumPy or Python while compiling; it catches nothing."""
        if isinstance(manager, warnings.catch_warnings):
            is_recorded = manager._record  # type: ignore[attr-defined]
            if is_recorded and items[0].optional_vars is not None:
                raise BadInput(
                    "compiled code cannot return recorded warnings; put catch_warnings(record=True) around the call of the compiled function"
                )
            stack.callback(setattr, self.trace, "recorded", self.trace.recorded)
            self.trace.recorded |= is_recorded
            stack.enter_context(float_errors.unchanged(self.trace.builder))
            self.trace.filters.append(list(warnings.filters))
            self.trace.filter_regions.append(self.trace.region)
            stack.callback(self.trace.filters.pop)
            stack.callback(self.trace.filter_regions.pop)
        is_lock = is_outside(self.trace, manager)
        entered = self.trace.outside.locks.within(stack, manager) if is_lock else stack.enter_context(manager)
        if isinstance(manager, np.errstate):
            stack.enter_context(float_errors.unchanged(self.trace.builder))
            float_errors.follow(self.trace)
        if items[0].optional_vars is not None:
            self.trace.statements.assign(items[0].optional_vars, entered)
        return self.within_contexts(items[1:], body)


def _is_plain(node: ast.AST) -> bool:
    return all(isinstance(n, _PLAIN) for n in ast.walk(node))


def _may_raise(op: Any) -> type[BaseException] | None:
    """Return the exception that a run-time call may raise, apart from the checks recorded for it."""
    if op.callee is callback:
        return Exception if is_users(op.named["function"].constant) else None
    module = getattr(op.callee, "__module__", None) or ""
    return np.linalg.LinAlgError if module.startswith(("numpy.linalg", "scipy.linalg")) else None
