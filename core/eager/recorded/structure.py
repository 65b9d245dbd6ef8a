"""The arguments of a derivative: replaced by fresh objects before the run, with gradients collected afterwards.

A value is identified by its object, so an argument must not be the same object as a constant of the program: ``w`` may
be both the argument and a global, and the two entries of ``[1.0, 1.0]`` are one object.  For the duration of the run,
numbers and arrays are therefore replaced by equal ones, in place inside lists, dicts and objects (``holders``), which
remain the caller's own.  Afterwards the caller's objects are put back, updated by the run's writes into arrays.

A table of entries by holder and key would not do, because C code moves entries without asking: a slice, ``list.pop``,
``**kwargs``, ``vars`` or ``np.array`` takes the object itself out of the container.  If two entries are one object, or
an entry is also a constant of the program, the object does not tell where it came from.

A fresh array is a copy, not a view of the caller's memory, for three reasons: a write of another thread would change
what the pullback reads; other threads would see how the backward sweep temporarily undoes the run's writes; and an
array is identified by its memory, which a global may share.  If other threads are running, the copies are compared at
the end with their initial contents.  Writes of others are then copied into the caller's array, and the run is refused.

Within one argument, an array or an object that occurs in several places is one variable: all places hold the same fresh
array and share one gradient.  A number is a value: each place has its own gradient.
"""

from __future__ import annotations

import _thread
import copy
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import BadInput, two_arguments
from ...values.attributes import attributes, set_entry
from ...values.holders import CONSTANTS, Kind, Objects, Recursion, kind_of, unrolled
from ...values.items import count_of
from ...values.memory import owner
from ...values.numbers import NUMBERS, PASSIVE, REAL, Int, call_on
from ...values.reachable import is_foreign
from ...values.strong_zero import is_nan
from ..arrays.arrays import pass_on, stored_number
from ..unrecorded import claims
from .stores import setitem
from .tape import Cotangents, Tape

__all__ = [
    "Arguments",
    "as_gradient",
    "is_structure_of_numbers",
    "map_container",
    "plain",
    "same_number",
]

Leaf = tuple[Callable[[Cotangents, Any, Any], Any], Any, Any]
"""A number or an array: (function that takes its gradient, the fresh object, the caller's object)."""


class Node:
    """A container or an object in an argument."""

    __slots__ = ("has_leaves", "holder", "keys", "kind", "parts", "within")

    def __init__(self, holder: Any, kind: Kind) -> None:
        self.holder, self.kind = holder, kind
        self.keys: list[Any] = []
        self.parts: list[Part] = []
        self.within: list[Node] = []
        self.has_leaves = False

    def mark(self) -> None:
        """Note that this node holds leaves, and so does every node around it."""
        nodes = [self]
        while nodes:
            node = nodes.pop()
            if not node.has_leaves:
                node.has_leaves = True
                nodes += node.within


Part = Leaf | Node | None


class Arguments:
    """The differentiated arguments of one run."""

    references = 4  # the references to each fresh array: in inputs, in arrays, in originals, in its leaf

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.inputs = tape.inputs = []
        self.parts: list[Part] = []
        self.entered: dict[int, Node] = {}  # by identity: the mutable holders, whose entries are replaced
        self.claimed: list[Any] = []
        self.has_left = False
        self.has_returned = False  # whether the function has returned; if not, its own exception is reported first
        self.entered_with: list[bytes] | None = None  # initial contents of ``arrays``, if other threads are running
        self.nodes: list[Node] = []  # of the argument that is being entered
        self.originals: dict[
            int, tuple[Any, Any]
        ] = {}  # (the caller's value, the fresh one), by identity of the latter
        self.arrays: list[tuple[np.ndarray, np.ndarray]] = []
        self.known: dict[int, tuple[Any, Part]] = {}  # the arrays and objects of the argument that is being entered

    def enter(self, args: Sequence[Any], chosen: Sequence[int]) -> list[Any]:
        """Return the arguments for the call, the ``chosen`` ones replaced by fresh objects."""
        fresh = list(args)
        given = [args[i] for i in chosen]
        for x in given:
            if kind_of(type(x)) is not None:
                while True:
                    with claims.lock:
                        claim = claims.of_others(self.tape, given)
                        if claim is None:
                            self.enter_each(fresh, chosen)
                            if self.arrays and _thread._count():
                                self.entered_with = [a.tobytes() for _, a in self.arrays]
                            return fresh
                    claims.wait(claim)
        self.enter_each(fresh, chosen)
        return fresh

    def enter_each(self, args: list[Any], chosen: Sequence[int]) -> None:
        for i in chosen:
            self.known.clear()
            args[i], part = self.leaf(args[i]) or unrolled(self.freshened(args[i]))
            self.parts.append(part)
            for node in self.nodes:
                node.within.clear()  # break the reference cycles, which only the garbage collector would free
            self.nodes.clear()

    def leave(self) -> None:
        """Put the caller's objects back, and copy what the run wrote into its arrays to the caller's.

        It may be called again after an interrupt.
        """
        self.known.clear()
        if not self.has_left and not self.claimed:
            self.put_back()
            self.has_left = True
        elif not self.has_left:
            with claims.lock:
                self.put_back()
                self.has_left = True

    def release(self) -> None:
        """Release the claims, so that other threads may differentiate the caller's objects."""
        if self.claimed:
            with claims.lock:
                claims.release(self.tape, self.claimed)

    def put_back(self) -> None:
        seen: set[int] = set()
        for node in self.entered.values():
            self.restore(node.holder, seen)
        overwritten = self.entered_with is not None and self.keep_writes_of_others()
        written = [(original, fresh) for original, fresh in self.arrays if id(fresh) in self.tape.written]
        owners = Counter(id(owner(original)) for original, _ in self.arrays) if written else {}
        for original, fresh in written:
            if owners[id(owner(original))] > 1:
                self.has_left = True
                raise BadInput(
                    "the function writes into an array that was passed twice, or that shares memory with another differentiated "
                    "argument; pass separate copies"
                )
            if self.tape.parent is None:
                original[...] = fresh
            else:
                setitem(self.tape.parent, original, ..., fresh)
        if overwritten and self.has_returned:
            self.has_left = True
            raise BadInput(
                "another thread, or code that is not recorded, has written in place into an array of an object while it was being "
                "differentiated, so the gradient would be wrong; the writes are kept. Give each thread a copy (copy.deepcopy), "
                "hold a lock around both, or assign a new array instead of writing in place"
            )

    def keep_writes_of_others(self) -> bool:
        """Copy what others have written into the fresh arrays to the caller's; return whether there was anything."""
        found = False
        for (original, fresh), was in zip(self.arrays, self.entered_with or ()):
            if id(fresh) not in self.tape.written and fresh.tobytes() != was:
                found = True
                now, into = np.asarray(fresh), np.asarray(original)
                before = np.frombuffer(was, now.dtype).reshape(now.shape)
                is_new = (now != before) & ~(np.isnan(now) & np.isnan(before))
                into[is_new] = now[is_new]
        return found

    def restore(self, x: Any, seen: set[int]) -> Any:
        """Return the caller's object in place of ``x``, and restore the containers and objects in it."""
        found = self.restored_leaf(x, seen)
        return unrolled(self.restored(x, seen)) if found is None else found[0]

    def restored_leaf(self, x: Any, seen: set[int]) -> tuple[Any] | None:
        found = self.originals.get(id(x))
        if found is not None:
            return found[:1]
        kind = type(x)
        if kind is Int:
            return (int(x) if self.tape.parent is None else x,)
        if kind in NUMBERS or kind in PASSIVE or id(x) in seen or kind_of(kind) is None:
            return (x,)
        return None

    def restored(self, x: Any, seen: set[int]) -> Recursion:
        seen.add(id(x))
        kind: Any = kind_of(type(x))
        values = []
        changed = False
        for key, value in kind.entries(x):
            found = self.restored_leaf(value, seen)
            new = (yield self.restored(value, seen)) if found is None else found[0]
            if new is not value:
                changed = True
                if kind.is_mutable:
                    kind.put(x, key, new)
            if not kind.is_mutable:
                values.append(new)
        return x if kind.is_mutable or not changed else kind.made(x, values)

    def gradients(self, table: Cotangents) -> tuple[Any, ...]:
        found = []
        for part in self.parts:
            gradient = _gradient(part, table, {})
            found.append(unrolled(gradient) if type(part) is Node else gradient)
        return tuple(found)

    def leaf(self, x: Any) -> tuple[Any, Part] | None:
        """Return a leaf's fresh object and part, a constant as it is, or None for a container or an object."""
        kind = type(x)
        if kind is float and self.tape.parent is None:
            return self.variable(x, x * 1.0, _number)
        if kind in PASSIVE and kind is not int:
            return x, None
        if kind is float or kind is complex or kind is np.float64:
            return self.variable(x, call_on(self.tape.parent, same_number, x), _number)
        if kind is int or kind is Int:
            return self.variable(x, call_on(self.tape.parent, Int, x), _number)
        if isinstance(x, np.ndarray):
            if x.dtype.kind not in "fc":
                return x, None
            found = self.known.get(id(x))
            if found is not None:
                return found
            if kind is not np.ndarray:  # keep the subclass
                fresh = call_on(self.tape.parent, copy.copy, x)
            else:
                fresh = x.copy(order="K") if self.tape.parent is None else self.tape.parent.call(np.copy, x)
            if not x.flags.writeable:
                fresh.flags.writeable = False
            self.arrays.append((x, fresh))
            found = self.known[id(x)] = self.variable(x, fresh, _array)
            return found
        if isinstance(x, np.inexact):
            return self.variable(x, call_on(self.tape.parent, same_number, x), _number)
        if isinstance(x, (float, complex)):
            return self.variable(x, self.of_its_class(x), _number)
        found = self.known.get(id(x))
        return (x, None) if found is None and kind_of(kind) is None else found

    def of_its_class(self, x: Any) -> Any:
        """Return an equal number of the same class, derived from ``float`` or ``complex``, with the same attributes."""
        kind: Any = type(x)
        fresh = (float if isinstance(x, float) else complex).__new__(kind, stored_number(x))
        for name, value in attributes(x):
            set_entry(fresh, name, value)
        tape = self.tape.parent
        while tape is not None:
            tape.records.append((pass_on, fresh, x))
            tape = tape.parent
        return fresh

    def variable(self, x: Any, fresh: Any, gradient: Callable[[Cotangents, Any, Any], Any]) -> tuple[Any, Part]:
        self.inputs.append(fresh)
        self.originals[id(fresh)] = x, fresh
        return fresh, (gradient, fresh, x)

    def freshened(self, x: Any) -> Recursion:
        """Rebuild tuples and other immutable holders from fresh parts; replace the entries of mutable ones in place."""
        kind: Any = kind_of(type(x))
        is_mutable = kind.is_mutable
        node = Node(x, kind)
        self.nodes.append(node)
        if is_mutable:
            other = self.entered.get(id(x))
            if other is not None and other.has_leaves:
                raise two_arguments(x)
            self.known[id(x)] = x, node
            self.entered[id(x)] = node
        parts, values = node.parts, []
        changed = False
        entries = kind.entries(x)
        for key, value in entries:
            found = self.leaf(value) if kind.varies(key) else (value, None)
            fresh, part = found or (yield self.freshened(value))
            parts.append(part)
            if part is not None:
                if type(part) is Node:
                    part.within.append(node)
                if not node.has_leaves and (type(part) is not Node or part.has_leaves):
                    node.mark()
            if not is_mutable:
                values.append(fresh)
                changed = changed or fresh is not value
            elif fresh is not value:
                if not changed:
                    changed = True
                    self.claimed.append(x)
                    claims.claim(self.tape, x)
                kind.put(x, key, fresh)
        node.keys = [key for key, _ in entries]
        if changed and not is_mutable:
            made = kind.made(x, values)
            self.originals[id(made)] = x, made
            return made, node
        return x, node


def _gradient(part: Part, table: Cotangents, done: dict[int, Any]) -> Any:
    """Return the gradient of a leaf, or the started recursion for a container or an object."""
    if part is None:
        return None
    if isinstance(part, Node):
        return _gradient_of(part, table, done)
    take, fresh, x = part
    if take is _number:
        return _number(table, fresh, x)
    if id(fresh) not in done:
        done[id(fresh)] = take(table, fresh, x)
    return done[id(fresh)]


def _gradient_of(node: Node, table: Cotangents, done: dict[int, Any]) -> Recursion:
    if id(node) in done:
        return done[id(node)]
    kind = node.kind
    if kind.only_with_leaves and not node.has_leaves:
        return None
    new = done[id(node)] = kind.blank(node.holder) if kind.is_mutable else None
    values = []
    for part in node.parts:
        found = _gradient(part, table, done)
        values.append((yield found) if type(part) is Node else found)
    if not kind.is_mutable:
        del done[id(node)]  # each occurrence of an immutable value has its own gradient
        return kind.made(node.holder, values)
    kind.fill(new, node.keys, values)
    return new


def same_number(x: Any) -> Any:
    """Return an equal number as a new object; a product with 1 would change complex infinities and signed zeros."""
    opposite = -x
    return -opposite


def is_structure_of_numbers(x: Any) -> bool:
    """Whether ``x`` may hold anything that can be differentiated.

    Empty containers may.  Objects that keep their values inside C code, out of reach of gradients, may not.
    """
    if type(x) is float:
        return True
    may = keeps_in_c = False
    stack, seen = [iter((x,))], set()
    while stack:
        for x in stack[-1]:
            kind = type(x)
            if kind in PASSIVE and kind is not int:
                continue
            if isinstance(x, (int, float, complex, np.inexact)) and not isinstance(x, CONSTANTS):
                return True
            if isinstance(x, np.ndarray):
                if x.dtype.kind in "fc":
                    return True
                continue
            holder = kind_of(kind)
            if holder is None or isinstance(holder, Objects):
                keeps_in_c = keeps_in_c or is_foreign(kind)
            if holder is not None and id(x) not in seen:
                seen.add(id(x))
                may = may or not isinstance(x, (list, tuple, dict)) or not count_of(x)
                stack.append(iter(x) if kind is list or kind is tuple else (value for _, value in holder.entries(x)))
                break
        else:
            stack.pop()
    return may and not keeps_in_c


def plain(x: Any) -> Any:
    """Return ``x`` with each ``Int``, which results may contain, replaced by an int."""
    if type(x) in REAL:
        return x
    return int(x) if type(x) is Int else map_container(plain, x)


def map_container(function: Callable[[Any], Any], x: Any) -> Any:
    """Apply ``function`` to the entries of a tuple, list or dict; return the same object if no entry changes."""
    if type(x) is dict:
        new = {k: function(e) for k, e in x.items()}
        return new if any(new[k] is not x[k] for k in x) else x
    if type(x) in (tuple, list):
        entries = [function(e) for e in x]
        return type(x)(entries) if any(a is not b for a, b in zip(entries, x)) else x
    return x


def _number(table: Cotangents, fresh: Any, x: Any) -> Any:
    g = table.take(fresh)
    if g is None:
        return _class_of_number(x)(0)
    if g != g:
        table.check(g)
    if table.parent is not None:
        return table.run(as_gradient, g, x) if isinstance(x, (float, complex)) and type(g) is not type(x) else g
    return as_gradient(g, x)


def as_gradient(g: Any, x: Any) -> Any:
    """Convert a cotangent to the plain number type of ``x``; the gradient of an int may be a float."""
    if isinstance(x, int):
        return int(g) if isinstance(g, (int, np.integer)) else float(g)
    return _class_of_number(x)(g)


def _class_of_number(x: Any) -> Any:
    kind = type(x)
    if kind in NUMBERS or kind is int or isinstance(x, np.generic):
        return kind
    return float if isinstance(x, float) else complex


def _array(table: Cotangents, fresh: np.ndarray, x: np.ndarray) -> np.ndarray:
    shared = id(fresh) not in table.exclusive
    g = table.take(fresh)
    if g is None:
        return np.zeros_like(fresh)
    if is_nan(g):
        table.check(g)
    if table.parent is None:
        # The caller must be the only owner of the gradient.
        return np.array(g, dtype=fresh.dtype).reshape(fresh.shape) if shared else g
    return g
