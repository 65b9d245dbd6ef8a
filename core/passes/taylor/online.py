"""Series of operations of which only the tangent is known, coefficient by coefficient.

If y = f(u) and the tangent of f is dy = T(u, y) du, then y(t) solves the differential equation y' = T(u, y) u', so

    k y_k = coefficient k - 1 of T(u, y) u'

T is a small program, of NumPy functions and of y itself. It is not run as a whole, because the coefficients of y are found only
one after the other: each of its operations is a node, whose coefficient k is written when it is asked for. A node's series follows
like that of any operation, by a formula or, again, from its tangent. Nodes of the same function and operands are one node, so that
functions which satisfy a system of differential equations (sine and cosine) close it: the cost of each is then quadratic in the
order. The partial derivatives of some functions never close (the gamma function satisfies no algebraic differential equation): for
these, the cost is cubic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...ir.builder import Builder
from ...ir.dynamic import Block, Function, Operation, Value
from ...ir.typed import STACK, custom
from ...rules import find_rule
from ...rules.connected import connected
from ...rules.table import EQUATIONS, EXPANSIONS, linear_in
from ..forward.structural import TANGENTS
from ..forward.sweep import custom_tangents
from ..forward.tangents import Tangents, conform
from ..forward.transposition import transposed_call
from ..inline import Copy, free_values, inline
from ..reverse.activity import passes
from ..reverse.by_rule import name_of, rule_of, slopes, zero_where_zero
from ..reverse.cotangents import is_zero, strong, zeros

Formula = Callable[["Online", Operation, int], "Value | None"]
FORMULAS: dict[Any, Formula] = {}
"""``formula(online, op, k)`` writes coefficient k of the result of an operation."""


def formula_of(*callees: Any) -> Callable[[Formula], Formula]:
    def register(body: Formula) -> Formula:
        FORMULAS.update(dict.fromkeys(callees, body))
        return body

    return register


def is_linear(op: Operation) -> bool:
    """Whether each coefficient of the result of a typed operation is that operation of its operands' coefficients."""
    return op.callee in TANGENTS and op.callee is not np.matmul


class Online:
    """The series of the results of an operation, and of the nodes that these need."""

    def __init__(self, sweep: Any) -> None:
        self.sweep = sweep
        self.builder: Builder = sweep.builder
        self.order: int = len(sweep.parts)
        self.base: dict[Value, Value] = {}  # the nodes' coefficients of t^0
        self.makers: dict[Value, Operation] = {}
        self.derivative_of: dict[Value, Value] = {}  # nodes that are the derivative of the series of another value
        self.known: dict[Value, list[Value | None]] = {}  # coefficients from that of t on
        self.made: dict[Any, list[Value]] = {}  # results of the nodes by function and operands
        self.tangents: dict[Any, Any] = {}  # what is derived from an operation's rule
        self.asked: set[tuple[Value, int]] = set()

    def whole(self, op: Operation) -> None:
        """Write the series of the results of an operation of the program, which has been written."""
        self.enter(op, op.results)
        moves = self.moves(op)
        for k in range(1, self.order + 1):
            for r in op.results:
                if self.sweep.is_active(r):
                    found = self.coefficient(r, k)
                    if found is not None and moves is not None:
                        found = zero_where_zero(self.builder, moves, found)
                    self.sweep.parts[k - 1].set(r, found)

    def custom(self, op: Operation) -> None:
        """Write the series of the results of a custom derivative."""
        found = self.by_hand(op)
        results = [r for r in op.results if r.type.is_inexact]
        for k in range(1, self.order + 1):
            for r, dy in zip(results, found, strict=True):
                self.sweep.parts[k - 1].set(r, self.divided(self.coefficient(dy, k - 1), k))

    def by_hand(self, op: Operation) -> list[Any]:
        """Return the tangents of the inexact results of a custom derivative."""
        n, m = op.named["n"].constant, op.named["m"].constant
        dxs = [self.derivative(v) for v in op.positional[n : n + m] if v.type.is_inexact]
        return self.program(lambda: custom_tangents(self.builder, op, dxs, self.sweep.target))

    # Coefficients

    def coefficient(self, value: Value, k: int) -> Value | None:
        """Return the coefficient of t^k of a value of the program or a node; None: zero."""
        if k == 0:
            return self.base.get(value, value)
        source = self.derivative_of.get(value)
        if source is not None:
            return self.times(self.coefficient(source, k + 1), k + 1)
        op = self.makers.get(value)
        if op is None:
            return self.sweep.parts[k - 1].get(value) if k <= self.order else None
        while len(known := self.known.setdefault(value, [])) < k:
            place = value, len(known)
            if place in self.asked:
                raise NoDerivative(f"no Taylor series of {name_of(op)} can be derived (line {op.line})")
            self.asked.add(place)
            found = self.next(value, op, len(known) + 1)
            if self.known[value] is known:
                known.append(None if found is None else self.as_result(found, value))
        return known[k - 1]

    def filled(self, value: Value, k: int) -> Value:
        found = self.coefficient(value, k)
        return zeros(self.builder, value) if found is None else found

    def next(self, value: Value, op: Operation, k: int) -> Value | None:
        if isinstance(op.callee, Function):
            return self.of_program(op, value, k)
        if op.callee is custom:
            key = op, "tangent"
            if key not in self.tangents:
                self.tangents[key] = dict(zip([r for r in op.results if r.type.is_inexact], self.by_hand(op)))
            return self.divided(self.coefficient(self.tangents[key][value], k - 1), k)
        formula = FORMULAS.get(op.callee)
        if formula is not None:
            return formula(self, op, k)
        if is_linear(op):
            return self.linear(op, value, k)
        groups = linear_in(op.callee, op.named) if len(op.results) == 1 else ()
        if groups and {i for i, v in enumerate(op.positional) if self.varies(v)} <= {i for g in groups for i in g}:
            return self.multilinear(op, groups, k)
        if op.callee in EQUATIONS:
            return self.solution(op, k)
        if op.callee in EXPANSIONS:
            return self.expanded(op, k)
        rule = rule_of(op, "taylor")
        if rule.partials:
            if op not in self.tangents:
                self.tangents[op] = self.slopes(op, rule)
            return self.by_slopes(self.tangents[op], k)
        return self.by_tangent(op, value, k)

    def by_tangent(self, op: Operation, value: Value, k: int) -> Value | None:
        """Write coefficient k of a result of a function of which only the pullback is known."""
        key = op, "tangent"
        if key not in self.tangents:
            tangents = {v: self.derivative(v) for v in dict.fromkeys(op.positional) if self.varies(v)}
            found = self.program(lambda: self.transposed(op, tangents))
            self.tangents[key] = dict(zip(op.results, found))
        dy = self.tangents[key][value]
        return None if dy is None else self.divided(self.coefficient(dy, k - 1), k)

    def varies(self, value: Value) -> bool:
        return (
            value in self.makers
            or value in self.derivative_of
            or any(part.get(value) is not None for part in self.sweep.parts)
        )

    def linear(self, op: Operation, value: Value, k: int) -> Value | None:
        """Write a linear operation of typed IR again, of coefficients of its operands."""
        part = Tangents(self.builder, set(op.results))
        for v in dict.fromkeys(op.positional):
            found = self.coefficient(v, k) if self.varies(v) else None
            if found is not None:
                part.of[v] = found
        if part.any(op.positional):
            TANGENTS[op.callee](self.builder, op, part)
        return part.get(value)

    def multilinear(self, op: Operation, groups: Sequence[Sequence[int]], k: int) -> Value | None:
        """Write coefficient k of a function that is linear in each of several groups of operands: a sum of products."""
        varying = [g for g in groups if any(self.varies(op.positional[i]) for i in g if i < len(op.positional))]
        terms = []
        for powers in _compositions(k, len(varying)):
            operands = [self.base.get(v, v) for v in op.positional]
            for group, j in zip(varying, powers):
                inside = [i for i in group if i < len(operands)]
                found = {
                    i: self.coefficient(op.positional[i], j) if j == 0 or self.varies(op.positional[i]) else None
                    for i in inside
                }
                if all(c is None for c in found.values()):
                    break
                operands = [
                    v if i not in found else found[i] or zeros(self.builder, op.positional[i])
                    for i, v in enumerate(operands)
                ]
            else:
                terms.append(self.again(op, operands))
        return self.sum(terms)

    def solution(self, op: Operation, k: int) -> Value | None:
        """Write coefficient k of the solution y of product(a, y) = b: that of b - a y, without y_k, solved for y_k."""
        equation = EQUATIONS[op.callee]
        (y,) = op.results
        a, b = op.positional[equation.matrix], op.positional[equation.right]
        options = {name: v.constant for name, v in op.named.items()}
        kind = strong(
            y.type
        ).dtype  # b may be real, or have fewer dimensions, where a is complex or a stack of matrices
        total = self.coefficient(b, k) if self.varies(b) else None
        for j in range(1, k + 1):
            aj, yj = self.coefficient(a, j) if self.varies(a) else None, self.coefficient(y, k - j)
            if aj is not None and yj is not None:
                term = connected.trace_into(self.builder, equation.product, [aj, yj, self.base.get(b, b)], options)
                term = self.builder.cast(term, kind)
                total = (
                    self.builder.ufunc(np.negative, term)
                    if total is None
                    else self.builder.ufunc(np.subtract, total, term)
                )
        if total is None:
            return None
        operands = [self.base.get(v, v) for v in op.positional]
        right = self.builder.cast(total, kind)
        if b.type.ndim == right.type.ndim or b.type.ndim > 1:
            operands[equation.right] = right
            return self.again(op, operands)
        # A stack of vectors is passed as one of matrices with one column.
        operands[equation.right] = connected.trace_into(self.builder, lambda x: x[..., None], [right], {})
        columns = self.builder.call(op.callee, operands, [operands[equation.right].type], **options)[0]
        return connected.trace_into(self.builder, lambda x: x[..., 0], [columns], {})

    def expanded(self, op: Operation, k: int) -> Value | None:
        """Write coefficient k of a function of which the table of rules has a program for this."""
        if op not in self.tangents:
            options = {name: v.constant for name, v in op.named.items()}

            def write() -> list[Any]:
                return [connected.trace_into(self.builder, EXPANSIONS[op.callee], op.positional, options)]

            self.tangents[op] = self.program(write)
        return self.coefficient(self.tangents[op][0], k)

    def by_slopes(self, found: Sequence[tuple[Value, Any, bool]], k: int) -> Value | None:
        """Write coefficient k of an element-wise function from its partial derivatives: (operand, slope, whether finite)."""
        terms = []
        for u, slope, finite in found:
            if not isinstance(slope, Value) or not self.varies(slope):
                uk = self.coefficient(u, k)
                terms.append(None if uk is None else self.scaled(uk, slope, finite))
            else:
                pairs = [
                    (self.times(self.coefficient(u, j), j), self.coefficient(slope, k - j)) for j in range(1, k + 1)
                ]
                terms.append(self.divided(self.sum([self.product(a, c) for a, c in pairs]), k))
        return self.sum(terms)

    def slopes(self, op: Operation, rule: Any) -> list[tuple[Value, Any, bool]]:
        varying = {v for v in op.positional if self.varies(v)}
        found: list[tuple[Value, Any, bool]] = []

        def write() -> list[Any]:
            found.extend(slopes(self.builder, op, rule, varying))
            return [slope for _, slope, _ in found]

        return [(v, slope, finite) for (v, _, finite), slope in zip(found, self.program(write))]

    def transposed(self, op: Operation, tangents: dict[Value, Value]) -> list[Any]:
        """Write the tangents of the results of a call as the transpose of its pullback."""
        active = {r for r in op.results if r.type is not STACK and r.type.is_inexact}
        transposed_call(self.builder, op, active, self.sweep.target, tangents)
        return [tangents.get(r) for r in op.results]

    def derivative(self, value: Value) -> Value:
        """Return the node of the derivative of a value's series."""
        made = Value(f"d{value.name}", strong(value.type))
        self.derivative_of[made] = value
        self.base[made] = self.filled(value, 1)
        return made

    # Programs

    def enter(self, op: Operation, results: Sequence[Value]) -> None:
        for r in results:
            self.makers[r] = op
        self.made[_key(op, results)] = list(results)

    def program(self, write: Callable[[], Sequence[Any]]) -> list[Any]:
        """Make nodes of the operations that a function writes, and return those of its results."""
        operations: list[Operation] = []
        # A coefficient that is zero may be followed by others, so a zero must not cut off what it is multiplied by.
        b = self.builder
        before = b.is_differentiated, b.least_level
        b.is_differentiated, b.least_level = True, max(b.least_level, 1)
        with b.writing(operations):
            results = list(write())
        b.is_differentiated, b.least_level = before
        if any(_is_structured(op) for op in operations):
            return self.structured(operations, results)
        nodes = Copy()
        for op in operations:
            self.node(op, nodes)
        return [nodes.value(v) if isinstance(v, Value) else v for v in results]

    def node(self, op: Operation, nodes: Copy) -> None:
        """Make nodes of the results of an operation, or find them."""
        operands = [nodes.value(v) for v in op.operands]
        varying = any(map(self.varies, operands))
        made = Operation(op.kind, op.callee, operands, op.keywords, [], [], op.items, op.line, op.may_raise)
        if varying and op.results:
            found = self.made.get(_key(made, op.results)) or self.negated_twice(made)
            if found is not None:
                nodes.known.update(zip(op.results, found))
                return
        real = Copy({**nodes.known, **{v: self.base.get(nodes.value(v), nodes.value(v)) for v in op.operands}})
        copied = real.operation(op)
        if op.callee is custom:  # it applies to this derivative only: later ones are of the plain values
            copied.results = copied.positional[: len(op.results)]
        else:
            self.builder.append(copied)
        if not varying or not passes(op):
            nodes.known.update(zip(op.results, copied.results))
            return
        # Operands that do not vary are read as they are.
        made.operands = [v if self.varies(v) else self.base.get(v, v) for v in operands]
        for r, value in zip(op.results, copied.results):
            made.results.append(Value(value.name, value.type))
            self.base[made.results[-1]] = value
            nodes.known[r] = made.results[-1] if value.type.is_inexact else value
        self.enter(made, made.results)

    def negated_twice(self, op: Operation) -> list[Value] | None:
        if op.callee is np.negative:
            inner = self.makers.get(op.operands[0])
            if inner is not None and inner.callee is np.negative:
                return [inner.operands[0]]
        return None

    def structured(self, operations: list[Operation], results: list[Any]) -> list[Any]:
        """Make nodes of the results of a program with loops or branches: its series are those of the whole program."""
        asked = [v for v in results if isinstance(v, Value) and not v.is_constant]
        block = Block([], operations, list(asked))
        free = free_values(block, set())
        whole = Operation("program", Function("program", free, block), list(free), line=operations[0].line)
        found = inline(self.builder, whole.callee, [self.base.get(v, v) for v in free])
        nodes = {}
        for v, value in zip(asked, found):
            nodes[v] = made = Value(value.name, value.type)
            self.base[made] = value
            whole.results.append(made)
            if value.type.is_inexact and any(map(self.varies, free)):
                self.makers[made] = whole
        return [nodes.get(v, v) if isinstance(v, Value) else v for v in results]

    def of_program(self, op: Operation, value: Value, k: int) -> Value | None:
        """Write the series of a program with loops or branches, and return coefficient k of a result.

        If what it reads is known, it is written once, for all coefficients; else again for each of them.
        """
        varying = [self.varies(v) and v.type is not STACK and v.type.is_inexact for v in op.operands]
        sources = [self.derivative_of.get(v, v) for v, on in zip(op.operands, varying) if on]
        order = k if any(v in self.makers for v in sources) else max(k, self.order - 1)
        program = self.sweep.with_series(op.callee, varying, order)
        given = [self.filled(v, j) for v, on in zip(op.operands, varying) if on for j in range(1, order + 1)]
        found = inline(self.builder, program, [*(self.base.get(v, v) for v in op.operands), *given])[len(op.results) :]
        for r in [r for r in op.results if r.type.is_inexact]:
            series, found = found[:order], found[order:]
            if r in self.makers:
                self.known[r] = [None if is_zero(c) else c for c in series]
        return self.known[value][k - 1]

    # Arithmetic; None is zero

    def again(self, op: Operation, operands: Sequence[Value]) -> Value:
        constants = {name: v.constant for name, v in op.named.items()}
        return self.builder.call(op.callee, operands, [strong(op.results[0].type)], **constants)[0]

    def as_result(self, t: Value, like: Value) -> Value:
        return conform(self.builder, t, strong(like.type))

    def sum(self, terms: Sequence[Value | None]) -> Value | None:
        total = None
        for term in terms:
            if term is not None:
                total = term if total is None else self.builder.ufunc(np.add, total, term)
        return total

    def product(self, a: Value | None, b: Any) -> Value | None:
        if a is None or b is None:
            return None
        if not isinstance(b, Value):
            if b == 1:
                return a
            b = self.builder.constant(b)
        if b.type.dtype.kind == "b":
            b = self.builder.cast(b, a.type.dtype.type(0).real.dtype)
        return self.builder.ufunc(np.multiply, a, b)

    def scaled(self, t: Value, slope: Any, finite: bool) -> Value:
        if not isinstance(slope, Value) and slope == -1:
            return self.builder.ufunc(np.negative, t)
        found = self.product(t, self.base.get(slope, slope) if isinstance(slope, Value) else slope)
        assert found is not None
        return found if finite else zero_where_zero(self.builder, t, found)

    def times(self, t: Value | None, k: int) -> Value | None:
        return t if t is None or k == 1 else self.builder.ufunc(np.multiply, t, self.builder.constant(float(k)))

    def divided(self, t: Value | None, k: int) -> Value | None:
        return t if t is None or k == 1 else self.builder.ufunc(np.divide, t, self.builder.constant(float(k)))

    def moves(self, op: Operation) -> Value | None:
        """Return where an operand of an element-wise operation varies; None: its slopes are finite anyway.

        Where nothing varies, an infinite slope contributes nothing.
        """
        rule = find_rule(op.callee)
        if rule is None or not rule.partials:
            return None
        constants = [v.constant if v.is_constant else None for v in op.operands]
        if rule.is_finite(*constants) and not self.sweep.called.is_strong:
            return None
        moves = None
        changes = [part.get(v) for v in dict.fromkeys(op.positional) for part in self.sweep.parts]
        for c in changes:
            if c is not None:
                moved = self.builder.ufunc(np.not_equal, c, self.builder.constant(0, c.type.dtype))
                moves = moved if moves is None else self.builder.ufunc(np.logical_or, moves, moved)
        return None if moves is None or moves.is_constant and np.all(moves.constant) else moves


def _compositions(k: int, n: int) -> Any:
    """Yield the tuples of n numbers, none negative, whose sum is k."""
    if n == 1:
        yield (k,)
        return
    for first in range(k + 1):
        for rest in _compositions(k - first, n - 1):
            yield (first, *rest)


def _is_structured(op: Operation) -> bool:
    return (
        op.kind != "call" or isinstance(op.callee, Function) or STACK in [v.type for v in (*op.operands, *op.results)]
    )


def _key(op: Operation, results: Sequence[Value]) -> Any:
    """Return what tells apart the results of operations; the types are part of it (of a reshape, say)."""
    return (
        op.callee,
        op.keywords,
        tuple(map(_identity, op.operands)),
        tuple((v.type.dtype, v.type.shape) for v in results),
    )


def _identity(v: Value) -> Any:
    if not v.is_constant:
        return v
    c = v.constant
    return (v.type, c.tobytes()) if isinstance(c, (np.ndarray, np.generic)) else repr(c)
