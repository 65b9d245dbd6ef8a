"""Writes the formulas of the table of rules into typed IR.

A partial derivative is a Python function that calls NumPy. The front end lowers it once to dynamic IR, which is
interpreted here on typed values: calls of ufuncs and operators on typed values are written into the program, other
calls are executed, and conditions (on dtypes, on options) are decided at compile time.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from inspect import signature
from types import FunctionType
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...ir.builder import Builder
from ...ir.dynamic import Block, Function, Value
from ...ir.vocabulary import Unstructured, leave_if, leave_unless, make_list, make_tuple
from ...rules import find_rule
from ...source.statements import lower

_PLAIN = (np.where, np.iscomplexobj, isinstance, make_tuple, make_list)

OPERATORS: dict[Any, np.ufunc] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.divide,
    operator.floordiv: np.floor_divide,
    operator.mod: np.remainder,
    operator.pow: np.power,
    operator.neg: np.negative,
    operator.pos: np.positive,
    operator.abs: np.absolute,
    abs: np.absolute,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.invert: np.invert,
}


@lru_cache(maxsize=1024)
def lowered(function: FunctionType) -> Function | None:
    """The dynamic IR of a rule's function, or None if it is not structured."""
    try:
        return lower(function)[0]
    except Unstructured:
        return None


@lru_cache(maxsize=1024)
def is_formula(function: Any) -> bool:
    """Whether a rule's function can be written here, assuming that its branches can be decided at compile time."""
    if isinstance(function, np.ufunc) or function in OPERATORS or function in _PLAIN:
        return True
    if function in (leave_if, leave_unless):  # the end of a block, by an early return or an error
        return False
    found = lowered(function) if isinstance(function, FunctionType) else None
    return found is not None and _is_written(found.block)


def _is_written(block: Block) -> bool:
    for op in block.operations:
        if op.kind == "call" and (op.keywords or not is_formula(op.callee)):
            return False
        if op.kind == "call" and isinstance(op.callee, FunctionType) and find_rule(op.callee) is not None:
            return False  # the specialiser treats it as one call, with its own rule
        if op.kind not in ("call", "if") or not all(map(_is_written, op.blocks)):
            return False
    return True


def write(
    builder: Builder, function: Callable[..., Any], arguments: Sequence[Any], options: Mapping[str, Any] | None = None
) -> Any:
    """Write a formula and return its result: a typed value or a Python object, as the arguments are.

    ``options`` are keyword arguments.

    Raises:
        NoDerivative: the formula cannot be written as typed IR.
    """
    if isinstance(function, np.ufunc):
        return builder.ufunc(function, *(_value(builder, a) for a in arguments))
    found = lowered(function) if isinstance(function, FunctionType) else None
    if found is None:
        raise NoDerivative(
            f"the derivative of a compiled program needs {function}, which has no formula that compiles; call mo.grad outside of mo.jit"
        )
    known: dict[Value, Any] = dict(zip(found.parameters, _all_arguments(function, arguments, options), strict=True))
    return _block(builder, found.block, known, function)[0]


def _all_arguments(function: Any, arguments: Sequence[Any], options: Mapping[str, Any] | None) -> list[Any]:
    """All arguments by position, including options, defaults and the closure's free variables."""
    bound = signature(function).bind(*arguments, **(options or {}))
    bound.apply_defaults()
    return [*bound.args, *(cell.cell_contents for cell in function.__closure__ or ())]


def _value(builder: Builder, x: Any) -> Value:
    return x if isinstance(x, Value) else builder.constant(x)


def _block(builder: Builder, block: Block, known: dict[Value, Any], function: Any) -> list[Any]:
    def get(value: Value) -> Any:
        return value.constant if value.is_constant else known[value]

    for op in block.operations:
        operands = [get(v) for v in op.operands]
        if op.kind == "call":
            results = [_call(builder, op.callee, operands[: len(op.positional)], op.keywords, operands, function)]
        elif op.kind == "if" and not isinstance(operands[0], Value):
            results = _block(builder, op.blocks[0 if operands[0] else 1], known, function)
        else:
            raise NoDerivative(f"the formula {function} branches on a number, which does not compile")
        known.update(zip(op.results, results))
    return [get(v) for v in block.results]


def _call(
    builder: Builder, callee: Any, args: list[Any], names: Sequence[str], operands: list[Any], within: Any
) -> Any:
    if callee in (make_tuple, make_list, isinstance) or not any(isinstance(a, Value) for a in operands):
        return callee(*args, **dict(zip(names, operands[len(args) :])))
    if names:
        raise NoDerivative(f"the formula {within} calls {callee} with arguments by name")
    if callee is operator.mul:
        for factor, other in (args, args[::-1]):
            if factor is False or isinstance(factor, np.bool_) and not factor:
                return 0  # a false condition as a factor
            if type(factor) is float and factor == 1 and other.type.is_inexact:
                return other
    if callee is np.iscomplexobj:
        return args[0].type.dtype.kind == "c"
    if callee is np.where:
        return builder.where(*(_value(builder, a) for a in args))
    return write(builder, OPERATORS[callee] if callee in OPERATORS else callee, args)
