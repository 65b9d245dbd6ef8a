"""Limits how long tracing may take, in calls of functions and operators, which are the same everywhere, and in seconds."""

from __future__ import annotations

import math
import time

from ..errors import BadInput


class TooLong(BadInput):
    """A trace takes more calls than are left."""


class Steps:
    """The calls that the traces of one program take."""

    def __init__(self, most: float = math.inf, seconds: float = math.inf) -> None:
        self.most, self.taken = most, 0
        self.end = most
        self.seconds, self.began = seconds, time.perf_counter()

    def take(self) -> None:
        self.taken += 1
        if self.taken > self.end:
            raise TooLong(
                f"tracing it as a whole takes more than {self.taken - 1} calls of functions and operators; compile its parts"
            )
        if self.is_late:
            raise TooLong(f"tracing it as a whole takes more than {self.seconds:.0f} s; compile its parts")

    @property
    def is_late(self) -> bool:
        return time.perf_counter() - self.began > self.seconds

    @property
    def is_over(self) -> bool:
        """Whether no trace may take any more."""
        return self.taken > self.most or self.is_late

    def allow(self, more: float) -> None:
        """Let the next trace take so many calls, within the limit of all traces."""
        self.end = min(self.most, self.taken + more)
