"""The walk over a typed function while JAX traces it: blocks, control flow, and the error that a program carries along.

An XLA program cannot stop in the middle. A program that may raise carries an error code (0: no error yet) and the
values of the first error's message through blocks and loops to its end. Loops stop when the code is set; Python raises
the exception after the call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from ...errors import BadInput
from ...ir.dynamic import Block, Function, Operation, Value, callee_name, walk
from ...ir.exceptions import exception_of
from ...ir.places import calls_to, numbered
from ...ir.typed import STACK, ArrayType, Dim, add_at, getitem, raise_if
from .overwriting import computed_now, read_before, rewritten, settled
from .pending import Pending, Place, deferred, place, place_of
from .sums_of_parts import add_parts, summed

LOWERINGS: dict[Any, Callable[..., Any]] = {}
"""For each callee, ``lower(walk, operation, *operands, **constants)``; it returns the result or a list of results."""

FAILING: set[Any] = {raise_if}
"""The callees whose lowering calls ``Walk.fail_if``."""

CONDITIONS: dict[Any, Callable[[Operation], bool]] = {}
"""For some callees, a test for the calls that the lowering supports; the other calls run in Python."""


def lowers(
    *callees: Any, fails: bool = False, when: Callable[[Operation], bool] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a lowering. ``fails``: it calls ``Walk.fail_if``; ``when``: a test for the calls that it supports."""

    def register(lower: Callable[..., Any]) -> Callable[..., Any]:
        LOWERINGS.update(dict.fromkeys(callees, lower))
        FAILING.update(callees if fails else ())
        CONDITIONS.update(dict.fromkeys(callees, when) if when else {})
        return lower

    return register


def is_lowered(op: Operation) -> bool:
    """Return whether a call has a lowering; otherwise it runs in Python."""
    when = CONDITIONS.get(op.callee)
    return op.callee in LOWERINGS and (when is None or when(op))


INTEGER = ArrayType(np.dtype(np.int64), ())
NUMBERING: set[Any] = set()
"""Callees whose lowerings have errors with an integer in the text."""


@dataclass(frozen=True)
class Site:
    """A place in the program that may raise: the exception, its text, and the types of the values in the text."""

    exception: Any
    text: str
    types: tuple[ArrayType, ...] = ()
    place: int = -1  # its number, see ``places``


@dataclass
class Failure:
    """The error that a program carries: the code (0, or the index of a site + 1) and its message's values as bits."""

    code: Any
    bits: Any


@dataclass
class Walk:
    """One trace of a function. ``walk[value]`` is the JAX array of a value, or a NumPy constant."""

    function: Function
    sites: list[Site] = field(default_factory=list)
    raised: list[BaseException] = field(default_factory=list)
    values: dict[Value, Any] = field(default_factory=dict)
    failure: Failure | None = None
    is_ordered: bool = False
    runs_python: bool = False
    on_cpu: bool = True
    outer_values: dict[Value, Any] = field(default_factory=dict)
    places: dict[Value, Place] = field(default_factory=dict)
    op: Operation | None = None

    def __post_init__(self) -> None:
        self.numbered = numbered(self.function)
        self.maker = {r: op for op in walk(self.function.block) for r in op.results}
        calls = [op for op in walk(self.function.block) if op.callee is raise_if]
        sizes = [sum(_words(v.type) for v in op.positional[1:]) for op in calls]
        sizes += [_words(INTEGER) for op in walk(self.function.block) if op.callee in NUMBERING]
        self.words = max(sizes, default=0)

    def __getitem__(self, value: Value) -> Any:
        if value.is_constant:
            return np.asarray(value.constant, value.type.dtype) if value.type is not None else value.constant
        return self.values[value]

    def array(self, value: Value) -> Any:
        """Return the JAX array of a value or constant; a constant number is created in the program, not passed in."""
        x = self[value]
        return lax.full((), x[()], x.dtype) if isinstance(x, np.ndarray) and not x.ndim else jnp.asarray(x)

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        """Trace the whole function and return its results; ``failure`` then holds the error if it may raise."""
        self.values.update(zip(self.function.parameters, arguments, strict=True))
        if self.may_fail(self.function.block):
            self.failure = self.no_failure()
        self.block(self.function.block)
        return [self.array(v) for v in self.function.block.results]

    def no_failure(self) -> Failure:
        return Failure(jnp.zeros((), np.int32), jnp.zeros(self.words, np.int64))

    def block(self, block: Block, arguments: Sequence[Any] = ()) -> list[Any]:
        """Trace a block and return its results."""
        self.values.update(zip(block.parameters, arguments))
        outer, self.outer_values = self.outer_values, {}
        waiting = deferred(block) if self.on_cpu else set()
        sums = summed(block)
        left = {op for chain in sums.values() for op in chain[:-1]}
        early = read_before(block, waiting | left) if self.on_cpu else {}
        again = rewritten(block) - {op.results[0] for op in waiting | left} if self.on_cpu else set()
        for op in block.operations:
            if op in left:
                continue
            self.op = op
            if (sum_ := place_of(op, self.places)) is not None:
                self.places[op.results[0]] = sum_
            if op in waiting or op.operands and isinstance(self.values.get(op.operands[0]), Pending):
                self._lower_deferred(op, op in waiting, early.get(op, []))
                if op.results[0] in again:
                    self.values[op.results[0]] = settled(self.values[op.results[0]])
                continue
            if op in early:
                self._compute_before(op, early[op])
            try:
                found = [add_parts(self, sums[op])] if op in sums else getattr(self, f"lower_{op.kind}")(op)
            except BadInput as error:
                if self.function.filename not in str(error):  # only the innermost block adds its line
                    error.args = (f"{self.function.filename}:{op.line}: {error}",)
                raise
            for result, x in zip(op.results, found, strict=True):
                if np.shape(x) != result.type.bounds or x.dtype != result.type.dtype:
                    what = callee_name(op.callee) if op.callee else op.kind
                    raise TypeError(f"{what} gave {x.dtype}{list(np.shape(x))}, its type is {result.type}")
                self.values[result] = settled(x) if result in again else x
        results = [self.array(v) for v in block.results]
        self.values.update(self.outer_values)
        self.outer_values = outer
        return results

    def _replace(self, values: Sequence[Value], arrays: Sequence[Any]) -> None:
        """Replace the arrays of values until the current block ends: JAX cannot use its arrays outside of it."""
        for value, array in zip(values, arrays):
            self.outer_values.setdefault(value, self.values[value])
            self.values[value] = array

    def _compute_before(self, op: Operation, values: Sequence[Value]) -> None:
        """Force values to be computed before an operation overwrites the array that they were read from."""
        # The written value, or its index, comes out of the same branch, so the write depends on the reads.
        ties = [v for v in reversed(op.operands[1:] if op.kind == "call" else op.operands) if not v.is_constant]
        tie = [v for v in ties if v.type.ndim == 0][:1] or ties[:1]
        together = list(dict.fromkeys([*tie, *(v for v in values if 0 not in v.type.bounds)]))
        self._replace(together, computed_now([self.array(v) for v in together], self._unknown(op, values)))

    def _unknown(self, op: Operation, values: Sequence[Value]) -> Any:
        """Return a number that XLA cannot know: an index of the write, or a value that was read before it."""
        unknown = [v for v in op.positional if not v.is_constant]
        integers = [v for v in unknown if v.type.ndim == 0 and v.type.dtype.kind == "i"]
        found = self.values[next(iter([*integers, *values, *unknown]))]
        return found.array if isinstance(found, Pending) else found

    def _lower_deferred(self, op: Operation, is_waiting: bool, held: Sequence[Value]) -> None:
        """Lower a read of an array with pending writes, or a write; the last write does all of them."""
        is_read = op.callee is getitem
        spec, index = op.named["spec"].constant, op.positional[1:] if is_read else op.positional[1:-1]
        x, (result,) = self.values.get(op.operands[0]), op.results
        pending = x if isinstance(x, Pending) else Pending(self.array(op.operands[0]), spec, [])
        where = [self[v] for v in index], [place(v, self.places) for v in index]
        if is_read:
            self.values[result] = pending.read(*where)
            return
        pending = pending.written(*where, self.array(op.positional[-1]), op.callee is add_at)
        if not is_waiting:
            pending.fill()
            early = [v for v in held if 0 not in v.type.bounds]
            known = [e.value for e in pending.elements]
            values = computed_now([*known, *map(self.array, early)], self._unknown(op, early))
            for element, value in zip(pending.elements, values):
                element.value = value
            self._replace(early, values[len(pending.elements) :])
        self.values[result] = pending if is_waiting else pending.done()

    # ---- calls

    def lower_call(self, op: Operation) -> list[Any]:
        if any(v.type is STACK for v in [*op.positional, *op.results]):
            raise TypeError("a stack that grows reached XLA: reverse with target='xla' uses arrays")
        lower = LOWERINGS[op.callee if is_lowered(op) else None]
        constants = {name: v.constant for name, v in op.named.items()}
        found = lower(self, op, *map(self.__getitem__, op.positional), **constants)
        found = list(found) if isinstance(found, (list, tuple)) else [found]
        return [fitted(x, r.type) for x, r in zip(found, op.results)]

    # ---- control flow

    def lower_if(self, op: Operation) -> list[Any]:
        condition = self[op.operands[0]]
        failing = any(map(self.may_fail, op.blocks))

        def branch(block: Block) -> Callable[..., Any]:
            def run(failure: Any) -> Any:
                with self.carrying(failure):
                    return self.block(block), self.carried_failure(failing)

            return run

        found, failure = lax.cond(condition, *map(branch, op.blocks), self.carried_failure(failing))
        self.take(failure)
        return found

    def lower_while(self, op: Operation) -> list[Any]:
        condition, body = op.blocks
        initial = [self.array(v) for v in op.operands]
        if self.may_fail(condition):
            return self._while_tested_in_body(condition, body, initial)
        failing = self.may_fail(body)
        outer = self.failure

        def test(state: Any) -> Any:
            values, failure = state
            with self.carrying(failure):
                goes_on = self.block(condition, values)[0]
            now = failure or (outer.code, outer.bits) if outer else failure
            return goes_on & (now[0] == 0) if now else goes_on

        def step(state: Any) -> Any:
            values, failure = state
            with self.carrying(failure):
                return self.block(body, values), self.carried_failure(failing)

        found, failure = lax.while_loop(test, step, (initial, self.carried_failure(failing)))
        self.take(failure)
        return found

    def _while_tested_in_body(self, condition: Block, body: Block, initial: list[Any]) -> list[Any]:
        """Lower a loop whose condition may raise: an XLA condition returns only a bool, so the body computes it."""

        def tested(values: list[Any]) -> Any:
            goes_on = self.block(condition, values)[0]
            failure = self.carried_failure(True)
            return goes_on & (failure[0] == 0), values, failure

        def step(state: Any) -> Any:
            _, values, failure = state
            with self.carrying(failure):
                return tested(self.block(body, values))

        _, found, failure = lax.while_loop(lambda state: state[0], step, tested(initial))
        self.take(failure)
        return found

    def lower_range(self, op: Operation) -> list[Any]:
        (body,) = op.blocks
        start, stop, step = (self[v] for v in op.operands[:3])
        initial = [self.array(v) for v in op.operands[3:]]
        failing = self.may_fail(body)
        trips = _trips(start, stop, step)

        def advance(state: Any) -> Any:
            k, values, failure = state
            with self.carrying(failure):
                i = start + k * step if not _is_count(start, step) else k
                return k + 1, self.block(body, [i, *values]), self.carried_failure(failing)

        def goes_on(state: Any) -> Any:
            k, _, failure = state
            return (k < trips) & (failure[0] == 0) if failure else k < trips

        state = (jnp.zeros((), np.int64), initial, self.carried_failure(failing))
        _, found, failure = lax.while_loop(goes_on, advance, state)
        self.take(failure)
        return found

    # ---- errors

    def may_fail(self, block: Block) -> bool:
        """Return whether a block contains an operation that may raise."""
        return any(op.kind == "call" and (op.callee in FAILING or not is_lowered(op)) for op in walk(block))

    def carried_failure(self, failing: bool) -> Any:
        """Return the error code and bits that a region carries if it may raise; else ()."""
        if not failing:
            return ()
        assert self.failure is not None
        return self.failure.code, self.failure.bits

    def take(self, failure: Any) -> None:
        if failure:
            self.failure = Failure(*failure)

    @contextmanager
    def carrying(self, failure: Any) -> Iterator[None]:
        """Use the failure that a region carries, if any, while it is traced; restore the outer failure afterwards."""
        outer = self.failure
        self.take(failure)
        try:
            yield
        finally:
            self.failure = outer

    def fail_if(self, condition: Any, site: Site, values: Sequence[Any] = ()) -> None:
        """Set the program's error if the condition holds and no error is set yet."""
        assert self.failure is not None
        site = replace(site, place=self.numbered.get(calls_to(self.op.line if self.op else 0), -1))
        if site not in self.sites:
            self.sites.append(site)
        code, bits = self.failure.code, self.failure.bits
        first = jnp.asarray(condition) & (code == 0)
        code = jnp.where(first, np.int32(self.sites.index(site) + 1), code)
        words = [_bits(jnp.asarray(x)) for x in values]
        for n in (n for kind in site.types for n in kind.shape if isinstance(n, Dim)):
            words.append(jnp.reshape(self[n.value], 1))
        if words:
            written = jnp.concatenate(words)
            written = jnp.concatenate([written, bits[len(written) :]])
            bits = jnp.where(first, written, bits)
        self.failure = Failure(code, bits)

    def unfailed(self) -> Any:
        """Return a traced bool, whether no error is set so far; None if the program cannot raise."""
        return None if self.failure is None else self.failure.code == 0


def error_at(site: Site, bits: np.ndarray) -> BaseException:
    """Return the exception of a site, with the message's values decoded from the bits that the program returned."""
    arrays = []
    words = list(bits)
    for kind in site.types:
        raw, words = np.array(words[: _size(kind)], np.int64), words[_size(kind) :]
        arrays.append(_from_bits(raw, kind.dtype).reshape(kind.bounds))
    values = []
    for x, kind in zip(arrays, site.types):
        part = tuple(slice(int(words.pop(0))) if isinstance(n, Dim) else slice(None) for n in kind.shape)
        values.append(x[part] if part else x[()])
    return exception_of(site.exception, site.text, values)


def fitted(x: Any, kind: ArrayType) -> Any:
    """Return a lowering's result converted to the dtype of its type."""
    x = jnp.asarray(x)
    return x if x.dtype == kind.dtype else lax.convert_element_type(x, kind.dtype)


def _trips(start: Any, stop: Any, step: Any) -> Any:
    """Return the number of iterations of a range, a constant if it is known."""
    if all(isinstance(x, np.ndarray) for x in (start, stop, step)):
        return np.int64(len(range(int(start), int(stop), int(step))))
    if isinstance(step, np.ndarray):
        away = int(step)
        if away == 1:
            return stop - start if int_or_none(start) != 0 else stop
        return (stop - start + (away - np.sign(away))) // away
    up, down = (stop - start + step - 1) // step, (stop - start + step + 1) // step
    return jnp.where(step > 0, up, down)


def int_or_none(x: Any) -> int | None:
    """Return a number that is known while the program is traced; None for a traced one."""
    return int(x) if isinstance(x, (np.ndarray, np.generic)) else None


def _is_count(start: Any, step: Any) -> bool:
    return int_or_none(start) == 0 and int_or_none(step) == 1


def _size(kind: ArrayType) -> int:
    return int(np.prod(kind.bounds, dtype=int)) * (2 if kind.dtype.kind == "c" else 1)


def _words(kind: ArrayType) -> int:
    return _size(kind) + sum(isinstance(n, Dim) for n in kind.shape)


def _bits(x: Any) -> Any:
    """Return the elements of an array as 64-bit words, without loss."""
    x = jnp.ravel(x)
    if x.dtype.kind == "c":
        return jnp.concatenate([_bits(x.real), _bits(x.imag)])
    if x.dtype.kind == "f":
        x = x.astype(np.float64)
    return lax.bitcast_convert_type(x, np.int64) if x.dtype.itemsize == 8 else x.astype(np.int64)


def _from_bits(words: np.ndarray, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "c":
        return np.stack(np.split(words.view(np.float64), 2), axis=-1).view(np.complex128)[:, 0].astype(dtype)
    if dtype.kind == "f":
        return words.view(np.float64).astype(dtype)
    return words.astype(dtype)
