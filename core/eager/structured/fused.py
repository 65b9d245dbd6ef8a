"""Fused expressions and functions: each runs and is recorded as one operation of the tape.

In general a recorded function computes ``a * b + c`` operation by operation, because any operand may be an object that
defines operators.  Mostly all are numbers.  The expression is then treated as a function of its leaves: ``Inference``
and ``reverse``, which serve whole structured functions, give its two sweeps.  These are printed as one function that
computes and records, and one that maps the cotangent of the result to those of the leaves.

``site(tree)`` returns the first of the two.  Where it does not apply (other types, an enclosing derivative, an
exception) it returns ``AGAIN`` without any effect, and the caller computes operation by operation.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CellType, CodeType, FunctionType
from typing import Any

import numpy as np

from ...emit.python import Printer, build, load
from ...errors import ENGINE
from ...ir.dynamic import Block, Function, Operation, Value, verify
from ...ir.vocabulary import hold
from ...rules import find_rule
from ...rules.connected import connected
from ...source.definitions import parse
from ...source.statements import lower
from ...source.trees import nodes
from ...values.cotangents import conform
from ...values.numbers import AGAIN, NO_KEYWORDS, NUMBERS, REAL
from ...values.passing import drop, forgets, pass_by
from ...values.silence import raising, silently
from ...values.strong_zero import is_nan
from ..arrays.apply import SINGULAR, apply_rule
from ..recorded.tape import Cotangents, Tape, pull_again
from ..rewriting.instrument import instrument
from .forward import forward
from .fusible import Tree
from .inference import Inference
from .sweeps import reverse
from .types import Type, type_of

MOST_SITES = 4096
MOST_VARIANTS = 32
"""How many variants one site has for types other than real numbers; beyond that it computes operation by operation."""


class Site:
    """One expression, compiled for each combination of leaf types that has occurred."""

    def __init__(self, tree: Tree, leaves: int, functions: tuple[Any, ...] = (), in_place: bool = False) -> None:
        self.tree, self.leaves, self.functions, self.in_place = tree, leaves, functions, in_place
        self.variants: dict[tuple[Any, ...], Any] = {}

    def compiled(self) -> Callable[..., Any]:
        """Return the function for leaves that are all real numbers; it calls ``other`` for all other types."""
        try:
            return _print(self, (type_of(1.0),) * self.leaves, (True,) * self.leaves)
        except Exception:  # not compilable: if it is an error of the program, the caller meets it too
            return lambda tape, *leaves: AGAIN

    def other(self, tape: Tape, *given: Any) -> Any:
        """Run the expression for leaves of new types, or with arrays among them."""
        leaves = given[: self.leaves]
        if tape.parent is not None or any(a is not b for a, b in zip(given[self.leaves :], self.functions)):
            return AGAIN
        key: Any = tuple(map(type, leaves))
        if np.ndarray in key:
            if tape.tangents is not None:
                return self.with_tangents(tape, leaves)
            key = tuple((x.shape, x.dtype) if type(x) is np.ndarray else type(x) for x in leaves)
        elif self.leaves == 1:
            (key,) = key
        variant = self.variants.get(key)
        if variant is None:
            for x in leaves:
                if type(x) not in NUMBERS:
                    return AGAIN  # a user's class may be short-lived: do not keep it in variants
            if len(self.variants) > MOST_VARIANTS:
                return AGAIN
            variant = self.variants[key] = self._variant(leaves)
        return AGAIN if variant is AGAIN else variant(tape, *leaves)

    def _variant(self, leaves: Sequence[Any]) -> Any:
        for x in leaves:
            kind = type(x)
            if kind is np.ndarray:
                if self.in_place or x.dtype != np.float64 or not x.ndim:
                    return AGAIN
            elif kind is not int and kind not in REAL:
                return AGAIN
        try:
            active = tuple(type(x) is not int for x in leaves)
            return _print(self, tuple(map(type_of, leaves)), active, guarded=False)
        except Exception:  # not compilable for these types: if it is an error of the program, the caller meets it too
            return AGAIN

    def with_tangents(self, tape: Tape, leaves: tuple[Any, ...]) -> Any:
        """Run the expression for arrays and their tangents, on a tape of forward mode."""
        tangents = tape.tangents
        if self.in_place or tangents.is_series or tape.integers is not None:
            return AGAIN
        kinds: list[Any] = []
        given: list[Any] = []
        for x in leaves:
            kind = type(x)
            if kind is np.ndarray:
                if x.dtype != np.float64 or not x.ndim:
                    return AGAIN
                kinds.append(x.shape)
            elif kind in REAL or kind is int:
                kinds.append(kind)
            else:
                return AGAIN
            given.append(None if kind is int else tangents.get(x))
        key = *kinds, *(t is not None for t in given)
        form = self.variants.get(key)
        if form is None:
            if len(self.variants) > MOST_VARIANTS:
                return AGAIN
            form = self.variants[key] = self._form(leaves, given)
        if form is AGAIN:
            return AGAIN
        given = [t for t in given if t is not None]
        try:
            y, t = raising(form, *leaves, *given)
        except Exception:  # an infinite slope, or an error of the program: operation by operation
            return AGAIN
        if t is not None:
            if is_nan(t):
                return AGAIN
            if type(t) is np.ndarray and any(t is other for other in given):  # of a view, the tape copies the contents
                t = np.copy(t)
            tangents.length += 1
            tangents.set(y, t)
        return y

    def _form(self, leaves: Sequence[Any], tangents: Sequence[Any]) -> Any:
        """Compile the expression, with tangents, for these leaves; AGAIN if it cannot be compiled for them."""
        try:
            types = tuple(map(type_of, leaves))
            function = self.function(types)
            if Inference(function, None).run(types).kind not in ("real", "array"):  # type: ignore[arg-type]
                return AGAIN
            active = [p for p, t in zip(function.parameters, tangents) if t is not None]
            return build(verify(forward(function, active, None)))[0]  # type: ignore[arg-type]
        except Exception:  # not compilable for these types: if it is an error of the program, the caller meets it too
            return AGAIN

    def function(self, types: Sequence[Type]) -> Function:
        return _function(self.tree, types)

    def pull_apart(self, table: Cotangents, dy: Any, *leaves: Any) -> None:
        """Pull back operation by operation where a slope is infinite, because the tape treats that case."""

        pull_again(table, lambda tape: self.apart(tape, self.tree, leaves), dy)

    def push_apart(self, tangents: Any, y: Any, *leaves: Any) -> None:
        """Find the tangent operation by operation, for the same reason."""
        t = tangents.get(silently(self.apart, tangents.tape, self.tree, leaves))
        if t is not None:
            tangents.set(y, t)

    def apart(self, tape: Tape, tree: Tree, leaves: Sequence[Any]) -> Any:
        if tree[0] == "leaf":
            return leaves[tree[1]]
        if tree[0] == "constant":
            return tree[2]
        # Apply the rule directly: a recorded operator would again be a fused operation.
        return apply_rule(tape, find_rule(tree[1]), tuple(self.apart(tape, t, leaves) for t in tree[2:]), NO_KEYWORDS)


class Body:
    """A function that calls no other user function; with real arguments it is recorded as one operation."""

    functions = ()

    def __init__(self, python: FunctionType, general: Callable[..., Any], given: int) -> None:
        self.python, self.general = python, general
        self.variants: dict[Any, Any] = {}
        defaults = enumerate(reversed(python.__defaults__ or ()), start=1)
        last = python.__code__.co_argcount
        self.lowered, self.guards = lower(python, {last - i: x for i, x in defaults if last - i >= given})
        del self.lowered.parameters[given:]

    def function(self, types: Sequence[Type]) -> Function:
        for i, parameter in enumerate(self.lowered.parameters):
            parameter.name = f"p{i}"
        return self.lowered

    def other(self, tape: Tape, given: tuple[Any, ...], more: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Make the call in the general way, for other arguments."""
        return self.general(tape, self.python, (*(x for x in given if x is not AGAIN), *more), named)

    def is_current(self) -> bool:
        return hold(self.guards)

    def pull_apart(self, table: Cotangents, dy: Any, *leaves: Any) -> None:
        """Pull back operation by operation where a slope is infinite, because the tape treats that case."""
        pull_again(table, lambda tape: instrument(self.python)(tape, *leaves), dy)


def body(function: FunctionType, general: Callable[..., Any], given: int) -> Callable[..., Any] | None:
    """Return the function ``(tape, *arguments)`` that runs and records ``function`` as one operation, or None.

    It takes the first ``given`` arguments; later parameters keep their defaults.  Where it does not apply, it calls
    ``general(tape, function, args, kwargs)``.
    """
    # Key on the identity of the defaults: equal defaults of two function objects may have different derivatives.
    key = function.__code__, id(function.__globals__), id(function.__defaults__), given
    made, run = _bodies.get(key, (None, None))
    if made is None or not made.is_current():
        try:
            made = Body(function, general, given)
            run = _print(made, (type_of(1.0),) * given, (True,) * given)
        except Exception:  # not compilable: if it is an error of the program, the general call meets it too
            run = None
        if len(_bodies) > MOST_SITES:
            _bodies.clear()
        _bodies[key] = made, run
        pass_by(function)
    return run


_bodies: dict[Any, tuple[Body | None, Callable[..., Any] | None]] = {}


@forgets
def _forget(code: CodeType, scope: int) -> None:
    drop(_bodies, code, scope)


@lru_cache(maxsize=MOST_SITES)
def site(tree: Tree, leaves: int, functions: tuple[Any, ...] = (), in_place: bool = False) -> Callable[..., Any]:
    """Return the function ``(tape, *leaves, *functions)`` that computes and records the expression ``tree``.

    ``functions`` are the functions that the expression calls.  Each call passes them again, so that a rebound name is
    noticed.
    """
    return Site(tree, leaves, functions, in_place).compiled()


def awaited(cell: CellType, tree: Tree, leaves: int, functions: tuple[Any, ...], in_place: bool) -> Callable[..., Any]:
    """Return a stand-in that builds the site on its first run and puts it in ``cell``; many branches never run."""

    def first(tape: Tape, *given: Any) -> Any:
        cell.cell_contents = found = site(tree, leaves, functions, in_place)
        return found(tape, *given)

    return first


def _function(tree: Tree, types: Sequence[Type]) -> Function:
    parameters = [Value(f"p{i}") for i in range(len(types))]
    block = Block()

    def value(t: Tree) -> Value:
        if t[0] == "leaf":
            return parameters[t[1]]
        if t[0] == "constant":
            return Value(constant=t[2])
        operands = [value(e) for e in t[2:]]
        result = Value("t")
        block.operations.append(Operation("call", t[1], operands, results=[result]))
        return result

    block.results = [value(tree)]
    return Function("expression", parameters, block, "<expression>")


def _print(site_: Any, types: tuple[Type, ...], active: tuple[bool, ...], guarded: bool = True) -> Any:
    """Compile an expression for leaves of these types; return its ``run``, which puts its pullback on the tape."""
    function = site_.function(types)
    result = Inference(function, None).run(types)  # type: ignore[arg-type]
    if result.kind not in ("real", "array") and {e.kind for e in result.elements} != {"real"}:
        raise ValueError(f"a result that is {result}")
    chosen = [p for p, a in zip(function.parameters, active) if a]
    forward, backward = (verify(f) for f in reverse(function, chosen, None))  # type: ignore[arg-type]
    namespace: dict[str, Any] = {"AGAIN": AGAIN, "REAL": REAL, "other": site_.other, "conform": conform}
    namespace |= {"SINGULAR": SINGULAR, "pull_apart": site_.pull_apart, "variants": site_.variants}
    if isinstance(site_, Site):
        namespace |= {"push_apart": site_.push_apart, "silently": silently, "float64": np.float64}
    if isinstance(site_, Body):
        namespace["is_current"] = site_.is_current
    first, last = _tree_of(forward, namespace), _tree_of(backward, namespace)
    _set_apart(first.body, "a_")
    compute: list[Any]
    returned: Any
    *compute, returned = first.body
    y, saved = returned.value.elts
    saved = _on_its_own_line(saved, compute)
    kept, names = _saved(saved, y, [p.name for p in function.parameters])
    body = _renamed(last, names)
    arrays = result.kind == "array" or any(t.kind == "array" for t in types)
    namespace |= {f"F{i}": f for i, f in enumerate(site_.functions)}
    text = _text(site_, active, compute, y, kept, body, guarded, arrays, len(result.elements), result.is_list)
    # Named as a part of the engine, whose frames are hidden from the user's tracebacks.
    return load("expression", text, {**namespace, "__name__": f"{ENGINE}generated"})["run"]


def _tree_of(function: Function, namespace: dict[str, Any]) -> ast.FunctionDef:
    printer = Printer(function)
    (definition,) = parse(printer.text()).body
    for name, value in printer.namespace.items():
        if namespace.setdefault(name, value) is not value:
            raise ValueError(f"two objects called {name}")
    return definition  # type: ignore[return-value]


def _on_its_own_line(x: Any, before: list[Any]) -> Any:
    """Return the tuple behind a returned name: the printer assigns long tuples on a line of their own, removed here."""
    if before and isinstance(x, ast.Name) and isinstance(getattr(before[-1], "value", None), ast.Tuple):
        return before.pop().value
    return x


def _saved(saved: ast.expr, y: ast.expr, parameters: list[str]) -> tuple[list[str], list[str]]:
    """Return what the record must hold besides result and leaves, and the name under which each saved value is read."""
    elements = [] if isinstance(saved, ast.Constant) else saved.elts if isinstance(saved, ast.Tuple) else [saved]
    kept: list[str] = []
    places: list[str] = []
    for element in elements:
        name = ast.unparse(element)
        if name in parameters:
            places.append(name)
        elif isinstance(y, ast.Name) and y.id == name:
            places.append("y")
        else:
            kept.append(name)
            places.append(f"s{len(kept)}")
    return kept, places


def _renamed(backward: ast.FunctionDef, places: list[str]) -> list[ast.stmt]:
    """Return the backward sweep's statements, with saved values under the record's names and a prefix on all others."""
    saved, dy = (a.arg for a in backward.args.args)
    body = backward.body
    known = {dy: "dy"}
    first = body[0]
    if isinstance(first, ast.Assign) and isinstance(first.value, ast.Name) and first.value.id == saved:
        target = first.targets[0]
        elements = target.elts if isinstance(target, ast.Tuple) else [target]
        known |= dict(zip((ast.unparse(e) for e in elements), places))
        body = body[1:]
    elif places:
        known[saved] = places[0]
    _set_apart(body, "b_", known)
    return body


def _set_apart(body: list[ast.stmt], prefix: str, known: dict[str, str] | None = None) -> None:
    """Prefix the names that a body assigns, so that they cannot clash with the generated names around it."""
    names = [n for s in body for n in nodes(s) if isinstance(n, ast.Name)]
    new = {**(known or {}), **{n.id: prefix + n.id for n in names if isinstance(n.ctx, ast.Store)}}
    for name in names:
        name.id = new.get(name.id, name.id)


def _text(
    site_: Any,
    active: Sequence[bool],
    compute: list[ast.stmt],
    y: ast.expr,
    kept: list[str],
    body: list[ast.stmt],
    guarded: bool,
    arrays: bool,
    elements: int,
    is_list: bool,
) -> str:
    leaves = [f"p{i}" for i in range(len(active))]
    functions = [f"f{i}" for i in range(len(site_.functions))]
    held = ", ".join(["y", *leaves, *(f"s{i + 1}" for i in range(len(kept)))])
    returned: Any = body.pop()
    gradients = _on_its_own_line(returned.value, body).elts
    pairs = [
        (x, ast.unparse(g))
        for x, g in zip((x for x, a in zip(leaves, active) if a), gradients)
        if not (isinstance(g, ast.Constant) and g.value == 0)
    ]
    lines = ast.unparse(ast.Module(body, [])).splitlines()
    pull = [f"def pull(dy, {held}):", *_indented(lines), f"    return [{', '.join(g for _, g in pairs)}]"]
    back = ["def back(table, record):", f"    _, {held} = record"]
    if elements:
        parts = [f"d{i}" for i in range(elements)]
        back += [f"    {d} = table.numbers.pop(id(y[{d[1:]}]), None)" for d in parts]
        back += [f"    if {' is '.join([*parts, 'None'])}:", "        return"]
        back.append(f"    dy = ({', '.join(f'0.0 if {d} is None else {d}' for d in parts)},)")
    else:
        back.append("    dy = table.take(y)" if arrays else "    dy = table.numbers.pop(id(y), None)")
        back += ["    if dy is None:", "        return"]
    back += ["    try:", "        if table.evaluate is not None:"]
    back += [
        "            if table.is_strong:",
        f"                return pull_apart({', '.join(['table', 'dy', *leaves])})",
    ]
    back.append(f"            gradients = table.run(pull, dy, {held})")
    back.append(f"            for x, g in zip([{', '.join(x for x, _ in pairs)}], gradients):")
    back += ["                table.add(x, table.run(conform, g, x))", "            return"]
    back += _indented(_indented([*lines, *(f"g{x[1:]} = {g}" for x, g in pairs)]))
    back += ["    except SINGULAR:", f"        return pull_apart({', '.join(['table', 'dy', *leaves])})"]
    if arrays:
        back += [f"    table.add({x}, g{x[1:]})" for x, _ in pairs]
    else:
        back.append("    numbers = table.numbers")
        for x, _ in pairs:
            back += [f"    k = id({x})", "    g = numbers.get(k)"]
            back.append(f"    numbers[k] = g{x[1:]} if g is None else g + g{x[1:]}")
    result = [*ast.unparse(ast.Module(compute, [])).splitlines(), f"y = {ast.unparse(y)}"]
    apart = f"other(tape, ({', '.join(leaves)},), more, named)" if isinstance(site_, Body) else "AGAIN"
    result = ["try:", *_indented(result), "except Exception:", f"    return {apart}"]
    given = "tuple(y)" if is_list else "y"  # the program may change the list afterwards
    record = ", ".join(["back", given, *leaves, *kept])
    recorded = [*result, f"tape.records.append(({record}))", "return y"]
    if not guarded:
        run = [f"def run({', '.join(['tape', *leaves])}):", *_indented(recorded)]
    elif isinstance(site_, Body):
        guards = [
            *(f"type({x}) in REAL" for x in leaves),
            "tape.parent is None",
            "tape.tangents is None",
            "not more",
            "not named",
        ]
        guards += ["is_current()"] if site_.guards else []
        run = [
            f"def run(tape, {', '.join(f'{x}=AGAIN' for x in leaves)}, /, *more, **named):",
            f"    if {' and '.join(guards)}:",
            *_indented(_indented(recorded)),
            f"    return other(tape, ({', '.join(leaves)},), more, named)",
        ]
    else:
        same = [f"{f} is F{f[1:]}" for f in functions]
        outer = ["tape.parent is None", *same]
        run = [
            f"def run({', '.join(['tape', *leaves, *functions])}):",
            f"    if {' and '.join([*(f'type({x}) in REAL' for x in leaves), *outer])}:",
            *_indented(_indented(recorded)),
            f"    if {' and '.join([*(f'type({x}) is int' for x in leaves), *same])}:",
            *_indented(_indented([*result, "return y"])),  # ints have no derivative: nothing to record
            f"    variant = variants.get(({', '.join(f'type({x})' for x in leaves)}))",
            "    if variant is None:",
            f"        return other({', '.join(['tape', *leaves, *functions])})",
            f"    if {' and '.join([*outer, 'variant is not AGAIN'])}:",
            f"        return variant({', '.join(['tape', *leaves])})",
            "    return AGAIN",
        ]
    push = [] if arrays or elements or isinstance(site_, Body) else _push(leaves, held, lines, pairs)
    return "\n".join([*pull, "", "", *back, "", "", *push, *run]) + "\n"


def _push(leaves: list[str], held: str, lines: list[str], pairs: list[tuple[str, str]]) -> list[str]:
    """Write the function that finds the tangent of a record's result, a number: by the pullback of 1, which is its gradient."""
    entries = [f"e{x[1:]}" for x, _ in pairs]
    given = ", ".join([*entries, held])
    tangent = [f"def tangent({given}):", "    dy = 1.0", *_indented(lines), "    t = 0.0"]
    for e, (_, g) in zip(entries, pairs):
        tangent += [f"    if {e} is not None:", f"        t += ({g}) * {e}[1]"]
    tangent += ["    return t"]
    push = ["def push(tangents, record):", f"    _, {held} = record", "    numbers = tangents.numbers"]
    push += [f"    {e} = numbers.get(id({x}))" for e, (x, _) in zip(entries, pairs)]
    push += [f"    if {' is '.join([*entries, 'None'])}:" if entries else "    if True:", "        return"]
    apart = ", ".join(["tangents", "y", *leaves])
    push += ["    kind = type(y)", "    try:"]
    push += ["        if kind is float:", f"            t = tangent({given})"]
    push += ["        elif kind is float64:", f"            t = silently(tangent, {given})"]
    push += ["        else:", "            return"]
    push += ["    except SINGULAR:", f"        return push_apart({apart})"]
    push += [
        "    if t != t:  # perhaps a tangent of zero times an infinite slope",
        f"        return push_apart({apart})",
    ]
    push += ["    numbers[id(y)] = y, t", "    tangents.latest = tangents.length"]
    push += ["    if len(numbers) > tangents.limit:", "        tangents.drop()"]
    by_parts = [
        "def by_parts(series, record):",
        f"    push_apart(series, record[1], *record[2 : {2 + len(leaves)}])",
    ]
    names = ["back.push, back.push_apart = push, by_parts", "", ""]
    return [*tangent, "", "", *push, "", "", *by_parts, "", "", *names]


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


connected.site = site
connected.body = body
connected.awaited = awaited
