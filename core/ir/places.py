"""Source locations of operations, and tracebacks of exceptions that compiled programs raise.

An operation's line is an int that also knows its file, function and call site, because calls are inlined.  A compiled
program stores only a number for each place that may raise; the typed function maps it to the location, so that a
program from the cache reports the lines of the current source.
"""

from __future__ import annotations

import ast
import sys
from functools import cache, cached_property
from types import CodeType, TracebackType

from ..errors import FOLDER
from .dynamic import Block, Function, walk

Calls = tuple[tuple[str, str, int], ...]
"""File, function and line of each frame of the call stack at a place, outermost first."""


class Line(int):
    """A line number in a function that was called at the line ``caller``."""

    filename: str
    function: str
    caller: int

    @classmethod
    def of(cls, number: int, filename: str, function: str, caller: int) -> Line:
        made = cls(number)
        made.filename, made.function, made.caller = filename, function, caller
        return made

    @cached_property
    def calls(self) -> Calls:
        outer = calls_to(self.caller)
        is_users = not self.filename.startswith(FOLDER)
        return (*outer, (self.filename, self.function, int(self))) if is_users else outer


def calls_to(line: int) -> Calls:
    """Return the call stack at an operation's line; empty for a plain int."""
    return line.calls if isinstance(line, Line) else ()


def numbered(function: Function) -> dict[Calls, int]:
    """Number the places of a typed function and of the functions that it calls."""
    found: dict[Calls, int] = {}
    seen = {function}

    def visit(block: Block) -> None:
        for op in walk(block):
            found.setdefault(calls_to(op.line), len(found))
            if isinstance(op.callee, Function) and op.callee not in seen:
                seen.add(op.callee)
                visit(op.callee.block)

    visit(function.block)
    return found


@cache
def _giving_its_frame() -> CodeType:
    """Return code that returns its own frame; it has no columns, so that a traceback underlines nothing."""
    tree = ast.parse("frame()", mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            node.col_offset = node.end_col_offset = -1
    return compile(tree, "", "eval")


def raised_at(error: BaseException, calls: Calls) -> BaseException:
    """Prepend these calls to the traceback of an exception, and return it."""
    made = error.__traceback__
    for filename, name, line in reversed(calls):
        code = _giving_its_frame().replace(co_filename=filename, co_name=name, co_qualname=name, co_firstlineno=line)
        frame = eval(code, {"__name__": name, "frame": sys._getframe})
        made = TracebackType(made, frame, frame.f_lasti, line)
    return error.with_traceback(made)
