"""Where in the user's program an operation comes from, and the traceback of what a compiled program raises there.

The line of an operation is a number that also knows its file, its function and the call that led to it, since a program holds
the functions that are called in it.  A compiled program keeps, for each place that may raise, the place's number only: where
that is follows from the typed function, so that a program from the cache tells the lines of today's source.
"""

from __future__ import annotations

import ast
import sys
from functools import cache, cached_property
from types import CodeType, TracebackType

from ..errors import FOLDER
from .dynamic import Block, Function, walk

Calls = tuple[tuple[str, str, int], ...]
"""File, function and line of each call that is open at a place, the outermost first."""


class Line(int):
    """The number of a line of a function, which was called at the line ``caller``."""

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
    """The calls that are open at an operation's line; none, if it is only a number."""
    return line.calls if isinstance(line, Line) else ()


def numbered(function: Function) -> dict[Calls, int]:
    """A number for each place of a typed function, and of those that it calls."""
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
    """Code on line 1 without columns, so that a traceback marks none."""
    tree = ast.parse("frame()", mode="eval")
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            node.col_offset = node.end_col_offset = -1
    return compile(tree, "", "eval")


def raised_at(error: BaseException, calls: Calls) -> BaseException:
    """An exception with a traceback through these calls, before the one that it has."""
    made = error.__traceback__
    for filename, name, line in reversed(calls):
        code = _giving_its_frame().replace(co_filename=filename, co_name=name, co_qualname=name, co_firstlineno=line)
        frame = eval(code, {"__name__": name, "frame": sys._getframe})
        made = TracebackType(made, frame, frame.f_lasti, line)
    return error.with_traceback(made)
