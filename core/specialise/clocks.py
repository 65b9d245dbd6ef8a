"""Clocks of ``time``: a program reads them when it runs, by a callback to Python."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.typed import ArrayType, callback

_NAMES = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
CLOCKS: dict[Any, type] = {getattr(time, name): float for name in _NAMES}
CLOCKS.update({getattr(time, f"{name}_ns"): int for name in _NAMES})
"""The clocks and the Python types of what they show."""


class Clock:
    """The function that the program calls."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function
        self.__name__ = function.__name__

    def __call__(self) -> Any:
        return np.asarray(self.function())


def read(trace: Any, function: Any) -> Any:
    kind = ArrayType(np.dtype(CLOCKS[function]), (), True)
    return trace.wrap(trace.builder.call(callback, [], [kind], function=Clock(function))[0])
