"""Bugs of the engine, reported as such with the user's line; and tracebacks without the engine's frames.

While a function is traced, Python raises two kinds of exceptions: those of the program (``[1, 2][5]``), which it would
also raise if it were run, and faults, raised by bugs in the engine's code.  A program may catch only the former.

When an error leaves the engine, ``prune`` removes the engine's frames from its traceback, so that it reads as in plain
Python. ``MORULA_TRACEBACK=full`` in the environment keeps them.
"""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from .errors import ENGINE, BadInput, InvalidIR, MorulaError

KINDS = (AssertionError, AttributeError, LookupError, NameError, NotImplementedError)
"""Exceptions that indicate a bug in the engine; bad operands raise other classes."""

WORDS = {
    "Scalar": "number", "Traced": "number", "Storage": "numpy.ndarray", "Sequence": "range", "Late": "value", "Choice": "value", "Rows": "list",
    "Conflict": "value", "Unread": "value", "Unbound": "value", "Jump": "value", "Region": "value", "Flat": "numpy.flatiter",
    "Generator": "generator", "Suspended": "generator", "Items": "iterator", "Entries": "iterator", "Walk": "iterator",
}  # fmt: skip
"""The engine's class that represents an object during tracing -> the user's name for that object."""

_INTERNAL = re.compile(rf"\b({'|'.join(WORDS)})\b")


def in_words(text: str) -> str:
    """Return a message with the engine's class names replaced by the user's (``WORDS``)."""
    return _INTERNAL.sub(lambda found: WORDS[found[0]], text)


def kind_of(x: object) -> str:
    """Return the name of an object's class, for messages."""
    name = type(x).__name__.rpartition(".")[2]
    return WORDS.get(name, name) if type(x).__module__.startswith(ENGINE) else name


FOR_PROGRAMS = frozenset(
    "call_real getitem setitem delitem _from_container _into_container run_Delete contains attribute of_class set_attribute eval_Dict "
    "eval_FormattedValue _repeated super_ iterate check settled".split()
)
"""Engine functions that operate on the program's objects: exceptions of Python there are the program's."""


def is_fault(error: BaseException) -> bool:
    """Return whether an exception comes from a bug in the engine, not from the program or a ``raise``."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    code = trace.tb_frame.f_code
    if not trace.tb_frame.f_globals.get("__name__", "").startswith(ENGINE) or code.co_name in FOR_PROGRAMS:
        return False
    if not isinstance(error, KINDS) and not _INTERNAL.search(_text(error)):
        return False
    line = linecache.getline(code.co_filename, trace.tb_lineno).strip()
    return not line.startswith("raise") and line != ""


def _text(error: BaseException) -> str:
    """Return the text of an exception's str and int arguments; others may be traced values."""
    return " ".join(x if isinstance(x, str) else repr(x) for x in error.args if isinstance(x, (str, int)))


def fault(error: BaseException) -> BadInput:
    """Return the error that reports ``error``, a fault of the engine, to the user."""
    first = _text(error).partition("\n")[0][:160]
    if isinstance(error, (TypeError, ValueError)) and _INTERNAL.search(first):
        made = BadInput(
            f"{in_words(first)}; either this is an error of the program, or compiled code does not support the operation: "
            "rewrite it, or call it through mo.callback"
        )
    else:
        made = BadInput(
            f"this is a fault of morula, not of the program ({type(error).__name__}: {in_words(first)}); please report it. "
            "Until it is fixed, call the function without jit, or call this part of it through mo.callback"
        )
    made.__cause__ = error
    return made


@contextmanager
def refused(where: str) -> Iterator[None]:
    """Turn exceptions of the engine into BadInput that names ``where``; the block must not run the program's code."""
    try:
        yield
    except (MemoryError, OSError):
        raise
    except RecursionError as error:
        raise BadInput(
            "the program is nested too deeply to be compiled; replace deeply nested conditions and calls by loops over arrays"
            f"\n  in {where}"
        ) from error
    except Exception as error:
        if isinstance(error, MorulaError) and not isinstance(error, InvalidIR):
            raise
        made = fault(error)
        made.args = (f"{made.args[0]}\n  in {where}",)
        raise made from error


def prune(error: BaseException) -> None:
    """Remove the engine's frames, except the caller's own, from the traceback of an error that the caller caught."""
    if os.environ.get("MORULA_TRACEBACK") == "full" or error.__traceback__ is None:
        return
    seen = {id(error)}
    error.__traceback__.tb_next = _of_user(error.__traceback__.tb_next)
    waiting = _led_to(error)
    while waiting:
        e = waiting.pop()
        if e is not None and id(e) not in seen:
            seen.add(id(e))
            e.__traceback__ = _of_user(e.__traceback__)
            waiting += _led_to(e)


def _led_to(error: BaseException) -> list[BaseException | None]:
    return [error.__cause__, error.__context__, *getattr(error, "exceptions", ())]


def _of_user(traceback: TracebackType | None) -> TracebackType | None:
    kept: list[TracebackType] = []
    while traceback is not None:
        if not traceback.tb_frame.f_globals.get("__name__", "").startswith(ENGINE):
            kept.append(traceback)
        traceback = traceback.tb_next
    result = None
    for t in reversed(kept):
        result = TracebackType(result, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return result
