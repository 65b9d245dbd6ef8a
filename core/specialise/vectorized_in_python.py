"""``np.vectorize`` as NumPy defines it: interpreted, so that the function that it holds becomes the body of a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadInput


def call_vectorized(trace: Any, vectorized: np.vectorize, args: Any, kwargs: Any) -> Any:
    if vectorized.signature is not None or vectorized.excluded or kwargs:
        raise BadInput(
            "np.vectorize with signature=, excluded= or arguments by name cannot be compiled; write a function of the other "
            "arguments by functools.partial, or a loop"
        )
    if not args:
        raise TypeError("args can not be empty")
    return trace.interpret(elementwise, (vectorized.pyfunc, vectorized.otypes, *args), {})


def elementwise(function, otypes, *args):
    arrays = np.broadcast_arrays(*args)
    rows = [np.ravel(a) for a in arrays]
    shape = arrays[0].shape
    n = rows[0].shape[0]
    if otypes is None:
        if n == 0:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        first = function(*[row[0] for row in rows])  # its dtype is that of the result
        is_tuple = isinstance(first, tuple)
        kinds = [np.asarray(y).dtype for y in (first if is_tuple else (first,))]
    else:
        kinds = list(otypes)
        is_tuple = len(kinds) > 1
    outputs = [np.empty(n, kind) for kind in kinds]
    for i in range(n):
        found = function(*[row[i].item() for row in rows])
        for output, y in zip(outputs, found if is_tuple else (found,)):
            output[i] = y
    shaped = [np.copy(np.reshape(output, shape)) for output in outputs]
    return tuple(shaped) if is_tuple else shaped[0]
