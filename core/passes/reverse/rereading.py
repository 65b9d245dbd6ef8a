"""Dependence analysis: which array elements that a loop reads or writes can be read again after the loop.

An element that is not written after it was read still stands in the array after the loop; an element that was not
written before it was read stands in the array before the loop. Neither needs to be saved. The proof compares each read
with each write, for every relative position of the two: in the same iteration of their common loops, and in different
iterations of each of these. In each case the indices must be proved disjoint in some dimension. This is the dependence
test of vectorising compilers (Allen and Kennedy, Optimizing Compilers for Modern Architectures, 2001, chapter 3), with
affine forms and the bounds of ``integer_bounds`` in place of direction vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...ir import typed
from ...ir.affine import Affine
from ...ir.dynamic import Block, Operation, Value
from ...ir.integer_bounds import Bounds
from ...ir.typed import ArrayType, Dim, part_dimensions
from ..inline import Copy
from .residuals import size

_WRITES = (typed.setitem, typed.add_at)
Path = tuple[tuple[Operation, int], ...]


@dataclass
class _Place:
    """An operation's position: the enclosing operations with the number of their block, and its program order."""

    path: Path
    when: int


@dataclass
class _Array:
    """A carried array of a loop: one chain of values, each written to at most once."""

    loop: Operation
    before: Value
    after: Value
    values: set[Value] = field(default_factory=set)
    writes: list[Operation] = field(default_factory=list)


class Rereading:
    """The reads and written values of a function that can be read again after their loop."""

    def __init__(self, block: Block) -> None:
        self.places: dict[Operation, _Place] = {}
        self.producer: dict[Value, Operation] = {}
        self.found: dict[Operation, Value | None] = {}
        self.arrays_of: dict[Value, list[_Array]] = {}  # outer loops first
        self.written: dict[Value, Operation] = {}
        self.users: dict[int, dict[Value, list[Operation]]] = {}  # for each block: a value's consumers
        self._note_users(block)
        self._note(block, ())

    def _note_users(self, block: Block) -> set[Value]:
        """Record the operations that make a new version of a value; return the values that they consume."""
        users = self.users[id(block)] = {}
        for op in block.operations:
            used: set[Value] = set()
            if op.kind == "call":
                used.update(op.operands[:1] if op.callee in _WRITES else ())
            elif op.kind != "if":
                used.update(op.operands)
            for inner in op.blocks:
                used |= self._note_users(inner)
                used.update(inner.results)
            for value in used:
                users.setdefault(value, []).append(op)
        return set(users)

    def _note(self, block: Block, path: Path) -> None:
        for op in block.operations:
            self.places[op] = _Place(path, len(self.places))
            self.producer.update(dict.fromkeys(op.results, op))
            if op.kind in ("range", "while"):
                for k, result in enumerate(op.results):
                    if isinstance(result.type, ArrayType) and result.type.shape:
                        self._note_array(op, k)
            for i, inner in enumerate(op.blocks):
                self._note(inner, (*path, (op, i)))

    def _note_array(self, op: Operation, k: int) -> None:
        array = _Array(op, op.initial[k], op.results[k])
        if self._follow_loop(op, k, array):
            for value in array.values:
                self.arrays_of.setdefault(value, []).append(array)
            self.written.update((w.positional[-1], w) for w in array.writes if w.callee is typed.setitem)

    # Chains of writes

    def _follow_loop(self, op: Operation, k: int, array: _Array) -> bool:
        body = op.blocks[-1]
        parameter = body.parameters[len(body.parameters) - len(op.results) + k]
        return self._follow(body, parameter, array) == [k]

    def _follow(self, block: Block, value: Value, array: _Array) -> list[int]:
        """Follow an array through a block's writes; return the numbers of results that hold it, [] if not a chain."""
        while True:
            array.values.add(value)
            ends = [i for i, r in enumerate(block.results) if r is value]
            users = self.users[id(block)].get(value, [])
            if not users:
                return ends
            if ends or len(users) > 1:
                return []
            (op,) = users
            if op.kind == "call":
                array.writes.append(op)
                value = op.results[0]
                continue
            if op.kind == "if":
                both = [self._follow(b, value, array) for b in op.blocks]
                if both[0] != both[1] or len(both[0]) != 1:
                    return []
                value = op.results[both[0][0]]
                continue
            slots = [k for k, v in enumerate(op.initial) if v is value]
            if len(slots) != 1 or not self._follow_loop(op, slots[0], array):
                return []
            value = op.results[slots[0]]

    # Reads

    def source(self, op: Operation) -> Value | None:
        """The array, before or after the loop, that holds what a ``getitem`` in the loop reads; or None."""
        if op not in self.found:
            self.found[op] = self._source(op, op.results[0].type)
        return self.found[op]

    def of_written(self, value: Value) -> Operation | None:
        """A read after the loop that gives a value written into an array in the loop; None if it was overwritten."""
        write = self.written.get(value)
        if write is None or "a" in write.named["spec"].constant:
            return None
        if write not in self.found:
            self.found[write] = self._source(write, value.type)
        after = self.found[write]
        if after is None:
            return None
        operands = [after, *write.positional[1:-1], write.named["spec"]]
        return Operation("call", typed.getitem, operands, ("spec",), results=[value], line=write.line)

    def _source(self, op: Operation, kind: ArrayType) -> Value | None:
        """The array, after or before a loop, that holds the part (of type ``kind``) read or written; or None."""
        place = self.places.get(op)
        if place is None or any(c.kind == "while" and i == 0 for c, i in place.path):
            return None
        for array in self.arrays_of.get(op.operands[0], ()):
            if not self._worth(array, place, kind):
                continue
            if all(self._apart(op, write, True, array) for write in array.writes):
                return array.after
            if op.callee is typed.getitem and all(self._apart(op, w, False, array) for w in array.writes):
                return array.before
        return None

    def _worth(self, array: _Array, place: _Place, kind: ArrayType) -> bool:
        """Whether saving the array costs little more than saving the parts; an inner loop's is saved each time."""
        depth = len(self.places[array.loop].path)
        if depth == 0:
            return True
        times = 1
        for op, _ in place.path[depth:]:
            if op.kind == "range" and all(v.is_constant for v in op.operands[:3]):
                times *= len(range(*(int(v.constant) for v in op.operands[:3])))
        return times * size(kind) >= 0.5 * size(array.after.type)

    def _apart(self, read: Operation, write: Operation, later: bool, array: _Array) -> bool:
        """Whether no write executed after the read (before it, if not ``later``) touches an element that is read."""
        paths = [self.places[op].path for op in (read, write)]
        common = 0
        while common < min(map(len, paths)) and paths[0][common] == paths[1][common]:
            common += 1
        excluded = (
            common < min(map(len, paths)) and paths[0][common][0] is paths[1][common][0]
        )  # branches of one ``if``
        follows = (self.places[write].when > self.places[read].when) == later
        if follows and not excluded and not self._disjoint(read, write, common, None):
            return False
        depth = len(self.places[array.loop].path)
        loops = [i for i in range(depth, common) if paths[0][i][0].kind != "if"]
        return all(self._disjoint(read, write, i, later) for i in loops)

    def _disjoint(self, read: Operation, write: Operation, shared: int, later: bool | None) -> bool:
        """Whether read and write are disjoint within one iteration of the ``shared`` outermost enclosing operations.

        If ``later`` is given, the write is in a later (or earlier) iteration of the next enclosing loop than the read.
        """
        bounds = Bounds()
        known: dict[Value, Value] = {}
        outer = _Instance(self, bounds, known)
        path = self.places[read].path
        for container in path[:shared]:
            outer.enter(container)
        one, other = _Instance(self, bounds, dict(known)), _Instance(self, bounds, dict(known))
        if later is not None:
            one.enter(path[shared])
            other.enter(path[shared], one, later)
            shared += 1
        for instance, op in ((one, read), (other, write)):
            for container in self.places[op].path[shared:]:
                instance.enter(container)
        for a, b in zip(one.extent(read), other.extent(write)):
            if a is not None and b is not None and (bounds.is_less(a[1], b[0]) or bounds.is_less(b[1], a[0])):
                return True
        return False


class _Instance:
    """Copies of the integers of one iteration of the loops around an operation, with their bounds."""

    def __init__(self, program: Rereading, bounds: Bounds, known: dict[Value, Value]) -> None:
        self.program = program
        self.bounds = bounds
        self.known = known

    def enter(self, container: tuple[Operation, int], beside: _Instance | None = None, later: bool = True) -> None:
        """Enter a block; with ``beside``, an iteration later (or earlier) than that of this other instance."""
        op, i = container
        if op.kind == "if":
            condition = self.resolve(op.operands[0])
            self.bounds.assume(condition, i == 0)
        if op.kind != "range":
            return
        index = op.blocks[0].parameters[0]
        start, stop, step = map(self.resolve, op.operands[:3])
        self.known[index] = made = Value(index.name, index.type)
        self.bounds.index(made, start, stop, step)
        if beside is not None and step.is_constant and made in self.bounds.low:
            there = self.bounds.form(beside.known[index])
            low, high = (self.bounds.form(start), self.bounds.form(stop) + Affine(-1))
            if int(step.constant) < 0:
                low, high = self.bounds.form(stop) + Affine(1), self.bounds.form(start)
            if later == (int(step.constant) > 0):
                self.bounds.atom(made, [there + Affine(1), low], [high])
            else:
                self.bounds.atom(made, [low], [there + Affine(-1), high])

    def resolve(self, value: Value) -> Value:
        """The copy of an integer for this iteration."""
        if value.is_constant:
            return value
        if value not in self.known:
            op = self.program.producer.get(value)
            plain = op is not None and op.kind == "call" and len(op.results) == 1 and not value.type.shape
            if plain and op is not None and value.type.dtype.kind in "iub" and _is_arithmetic(op):
                for operand in op.positional:
                    self.resolve(operand)
                made = Copy(dict(self.known)).operation(op)
                self.bounds.define(made)
                self.known[value] = made.results[0]
            else:
                self.known[value] = Value(value.name, value.type)
        return self.known[value]

    def extent(self, op: Operation) -> list[tuple[Affine, Affine] | None]:
        """The least and greatest index of a part in each dimension; None where unknown."""
        spec = op.named["spec"].constant
        reads = op.callee is typed.getitem
        _, *index = op.positional if reads else op.positional[:-1]
        part = (op.results[0] if reads else op.positional[-1]).type
        places = part_dimensions(spec, 0) if "a" not in spec else {}
        found: list[tuple[Affine, Affine] | None] = []
        left = list(index)
        for i, entry in enumerate(spec):
            if entry == ":":
                found.append(None)
                continue
            operand = left.pop(0)
            if entry == "a" or i not in places and entry != "i":
                found.append(None)
                continue
            first = self.bounds.form(self.resolve(operand))
            if entry == "i":
                found.append((first, first))
                continue
            n = part.shape[places[i]]
            length = self.bounds.form(self.resolve(n.value)) if isinstance(n, Dim) else Affine(n)
            last = first + (length + Affine(-1)) * entry[1]
            found.append((first, last) if entry[1] > 0 else (last, first))
        return found


def _is_arithmetic(op: Operation) -> bool:
    """Whether a call is arithmetic on scalar integers or bools."""
    known = isinstance(op.callee, np.ufunc) or op.callee in (np.where, typed.cast)
    return known and all(v.is_constant or not v.type.shape and v.type.dtype.kind in "iub" for v in op.positional)
