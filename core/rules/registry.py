"""The tables of handlers, for functions that are not recorded from their source."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

Handler = Callable[..., Any]


class ByIdentity:
    """Stands for a function that cannot be a key of a table itself: see ``has_hash``."""

    __slots__ = ("function",)

    def __init__(self, function: Any) -> None:
        self.function = function

    def __hash__(self) -> int:
        return id(self.function)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and other.function is self.function


def has_hash(function: Any) -> bool:
    """Whether a function can be a key of a table: those of ``ctypes`` have no hash, and one that is defined in Python is code
    of the program, which a lookup must not run."""
    hashed = type(function).__hash__
    if hashed is None or type(hashed) is FunctionType:
        return False
    try:
        hash(function)
    except TypeError:
        return False
    return True


def key_of(function: Any) -> Any:
    """Return the key of a function in the tables below: itself if it has a hash."""
    return function if has_hash(function) else ByIdentity(function)


HANDLERS: dict[Any, Handler] = {}
"""Functions that are called as ``handler(tape, *args, **kwargs)``: operators, builtins, mutators, morula's own."""

ADJOINTS: dict[Any, Callable[..., Any]] = {}
"""The definitions registered with ``adjoint``, by function."""

HELD: set[Any] = set()
"""The functions of ``ADJOINTS`` whose results are held constant, by ``constant``."""

TANGENTS: dict[Any, Callable[..., Any]] = {}
"""The definitions registered with ``tangent``, by function."""

BATCH_RULES: dict[Any, Callable[..., Any]] = {}
"""The rules registered with ``batch_rule``, by function: they compute all samples of a batch."""

LOWERINGS: dict[tuple[str, Any], Callable[..., Any]] = {}
"""The functions registered with ``lowering``, by back end and by the function that they stand for."""

DESCRIBED_BY_INTS: list[type] = []
"""Classes whose Python ints describe an object, as the shape of a sparse matrix does: they are not differentiated."""

CALLERS: dict[type, Handler] = {}
"""Callable objects of built-in classes, by class: ``caller(tape, object, *args)``."""


def handles(*functions: Any) -> Callable[[Handler], Handler]:
    """Register a handler for some functions."""

    def register(handler: Handler) -> Handler:
        for function in functions:
            HANDLERS[function] = handler
        return handler

    return register
