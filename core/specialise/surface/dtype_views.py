"""``a.view(dtype)``: integers as integers of one size, and complex numbers as floats."""

from __future__ import annotations

import numpy as np

from ...ir.dynamic import Value
from ...ir.typed import ArrayType
from ..traced import Array, Trace
from .arguments import refuse, static
from .elementwise import imaginary_part, real_part
from .flags import layout_of
from .views import derived


def as_dtype(trace: Trace, x: Array, dtype: np.dtype) -> Array:
    """Return the view of an array's memory as another dtype."""
    builder, old = trace.builder, x.type.dtype
    if old.itemsize == dtype.itemsize and old.kind in "iu" and dtype.kind in "iu":
        kind = ArrayType(dtype, x.type.shape)
        return derived(
            x, kind, lambda v: builder.cast(v, dtype), lambda _, v: builder.cast(v, old), lambda a, _: a.view(dtype)
        )
    if old.kind != "c" or dtype.kind != "f" or old.itemsize != 2 * dtype.itemsize:
        raise refuse(f"a view of an array of {old} as {dtype}", "use astype, or .real and .imag of complex numbers")
    if not x.type.ndim:
        raise ValueError("Changing the dtype of a 0d array is only supported if the itemsize is unchanged")
    shape = static(trace.value(x), "view").type.bounds
    n = shape[-1]
    if n != 1 and layout_of(trace, x, ".view").strides[-1] != old.itemsize:
        raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")

    def there(v: Value) -> Value:
        parts = [builder.reshape(part(trace, v), (*shape, 1)) for part in (real_part, imaginary_part)]
        return builder.reshape(builder.concatenate(parts, len(shape), 2), kind.shape)

    def back(old: Value, v: Value) -> Value:
        raise refuse("a write through a view of complex numbers as floats", "write to .real and .imag")

    kind = ArrayType(dtype, (*shape[:-1], 2 * n))
    return derived(x, kind, there, back, lambda a, _: a.view(dtype))
