"""The hook by which a thread is watched while code in C runs, laid aside where that calls recorded code.

The hook is told of every call and return, also of those of the engine, which needs no watching.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType, MethodType
from typing import Any


class Onlooker:
    """What is told of the events of a thread by its method ``event``."""

    enclosing: Any = None  # the hook that was installed before
    outer: Onlooker | None = None  # the one during the call of which this one began

    def event(self, frame: FrameType, event: str, arg: Any) -> Any:
        raise NotImplementedError


class _Innermost(threading.local):
    onlooker: Onlooker | None = None


innermost = _Innermost()
"""The onlooker that has begun last in this thread, be its hook laid aside or not."""


def unwatched(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)`` of a function of the engine, under the hook of before."""
    hook = sys.getprofile()
    onlooker = hook.__self__ if isinstance(hook, MethodType) else None
    if not isinstance(onlooker, Onlooker):
        return function(*args, **kwargs)
    try:
        sys.setprofile(onlooker.enclosing)
        return function(*args, **kwargs)
    finally:
        sys.setprofile(hook)
