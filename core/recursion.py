"""The limit of recursion while the engine runs the user's code: a call takes more frames then than in plain Python."""

from __future__ import annotations

import sys

from .exclusion import one_at_a_time


class DeepRecursion:
    """Let code recurse as deep as Python would, where a call takes up to five frames in place of one.

    The limit is that of all threads, so it stays raised until the last of those that have raised it has ended.
    """

    __slots__ = ("at_least",)

    def __init__(self, at_least: int = 0) -> None:
        self.at_least = at_least  # the limit that is needed, instead of five times the one in force

    def begin(self) -> None:
        global _in_force
        with one_at_a_time:
            limit = now = sys.getrecursionlimit()
            if deep and now == _in_force:
                limit = next(reversed(deep.values()))
            deep[self] = limit
            _in_force = max(now if limit != now else 0, self.at_least or 5 * limit)
            sys.setrecursionlimit(_in_force)

    def end(self) -> None:
        with one_at_a_time:
            if self in deep:
                if len(deep) == 1 and sys.getrecursionlimit() == _in_force:
                    sys.setrecursionlimit(deep[self])
                deep.pop(self, None)


deep: dict[DeepRecursion, int] = {}
"""All that have begun and not ended, with the limit that was in force before any."""

_in_force = 0
