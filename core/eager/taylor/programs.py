"""Series of single calls: each is the typed program that ``passes.taylor`` makes of the call, run with NumPy.

A program is made once for each function, types of operands and order. So the series of an operation follow from the table of rules in
one place for eager and compiled code.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...errors import BadInput, NoDerivative
from ...ir.builder import Builder
from ...ir.dynamic import Function, Value
from ...ir.evaluate import evaluate
from ...ir.typed import STACK, ArrayType, Primitive, raise_if
from ...passes.simplify import simplify
from ...passes.taylor import taylor
from ...rules.connected import connected
from ...source.definitions import describe
from ...values.numbers import Int

PYTHON = {float: np.dtype(float), complex: np.dtype(complex), Int: np.dtype(float)}
CONSTANTS = (
    bool,
    int,
    str,
    bytes,
    type(None),
    slice,
    type(...),
    np.dtype,
    type,
    np.integer,
    np.bool_,
    type(np._NoValue),
)
POWERS = {operator.pow, np.power, np.float_power, math.pow}


class Call:
    """A call as a program: the structure of its operands, and the numbers and arrays among them."""

    def __init__(
        self, function: Any, args: Sequence[Any], kwargs: dict[str, Any], varies: Callable[[Any], bool]
    ) -> None:
        self.function = function
        self.leaves: list[Any] = []
        self.types: list[ArrayType] = []
        self.varying: list[bool] = []
        self.varies = varies
        self.form = tuple(map(self.form_of, args))
        if function in POWERS and len(args) == 2 and isinstance(args[1], float) and args[1].is_integer():
            if not varies(args[1]):  # known while the program is made, it becomes a product
                self.form = (self.form[0], self.constant(args[1]))
        self.named = tuple((name, self.constant(x)) for name, x in kwargs.items())

    @property
    def key(self) -> Any:
        return self.function, self.form, self.named, tuple(self.types), tuple(self.varying)

    def form_of(self, x: Any) -> Any:
        """Return the place of a leaf, a constant, or the forms of the entries of a sequence."""
        kind = type(x)
        if kind is tuple or kind is list:
            return (kind, *map(self.form_of, x))
        if kind in PYTHON and (kind is not Int or self.varies(x)):
            return self.leaf(x, ArrayType(PYTHON[kind], (), True))
        if isinstance(x, np.ndarray) or isinstance(x, (np.inexact, float, complex)) and kind is not Int:
            a = np.asarray(x)
            if a.dtype.kind not in "biufc" or a.dtype.itemsize > 16 or a.dtype in (np.float16, np.longdouble):
                raise BadInput(f"an operand has dtype {a.dtype}")
            return self.leaf(x, ArrayType(a.dtype, a.shape))
        return self.constant(x)

    def leaf(self, x: Any, kind: ArrayType) -> Place:
        self.leaves.append(x)
        self.types.append(kind)
        self.varying.append(self.varies(x))
        return _PLACES(len(self.leaves) - 1)

    def constant(self, x: Any) -> Any:
        if type(x) is Int:
            return ("constant", int(x), int)
        if isinstance(x, (tuple, list)):
            return ("constant", type(x)(x) if type(x) is tuple else tuple(x), type(x))
        if not isinstance(x, CONSTANTS) and not isinstance(x, (float, complex, np.inexact)):
            raise BadInput(f"an operand is a {type(x).__name__}")
        return ("constant", x, type(x))


class Place(int):
    """The number of a leaf."""


_PLACES = lru_cache(maxsize=None)(Place)


class Program:
    """The series of a call, ready to run."""

    def __init__(self, key: Any, order: int) -> None:
        function, form, named, types, varying = key
        b = Builder(is_differentiated=True)
        parameters = [Value(f"x{i}", kind) for i, kind in enumerate(types)]

        def built(part: Any) -> Any:
            if isinstance(part, Place):
                return parameters[part]
            if part[0] == "constant":
                return list(part[1]) if part[2] is list else part[1]
            return tuple(map(built, part[1:]))

        with b.block(parameters) as block:
            self.result = connected.trace_into(b, function, [built(p) for p in form], {n: built(c) for n, c in named})
            block.results = list(_values(self.result))
        block.parameters = []
        self.inexact = [v.type.is_inexact for v in block.results]
        self.order = order
        self.active = [i for i, on in enumerate(varying) if on]
        self.program = simplify(taylor(Function("call", parameters, block), varying, order, is_differentiated=True))
        # The call itself has run without an exception; slopes may be infinite.
        operations = self.program.block.operations
        self.program.block.operations = operations = [op for op in operations if op.callee is not raise_if]
        self.zeros = [np.zeros(types[i].shape, types[i].dtype)[()] for i in self.active]
        self.is_straight = all(map(_is_straight, operations))

    def run(self, run: Callable[..., Any], leaves: Sequence[Any], coefficients: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the coefficients of each result, None for one without; ``run`` calls a function on the enclosing tape."""
        given = [
            x if isinstance(x, np.ndarray) or type(x) in PYTHON and type(x) is not Int else _number(x) for x in leaves
        ]
        for i, zero in zip(self.active, self.zeros):
            given += [zero if c is None else c for c in coefficients[i]]
        with np.errstate(all="ignore"):
            found = self.straight(run, given) if self.is_straight else run(evaluate, self.program, given)
        found = found[len(self.inexact) :]
        split = []
        for inexact in self.inexact:
            split.append(found[: self.order] if inexact else None)
            found = found[self.order :] if inexact else found
        return split

    def straight(self, run: Callable[..., Any], given: Sequence[Any]) -> list[Any]:
        values: dict[Value, Any] = dict(zip(self.program.parameters, given, strict=True))
        for op in self.program.block.operations:
            operands = [v.constant if v.is_constant else values[v] for v in op.positional]
            constants = {name: v.constant for name, v in op.named.items()}
            if isinstance(op.callee, Primitive):
                shape = op.results[0].type.shape if op.results else ()
                found = run(op.callee.body, shape, *operands, **constants)
            else:
                found = run(op.callee, *operands, **constants)
            if len(op.results) == 1:
                values[op.results[0]] = found
            else:
                values.update(zip(op.results, found))
        return [v.constant if v.is_constant else values[v] for v in self.program.block.results]


def _is_straight(op: Any) -> bool:
    return (
        op.kind == "call"
        and not isinstance(op.callee, Function)
        and all(r.type is not STACK and r.type.is_static for r in op.results)
    )


def _number(x: Any) -> Any:
    return x if isinstance(x, np.generic) else complex(x) if isinstance(x, complex) else float(x)


def _values(result: Any) -> Any:
    if isinstance(result, Value):
        yield result
    elif isinstance(result, tuple):
        for part in result:
            yield from _values(part)


@lru_cache(maxsize=4096)
def program(key: Any, order: int) -> Program | NoDerivative:
    """Return the program of a call, or the error if its series cannot be derived."""
    try:
        return Program(key, order)
    except (BadInput, NoDerivative) as error:
        return _refusal(key[0], error)


def _refusal(function: Any, error: Any) -> NoDerivative:
    return NoDerivative(f"no Taylor series of {describe(function)} can be derived here: {error}")


def series_of_call(
    run: Callable[..., Any], function: Any, args: Sequence[Any], kwargs: dict[str, Any], series: Any
) -> tuple[Any, list[Any]]:
    """Return the structure of a call's result, with typed values for numbers and arrays, and the coefficients of these.

    Raises:
        NoDerivative: the series cannot be derived.
    """
    try:
        call = Call(function, args, kwargs, series.varies)
        made = program(call.key, series.order)
    except (BadInput, TypeError) as error:  # TypeError: an operand that is not hashable
        raise _refusal(function, error) from error
    if isinstance(made, NoDerivative):
        raise NoDerivative(*made.args)
    return made.result, made.run(
        run, call.leaves, [series.get(x) if on else () for x, on in zip(call.leaves, call.varying)]
    )
