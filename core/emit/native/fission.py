"""Fission of counted loops: expensive functions of a loop's body run for a strip of iterations before the rest of the body.

    for i in range(n):                            for each strip of iterations:
        total += math.exp(x[i] - top)                 for i in the strip: kept[k] = math.exp(x[i] - top)
                                                      for i in the strip: total += kept[k]

The second loop has to run in order: it carries a sum, checks for errors, or branches. The first loop has nothing of this, so
LLVM vectorises it, with the vector versions of the C library's functions. It contains numbers that follow from the counter,
loop invariants, elements of arrays that the loop does not write, and numbers that the body pops from a stack. Its results
are kept in small arrays. The second loop raises the errors, in order; what the first loop computes beyond an iteration that
ends the program has no effect. Where an index is not proved to be in range but grows evenly, strips end before it is not.

A function stays in the second loop if its last digits may decide a branch or an index (``rounding``): the last iterations of
a strip run the scalar version, whose digits may differ, and a backward sweep may compute the same number in another loop.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from ...ir import typed
from ...ir.dynamic import Operation, Value, walk
from ...ir.powers import is_product
from ...ir.typed import STACK
from .function import FunctionCode
from .fusion import is_elementwise
from .interrupts import trips
from .real_functions import emitter_of, vector_variants
from .stacks import bytes_of

LEAST = 16
"""The least number of iterations of a loop that is split; loops whose number of iterations is not known are split."""
MOST_KEPT = 24
"""The most numbers of an iteration that are kept: those of a strip fit into the first-level cache."""

DIVISIONS = 3
"""The least number of divisions and roots for which a loop without other expensive functions is split."""
_DIVISIONS = (np.divide, np.reciprocal, np.sqrt)

_NAMES = "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh cbrt hypot".split()
_DEAR = {
    **{getattr(np, name): name for name in _NAMES},
    **{getattr(np, f"arc{name}"): f"a{name}" for name in "sin cos tan sinh cosh tanh tan2".split()},
    **{np.power: "pow", np.float_power: "pow", np.logaddexp: "exp", np.logaddexp2: "exp2"},
}
"""Functions that call one of the C library, which may have vector versions."""
_SPECIAL = {
    "erf": "erf",
    "erfc": "erfc",
    "expit": "exp",
    "logit": "log",
    "xlogy": "log",
    "xlog1py": "log1p",
    "entr": "log",
}
"""The same of ``scipy.special``."""
_OF_TWO = ("pow", "hypot", "atan2")

_BOTH = {np.add, np.subtract, np.multiply, np.negative, np.where, typed.cast}
_OF_COMPLEX = {*_BOTH, np.divide, np.conjugate, np.real, np.imag, typed.complex_of}
_TESTS = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
_OF_INTEGERS = {*_BOTH, *_TESTS, np.absolute, np.maximum, np.minimum}
_PLAIN = {
    *(*_BOTH, *_TESTS, np.divide, np.square, np.reciprocal, np.sqrt, np.power, np.positive, np.absolute, np.fabs),
    *(np.maximum, np.minimum, np.fmax, np.fmin, np.sign, np.copysign, np.heaviside, np.floor, np.ceil, np.trunc),
    *(np.rint, np.isfinite, np.isinf, np.isnan, np.logical_and, np.logical_or, np.logical_not, np.logical_xor),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.deg2rad, np.radians, np.rad2deg, np.degrees),
}
"""Functions of real numbers and bools that vectorise; before, those of complex numbers and of integers."""


@dataclass
class Parts:
    """The two parts of a loop's body; operations that cost little may be in both."""

    first: list[Operation]
    second: list[Operation]
    kept: list[Value]
    """Numbers that the first part computes and the second one uses."""
    popped: dict[Value, tuple[int, int]]
    """Numbers that the body pops from a carried stack: the stack's place, and the distance from the top in bytes."""
    sizes: dict[int, int]
    """For each such stack the bytes that an iteration pops."""
    checked: list[tuple[Operation, list[int]]]
    """Reads at indices that may be out of range, and by how much each index grows with the counter."""
    of_indices: list[Operation]
    """What computes these indices."""


def parts(f: FunctionCode, op: Operation) -> Parts | None:
    """Return the parts of a ``range``; None if it is not split."""
    body = op.blocks[0]
    divisions = sum(o.callee in _DIVISIONS for o in body.operations)
    if divisions < DIVISIONS and not any(_is_dear(f, o) for o in body.operations) or trips(f, op) < LEAST:
        return None
    if any(o.kind in ("range", "while") for o in walk(body)):
        return None
    return _Split(f, op).parts()


def _is_dear(f: FunctionCode, op: Operation) -> bool:
    """Return whether an operation is a function of real numbers with a vector version."""
    name = _DEAR.get(op.callee) or _SPECIAL.get(getattr(op.callee, "__name__", ""))
    if name is None or not _is_of_numbers(op) or op.results[0].type.dtype.kind != "f" or emitter_of(op) is None:
        return False
    if name == "pow" and op.operands[1].is_constant and is_product(float(op.operands[1].constant)):
        return False
    is_single = op.results[0].type.dtype.char == "f"
    full = f"{name}f" if is_single else name
    return bool(vector_variants(full, 2 if name in _OF_TWO else 1, is_single, f.program.module.processor))


def _is_of_numbers(op: Operation) -> bool:
    values = (*op.positional, *op.results)
    return op.kind == "call" and bool(op.results) and not any(v.type is STACK or v.type.shape for v in values)


def _is_plain(op: Operation) -> bool:
    """Return whether an operation is a function of numbers that vectorises."""
    if not op.positional or not _is_of_numbers(op):
        return False
    kinds = {v.type.dtype.kind for v in (*op.positional, *op.results)}
    if "c" in kinds:
        return op.callee in _OF_COMPLEX
    if not kinds.isdisjoint("iu"):
        return op.callee in _OF_INTEGERS
    if op.callee is np.power:
        return op.operands[1].is_constant and is_product(float(op.operands[1].constant))
    return op.callee in _PLAIN


class _Split:
    def __init__(self, f: FunctionCode, op: Operation) -> None:
        self.f, self.op, self.body = f, op, op.blocks[0]
        self.users = f.order.users
        self.made = {r: o for o in self.body.operations for r in o.results}
        self.inside = {*self.made, *self.body.parameters}
        self.popped: dict[Value, tuple[int, int]] = {}
        self.sizes: dict[int, int] = {}
        for k, (_, first, last, _) in enumerate(op.carried):
            if first.type is STACK:
                self._note_pops(k, first, last)
        self.apart = {self.body.parameters[0], *(v for v in self.popped if not v.type.shape)}
        """Numbers that an iteration computes without the others."""
        self.checked: dict[Operation, list[int]] = {}

    def _note_pops(self, k: int, stack: Value, last: Value) -> None:
        """Note the pops from a carried stack, if the body only pops from it, and numbers of bytes that are known."""
        found: dict[Value, tuple[int, int]] = {}
        below = 0
        own = set(self.body.operations)
        while stack is not last:
            pop = self.users[stack][0] if len(self.users[stack]) == 1 else None
            if pop is None or pop not in own or pop.callee is not typed.stack_pop:
                return
            *values, stack = pop.results
            for v in reversed(values):
                if v.type is STACK or not v.type.is_static:
                    return
                below += int(bytes_of(self.f, v.type))
                found[v] = k, below
        self.popped |= found
        self.sizes[k] = below

    def parts(self) -> Parts | None:
        self._admit()
        able = [o for o in self.body.operations if o.results and o.results[0] in self.apart]
        dear = [o for o in able if _is_dear(self.f, o)]
        divisions = [o for o in able if o.callee in _DIVISIONS and o.results[0].type.dtype.kind == "f"]
        seeds = {*dear, *(divisions if len(divisions) >= DIVISIONS else ())}
        moved: dict[Operation, None] = {}
        for o in able:
            if o in seeds or any(self.made.get(v) in moved for v in o.operands):
                moved[o] = None
        for o in reversed(list(moved)):
            if all(user not in moved for user in self.users[o.results[0]]) and self._stays(o):
                del moved[o]
        second = [o for o in self.body.operations if o not in moved]
        kept = [r for o in moved for r in o.results if any(user not in moved for user in self.users[r])]
        if not moved or len(kept) > MOST_KEPT or not self._is_sequential(second):
            return None
        first = self._needed(able, moved)
        needed = {v for o in first for v in o.operands}
        popped = {v: place for v, place in self.popped.items() if v in needed}
        checked = [(o, by) for o, by in self.checked.items() if o in first]
        indices = {self.made[v]: None for o, _ in checked for v in o.positional[1:] if v in self.made}
        return Parts(first, second, kept, popped, self.sizes, checked, self._needed(able, indices))

    def _needed(self, able: Sequence[Operation], wanted: Collection[Operation]) -> list[Operation]:
        """Return the operations ``wanted`` and those whose results they need, in order."""
        found: list[Operation] = []
        needed: set[Value] = set()
        for o in reversed(able):
            if o.callee is not typed.stack_pop and (o in wanted or not needed.isdisjoint(o.results)):
                found.append(o)
                needed.update(o.operands)
        return found[::-1]

    def _admit(self) -> None:
        """Find what an iteration computes without the others."""
        is_proved = True
        for o in self.body.operations:
            if o.callee is typed.raise_if:
                is_proved = is_proved and self.f.program.bounds_check and self._is_of_reals(o.operands[0])
            elif o.kind == "call" and not o.may_raise and all(map(self._is_known, o.operands)):
                if o.callee is typed.getitem:
                    is_able = self._is_read(o, is_proved)
                else:
                    is_able = _is_plain(o) or _is_dear(self.f, o) and o.results[0] not in self.f.branching
                if is_able:
                    self.apart.update(o.results)

    def _is_known(self, value: Value) -> bool:
        return value.is_constant or value not in self.inside or value in self.apart

    def _is_read(self, op: Operation, is_proved: bool) -> bool:
        """Return whether an operation reads a number from an array from outside.

        The index must be in range or grow evenly, so that a strip can end before it is out of range.
        """
        index = op.positional[1:]
        if any(v.type.shape for v in (*op.results, *index)):
            return False
        if is_proved and (op in self.f.proofs.in_range or not self.f.program.bounds_check):
            return True
        step = self.op.operands[2]
        growth = [self._growth(v) for v in index]
        if None in growth or not step.is_constant:
            return False
        self.checked[op] = [by * int(step.constant) for by in growth if by is not None]
        return True

    def _growth(self, value: Value) -> int | None:
        """Return by how much an int grows when the counter grows by one; None if that is not known."""
        if value is self.body.parameters[0]:
            return 1
        op = self.made.get(value)
        if op is None:
            return None if value in self.inside else 0
        if op.callee not in (np.add, np.subtract, typed.cast) or any(v.type.dtype != np.int64 for v in op.positional):
            return None
        parts = [self._growth(v) for v in op.positional]
        if None in parts:
            return None
        first, *others = [by for by in parts if by is not None]
        return first + sum(others) if op.callee is np.add else first - sum(others)

    def _is_of_reals(self, condition: Value) -> bool:
        """Return whether a condition tests real numbers; the proof that an index is in range may rely on others."""
        op = self.f.order.maker.get(condition)
        if op is None or not _is_of_numbers(op):
            return condition.is_constant
        if all(v.type.dtype.kind == "b" for v in op.positional):
            return all(map(self._is_of_reals, op.positional))
        return all(v.type.dtype.kind in "fc" for v in op.positional)

    def _stays(self, op: Operation) -> bool:
        """Return whether an operation whose result only the second part uses belongs there.

        A condition costs less than keeping it, and a product may be contracted with the sum that uses it.
        """
        if op.results[0].type.dtype.kind == "b":
            return True
        users = self.users[op.results[0]]
        is_term = len(users) == 1 and users[0] is not None and users[0].callee in (np.add, np.subtract)
        return op.callee is np.multiply and is_term

    def _is_sequential(self, operations: Sequence[Operation]) -> bool:
        """Return whether a loop has to run in order: LLVM vectorises others as they are."""
        for _, first, last, _ in self.op.carried:
            if first.type is not STACK and not first.type.shape and first.type.is_inexact:
                if last is not first and self.users[first] and last not in self.f.unordered:
                    return True
        return any(map(self._is_barrier, operations))

    def _is_barrier(self, op: Operation) -> bool:
        if op.callee in (typed.getitem, typed.setitem, typed.add_at):
            return self.f.program.bounds_check and op not in self.f.proofs.in_range
        if op.callee in (typed.stack_push, typed.stack_pop):
            return False
        return op.kind != "call" or not is_elementwise(op) or bool(op.results[0].type.shape)
