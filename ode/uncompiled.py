"""Solvers that cannot be compiled: programs that call them are refused at once, before their parts are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..core import BadInput, lowering


def refused_when_compiled(solve: Callable[..., Any], reason: str, parts: str, advice: str = "") -> None:
    """Make compiled programs refuse ``solve``; ``parts`` are the arguments that may be compiled functions.

    The reason and the advice go into the text of the error.
    """

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise BadInput(
            f"{solve.__name__} cannot be compiled: {reason}; call it outside of the compiled function, which its {parts} may be, "
            f"or through mo.callback(solve, result_like, *args){advice}"
        )

    for target in ("native", "xla"):
        lowering(solve, target)(refuse)
