"""Divides a function into parts: its loops become functions of their own, and its calls ask which form runs.

``y = g(x)`` becomes ``y = _call(g, x)``, and a loop becomes ``a, b = _loop0(a, b, n)``, where ``_loop0`` holds the loop
as a function of the variables that it needs, which returns those that are read later.  The rest stays as written.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any

from ..source.definitions import define, owner_class, syntax_tree
from ..source.liveness import Loops, bound_by, outermost_loops, read_by
from ..source.private_names import mangled
from ..source.templates import Template, compiled_within, type_parameters
from ..source.trees import copied, fill_locations, nodes

OF_FRAMES = frozenset(("super", "locals", "globals", "vars", "eval", "exec", "dir", "__import__", "breakpoint"))
"""Built-in functions that look at the frame of their caller: they are called as they are."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_HELD_TOGETHER = (
    *_SCOPES,
    *(ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith),
    *(ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Delete),
)
"""Syntax forms that a loop must not contain to become a function of its own."""


def divided(function: FunctionType, call: Any, loop: Callable[[FunctionType], Any], is_loop: bool) -> Template | None:
    """Return the function with its calls made by ``call``, and its loops by ``loop(function)``; None if it has neither.

    If ``is_loop``, the function was made of a loop here: the loops within that one are made functions.

    Raises:
        NoSource: its source cannot be read.
    """
    tree = copied(syntax_tree(function))
    owner = owner_class(function)
    if owner is not None:
        tree = mangled(owner, tree)
    return _Division(function, tree, call, loop).template(is_loop)


class _Division(ast.NodeTransformer):
    def __init__(self, function: FunctionType, tree: Any, call: Any, loop: Callable[[FunctionType], Any]) -> None:
        self.function, self.tree, self.loop = function, tree, loop
        code = function.__code__
        self.body: list[Any] = [ast.Return(tree.body)] if isinstance(tree, ast.Lambda) else tree.body
        a = tree.args
        parameters = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(p for p in (a.vararg, a.kwarg) if p is not None)]
        self.parameters = frozenset(p.arg for p in parameters)
        bound = self.parameters.union(*map(bound_by, self.body))
        elsewhere = {name for n in nodes(tree) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names}
        self.captured = frozenset(code.co_cellvars)
        self.variables = (bound - elsewhere) | set(code.co_freevars)
        self.own = bound - elsewhere - self.captured - set(code.co_freevars)
        taken = {n.id for n in nodes(tree) if isinstance(n, ast.Name)} | self.parameters
        self.prefix = "_"
        while any(name.startswith((f"{self.prefix}call", f"{self.prefix}loop")) for name in taken):
            self.prefix += "m_"
        self.runtime = {f"{self.prefix}call": CellType(call)}

    def template(self, is_loop: bool) -> Template | None:
        loops = Loops(self.body, self.parameters | set(self.function.__code__.co_freevars))
        around = self.body[0] if is_loop else self.tree
        body = around.body if not isinstance(around, ast.Lambda) else self.body
        found = [s for s in outermost_loops(body) if self.may_be_function(s, loops)]
        made = {id(s): self.replaced(s, loops) for s in found}
        self.body = [self.visit(copied(s, made)) for s in self.body]
        if not any(isinstance(n, ast.Name) and n.id in self.runtime for s in self.body for n in nodes(s)):
            return None
        a = self.tree.args
        for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, *(p for p in (a.vararg, a.kwarg) if p is not None)):
            p.annotation = None
        given = ast.arguments(a.posonlyargs, a.args, a.vararg, a.kwonlyargs, [None] * len(a.kwonlyargs), a.kwarg, [])
        definition = ast.FunctionDef(f"{self.prefix}parts", given, self.body, [], **type_parameters())
        fill_locations(ast.copy_location(definition, self.tree))
        kept = copied(definition)
        inner, cells, captured = compiled_within(self.function, definition, self.runtime)
        define(inner, kept)
        return Template(definition, [], inner, cells, captured)

    # Calls

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and self.is_builtin(node.func.id):
            return node
        call = ast.Name(f"{self.prefix}call", ast.Load())
        return ast.copy_location(ast.Call(call, [node.func, *node.args], node.keywords), node)

    def is_builtin(self, name: str) -> bool:
        if name.startswith(self.prefix) and name in self.runtime or name in OF_FRAMES:
            return True
        return name not in self.variables and name not in self.function.__globals__ and hasattr(builtins, name)

    def visit_FunctionDef(self, node: Any) -> Any:
        return node  # when it is called, it is divided itself

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef

    # Loops

    def may_be_function(self, loop: Any, loops: Loops) -> bool:
        inside = nodes(loop)
        if any(isinstance(n, _HELD_TOGETHER) for n in inside):
            return False
        if any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in OF_FRAMES for n in inside):
            return False
        bound = bound_by(loop)
        needed = loops.inputs(loop) & self.variables
        return bound <= self.own and needed <= loops.assigned.get(id(loop), frozenset())

    def replaced(self, loop: Any, loops: Loops) -> ast.stmt:
        """Return the statement that calls the loop as a function."""
        name = f"{self.prefix}loop{len(self.runtime)}"
        given = sorted((loops.inputs(loop) | read_by(loop) & self.captured) & self.variables)
        left = sorted(bound_by(loop) & loops.live[id(loop)])
        self.runtime[name] = CellType(self.loop(self.function_of(loop, given, left)))
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(n, ast.Load()) for n in given], [])
        target = ast.Tuple([ast.Name(n, ast.Store()) for n in left], ast.Store())
        made: ast.stmt = ast.Assign([target], call) if left else ast.Expr(call)
        return fill_locations(ast.copy_location(made, loop))

    def function_of(self, loop: Any, given: list[str], left: list[str]) -> FunctionType:
        results = ast.Return(ast.Tuple([ast.Name(n, ast.Load()) for n in left], ast.Load()))
        arguments = ast.arguments([], [ast.arg(n) for n in given], None, [], [], None, [])
        body = [copied(loop), ast.copy_location(results, loop)]
        definition = ast.FunctionDef(f"{self.prefix}loop", arguments, body, [], **type_parameters())
        fill_locations(ast.copy_location(definition, loop))
        kept = copied(definition)
        inner, _, _ = compiled_within(self.function, definition, {})
        define(inner, kept)
        function = self.function
        made = FunctionType(inner, function.__globals__, function.__name__, None, ())
        made.__qualname__, made.__module__ = function.__qualname__, function.__module__
        return made
