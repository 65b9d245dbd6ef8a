"""What cannot be compiled: programs that call it are refused at once, before its parts are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..core import BadInput, lowering


def refused_when_compiled(function: Callable[..., Any], text: str) -> None:
    """Make compiled programs refuse ``function`` with this text."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise BadInput(text)

    for target in ("native", "xla"):
        lowering(function, target)(refuse)


def outside_of_programs(solve: Callable[..., Any], reason: str, parts: str, advice: str = "") -> str:
    """Return the text for a solver that cannot be compiled; ``parts`` are the arguments that may be compiled functions."""
    return (
        f"{solve.__name__} cannot be compiled: {reason}; call it outside of the compiled function, which its {parts} may be, "
        f"or through mo.callback(solve, result_like, *args){advice}"
    )
