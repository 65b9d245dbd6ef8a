"""List comprehensions whose length is known only at run time, as loops that append to a list."""

from __future__ import annotations

import ast
from typing import Any

from ..source.trees import fill_locations
from .scopes import Scope, local_names

_FOUND, _ITEMS = ".found", ".items"
"""Variables that no program can name."""


def grown(trace: Any, node: ast.ListComp) -> Any:
    """Evaluate a list comprehension as a loop."""
    append = ast.Call(ast.Attribute(ast.Name(_FOUND, ast.Load()), "append", ast.Load()), [node.elt], [])
    body: ast.stmt = ast.Expr(append)
    for depth, part in reversed(list(enumerate(node.generators))):
        for test in reversed(part.ifs):
            body = ast.If(test, [body], [])
        body = ast.For(part.target, ast.Name(_ITEMS, ast.Load()) if depth == 0 else part.iter, [body], [])
    fill_locations(ast.copy_location(body, node))
    items = trace.expressions.expression(node.generators[0].iter)
    scope = Scope(local_names(node) | {_FOUND, _ITEMS}, trace.scope, None, trace.scope.name)
    trace.new(scope.vars)
    scope.vars.update({_FOUND: trace.new([]), _ITEMS: items})
    trace.expressions.within(scope, lambda: trace.statements.run([body]))
    return scope.vars[_FOUND]
