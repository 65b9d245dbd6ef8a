"""The user's lines in the traceback of an exception."""

from __future__ import annotations

import traceback

COMPREHENSIONS = (
    "<listcomp>",
    "<setcomp>",
    "<dictcomp>",
    "<genexpr>",
)  # frames of their own in some versions of Python only


def raised_lines(error, file, caller=""):
    """Function and line of each frame of a file, without those of the function that has made the call."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == file]
    return [(f.name, f.lineno) for f in frames if f.name not in (caller, *COMPREHENSIONS)]
