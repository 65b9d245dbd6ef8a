"""Type inference and activity analysis on structured IR.

Types are as coarse as the adjoint allows: a *real* is an immutable real scalar, an *array* a float64 array with at
least one axis, a *number* any inexact number or array, and a *passive* value has no derivative.  A function qualifies
for the structured tier if every call in it is known and free of side effects; else ``Unstructured`` gives the reason.

A value is *varied* if it depends on an active parameter, and *useful* if the result depends on it.  A value that is
both is active and has a cotangent (Hascoet, Naumann and Pascual, "To be recorded" analysis in reverse-mode AD, 2005).
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from ...ir.dynamic import Block, Function, Method, Operation, Value, callee_name, walk
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
from ...rules.kept_factors import det_factored, inv_factored, solve_factored
from ...rules.registry import HANDLERS, has_hash
from ...rules.table import RULES

load()


@dataclass(frozen=True)
class Type:
    kind: str
    ndim: int | None = None
    elements: tuple[Type, ...] = ()
    shape: tuple[int, ...] | None = None
    is_list: bool = False

    def __str__(self) -> str:
        if self.kind == "tuple":
            return f"({', '.join(map(str, self.elements))})"
        return self.kind if self.ndim is None else f"{self.kind}{list(self.shape) if self.shape else self.ndim}"


def array_type(shape: tuple[int, ...]) -> Type:
    return Type("array", len(shape), shape=shape)


REAL = Type("real")
NUMBER = Type("number")
PASSIVE = Type("passive")
BOOL = Type("bool")
RANGE = Type("range")
SHAPE = Type("shape")
OBJECT = Type("object")

COMPARISONS = {operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne}
IN_PLACE = {
    getattr(operator, "i" + n.rstrip("_")): getattr(operator, n)
    for n in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
}
# Functions whose rule is not a table of partial derivatives and whose result is one number or array.
SINGLE = {
    *(np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin, np.var, np.std, np.cumsum, np.cumprod, np.trace),
    *(np.dot, np.matmul, operator.matmul, np.vdot, np.inner, np.outer, np.tensordot, np.einsum, np.kron, np.where),
    *(np.reshape, np.ravel, np.transpose, np.swapaxes, np.moveaxis, np.squeeze, np.expand_dims, np.concatenate),
    *(np.stack, np.vstack, np.hstack, np.array, np.asarray, np.copy, np.flip, np.roll, np.tile, np.repeat, np.diag),
    *(np.diagonal, np.tril, np.triu, np.take, np.sort, np.clip, np.linalg.norm, np.linalg.solve, np.linalg.inv),
    *(np.linalg.det, np.linalg.cholesky, operator.getitem, float, np.real, np.imag, np.conj, np.abs, abs, operator.abs),
    *(largest, smallest, solve_factored, inv_factored, det_factored),
}


TO_ONE_NUMBER = (np.sum, np.mean, np.prod, np.max, np.min, np.var, np.std, np.linalg.norm)
"""Functions that reduce an array, if it is the only argument, to one real number."""


def real_power(a: Any, b: Any) -> Any:
    """Compute ``a ** b`` where a real result was inferred; a negative base may give a complex one."""
    y = a**b
    if isinstance(y, complex):
        raise Unstructured("a real power became complex")
    return y


RULES[real_power] = find_rule(operator.pow)  # type: ignore[assignment]
OF_REALS = (real_power, larger, smaller)
"""Functions, besides Python's own, that return a real number for real arguments."""


def _is_scalar_function(callee: Any) -> bool:
    """Whether a function returns a real number for all real arguments: Python's arithmetic and ``math``."""
    return getattr(callee, "__module__", "") in ("math", "_operator", "builtins")


def type_of(x: Any) -> Type:
    """Return the type of a Python object that is an argument or a constant."""
    kind = type(x)
    if kind is float or kind is int or kind is np.float64 or issubclass(kind, int) and kind.__name__ == "Int":
        return REAL
    if kind is bool or kind is np.bool_:
        return BOOL
    if kind is np.ndarray:
        if x.dtype == np.float64 and x.ndim:
            return array_type(x.shape)
        return NUMBER if x.dtype.kind in "fc" else PASSIVE if x.dtype.kind in "iub" else OBJECT
    if kind is complex or isinstance(x, np.inexact):
        return NUMBER
    return PASSIVE if isinstance(x, np.integer) else OBJECT


class Inference:
    """Infers the types of a function's values, and sets them in place.

    ``specialise(callee, op)`` returns the compiled form of a user function that it calls; its ``result`` is the type.
    """

    def __init__(self, function: Function, specialise: Callable[..., Any]) -> None:
        self.function = function
        self.specialise = specialise
        self.line = 0

    def fail(self, what: str) -> Any:
        raise Unstructured(f"{what} in {self.function.name} ({self.function.filename}:{self.line})")

    def run(self, types: Sequence[Type]) -> Type:
        for parameter, kind in zip(self.function.parameters, types):
            parameter.type = kind
        self.block(self.function.block)
        return self.type(self.function.block.results[0])

    def type(self, value: Value) -> Type:
        if value.type is None:
            if not value.is_constant:
                self.fail(f"{value.name or 'a value'} has no type")
            value.type = type_of(value.constant)
        return value.type

    def block(self, block: Block) -> None:
        operations, block.operations = block.operations, []
        for op in operations:
            self.line = op.line
            getattr(self, f"type_{op.kind}")(op, block)
            if not (op.results and op.results[0].is_constant):
                block.operations.append(op)

    def join(self, a: Type, b: Type) -> Type:
        if a == b:
            return a
        if {a.kind, b.kind} <= {"real", "array", "number", "passive"}:
            if a.kind == b.kind == "array":
                return Type("array", a.ndim if a.ndim == b.ndim else None)
            return NUMBER
        if {a.kind, b.kind} == {"bool", "passive"}:
            return PASSIVE
        return self.fail(f"a value that is {a} on one path and {b} on another")

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
            self.resolve_method(op)
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
        elif callee in (len, int) and first.kind in ("array", "tuple", "real", "passive"):
            op.results[0].type = REAL
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

    def resolve_method(self, op: Operation) -> None:
        from ...rules.methods import METHODS

        name = op.callee.name
        kind = self.type(op.operands[0]).kind
        if kind != "array" or name not in METHODS:  # a number may be Python's own, which lacks NumPy's methods
            self.fail(f"the method .{name}")
        function, adapt = METHODS[name]
        if adapt is not None:
            self.fail(f"the method .{name}, whose arguments are rearranged,")
        op.callee = function

    def attribute(self, op: Operation, kind: Type) -> None:
        from ...rules.methods import ATTRIBUTES

        name = op.operands[1].constant
        if kind.kind not in ("array", "number"):
            self.fail(f"the attribute .{name}")
        if name == "shape":
            op.results[0].type = SHAPE
        elif name in ("size", "ndim"):
            op.results[0].type = REAL
        elif name in ("T", "real", "imag"):
            op.callee, op.operands = ATTRIBUTES[name], op.operands[:1]
            shape = kind.shape and (kind.shape[::-1] if name == "T" else kind.shape)
            op.results[0].type = Type("array", kind.ndim, shape=shape) if kind.kind == "array" else NUMBER
        else:
            self.fail(f"the attribute .{name}")

    def item(self, op: Operation, container: Type, index: Type) -> None:
        if container.kind == "shape":
            op.results[0].type = REAL
        elif container.kind == "tuple" and op.operands[1].is_constant:
            self.fail("an index into a tuple")
        elif container.kind in ("array", "number"):
            indices = index.elements if index.kind == "tuple" else (index,)
            if not {t.kind for t in indices} <= {"real", "object", "passive"}:
                self.fail("this index")
            scalar = index.kind == "real"
            picked = _shape_of_item(container.shape, op.operands[1])
            if picked is not None and container.kind == "array":
                op.results[0].type = array_type(picked) if picked else REAL
                return
            if index.is_list:
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
        else:
            self.fail("unpacking this value")

    def function_call(self, op: Operation, types: list[Type]) -> None:
        callee = op.callee
        kinds = {t.kind for t in types}

        try:
            rule = find_rule(callee)
            handled = callee in HANDLERS and rule is None
        except TypeError:
            return self.fail(f"a call of {callee!r}")
        if rule is not None:
            if {"out", "where", "dtype", "casting", "initial"} & set(op.keywords):
                self.fail("this keyword")
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
            if rule.is_zero:
                op.results[0].type = REAL if kinds <= {"real"} and _is_scalar_function(callee) else PASSIVE
            elif rule.partials:
                if op.keywords or not kinds <= {"real", "array", "number", "passive", "bool"}:
                    self.fail(f"these arguments of {callee_name(callee)}")
                op.results[0].type = self.elementwise(callee, types)
                if callee is operator.pow and kinds == {"real"} and not isinstance(op.operands[1].constant, int):
                    op.callee = real_power
            elif callee in SINGLE:
                if "object" in kinds and not all(v.is_constant or v.type.kind != "object" for v in op.operands):
                    self.fail(f"these arguments of {callee_name(callee)}")
                op.results[0].type = self.single(callee, types, op)
            else:
                self.fail(f"a call of {callee_name(callee)}")
        elif type(callee) is FunctionType and not handled:
            op.results[0].type = self.specialise(callee, op).result
        else:
            self.fail(f"a call of {callee_name(callee)}")
        return None

    def elementwise(self, callee: Any, types: list[Type]) -> Type:
        kinds = {t.kind for t in types}
        if getattr(callee, "__module__", "") == "cmath" or "number" in kinds:
            return NUMBER
        if "array" in kinds:
            arrays = [t for t in types if t.kind == "array"]
            if "passive" in kinds:
                return Type("array")
            if all(t.shape is not None for t in arrays):
                try:
                    return array_type(np.broadcast_shapes(*(t.shape for t in arrays)))
                except ValueError:
                    self.fail("operands of shapes that do not broadcast")
            ndims = [t.ndim for t in arrays]
            return Type("array", None if None in ndims else max(ndims))
        if "passive" in kinds:
            return NUMBER
        return REAL if _is_scalar_function(callee) or isinstance(callee, np.ufunc) or callee in OF_REALS else NUMBER

    def single(self, callee: Any, types: list[Type], op: Operation) -> Type:
        first = types[0]
        if callee in TO_ONE_NUMBER and first.kind == "array" and len(types) == 1:
            return REAL
        if callee in (float, largest, smallest) or callee in (abs, operator.abs, np.abs) and first.kind == "real":
            return REAL
        if callee in (abs, operator.abs, np.abs) and first.kind == "array":
            return first
        if callee in (np.array, np.asarray) and len(types) == 1 and first.kind == "tuple":
            return array_type((len(first.elements),)) if {e.kind for e in first.elements} == {"real"} else NUMBER
        if callee in (np.dot, np.matmul, operator.matmul) and [t.kind for t in types] == ["array", "array"]:
            dims, shapes = (types[0].ndim, types[1].ndim), (types[0].shape, types[1].shape)
            if None not in shapes and max(dims) <= 2:  # type: ignore[type-var]
                shape = shapes[0][:-1] + (shapes[1][:-2] + shapes[1][-1:] if dims[1] == 2 else ())  # type: ignore[index]
                return array_type(shape) if shape else REAL
            if None not in dims and max(dims) <= 2:  # type: ignore[type-var]
                ndim = sum(dims) - 2  # type: ignore[arg-type]
                return Type("array", ndim) if ndim else REAL
        return NUMBER


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


def is_differentiable(op: Operation, index: int) -> bool:
    """Whether a derivative flows from operand ``index`` of a call to its result."""
    if op.callee in (UNPACK, make_tuple, make_list):
        return True
    if op.callee is operator.getitem:
        return index == 0
    if op.callee in COMPARISONS or op.callee in vars(builtins).values() and op.callee not in (abs, float, pow):
        return False
    rule = find_rule(op.callee)
    if rule is None:
        return isinstance(op.callee, FunctionType)
    if rule.is_zero:
        return False
    if rule.partials:
        partial = rule.partials[index] if index < len(rule.partials) else None
        return partial is not None and not (isinstance(partial, int) and partial == 0)
    if rule.pullbacks:
        return index < len(rule.pullbacks) and callable(rule.pullbacks[index])
    return index < len(op.positional)


def active_values(function: Function, parameters: Sequence[Value]) -> set[Value]:
    """Return the values through which a derivative flows from ``parameters`` to the result."""
    varied = _closure(function, set(parameters), forward=True)
    useful = _closure(function, set(function.block.results), forward=False)
    return {v for v in varied & useful if not v.is_constant and v.type.kind in ("real", "array", "number", "tuple")}


def _closure(function: Function, found: set[Value], *, forward: bool) -> set[Value]:
    """Return ``found`` and every value reachable from it, along the differentiable data flow or against it."""
    edges: list[tuple[Value, Value]] = []
    for op in walk(function.block):
        if op.kind == "call":
            for i, operand in enumerate(op.operands):
                if is_differentiable(op, i):
                    edges += [(operand, result) for result in op.results]
        elif op.kind == "if":
            for branch in op.blocks:
                edges += zip(branch.results, op.results)
        else:
            initial = op.operands[1:] if op.kind == "for" else op.operands
            body = op.blocks[-1]
            parameters = body.parameters[op.items :] if op.kind == "for" else body.parameters
            for start, parameter, following, result in zip(initial, parameters, body.results, op.results):
                edges += [(start, parameter), (following, parameter), (parameter, result)]
            if op.kind == "while":
                edges += zip(parameters, op.blocks[0].parameters)
    if not forward:
        edges = [(b, a) for a, b in edges]
    following_values: dict[Value, list[Value]] = {}
    for a, b in edges:
        following_values.setdefault(a, []).append(b)
    frontier = list(found)
    while frontier:
        for value in following_values.get(frontier.pop(), ()):
            if value not in found:
                found.add(value)
                frontier.append(value)
    return found
