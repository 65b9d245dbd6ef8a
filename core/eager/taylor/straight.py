"""Typed programs without control flow as Python functions, which run faster than the interpreter of typed IR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...ir.dynamic import Function, Operation, Value
from ...ir.typed import STACK, ArrayType, Primitive

OPERATORS = {
    np.add: "{} + {}",
    np.subtract: "{} - {}",
    np.multiply: "{} * {}",
    np.divide: "{} / {}",
    np.negative: "-{}",
}
NUMBER = ArrayType(np.dtype(float))


def is_straight(function: Function) -> bool:
    """Whether a program has neither control flow, nor calls of typed functions, nor lengths known only at run time."""
    return all(
        op.kind == "call"
        and not isinstance(op.callee, Function)
        and all(r.type is not STACK and r.type.is_static for r in op.results)
        for op in function.block.operations
    )


def printed(function: Function) -> Callable[..., Any]:
    """Return a straight program as a Python function ``(run, *arguments) -> results``.

    ``run(callee, *operands, **constants)`` calls NumPy's functions; for None they are called directly.  Sums and products of numbers
    are Python's then, which raise ZeroDivisionError.
    """
    lines = _Lines(function)
    text = [f"def program(run, {', '.join(lines.names[p] for p in function.parameters)}):", "    if run is None:"]
    text += [f"        {line}" for line in lines.of(function, False)]
    text += [f"    {line}" for line in lines.of(function, True)]
    exec("\n".join(text), lines.namespace)
    return lines.namespace["program"]


class _Lines:
    def __init__(self, function: Function) -> None:
        self.names: dict[Value, str] = {p: f"x{i}" for i, p in enumerate(function.parameters)}
        self.namespace: dict[str, Any] = {}

    def of(self, function: Function, is_run: bool) -> list[str]:
        lines = [self.line(op, is_run) for op in function.block.operations]
        return [*lines, f"return [{', '.join(self.name(v) for v in function.block.results)}]"]

    def line(self, op: Operation, is_run: bool) -> str:
        for r in op.results:
            self.names.setdefault(r, f"v{len(self.names)}")
        given = [self.name(v) for v in op.positional]
        left = ", ".join(self.names[r] for r in op.results)
        kinds = [v.type for v in (*op.positional, *op.results)]
        if not is_run and op.callee in OPERATORS and all(k.dtype == NUMBER.dtype and not k.shape for k in kinds):
            return f"{left} = {OPERATORS[op.callee].format(*given)}"
        given += [f"{name}={self.kept(v.constant)}" for name, v in op.named.items()]
        callee = op.callee
        if isinstance(callee, Primitive):
            given.insert(0, self.kept(op.results[0].type.shape if op.results else ()))
            callee = callee.body
        called = (
            f"run({', '.join([self.kept(callee), *given])})" if is_run else f"{self.kept(callee)}({', '.join(given)})"
        )
        return f"{left} = {called}" if len(op.results) == 1 else f"{left}{',' if op.results else '_'} = {called}"

    def name(self, v: Value) -> str:
        if not v.is_constant:
            return self.names[v]
        c = v.constant
        return self.kept(c.item() if v.type.dtype == NUMBER.dtype and not v.type.shape else c)

    def kept(self, x: Any) -> str:
        """Return the name of a constant."""
        name = f"k{len(self.namespace)}"
        self.namespace[name] = x
        return name
