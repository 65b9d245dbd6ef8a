"""Type inference on structured IR.

A function qualifies for the structured tier if every call in it is known and free of side effects; else ``Unstructured``
gives the reason.  See ``types`` for the types, ``result_types`` for those of functions of NumPy and SciPy.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ...ir.dynamic import Block, Function, Method, Operation, Value, callee_name
from ...ir.vocabulary import (
    UNPACK,
    Unstructured,
    larger,
    largest,
    leave_if,
    leave_unless,
    make_list,
    make_tuple,
    smaller,
    smallest,
)
from ...rules import find_rule, load
from ...rules.matrix_factorisations import needs_limits
from ...rules.registry import HANDLERS, has_hash
from ...rules.table import DECOMPOSITIONS, RULES
from .result_types import (
    MAKERS,
    SINGLE,
    elementwise_ndim,
    holds_numbers,
    is_integral,
    matrix_type,
    of_maker,
    of_matrices,
    single_type,
)
from .types import (
    BOOL,
    COMPARISONS,
    NUMBER,
    OBJECT,
    PASSIVE,
    RANGE,
    REAL,
    Type,
    integer_type,
    joined,
    type_of_constant,
    type_of_result,
)

load()


IN_PLACE = {
    getattr(operator, "i" + n.rstrip("_")): getattr(operator, n)
    for n in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
}


def real_power(a: Any, b: Any) -> Any:
    """Compute ``a ** b`` where a real result was inferred; a negative base may give a complex one."""
    y = a**b
    if isinstance(y, complex):
        raise Unstructured("a real power became complex")
    return y


ADAPTED = {"reshape", "transpose"}
"""Methods whose arguments an adapter only packs, whatever they are."""

RULES[real_power] = find_rule(operator.pow)  # type: ignore[assignment]
OF_REALS = (real_power, larger, smaller)
"""Functions, besides Python's own, that return a real number for real arguments."""


def _is_scalar_function(callee: Any) -> bool:
    """Whether a function returns a real number for all real arguments: Python's arithmetic and ``math``."""
    return getattr(callee, "__module__", "") in ("math", "_operator", "builtins")


class Inference:
    """Infers the types of a function's values, and sets them in place.

    ``specialise(callee, op)`` returns the compiled form of a user function that it calls; its ``result`` is the type.
    """

    def __init__(self, function: Function, specialise: Callable[..., Any]) -> None:
        self.function = function
        self.specialise = specialise
        self.line = 0
        self.tested: set[tuple[Operation, Callable[..., bool]]] = set()  # operations, and the tests put after them
        self.after: list[Operation] = []  # operations to put after the present one

    def fail(self, what: str) -> Any:
        raise Unstructured(f"{what} in {self.function.name} ({self.function.filename}:{self.line})")

    def run(self, types: Sequence[Type]) -> Type:
        for parameter, kind in zip(self.function.parameters, types):
            parameter.type = kind
        self.block(self.function.block)
        result = self.type(self.function.block.results[0])
        return REAL if result.kind == "real" else result

    def type(self, value: Value) -> Type:
        if value.type is None:
            if not value.is_constant:
                self.fail(f"{value.name or 'a value'} has no type")
            value.type = type_of_constant(value.constant)
        return value.type

    def block(self, block: Block) -> None:
        operations, block.operations = block.operations, []
        for op in operations:
            self.line = op.line
            getattr(self, f"type_{op.kind}")(op, block)
            if not (op.results and op.results[0].is_constant):
                block.operations.append(op)
            block.operations += self.after
            self.after.clear()

    def join(self, a: Type, b: Type) -> Type:
        return joined(a, b) or self.fail(f"a value that is {a} on one path and {b} on another")

    def type_if(self, op: Operation, block: Block) -> None:
        if self.type(op.operands[0]).kind not in ("bool", "real", "passive"):
            self.fail("a condition that is not a number")
        for branch in op.blocks:
            self.block(branch)
        for result, a, b in zip(op.results, op.blocks[0].results, op.blocks[1].results):
            result.type = self.join(self.type(a), self.type(b))

    def type_while(self, op: Operation, block: Block) -> None:
        self.loop(op, op.operands, op.blocks, 0)

    def type_for(self, op: Operation, block: Block) -> None:
        iterable = op.operands[0]
        kind = self.type(iterable)
        body = op.blocks[0]
        item = body.parameters[0]
        if kind.kind == "array" and kind.ndim is not None:
            # Iterate by index: the adjoint of ``x[i]`` adds to entry ``i`` of the cotangent of ``x``.
            length, indices, index = Value(type=REAL), Value(type=RANGE), Value("i", type=REAL)
            block.operations += [
                Operation("call", len, [iterable], results=[length], line=op.line),
                Operation("call", range, [length], results=[indices], line=op.line),
            ]
            read = Operation("call", operator.getitem, [iterable, index], results=[item], line=op.line)
            body.operations.insert(0, read)
            body.parameters[0] = index
            op.operands[0] = indices
        elif kind.kind == "range":
            item.type = REAL
        else:
            self.fail(f"a loop over {kind}")
        self.loop(op, op.operands[1:], op.blocks, 1)

    def loop(self, op: Operation, initial: Sequence[Value], blocks: list[Block], items: int) -> None:
        types = [self.type(v) for v in initial]
        while True:
            for block in blocks:
                for parameter, kind in zip(block.parameters[items:], types):
                    parameter.type = kind
                self.block(block)
            after = [self.join(t, self.type(v)) for t, v in zip(types, blocks[-1].results)]
            if after == types:
                break
            types = after
        for result, kind in zip(op.results, types):
            result.type = kind

    def type_call(self, op: Operation, block: Block) -> None:
        if isinstance(op.callee, Method):
            self.resolve_method(op, block)
        types = [self.type(v) for v in op.operands]
        kinds = {t.kind for t in types}
        first = types[0] if types else OBJECT
        callee = op.callee
        if not has_hash(callee):
            self.fail("a call of a function without a hash")
        if any(v.is_constant and v.constant is object for v in op.operands):
            self.fail("an array of objects")
        if callee in IN_PLACE:
            if first.kind != "real" or not kinds <= {"real"}:
                self.fail("an in-place operation")
            callee = op.callee = IN_PLACE[callee]
        if callee is UNPACK:
            self.unpack(op, first)
        elif callee in (leave_if, leave_unless):
            if not kinds <= {"real", "bool", "passive"}:
                self.fail("a condition that is not a number")
        elif callee in (make_tuple, make_list):
            op.results[0].type = Type("tuple", elements=tuple(types), is_list=callee is make_list)
        elif callee in COMPARISONS:
            if not kinds <= {"real", "array", "number", "passive", "bool"}:
                self.fail("a comparison of objects")
            op.results[0].type = BOOL if kinds <= {"real", "bool"} else PASSIVE
        elif callee in (operator.not_, operator.is_, operator.is_not, bool):
            op.results[0].type = BOOL
        elif callee is slice:
            if all(v.is_constant for v in op.operands):
                op.results[0].constant = slice(*(v.constant for v in op.operands))
            op.results[0].type = OBJECT
        elif callee is range and kinds <= {"real"}:
            op.results[0].type = RANGE
        elif callee in (len, int) and first.kind in ("array", "tuple", "real", "passive", "shape"):
            known = callee is len and first.kind == "array" and first.shape
            op.results[0].type = integer_type(known[0]) if known else REAL
        elif callee is getattr:
            self.attribute(op, first)
        elif callee is operator.getitem:
            self.item(op, first, types[1])
        else:
            self.keep(op, types, block)
            self.function_call(op, [self.type(v) for v in op.operands])

    def keep(self, op: Operation, types: list[Type], block: Block) -> None:
        """Replace a call by that of its kernel, which reads what another call keeps for the backward sweep."""
        rule = find_rule(op.callee)
        if rule is None or rule.reuse is None or op.keywords or any(t.kind != "array" or not t.shape for t in types):
            return
        if rule.reuse.fits([np.empty(t.shape) for t in types]):  # type: ignore[arg-type]
            kept = Value("kept", type=PASSIVE)
            block.operations.append(Operation("call", rule.reuse.keep, op.operands[:1], results=[kept], line=op.line))
            op.callee, op.operands = rule.reuse.kernel, [*op.operands, kept]

    def resolve_method(self, op: Operation, block: Block) -> None:
        """Replace a method of an array by the function that it is, whose arguments may have another form."""
        from ...rules.methods import METHODS

        name = op.callee.name
        kind = self.type(op.operands[0]).kind
        if kind != "array" or name not in METHODS:  # a number may be Python's own, which lacks NumPy's methods
            self.fail(f"the method .{name}")
        function, adapt = METHODS[name]
        if adapt is not None:
            if name not in ADAPTED:
                self.fail(f"the method .{name}, whose arguments are rearranged,")
            args, kwargs = adapt(*op.positional, **op.named)
            op.operands = [self.argument(x, op, block) for x in (*args, *kwargs.values())]
            op.keywords = tuple(kwargs)
        op.callee = function

    def argument(self, x: Any, op: Operation, block: Block) -> Value:
        """Return what an adapter of arguments gives as an operand: a value, a tuple of values or a constant."""
        if isinstance(x, Value):
            return x
        if not isinstance(x, tuple):
            return Value(constant=x)
        made = Value()
        block.operations.append(Operation("call", make_tuple, list(x), results=[made], line=op.line))
        made.type = Type("tuple", elements=tuple(self.type(e) for e in x))
        return made

    def attribute(self, op: Operation, kind: Type) -> None:
        from ...rules.methods import ATTRIBUTES

        name = op.operands[1].constant
        if name in kind.names:
            self.element(op, kind, kind.names.index(name))
            return
        if kind.kind not in ("array", "number"):
            self.fail(f"the attribute .{name}")
        if name == "shape":
            op.results[0].type = Type("shape", kind.ndim, shape=kind.shape)
        elif name == "ndim":
            op.results[0].type = REAL if kind.ndim is None else integer_type(kind.ndim)
        elif name == "size":
            op.results[0].type = REAL if kind.shape is None else integer_type(math.prod(kind.shape))
        elif name in ("T", "real", "imag"):
            op.callee, op.operands = ATTRIBUTES[name], op.operands[:1]
            shape = kind.shape and (kind.shape[::-1] if name == "T" else kind.shape)
            op.results[0].type = Type("array", kind.ndim, shape=shape) if kind.kind == "array" else NUMBER
        else:
            self.fail(f"the attribute .{name}")

    def element(self, op: Operation, kind: Type, i: int) -> None:
        """Turn a read of element ``i`` of a tuple into an unpacking, which has an adjoint."""
        results = [Value(type=e) for e in kind.elements]
        results[i] = op.results[0]
        results[i].type = kind.elements[i]
        op.callee, op.operands, op.results = UNPACK, op.operands[:1], results

    def item(self, op: Operation, container: Type, index: Type) -> None:
        if container.kind == "shape":
            known = container.shape is not None and index.value is not None
            if known and -len(container.shape) <= index.value < len(container.shape):  # type: ignore[arg-type,operator]
                op.results[0].type = integer_type(container.shape[index.value])  # type: ignore[index]
            else:
                op.results[0].type = REAL if index.kind == "real" else OBJECT
        elif container.kind == "tuple":
            i, n = index.value, len(container.elements)
            if i is None or not -n <= i < n:
                self.fail("an index into a tuple")
            self.element(op, container, i % n)  # type: ignore[operator]
        elif container.kind in ("array", "number"):
            indices = index.elements if index.kind == "tuple" else (index,)
            if not {t.kind for t in indices} <= {"real", "object", "passive"}:
                self.fail("this index")
            scalar = index.kind == "real"
            picked = _shape_of_item(container.shape, op.operands[1])
            if picked is not None and container.kind == "array":
                op.results[0].type = type_of_result(picked)
                return
            if container.kind == "array" and op.operands[1].is_constant and type(op.operands[1].constant) is slice:
                op.results[0].type = Type("array", container.ndim)
            elif index.is_list:
                op.results[0].type = NUMBER
            elif container.kind == "array" and container.ndim is not None and scalar:
                row = Type("array", container.ndim - 1, shape=container.shape and container.shape[1:])
                op.results[0].type = REAL if container.ndim == 1 else row
            elif (
                container.kind == "array" and all(t.kind == "real" for t in indices) and len(indices) == container.ndim
            ):
                op.results[0].type = REAL
            else:
                op.results[0].type = NUMBER
        elif container.kind == "passive":
            op.results[0].type = PASSIVE
        else:
            self.fail("an index into an object")

    def unpack(self, op: Operation, kind: Type) -> None:
        if kind.kind == "array" and kind.ndim == 1:
            for result in op.results:
                result.type = REAL
        elif kind.kind == "tuple" and len(kind.elements) == len(op.results):
            for result, element in zip(op.results, kind.elements):
                result.type = element
        elif kind.kind == "shape" and kind.ndim in (None, len(op.results)):
            for i, result in enumerate(op.results):
                result.type = REAL if kind.shape is None else integer_type(kind.shape[i])
        else:
            self.fail("unpacking this value")

    def leave_where(self, op: Operation, test: Callable[..., bool]) -> None:
        """Leave the block after ``op`` where ``test`` of its result holds: the tape has a rule or an error for that case."""
        if (op, test) in self.tested:  # the body of a loop is inferred more than once
            return
        self.tested.add((op, test))
        holds = Value(type=BOOL)
        self.after.append(Operation("call", test, list(op.results), results=[holds], line=op.line))
        self.after.append(Operation("call", leave_if, [holds], line=op.line))

    def function_call(self, op: Operation, types: list[Type]) -> None:
        callee = op.callee
        kinds = {t.kind for t in types}

        try:
            rule = find_rule(callee)
            handled = callee in HANDLERS and rule is None
        except TypeError:
            return self.fail(f"a call of {callee!r}")
        if rule is not None:
            if {"out", "where", "dtype", "casting", "initial"} & set(op.keywords) and callee not in MAKERS:
                self.fail("this keyword")
            if rule.may_write and self.may_overwrite(op, rule):
                self.fail("an argument that may be written to")
            if rule.is_universal and {"order", "subok", "signature"} & set(op.keywords):
                self.fail("this keyword")
            if len(op.positional) > rule.position_of_out:
                self.fail("an array to write to")
            if rule.reads_arrays and any(
                _is_sequence(x) for x, given in zip(op.positional, rule.given) if callable(given)
            ):
                self.fail("a list that stands for an array")
            unknown = [x for x, given in zip(op.positional, rule.given) if given is None]
            unknown += op.operands[len(op.positional) :]
            if any(not x.is_constant and x.type.kind in ("real", "array", "number", "tuple") for x in unknown):
                self.fail(f"an argument of {callee_name(callee)} in which no derivative is known")
            if callee in (larger, smaller, largest, smallest) and kinds != {"real"}:
                self.fail("the larger of other things than numbers")
            if callee in MAKERS:
                if not rule.is_zero and not all(x.is_constant or x.type.value is not None for x in op.operands):
                    self.fail("an array made of numbers that are not constants")
                op.results[0].type = of_maker(op, types)
            elif rule.is_zero:
                op.results[0].type = REAL if kinds <= {"real"} and _is_scalar_function(callee) else PASSIVE
            elif rule.partials:
                if op.keywords or not kinds <= {"real", "array", "number", "passive", "bool"}:
                    self.fail(f"these arguments of {callee_name(callee)}")
                op.results[0].type = self.elementwise(callee, types)
                if callee is operator.pow and kinds == {"real"} and not isinstance(op.operands[1].constant, int):
                    op.callee = real_power
            elif callee in SINGLE or of_matrices(callee) is not None:
                if "object" in kinds and not all(v.is_constant or v.type.kind != "object" for v in op.operands):
                    self.fail(f"these arguments of {callee_name(callee)}")
                found = single_type(op, types) if callee in SINGLE else matrix_type(op, types)
                op.results[0].type = found or self.fail(f"these arguments of {callee_name(callee)}")
                if any(holds_numbers(t) for t in types):
                    self.leave_where(op, is_integral)
                if callee in DECOMPOSITIONS and op.results[0].type.kind == "tuple":
                    self.leave_where(op, needs_limits)
            else:
                self.fail(f"a call of {callee_name(callee)}")
        elif type(callee) is FunctionType and not handled:
            op.results[0].type = self.specialise(callee, op).result
        else:
            self.fail(f"a call of {callee_name(callee)}")
        return None

    @staticmethod
    def may_overwrite(op: Operation, rule: Any) -> bool:
        """Whether a call of a function of SciPy may write into an argument; one that says that it may not is free to copy."""
        named = [(name, x) for name, x in op.named.items() if name.startswith("overwrite_")]
        named += [(name, x) for name, x in zip(rule.parameters, op.positional) if name.startswith("overwrite_")]
        return bool(rule.writes) or any(not x.is_constant or x.constant for _, x in named)

    def elementwise(self, callee: Any, types: list[Type]) -> Type:
        kinds = {t.kind for t in types}
        if getattr(callee, "__module__", "") == "cmath" or "number" in kinds:
            return NUMBER
        if "array" in kinds:
            try:
                return elementwise_ndim(types)
            except ValueError:
                self.fail("operands of shapes that do not broadcast")
        if "passive" in kinds:
            return NUMBER
        return REAL if _is_scalar_function(callee) or isinstance(callee, np.ufunc) or callee in OF_REALS else NUMBER


def _is_sequence(x: Value) -> bool:
    return isinstance(x.constant, (list, tuple)) if x.is_constant else x.type.kind == "tuple"


def _shape_of_item(shape: tuple[int, ...] | None, index: Value) -> tuple[int, ...] | None:
    """Return the shape of ``x[index]`` for a constant slice or integer, or None if it is not known."""
    if shape is None or not index.is_constant or not isinstance(index.constant, (slice, int)):
        return None
    try:
        return np.broadcast_to(0.0, shape)[index.constant].shape
    except IndexError:
        return None
