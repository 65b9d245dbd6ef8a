"""The profile hook that watches a thread while C code runs, suspended where that code calls recorded code.

The hook gets every call and return, including those of the engine, which need no watching; hence the suspension.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from types import FrameType, MethodType
from typing import Any


class Onlooker:
    """A profile hook: its method ``event`` gets the events of a thread."""

    enclosing: Any = None  # the hook that was installed before
    outer: Onlooker | None = None  # the onlooker during whose call this one began
    follows = False  # whether it traces the lines of some frames

    def event(self, frame: FrameType, event: str, arg: Any) -> Any:
        raise NotImplementedError

    def line(self, frame: FrameType, event: str, arg: Any) -> Any:
        """Get each line of a frame before it runs, as the frame's trace function."""
        raise NotImplementedError

    def pass_over(self, frame: FrameType, event: str, arg: Any) -> None:
        """Ignore an event; as the thread's trace function this only enables the trace functions of frames."""

    def follow(self, frame: FrameType) -> None:
        """Start to pass the lines of a frame to ``line``."""
        if not self.follows:
            self.follows = True
            sys.settrace(self.pass_over)
        frame.f_trace = self.line

    def leave(self) -> None:
        """Suspend the tracing of lines."""
        if self.follows and sys.gettrace() == self.pass_over:
            sys.settrace(None)


class _Innermost(threading.local):
    onlooker: Onlooker | None = None


innermost = _Innermost()
"""The onlooker that began last in this thread, even if its hook is suspended."""


def unwatched(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function of the engine with the onlooker's hook suspended, under the hook that was installed before."""
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


STORING_NOTHING = {"numpy", "fractions", "numbers", "abc", "enum", "functools", "inspect", "importlib"}
STORING_NOTHING |= {"sympy.core", "sympy.functions", "sympy.logic", "sympy.multipledispatch", "sympy.printing"}
STORING_NOTHING |= {"sympy.external", "mpmath.libmp"}
"""Packages whose functions store only into objects that they make, except for cached properties.

SymPy's expressions are immutable; what it stores in them and in its tables are hashes and truth values.
"""


@lru_cache(maxsize=1024)
def stores_nothing(module: str) -> bool:
    """Whether the functions of a module store nothing outside of objects that they make."""
    parts = module.split(".")
    return parts[0] in STORING_NOTHING or ".".join(parts[:2]) in STORING_NOTHING
