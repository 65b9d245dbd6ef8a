"""Instrument a Python function: compile a copy that records every operation on a tape.

Control flow, exceptions and generators stay as they are in the syntax tree.  Only operations are replaced: ``a * b`` by
``_mul(_tape, a, b)``, ``a[i] = v`` by ``_setitem(_tape, a, i, v)``, a call by one of the callee's recorded form.
Line numbers are those of the user's file, so tracebacks show the user's own lines.
"""

from __future__ import annotations

import ast
import copy
import inspect
import re
from dataclasses import dataclass
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...ir.vocabulary import hold
from ...rules.connected import connected
from ...source.definitions import describe, future_flags, syntax_tree
from ...source.trees import fill_locations, nodes
from ...values.numbers import AGAIN, NUMBERS, PASSIVE
from ...values.passing import forgets, pass_by
from ..recorded import access, comparison, containers, known, operate, stores, text
from ..recorded.construct import class_made
from ..recorded.sizes import listed
from ..unrecorded.frames import REWRITTEN
from ..unrecorded.opaque_calls import evaluate_text
from . import matching
from .statements import Rewriter, type_parameters


@dataclass
class Template:
    """An instrumented function, not yet bound to the closure and defaults of one function object."""

    code: CodeType
    tree: ast.FunctionDef
    assumed: list[tuple[dict[str, Any], str, Any]]  # guards: globals, with their values when the function was rewritten
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


# By code and globals: equal code in two modules may read different globals.
_templates: dict[tuple[CodeType, int], Template] = {}


@forgets
def _forget(code: CodeType, scope: int) -> None:
    _templates.pop((code, scope), None)


def instrument(function: FunctionType) -> FunctionType:
    """Return the recorded form of ``function``, which takes a tape as its first argument.

    Raises ``NoSource`` if its source cannot be read, ``NoDerivative`` for a coroutine.
    """
    return template_of(function).bind(function)


def template_of(function: FunctionType) -> Template:
    """Return the template shared by all functions with this code and globals, remade if a guarded global changed."""
    key = function.__code__, id(function.__globals__)
    template = _templates.get(key)
    if template is None or not template.is_current():
        template = _templates[key] = _compile(function)
        pass_by(function)
    return template


def instrumented_source(function: FunctionType) -> str:
    """Return the source text of the instrumented function."""
    instrument(function)
    tree = copy.copy(_templates[function.__code__, id(function.__globals__)].tree)
    tree.name = f"{function.__name__.strip('<>')}_recorded"
    return ast.unparse(tree)


def _compile(function: FunctionType) -> Template:
    code = function.__code__
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise NoDerivative(
            f"{describe(function)} is a coroutine; asynchronous code cannot be differentiated. "
            "Compute in an ordinary function, or give it a derivative with @morula.adjoint"
        )
    tree = syntax_tree(function)
    names = {**connected.calls, "slice": slice, "text": evaluate_text}
    names |= {"again": AGAIN, "type": type, "sequences": known.SEQUENCES, "known": known.functions}
    names |= {"containers": known.CONTAINERS}
    names |= {
        "hashable": known.HASHABLE,
        "slotted": known.slotted,
        "compared": PASSIVE | NUMBERS - {np.ndarray},
        "int": int,
    }
    names |= {"changed": known.CHANGED, "shown": text.shown}
    names |= {"place": access.place, "dict_of": containers.dict_of, "set_of": containers.set_of}
    names |= {"getitem": access.getitem, "setitem": stores.setitem, "delitem": stores.delete_item}
    names |= {"getattr": access.get_attribute, "setattr": stores.set_attribute}
    names |= {"delattr": stores.delete_attribute}
    names |= {"update_item": stores.update_item, "update_attr": stores.update_attribute}
    names |= {"iterate": access.iterate, "listed": listed, "unpack": access.unpack, "mapping": access.mapping}
    names |= {"made": class_made, "match": matching.match, **matching.PATTERNS}
    names |= {"truth": operate.truth, "operand": operate.operand, "chosen": operate.chosen}
    names |= {"contains": comparison.contains, **operate.COMPARISONS}
    names |= {name: recorded for name, (recorded, _) in operate.OPERATORS.items()}
    used = {n.id for n in nodes(tree) if isinstance(n, ast.Name)} | {*code.co_varnames, *code.co_freevars}
    prefix = "_"
    while any(name.startswith(prefix) and _is_taken(name[len(prefix) :], names) for name in used):
        prefix += "_"
    rewriter = Rewriter(function, prefix)
    definition = rewriter.definition(tree)
    runtime = {prefix + name: CellType(value) for name, value in names.items()}
    for name, value in rewriter.cells.items():
        cell = runtime[prefix + name] = CellType(value)
        if name.startswith("site"):
            cell.cell_contents = connected.awaited(cell, *value)
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
    inner = _renamed(inner, f"{inner.co_qualname}.<locals>.", f"{code.co_qualname}.<locals>.")
    inner = inner.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    outer = code.co_freevars
    cells = [None if name in outer else runtime[name] for name in inner.co_freevars]
    captured = [(i, outer.index(name)) for i, name in enumerate(inner.co_freevars) if name in outer]
    return Template(inner, definition, [*rewriter.assumed.values()], cells, captured)


COMPREHENSIONS = {"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"}


def _renamed(code: CodeType, prefix: str, own: str, is_rewritten: bool = True) -> CodeType:
    """Return code in which nested functions and classes have the qualified names of the user's original.

    Generators are marked as rewritten, except those in nested functions, which are not instrumented here.
    """
    constants = []
    for c in code.co_consts:
        if isinstance(c, CodeType):
            is_part = c.co_name in COMPREHENSIONS or not c.co_flags & inspect.CO_OPTIMIZED
            c = _renamed(c, prefix, own, is_rewritten and is_part)
            c = c.replace(co_qualname=c.co_qualname.replace(prefix, own, 1))
        elif isinstance(c, str) and c.startswith(prefix):  # a class statement stores it as __qualname__
            c = c.replace(prefix, own, 1)
        constants.append(c)
    if is_rewritten and code.co_flags & inspect.CO_GENERATOR:
        constants.append(REWRITTEN)
    return code.replace(co_consts=tuple(constants))


def _is_taken(name: str, names: dict[str, object]) -> bool:
    """Whether rewritten functions use a name after the prefix."""
    return name in names or re.fullmatch(r"tape|t\d+|site\d+|(load|store|own|method)_.*", name) is not None


def _code_constant(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
