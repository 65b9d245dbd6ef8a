"""The intermediate representation: a structured SSA form of a Python function, its printer and its verifier.

A ``Function`` has parameters and a ``Block``; a block has parameters, operations and results; an operation has a callee
or the name of a control structure, operands, nested blocks and results.  Constants are values that carry their object.

    call     callee(*operands), the last ``len(keywords)`` of them by name
    if       operand: condition; blocks: then, else; results: those of the branch taken
    while    operands: initial values; blocks: condition and body, both with the carried values as parameters
    for      operands: iterable, initial values; block: body, with ``items`` parameters for the element, then the carried
    range    operands: start, stop, step, initial values; block: body, with the index and the carried values as parameters

Everything else is a call: ``a * b`` calls ``operator.mul``, ``x.y`` ``getattr``, ``a[i] = v`` ``operator.setitem``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InvalidIR


class Missing:
    """Marks a value that is not a constant."""

    def __repr__(self) -> str:
        return "missing"


MISSING = Missing()


@dataclass(eq=False)
class Value:
    """A constant, a parameter or the result of an operation: assigned once, used any number of times."""

    name: str = ""
    type: Any = None
    constant: Any = MISSING

    @property
    def is_constant(self) -> bool:
        return self.constant is not MISSING


@dataclass(eq=False)
class Operation:
    kind: str
    callee: Any = None
    operands: list[Value] = field(default_factory=list)
    keywords: tuple[str, ...] = ()
    blocks: list[Block] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    items: int = 1
    line: int = 0
    may_raise: bool = False  # a call of the user's program: not removed as dead code

    @property
    def positional(self) -> list[Value]:
        return self.operands[: len(self.operands) - len(self.keywords)]

    @property
    def named(self) -> dict[str, Value]:
        return dict(zip(self.keywords, self.operands[len(self.operands) - len(self.keywords) :]))

    @property
    def initial(self) -> list[Value]:
        """The initial values of a loop's carried variables; in a range, start, stop and step precede them."""
        return self.operands[3 if self.kind == "range" else 0 :]

    @property
    def carried(self) -> list[tuple[Value, Value, Value, Value]]:
        """For each carried variable of a loop: initial value, parameter of the body, body result, loop result."""
        body = self.blocks[-1]
        parameters = body.parameters[len(body.parameters) - len(self.results) :]
        return list(zip(self.initial, parameters, body.results, self.results))

    @property
    def iterations(self) -> int | None:
        """The number of iterations of a loop if it is known while compiling, else None."""
        if self.kind != "range" or not all(v.is_constant for v in self.operands[:3]):
            return None
        return len(range(*(int(v.constant) for v in self.operands[:3])))


@dataclass(eq=False)
class Block:
    parameters: list[Value] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)


@dataclass(eq=False)
class Function:
    name: str
    parameters: list[Value]
    block: Block
    filename: str = ""

    def __str__(self) -> str:
        return print_function(self)


@dataclass(frozen=True)
class Method:
    """A callee that is looked up on its first operand: ``x.name(...)``."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"


def walk(block: Block) -> Iterator[Operation]:
    """Yield every operation of a block, nested ones after the operation that contains them."""
    for operation in block.operations:
        yield operation
        for inner in operation.blocks:
            yield from walk(inner)


def operands(block: Block) -> Iterator[Value]:
    """Yield every use of a value in a block and in nested blocks, also as a result."""
    for operation in block.operations:
        yield from operation.operands
        for inner in operation.blocks:
            yield from operands(inner)
    yield from block.results


def definitions(block: Block) -> list[Value]:
    """Return the values that a block itself defines, without those of nested blocks."""
    return [*block.parameters, *(r for operation in block.operations for r in operation.results)]


def callee_name(callee: Any) -> str:
    if isinstance(callee, Method):
        return str(callee)
    name = getattr(callee, "__name__", None) or type(callee).__name__
    module = getattr(callee, "__module__", None) or ""
    module = {"_operator": "operator", "builtins": ""}.get(module, module.split(".")[-1])
    return f"{module}.{name}" if module else name


def constant_text(x: Any) -> str:
    """Return the text of a constant: the value of a number, the dtype and shape of an array."""
    if isinstance(x, np.ndarray):
        return str(x) if not x.shape else f"<{x.dtype}[{', '.join(map(str, x.shape))}]>"
    if isinstance(x, np.generic):
        return str(x)
    if isinstance(x, np.dtype):
        return x.name
    if type(x) is tuple:
        return f"({', '.join(map(constant_text, x))}{',' if len(x) == 1 else ''})"
    is_plain = isinstance(x, (int, float, complex, str, type(None)))
    return repr(x) if is_plain else f"<{callee_name(x)}>"


def print_function(function: Function) -> str:
    """Return the function as text."""
    names: dict[Value, str] = {}
    taken: set[str] = set()

    def name(value: Value) -> str:
        if value.is_constant:
            return constant_text(value.constant)
        if value not in names:
            base, n = value.name or "t", 0
            while (f"{base}.{n}" if n else base) in taken:
                n += 1
            names[value] = f"{base}.{n}" if n else base
            taken.add(names[value])
        kind = f": {value.type}" if value.type is not None else ""
        return f"%{names[value]}{kind if value not in printed else ''}"

    printed: set[Value] = set()

    def listed(values: list[Value], define: bool = False) -> str:
        texts = []
        for value in values:
            if not define:
                printed.add(value)
            texts.append(name(value))
            printed.add(value)
        return ", ".join(texts)

    lines = [f"function {function.name}({listed(function.parameters, True)}):"]

    def block(b: Block, indent: str) -> None:
        for op in b.operations:
            left = f"{listed(op.results, True)} = " if op.results else ""
            if op.kind == "call":
                by_name = [f"{k}={listed([v])}" for k, v in op.named.items()]
                arguments = ", ".join([*(listed([v]) for v in op.positional), *by_name])
                lines.append(f"{indent}{left}{callee_name(op.callee)}({arguments})")
                continue
            lines.append(f"{indent}{left}{op.kind} {listed(op.operands)}")
            titles = {"if": ("then", "else"), "while": ("condition", "body")}.get(op.kind, ("body",))
            for title, inner in zip(titles, op.blocks):
                lines.append(f"{indent}  {title}({listed(inner.parameters, True)}):")
                block(inner, indent + "    ")
        lines.append(f"{indent}yield {listed(b.results)}".rstrip())

    block(function.block, "  ")
    return "\n".join(lines)


def verify(function: Function) -> Function:
    """Check that every value is defined once and in scope at its uses, and that blocks fit their operation.

    Raises:
        InvalidIR: naming the function and what is wrong.
    """

    def fail(message: str) -> None:
        raise InvalidIR(f"{function.name}: {message}\n{function}")

    seen: set[Value] = set()

    def define(values: list[Value], scope: set[Value]) -> None:
        for value in values:
            if value.is_constant:
                fail(f"the constant {value.constant!r} is defined as a result")
            if value in seen:
                fail(f"value {value.name!r} is defined twice")
            seen.add(value)
            scope.add(value)

    def check(block: Block, outer: set[Value]) -> None:
        scope = set(outer)
        define(block.parameters, scope)
        for op in block.operations:
            for value in op.operands:
                if not value.is_constant and value not in scope:
                    fail(f"{op.kind} {callee_name(op.callee)} uses {value.name!r}, which is not in scope")
            for inner in op.blocks:
                check(inner, scope)
            shape = _SHAPES.get(op.kind)
            if shape is None:
                fail(f"there is no operation {op.kind!r}")
            elif not shape(op):
                fail(f"the blocks of a {op.kind} do not fit its operands and results")
            define(op.results, scope)
        for value in block.results:
            if not value.is_constant and value not in scope:
                fail(f"a block yields {value.name!r}, which is not in scope")

    check(Block(function.parameters, function.block.operations, function.block.results), set())
    return function


def _fits_if(op: Operation) -> bool:
    return len(op.operands) == 1 and [len(b.results) for b in op.blocks] == [len(op.results)] * 2


def _fits_while(op: Operation) -> bool:
    if len(op.blocks) != 2:
        return False
    condition, body = op.blocks
    n = len(op.operands)
    return len(condition.results) == 1 and {len(condition.parameters), len(body.parameters), len(op.results)} == {n}


def _fits_for(op: Operation) -> bool:
    if len(op.blocks) != 1:
        return False
    (body,) = op.blocks
    n = len(op.operands) - 1
    return len(body.parameters) == n + op.items and len(body.results) == len(op.results) == n


def _fits_range(op: Operation) -> bool:
    if len(op.blocks) != 1:
        return False
    (body,) = op.blocks
    n = len(op.operands) - 3
    return len(body.parameters) == n + 1 and len(body.results) == len(op.results) == n


_SHAPES: dict[str, Callable[[Operation], bool]] = {
    "call": lambda op: op.callee is not None and not op.blocks,
    "if": _fits_if,
    "while": _fits_while,
    "for": _fits_for,
    "range": _fits_range,
}


class Link:
    """A sweep of a compiled function as a callee; the function may still be compiling (recursion)."""

    def __init__(self, compiled: Any, name: str) -> None:
        self.compiled, self.attribute = compiled, name
        self.__name__ = f"{compiled.name}_{name}"
        self.__module__ = ""
