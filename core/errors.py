"""The errors that morula raises, one tree."""

from __future__ import annotations

from pathlib import Path

ENGINE = f"{__package__}."
"""The beginning of the names of the modules of the engine."""

FOLDER = str(Path(__file__).parent)
"""Where its files are."""


class MorulaError(Exception):
    """The root of every error that morula raises itself."""


class NoDerivative(MorulaError):
    """A cotangent reached a call that has no derivative rule and no Python source to differentiate."""


class BadInput(MorulaError, ValueError, TypeError):
    """An argument that a public function cannot take: says what was given, what was expected and what to do.

    ``in_python``: the exception that Python or NumPy would raise there, if it is one that a program may catch.
    """

    def __init__(self, *args: object, in_python: Exception | None = None) -> None:
        super().__init__(*args)
        self.in_python = in_python


class InvalidIR(MorulaError):
    """A function violates a rule of the intermediate representation."""


def two_arguments(x: object) -> BadInput:
    return BadInput(
        f"two differentiated arguments hold the same {type(x).__name__}, which would have to be two variables; "
        "give them separate copies (copy.deepcopy), or differentiate one of them"
    )
