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
from ...ir.typed import ArrayType, raise_if
from ...passes.simplify import simplify
from ...passes.taylor import taylor
from ...rules.connected import connected
from ...source.definitions import describe
from ...values.numbers import Int
from ...values.strong_zero import is_nan
from .straight import is_straight, printed

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

    def __init__(self, key: Any, order: int, is_strong: bool = False) -> None:
        function, form, named, types, varying = key
        b = Builder(is_differentiated=True)
        b.least_level = 1
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
        made = taylor(Function("call", parameters, block), varying, order, is_strong=is_strong)
        self.program = simplify(made)
        # The call itself has run without an exception; slopes may be infinite.
        operations = self.program.block.operations
        self.program.block.operations = [op for op in operations if op.callee is not raise_if]
        self.zeros = [np.zeros(types[i].shape, types[i].dtype)[()] for i in self.active]
        self.printed = printed(self.program) if is_straight(self.program) else None

    def run(self, parent: Any, leaves: Sequence[Any], coefficients: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the coefficients of each result, None for one without; ``parent`` is the tape around, if any."""
        given = [
            x if isinstance(x, np.ndarray) or type(x) in PYTHON and type(x) is not Int else _number(x) for x in leaves
        ]
        for i, zero in zip(self.active, self.zeros):
            given += [zero if c is None else c for c in coefficients[i]]
        with np.errstate(all="ignore"):
            found = self.evaluated(None if parent is None else parent.call, given)
        found = found[len(self.inexact) :]
        split = []
        for inexact in self.inexact:
            split.append(found[: self.order] if inexact else None)
            found = found[self.order :] if inexact else found
        return split

    def evaluated(self, run: Callable[..., Any] | None, given: Sequence[Any]) -> list[Any]:
        if self.printed is None:
            return evaluate(self.program, given) if run is None else run(evaluate, self.program, given)
        try:
            return self.printed(run, *given)
        except ZeroDivisionError:  # of Python's numbers; NumPy's give infinities
            return self.printed(_called, *given)


def _called(function: Any, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _number(x: Any) -> Any:
    return x if isinstance(x, np.generic) else complex(x) if isinstance(x, complex) else float(x)


def _values(result: Any) -> Any:
    if isinstance(result, Value):
        yield result
    elif isinstance(result, tuple):
        for part in result:
            yield from _values(part)


@lru_cache(maxsize=4096)
def program(key: Any, order: int, is_strong: bool = False) -> Program | NoDerivative:
    """Return the program of a call, or the error if its series cannot be derived."""
    try:
        return Program(key, order, is_strong)
    except (BadInput, NoDerivative) as error:
        return _refusal(key[0], error)


def _refusal(function: Any, error: Any) -> NoDerivative:
    return NoDerivative(f"no Taylor series of {describe(function)} can be derived here: {error}")


def series_of_call(
    parent: Any, function: Any, args: Sequence[Any], kwargs: dict[str, Any], series: Any
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
    given = [series.get(x) if on else () for x, on in zip(call.leaves, call.varying)]
    found = made.run(parent, call.leaves, given)
    if any(c is not None and any(map(is_nan, c)) for c in found):  # perhaps of an entry that does not vary
        strong = program(call.key, series.order, True)
        if isinstance(strong, Program):
            found = strong.run(parent, call.leaves, given)
    return made.result, found
