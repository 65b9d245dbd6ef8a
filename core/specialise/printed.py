"""``print`` and ``sys.stderr.write``: a program writes when it runs, to the streams of that time."""

from __future__ import annotations

import builtins
import sys
import warnings
from typing import Any

from ..errors import BadInput
from ..ir.traced_text import Text, braced
from ..ir.typed import debug_print
from ..source.definitions import user_frame
from ..values.attributes import bound_to
from .arguments import has_traced
from .formatting import text_of
from .left_to_python import leave
from .text_methods import length_of
from .traced import EFFECTS, traces

_STREAMS = ("stdout", "stderr")


def stream_of(file: Any) -> str | None:
    """Return which of Python's streams a file is, by its name in ``sys``."""
    return next((name for name in _STREAMS if file is not None and file is getattr(sys, name)), None)


def write(trace: Any, text: Any, **options: Any) -> None:
    """Record that the program writes a text, with the options of ``debug_print``."""
    if trace.leaves_effects:
        return leave(trace)
    template, values = (text.template, text.values) if isinstance(text, Text) else (braced(text), [])
    trace.builder.call(debug_print, [trace.value(x) for x in values], [], text=template, **options)


@traces(builtins.print)
def _print(trace: Any, *values: Any, sep: Any = None, end: Any = None, file: Any = None, flush: Any = False) -> None:
    stream = "stdout" if file is None else stream_of(file)
    if stream is None:
        raise BadInput(
            "print to a file other than sys.stdout and sys.stderr cannot be compiled; return the text, or call print through mo.callback"
        )
    for option in (sep, end, flush):
        if has_traced(option):
            raise BadInput("the options of print must be known while compiling; make them part of what is printed")
    if trace.leaves_effects:
        return leave(trace)
    text = Text.joined([part for x in values for part in (" " if sep is None else sep, text_of(trace, x))][1:])
    if isinstance(text, Text):
        _warn_once(trace)
    write(trace, text, end="\n" if end is None else end, stream=stream, flush=bool(flush))


EFFECTS.add(builtins.print)


def of_stream(trace: Any, function: Any, args: Any) -> Any:
    """Call a method that writes to one of Python's streams; NotImplemented for all other functions."""
    stream = stream_of(bound_to(function))
    if stream is None:
        return NotImplemented
    if function.__name__ == "flush" and not args:
        return write(trace, "", end="", stream=stream, flush=True)
    if function.__name__ == "write" and len(args) == 1 and isinstance(args[0], (str, Text)):
        if isinstance(args[0], Text) and not trace.leaves_effects:
            _warn_once(trace)
        write(trace, args[0], end="", stream=stream)
        return length_of(trace, args[0])
    return NotImplemented


def _warn_once(trace: Any) -> None:
    """Warn that the program prints numbers, once for each line."""
    filename, line = user_frame()
    line = trace.builder.line or line
    if getattr(trace, "scopes", None):  # else ``print`` itself is what is compiled
        filename = trace.scope.filename
    warned = vars(trace).setdefault("prints_warned_of", set())
    if (filename, line) not in warned:
        warned.add((filename, line))
        text = (
            f"print in compiled code (line {line}) prints values that are not known while compiling: it prints at each call of "
            "the program, not once while compiling; use morula.debug.print to format such values and to avoid this warning"
        )
        warnings.warn_explicit(text, RuntimeWarning, filename, line)
