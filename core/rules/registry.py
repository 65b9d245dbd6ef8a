"""The tables of handlers, for functions that are not recorded from their source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Handler = Callable[..., Any]

HANDLERS: dict[Any, Handler] = {}
"""Functions that are called as ``handler(tape, *args, **kwargs)``: operators, builtins, mutators, morula's own."""

ADJOINTS: dict[Any, Callable[..., Any]] = {}
"""The definitions registered with ``adjoint``, by function."""

TANGENTS: dict[Any, Callable[..., Any]] = {}
"""The definitions registered with ``tangent``, by function."""

CALLERS: dict[type, Handler] = {}
"""Callable objects of built-in classes, by class: ``caller(tape, object, *args)``."""


def handles(*functions: Any) -> Callable[[Handler], Handler]:
    """Register a handler for some functions."""

    def register(handler: Handler) -> Handler:
        for function in functions:
            HANDLERS[function] = handler
        return handler

    return register
