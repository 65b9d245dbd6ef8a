"""Ends a program where it would print or log, for Python to run the function again: see ``jit(f, partial=True)``."""

from __future__ import annotations

from typing import Any

from ..errors import BadInput

EFFECT = "it prints, logs or calls Python while it runs"


def leave(trace: Any) -> None:
    """Let the program raise here; it has changed nothing.

    Raises:
        BadInput: it would have the effect in any case.
    """
    if not trace.changes:
        raise BadInput(EFFECT)
    trace.raise_error(True, BadInput(EFFECT))
