"""Statements, and how ``return``, ``break`` and ``continue`` pass through traced conditions."""

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
from ..faults import fault, is_fault
from .branches import Jump
from .expressions import IN_PLACE
from .handlers import Handlers
from .raising import Ended, Region
from .scopes import Closure
from .ways import Fork, Ways, shows

_LIBRARIES = (str(Path(os.__file__).parent), str(Path(__file__).parent))
"""The folders of Python's libraries, and of the functions interpreted in place of C's."""


class StatementsOf(Handlers):
    """The part of the interpreter that runs statements; each returns None or the Jump by which control leaves it."""

    def run(self, statements: Statements[ast.stmt]) -> Jump | None:
        """Run a list of statements."""
        for i, statement in enumerate(statements):
            rest = statements[i + 1 :]
            if isinstance(statement, ast.If) and rest and _one_side_leaves(statement):
                jump = self.if_(statement, rest)
                return jump
            jump = self.statement(statement)
            if jump is None:
                continue
            if jump.is_taken:
                return jump
            return self.unless(jump, lambda rest=rest: self.run(rest)) if rest else jump
        return None

    def run_forking(self, statements: Statements[ast.stmt]) -> Jump | None:
        """Run a function's body, the rest of which may become part of both branches of a condition."""
        scopes = [*self.scopes[:-1], self.scope.parent, *self.scope.vars.values()]

        def roots() -> list[Any]:
            return [*scopes, *self.given_objects.values(), *self.given_arrays]

        return self.run_ways(statements, {}, roots)

    def run_ways(
        self, statements: Statements[ast.stmt], decided: dict[int, bool], roots: Callable[[], list[Any]]
    ) -> Jump | None:
        """Run the rest of a body, with some conditions of its first statement decided."""
        while statements:
            first, rest = statements[:1], statements[1:]
            if isinstance(first[0], ast.If) and rest and _one_side_leaves(first[0]):
                first, rest = statements, []
            region = self.run_region(lambda _, first=first, decided=decided: self.until_fork(first, decided))
            jump = region.result
            if isinstance(jump, Fork):
                return self.fork(jump, region, statements, decided, roots)
            self.commit(region)
            if jump is not None and rest and not jump.is_taken:
                some, end = self.taken(jump), self.value(self.any_of(jump))
                return self.both_ways(
                    end, lambda some=some: some, lambda rest=rest: self.run_ways(rest, {}, roots), roots
                )
            if jump is not None:
                return jump
            statements, decided = rest, {}
        return None

    def until_fork(self, statements: Statements[ast.stmt], decided: dict[int, bool]) -> Jump | Fork | None:
        """Run statements up to the condition at which their body forks."""
        self.ways = Ways(self.builder.out, decided)
        try:
            return self.run(statements)
        except Fork as fork:
            return fork
        finally:
            self.ways = None

    def fork(
        self,
        at: Fork,
        region: Region,
        statements: Statements[ast.stmt],
        decided: dict[int, bool],
        roots: Callable[[], list[Any]],
    ) -> Jump | None:
        """Run the rest of a body in both branches of the condition up to which ``region`` has run."""
        if shows(region.block):
            raise BadInput("a callback, or mo.debug.print, stands before a condition at which the program would fork")
        self.builder.out += region.block.operations
        self.forks -= 1
        then, other = (
            lambda holds=holds: self.run_ways(statements, {**decided, at.place: holds}, roots)
            for holds in (True, False)
        )
        return self.both_ways(at.condition, then, other, roots)

    def taken(self, jump: Jump) -> Jump:
        """Return a jump as it is where its condition holds."""
        kinds = [k for k, c in jump.conditions.items() if c is not False]
        return Jump({kinds[0]: True}, jump.value) if len(kinds) == 1 else jump

    def unless(self, jump: Jump, rest: Callable[[], Jump | None]) -> Jump | None:
        """Run what follows a jump that may have been taken."""
        taken = self.taken(jump)
        return self.branch(self.value(self.any_of(jump)), lambda: taken, rest)

    def any_of(self, jump: Jump) -> Any:
        found: Any = False
        for condition in jump.conditions.values():
            if condition is not False:
                found = condition if found is False else self.call(operator.or_, found, condition)
        return found

    def statement(self, node: ast.stmt) -> Jump | None:
        line = self.builder.line
        self.go_to(node)
        try:
            return getattr(self, f"run_{type(node).__name__}", self.unknown)(node)
        except Ended:
            return Jump(dead=True)
        except MorulaError as error:
            self.locate(error, node)
            raise
        except Exception as error:
            if is_fault(error):
                made = fault(error)
                self.locate(made, node)
                raise made from error
            self.note_line(error)
            raise
        finally:
            self.builder.line = line

    def locate(self, error: MorulaError, node: ast.AST) -> None:
        """Add the innermost function, file and line to a message, and the user's too if that is a library's."""
        is_library = self.scope.filename.startswith(_LIBRARIES)
        if not getattr(error, "is_located", False) and not (is_library and getattr(error, "is_in_library", False)):
            error.is_located, error.is_in_library = not is_library, is_library  # type: ignore[attr-defined]
            text = f"{error.args[0] if error.args else ''}\n  {self.where(getattr(node, 'lineno', None))}"
            error.args = (text, *error.args[1:])

    def where(self, line: int | None = None) -> str:
        return f"in {self.scope.name} ({self.scope.filename}:{line or self.builder.line})" if self.scopes else ""

    def locate_in(self, error: MorulaError, function: Any) -> None:
        """Add a function to the message of an error about its result or its changes of arguments."""
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
                self.load(target.id)  # raises if the name is not bound
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
            try:
                found = getattr(module, alias.name)
            except AttributeError:
                where = getattr(module, "__file__", None) or "unknown location"
                raise ImportError(f"cannot import name {alias.name!r} from {module.__name__!r} ({where})") from None
            self.store(alias.asname or alias.name, found)

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
            if len(parts) > len(targets):
                raise ValueError(f"too many values to unpack (expected {len(targets)})")
            raise ValueError(f"not enough values to unpack (expected {len(targets)}, got {len(parts)})")
        for target, part in zip(targets, parts):
            self.assign(target, part)

    # Jumps

    def run_Return(self, node: ast.Return) -> Jump:
        return Jump({"return": True}, self.expression(node.value) if node.value is not None else None)

    def run_Break(self, node: ast.Break) -> Jump:
        return Jump({"break": True})

    def run_Continue(self, node: ast.Continue) -> Jump:
        return Jump({"continue": True})

    # Conditions

    def run_If(self, node: ast.If) -> Jump | None:
        return self.if_(node, [])

    def if_(self, node: ast.If, rest: Statements[ast.stmt]) -> Jump | None:
        """Run an ``if``; ``rest`` are the statements after it if exactly one of its sides always leaves."""
        self.go_to(node)
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


def _one_side_leaves(node: ast.If) -> bool:
    """Whether exactly one side of an ``if`` always leaves, so that the statements after it belong to the other."""
    return _always_leaves(node.body) != _always_leaves(node.orelse)


def _always_leaves(body: Statements[ast.stmt]) -> bool:
    return any(
        isinstance(s, (ast.Return, ast.Break, ast.Continue))
        or isinstance(s, ast.If) and _always_leaves(s.body) and _always_leaves(s.orelse)
        for s in body
    )  # fmt: skip
