"""Functions that the traced program has made, turned into functions that Python can run: for callbacks and results."""

from __future__ import annotations

import ast
from types import CellType, CodeType, FunctionType
from typing import Any

from ..errors import BadInput
from ..source.definitions import future_flags
from ..source.templates import type_parameters
from ..source.trees import copied, fill_locations
from .arguments import depends_on_traced
from .scopes import Closure, Scope
from .traced import Array, Scalar


def python_function(f: Any) -> Any:
    """Return ``f`` itself, or the Python function for a closure of the program: with its globals and cells of outside.

    Raises:
        BadInput: the closure reads a variable that is not known while compiling.
    """
    return _made(f, {})


def _made(f: Any, made: dict[int, FunctionType]) -> Any:
    if not isinstance(f, Closure):
        return f
    if id(f) in made:
        return made[id(f)]
    code = _code(f)
    holders = {name: _holder(f.scope, name) for name in code.co_freevars}
    cells = {name: x if isinstance(x, CellType) else CellType() for name, x in holders.items()}
    function = made[id(f)] = FunctionType(code, f.scope.globals, None, None, tuple(cells.values()))
    for name, x in holders.items():
        if not isinstance(x, CellType):
            cells[name].cell_contents = _known(name, x[name], made)
    function.__defaults__ = tuple(_known("a default", x, made) for x in f.defaults) or None
    function.__kwdefaults__ = {k: _known("a default", x, made) for k, x in f.keyword_defaults.items()} or None
    for name, x in {**f.named, **vars(f)}.items():
        setattr(function, name, _known(f"its attribute {name}", x, made))
    return function


def _code(f: Closure) -> CodeType:
    """Compile the closure within a function whose variables are those around it."""
    node: Any = copied(f.node)
    a = node.args
    a.defaults = [ast.Constant(None) for _ in a.defaults]
    a.kw_defaults = [None if d is None else ast.Constant(None) for d in a.kw_defaults]
    if isinstance(node, ast.Lambda):
        body: ast.stmt = ast.Expr(node)
    else:
        node.decorator_list, node.returns, body = [], None, node
        for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, *(p for p in (a.vararg, a.kwarg) if p is not None)):
            p.annotation = None
    names = sorted({name for scope in _around(f.scope) for name in (*scope.vars, *scope.cells) if name.isidentifier()})
    around = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    factory = ast.FunctionDef("factory", around, [body], [], **type_parameters())
    module = ast.Module([ast.copy_location(factory, f.node)], [])
    fill_locations(module)
    outer = compile(module, f.scope.filename, "exec", flags=future_flags(f.scope.code), dont_inherit=True)
    found = next(c for c in outer.co_consts if isinstance(c, CodeType))
    return next(c for c in found.co_consts if isinstance(c, CodeType))


def _holder(scope: Scope, name: str) -> Any:
    """Return the dict of variables, or the cell, that has a name."""
    for around in _around(scope):
        if name in around.vars:
            return around.vars
    return scope.cells[name]


def _around(scope: Scope | None) -> Any:
    while scope is not None:
        yield scope
        scope = scope.parent


def _known(name: str, x: Any, made: dict[int, FunctionType]) -> Any:
    if isinstance(x, Closure):
        return _made(x, made)
    if isinstance(x, Array) and x.view is None and x.storage.value.is_constant:
        return x.storage.value.constant
    if isinstance(x, (Array, Scalar)) or depends_on_traced(x):
        raise BadInput(
            f"a function that compiled code returns or stores reads {name}, which is not known while compiling; pass {name} as an "
            "argument of that function"
        )
    return x
