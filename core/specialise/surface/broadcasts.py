"""``np.broadcast`` of traced arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..traced import Array, Trace, length, traces
from .arguments import refuse, total


class Broadcast:
    """The common shape of several arrays; its items are tuples of their elements in C order."""

    def __init__(self, trace: Trace, arrays: list[Array]) -> None:
        shapes = [x.type.shape for x in arrays]
        if all(x.type.is_static for x in arrays):
            np.broadcast_shapes(*(x.type.bounds for x in arrays))  # raises what NumPy raises
        found = trace.builder.broadcast_shape(shapes)
        self._trace = trace
        self._arrays = arrays
        self.shape = tuple(map(length, found))
        self.size = length(total(trace.builder, found))
        self.nd = self.ndim = len(found)
        self.numiter = len(arrays)

    def __iter__(self) -> Any:
        call = self._trace.call
        return call(zip, *[call(np.ravel, call(np.broadcast_to, x, self.shape)) for x in self._arrays])

    def __getattr__(self, name: str) -> Any:
        if hasattr(np.broadcast(0), name):
            raise refuse(f".{name} of np.broadcast", "use np.broadcast_arrays")
        raise AttributeError(f"'numpy.broadcast' object has no attribute '{name}'")


@traces(np.broadcast)
def broadcast(trace: Trace, *args: Any) -> Broadcast:
    return Broadcast(trace, [trace.call(np.asarray, x) for x in args])
