"""What is undone at the end of a run is undone whatever arrives in the midst of it: a ``KeyboardInterrupt``, a signal, no memory.

Python may raise the exception of a signal wherever a function is entered or a loop turns, also in a ``finally``.  What has to be
undone is therefore a list of steps that may be repeated, made before anything is changed:

    ending = [...]
    try:
        ...
    finally:
        try:
            undo(ending)
        except BaseException:
            undo(ending)  # an interrupt may come before anything else in it
            raise
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ATTEMPTS = 3
"""To do a step that raises an error of its own."""


def undo(steps: list[Callable[[], Any]]) -> None:
    """Call ``steps``, the last first, again where one is interrupted; what was raised is raised when all is done."""
    raised: BaseException | None = None
    failed = 0
    while steps:
        try:
            steps[-1]()
            steps.pop()
            failed = 0
        except BaseException as error:
            raised = raised or error
            failed += isinstance(error, Exception)
            if failed == ATTEMPTS:
                steps.pop()
                failed = 0
    if raised is not None:
        raise raised
