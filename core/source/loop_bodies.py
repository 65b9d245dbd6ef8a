"""Turns the outermost loops of a function into calls that get the loop's condition and body as functions.

``for i in items: body`` becomes ``a, b = _run(_body, items, (a, b), (c,))``, where ``_body(i, a, b, c)`` runs one
iteration and returns the variables that it hands on; the ``while`` loop has its condition in place of the items. A loop
that leaves before its end (``break``, ``return``), or that does anything which a function of its own could not do, stays
as it is.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from types import CellType, FunctionType
from typing import Any

from .definitions import define, owner_class, syntax_tree
from .liveness import LOOPS, Loops, bound_by, outermost_loops, read_by
from .private_names import mangled
from .templates import Template, compiled_within, type_parameters
from .trees import copied, fill_locations, nodes

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_STAYING = (
    *_SCOPES,
    *(ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith),
    *(ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Delete, ast.NamedExpr),
)
"""Syntax forms that a loop must not contain."""

_OF_FRAMES = frozenset(("super", "locals", "globals", "vars", "eval", "exec", "dir", "__import__", "breakpoint"))


@dataclass
class WithLoops:
    """A function whose loops are calls of two functions that are still to be given."""

    template: Template

    def bind(self, function: FunctionType, run_for: Any, run_while: Any) -> FunctionType:
        """Return the function with its loops run by ``run_for`` and ``run_while``.

        They are called with the body, the items or the condition, the values of the variables that iterations hand on,
        and those of the other variables that they read; they return the former.
        """
        runs = {"for": run_for, "while": run_while}
        cells: list[CellType | None] = []
        for cell in self.template.cells:
            found = None if cell is None else cell.cell_contents
            part = found.bind(function) if isinstance(found, Template) else runs.get(found) if found else None
            cells.append(cell if part is None else CellType(part))
        t = self.template
        return Template(t.tree, t.assumed, t.code, cells, t.captured).bind(function)


def with_loops(function: FunctionType) -> WithLoops | None:
    """Return the function with calls in place of loops; None if no loop can be a call.

    Raises:
        NoSource: its source cannot be read.
    """
    tree = copied(syntax_tree(function))
    if not isinstance(tree, ast.FunctionDef):
        return None
    owner = owner_class(function)
    if owner is not None:
        tree = mangled(owner, tree)
    template = _Rewriting(function, tree).template()
    return None if template is None else WithLoops(template)


class _Rewriting:
    def __init__(self, function: FunctionType, tree: ast.FunctionDef) -> None:
        self.function, self.tree = function, tree
        code, a = function.__code__, tree.args
        self.given = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(p for p in (a.vararg, a.kwarg) if p is not None)]
        parameters = frozenset(p.arg for p in self.given)
        bound = parameters.union(*map(bound_by, tree.body))
        elsewhere = {name for n in nodes(tree) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
        within = [n for n in nodes(tree) if n is not tree and isinstance(n, _SCOPES)]
        self.own = bound - elsewhere - read_by(*within) - set(code.co_freevars)
        self.changed_within = {name for n in nodes(tree) if isinstance(n, ast.Nonlocal) for name in n.names} & bound
        self.variables = bound - elsewhere
        taken = {n.id for n in nodes(tree) if isinstance(n, ast.Name)} | parameters
        self.prefix = "_loop"
        while any(name.startswith(self.prefix) for name in taken):
            self.prefix += "_m"
        self.runtime = {f"{self.prefix}_{kind}": CellType(kind) for kind in ("for", "while")}
        self.loops = Loops(tree.body, parameters | set(code.co_freevars))
        self.count = 0

    def template(self) -> Template | None:
        found = [s for s in outermost_loops(self.tree.body) if self.may_be_called(s)]
        if not found:
            return None
        made = {id(s): self.called(s) for s in found}
        body = [copied(s, made) for s in self.tree.body]
        for p in self.given:
            p.annotation = None
        a = self.tree.args
        arguments = ast.arguments(
            a.posonlyargs, a.args, a.vararg, a.kwonlyargs, [None] * len(a.kwonlyargs), a.kwarg, []
        )
        definition = ast.FunctionDef(f"{self.prefix}s", arguments, body, [], **type_parameters())
        fill_locations(ast.copy_location(definition, self.tree))
        kept = copied(definition)
        inner, cells, captured = compiled_within(self.function, definition, self.runtime)
        define(inner, kept)
        return Template(definition, [], inner, cells, captured)

    def may_be_called(self, loop: Any) -> bool:
        inside = nodes(loop)
        if loop.orelse or any(isinstance(n, _STAYING) for n in inside) or _breaks(loop.body):
            return False
        if any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in _OF_FRAMES for n in inside):
            return False
        if read_by(loop) & self.changed_within:  # by a function that the loop may call
            return False
        before = self.loops.assigned.get(id(loop), frozenset())
        return bound_by(loop) <= self.own and {*self.handed_on(loop), *self.read(loop)} <= before

    def handed_on(self, loop: Any) -> list[str]:
        """The variables that an iteration assigns, and that the next one or the code after the loop may read."""
        return sorted(bound_by(loop) & (self.loops.inputs(loop) | self.loops.live[id(loop)]))

    def read(self, loop: Any) -> list[str]:
        """The other variables that an iteration reads."""
        parts = [*loop.body, loop.test if isinstance(loop, ast.While) else loop.target]
        return sorted(read_by(*parts) & self.variables - bound_by(loop))

    def called(self, loop: Any) -> ast.stmt:
        """Return the statement that calls the loop."""
        handed_on, read = self.handed_on(loop), self.read(loop)
        kind = "for" if hasattr(loop, "iter") else "while"
        one = ast.For(ast.Name(f"{self.prefix}_once", ast.Store()), ast.Constant((None,)), list(loop.body), [])
        body: list[ast.stmt] = [one] if any(isinstance(n, ast.Continue) for n in nodes(loop)) else list(loop.body)
        first = [f"{self.prefix}_item"] if kind == "for" else []
        if kind == "for":
            body = [ast.Assign([loop.target], ast.Name(first[0], ast.Load())), *body]
            source: ast.expr = loop.iter
        else:
            source = self.function_of(loop, [ast.Return(loop.test)], [*handed_on, *read])
        result = ast.Return(_names(handed_on, ast.Load()))
        step = self.function_of(loop, [*body, result], [*first, *handed_on, *read])
        arguments = [step, source, _names(handed_on, ast.Load()), _names(read, ast.Load())]
        call = ast.Call(ast.Name(f"{self.prefix}_{kind}", ast.Load()), arguments, [])
        made: ast.stmt = ast.Assign([_names(handed_on, ast.Store())], call) if handed_on else ast.Expr(call)
        return fill_locations(ast.copy_location(made, loop))

    def function_of(self, loop: Any, body: list[ast.stmt], parameters: list[str]) -> ast.expr:
        """Make a function of statements, and return the name under which rewritten code finds it."""
        arguments = ast.arguments([], [ast.arg(n) for n in parameters], None, [], [], None, [])
        definition = ast.FunctionDef(
            f"{self.prefix}_step", arguments, [copied(s) for s in body], [], **type_parameters()
        )
        fill_locations(ast.copy_location(definition, loop))
        kept = copied(definition)
        inner, cells, captured = compiled_within(self.function, definition, {})
        define(inner, kept)
        self.count += 1
        name = f"{self.prefix}_{self.count}"
        self.runtime[name] = CellType(Template(definition, [], inner, cells, captured))
        return ast.Name(name, ast.Load())


def _names(names: list[str], context: Any) -> ast.expr:
    return ast.Tuple([ast.Name(n, context) for n in names], context)


def _breaks(body: list[Any]) -> bool:
    """Whether statements leave the loop around them by ``break``."""
    for s in body:
        if isinstance(s, ast.Break):
            return True
        if isinstance(s, LOOPS):
            if _breaks(s.orelse):
                return True
            continue
        for part in (getattr(s, name, ()) for name in ("body", "orelse", "finalbody", "handlers", "cases")):
            if isinstance(part, list) and _breaks(part):
                return True
    return False
