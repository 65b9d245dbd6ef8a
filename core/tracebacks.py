"""Tracebacks without the engine's own frames.

Between two lines of a differentiated program lie the engine's calls, several for each of the user's.  Where an error leaves
the engine they are taken out, so that what remains is what Python itself would show.  ``MORULA_TRACEBACK=full`` in the
environment leaves all of them in.
"""

from __future__ import annotations

import os
from types import TracebackType

from .errors import ENGINE


def prune(error: BaseException) -> None:
    """Leave the caller's own frame and the user's in the traceback of an error that it has caught."""
    if os.environ.get("MORULA_TRACEBACK") == "full" or error.__traceback__ is None:
        return
    seen = {id(error)}
    error.__traceback__.tb_next = _of_user(error.__traceback__.tb_next)
    waiting = _led_to(error)
    while waiting:
        e = waiting.pop()
        if e is not None and id(e) not in seen:
            seen.add(id(e))
            e.__traceback__ = _of_user(e.__traceback__)
            waiting += _led_to(e)


def _led_to(error: BaseException) -> list[BaseException | None]:
    return [error.__cause__, error.__context__, *getattr(error, "exceptions", ())]


def _of_user(traceback: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while traceback is not None:
        if not traceback.tb_frame.f_globals.get("__name__", "").startswith(ENGINE):
            kept.append(traceback)
        traceback = traceback.tb_next
    result = None
    for t in reversed(kept):
        result = TracebackType(result, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return result
