"""The adjoint of a decomposition whose loss uses values and vectors, where some of the values may be equal.

The rule's pullback does not know the gradient within the space of equal values.  It follows from gradients for rotated
vectors (``rules.equal_values``): so the backward sweep, if it meets equal values, runs again what follows the decomposition in
its block, forward and backward, for each rotation.  Nothing else is changed by the rotations, and the cotangents of what the
block hands on stay the same, for they belong to values that do not depend on the choice of vectors; if they do depend
on it, the rotations show it.  What follows ends before the next decomposition that depends on this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import numpy as np

from ...errors import NoDerivative
from ...ir import typed
from ...ir.builder import Builder
from ...ir.dynamic import Block, Function, Operation, Value, walk
from ...rules import equal_values as rules
from ...rules.connected import connected
from ...rules.null_spaces import bases as bases_of_null_spaces
from ...rules.table import DECOMPOSITIONS
from ..inline import copy_function, free_values, inline, uses
from .by_rule import entries_read, pulled, rule_of
from .cotangents import Cotangents, conform
from .reruns import quieten

if TYPE_CHECKING:
    from .sweep import Sweep

ONE_ORDER = (
    "{} met equal values, and a loss that uses both the values and their vectors has derivatives of first order only there. For "
    "higher orders use scipy.linalg.sqrtm, expm, logm or polar"
)


@dataclass
class Following:
    """What follows a decomposition in its block, as far as it depends on it: the operations before the place ``end``."""

    program: Function
    free: list[Value]
    made: list[Value]
    """The values that are used behind the end, or that the block returns; the program returns the same."""
    end: int
    seeds: list[Value | None] = field(default_factory=list)


def following(block: Block, active: set[Value]) -> dict[Operation, Following]:
    """Find the decompositions in a block, and copy what follows each."""
    return {op: _after(block, i, active) for i, op in enumerate(block.operations) if _is_met(op, active)}


def _is_met(op: Operation, active: set[Value]) -> bool:
    """Whether a call decomposes one matrix as a whole, or each of a stack, and its values and some vectors are active."""
    if op.callee not in DECOMPOSITIONS or len(op.results) < 2:
        return False
    s = _values(op)
    if s not in active or not any(r in active for r in op.results if r is not s):
        return False
    n = s.type.shape[-1]
    return (
        all(v.type.is_static for v in [*op.results, *op.positional])
        and (n > 1 or len(op.results) == 3)
        and [v for v in op.positional if v.type.ndim > 1] == op.positional[:1]
        and (len(op.results) == 3 or op.results[1].type.shape[-2] == n)
        and not ("hermitian" in op.named and op.named["hermitian"].constant)
    )


def weighs_vectors(op: Operation, dys: Sequence[Value | None]) -> bool:
    """Whether a loss uses values and vectors, by their cotangents."""
    place = len(op.results) // 3
    return dys[place] is not None and any(dy is not None for i, dy in enumerate(dys) if i != place)


def _values(op: Operation) -> Value:
    return op.results[len(op.results) // 3]


def _after(block: Block, place: int, active: set[Value]) -> Following:
    op = block.operations[place]
    dependent, inside, end = set(op.results), [], len(block.operations)
    for i, later in enumerate(block.operations[place + 1 :], place + 1):
        if dependent.isdisjoint(uses([later])):
            continue
        if any(inner.callee in DECOMPOSITIONS for inner in walk(Block([], [later]))):
            end = i
            break
        dependent.update(later.results)
        inside.append(later)
    used = {*uses(block.operations[end:]), *block.results}
    made = [v for v in dict.fromkeys([*op.results, *(r for o in inside for r in o.results)]) if v in used & active]
    body = Block([], inside, made)
    free = [v for v in free_values(body, set(op.results)) if v not in op.results]
    return Following(copy_function(Function("following", [*op.results, *free], body)), free, made, end)


def adjoint(sweep: Sweep, op: Operation, found: Following, cotangents: Cotangents, dys: Sequence[Value | None]) -> None:
    """Write the adjoint of a decomposition with the cotangents ``dys``, of which those of values and vectors are given."""
    b, (a, *_) = sweep.builder, op.positional
    rule, s = rule_of(op, "grad"), _values(op)
    name = f"{op.callee.__module__.partition('._')[0]}.{op.callee.__name__}"

    def plain() -> list[Value]:
        inner = Cotangents(b, {a})
        inner.add(a, pulled(b, op, rule, {a}, dys, op.results, op.positional)[0])
        return [inner.filled(a)]

    turns = _turns(op)

    def with_limits() -> list[Value]:
        ds = cast(Value, dys[op.results.index(s)])
        is_singular = len(op.results) == 3
        bases = connected.trace_into(b, bases_of_null_spaces, [op.results[0], op.results[2]], {}) if is_singular else []
        observed = _observed(sweep, op, found, ds, turns, bases)
        read = rules.columns(entries_read(b, dys), s.type.shape[-1])
        if len(op.results) == 2:
            lam, v = op.results
            apart, dv = connected.trace_into(
                b, rules.hermitian_limit, [*observed, *dys, lam, v], {"name": name, "read": read}
            )
            g = pulled(b, op, rule, {a}, [ds, dv], [apart, v], op.positional)[0]
        else:
            du, _, dvh = dys
            part = connected.trace_into(
                b,
                rules.singular_limit,
                [*observed, du, ds, dvh, *op.results, *bases, turns],
                {"name": name, "read": read},
            )
            g = pulled(b, op, rule, {a}, [du, None, dvh], op.results, op.positional)[0]
            g = b.ufunc(np.add, g, part)
        g = conform(b, g, a.type)
        return [_of_one_order(b, g, s, name) if b.is_differentiated else g]

    is_met = connected.trace_into(b, rules.meets_equal, [s, turns], {})
    cotangents.add(a, b.if_(is_met, with_limits, plain)[0])


def _turns(op: Operation) -> rules.Turns:
    kind = op.positional[0].type
    is_singular, n = len(op.results) == 3, _values(op).type.shape[-1]
    rows, columns = kind.shape[-2:] if is_singular else (n, n)
    return rules.Turns(n, kind.dtype.kind == "c", rows, columns, is_singular)


def _observed(
    sweep: Sweep, op: Operation, found: Following, ds: Value, turns: rules.Turns, bases: list[Value]
) -> list[Value]:
    """Write the loop over the rotations; return the entries that they give, and whether the loss depends on the choice."""
    b, s = sweep.builder, _values(op)
    kept = [(v, g) for v, g in zip(found.made, found.seeds) if g is not None]
    program = copy_function(found.program)
    program.block.results = [v for v, g in zip(program.block.results, found.seeds) if g is not None]
    quieten(program.block)
    count = len(op.results)
    sweeps = sweep.nested(program, [i < count for i in range(len(program.parameters))])

    def gradient(results: Sequence[Value]) -> list[Value]:
        saved = inline(b, sweeps.forward, [*results, *found.free])[len(kept) :]
        return inline(b, sweeps.backward, [*saved, *(g for _, g in kept)])

    def seen(k: Value, *known: Value) -> list[Value]:
        values = connected.trace_into(b, rules.moved, [s, k], {})
        if count == 2:
            vectors = connected.trace_into(b, rules.turned, [op.results[1], s, turns, k], {})
            ds_turned, dv = gradient([values, vectors])
            pairs = [dv, vectors]
        else:
            u, vh = connected.trace_into(b, rules.turned_pair, [op.results[0], s, op.results[2], *bases, turns, k], {})
            du, ds_turned, dvh = gradient([u, values, vh])
            pairs = [du, u, dvh, vh]
        *entries, size, is_loose = known
        is_turning = connected.trace_into(b, rules.is_turning, [size, k, s, turns, *pairs], {})
        found = connected.trace_into(b, rules.observed, [*entries, size, ds_turned, s, turns, k], {})
        return [*found, b.ufunc(np.logical_or, is_loose, is_turning)]

    def body(k: Value, *known: Value) -> list[Value]:
        some = connected.trace_into(b, rules.turns_some, [s, turns, k], {})
        return b.if_(some, lambda: seen(k, *known), lambda: known)

    initial = connected.trace_into(b, rules.unobserved, [s, ds, turns], {})
    first, stop, one = (b.constant(i, np.int64) for i in (-1, turns.count, 1))
    return b.range_(first, stop, one, body, [*initial, b.constant(False)])


def _of_one_order(b: Builder, g: Value, s: Value, name: str) -> Value:
    """Refuse a derivative of this gradient, which would need to know how it changes where equal values split."""
    inner, seed = Builder(), Value("dy", g.type)
    with inner.block() as block:
        inner.call(
            typed.raise_if, [inner.constant(True)], [], exception=NoDerivative, text=ONE_ORDER.replace("{}", name)
        )
        block.results = [inner.zeros(s.type.shape, s.type.dtype)]
    refusal = Function("of_one_order", [seed], block)
    return b.call(typed.custom, [g, s], [g.type], n=1, m=1, backward=refusal)[0]
