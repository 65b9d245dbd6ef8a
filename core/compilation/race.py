"""Decides by measured times whether Python runs a part in parts of its own, some of them compiled, or as it stands.

Entering a compiled program costs from a microsecond, for numbers, to milliseconds, for arguments that hold many objects.
A part that does less than that is faster without it.
"""

from __future__ import annotations

TRIES = 4
"""How many calls are timed in parts, before some are timed without them."""
QUICK = 5e-6
"""A part that is as quick as that, in seconds, has no need of a comparison."""
LONG_COMPILED, LONG = 2e-3, 5e-2
"""A part that takes longer, compiled or divided, is not tried as it stands: that could take much longer still."""
FAR = 2.0
"""If the better of two calls without parts takes so many times the best one in parts, no others are tried."""
AGAIN = 2
"""After how many times as many calls Python tries its parts once more: by then, more of them may have been compiled."""
OTHER = 4.0
"""A call that takes so many times its best time works on other data, for which the forms are compared anew..."""
MOST_STARTS = 8
"""...but at most so often."""


class Race:
    """The times of a part's calls; ``is_over`` if it is to run in parts, whatever comes."""

    def __init__(self) -> None:
        self.is_over = False
        self.starts = 0
        self.start()

    def start(self) -> None:
        self.in_parts, self.alone = [], []  # the seconds of calls
        self.calls, self.next = 0, 2 * AGAIN * TRIES
        self.starts += 1

    @property
    def is_won_alone(self) -> bool:
        """Whether Python was faster without parts."""
        return bool(self.alone) and min(self.alone) < min(self.in_parts)

    def is_alone(self) -> bool:
        """Return whether the next call is to be made without parts."""
        self.calls += 1
        if len(self.in_parts) < TRIES:
            return False
        if self.calls >= self.next + TRIES:
            self.next *= AGAIN
        if self.calls >= self.next:
            return False
        return not self.is_decided or self.is_won_alone

    @property
    def is_decided(self) -> bool:
        return len(self.alone) >= TRIES or len(self.alone) > 1 and min(self.alone) > FAR * min(self.in_parts)

    def note(self, is_alone: bool, seconds: float, is_compiled: bool) -> None:
        """Note the time of a call."""
        if is_alone and self.alone and seconds > OTHER * min(self.alone) and len(self.alone) >= TRIES:
            self.start()
            self.is_over = self.starts > MOST_STARTS
            return
        times = self.alone if is_alone else self.in_parts
        times.append(seconds)
        del times[: -2 * TRIES]
        if len(self.in_parts) >= TRIES:
            best = min(self.in_parts)
            is_long = best > (LONG_COMPILED if is_compiled else LONG)
            is_lost = self.is_decided and not self.is_won_alone
            self.is_over = best <= QUICK or not self.alone and is_long or is_lost
