"""Compiles a rewritten syntax tree in place of a function: with its globals, closure, names and lines."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import Any

from ..ir.vocabulary import hold
from .definitions import future_flags
from .trees import fill_locations, nodes


@dataclass
class Template:
    """A rewritten function, not yet bound to the closure and defaults of one function object."""

    tree: ast.FunctionDef
    assumed: list[tuple[dict[str, Any], str, Any]]  # guards: globals, with their values when the function was rewritten
    code: CodeType
    cells: list[CellType | None]  # of the closure; None for a variable that the user's function captures
    captured: list[tuple[int, int]]  # for each such variable: its index in ``cells``, and in the function's closure

    def is_current(self) -> bool:
        return hold(self.assumed)

    bound: tuple[FunctionType, FunctionType] | None = None  # the function bound last, and its recorded form

    def bind(self, function: FunctionType) -> FunctionType:
        lately = self.bound  # read once: another thread may rebind it
        if lately is not None and lately[0] is function:
            last = lately[1]
            if last.__defaults__ is function.__defaults__ and last.__kwdefaults__ is function.__kwdefaults__:
                return last
        cells: list[Any] = [*self.cells]
        own = function.__closure__
        if own is not None:
            for place, position in self.captured:
                cells[place] = own[position]
        bound = FunctionType(self.code, function.__globals__, function.__name__, function.__defaults__, tuple(cells))
        bound.__kwdefaults__ = function.__kwdefaults__
        bound.__qualname__ = function.__qualname__
        if function.__closure__ is None:
            self.bound = function, bound
        return bound


def type_parameters() -> dict[str, Any]:
    return {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}


def compiled_within(
    function: FunctionType, definition: ast.FunctionDef, runtime: dict[str, CellType], mark: object = None
) -> tuple[CodeType, list[CellType | None], list[tuple[int, int]]]:
    """Compile the definition that replaces a function's; ``runtime`` has the names that only rewritten code reads.

    Returns the code, ``cells`` and ``captured`` of a ``Template``.
    """
    code = function.__code__
    read = {n.id for n in nodes(definition) if isinstance(n, ast.Name)}
    parameters = [*dict.fromkeys((*code.co_freevars, *(name for name in runtime if name in read)))]
    factory = ast.FunctionDef(
        name="factory",
        args=ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, []),
        body=[definition, ast.Return(ast.Constant(None))],
        decorator_list=[],
        **type_parameters(),
    )
    module = ast.Module([ast.copy_location(factory, definition)], [])
    fill_locations(module)
    compiled = compile(module, code.co_filename, "exec", flags=future_flags(code), dont_inherit=True)
    inner = _code_constant(_code_constant(compiled, "factory"), definition.name)
    inner = _renamed(inner, f"{inner.co_qualname}.<locals>.", f"{code.co_qualname}.<locals>.", mark)
    inner = inner.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    outer = code.co_freevars
    cells = [None if name in outer else runtime[name] for name in inner.co_freevars]
    captured = [(i, outer.index(name)) for i, name in enumerate(inner.co_freevars) if name in outer]
    return inner, cells, captured


COMPREHENSIONS = {"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"}


def _renamed(code: CodeType, prefix: str, own: str, mark: object) -> CodeType:
    """Return code in which nested functions and classes have the qualified names of the user's original.

    Generators get the constant ``mark``, except those in nested functions, which are not rewritten.
    """
    constants = []
    for c in code.co_consts:
        if isinstance(c, CodeType):
            is_part = c.co_name in COMPREHENSIONS or not c.co_flags & inspect.CO_OPTIMIZED
            c = _renamed(c, prefix, own, mark if is_part else None)
            c = c.replace(co_qualname=c.co_qualname.replace(prefix, own, 1))
        elif isinstance(c, str) and c.startswith(prefix):  # a class statement stores it as __qualname__
            c = c.replace(prefix, own, 1)
        constants.append(c)
    if mark is not None and code.co_flags & inspect.CO_GENERATOR:
        constants.append(mark)
    return code.replace(co_consts=tuple(constants))


def _code_constant(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
