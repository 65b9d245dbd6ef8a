"""A NumPy interpreter for typed IR: slow, simple, and the reference for testing every pass and back end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .dynamic import Block, Function, Operation, Value
from .library_results import leaves
from .typed import STACK, ArrayType, Dim, Primitive


def evaluate(function: Function, arguments: Sequence[Any]) -> list[Any]:
    """Return the results of a typed function, as arrays of their declared types.

    Raises:
        TypeError: a value's dtype or shape differs from its declared type.
    """
    return Evaluation().call(function, arguments)


class Evaluation:
    """One run of the interpreter."""

    def __init__(self) -> None:
        self.values: dict[Value, Any] = {}

    def call(self, function: Function, arguments: Sequence[Any]) -> list[Any]:
        kept, self.values = self.values, {}
        try:
            for parameter, x in zip(function.parameters, arguments, strict=True):
                self.set(parameter, x, function.name)
            return self.block(function.block)
        finally:
            self.values = kept

    def get(self, value: Value) -> Any:
        return value.constant if value.is_constant else self.values[value]

    def set(self, value: Value, x: Any, what: str) -> None:
        kind = value.type
        if kind is not STACK:
            x = np.asarray(x)
            if x.dtype != kind.dtype or x.shape != self.shape(kind):
                raise TypeError(f"{what} gave {x.dtype}{list(x.shape)}, its type is {kind}, {self.shape(kind)}")
        self.values[value] = x

    def shape(self, kind: ArrayType) -> tuple[int, ...]:
        return tuple(int(self.get(d.value)) if isinstance(d, Dim) else d for d in kind.shape)

    def block(self, block: Block, arguments: Sequence[Any] = ()) -> list[Any]:
        for parameter, x in zip(block.parameters, arguments, strict=True):
            self.set(parameter, x, "a block's parameter")
        for op in block.operations:
            results = getattr(self, f"run_{op.kind}")(op)
            for result, x in zip(op.results, results, strict=True):
                self.set(result, x, f"{op.kind} {getattr(op.callee, '__name__', '')} at line {op.line}")
            self.ran(op)
        return [self.get(v) for v in block.results]

    def ran(self, op: Operation) -> None:
        """Do nothing after an operation; subclasses look at its operands and results."""

    def run_if(self, op: Operation) -> list[Any]:
        return self.block(op.blocks[0 if self.get(op.operands[0]) else 1])

    def run_while(self, op: Operation) -> list[Any]:
        carried = [self.get(v) for v in op.operands]
        while self.block(op.blocks[0], carried)[0]:
            carried = self.block(op.blocks[1], carried)
        return carried

    def run_range(self, op: Operation) -> list[Any]:
        start, stop, step, *carried = [self.get(v) for v in op.operands]
        for i in range(int(start), int(stop), int(step)):
            carried = self.block(op.blocks[0], [i, *carried])
        return carried

    def of_library(self, op: Operation, found: Any) -> list[Any]:
        """Return a library function's results in the types of the call, as back ends store them: some depend on the numbers."""
        if not op.results:
            return []
        pairs = zip(op.results, leaves(found), strict=True)
        return [np.asarray(x).astype(v.type.dtype, casting="same_kind") for v, x in pairs]

    def run_call(self, op: Operation) -> list[Any]:
        values = [self.get(v) for v in op.positional]
        constants = {name: self.get(v) for name, v in op.named.items()}
        if isinstance(op.callee, Function):
            return self.call(op.callee, values)
        with np.errstate(all="ignore"):
            if isinstance(op.callee, Primitive):
                has_shape = op.results and isinstance(op.results[0].type, ArrayType)
                shape = self.shape(op.results[0].type) if has_shape else ()
                found = op.callee.body(shape, *values, **constants)
            else:
                numbers = [x[()] if isinstance(x, np.ndarray) and not x.ndim else x for x in values]
                found = op.callee(*numbers, **constants)  # a library may insist on numbers
                if not isinstance(op.callee, np.ufunc):
                    return self.of_library(op, found)
        if not op.results:
            return []
        is_stack = len(op.results) == 1 and op.results[0].type is STACK  # a stack is itself a tuple
        return list(found) if isinstance(found, tuple) and not is_stack else [found]
