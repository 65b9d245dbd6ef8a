"""The errors that morula raises."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

ENGINE = f"{__package__}."
"""Prefix of the engine's module names."""

FOLDER = str(Path(__file__).parent)
"""The folder of the engine's files."""


class MorulaError(Exception):
    """Base class of every error that morula raises itself."""


class NoDerivative(MorulaError):
    """A cotangent reached a call that has no derivative rule and no Python source to differentiate."""


class BadInput(MorulaError, ValueError, TypeError):
    """An argument that a public function cannot take; the message names what was given, what was expected and a remedy.

    ``in_python``: the exception that Python or NumPy would raise instead, if a program may catch it.
    ``through``: the functions whose calls could not be traced for this reason, the innermost first.
    """

    def __init__(self, *args: object, in_python: Exception | None = None) -> None:
        super().__init__(*args)
        self.in_python = in_python
        self.through: list[Callable[..., object]] = []


class NonFinite(MorulaError, FloatingPointError):
    """A result holds an Inf or NaN, in a run under ``debug_nans``; ``place`` is the file and line at which it first appeared."""

    place: tuple[str, int] | None = None


class CapacityExceeded(MorulaError):
    """A list became longer than the capacity compiled for it; the program is compiled again with a larger one."""


class InvalidIR(MorulaError):
    """A function violates a rule of the intermediate representation."""


def two_arguments(x: object) -> BadInput:
    return BadInput(
        f"two differentiated arguments hold the same {type(x).__name__} object, so its gradient would be ambiguous; "
        "pass separate copies (copy.deepcopy), or differentiate with respect to one of the arguments only"
    )
