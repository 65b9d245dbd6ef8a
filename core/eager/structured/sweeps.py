"""Reverse-mode AD as a transformation of IR: a forward sweep that also returns residuals, and a backward sweep.

The backward sweep of a block reverses its operations one by one.  It takes the same branches, by the saved conditions.
A loop saves one entry per iteration, and the backward loop walks these from the last.  An entry holds exactly the
values that the backward sweep of the iteration uses; these follow from the partial derivatives.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.dynamic import Block, Function, Link, Operation, Value, definitions, operands, walk
from ...ir.vocabulary import UNPACK, Unstructured, make_list, make_tuple
from ...rules import find_rule
from ...values.cotangents import accumulate, add_at, as_array, buffer_like, conform, filled, scale, scale_masked
from .writer import Writer

Cotangents = dict[Value, Value]


def reverse(
    function: Function,
    active_parameters: Sequence[Value],
    compiled_callee: Callable[[Operation, tuple[bool, ...]], Any],
) -> tuple[Function, Function]:
    """Return the forward and the backward sweep of a typed function.

    ``function`` is changed into the forward sweep, which returns ``(y, saved)``.  The backward sweep takes
    ``(saved, dy)`` and returns one cotangent for each active parameter.
    """
    return _Reverse(function, active_parameters, compiled_callee).run()


class _Reverse(Writer):
    def __init__(self, function: Function, parameters: Sequence[Value], compiled_callee: Any) -> None:
        super().__init__(function, parameters, compiled_callee)
        self.owned: set[Value] = set()  # cotangents without aliases, which may be added to in place
        self.maybe_scalar: set[Value] = set()  # cotangents of arrays that may be one number for all entries
        self.parts: dict[Value, list[Value | None]] = {}  # cotangents of tuples, as those of their elements
        self.of_rules = {  # tuples that functions with rules return, whose pullbacks take None for zero
            v for op in walk(function.block) if op.kind == "call" and has_rule(op.callee) for v in op.results
        }

    def run(self) -> tuple[Function, Function]:
        block = self.function.block
        (y,) = block.results
        dy = Value(f"d{y.name or 'y'}")
        cotangents: Cotangents = {}
        body = Block()
        self.out = body.operations
        if y in self.active:
            cotangents[y] = dy
        self.block(block, cotangents)
        results = []
        for x in self.parameters:
            g = cotangents.get(x, Value(constant=0))
            if x.type.kind == "tuple" and self.is_maybe_scalar(g):
                raise Unstructured(f"a tuple {x.name} that is used on some paths only")
            results.append(self.call(filled, g, x) if x.type.kind in ("array", "number") else g)
        body.results = [self.call(make_tuple, *results)]
        needed = self.needed([self.function.block], body)
        saved = Value("saved")
        self.unpack_saved(body, saved, needed)
        # The forward sweep: the same operations, and the values that the backward sweep uses.
        self.out = block.operations
        block.results = [self.call(make_tuple, y, self.packed(needed))]
        forward = Function(f"{self.function.name}_forward", self.function.parameters, block, self.function.filename)
        backward = Function(f"{self.function.name}_backward", [saved, dy], body, self.function.filename)
        return forward, backward

    # Building

    def packed(self, values: list[Value]) -> Value:
        if len(values) == 1:
            return values[0]
        return self.call(make_tuple, *values) if values else Value(constant=None)

    def needed(self, primal: list[Block], backward: Block) -> list[Value]:
        """Return the values defined directly in the primal blocks that a backward block uses."""
        here = {v for block in primal for v in definitions(block)} | (
            set(self.function.parameters) if primal == [self.function.block] else set()
        )
        return list(dict.fromkeys(v for v in operands(backward) if v in here))

    def unpack_saved(self, backward: Block, saved: Value, needed: list[Value]) -> None:
        """Make a backward block read the primal values that it uses from ``saved``."""
        if not needed:
            return
        copies = [Value(v.name, v.type) for v in needed]
        _replace(backward, dict(zip(needed, copies)))
        if len(copies) == 1:
            _replace(backward, {copies[0]: saved})
            saved.name, saved.type = copies[0].name or saved.name, copies[0].type
        else:
            backward.operations.insert(0, Operation("call", UNPACK, [saved], results=copies))

    def accumulate(self, cotangents: Cotangents, x: Value, g: Value) -> None:
        if x not in self.active:
            return
        if x not in cotangents:
            cotangents[x] = g
            return
        present = cotangents[x]
        self.single_use(x, present)
        in_place = present in self.owned
        total = self.call(accumulate if in_place else operator.add, present, g)
        if self.is_maybe_scalar(present) and self.is_maybe_scalar(g):
            self.maybe_scalar.add(total)
        if in_place:
            total.name, cotangents[x] = present.name, total
            self.owned.add(total)
            return
        total.name = f"d{x.name}" if x.name else ""
        cotangents[x] = total
        if x.type.kind == "array":
            self.owned.add(total)

    def buffer(self, cotangents: Cotangents, x: Value) -> Value:
        """Return the cotangent of an array as a buffer that may be added to in place."""
        present = cotangents.get(x)
        if present is None or present not in self.owned or self.is_maybe_scalar(present):
            present = self.call(buffer_like, x, *([present] if present else []))
            present.name = f"d{x.name}"
            self.owned.add(present)
            cotangents[x] = present
        return present

    # Operations

    def block(self, block: Block, cotangents: Cotangents) -> None:
        for op in reversed(block.operations):
            self.line = op.line
            getattr(self, f"reverse_{op.kind}")(op, cotangents, block)

    def reverse_call(self, op: Operation, cotangents: Cotangents, block: Block) -> None:
        if op.callee is UNPACK:
            self.reverse_unpack(op, cotangents)
            return
        (y,) = op.results or [Value()]
        dy = cotangents.pop(y, None)
        self.owned.discard(dy)  # type: ignore[arg-type]  # several operands may share it from here
        if dy is None or not any(x in self.active for x in op.operands):
            return
        if y.type.kind == "tuple" and self.is_maybe_scalar(dy):
            raise Unstructured(f"a tuple {y.name} that is used on some paths only")
        if op.callee in (make_tuple, make_list):
            for i, x in enumerate(op.operands):
                if x in self.active:
                    part = self.call(operator.getitem, dy, Value(constant=i))
                    self.maybe_scalar.add(part)
                    self.accumulate(cotangents, x, part)
            return
        if op.callee is operator.getitem:
            buffer = self.buffer(cotangents, op.operands[0])
            self.emit("call", add_at, [buffer, op.operands[1], dy], results=0)
            return
        rule = find_rule(op.callee)
        if rule is None:
            self.reverse_user_call(op, y, dy, cotangents, block)
        elif rule.partials:
            self.reverse_elementwise(op, rule, y, dy, cotangents)
        else:
            self.reverse_ruled(op, rule, y, dy, cotangents)

    def reverse_unpack(self, op: Operation, cotangents: Cotangents) -> None:
        (x,) = op.operands
        found = [cotangents.pop(r, None) for r in op.results]
        self.owned.difference_update(found)  # type: ignore[arg-type]
        if x not in self.active or not any(found):
            return
        if x.type.kind == "array":
            buffer = self.buffer(cotangents, x)
            for i, dy in enumerate(found):
                if dy is not None:
                    self.emit("call", add_at, [buffer, Value(constant=i), dy], results=0)
        else:
            self.add_parts(cotangents, x, op.results, found)

    def add_parts(self, cotangents: Cotangents, x: Value, elements: list[Value], found: list[Value | None]) -> None:
        """Add the cotangents of elements to that of a tuple."""
        present = cotangents.get(x)
        parts = [None for _ in found] if present is None else self.parts.get(present)
        if parts is None:
            self.single_use(x, present)
            return
        self.out[:] = [op for op in self.out if present not in op.results]
        for i, (element, g) in enumerate(zip(elements, found)):
            if g is not None:
                g = self.full(g, element) if x in self.of_rules else g
                before = parts[i]
                parts = [*parts[:i], g if before is None else self.call(operator.add, before, g), *parts[i + 1 :]]
        zero = Value(constant=None if x in self.of_rules else 0)
        cotangents[x] = self.call(make_tuple, *(g or zero for g in parts))
        self.parts[cotangents[x]] = parts

    def single_use(self, x: Value, present: Value | None) -> None:
        """Refuse a second use of a tuple, because cotangents of tuples cannot be added."""
        if x.type.kind == "tuple" and present is not None:
            raise Unstructured(f"a tuple {x.name} that is used more than once")

    def reverse_elementwise(self, op: Operation, rule: Any, y: Value, dy: Value, cotangents: Cotangents) -> None:
        kinds = [x.type.kind for x in op.operands]
        arrays = [k for k in kinds if k != "real" and k != "bool"]
        careful = y.type.kind == "number" or "number" in kinds
        finite = rule.is_finite(*(x.constant if x.is_constant else None for x in op.operands))
        for x, partial in zip(op.operands, rule.partials):
            if x not in self.active or partial is None or partial == 0 and isinstance(partial, int):
                continue
            same = len(arrays) == 1 or x.type.shape is not None and x.type.shape == y.type.shape
            summed = careful or arrays and (x.type.kind == "real" or not same)
            if summed:
                dy = self.full(dy, y)
            if isinstance(partial, int):
                partial = Value(constant=partial)
            else:
                partial = self.inline(partial, [y, *op.operands])
            if partial.is_constant and isinstance(partial.constant, int) and partial.constant in (1, -1):
                g = dy if partial.constant == 1 else self.call(operator.neg, dy)
            else:
                masked = not finite and (careful or arrays or isinstance(op.callee, np.ufunc))
                multiply = scale_masked if masked else scale if careful else operator.mul
                g = self.call(multiply, dy, partial)
            if summed:
                g = self.call(conform, g, x)
            elif self.is_maybe_scalar(dy):
                self.maybe_scalar.add(g)
            self.accumulate(cotangents, x, g)

    def full(self, dy: Value, y: Value) -> Value:
        """Expand a cotangent to the shape of its value, as sums and pullbacks need."""
        if not self.is_maybe_scalar(dy) or y.type.kind == "real":
            return dy
        if y.type.shape is not None:
            return self.call(as_array, dy, Value(constant=y.type.shape))
        return self.call(filled, dy, y)

    def of_known_shape(self, g: Value, x: Value) -> Value:
        """Return the cotangent of a carried variable as an array if its shape is known, so that none of its uses tests it."""
        if x.type.kind != "array" or x.type.shape is None or not self.is_maybe_scalar(g):
            return g
        shape = Value(constant=x.type.shape)
        if g.is_constant and g.constant == 0:
            return self.call(np.zeros, shape)
        return self.call(as_array, g, shape)

    def is_maybe_scalar(self, g: Value) -> bool:
        return g.is_constant or g in self.maybe_scalar

    def reverse_ruled(self, op: Operation, rule: Any, y: Value, dy: Value, cotangents: Cotangents) -> None:
        (x, *_) = op.operands
        if op.callee in (np.sum, np.mean) and len(op.operands) == 1 and x.type.kind == "array":
            # All entries of x have the same cotangent, kept as one number.
            g = dy if op.callee is np.sum else self.call(operator.truediv, dy, self.call(np.size, x))
            self.maybe_scalar.add(g)
            self.accumulate(cotangents, x, g)
            return
        dy = self.full(dy, y)

        def pulled(pullback: Callable[..., Any]) -> Value:
            values = self.used_by(pullback, op, dy, y)
            return self.emit("call", pullback, values, keywords=op.keywords)[0]

        forms = self.forms(rule, op)
        if isinstance(forms, tuple):
            for x, form in zip(op.operands, forms):
                if x in self.active:
                    self.accumulate(cotangents, x, self.inline(form, [dy, y, *op.operands]))
            return
        if forms is not None:
            parts = self.emit("call", UNPACK, [pulled(forms)], results=len(op.operands))
            for x, g in zip(op.operands, parts):
                self.accumulate(cotangents, x, g)
            return
        together = pulled(rule.together) if rule.together is not None else None
        for i, x in enumerate(op.positional):
            if x not in self.active:
                continue
            if together is not None:
                g = self.call(operator.getitem, together, Value(constant=i))
            elif i < len(rule.pullbacks) and callable(rule.pullbacks[i]):
                g = pulled(rule.pullbacks[i])
            else:
                continue
            self.accumulate(cotangents, x, g if x.type.kind == "tuple" else self.call(conform, g, x))

    @staticmethod
    def forms(rule: Any, op: Operation) -> Any:
        """Return the pullbacks for operands of these numbers of axes, if they are arrays of double precision."""
        if not rule.forms or op.keywords or any(x.type.kind != "array" for x in op.operands):
            return None
        return rule.forms.get(tuple(x.type.ndim for x in op.operands))

    def reverse_user_call(self, op: Operation, y: Value, dy: Value, cotangents: Cotangents, block: Block) -> None:
        """Replace the call of a Python function by its forward sweep, and call its backward sweep here."""
        mask = tuple(x in self.active for x in op.operands)
        compiled = self.compiled_callee(op, mask)
        saved, pair = Value("saved"), Value()
        dy = self.full(dy, y) if y.type.kind != "tuple" else dy
        op.callee = Link(compiled, "forward")
        op.results = [pair]
        unpack = Operation("call", UNPACK, [pair], results=[y, saved], line=op.line)
        block.operations.insert(block.operations.index(op) + 1, unpack)
        gradients = self.call(Link(compiled, "backward"), saved, dy)
        chosen = [x for x in op.operands if x in self.active]
        parts = self.emit("call", UNPACK, [gradients], results=len(chosen))
        for x, g in zip(chosen, parts):
            self.accumulate(cotangents, x, g)

    def reverse_if(self, op: Operation, cotangents: Cotangents, block: Block) -> None:
        reached = [(i, cotangents.pop(r)) for i, r in enumerate(op.results) if r in cotangents]
        if not reached:
            return
        self.owned.difference_update(g for _, g in reached)
        outer = self.out
        ends: list[Cotangents] = []
        branches = []
        for branch in op.blocks:
            backward = Block()
            self.out = backward.operations
            inner = dict(cotangents)
            for i, dr in reached:
                self.accumulate(inner, branch.results[i], dr)
            self.block(branch, inner)
            ends.append(inner)
            branches.append(backward)
        self.out = outer
        local = {v for branch in op.blocks for v in definitions(branch)}
        changed = [
            x
            for x in dict.fromkeys(v for end in ends for v in end)
            if x not in local and any(end.get(x) is not cotangents.get(x) for end in ends)
        ]
        for backward, end in zip(branches, ends):
            backward.results = [end.get(x, Value(constant=0)) for x in changed]
        saved = Value("branch")
        needs = [self.needed([branch], backward) for branch, backward in zip(op.blocks, branches)]
        if any(needs):
            op.results.append(Value("branch"))
            for branch, backward, need in zip(op.blocks, branches, needs):
                self.out = branch.operations
                branch.results.append(self.packed(need))
                entry = Value("saved")
                self.unpack_saved(backward, entry, need)
                _replace(backward, {entry: op.results[-1]})
            self.out = outer
        results = self.emit("if", None, [op.operands[0]], len(changed), blocks=branches)
        for x, result in zip(changed, results):
            if any(self.is_maybe_scalar(b.results[changed.index(x)]) for b in branches):
                self.maybe_scalar.add(result)
            result.name = f"d{x.name}" if x.name else saved.name
            if all(r in self.owned for r in (b.results[changed.index(x)] for b in branches)):
                self.owned.add(result)
            cotangents[x] = result

    def reverse_while(self, op: Operation, cotangents: Cotangents, block: Block) -> None:
        self.reverse_loop(op, op.operands, op.blocks[-1], 0, cotangents, block)

    def reverse_for(self, op: Operation, cotangents: Cotangents, block: Block) -> None:
        self.reverse_loop(op, op.operands[1:], op.blocks[0], op.items, cotangents, block)

    def reverse_loop(
        self, op: Operation, initial: list[Value], body: Block, items: int, cotangents: Cotangents, block: Block
    ) -> None:
        parameters = body.parameters[items:]
        carried = [i for i, p in enumerate(parameters) if p in self.active]
        if not any(op.results[i] in cotangents for i in carried):
            return
        inside = {v for inner in _blocks(body) for v in definitions(inner)}
        free = [v for v in dict.fromkeys(operands(body)) if v in self.active and v not in inside]
        for x in free:
            self.single_use(x, x)
        indexed = {
            inner.operands[0]
            for inner in walk(body)
            if inner.kind == "call"
            and inner.callee in (operator.getitem, UNPACK)
            and inner.operands[0].type.kind == "array"
        }
        start = [self.of_known_shape(cotangents.pop(op.results[i], Value(constant=0)), parameters[i]) for i in carried]
        self.owned.difference_update(start)
        for x in free:
            # Every iteration adds to the cotangent of an array in place.
            in_place = x in indexed or x.type.kind == "array" and x in cotangents
            start.append(self.buffer(cotangents, x) if in_place else cotangents.get(x, Value(constant=0)))
        backward = Block()
        outer, self.out = self.out, backward.operations
        entry = Value("saved")
        variables = [*(parameters[i] for i in carried), *free]
        through = [Value(f"d{v.name}" if v.name else "", v.type) for v in variables]
        backward.parameters = [entry, *through]
        inner: Cotangents = dict(zip(free, through[len(carried) :]))
        for i, (x, s, t) in enumerate(zip(variables, start, through)):
            is_full = i < len(carried) and x.type.shape is not None
            if not is_full and (self.is_maybe_scalar(s) or s not in self.owned and x.type.kind != "tuple"):
                self.maybe_scalar.add(t)
        self.owned |= {t for x, t in zip(free, through[len(carried) :]) if x.type.kind == "array"}
        for i, dp in zip(carried, through):
            self.accumulate(inner, body.results[i], dp)
        self.block(body, inner)
        ends = [self.of_known_shape(inner.get(parameters[i], Value(constant=0)), parameters[i]) for i in carried]
        ends += [inner[x] for x in free]
        for x, end in zip(variables, ends):
            if x.type.kind == "tuple" and self.is_maybe_scalar(end):
                raise Unstructured(f"a tuple {x.name} that is used on some paths only")
        # A cotangent that no iteration changes need not be carried.
        kept = [k for k, (p, e) in enumerate(zip(through, ends)) if k < len(carried) or p is not e]
        fixed = {through[k]: start[k] for k in range(len(through)) if k not in kept}
        backward.parameters = [entry, *(through[k] for k in kept)]
        backward.results = [ends[k] for k in kept]
        _replace(backward, fixed)
        need = self.needed([body], backward)
        self.out = outer
        saved = self.stacks(op, body, backward, entry, need, block)
        results = self.emit(
            *("for", None, [saved, *(start[k] for k in kept)], len(kept)),
            blocks=[backward],
            items=len(backward.parameters) - len(kept),
        )
        values = [*(None for _ in carried), *free]
        for k, result in zip(kept, results):
            result.name = through[k].name
            if through[k] in self.maybe_scalar or self.is_maybe_scalar(ends[k]):
                self.maybe_scalar.add(result)
            x = values[k]
            if x is not None:
                cotangents[x] = result
                if x.type.kind == "array":
                    self.owned.add(result)
        for k, result in zip(kept, results):
            if values[k] is None:
                self.accumulate(cotangents, initial[carried[k]], result)

    def stacks(
        self, op: Operation, body: Block, backward: Block, entry: Value, need: list[Value], block: Block
    ) -> Value:
        """Push what each iteration saves on stacks; return the iterable for the backward loop."""
        position = block.operations.index(op)
        if not 1 < len(need) <= SEPARATE_STACKS:
            outer, self.out = self.out, body.operations
            stack = Value("stack")
            self.emit("call", list.append, [stack, self.packed(need)], results=0)
            self.out = outer
            self.unpack_saved(backward, entry, need)
            block.operations.insert(position, Operation("call", list, results=[stack], line=op.line))
            return self.call(reversed, stack)
        # Few values get one stack each: numbers outside a tuple cost less memory and garbage collection.
        copies = [Value(v.name, v.type) for v in need]
        _replace(backward, dict(zip(need, copies)))
        backward.parameters[:1] = copies
        walks = []
        for value in need:
            stack = Value(f"{value.name}_stack" if value.name else "stack")
            body.operations.append(Operation("call", list.append, [stack, value], line=op.line))
            block.operations.insert(position, Operation("call", list, results=[stack], line=op.line))
            walks.append(self.call(reversed, stack))
        return self.call(zip, *walks)


SEPARATE_STACKS = 4


def has_rule(callee: Any) -> bool:
    return callee is not UNPACK and callee not in (make_tuple, make_list) and find_rule(callee) is not None


def _blocks(block: Block) -> list[Block]:
    return [block, *(inner for op in walk(block) for inner in op.blocks)]


def _replace(block: Block, mapping: dict[Value, Value]) -> None:
    if not mapping:
        return
    for inner in _blocks(block):
        for op in inner.operations:
            op.operands = [mapping.get(v, v) for v in op.operands]
        inner.results = [mapping.get(v, v) for v in inner.results]
