"""Typed IR: ``specialise`` writes it, the passes (``reverse``, ``simplify``) transform it, ``emit`` compiles it.

The data structure is that of ``dynamic``, with a type for every value.  Values are numbers and arrays; there are no
containers, closures or objects, and no mutation: a write returns a new array (the back ends detect where it can be done
in place).

Operations are ``if``, ``while``, ``range`` (see ``dynamic``; a loop's callee is None, a memory policy, ``AtMost`` or ``REVERSED``) and calls.  The
callee of a call is

 - a NumPy or SciPy **ufunc**: operands broadcast against each other; each has exactly the dtype of the ufunc's loop,
   because ``Builder.ufunc`` inserts casts.  Python's operators and ``math`` are written as ufuncs too.
 - ``np.where(c, x, y)``: like a ufunc; x and y have the result's dtype, c is bool.
 - ``np.imag(z)`` of a complex operand, like a ufunc; its real part is a ``cast``.  ``complex_of`` is the inverse of both.
 - a **reduction**: ``np.sum prod max min any all`` (x, axis=tuple of ints, none negative; these axes are removed),
   ``np.argmax argmin`` (x, axis=int), ``np.cumsum cumprod``, ``np.maximum.accumulate`` ... (x, axis=int),
   ``np.sort argsort`` (x, axis=int); ``argsort`` also with stable=True.
 - ``np.matmul(a, b)`` of arrays with 2 or more dimensions, batch dimensions equal, or of two of one dimension (dot).
 - a **Primitive** below, whose NumPy body defines its meaning.
 - a ``dynamic.Function``: a typed function that calls itself (recursion on traced values).
 - **any other NumPy or SciPy function**, given arrays as operands and constants by keyword: a *library call*
   (``np.linalg.solve``, ``np.fft.fft``, ``scipy.special`` that is no ufunc).  Several results: one value for each.

Keyword operands are constants unless stated otherwise.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import BadInput
from .dynamic import Operation, Value
from .exceptions import exception_of
from .traced_text import filled


@dataclass(frozen=True)
class Dim:
    """A length known only at run time, e.g. that of ``a[:k]``; at most ``bound``.

    Two lengths are equal if they are the same SSA value.  Values of a block are not in scope outside, so the types of a
    block's results (of ``if``, of loops) never contain a length defined in the block.
    """

    value: Value  # int64, not negative
    bound: int = field(compare=False)

    def __str__(self) -> str:
        return f"{self.value.name or 'n'}<={self.bound}"


@dataclass(frozen=True)
class ArrayType:
    """A number (``shape == ()``) or an array.

    ``weak`` marks a Python number, whose dtype yields to the other operand's (NEP 50).  A weak value is bool, int64,
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
    def number(self) -> type:
        """The class of a number of this dtype: Python's if it is weak, else NumPy's."""
        return _PYTHON[self.dtype.kind] if self.weak else self.dtype.type

    @property
    def bounds(self) -> tuple[int, ...]:
        """The shape with each run-time length replaced by its upper bound."""
        return tuple(d.bound if isinstance(d, Dim) else d for d in self.shape)

    @property
    def is_static(self) -> bool:
        return Dim not in map(type, self.shape)

    def __str__(self) -> str:
        kind = self.dtype.name if not self.weak else "python bool" if self.number is bool else self.number.__name__
        return f"{kind}[{', '.join(map(str, self.shape))}]" if self.shape else kind


def lengths(kind: Any) -> Iterator[Value]:
    """Yield the lengths in a type that are values of the program."""
    if isinstance(kind, ArrayType) and not kind.is_static:
        yield from (n.value for n in kind.shape if isinstance(n, Dim))


_PYTHON = {"b": bool, "i": int, "f": float, "c": complex}


class StackType:
    """A stack of values of any types: the residuals that a forward sweep saves for the backward sweep."""

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
    """An operation without a NumPy function, or whose result shape does not follow from its operands.

    ``body(shape, *operands, **constants)`` defines it in NumPy; ``shape`` is that of the (first) result.
    """

    name: str
    body: Callable[..., Any]
    effect: bool = False

    @property
    def __name__(self) -> str:
        return self.name

    __module__ = "builtins"


# Indexing. Reading, writing and adding share one form of index: ``spec`` has an entry for each dimension of the array,
# and the operands of the entries follow in order.
#     "i"        one int64 operand, 0 <= i < n: the dimension is removed
#     ("s", k)   one int64 operand, the index of the first element; the step is k, which may be negative; the length is
#                that of the result, and every element is within the array
#     ":"        the whole dimension
#     "a"        one integer array operand, 0 <= entries < n; several broadcast against each other, and their
#                dimensions stand where NumPy puts them
Spec = tuple[Any, ...]


def index_of(spec: Spec, operands: Sequence[Any], shape: Sequence[int]) -> tuple[Any, ...]:
    """Return NumPy's index for a spec; ``shape`` is the part's, which gives the lengths of the slices."""
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
    """Map each slice of a spec to its dimension in the part, by NumPy's rule for the placement of index arrays."""
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


def part(op: Operation) -> Any:
    """Return a key of the part that a ``getitem``, ``setitem`` or ``add_at`` accesses; equal keys mean one part."""
    spec = op.named["spec"].constant
    count = sum(e != ":" for e in spec)
    index = op.positional[1 : 1 + count]
    return spec, tuple(int(v.constant) if v.is_constant and not v.type.shape else v for v in index)


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
"""x converted to ``dtype``; the real part of a complex x for a real dtype."""

full = Primitive("full", lambda shape, x: np.full(shape, x, np.asarray(x).dtype))
"""An array of the result's shape whose elements are all the number x."""

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
"""add_at(x, *index, v, spec=): x with v added to the part; repeated indices accumulate."""

# Stacks


def _push(shape, stack, *values):
    return (*stack, *values)


stack_new = Primitive("stack_new", lambda shape: ())
stack_push = Primitive("stack_push", _push)
"""stack_push(stack, *values) -> stack"""

stack_pop = Primitive("stack_pop", lambda shape, stack, n: (*stack[-n:], stack[:-n]))
"""stack_pop(stack, n=) -> (*values, stack): the n values pushed last, in the order of the pushes."""


@dataclass(frozen=True)
class AtMost:
    """The callee of a ``range`` that has at most so many iterations, whatever its bounds are."""

    iterations: int


@dataclass(frozen=True)
class Reversed:
    """The callee of a ``range`` that reverses another loop: sums that it carries are cotangents, which have no order."""


REVERSED = Reversed()


@dataclass(frozen=True, eq=False)
class Storeless(AtMost):
    """The callee of a loop of unknown length whose adjoint is tried without storing anything: what it had to store."""

    iterations: int = 0
    values: list[Value] = field(default_factory=list)


# Checkpointed calls

rerun_begins = Primitive("rerun_begins", lambda shape, call: None, effect=True)
"""rerun_begins(call=object): from here to the ``rerun_ends`` of the same call, the backward sweep runs the operations again.

Both stand in programs that are still to be differentiated: ``passes.reverse.reruns`` gathers what is between them.
"""

rerun_ends = Primitive("rerun_ends", lambda shape, call: None, effect=True)

inverts = Primitive("inverts", lambda shape, *values, **named: None, effect=True)
"""inverts(*after, *before, *read, inverse=Function, count=, tolerance=, report=, name=): ``inverse(*after, *read)`` gives ``before``.

``after`` and ``before`` are ``count`` values each: the state after and before an invertible step.
"""

rerun = Primitive("rerun", lambda shape: None)
"""The callee of a ``range`` of one iteration, which stands for a checkpointed call while its adjoint is written."""

apart = Primitive("apart", lambda shape, x: np.array(x))
"""apart(x): x, as an operand of operations that must not be merged with equal ones: they run again to save memory."""

refused = Primitive("refused", lambda shape, y, *xs, reason: np.array(y))
"""refused(y, *xs, reason=str): y; a derivative of it with respect to what the xs depend on is an error with this reason.

``passes.custom_derivatives.without_custom`` removes it from code that is not differentiated.
"""

# Texts


def _of_text(shape, *values, template, weak):
    found = filled(template, [x.item() if is_python else x for x, is_python in zip(values, weak)])
    return tuple(map(np.asarray, found)) if isinstance(found, tuple) else np.asarray(found)


of_text = Primitive("of_text", _of_text)
"""of_text(*values, template=, weak=(bool, ...)): bools and numbers that a template (see ``traced_text``) makes of numbers; never raises.

``weak`` says which of the values are Python's numbers.  It has no derivative: a text does not pass one on.
"""

# Effects: never removed or reordered, even if their results are unused


def _raise_if(shape, condition, *values, exception, text):
    if condition:
        raise exception_of(exception, text, values)


raise_if = Primitive("raise_if", _raise_if, effect=True)
"""raise_if(condition, *values, exception=, text=str): no result; raises where the condition holds.

The exception is a class or a recipe in the form of a tuple (see ``exceptions``).
"""


def _complex_of(shape, real, imaginary):
    z = np.empty(shape, np.result_type(real, imaginary, np.complex64))
    z.real, z.imag = real, imaginary
    return z[()]


complex_of = Primitive("complex_of", _complex_of)
"""complex_of(real, imaginary): complex numbers of these parts, like a ufunc; both operands have the dtype of a part.

``real + 1j * imaginary`` is another number where a part is infinite, NaN or -0.0.
"""


def _print(shape, *values, text, end="\n", stream="stdout", flush=False):
    print(filled(text, values), end=end, file=getattr(sys, stream), flush=flush)


debug_print = Primitive("debug_print", _print, effect=True)
"""debug_print(*values, text=template, end="\\n", stream="stdout", flush=False): writes to ``sys.stdout`` or ``sys.stderr``."""

callback = Primitive("callback", lambda shape, *values, function: function(*values), effect=True)
"""callback(*values, function=): calls a Python function, which returns one array per result."""

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
"""overflows(a, b, function=np.add): whether a sum (difference, product, power with b >= 0) of two int64 overflows."""

# Samples of a batch


def _without_batch(shape, *values, axis):
    raise BadInput(f"the axis {axis!r} belongs to no vmap around this call")


lane_index = Primitive("lane_index", _without_batch)
"""lane_index(axis=): the number of the sample in the batch whose axis has this name."""

lane_sum = Primitive("lane_sum", _without_batch)
"""lane_sum(x, axis=): the sum of x over all samples."""

lanes_joined = Primitive("lanes_joined", _without_batch)
"""lanes_joined(x, axis=): the x of all samples, along a new first axis."""


def _with_rule(shape, *values, body, **named):
    raise NotImplementedError("a call with a rule for batches is written out before a program runs")


with_rule = Primitive("with_rule", _with_rule)
"""with_rule(*values, body=Function, written=, count=): what ``body`` returns for these values, in a function of one sample.

``written(builder, values, vary)`` writes it for all samples, where of the first ``count`` values some vary and of the others none;
see ``specialise.batch_rules``.
"""

# User-defined derivatives

custom = Primitive("custom", lambda shape, *values, n, m, **named: values[:n] if n > 1 else values[0])
"""custom(*y, *x, *residuals, n=len(y), m=len(x), backward=Function, forward=Function, level=int): returns the n values y unchanged.

In the backward sweep their cotangents propagate to x only: ``backward(*residuals, *dy)`` returns the cotangents of x,
with one dy for each inexact y and one result for each inexact x, of its type.  ``forward(*residuals, *dx)`` maps tangents in
the same way; without it, ``backward`` is transposed.  The innermost derivative consumes the operation: its forward sweep has
y itself instead.  ``passes.custom_derivatives.without_custom`` removes it from code
that is not differentiated.
"""


def in_one_form(dtype: np.dtype) -> np.dtype:
    """Return one of the equal dtypes of numbers, such as ``uint64`` and ``ulonglong``, whose scalars have different classes.

    Compiled programs and the loops of ufuncs are cached by dtype, so one that was met first would stand for all.
    """
    return np.dtype(dtype.str) if dtype.kind in "biufc" else dtype


def type_of(x: Any) -> ArrayType:
    """Return the type of a leaf: an array, a NumPy scalar or a Python number (which is weak)."""
    if isinstance(x, (np.ndarray, np.generic)):
        return ArrayType(in_one_form(x.dtype), x.shape)
    return ArrayType(np.dtype(np.int64 if type(x) is int else type(x)), (), True)
