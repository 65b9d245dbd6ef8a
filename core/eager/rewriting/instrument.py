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
from types import CellType, CodeType, FunctionType

from ...errors import NoDerivative
from ...rules.connected import connected
from ...source.definitions import describe, syntax_tree
from ...source.templates import Template, compiled_within
from ...source.trees import nodes
from ...values.numbers import AGAIN
from ...values.passing import forgets, pass_by
from ..recorded import access, comparison, containers, known, operate, stores, text
from ..recorded.construct import class_made
from ..recorded.sizes import UNASKED, listed
from ..unrecorded.frames import REWRITTEN
from ..unrecorded.opaque_calls import evaluate_text
from ..unrecorded.unasking import PLAIN
from . import matching
from .builtin_calls import FLOATS
from .statements import Rewriter

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
    names |= {"containers": known.CONTAINERS, "iterables": known.ITERABLES, "sized": UNASKED, "floats": FLOATS}
    names |= {"keys": PLAIN}
    names |= {
        "hashable": known.HASHABLE,
        "slotted": known.slotted,
        "compared": known.COMPARED,
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
        prefix += "m_"  # two underscores at the start would make the names private to the method's class
    rewriter = Rewriter(function, prefix)
    definition = rewriter.definition(tree)
    runtime = {prefix + name: CellType(value) for name, value in names.items()}
    for name, value in rewriter.cells.items():
        cell = runtime[prefix + name] = CellType(value)
        if name.startswith("site"):
            cell.cell_contents = connected.awaited(cell, *value)
    return Template(
        definition, [*rewriter.assumed.values()], *compiled_within(function, definition, runtime, REWRITTEN)
    )


def _is_taken(name: str, names: dict[str, object]) -> bool:
    """Whether rewritten functions use a name after the prefix."""
    return name in names or re.fullmatch(r"tape|t\d+|site\d+|(load|store|own|method)_.*", name) is not None
