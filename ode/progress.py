"""Reports of a running solve: a progress bar, or calls of a function, also from compiled programs."""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import Any

from ..core import BadInput, constant

MOST = 1000
"""The number of accepted steps after which a report is made even if the time has hardly advanced."""


class Progress:
    """Decides in the loop of a solve when to report: at each hundredth of the span, and after ``MOST`` steps.

    tell: what is called with the first time, the last time, the time, the number of accepted steps, and whether the solve has
    ended.
    """

    def __init__(self, tell: Callable[..., None], start: float, end: float) -> None:
        from ..core import callback  # here, so that importing the package does not load the compiler

        self.report, self.tell, self.start, self.end = callback, tell, start, end
        self.due, self.quiet = 0, 0

    @constant
    def passed(self, t: float, steps: int) -> None:
        """Note that a step has ended at t."""
        part = floor(100.0 * (t - self.start) / (self.end - self.start))
        self.quiet += 1
        if part > self.due or self.quiet >= MOST:
            self.due, self.quiet = part, 0
            self.report(self.tell, None, self.start, self.end, t, steps, False)

    @constant
    def begun(self) -> None:
        self.report(self.tell, None, self.start, self.end, self.start, 0, False)

    @constant
    def ended(self, t: float, steps: int) -> None:
        self.report(self.tell, None, self.start, self.end, t, steps, True)


class _Told:
    """Calls the user's function; a compiled loop that is run again for its derivative has been told of already."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.furthest = function, -1

    def __call__(self, start: float, end: float, t: float, steps: int, is_over: bool) -> None:
        if steps == 0 or steps > self.furthest:
            self.furthest = int(steps)
            self.function(float(t), int(steps))


class _Bar:
    """Shows the time in a progress bar."""

    def __init__(self) -> None:
        self.bar: Any = None

    def __call__(self, start: float, end: float, t: float, steps: int, is_over: bool) -> None:
        from tqdm import tqdm  # here, so that importing the package does not wait for it

        if self.bar is None or steps == 0:
            self.close()
            form = "{desc} {percentage:3.0f}%|{bar}| [{elapsed}<{remaining}]"
            self.bar = tqdm(total=abs(float(end) - float(start)), bar_format=form, leave=True)
        self.bar.set_description_str(f"t = {float(t):.4g} of {float(end):.4g}, {int(steps)} steps", refresh=False)
        self.bar.update(max(abs(float(t) - float(start)) - self.bar.n, 0.0))
        if is_over:
            self.bar.refresh()
            self.close()

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def teller_of(progress: Any) -> Callable[..., None] | None:
    """Return what reports for the argument ``progress`` of a solver; None for no reports."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return _Bar()
    if not callable(progress):
        raise BadInput(f"progress is {progress!r}; expected True for a progress bar, or a function progress(t, steps)")
    return _Told(progress)
