"""``np.lib.stride_tricks``: windows that slide over an array."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...ir.dynamic import Value
from ...ir.typed import Dim
from ..traced import Array, Trace, traces
from .arguments import integer, new_array, refuse, value
from .views import read_only


@traces(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    trace: Trace, x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    if writeable:
        raise refuse("np.lib.stride_tricks.sliding_window_view(writeable=True)", "write into the array itself")
    given = window_shape if np.iterable(window_shape) else [window_shape]
    lengths = tuple(integer(trace, n, "the length of a window") for n in given)
    v = value(trace, x)
    if any(isinstance(n, Dim) for n in v.type.shape):
        raise refuse("windows of an array whose length is known only when the program runs", "use a fixed length")
    # NumPy checks the arguments, and gives the shape.
    shape = np.lib.stride_tricks.sliding_window_view(np.broadcast_to(0.0, v.type.shape), lengths, axis).shape
    axes = normalize_axis_tuple(range(len(lengths)) if axis is None else axis, v.type.ndim, allow_duplicate=True)
    return read_only(
        trace.builder,
        x if isinstance(x, Array) else new_array(v),
        shape,
        ("windows", lengths, axes),
        lambda y: _windows(trace.builder, y, lengths, axes),
        lambda y, _: np.lib.stride_tricks.sliding_window_view(y, lengths, axes),
    )


def _windows(builder: Any, x: Value, lengths: tuple[int, ...], axes: tuple[int, ...]) -> Value:
    """Take the windows of one axis after the other: element j of window i is element i + j."""
    for d, n in zip(axes, lengths):
        count = x.type.shape[d] - n + 1
        first = builder.reshape(builder.iota(count), (count, 1))
        places = builder.ufunc(np.add, first, builder.iota(n))
        found = builder.getitem(x, [places], (*[":"] * d, "a", *[":"] * (x.type.ndim - d - 1)), [])
        x = builder.transpose(found, [i for i in range(found.type.ndim) if i != d + 1] + [d + 1])
    return x


@traces(np.lib.stride_tricks.as_strided)
def as_strided(trace: Trace, x: Any, *args: Any, **kwargs: Any) -> Any:
    raise refuse("np.lib.stride_tricks.as_strided", "use sliding_window_view, slices or arrays of indices")
