"""Statements, and how ``return``, ``break`` and ``continue`` pass through traced conditions."""

from __future__ import annotations

import ast
import operator
from collections import deque
from collections.abc import Callable, Sequence as Statements
from itertools import islice
from pathlib import Path
from typing import Any

from ..errors import FOLDER, BadInput, MorulaError
from ..faults import fault, is_fault
from ..ir.derived import is_list
from ..source.definitions import is_of_library
from ..source.yields import YIELDS
from .branches import Jump
from .choices import distributed
from .expressions import IN_PLACE
from .raising import Ended, Region
from .rows import rows_of
from .scopes import Closure
from .unopened import LooksInto, Part
from .warned import without_warnings
from .ways import Fork, Ways, shows

_IN_PYTHON = str(Path(__file__).parent)
"""The folder of the functions interpreted in place of C's."""
_REMEDY = ", which calls the library; mo.jit(partial=True) runs such parts in Python"
"""What a user can do about a construct in the code of others."""


class StatementsOf:
    """The part of the interpreter that runs statements; each returns None or the Jump by which control leaves it."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace

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
        if not self.trace.may_fork:
            self.trace.ways = Ways(self.trace.builder.out, {})  # tells where it would fork
            try:
                return self.run(statements)
            finally:
                self.trace.ways = None
        scopes = [*self.trace.scopes[:-1], self.trace.scope.parent, *self.trace.scope.vars.values()]

        def roots() -> list[Any]:
            trace = self.trace
            return [*scopes, *trace.given_objects.values(), *trace.given_arrays, *trace.suspended]

        return self.run_ways(statements, {}, roots)

    def run_ways(
        self, statements: Statements[ast.stmt], decided: dict[int, bool], roots: Callable[[], list[Any]]
    ) -> Jump | None:
        """Run the rest of a body, with some conditions of its first statement decided."""
        while statements:
            first, rest = statements[:1], statements[1:]
            if isinstance(first[0], ast.If) and rest and _one_side_leaves(first[0]):
                first, rest = statements, []
            suspended = len(self.trace.suspended)
            region = self.trace.run_region(lambda _, first=first, decided=decided: self.until_fork(first, decided))
            jump = region.result
            if isinstance(jump, Fork):
                del self.trace.suspended[suspended:]  # both branches make them again
                return self.fork(jump, region, statements, decided, roots)
            self.trace.commit(region)
            if jump is not None and rest and not jump.is_taken:
                some, end = self.taken(jump), self.trace.value(self.any_of(jump))
                return self.trace.both_ways(
                    end, lambda some=some: some, lambda rest=rest: self.run_ways(rest, {}, roots), roots
                )
            if jump is not None:
                return jump
            statements, decided = rest, {}
        return None

    def until_fork(self, statements: Statements[ast.stmt], decided: dict[int, bool]) -> Jump | Fork | None:
        """Run statements up to the condition at which their body forks."""
        self.trace.ways = Ways(self.trace.builder.out, decided)
        try:
            return self.run(statements)
        except Fork as fork:
            return fork
        finally:
            self.trace.ways = None

    def fork(
        self,
        at: Fork,
        region: Region,
        statements: Statements[ast.stmt],
        decided: dict[int, bool],
        roots: Callable[[], list[Any]],
    ) -> Jump | None:
        """Run the rest of a body in both branches of the condition up to which ``region`` has run."""
        without_warnings(region.block)
        if shows(region.block):
            raise BadInput(
                "a condition must be compiled as two separate paths, but a callback or mo.debug.print comes before it; give the values "
                "one type and length on both paths, or move the callback after the condition"
            )
        self.trace.builder.out += region.block.operations
        self.trace.forks -= 1
        then, other = (
            lambda holds=holds: self.run_ways(statements, {**decided, at.place: holds}, roots)
            for holds in (True, False)
        )
        return self.trace.both_ways(at.condition, then, other, roots)

    def taken(self, jump: Jump) -> Jump:
        """Return a jump as it is where its condition holds."""
        kinds = [k for k, c in jump.conditions.items() if c is not False]
        return Jump({kinds[0]: True}, jump.value) if len(kinds) == 1 else jump

    def unless(self, jump: Jump, rest: Callable[[], Jump | None]) -> Jump | None:
        """Run what follows a jump that may have been taken."""
        taken = self.taken(jump)
        return self.trace.branch(self.trace.value(self.any_of(jump)), lambda: taken, rest)

    def any_of(self, jump: Jump) -> Any:
        found: Any = False
        for condition in jump.conditions.values():
            if condition is not False:
                found = condition if found is False else self.trace.call(operator.or_, found, condition)
        return found

    def statement(self, node: ast.stmt) -> Jump | None:
        line = self.trace.builder.line
        self.trace.go_to(node)
        try:
            return self.trace.method_of(node)(node)
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
            self.trace.note_line(error)
            raise
        finally:
            self.trace.builder.line = line

    def locate(self, error: MorulaError, node: ast.AST) -> None:
        """Add the innermost function, file and line to a message, and the user's too if that is a library's."""
        filename = self.trace.scope.filename
        if filename.startswith(FOLDER) and not filename.startswith(_IN_PYTHON):
            return  # the engine's own code: the user's line is that of the call
        if not hasattr(error, "raised_in"):
            error.raised_in = filename  # type: ignore[attr-defined]
        is_library = is_of_library(filename) or filename.startswith(_IN_PYTHON)
        if not getattr(error, "is_located", False) and not (is_library and getattr(error, "is_in_library", False)):
            remedy = _REMEDY if getattr(error, "is_in_library", False) else ""
            error.is_located, error.is_in_library = not is_library, is_library  # type: ignore[attr-defined]
            text = f"{error.args[0] if error.args else ''}\n  {self.where(getattr(node, 'lineno', None))}{remedy}"
            error.args = (text, *error.args[1:])

    def where(self, line: int | None = None) -> str:
        return (
            f"in {self.trace.scope.name} ({self.trace.scope.filename}:{line or self.trace.builder.line})"
            if self.trace.scopes
            else ""
        )

    def locate_in(self, error: MorulaError, function: Any) -> None:
        """Add a function to the message of an error about its result or its changes of arguments."""
        code = getattr(function, "__code__", None)
        if code is not None and not getattr(error, "is_located", False):
            error.is_located = True  # type: ignore[attr-defined]
            where = f"in what {function.__name__} returns or changes ({code.co_filename}:{code.co_firstlineno})"
            error.args = (f"{error.args[0] if error.args else ''}\n  {where}", *error.args[1:])

    def unknown(self, node: ast.AST) -> Any:
        raise BadInput(
            f"{type(node).__name__} syntax cannot be compiled; move this part into its own function, and call that through mo.callback"
        )

    # Plain ones

    def run_Expr(self, node: ast.Expr) -> Jump | None:
        if isinstance(node.value, YIELDS) and self.trace.scope.consumer is not None:
            return self.trace.scope.consumer.run(node.value)
        self.trace.expressions.expression(node.value)
        return None

    def run_Pass(self, node: ast.Pass) -> None:
        pass

    def run_Assign(self, node: ast.Assign) -> None:
        x = self.trace.expressions.expression(node.value)
        for target in node.targets:
            self.assign(target, x)

    def run_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.trace.expressions.expression(node.value))

    def run_AugAssign(self, node: ast.AugAssign) -> None:
        target = node.target
        function = IN_PLACE[type(node.op)]
        if isinstance(target, ast.Name):
            self.assign(
                target,
                self.in_place(
                    function, self.trace.expressions.load(target.id), self.trace.expressions.expression(node.value)
                ),
            )
        elif isinstance(target, ast.Attribute):
            x = self.trace.expressions.expression(target.value)
            self.trace.objects.set_attribute(
                x,
                target.attr,
                self.in_place(
                    function, self.trace.attribute(x, target.attr), self.trace.expressions.expression(node.value)
                ),
            )
        else:
            x, index = self.trace.expressions.expression(target.value), self.trace.expressions.expression(target.slice)
            old = self.trace.call(operator.getitem, x, index)
            self.trace.call(
                operator.setitem, x, index, self.in_place(function, old, self.trace.expressions.expression(node.value))
            )

    def in_place(self, function: Callable[..., Any], x: Any, y: Any) -> Any:
        if isinstance(x, (list, dict, set, deque)):
            self.trace.touch(x)
        return self.trace.call(function, x, y)

    def run_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.trace.expressions.load(target.id)  # raises if the name is not bound
                self.trace.touch(self.trace.scope.vars)
                self.trace.scope.vars.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                x = self.trace.expressions.expression(target.value)
                self.trace.call(operator.delitem, x, self.trace.expressions.expression(target.slice))
            elif isinstance(target, (ast.Tuple, ast.List)):
                for one in target.elts:
                    self.run_Delete(ast.Delete([one]))
            else:
                x = self.trace.expressions.expression(target.value)  # type: ignore[attr-defined]
                self.trace.attribute(x, target.attr)  # type: ignore[attr-defined]
                held = self.trace.objects.of_function(x)
                if held is None:
                    self.trace.touch_attributes(x)
                    delattr(x, target.attr)  # type: ignore[attr-defined]
                else:
                    self.trace.touch(held)
                    del held[target.attr]  # type: ignore[attr-defined]

    def run_Global(self, node: ast.Global) -> None:
        pass

    run_Nonlocal = run_Global

    def run_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            module = __import__(alias.name, self.trace.scope.globals)
            name = alias.asname or alias.name.partition(".")[0]
            if alias.asname:
                for part in alias.name.split(".")[1:]:
                    module = getattr(module, part)
            self.trace.expressions.store(name, module)

    def run_ImportFrom(self, node: ast.ImportFrom) -> None:
        names = [alias.name for alias in node.names]
        module = __import__(node.module or "", self.trace.scope.globals, None, names, node.level)
        for alias in node.names:
            try:
                found = getattr(module, alias.name)
            except AttributeError:
                where = getattr(module, "__file__", None) or "unknown location"
                raise ImportError(f"cannot import name {alias.name!r} from {module.__name__!r} ({where})") from None
            self.trace.expressions.store(alias.asname or alias.name, found)

    def run_FunctionDef(self, node: ast.FunctionDef) -> None:
        made: Any = self.closure(node)
        for decorator in reversed(node.decorator_list):
            made = self.trace.call(self.trace.expressions.expression(decorator), made)
        self.trace.expressions.store(node.name, made)

    def closure(self, node: Any) -> Closure:
        defaults = [self.trace.expressions.expression(d) for d in node.args.defaults]
        by_name = {
            a.arg: self.trace.expressions.expression(d)
            for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults)
            if d is not None
        }
        return self.trace.new(Closure(node, self.trace.scope, defaults, by_name))

    # Assignment

    def assign(self, target: ast.expr, x: Any) -> None:
        if isinstance(target, ast.Name):
            self.trace.expressions.store(target.id, x)
        elif isinstance(target, ast.Subscript):
            self.trace.call(
                operator.setitem,
                self.trace.expressions.expression(target.value),
                self.trace.expressions.expression(target.slice),
                x,
            )
        elif isinstance(target, ast.Attribute):
            self.trace.objects.set_attribute(self.trace.expressions.expression(target.value), target.attr, x)
        elif isinstance(target, (ast.Tuple, ast.List)):
            distributed(self.trace, x, lambda o: self.unpack(target.elts, o))
        else:
            raise BadInput(f"an assignment to {ast.unparse(target)} cannot be compiled")

    def unpack(self, targets: list[ast.expr], x: Any) -> None:
        if type(x) is Part:
            raise LooksInto(x)
        starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
        rows = rows_of(x)
        if rows is not None and not starred:
            x = self.of_length(x, rows.length, len(targets))
        if is_list(x) and not starred:
            x = self.of_length(x, self.trace.call(len, x), len(targets))
        parts = list(self.trace.iterate(x)) if starred else list(islice(self.trace.iterate(x), len(targets) + 1))
        if starred:
            (i,) = starred
            after = len(targets) - i - 1
            if len(parts) < len(targets) - 1:
                raise ValueError(
                    f"not enough values to unpack (expected at least {len(targets) - 1}, got {len(parts)})"
                )
            parts = [*parts[:i], self.trace.new(parts[i : len(parts) - after]), *parts[len(parts) - after :]]
            targets = [t.value if isinstance(t, ast.Starred) else t for t in targets]
        if len(parts) != len(targets):
            if len(parts) > len(targets):
                raise ValueError(f"too many values to unpack (expected {len(targets)})")
            raise ValueError(f"not enough values to unpack (expected {len(targets)}, got {len(parts)})")
        for target, part in zip(targets, parts):
            self.assign(target, part)

    def of_length(self, x: Any, length: Any, count: int) -> list[Any]:
        """Return the items of a list of traced length, which must be ``count``."""
        trace = self.trace
        n = trace.value(length)
        more, fewer = (trace.value(trace.call(f, length, count)) for f in (operator.gt, operator.lt))
        trace.builder.raise_if(more, ValueError, f"too many values to unpack (expected {count})")
        trace.builder.raise_if(fewer, ValueError, f"not enough values to unpack (expected {count}, got {{}})", n)
        return [trace.call(operator.getitem, x, i) for i in range(count)]

    # Jumps

    def run_Return(self, node: ast.Return) -> Jump:
        return Jump({"return": True}, self.trace.expressions.expression(node.value) if node.value is not None else None)

    def run_Break(self, node: ast.Break) -> Jump:
        return Jump({"break": True})

    def run_Continue(self, node: ast.Continue) -> Jump:
        return Jump({"continue": True})

    # Conditions

    def run_If(self, node: ast.If) -> Jump | None:
        return self.if_(node, [])

    def if_(self, node: ast.If, rest: Statements[ast.stmt]) -> Jump | None:
        """Run an ``if``; ``rest`` are the statements after it if exactly one of its sides always leaves."""
        self.trace.go_to(node)
        try:
            test = self.trace.expressions.truth(self.trace.expressions.expression(node.test))
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

        return self.trace.branch(self.trace.value(test), lambda: side(node.body), lambda: side(node.orelse))


def _one_side_leaves(node: ast.If) -> bool:
    """Whether exactly one side of an ``if`` always leaves, so that the statements after it belong to the other."""
    return _always_leaves(node.body) != _always_leaves(node.orelse)


def _always_leaves(body: Statements[ast.stmt]) -> bool:
    return any(
        isinstance(s, (ast.Return, ast.Break, ast.Continue))
        or isinstance(s, ast.If) and _always_leaves(s.body) and _always_leaves(s.orelse)
        for s in body
    )  # fmt: skip
