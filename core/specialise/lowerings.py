"""Functions that stand for others in the programs of one back end (``lowering``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..rules.registry import ADJOINTS, LOWERINGS, TANGENTS, key_of


def lowered(trace: Any, f: Any) -> Callable[..., Any] | None:
    """Return what calls the function that stands for f, if there is one and it is not f itself that calls.

    In a derivative, a function with a derivative by hand has that one.
    """
    key = key_of(f)
    found = LOWERINGS.get((trace.target, key))
    if found is None or key in trace.lowered or trace.level and (key in ADJOINTS or key in TANGENTS):
        return None

    def run(*args: Any, **kwargs: Any) -> Any:
        trace.lowered.append(key)
        try:
            return trace.call(found, *args, **kwargs)
        finally:
            trace.lowered.pop()

    return run
