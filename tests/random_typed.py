"""Random programs of typed IR with their arguments, on which passes and back ends are compared with ``evaluate``.

Numbers stay small, and conditions and indices are computed from integers, which are exact.  So rounding cannot change a
branch, and any order of floating-point operations gives the same results to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from morula.core.ir.builder import Builder
from morula.core.ir.dynamic import Function, Value, verify
from morula.core.ir.typed import BOOL, INT64, ArrayType, Dim

F8, F4, C16, I8, I4, B1 = map(np.dtype, ("f8", "f4", "c16", "i8", "i4", "?"))
DTYPES = (F8, F8, F8, I8, F4, C16, I4, B1)
SHAPES = ((), (), (3,), (4,), (3, 4), (2, 3), (1, 4))
SMALL = {"f": (np.sin, np.tanh, np.negative, np.abs, np.arctan, np.square), "c": (np.tanh, np.negative, np.conjugate)}
SMALL |= {"i": (np.negative, np.abs, np.sign, np.invert), "b": (np.logical_not,)}
BINARY = {"f": (np.add, np.subtract, np.multiply, np.maximum, np.minimum, np.arctan2, np.copysign)}
BINARY |= {"c": (np.add, np.subtract, np.multiply), "b": (np.logical_and, np.logical_or, np.logical_xor)}
BINARY |= {"i": (np.add, np.subtract, np.multiply, np.maximum, np.floor_divide, np.remainder, np.bitwise_xor, np.less)}


class Writer:
    """Writes one program; ``draw`` makes its choices, ``pool`` holds the values in scope."""

    def __init__(self, draw: Callable[..., Any], dynamic: bool) -> None:
        self.draw, self.dynamic = draw, dynamic
        self.builder = Builder()
        self.pool: list[Value] = []
        self.depth = 0

    def choice(self, options: Sequence[Any]) -> Any:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def some(self, wanted: Callable[[ArrayType], bool]) -> Value | None:
        """A value in scope; the later ones are likelier, so that programs are deep."""
        found = [v for v in self.pool if wanted(v.type)]
        found += found[-3:]
        return self.choice(found) if found else None

    def keep(self, value: Value) -> None:
        """Into the pool, at a size from which a few operations do not lead to infinity."""
        kind = value.type
        if kind.dtype.kind in "fc":
            half = self.builder.constant(0.5, kind.dtype)
            is_real = kind.dtype.kind == "f"
            value = self.builder.ufunc(np.tanh, value) if is_real else self.builder.ufunc(np.multiply, value, half)
        if not value.is_constant:
            self.pool.append(value)

    def index(self, n: int | Dim, low: int = 0) -> Value:
        """An integer from ``low`` to n - 1; known when the program runs, or when it is written."""
        builder, length = self.builder, self.builder.length(n)
        first, one = builder.constant(low, np.int64), builder.constant(1, np.int64)
        number = self.some(lambda t: t == INT64) if self.draw(st.booleans()) else None
        if number is None and not isinstance(n, Dim):
            return builder.constant(self.draw(st.integers(low, max(n - 1, low))), np.int64)
        span = builder.ufunc(np.maximum, builder.ufunc(np.subtract, length, first), one)
        return builder.ufunc(np.add, builder.ufunc(np.remainder, one if number is None else number, span), first)

    # ---- one step each

    def unary(self) -> None:
        x = self.some(lambda t: True)
        self.keep(self.builder.ufunc(self.choice(SMALL[x.type.dtype.kind]), x))

    def binary(self) -> None:
        x = self.some(lambda t: True)
        y = self.some(lambda t: t.dtype.kind == x.type.dtype.kind and t.shape in ((), x.type.shape))
        if y is not None:
            self.keep(self.builder.ufunc(self.choice(BINARY[x.type.dtype.kind]), x, y))

    def where(self) -> None:
        x = self.some(lambda t: True)
        y = self.some(lambda t: t.shape == x.type.shape)
        c = self.some(lambda t: t.dtype == B1 and t.shape in ((), x.type.shape))
        if c is not None:
            self.keep(self.builder.where(c, x, y))

    def cast(self) -> None:
        x = self.some(lambda t: t.dtype.kind in "bi")
        if x is not None:
            self.keep(self.builder.cast(x, self.choice((F8, I8, F4, C16))))

    def reduce(self) -> None:
        x = self.some(lambda t: t.ndim > 0)
        if x is None:
            return
        axis = self.choice(range(x.type.ndim))
        is_empty_possible = isinstance(x.type.shape[axis], Dim)
        extrema = () if is_empty_possible or x.type.dtype.kind == "c" else (np.min, np.max)
        function = self.choice((np.sum, *extrema, *((np.any, np.all) if x.type.dtype == B1 else ())))
        self.keep(self.builder.reduce(function, x, (axis,)))

    def accumulate(self) -> None:
        x = self.some(lambda t: t.ndim > 0 and t.dtype in (F8, I8))
        if x is not None:
            function = self.choice((np.cumsum, np.sort, np.maximum.accumulate))
            self.keep(self.builder.call(function, [x], [x.type], axis=self.choice(range(x.type.ndim)))[0])

    def shape(self) -> None:
        builder = self.builder
        x = self.some(lambda t: t.ndim > 0)
        if x is None:
            return
        kind = x.type
        moves = [
            lambda: builder.transpose(x, tuple(range(kind.ndim))[::-1]),
            lambda: builder.reshape(x, (*kind.shape, 1)),
            lambda: builder.broadcast_to(x, (2, *kind.shape)),
        ]
        if kind.is_static:
            moves.append(lambda: builder.reshape(x, (int(np.prod(kind.shape, dtype=int)),)))
        made = self.choice(moves)()
        if made.type.ndim < 4:
            self.keep(made)

    def matmul(self) -> None:
        x = self.some(lambda t: t.ndim == 1 and t.dtype in (F8, C16))
        y = self.some(lambda t: x is not None and t == x.type)
        if y is not None:
            self.keep(self.builder.matmul(x, y))
        a = self.some(lambda t: t.ndim == 2 and t.dtype == F8)
        if a is not None:
            self.keep(self.builder.matmul(a, self.builder.transpose(a, (1, 0))))

    def concatenate(self) -> None:
        x = self.some(lambda t: t.ndim > 0)
        if x is None:
            return
        kind = x.type
        y = self.some(lambda t: (t.dtype, t.ndim, t.shape[1:]) == (kind.dtype, kind.ndim, kind.shape[1:])) or x
        n, m = x.type.shape[0], y.type.shape[0]
        length: Any = n + m if not isinstance(n, Dim) and not isinstance(m, Dim) else None
        if length is None:
            total = self.builder.ufunc(np.add, self.builder.length(n), self.builder.length(m))
            length = Dim(total, sum(d.bound if isinstance(d, Dim) else d for d in (n, m)))
        if (length.bound if isinstance(length, Dim) else length) < 20:
            self.keep(self.builder.concatenate([x, y], 0, length))

    def part(self, kind: ArrayType) -> tuple[list[Value], tuple[Any, ...], list[Any]]:
        """An index, its spec and the lengths of its slices."""
        builder, index, spec, lengths = self.builder, [], [], []
        for n in kind.shape:
            entry = self.choice(("i", ":", "s", "s", "a") if "a" not in spec else ("i", ":", "s"))
            if isinstance(n, Dim) and entry != ":":
                entry = ":"  # it may be empty
            if entry == "i":
                index.append(self.index(n))
            elif entry == "a":
                places = builder.constant([self.draw(st.integers(0, n - 1)) for _ in range(2)], np.int64)
                index.append(places)
            elif entry == "s":
                step = self.choice((1, 1, -1, 2, -2))
                most = (n - 1) // abs(step) + 1
                if self.dynamic and self.draw(st.booleans()):
                    length: Any = Dim(self.index(most + 1), most)
                    start = builder.constant(0 if step > 0 else n - 1, np.int64)
                    if step == 1 and self.draw(st.booleans()):
                        start = builder.ufunc(np.subtract, builder.constant(n, np.int64), length.value)
                    elif step == -1 and self.draw(st.booleans()):
                        one = builder.constant(1, np.int64)
                        last = builder.ufunc(np.subtract, length.value, one)
                        start = builder.ufunc(np.maximum, last, builder.constant(0, np.int64))
                else:
                    length = self.draw(st.integers(1, most))
                    span = (length - 1) * abs(step)
                    start = self.index(n - span)
                    if step < 0:
                        start = builder.ufunc(np.add, start, builder.constant(span, np.int64))
                index.append(start)
                entry = ("s", step)
                lengths.append(length)
            spec.append(entry)
        return index, tuple(spec), lengths

    def getitem(self) -> None:
        x = self.some(lambda t: t.ndim > 0)
        if x is not None:
            index, spec, lengths = self.part(x.type)
            self.keep(self.builder.getitem(x, index, spec, lengths))

    def setitem(self) -> None:
        x = self.some(lambda t: t.ndim > 0)
        if x is None:
            return
        index, spec, lengths = self.part(x.type)
        old = self.builder.getitem(x, index, spec, lengths)
        v = self.some(lambda t: t.dtype == x.type.dtype and t.shape in ((), old.type.shape)) or old
        v = self.builder.broadcast_to(v, old.type.shape)
        write = self.builder.add_at if self.draw(st.booleans()) else self.builder.setitem
        if "a" in spec and write == self.builder.setitem:
            return  # which of two writes to one place is the last one need not be so in parallel
        self.keep(write(x, index, v, spec))

    def write_elements(self) -> None:
        """Several writes to one array, read in between."""
        x = self.some(lambda t: t.ndim == 1 and t.is_static and t.dtype == F8)
        if x is None:
            return
        builder = self.builder
        for _ in range(self.draw(st.integers(1, 3))):
            read = builder.getitem(x, [self.index(x.type.shape[0])], ("i",), [])
            x = builder.setitem(x, [self.index(x.type.shape[0])], builder.ufunc(np.sin, read), ("i",))
        self.pool.append(x)

    # ---- control flow

    def block(self, carried: Sequence[Value], types: Sequence[ArrayType]) -> list[Value]:
        """Some steps with these values in scope, and values of these types, which were in scope outside."""
        outer, self.pool = self.pool, [*self.pool, *carried]
        self.depth += 1
        self.steps(self.draw(st.integers(1, 4)))
        results = [self.some(lambda t: t == kind) for kind in types]
        self.depth -= 1
        self.pool = outer
        return results

    def carried(self) -> list[Value]:
        return [self.some(lambda t: True) for _ in range(self.draw(st.integers(1, 3)))]

    def if_(self) -> None:
        condition = self.some(lambda t: t == BOOL)
        if condition is None:
            number = self.some(lambda t: t == INT64)
            if number is None:
                return
            condition = self.builder.ufunc(np.greater, number, self.builder.constant(1, np.int64))
        types = [v.type for v in self.carried()]
        self.pool += self.builder.if_(condition, lambda: self.block([], types), lambda: self.block([], types))

    def range_(self) -> None:
        builder, initial = self.builder, self.carried()
        types = [v.type for v in initial]
        step = self.choice((1, 1, 2, -1))
        ends = [builder.constant(0, np.int64), self.index(4)]
        start, stop = ends if step > 0 else ends[::-1]
        body = lambda i, *carried: self.block([i, *carried], types)  # noqa: E731
        self.pool += builder.range_(start, stop, builder.constant(step, np.int64), body, initial)

    def while_(self) -> None:
        builder, initial = self.builder, self.carried()
        types = [v.type for v in initial]
        one, limit = builder.constant(1, np.int64), self.index(4)

        def condition(n: Value, *carried: Value) -> Value:
            return builder.ufunc(np.less, n, limit)

        def body(n: Value, *carried: Value) -> list[Value]:
            return [builder.ufunc(np.add, n, one), *self.block([n, *carried], types)]

        start = Value(type=INT64, constant=np.int64(0))
        self.pool += builder.while_(condition, body, [start, *initial])[1:]

    def steps(self, n: int) -> None:
        simple = [self.unary, self.binary, self.binary, self.where, self.cast, self.reduce, self.accumulate, self.shape]
        simple += [
            self.matmul,
            self.concatenate,
            self.getitem,
            self.getitem,
            self.setitem,
            self.setitem,
            self.write_elements,
        ]
        nested = [self.if_, self.range_, self.while_] if self.depth < 2 else []
        for _ in range(n):
            self.choice([*simple, *nested, *nested])()


@st.composite
def programs(draw: Callable[..., Any], dynamic: bool = False) -> tuple[Function, list[Any]]:
    """A verified function and arguments for it; ``dynamic``: some of its arrays have lengths known only at run time."""
    writer = Writer(draw, dynamic)
    types = [INT64, ArrayType(F8, (4,))]
    types += [ArrayType(writer.choice(DTYPES), writer.choice(SHAPES)) for _ in range(draw(st.integers(1, 4)))]
    parameters = [Value(f"x{i}", t) for i, t in enumerate(types)]
    with writer.builder.block() as block:
        writer.pool += parameters
        writer.steps(draw(st.integers(2, 10)))
        block.results = writer.pool[-4:]
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    arguments = []
    for t in types:
        x = rng.normal(size=t.shape)
        if t.dtype.kind == "c":
            x = x + 1j * rng.normal(size=t.shape)
        x = x * 3 if t.dtype.kind == "i" else x > 0 if t.dtype.kind == "b" else x
        arguments.append(np.asarray(x).astype(t.dtype) if t.shape else t.dtype.type(x))
    return verify(Function("program", parameters, block)), arguments
