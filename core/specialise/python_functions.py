"""Functions that the traced program has made, turned into functions that Python can run: for callbacks and results."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from ..errors import BadInput
from ..source.trees import nodes
from .scopes import Closure, Scope
from .traced import Array, Scalar


def python_function(f: Any) -> Any:
    """Return ``f`` itself, or the Python function for a closure of the program.

    Raises:
        BadInput: the closure reads a variable that is not known while compiling.
    """
    if not isinstance(f, Closure):
        return f
    read = {n.id for n in nodes(f.node) if isinstance(n, ast.Name)}
    space = dict(f.scope.globals)
    for scope in reversed(list(_around(f.scope))):
        space |= {k: cell.cell_contents for k, cell in scope.cells.items() if k in read}
        space |= {k: _known(k, x) for k, x in scope.vars.items() if k in read}
    if isinstance(f.node, ast.Lambda):
        made = eval(compile(ast.Expression(f.node), f.scope.filename, "eval"), space)
    else:
        bare = ast.FunctionDef(**{**dict(ast.iter_fields(f.node)), "decorator_list": []})
        module = ast.Module([ast.copy_location(bare, f.node)], [])
        exec(compile(module, f.scope.filename, "exec"), space)
        made = space[f.node.name]
    assert isinstance(made, FunctionType)
    made.__defaults__ = tuple(_known("a default", x) for x in f.defaults) or None
    return made


def _around(scope: Scope | None) -> Any:
    while scope is not None:
        yield scope
        scope = scope.parent


def _known(name: str, x: Any) -> Any:
    if isinstance(x, Array) and x.view is None and x.storage.value.is_constant:
        return x.storage.value.constant
    if isinstance(x, (Array, Scalar)):
        raise BadInput(
            f"a function that compiled code returns or stores reads {name}, which is not known while compiling; pass {name} as an "
            "argument of that function"
        )
    return python_function(x)
