"""Views: arrays that look into another's memory through indices, slices, a permutation of axes, or a reshape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...ir.builder import Builder, Shape
from ...ir.dynamic import Value
from ...ir.typed import ArrayType, Dim
from ..traced import Array, View

# What a view takes of each dimension: all of it (":"), one element ("i", index), or a slice ("s", start, step, length).
# Index and start are int64 and within the dimension.
Entry = Any


class Part(View):
    """The part selected by ``entries``, with its dimensions in the order ``dims``; None is a new dimension of length 1.

    ``outer`` is the view from which the part is taken; None is the memory itself.
    """

    __slots__ = ("builder", "dims", "entries", "outer", "shape")

    def __init__(
        self,
        builder: Builder,
        outer: View | None,
        shape: Shape,
        entries: Sequence[Entry],
        dims: Sequence[int | None],
    ) -> None:
        self.builder = builder
        self.outer = outer
        self.shape = tuple(shape)
        self.entries = tuple(entries)
        self.dims = tuple(dims)
        super().__init__(self._read, self._write)

    @property
    def is_read_only(self) -> bool:  # type: ignore[override]
        return self.outer is not None and self.outer.is_read_only

    @property
    def part_shape(self) -> Shape:
        return tuple(1 if d is None else self._length(d) for d in self.dims)

    def _length(self, d: int) -> int | Dim:
        return self.shape[d] if self.entries[d] == ":" else self.entries[d][3]

    @property
    def spec(self) -> tuple[Any, ...]:
        return tuple(e if e == ":" else "i" if e[0] == "i" else ("s", e[2]) for e in self.entries)

    @property
    def index(self) -> list[Value]:
        return [e[1] for e in self.entries if e != ":"]

    @property
    def key(self) -> Any:
        """A key that is equal for views of the same elements of the same memory."""
        outer = self.outer.key if isinstance(self.outer, Part) else self.outer
        return outer, self.spec, self.dims, tuple(map(identity, self.index)), tuple(map(dim_key, self.part_shape))

    def _order(self) -> list[int]:
        """Return the permutation from the remaining dimensions in their own order to the part's."""
        kept = [d for d, e in enumerate(self.entries) if e == ":" or e[0] == "s"]
        return [kept.index(d) for d in self.dims if d is not None]

    def _read(self, base: Value) -> Value:
        x = self.outer.read(base) if self.outer is not None else base
        return self.builder.once(("part", x, self.key), lambda: self._take(x))

    def _take(self, x: Value) -> Value:
        if any(e != ":" for e in self.entries):
            lengths = [e[3] for e in self.entries if e != ":" and e[0] == "s"]
            x = self.builder.getitem(x, self.index, self.spec, lengths)
        x = self.builder.transpose(x, self._order())
        if None in self.dims:
            x = self.builder.reshape(x if x.type.shape else self.builder.full((1,), x), self.part_shape)
        return x

    def _write(self, base: Value, v: Value) -> Value:
        if None in self.dims:
            shape = tuple(n for n, d in zip(self.part_shape, self.dims) if d is not None)
            v = self.builder.reshape(v, shape) if shape else _only(self.builder, v)
        order = self._order()
        v = self.builder.transpose(v, [order.index(i) for i in range(len(order))])
        if any(e != ":" for e in self.entries):
            x = self.outer.read(base) if self.outer is not None else base
            v = self.builder.setitem(x, self.index, v, self.spec)
        return self.outer.write(base, v) if self.outer is not None else v

    def taken(self, entries: Sequence[Entry], dims: Sequence[int | None]) -> Part:
        """Return a part of this part; ``entries`` and ``dims`` refer to this part's dimensions."""
        found, places = list(self.entries), {}
        for position, entry in enumerate(entries):
            d = self.dims[position]
            places[position] = d
            if d is not None and entry != ":":
                found[d] = self._composed(d, entry)
        return Part(self.builder, self.outer, self.shape, found, [None if p is None else places[p] for p in dims])

    def after_run(self, number: Callable[[Value], Callable[[Any], int]]) -> Callable[[Any, Any], Any]:
        look = _after_run(self.outer, number)
        ranges = [_range(e, number) for e in self.entries]
        order = self._order()
        new = (*(None if d is None else slice(None) for d in self.dims), ...)

        def take(memory: Any, numbers: Any) -> Any:
            part = look(memory, numbers)[(*[at(numbers) for at in ranges], ...)]
            return part.transpose(order)[new]

        return take

    def _composed(self, d: int, entry: Entry) -> Entry:
        inner = self.entries[d]
        if inner == ":":
            return entry
        at = place(self.builder, inner[1], entry[1], inner[2])
        if entry[0] == "i":
            return "i", at
        is_whole = at.is_constant and int(at.constant) == 0 and inner[2] * entry[2] == 1 and entry[3] == self.shape[d]
        return ":" if is_whole else ("s", at, inner[2] * entry[2], entry[3])


class Strided(View):
    """The whole of an argument that is not in C order; the strides of ``given`` decide what is a view of it."""

    __slots__ = ("given",)

    def __init__(self, given: np.ndarray) -> None:
        super().__init__(lambda base: base, lambda base, v: v)
        self.given = given

    def after_run(self, number: Callable[[Value], Callable[[Any], int]]) -> Callable[[Any, Any], Any]:
        return lambda memory, numbers: memory[...]


class Derived(View):
    """A view through two functions: ``there`` reads it from the elements below, ``back`` writes it to them.

    ``in_numpy`` makes the view in NumPy from an array and the lengths ``shape``.  ``is_reshape``: it has all elements
    in the same order, in the shape ``bounds``.
    """

    __slots__ = ("bounds", "in_numpy", "is_read_only", "is_reshape", "outer", "shape")

    def __init__(
        self,
        outer: View | None,
        there: Callable[[Value], Value],
        back: Callable[[Value, Value], Value],
        in_numpy: Callable[[Any, tuple[int, ...]], Any],
        kind: ArrayType,
        is_reshape: bool = False,
        is_read_only: bool = False,
    ) -> None:
        self.outer = outer
        self.is_read_only = is_read_only or outer is not None and outer.is_read_only
        self.in_numpy = in_numpy
        self.shape = kind.shape
        self.bounds = kind.bounds
        self.is_reshape = is_reshape

        def read(base: Value) -> Value:
            return there(outer.read(base) if outer is not None else base)

        def write(base: Value, v: Value) -> Value:
            if outer is None:
                return back(base, v)
            x = base if is_reshape else outer.read(base)  # a reshape replaces all elements, so it needs no old ones
            return outer.write(base, back(x, v))

        super().__init__(read, write)

    def after_run(self, number: Callable[[Value], Callable[[Any], int]]) -> Callable[[Any, Any], Any]:
        look, in_numpy = _after_run(self.outer, number), self.in_numpy
        if all(isinstance(n, int) for n in self.shape):
            shape: Any = self.shape
            return lambda memory, numbers: in_numpy(look(memory, numbers), shape)
        lengths = [number(n.value) if isinstance(n, Dim) else lambda numbers, n=n: n for n in self.shape]
        return lambda memory, numbers: in_numpy(look(memory, numbers), tuple(n(numbers) for n in lengths))


def in_numpy(view: View) -> tuple[list[Value], Callable[[Any, Any], Any]]:
    """Return a view's indices and lengths, and the function that makes it in NumPy from the memory and these."""
    values: list[Value] = []

    def number(value: Value) -> Callable[[Any], int]:
        if value.is_constant:
            known = int(value.constant)
            return lambda numbers: known
        i = len(values)
        values.append(value)
        return lambda numbers: int(numbers[i])

    return values, view.after_run(number)


def _after_run(view: View | None, number: Callable[[Value], Callable[[Any], int]]) -> Callable[[Any, Any], Any]:
    return (lambda memory, numbers: memory) if view is None else view.after_run(number)


def _range(entry: Entry, number: Callable[[Value], Callable[[Any], int]]) -> Callable[[Any], Any]:
    """Return the function that gives an entry's index or slice in a run."""
    if entry == ":":
        return lambda numbers: slice(None)
    at = number(entry[1])
    if entry[0] == "i":
        return at
    step, n = entry[2:]
    length = number(n.value) if isinstance(n, Dim) else lambda numbers: n

    def found(numbers: Any) -> slice:
        start, count = at(numbers), length(numbers)
        stop = start + step * count
        return slice(start, stop if stop >= 0 else None, step) if count > 0 else slice(0, 0)

    return found


def _only(builder: Builder, v: Value) -> Value:
    zero = builder.constant(0)
    return builder.getitem(v, [zero] * v.type.ndim, ("i",) * v.type.ndim, [])


def place(builder: Builder, start: Value, offset: Value, step: int) -> Value:
    """Return start + offset * step as an int64."""
    moved = offset if step == 1 else builder.ufunc(np.multiply, offset, builder.constant(step))
    return builder.ufunc(np.add, start, moved)


def identity(x: Value) -> Any:
    return x.constant.item() if x.is_constant else x


def dim_key(n: int | Dim) -> Any:
    return n.value if isinstance(n, Dim) else n


def whole(builder: Builder, array: Array) -> Part:
    """Return an array as a part, of which further parts can be taken."""
    if isinstance(array.view, Part):
        return array.view
    ndim = array.type.ndim
    return Part(builder, array.view, array.type.shape, [":"] * ndim, range(ndim))


def view_of(builder: Builder, array: Array, entries: Sequence[Entry], dims: Sequence[int | None]) -> Array:
    """Return a view of an array; ``dims`` may leave out dimensions of length 1."""
    zero = builder.constant(0)
    entries = list(entries)
    for d, entry in enumerate(entries):
        if d not in dims and (entry == ":" or entry[0] == "s"):
            entries[d] = ("i", zero if entry == ":" else entry[1])
    part = whole(builder, array)
    if any(d is None and e != ":" and e[0] == "s" and e[3] != 1 for d, e in zip(part.dims, entries)):
        part = Part(builder, array.view, array.type.shape, [":"] * array.type.ndim, range(array.type.ndim))
    part = part.taken(entries, dims)
    return array.viewed(part, ArrayType(array.type.dtype, part.part_shape))


def permuted(builder: Builder, array: Array, axes: Sequence[int | None]) -> Array:
    """Return a view with permuted axes; axes of length 1 may be left out, and None adds one."""
    return view_of(builder, array, [":"] * array.type.ndim, axes)


def derived(
    array: Array,
    kind: ArrayType,
    there: Callable[[Value], Value],
    back: Callable[[Value, Value], Value],
    in_numpy: Callable[[Any, tuple[int, ...]], Any],
) -> Array:
    """Return a view through a pair of functions (``Derived``)."""
    return array.viewed(Derived(array.view, there, back, in_numpy, kind), kind)


def read_only(
    builder: Builder,
    array: Array,
    shape: Shape,
    key: Any,
    there: Callable[[Value], Value],
    in_numpy: Callable[[Any, tuple[int, ...]], Any],
) -> Array:
    """Return a view that NumPy marks read-only, such as a broadcast array or a diagonal."""

    def back(old: Value, v: Value) -> Value:
        raise AssertionError("a read-only view is written to")

    kind = ArrayType(array.type.dtype, tuple(shape))
    once = (*key, tuple(map(dim_key, shape)))
    read = lambda x: builder.once((*once, x), lambda: there(x))  # noqa: E731
    view = Derived(array.view, read, back, in_numpy, kind, is_read_only=True)
    return array.viewed(view, kind)


def reshaped(builder: Builder, array: Array, shape: Shape) -> Array:
    """Return a view of all elements in C order in another shape."""
    before = array.type.shape
    kind = ArrayType(array.type.dtype, tuple(shape))
    view = Derived(
        array.view,
        lambda x: builder.once(("reshape", x, tuple(map(dim_key, shape))), lambda: reshape(builder, x, shape)),
        lambda _, v: reshape(builder, v, before),
        np.reshape,
        kind,
        is_reshape=True,
    )
    return array.viewed(view, kind)


def reshape(builder: Builder, x: Value, shape: Shape) -> Value:
    """Return the elements in C order in another shape; a number is accepted too."""
    if not x.type.shape and shape:
        return builder.full(shape, x)
    return builder.reshape(x, tuple(shape)) if shape else _only(builder, x) if x.type.shape else x
