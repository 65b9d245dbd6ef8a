"""Products of vectors, matrices and stacks of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.builder import Shape
from ...ir.dynamic import Value
from ...ir.typed import Dim
from ..float_errors import named
from ..traced import Array, Trace, traces
from .arguments import axis_of, integer, is_array_like, refuse, refuse_given, static, strong, value
from .operators import of_objects, share_memory, stored
from .python_numbers import items_of
from .views import reshape


def inner_length(trace: Trace, what: str, n: int | Dim, m: int | Dim) -> None:
    """Check, now or at run time, that the two lengths summed over are equal."""
    if isinstance(n, int) and isinstance(m, int):
        if n != m:
            signature = "(n?,k),(k,m?)->(n?,m?)"
            text = f"Input operand 1 has a mismatch in its core dimension 0, with gufunc signature {signature} (size {m} is different from {n})"
            raise BadInput(
                f"{what}: the lengths to be summed over differ: {n} and {m}", in_python=ValueError(f"{what}: {text}")
            )
    elif n != m:
        trace.builder.same_length(n, m)


def matrix_product(trace: Trace, a: Value, b: Value) -> Value:
    """``np.matmul`` of two arrays, which must have at least one dimension each."""
    builder = trace.builder
    for place, x in enumerate((a, b)):
        if not x.type.shape:
            raise ValueError(
                f"matmul: Input operand {place} does not have enough dimensions (has 0, gufunc core with signature "
                "(n?,k),(k,m?)->(n?,m?) requires 1)"
            )
    dtype = np.result_type(a.type.dtype, b.type.dtype)
    a, b = builder.cast(a, dtype), builder.cast(b, dtype)
    inner_length(trace, "matmul", a.type.shape[-1], b.type.shape[-1 if b.type.ndim == 1 else -2])
    if a.type.ndim == 1 and b.type.ndim == 1:
        return builder.matmul(a, b)
    batch_a, batch_b = a.type.shape[:-2], b.type.shape[:-2]
    drop = []
    if a.type.ndim == 1:
        a = builder.reshape(a, (1, *a.type.shape))
        drop.append(-2)
    if b.type.ndim == 1:
        b = builder.reshape(b, (*b.type.shape, 1))
        drop.append(-1)
    if batch_a and not batch_b and a.type.is_static:
        *batch, m, k = a.type.shape
        flat = builder.reshape(a, (math.prod((*batch, m)), k))
        found = builder.matmul(flat, b)
        found = builder.reshape(found, (*batch, m, b.type.shape[-1]))
    else:
        batch = builder.broadcast_shape([batch_a, batch_b])
        a = builder.broadcast_to(a, (*batch, *a.type.shape[-2:]))
        b = builder.broadcast_to(b, (*batch, *b.type.shape[-2:]))
        found = builder.matmul(a, b)
    shape = list(found.type.shape)
    for i in drop:
        del shape[i]
    return reshape(builder, found, tuple(shape))


@traces(operator.matmul)
def _matmul_operator(trace: Trace, a: Any, b: Any) -> Any:
    if any(isinstance(x, Array) for x in (a, b)) and all(map(is_array_like, (a, b))):
        return matmul(trace, a, b)
    return of_objects(trace, operator.matmul, a, b)


@traces(np.matmul)
def matmul(trace: Trace, x1: Any, x2: Any, /, out: Any = None, **options: Any) -> Any:
    return left(trace, "matmul", matrix_product(trace, value(trace, x1), value(trace, x2)), out, (x1, x2), **options)


def left(
    trace: Trace,
    name: str,
    made: Value,
    out: Any,
    operands: tuple[Any, ...],
    dtype: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    subok: bool = True,
    **options: Any,
) -> Any:
    """Return the result of a generalised ufunc, with its keyword arguments applied."""
    refuse_given(f"np.{name}", **options)
    if dtype is not None and np.dtype(dtype) != made.type.dtype:
        raise refuse(f"np.{name}(dtype={np.dtype(dtype)}) of {made.type.dtype}", "convert its arguments by astype")
    if isinstance(out, tuple):
        (out,) = out
    if isinstance(out, Array) and out.type.ndim != made.type.ndim and any(share_memory(out, x) for x in operands):
        raise refuse(
            f"np.{name}(out=) with more axes than its result, in the memory of an argument,", "copy the argument first"
        )
    return stored(trace, made, out)


@traces(np.dot)
def dot(trace: Trace, a: Any, b: Any, out: Any = None) -> Any:
    x, y = strong(trace.builder, value(trace, a)), strong(trace.builder, value(trace, b))
    if not x.type.shape or not y.type.shape:
        return stored(trace, trace.builder.ufunc(np.multiply, x, y), out)
    with named(trace.builder, np.matmul, "dot"):
        if y.type.ndim <= 2:
            return stored(trace, matrix_product(trace, x, y), out)
        return stored(trace, contracted(trace, x, y, [x.type.ndim - 1], [y.type.ndim - 2]), out)


@traces(np.vdot)
def vdot(trace: Trace, a: Any, b: Any) -> Any:
    x, y = (value(trace, trace.call(np.ravel, v)) for v in (a, b))
    return trace.wrap(matrix_product(trace, conjugate(trace, x), y))


def conjugate(trace: Trace, x: Value) -> Value:
    return trace.builder.ufunc(np.conjugate, x) if x.type.dtype.kind == "c" else x


@traces(np.inner)
def inner(trace: Trace, a: Any, b: Any) -> Any:
    x, y = strong(trace.builder, value(trace, a)), strong(trace.builder, value(trace, b))
    if not x.type.shape or not y.type.shape:
        return trace.wrap(trace.builder.ufunc(np.multiply, x, y))
    return trace.wrap(contracted(trace, x, y, [x.type.ndim - 1], [y.type.ndim - 1]))


@traces(np.outer)
def outer(trace: Trace, a: Any, b: Any, out: Any = None) -> Any:
    builder = trace.builder
    x, y = (value(trace, trace.call(np.ravel, trace.call(np.asarray, v))) for v in (a, b))
    x, y = builder.reshape(x, (*x.type.shape, 1)), builder.reshape(y, (1, *y.type.shape))
    return stored(trace, builder.ufunc(np.multiply, x, y), out)


@traces(np.tensordot)
def tensordot(trace: Trace, a: Any, b: Any, axes: Any = 2) -> Any:
    x, y = strong(trace.builder, value(trace, a)), strong(trace.builder, value(trace, b))
    if isinstance(axes, (tuple, list)):
        over_x, over_y = ([i] if isinstance(i, (int, np.integer)) else list(i) for i in axes)
    else:
        n = integer(trace, axes, "the argument axes of np.tensordot")
        over_x, over_y = list(range(x.type.ndim - n, x.type.ndim)), list(range(n))
    over_x = [axis_of(trace, i, x.type.ndim) for i in over_x]
    over_y = [axis_of(trace, i, y.type.ndim) for i in over_y]
    if len(over_x) != len(over_y):
        raise ValueError("shape-mismatch for sum")
    return trace.wrap(contracted(trace, x, y, over_x, over_y))


def contracted(trace: Trace, x: Value, y: Value, over_x: Sequence[int], over_y: Sequence[int]) -> Value:
    """Sum over pairs of axes of two arrays; the result has the first's remaining axes, then the second's."""
    builder = trace.builder
    for i, j in zip(over_x, over_y):
        inner_length(trace, "a product", x.type.shape[i], y.type.shape[j])
    left_x = [i for i in range(x.type.ndim) if i not in over_x]
    left_y = [i for i in range(y.type.ndim) if i not in over_y]
    shape = (*(x.type.shape[i] for i in left_x), *(y.type.shape[i] for i in left_y))
    if len(over_x) == 1 and len(left_x) <= 1 and len(left_y) <= 1:
        a, b = builder.transpose(x, [*left_x, *over_x]), builder.transpose(y, [*over_y, *left_y])
        return matrix_product(trace, a, b)
    for v in (x, y):
        static(v, "a product over several axes")
    size = math.prod(x.type.bounds[i] for i in over_x)
    a = reshape(builder, builder.transpose(x, [*left_x, *over_x]), (math.prod(x.type.bounds[i] for i in left_x), size))
    b = reshape(builder, builder.transpose(y, [*over_y, *left_y]), (size, math.prod(y.type.bounds[i] for i in left_y)))
    return reshape(builder, matrix_product(trace, a, b), shape)


@traces(np.kron)
def kron(trace: Trace, a: Any, b: Any) -> Any:
    builder = trace.builder
    x, y = (static(strong(builder, value(trace, v)), "np.kron") for v in (a, b))
    ndim = max(x.type.ndim, y.type.ndim)
    wide_x, wide_y = ((*[1] * (ndim - v.type.ndim), *v.type.shape) for v in (x, y))
    left = reshape(builder, x, tuple(m for n in wide_x for m in (n, 1)))
    right = reshape(builder, y, tuple(m for n in wide_y for m in (1, n)))
    made = builder.ufunc(np.multiply, left, right)
    return trace.wrap(reshape(builder, made, tuple(n * m for n, m in zip(wide_x, wide_y))))  # type: ignore[operator]


@traces(np.cross, np.linalg.cross)
def cross(trace: Trace, a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Any:
    call = trace.call
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = call(np.moveaxis, a, axisa, -1), call(np.moveaxis, b, axisb, -1)
    n, m = x.type.shape[-1], y.type.shape[-1]
    if n not in (2, 3) or m not in (2, 3):
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")

    def minor(i: int, j: int) -> Any:
        """x[i] y[j] - x[j] y[i]; missing components are zero."""
        terms = [
            call(operator.mul, call(operator.getitem, x, (..., p)), call(operator.getitem, y, (..., q)))
            if p < n and q < m
            else None
            for p, q in ((i, j), (j, i))
        ]
        first, second = terms
        if first is None:
            return call(operator.neg, second)
        return first if second is None else call(operator.sub, first, second)

    if n == m == 2:
        return minor(0, 1)
    parts = [minor(1, 2), minor(2, 0), minor(0, 1)]
    found = call(np.stack, call(np.broadcast_arrays, *parts), -1)
    return call(np.moveaxis, found, -1, axisc) if axisc != -1 else found


@traces(np.linalg.multi_dot)
def multi_dot(trace: Trace, arrays: Any, *, out: Any = None) -> Any:
    """Multiply a chain of matrices, at each step the neighbours whose product costs least."""
    parts = [value(trace, x) for x in items_of(trace, arrays)]
    while len(parts) > 1:
        costs = [_cost(a.type.bounds, b.type.bounds) for a, b in zip(parts, parts[1:])]
        i = costs.index(min(costs))
        parts[i : i + 2] = [matrix_product(trace, parts[i], parts[i + 1])]
    return stored(trace, parts[0], out)


def _cost(a: Shape, b: Shape) -> int:
    return math.prod(a) * (math.prod(b) // max(b[0], 1))  # type: ignore[arg-type, operator]


@traces(np.linalg.matrix_power)
def matrix_power(trace: Trace, a: Any, n: Any) -> Any:
    n = integer(trace, n, "the power of np.linalg.matrix_power")
    x = value(trace, trace.call(np.linalg.inv, a) if n < 0 else a)
    if n == 0:
        unit = trace.builder.constant(np.eye(x.type.shape[-1], dtype=x.type.dtype))  # type: ignore[arg-type]
        return trace.wrap(trace.builder.broadcast_to(unit, x.type.shape))
    found: Value | None = None
    bits = f"{abs(n):b}"[::-1]
    for place, bit in enumerate(bits):
        if bit == "1":
            found = x if found is None else matrix_product(trace, found, x)
        if place + 1 < len(bits):
            x = matrix_product(trace, x, x)
    assert found is not None
    return trace.wrap(found)


def _vecdot(
    trace: Trace, x1: Any, x2: Any, /, out: Any = None, *, axis: Any = -1, keepdims: Any = False, **options: Any
) -> Any:
    product = trace.call(operator.mul, trace.wrap(conjugate(trace, value(trace, x1))), x2)
    made = value(trace, trace.call(np.sum, product, axis=axis, keepdims=keepdims))
    return left(trace, "vecdot", made, out, (x1, x2), **options)


def _matvec(trace: Trace, x1: Any, x2: Any, /, out: Any = None, **options: Any) -> Any:
    column = trace.call(operator.getitem, x2, (..., None))
    made = trace.call(operator.getitem, trace.call(np.matmul, x1, column), (..., 0))
    return left(trace, "matvec", value(trace, made), out, (x1, x2), **options)


def _vecmat(trace: Trace, x1: Any, x2: Any, /, out: Any = None, **options: Any) -> Any:
    row = trace.call(operator.getitem, trace.wrap(conjugate(trace, value(trace, x1))), (..., None, slice(None)))
    made = trace.call(operator.getitem, trace.call(np.matmul, row, x2), (..., 0, slice(None)))
    return left(trace, "vecmat", value(trace, made), out, (x1, x2), **options)


for _name, _body in (("vecdot", _vecdot), ("matvec", _matvec), ("vecmat", _vecmat)):
    if hasattr(np, _name):
        traces(getattr(np, _name))(_body)


@traces(np.cov)
def cov(
    trace: Trace,
    m: Any,
    y: Any = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    refuse_given("np.cov", y=y, fweights=fweights, aweights=aweights, dtype=dtype)
    call = trace.call
    x = call(np.atleast_2d, m)
    x = x if rowvar or value(trace, m).type.ndim == 1 else call(np.transpose, x)
    apart = call(operator.sub, x, call(np.mean, x, axis=1, keepdims=True))
    n = trace.attribute(x, "shape")[1]
    count = call(operator.sub, n, (0 if bias else 1) if ddof is None else ddof)
    product = call(np.matmul, apart, call(np.conjugate, call(np.transpose, apart)))
    return trace.wrap(value(trace, call(np.squeeze, call(operator.truediv, product, count))))


@traces(np.corrcoef)
def corrcoef(trace: Trace, x: Any, y: Any = None, rowvar: Any = True) -> Any:
    refuse_given("np.corrcoef", y=y)
    call = trace.call
    c = cov(trace, x, None, rowvar)
    if not value(trace, c).type.shape:
        return call(operator.truediv, c, c)
    deviation = call(np.sqrt, call(np.real, call(np.diagonal, c)))
    c = call(operator.truediv, c, call(operator.getitem, deviation, (slice(None), None)))
    c = call(operator.truediv, c, deviation)
    if value(trace, c).type.dtype.kind == "c":
        raise refuse("np.corrcoef of complex numbers", "write it with np.cov")
    return call(np.clip, c, -1, 1)


def _of_matrices(function: Any, **fixed: Any) -> Any:
    return lambda trace, *args, **kwargs: trace.call(function, *args, **fixed, **kwargs)


for _name in ("matmul", "matrix_transpose", "outer", "tensordot", "vecdot"):
    if hasattr(np.linalg, _name):
        traces(getattr(np.linalg, _name))(_of_matrices(getattr(np, _name)))
if hasattr(np.linalg, "trace"):
    traces(np.linalg.trace)(_of_matrices(np.trace, axis1=-2, axis2=-1))
    traces(np.linalg.diagonal)(_of_matrices(np.diagonal, axis1=-2, axis2=-1))
