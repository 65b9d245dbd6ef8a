"""Writes typed IR: one method per kind of operation, which infers the result's type and inserts casts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..errors import BadInput
from . import typed
from .affine import limits
from .dynamic import Block, Operation, Value
from .folding import is_folded, is_small
from .integer_bounds import Bounds
from .promotion import asked_of, loop_of, result_dtype
from .typed import BOOL, INT, INT64, PYTHON_BOOL, STACK, ArrayType, Dim, Spec, part_dimensions

_COMPARISONS = frozenset((np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal))
Shape = tuple[int | Dim, ...]


class Builder:
    """Appends operations to the open block; ``line`` is the user's line that they come from.

    Calls of small constants are folded.  Integer arithmetic is deduplicated: a result that equals a value in scope is that
    value.  ``integers`` holds the affine forms and bounds of the integers so far.
    ``check(condition, exception, text, values)`` may handle a run-time check itself; it then returns True.
    ``watch(callee, operands, results)``, if any, is told each call, also one that is folded.
    ``is_differentiated`` tells rules that the operations they write will be differentiated, and ``least_level`` how often at least the
    functions will be that are traced for them.  ``fixed`` holds the values that are computed from constants alone, and by which
    operation; ``parts`` what vectors were joined from, or the number that fills them.
    """

    def __init__(self, is_differentiated: bool = False) -> None:
        self.line = 0
        self.is_differentiated = is_differentiated
        self.least_level = 0
        self.integers = Bounds()
        self.open: list[tuple[list[Operation], int]] = [([], 0)]
        self.made: dict[Any, tuple[Value, list[Operation]]] = {}
        self.fixed: dict[Value, Any] = {}
        self.parts: dict[Value, Sequence[Value]] = {}
        self.check: Callable[..., bool] = lambda *check: False
        self.watch: Any = None

    @property
    def out(self) -> list[Operation]:
        """The operations of the open block.  Setting a new list opens a block; setting an open one closes those within."""
        return self.open[-1][0]

    @out.setter
    def out(self, operations: list[Operation]) -> None:
        for depth, (opened, _) in enumerate(self.open):
            if opened is operations:
                if depth + 1 < len(self.open):
                    self.integers.undo(self.open[depth + 1][1])
                    del self.open[depth + 1 :]
                return
        self.open.append((operations, len(self.integers.trail)))

    def once(self, key: Any, make: Callable[[], Value]) -> Value:
        """Return the value made before for this key if it is in scope, else a new one; for operations without effects."""
        value, where = self.made.get(key, (None, None))
        if value is None or not any(where is opened for opened, _ in self.open):
            value = make()
            self.made[key] = value, self.out
        return value

    # Blocks

    @contextmanager
    def block(self, parameters: Sequence[Value] = ()) -> Iterator[Block]:
        """Open a block; the caller sets its results before it closes."""
        made = Block(list(parameters))
        with self.writing(made.operations):
            yield made

    @contextmanager
    def writing(self, operations: list[Operation]) -> Iterator[None]:
        """Append to these operations, e.g. those of a closed block."""
        outer, self.out = self.out, operations
        try:
            yield
        finally:
            self.out = outer

    def operation(
        self,
        kind: str,
        callee: Any,
        operands: Sequence[Value],
        types: Sequence[Any],
        names: Sequence[str] = (),
        **more: Any,
    ) -> list[Value]:
        """Append an operation and return its results, one per type; ``more`` holds constants and its fields."""
        results = [Value(n, t) for n, t in zip([*names, *[""] * len(types)], types)]
        constants = {k: more.pop(k) for k in list(more) if k not in ("blocks", "may_raise")}
        values = [*operands, *(Value(constant=_now(c)) for c in constants.values())]
        made = Operation(kind, callee, values, tuple(constants), results=results, line=self.line, **more)
        made.may_raise = made.may_raise or getattr(callee, "effect", False)
        self.append(made)
        return results

    def makers(self) -> dict[Value, Operation]:
        """Return the operations of the open blocks, by their results."""
        return {r: op for operations, _ in self.open for op in operations for r in op.results}

    def append(self, operation: Operation) -> None:
        self.out.append(operation)
        self.integers.define(operation)
        if operation.kind == "call" and not operation.may_raise and all(map(self._is_fixed, operation.operands)):
            types = [r.type for r in operation.results if isinstance(r.type, ArrayType)]
            lengths = [n.value for t in types for n in t.shape if isinstance(n, Dim)]
            if len(types) == len(operation.results) and all(map(self._is_fixed, lengths)):
                self.fixed.update(dict.fromkeys(operation.results, operation))

    def _is_fixed(self, value: Value) -> bool:
        return value.is_constant or value in self.fixed

    def call(self, callee: Any, operands: Sequence[Value], types: Sequence[Any], **constants: Any) -> list[Value]:
        """Append a call with results of the given types; constants are passed by keyword."""
        results = self.called(callee, operands, types, constants)
        if self.watch is not None:
            self.watch(callee, operands, results)
        return results

    def called(
        self, callee: Any, operands: Sequence[Value], types: Sequence[Any], constants: dict[str, Any]
    ) -> list[Value]:
        if is_folded(callee, operands, types):
            kind = types[0]
            body = callee.body if isinstance(callee, typed.Primitive) else None
            with np.errstate(all="ignore"):
                values = [v.constant for v in operands]
                found = callee(*values, **constants) if body is None else body(kind.shape, *values, **constants)
            found = np.array(found, kind.dtype)
            return [Value(type=kind, constant=found if found.ndim else found[()])]
        return self.operation("call", callee, operands, types, **constants)

    def if_(
        self, condition: Value, then: Callable[[], Sequence[Value]], other: Callable[[], Sequence[Value]]
    ) -> list[Value]:
        """Append an ``if``: each function writes a block and returns its results, of the same types in the same order."""
        blocks = []
        for branch, holds in ((then, True), (other, False)):
            with self.block() as block:
                self.integers.assume(condition, holds)
                block.results = list(branch())
            blocks.append(block)
        return self.operation("if", None, [condition], [v.type for v in blocks[0].results], blocks=blocks)

    def while_(
        self,
        condition: Callable[..., Value],
        body: Callable[..., Sequence[Value]],
        initial: Sequence[Value],
    ) -> list[Value]:
        """Append a ``while``: both functions take the carried values; the body returns the new ones, of the same types."""
        with self.block([Value(v.name, v.type) for v in initial]) as test:
            test.results = [condition(*test.parameters)]
        with self.block([Value(v.name, v.type) for v in initial]) as loop:
            loop.results = list(body(*loop.parameters))
        return self.operation("while", None, initial, [v.type for v in initial], blocks=[test, loop])

    def range_(
        self, start: Value, stop: Value, step: Value, body: Callable[..., Sequence[Value]], initial: Sequence[Value]
    ) -> list[Value]:
        """Append a ``range``: the body takes the index and the carried values and returns new ones of the same types."""
        with self.block([Value("i", INT64), *(Value(v.name, v.type) for v in initial)]) as loop:
            self.integers.index(loop.parameters[0], start, stop, step)
            loop.results = list(body(*loop.parameters))
        operands = [start, stop, step, *initial]
        return self.operation("range", None, operands, [v.type for v in initial], blocks=[loop])

    # Values

    def constant(self, x: Any, dtype: Any = None) -> Value:
        """Return a constant; a Python number is weak unless a dtype is given."""
        if dtype is None and type(x) in (bool, int, float, complex):
            dtype = np.dtype(type(x) if type(x) is not int else np.int64)
            return Value(type=ArrayType(dtype, (), True), constant=dtype.type(x))
        array = np.asarray(x, dtype)
        return Value(
            type=ArrayType(array.dtype, array.shape), constant=array if array.ndim else array.dtype.type(array[()])
        )

    def length(self, n: int | Dim) -> Value:
        """Return the length of a dimension as an int64."""
        return n.value if isinstance(n, Dim) else self.constant(n, np.int64)

    def cast(self, x: Value, dtype: Any) -> Value:
        """Return x converted to this dtype, not weak; x itself if it already is."""
        dtype = np.dtype(dtype)
        if x.type.dtype == dtype and not x.type.weak:
            return x
        if dtype.kind not in "biufc":
            raise BadInput(
                f"compiled code has no arrays of dtype {dtype}; use bools, integers, float32, float64, complex64 or complex128"
            )
        if x.type.weak and x.type.dtype.kind == "i" and dtype.kind in "iu" and dtype != np.int64:
            self.fits(x, dtype)
        if x.is_constant:
            return self.constant(typed.cast.body((), x.constant, dtype=dtype))
        kind = ArrayType(dtype)
        if x.type.dtype.kind in "iu" and dtype.kind in "iu" and not x.type.shape:
            atom = self.integers.only_atom(x, kind)
            return atom or self.once((kind, x), lambda: self.call(typed.cast, [x], [kind], dtype=dtype)[0])
        if x.type.dtype == dtype:
            return self.call(typed.cast, [x], [kind], dtype=dtype)[0]
        return self.call(typed.cast, [x], [ArrayType(dtype, x.type.shape)], dtype=dtype)[0]

    def fits(self, x: Value, dtype: np.dtype) -> None:
        """Raise OverflowError, now or at run time, if a Python int is out of the range of a dtype."""
        if self.is_within(x, dtype):
            return
        text = f"Python integer {{}} out of bounds for {dtype}"
        if x.is_constant:
            raise OverflowError(text.format(x.constant))
        least, greatest = limits(ArrayType(dtype))
        low, high = self.integers.interval(x)
        parts = [
            self.ufunc(compare, x, self.constant(bound))
            for compare, bound, inside in ((np.less, least, low >= least), (np.greater, greatest, high <= greatest))
            if not inside
        ]
        self.raise_if(parts[0] if len(parts) == 1 else self.ufunc(np.logical_or, *parts), OverflowError, text, x)

    def is_within(self, x: Value, dtype: np.dtype) -> bool:
        """Return whether an int is proved to be in the range of a dtype."""
        (least, greatest), (low, high) = limits(ArrayType(dtype)), self.integers.interval(x)
        return low >= least and high <= greatest

    def python_int(self, x: Value) -> Value:
        """Return an int64 as a Python int."""
        if x.is_constant or x.type.weak:
            return self.constant(int(x.constant)) if x.is_constant else x
        atom = self.integers.only_atom(x, INT)
        return atom or self.once((INT, x), lambda: self.call(typed.cast, [x], [INT], dtype=np.dtype(np.int64))[0])

    def python_bool(self, x: Value) -> Value:
        """Return a bool as a Python bool."""
        if x.is_constant or x.type.weak:
            return self.constant(bool(x.constant)) if x.is_constant else x
        return self.once((PYTHON_BOOL, x), lambda: self.call(typed.cast, [x], [PYTHON_BOOL], dtype=BOOL.dtype)[0])

    # Element by element

    def ufunc(self, function: np.ufunc, *operands: Value) -> Any:
        """Append a ufunc, with NumPy's promotion; return its result, or a list of several results."""
        operands_ = [typed_ if typed_.type is not None else self.constant(typed_.constant) for typed_ in operands]
        dtypes, results = loop_of(function, tuple(asked_of(v.type) for v in operands_))
        weak = all(v.type.weak for v in operands_)
        shape = self.broadcast_shape([v.type.shape for v in operands_])
        if function in _COMPARISONS and dtypes[0].kind in "iu" and dtypes[0] not in (np.int64, np.uint64):
            # A Python int out of the range of the other dtype is compared by its value.
            if any(_is_python_int(v) and not self.is_within(v, dtypes[0]) for v in operands_):
                dtypes = (np.dtype(np.int64),) * 2
        values = [v if v.type.dtype == d else self.cast(v, d) for v, d in zip(operands_, dtypes)]
        types = [ArrayType(d, shape, weak) for d in results]
        if all(map(is_small, values)):
            with np.errstate(all="ignore"):
                found = function(*(v.constant for v in values))
            folded = [Value(type=t, constant=f) for t, f in zip(types, found if function.nout > 1 else [found])]
            if self.watch is not None:
                self.watch(function, values, folded)
            return folded if function.nout > 1 else folded[0]
        if function.nout == 1 and not shape and all(d.kind in "iub" for d in dtypes):
            return self._integer(function, values, types[0])
        made = self.call(function, values, types)
        return made if function.nout > 1 else made[0]

    def _integer(self, function: np.ufunc, operands: Sequence[Value], kind: ArrayType) -> Value:
        if function in (np.equal, np.not_equal) and all(v.type.dtype.kind == "b" for v in operands):
            a, b = operands if operands[1].is_constant else operands[::-1]
            if b.is_constant and a.type == kind:
                return a if bool(b.constant) is (function is np.equal) else self.ufunc(np.logical_not, a)
        form = self.integers.result_of(function, operands, kind)
        if form is not None and not form.terms:
            return Value(type=kind, constant=kind.dtype.type(form.constant))
        if form is not None and form.constant == 0 and len(form.terms) == 1:
            ((atom, k),) = form.terms
            if k == 1 and atom.type == kind:
                return atom
        key = (kind, form) if form is not None else (kind, function, *map(_identity, operands))
        return self.once(key, lambda: self.call(function, operands, [kind])[0])

    def where(self, condition: Value, x: Value, y: Value) -> Value:
        """Append ``np.where``: x where the condition holds, else y, in their common dtype."""
        dtype = result_dtype(x.type, y.type)
        shape = self.broadcast_shape([v.type.shape for v in (condition, x, y)])
        weak = x.type.weak and y.type.weak and not shape
        values = [condition, *(v if v.type.dtype == dtype else self.cast(v, dtype) for v in (x, y))]
        kind = ArrayType(dtype, shape, weak)
        if shape or dtype.kind not in "iub":
            return self.call(np.where, values, [kind])[0]
        return self.once((kind, np.where, *map(_identity, values)), lambda: self.call(np.where, values, [kind])[0])

    def complex_of(self, real: Value, imaginary: Value, weak: bool = False) -> Value:
        """Append ``complex_of``: the complex numbers of these real parts, of a Python complex if ``weak``."""
        parts = [v.type.dtype if v.type.dtype.kind == "f" else np.dtype(np.float64) for v in (real, imaginary)]
        dtype = np.result_type(*parts)
        values = [self.cast(v, dtype) for v in (real, imaginary)]
        kind = ArrayType(
            np.result_type(dtype, np.complex64), self.broadcast_shape([v.type.shape for v in values]), weak
        )
        if all(v.is_constant for v in values):
            return Value(type=kind, constant=typed.complex_of.body(kind.shape, *(v.constant for v in values)))
        return self.call(typed.complex_of, values, [kind])[0]

    def broadcast_shape(self, shapes: Sequence[Shape]) -> Shape:
        """Return the broadcast shape.  Lengths known only at run time are checked at run time to agree with the others.

        Raises:
            BadInput: lengths differ and neither is 1.
        """
        if shapes and all(shape == shapes[0] for shape in shapes):
            return tuple(shapes[0])
        ndim = max(map(len, shapes), default=0)
        found: list[int | Dim] = []
        for position in range(-ndim, 0):
            n: int | Dim = 1
            for shape in shapes:
                if len(shape) < -position or shape[position] == n or _is_one(shape[position]):
                    continue
                m = shape[position]
                if _is_one(n):
                    n = m
                elif isinstance(n, Dim) or isinstance(m, Dim):
                    self.same_length(n, m)
                    n = m if isinstance(n, Dim) else n
                else:
                    written = " ".join(map(text_of_shape, shapes))
                    text = f"operands could not be broadcast together with shapes {written}"
                    raise BadInput(text, in_python=ValueError(text + " "))
            found.append(n)
        return tuple(found)

    def same_length(self, n: int | Dim, m: int | Dim) -> None:
        """Raise ValueError at run time if two lengths differ."""
        values = [self.length(n), self.length(m)]
        differ = self.ufunc(np.not_equal, *values)
        text = "operands could not be broadcast together: lengths {} and {}"
        self.raise_if(differ, ValueError, text, *values)

    # Arrays

    def full(self, shape: Shape, x: Value) -> Value:
        """Return an array whose elements are all the number x."""
        made = self.call(typed.full, [x], [ArrayType(x.type.dtype, tuple(shape))])[0]
        if len(shape) == 1:
            self.parts[made] = [x]
        return made

    def zeros(self, shape: Shape, dtype: Any) -> Value:
        return self.full(shape, self.constant(0, dtype)) if shape else self.constant(0, dtype)

    def broadcast_to(self, x: Value, shape: Shape) -> Value:
        if x.type.shape == tuple(shape):
            return x
        if not x.type.shape:
            return self.full(shape, x)
        return self.call(typed.broadcast_to, [x], [ArrayType(x.type.dtype, tuple(shape))])[0]

    def reshape(self, x: Value, shape: Shape) -> Value:
        if x.type.shape == tuple(shape):
            return x
        return self.call(typed.reshape, [x], [ArrayType(x.type.dtype, tuple(shape))])[0]

    def transpose(self, x: Value, axes: Sequence[int]) -> Value:
        if list(axes) == list(range(x.type.ndim)):
            return x
        kind = ArrayType(x.type.dtype, tuple(x.type.shape[i] for i in axes))
        return self.call(typed.transpose, [x], [kind], axes=tuple(axes))[0]

    def iota(self, n: int | Dim) -> Value:
        return self.call(typed.iota, [], [ArrayType(np.dtype(np.int64), (n,))])[0]

    def reduce(self, function: Callable[..., Any], x: Value, axes: Sequence[int], dtype: Any = None) -> Value:
        """Append ``np.sum prod max min any all`` over non-negative axes; ``dtype``: of a sum or product."""
        natural = np.dtype(bool) if function in (np.any, np.all) else x.type.dtype
        if function in (np.sum, np.prod):
            natural = np.dtype(dtype) if dtype is not None else function(np.zeros(0, x.type.dtype)).dtype
            x = x if x.type.dtype == natural else self.cast(x, natural)
        shape = tuple(n for i, n in enumerate(x.type.shape) if i not in axes)
        if not axes and natural == x.type.dtype:
            return x
        return self.call(function, [x], [ArrayType(natural, shape)], axis=tuple(axes))[0]

    def matmul(self, a: Value, b: Value) -> Value:
        """Append ``np.matmul`` of vectors, or of stacks of matrices with equal batch dimensions, of one dtype."""
        shape = () if a.type.ndim == 1 else (*a.type.shape[:-1], b.type.shape[-1])
        return self.call(np.matmul, [a, b], [ArrayType(a.type.dtype, shape)])[0]

    def concatenate(self, parts: Sequence[Value], axis: int, length: int | Dim) -> Value:
        """Join parts of one dtype along a non-negative axis; ``length`` is the sum of their lengths along it."""
        shape = list(parts[0].type.shape)
        shape[axis] = length
        made = self.call(typed.concatenate, parts, [ArrayType(parts[0].type.dtype, tuple(shape))], axis=axis)[0]
        if len(shape) == 1 and all(v.type.is_static for v in parts):
            self.parts[made] = parts
        return made

    # Parts of arrays (``typed.Spec``)

    def getitem(self, x: Value, index: Sequence[Value], spec: Spec, lengths: Sequence[int | Dim]) -> Value:
        """Return the indexed part of x; ``lengths`` are the slices', in order, without whole dimensions (``":"``)."""
        if spec == ("i",) and index[0].is_constant and x in self.parts:
            return self._element(x, int(index[0].constant))
        shape = part_shape(x.type.shape, [v.type.shape for v in index], spec, lengths)
        return self.call(typed.getitem, [x, *index], [ArrayType(x.type.dtype, shape)], spec=spec)[0]

    def _element(self, x: Value, at: int) -> Value:
        """Return an element of a vector whose parts are known: later, the number is seen to be that which was put in."""
        for part in self.parts[x]:
            if not part.type.shape:
                return part if part.type == ArrayType(x.type.dtype) else self.cast(part, x.type.dtype)
            n = part.type.bounds[0]
            if at < n:
                return self.getitem(part, [self.constant(at)], ("i",), [])
            at -= n
        raise IndexError(at)

    def setitem(self, x: Value, index: Sequence[Value], v: Value, spec: Spec) -> Value:
        """Return x with the part replaced by v, which has the part's shape and the dtype of x."""
        return self.call(typed.setitem, [x, *index, v], [x.type], spec=spec)[0]

    def add_at(self, x: Value, index: Sequence[Value], v: Value, spec: Spec) -> Value:
        """Return x with v added to the part."""
        return self.call(typed.add_at, [x, *index, v], [x.type], spec=spec)[0]

    # Stacks and effects

    def push(self, stack: Value, values: Sequence[Value]) -> Value:
        return self.call(typed.stack_push, [stack, *values], [STACK])[0]

    def pop(self, stack: Value, types: Sequence[Any]) -> list[Value]:
        """Return the values pushed last, in the order of the pushes, and then the remaining stack."""
        return self.call(typed.stack_pop, [stack], [*types, STACK], n=len(types))

    def raise_if(self, condition: Value, exception: type[BaseException], text: str, *values: Value) -> None:
        """Raise at run time, as Python would, where the condition holds; braces in the text stand for values."""
        if condition.type.dtype != BOOL.dtype:
            condition = self.ufunc(np.not_equal, condition, self.constant(0, condition.type.dtype))
        if self.integers.truth(condition) is not False and not self.check(condition, exception, text, values):
            self.end_if(condition, exception, text, *values)

    def end_if(self, condition: Value, exception: type[BaseException], text: str, *values: Value) -> None:
        """End the program with an exception that no handler catches: compiled code cannot continue as Python would."""
        if self.integers.truth(condition) is False:
            return
        self.call(typed.raise_if, [condition, *values], [], exception=exception, text=text)
        self.integers.assume(condition, False)


def _now(constant: Any) -> Any:
    """Return a copy of the lists in a constant: the traced program may change them afterwards."""
    if type(constant) is list:
        return [_now(c) for c in constant]
    return tuple(map(_now, constant)) if type(constant) is tuple else constant


def part_shape(shape: Shape, index_shapes: Sequence[Shape], spec: Spec, lengths: Sequence[int | Dim]) -> Shape:
    """Return the shape of the part of an array that a spec selects."""
    arrays = [s for e, s in zip([e for e in spec if e != ":"], index_shapes) if e == "a"]
    advanced: Shape = ()
    for s in arrays:
        longer, shorter = sorted((advanced, s), key=len, reverse=True)
        shorter = (*[1] * (len(longer) - len(shorter)), *shorter)
        advanced = tuple(m if _is_one(n) else n for n, m in zip(longer, shorter))
    places = part_dimensions(spec, len(advanced))
    left, part = list(lengths), {}
    for i, entry in enumerate(spec):
        if entry == ":":
            part[places[i]] = shape[i]
        elif isinstance(entry, tuple):
            part[places[i]] = left.pop(0)
    rest = list(advanced)
    return tuple(part[i] if i in part else rest.pop(0) for i in range(len(part) + len(advanced)))


def _is_python_int(x: Value) -> bool:
    return x.type.weak and x.type.dtype.kind == "i"


def _identity(x: Value) -> Any:
    return (x.type, x.constant.item()) if x.is_constant else x


def _is_one(n: int | Dim) -> bool:
    return not isinstance(n, Dim) and n == 1


def text_of_shape(shape: Shape) -> str:
    """Return a shape as NumPy's messages write it."""
    inner = ",".join(map(str, shape))
    return f"({inner},)" if len(shape) == 1 else f"({inner})"
