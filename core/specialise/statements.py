"""Statements, and how ``return``, ``break`` and ``continue`` pass through conditions that are not known."""

from __future__ import annotations

import ast
import operator
import os
from collections import deque
from collections.abc import Callable, Sequence as Statements
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import BadInput, MorulaError
from ..traced import Traced
from ..typed import raise_if
from .arguments import has_traced
from .branches import Ended, Jump
from .expressions import IN_PLACE, Expressions, Text, braced
from .scopes import Closure

_LIBRARIES = (str(Path(os.__file__).parent), str(Path(__file__).parent))
"""Where Python and its libraries are, and the functions that are interpreted for those of C."""


class StatementsOf(Expressions):
    """The part of the interpreter that runs statements; each gives None or the Jump with which control leaves it."""

    def run(self, statements: Statements[ast.stmt]) -> Jump | None:
        """A list of statements."""
        for i, statement in enumerate(statements):
            rest = statements[i + 1 :]
            if isinstance(statement, ast.If) and rest and _one_side_leaves(statement):
                jump = self.if_(statement, rest)
                return jump
            jump = self.statement(statement)
            if jump is None:
                continue
            if jump.leaves:
                return jump
            return self.unless(jump, lambda rest=rest: self.run(rest)) if rest else jump
        return None

    def unless(self, jump: Jump, rest: Callable[[], Jump | None]) -> Jump | None:
        """What follows a jump that may have been taken."""
        kinds = [k for k, c in jump.conditions.items() if c is not False]
        taken = Jump({kinds[0]: True}, jump.value) if len(kinds) == 1 else jump
        return self.branch(self.value(self.any_of(jump)), lambda: taken, rest)

    def any_of(self, jump: Jump) -> Any:
        found: Any = False
        for condition in jump.conditions.values():
            if condition is not False:
                found = condition if found is False else self.call(operator.or_, found, condition)
        return found

    def statement(self, node: ast.stmt) -> Jump | None:
        line = self.builder.line
        self.builder.line = node.lineno
        try:
            return getattr(self, f"run_{type(node).__name__}", self.unknown)(node)
        except Ended:
            return Jump(dead=True)
        except MorulaError as error:
            self.locate(error, node)
            raise
        finally:
            self.builder.line = line

    def locate(self, error: MorulaError, node: ast.AST) -> None:
        """Add a function, file and line to a message: the innermost, and the user's if that one is a library's."""
        is_library = self.scope.filename.startswith(_LIBRARIES)
        if not getattr(error, "is_located", False) and not (is_library and getattr(error, "is_in_library", False)):
            error.is_located, error.is_in_library = not is_library, is_library  # type: ignore[attr-defined]
            text = f"{error.args[0] if error.args else ''}\n  {self.where(getattr(node, 'lineno', None))}"
            error.args = (text, *error.args[1:])

    def where(self, line: int | None = None) -> str:
        return f"in {self.scope.name} ({self.scope.filename}:{line or self.builder.line})" if self.scopes else ""

    def locate_in(self, error: MorulaError, function: Any) -> None:
        """Add a function to the message of an error about what it returns, or leaves in its arguments."""
        code = getattr(function, "__code__", None)
        if code is not None and not getattr(error, "is_located", False):
            error.is_located = True  # type: ignore[attr-defined]
            where = f"in what {function.__name__} returns or changes ({code.co_filename}:{code.co_firstlineno})"
            error.args = (f"{error.args[0] if error.args else ''}\n  {where}", *error.args[1:])

    def unknown(self, node: ast.AST) -> Any:
        raise BadInput(
            f"compiled code cannot have {type(node).__name__}; put this part in a function of its own and call it by mo.callback"
        )

    # Plain ones

    def run_Expr(self, node: ast.Expr) -> None:
        self.expression(node.value)

    def run_Pass(self, node: ast.Pass) -> None:
        pass

    def run_Assign(self, node: ast.Assign) -> None:
        x = self.expression(node.value)
        for target in node.targets:
            self.assign(target, x)

    def run_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.expression(node.value))

    def run_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        function = IN_PLACE[type(node.op)]
        if isinstance(target, ast.Name):
            self.assign(target, self.in_place(function, self.load(target.id), self.expression(node.value)))
        elif isinstance(target, ast.Attribute):
            x = self.expression(target.value)
            self.set_attribute(
                x, target.attr, self.in_place(function, self.attribute(x, target.attr), self.expression(node.value))
            )
        else:
            x, index = self.expression(target.value), self.expression(target.slice)
            old = self.call(operator.getitem, x, index)
            self.call(operator.setitem, x, index, self.in_place(function, old, self.expression(node.value)))

    def in_place(self, function: Callable[..., Any], x: Any, y: Any) -> Any:
        if isinstance(x, (list, dict, set, deque)):
            self.touch(x)
        return self.call(function, x, y)

    def run_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.load(target.id)  # it is an error to delete what is not there
                self.touch(self.scope.vars)
                self.scope.vars.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                x = self.expression(target.value)
                self.call(operator.delitem, x, self.expression(target.slice))
            elif isinstance(target, (ast.Tuple, ast.List)):
                for one in target.elts:
                    self.run_Delete(ast.Delete([one]))
            else:
                x = self.expression(target.value)  # type: ignore[attr-defined]
                self.attribute(x, target.attr)  # type: ignore[attr-defined]
                self.touch(x)
                delattr(x, target.attr)  # type: ignore[attr-defined]

    def run_Global(self, node: ast.Global) -> None:
        pass

    run_Nonlocal = run_Global

    def run_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            module = __import__(alias.name, self.scope.globals)
            name = alias.asname or alias.name.partition(".")[0]
            if alias.asname:
                for part in alias.name.split(".")[1:]:
                    module = getattr(module, part)
            self.store(name, module)

    def run_ImportFrom(self, node: ast.ImportFrom) -> None:
        names = [alias.name for alias in node.names]
        module = __import__(node.module or "", self.scope.globals, None, names, node.level)
        for alias in node.names:
            self.store(alias.asname or alias.name, getattr(module, alias.name))

    def run_FunctionDef(self, node: ast.FunctionDef) -> None:
        made: Any = self.closure(node)
        for decorator in reversed(node.decorator_list):
            made = self.call(self.expression(decorator), made)
        self.store(node.name, made)

    def closure(self, node: Any) -> Closure:
        defaults = [self.expression(d) for d in node.args.defaults]
        by_name = {
            a.arg: self.expression(d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults) if d is not None
        }
        return Closure(node, self.scope, defaults, by_name)

    # Assignment

    def assign(self, target: ast.expr, x: Any) -> None:
        if isinstance(target, ast.Name):
            self.store(target.id, x)
        elif isinstance(target, ast.Subscript):
            self.call(operator.setitem, self.expression(target.value), self.expression(target.slice), x)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.expression(target.value), target.attr, x)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(target.elts, x)
        else:
            raise BadInput(f"an assignment to {ast.unparse(target)}")

    def unpack(self, targets: list[ast.expr], x: Any) -> None:
        starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
        parts = list(self.iterate(x)) if starred else list(islice(self.iterate(x), len(targets) + 1))
        if starred:
            (i,) = starred
            after = len(targets) - i - 1
            if len(parts) < len(targets) - 1:
                raise ValueError(
                    f"not enough values to unpack (expected at least {len(targets) - 1}, got {len(parts)})"
                )
            parts = [*parts[:i], parts[i : len(parts) - after], *parts[len(parts) - after :]]
            targets = [t.value if isinstance(t, ast.Starred) else t for t in targets]
        if len(parts) != len(targets):
            many = "too many" if len(parts) > len(targets) else "not enough"
            raise ValueError(f"{many} values to unpack (expected {len(targets)})")
        for target, part in zip(targets, parts):
            self.assign(target, part)

    # Jumps

    def run_Return(self, node: ast.Return) -> Jump:
        return Jump({"return": True}, self.expression(node.value) if node.value is not None else None)

    def run_Break(self, node: ast.Break) -> Jump:
        return Jump({"break": True})

    def run_Continue(self, node: ast.Continue) -> Jump:
        return Jump({"continue": True})

    def run_Raise(self, node: ast.Raise) -> Jump:
        if node.exc is None:
            raise BadInput("compiled code cannot raise again what it has caught; name the exception")
        error = self.expression(node.exc)
        error = self.call(error) if isinstance(error, type) else error
        if (
            self.tries
            and self.tries[-1][0] == len(self.changes)
            or not self.changes
            and not has_traced(list(error.args))
        ):
            raise error
        if isinstance(error, StopIteration) and self.stops:
            if self.stops[-1] == len(self.changes):
                raise error
            raise BadInput(
                "an iterator ends on a condition that is not known while compiling; make an array of its items, and count which are used"
            )
        if self.tries and self.tries[-1][1] != self.loops:
            raise BadInput(
                f"{type(error).__name__} is raised on a condition that is not known while compiling, in a loop within a try; leave "
                "the loop by break, and raise after it"
            )
        if self.tries:
            return Jump({error: True})  # type: ignore[dict-item]  its `try` will look at it
        if self.tries_around:
            raise BadInput(
                f"{type(error).__name__} is raised on a condition that is not known while compiling, in a function that is called "
                "within a try; return a value that says so instead"
            )
        self.raise_error(True, error)
        return Jump(dead=True)

    def raise_error(self, condition: Any, error: BaseException) -> None:
        text = error.args[0] if error.args else ""
        self.raise_when(condition, type(error), Text("{}", [text]) if isinstance(text, Traced) else text)

    def raise_when(self, condition: Any, kind: type[BaseException], text: Any) -> None:
        template, values = (text.template, text.values) if isinstance(text, Text) else (braced(str(text)), [])
        operands = [self.value(condition), *map(self.value, values)]
        self.builder.call(raise_if, operands, [], exception=kind, text=template)

    def run_Assert(self, node: ast.Assert) -> Jump | None:
        test = self.truth(self.expression(node.test))
        if isinstance(test, bool) and test:
            return None
        text = self.expression(node.msg) if node.msg is not None else ""
        if isinstance(test, bool) and not self.changes:
            raise AssertionError(text) if text else AssertionError()
        failed = True if isinstance(test, bool) else self.call(operator.not_, test)
        self.raise_when(failed, AssertionError, text)
        return Jump(dead=True) if failed is True else None

    # Conditions

    def run_If(self, node: ast.If) -> Jump | None:
        return self.if_(node, [])

    def if_(self, node: ast.If, rest: Statements[ast.stmt]) -> Jump | None:
        """An ``if``; ``rest`` is what follows it where one of its sides leaves for certain."""
        self.builder.line = node.lineno
        try:
            test = self.truth(self.expression(node.test))
        except Ended:
            return Jump(dead=True)
        except MorulaError as error:
            self.locate(error, node)
            raise
        if isinstance(test, bool):
            jump = self.run(node.body if test else node.orelse)
            if jump is not None and jump.certain or not rest:
                return jump
            return self.run(rest) if jump is None else self.unless(jump, lambda: self.run(rest))

        def side(body: Statements[ast.stmt]) -> Jump | None:
            jump = self.run(body)
            if jump is None:
                return self.run(rest)
            return jump if jump.certain or not rest else self.unless(jump, lambda: self.run(rest))

        return self.branch(self.value(test), lambda: side(node.body), lambda: side(node.orelse))

    # Exceptions and contexts

    def run_Try(self, node: ast.Try) -> Jump | None:
        scopes = len(self.scopes)
        self.tries.append((len(self.changes), self.loops))
        try:
            jump = self.run(node.body)
            error = None
        except MorulaError:
            raise
        except Exception as raised:
            jump, error = None, raised
            del self.scopes[scopes:]
        finally:
            self.tries.pop()
        if error is not None:
            handler = next((h for h in node.handlers if self.catches(h, error)), None)
            if handler is None:
                self.run(node.finalbody)
                raise error
            jump = self.handle(handler, error)
        elif jump is None:
            jump = self.run(node.orelse)
        else:
            jump = self.handled(node, jump)
        last = self.run(node.finalbody) if node.finalbody and (jump is None or not jump.dead) else None
        return last if last is not None else jump

    def handle(self, handler: ast.ExceptHandler, error: BaseException) -> Jump | None:
        if handler.name:
            self.store(handler.name, error)
        return self.run(handler.body)

    def handled(self, node: ast.Try, jump: Jump) -> Jump | None:
        """What follows a body that may have raised, or left otherwise, on a condition."""
        for error in [k for k in jump.conditions if isinstance(k, BaseException)]:
            condition = jump.conditions[error]
            rest = Jump(
                {k: c for k, c in jump.conditions.items() if k is not error and c is not False},
                jump.value,
                jump.dead,
                jump.covers,
            )
            if rest.covers and len(rest.conditions) == 1:
                rest.conditions = dict.fromkeys(rest.conditions, True)
            handler = next((h for h in node.handlers if self.catches(h, error)), None)
            if condition is False:
                continue
            if handler is None and not self.tries:
                self.raise_error(condition, error)
                way: Callable[[], Jump | None] = lambda: Jump(dead=True)  # noqa: E731
            elif handler is None:
                way = lambda error=error: Jump({error: True})  # type: ignore[dict-item, misc]  # noqa: E731
            else:
                way = lambda handler=handler, error=error: self.handle(handler, error)  # type: ignore[misc]  # noqa: E731
            if condition is True:
                return way()
            return self.branch(
                self.value(condition),
                way,
                lambda rest=rest: self.handled(node, rest) if rest.conditions else self.run(node.orelse),
            )
        if jump.leaves or not node.orelse:
            return jump
        return self.unless(jump, lambda: self.run(node.orelse))

    def catches(self, handler: ast.ExceptHandler, error: BaseException) -> bool:
        return handler.type is None or isinstance(error, self.expression(handler.type))

    def run_With(self, node: ast.With) -> Jump | None:
        managers = []
        for item in node.items:
            manager = self.expression(item.context_expr)
            entered = self.call(self.attribute(manager, "__enter__"))
            managers.append(manager)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, entered)
        jump = self.run(node.body)
        for manager in reversed(managers):
            self.call(self.attribute(manager, "__exit__"), None, None, None)
        return jump


def _one_side_leaves(node: ast.If) -> bool:
    """Whether exactly one side of an ``if`` leaves for certain, so that what follows belongs to the other."""
    return _always_leaves(node.body) != _always_leaves(node.orelse)


def _always_leaves(body: Statements[ast.stmt]) -> bool:
    return any(
        isinstance(s, (ast.Return, ast.Break, ast.Continue))
        or isinstance(s, ast.If) and _always_leaves(s.body) and _always_leaves(s.orelse)
        for s in body
    )  # fmt: skip
