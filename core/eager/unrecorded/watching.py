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
    follows = False  # whether it is told of the lines of some frames

    def event(self, frame: FrameType, event: str, arg: Any) -> Any:
        raise NotImplementedError

    def line(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Told of each line of a frame before it runs, if this is the frame's trace function."""
        raise NotImplementedError

    def pass_over(self, frame: FrameType, event: str, arg: Any) -> None:
        """The trace function of the thread, without which frames have no lines: it looks at none by itself."""

    def follow(self, frame: FrameType) -> None:
        """From now on ``line`` is told of the lines of a frame."""
        if not self.follows:
            self.follows = True
            sys.settrace(self.pass_over)
        frame.f_trace = self.line

    def leave(self) -> None:
        """Follow no line until ``follow`` is called again."""
        if self.follows and sys.gettrace() == self.pass_over:
            sys.settrace(None)


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
        onlooker.leave()
        return function(*args, **kwargs)
    finally:
        if onlooker.follows:
            sys.settrace(onlooker.pass_over)
        sys.setprofile(hook)
