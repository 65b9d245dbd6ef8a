"""Typed IR: what ``specialise`` writes, ``reverse_typed`` and ``simplify`` transform, and ``emit`` compiles.

The data structure is that of ``ir``; here every value has a type, and there are only numbers and arrays, no containers,
closures or objects, and no mutation: a write gives a new array (the back ends find out that it can be done in place).

Operations are ``if``, ``while``, ``range`` (see ``ir``; loops have ``checkpointed`` as callee, or none) and calls.  The callee of a call is

 - a NumPy or SciPy **ufunc**: operands broadcast against each other; each has exactly the dtype of the ufunc's loop,
   since ``Builder.ufunc`` puts ``cast`` before it.  Python's operators and ``math`` are written as ufuncs too.
 - ``np.where(c, x, y)``: like a ufunc; x and y have the result's dtype, c is bool.
 - ``np.imag(z)`` of a complex operand, like a ufunc; its real part is a ``cast``.
 - a **reduction**: ``np.sum prod max min any all`` (x, axis=tuple of ints, none negative; those axes are gone in the result),
   ``np.argmax argmin`` (x, axis=int), ``np.cumsum cumprod``, ``np.maximum.accumulate`` ... (x, axis=int),
   ``np.sort argsort`` (x, axis=int); ``argsort`` also with stable=True.
 - ``np.matmul(a, b)`` of arrays with 2 or more dimensions, batch dimensions equal, or of two of one dimension (dot).
 - a **Primitive** below, whose NumPy body says what it means.
 - an ``ir.Function``: a typed function that calls itself (recursion on traced values).
 - **any other NumPy or SciPy function**, given arrays as operands and constants by keyword: a *library call*
   (``np.linalg.solve``, ``np.fft.fft``, ``scipy.special`` that is no ufunc).  Several results: one value for each.

Operands that are named by keywords are constants, except where said otherwise.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .dynamic import Value
from .exceptions import exception_of


@dataclass(frozen=True)
class Dim:
    """A length that is known only when the program runs, as that of ``a[:k]``: never more than ``bound``.

    Two lengths are the same if they are the same value; values inside of a block are not in scope outside, so what leaves
    a block (results of ``if``, carried values of loops) never has one of the block's own in its type.
    """

    value: Value  # int64, not negative
    bound: int = field(compare=False)

    def __str__(self) -> str:
        return f"{self.value.name or 'n'}<={self.bound}"


@dataclass(frozen=True)
class ArrayType:
    """A number (``shape == ()``) or an array.

    ``weak`` marks a Python number, whose dtype gives way to that of what it meets: NEP 50.  A weak value is bool, int64,
    float64 or complex128 and has no dimensions.
    """

    dtype: np.dtype
    shape: tuple[int | Dim, ...] = ()
    weak: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def is_inexact(self) -> bool:
        return self.dtype.kind in "fc"

    @property
    def bounds(self) -> tuple[int, ...]:
        """The shape that is large enough whatever the lengths are."""
        return tuple(d.bound if isinstance(d, Dim) else d for d in self.shape)

    @property
    def is_static(self) -> bool:
        return not any(isinstance(d, Dim) for d in self.shape)

    def __str__(self) -> str:
        kind = self.dtype.name if not self.weak else _PYTHON[self.dtype.kind]
        return f"{kind}[{', '.join(map(str, self.shape))}]" if self.shape else kind


def lengths(kind: Any) -> Iterator[Value]:
    """Yield the lengths in a type that are values of the program."""
    if isinstance(kind, ArrayType) and not kind.is_static:
        yield from (n.value for n in kind.shape if isinstance(n, Dim))


_PYTHON = {"b": "python bool", "i": "int", "f": "float", "c": "complex"}


class StackType:
    """A stack of values of any types, last in, first out: what a sweep saves for the way back."""

    def __str__(self) -> str:
        return "stack"


STACK = StackType()
BOOL = ArrayType(np.dtype(bool))
PYTHON_BOOL = ArrayType(np.dtype(bool), weak=True)
INT = ArrayType(np.dtype(np.int64), weak=True)
INT64 = ArrayType(np.dtype(np.int64))
FLOAT = ArrayType(np.dtype(np.float64), weak=True)
FLOAT64 = ArrayType(np.dtype(np.float64))


@dataclass(frozen=True)
class Primitive:
    """An operation that NumPy has no function for, or whose result's shape is not told by its operands.

    ``body(shape, *operands, **constants)`` is its meaning in NumPy; ``shape`` is that of the (first) result.
    """

    name: str
    body: Callable[..., Any]
    effect: bool = False

    @property
    def __name__(self) -> str:
        return self.name

    __module__ = "builtins"


# Indexing. An index is written once for reading, writing and adding: ``spec`` has an entry for each dimension of the array,
# and the operands that the entries ask for follow in order.
#     "i"        one int64 operand, 0 <= i < n: the dimension is gone
#     ("s", k)   one int64 operand, the start (of the result's first element); the step is k, which may be negative; the
#                length is that of the result: every element is within the array
#     ":"        the whole dimension
#     "a"        one integer array operand, 0 <= entries < n; several of them broadcast against each other, and their
#                dimensions stand where NumPy puts them
Spec = tuple[Any, ...]


def index_of(spec: Spec, operands: Sequence[Any], shape: Sequence[int]) -> tuple[Any, ...]:
    """NumPy's index for a spec; ``shape`` is that of the part, whose dimensions the slices take in order."""
    found: list[Any] = []
    operands = list(operands)
    arrays = [np.ndim(o) for e, o in zip([e for e in spec if e != ":"], operands) if e == "a"]
    places = part_dimensions(spec, max(arrays, default=0))
    for i, entry in enumerate(spec):
        if entry == ":":
            found.append(slice(None))
        elif entry in ("i", "a"):
            found.append(operands.pop(0))
        else:
            start, step, n = int(operands.pop(0)), entry[1], shape[places[i]]
            stop = start + step * n
            found.append(slice(start, stop if stop >= 0 else None, step) if n else slice(0, 0))
    return tuple(found)


def part_dimensions(spec: Spec, array_ndim: int) -> dict[int, int]:
    """The dimension of the part in which each slice of a spec ends up; NumPy's rule for where index arrays go."""
    advanced = [i for i, e in enumerate(spec) if e in ("i", "a")] if "a" in spec else []
    together = bool(advanced) and advanced == list(range(advanced[0], advanced[-1] + 1))
    places: dict[int, int] = {}
    at = 0 if together or not advanced else array_ndim
    for i, entry in enumerate(spec):
        if together and i == advanced[0]:
            at += array_ndim
        if entry == ":" or isinstance(entry, tuple):
            places[i] = at
            at += 1
    return places


def _getitem(shape, x, *index, spec):
    return np.array(x[index_of(spec, index, shape)])


def _setitem(shape, x, *index_and_value, spec):
    *index, v = index_and_value
    y = np.array(x)
    y[index_of(spec, index, np.shape(v))] = v
    return y


def _add_at(shape, x, *index_and_value, spec):
    *index, v = index_and_value
    y = np.array(x)
    np.add.at(y, index_of(spec, index, np.shape(v)), v)
    return y


def _cast(shape, x, dtype):
    found: Any = np.asarray(x)
    return (found.real if found.dtype.kind == "c" and np.dtype(dtype).kind not in "cb" else found).astype(dtype)


cast = Primitive("cast", _cast)
"""x with its elements converted to ``dtype``; the real part of a complex x for a real dtype."""

full = Primitive("full", lambda shape, x: np.full(shape, x, np.asarray(x).dtype))
"""An array of the result's shape of which every element is the number x."""

broadcast_to = Primitive("broadcast_to", lambda shape, x: np.array(np.broadcast_to(x, shape)))
"""The array x repeated along dimensions of length 1 and new leading ones; right-aligned."""

reshape = Primitive("reshape", lambda shape, x: np.reshape(x, shape))
"""C order."""

transpose = Primitive("transpose", lambda shape, x, axes: np.transpose(x, axes))

iota = Primitive("iota", lambda shape: np.arange(shape[0]))
"""0, 1, ..., n - 1 as int64; n is the length of the result's only dimension."""

concatenate = Primitive("concatenate", lambda shape, *xs, axis: np.concatenate(xs, axis))

getitem = Primitive("getitem", _getitem)
"""getitem(x, *index, spec=)"""

setitem = Primitive("setitem", _setitem)
"""setitem(x, *index, v, spec=): x with the part replaced by v, which has exactly the part's shape and dtype."""

add_at = Primitive("add_at", _add_at)
"""add_at(x, *index, v, spec=): x with v added to the part; what is named twice is added twice."""

# Stacks


def _push(shape, stack, *values):
    return (*stack, *values)


stack_new = Primitive("stack_new", lambda shape: ())
stack_push = Primitive("stack_push", _push)
"""stack_push(stack, *values) -> stack"""

stack_pop = Primitive("stack_pop", lambda shape, stack, n: (*stack[-n:], stack[:-n]))
"""stack_pop(stack, n=) -> (*values, stack): the n values last pushed, in the order in which they were pushed."""

checkpointed = Primitive("checkpointed", lambda shape: None)
"""The callee of a ``while`` or ``range`` whose adjoint keeps few states, and runs iterations again from them."""

# Effects: kept, in their order, whether or not their results are used


def _raise_if(shape, condition, *values, exception, text):
    if condition:
        raise exception_of(exception, text, values)


raise_if = Primitive("raise_if", _raise_if, effect=True)
"""raise_if(condition, *values, exception=, text=str): no result; ends the program where the condition holds.

``exceptions`` says what the exception may be: a class, or a tuple that describes more than a class and a text.
"""

debug_print = Primitive("debug_print", lambda shape, *values, text: print(text.format(*values)), effect=True)

callback = Primitive("callback", lambda shape, *values, function: function(*values), effect=True)
"""callback(*values, function=): the Python function's arrays, one for each result of the operation."""

# Python's ints


def _overflows(shape, a, b, function):
    a, b = int(a), int(b)
    if function is np.power and abs(a) > 1 and b > 63:
        return np.True_
    exact = EXACT[function](a, b)
    return np.bool_(not -(1 << 63) <= exact < 1 << 63)


EXACT: dict[Any, Callable[[int, int], int]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.power: operator.pow,
}
overflows = Primitive("overflows", _overflows)
"""overflows(a, b, function=np.add): whether a sum (difference, product, power with b >= 0) of two int64 is out of their range."""

# Derivatives given by hand

custom = Primitive("custom", lambda shape, *values, n, m, backward: values[:n] if n > 1 else values[0])
"""custom(*y, *x, *residuals, n=len(y), m=len(x), backward=ir.Function): the n values y as they are.

On the way back their cotangents reach x and nothing else: ``backward(*residuals, *dy)`` gives those of x, with one dy for
each inexact y and one result for each inexact x, of its type.  An operation is of the innermost derivative that is taken
of it: the forward sweep has y itself in its place.  What is not differentiated has none (``transforms.without_custom``).
"""


def type_of(x: Any) -> ArrayType:
    """The type of a leaf: an array, a number of NumPy's, or one of Python's, which is weak."""
    if isinstance(x, (np.ndarray, np.generic)):
        return ArrayType(x.dtype, x.shape)
    return ArrayType(np.dtype(np.int64 if type(x) is int else type(x)), (), True)
