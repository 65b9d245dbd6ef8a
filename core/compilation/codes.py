"""What ``jit(f, partial=True)`` knows of all functions with one code object: when they are compiled, and how they fare."""

from __future__ import annotations

import inspect
from types import CodeType, FunctionType
from typing import Any

from ..errors import ENGINE
from ..rules import find_rule
from ..rules.registry import ADJOINTS, HANDLERS, TANGENTS
from ..source.bytecode import instructions
from ..source.definitions import describe
from ..source.templates import COMPREHENSIONS, Template
from .race import Race

SOON, LATER = 16, 4
"""A function without a loop is compiled at call 17, one with a loop at its first; then each time after ``LATER`` times as
many further calls of signatures without a program, so that compiling cannot take much more time than it saves."""
_NOT_RUN_AT_ONCE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class Code:
    """All functions with one code object: what is known of them, and how often and how long they ran."""

    def __init__(self, function: FunctionType, is_loop: bool = False) -> None:
        self.function, self.is_loop = function, is_loop
        self.is_kept = not is_loop and _is_kept(function)
        self.parts: dict[FunctionType, Any] = {}
        self.template: Template | None = None
        self.is_divided = self.is_tried = False
        self.wait = 0 if is_loop or _has_loop(function.__code__) else SOON
        self.next_wait = LATER * max(self.wait, 1)
        self.reason = ""
        self.runs = {"compiled": Runs(), "interpreted": Runs()}
        self.races = Race(), Race()  # of plain calls, and of recorded ones

    def put_off(self) -> None:
        self.is_tried = True
        self.wait, self.next_wait = self.next_wait, LATER * self.next_wait

    @property
    def name(self) -> str:
        code = self.function.__code__
        return f"the loop at {code.co_filename}:{code.co_firstlineno}" if self.is_loop else describe(self.function)


class Runs:
    """How often a part ran in one form, and how long, without the parts that it called."""

    def __init__(self) -> None:
        self.calls, self.seconds = 0, 0.0


def _is_kept(function: FunctionType) -> bool:
    """Return whether a function is called as it is: a generator, one of NumPy or this engine, or with a derivative."""
    module = function.__module__ or ""
    if f"{module}.".startswith(ENGINE) or module.partition(".")[0] == "numpy":
        return True
    if (
        function.__code__.co_flags & _NOT_RUN_AT_ONCE
        or function in HANDLERS
        or function in ADJOINTS
        or function in TANGENTS
    ):
        return True
    return find_rule(function) is not None


def _has_loop(code: CodeType) -> bool:
    if any(i.opname == "FOR_ITER" or "JUMP_BACKWARD" in i.opname for i in instructions(code)):
        return True
    return any(_has_loop(c) for c in code.co_consts if isinstance(c, CodeType) and c.co_name in COMPREHENSIONS)


def table_of(codes: list[Code]) -> list[str]:
    rows = [(run.seconds, form, run.calls, code) for code in codes for form, run in code.runs.items() if run.calls]
    total = sum(seconds for seconds, *_ in rows) or 1.0
    share = {form: sum(s for s, f, *_ in rows if f == form) / total for form in ("compiled", "interpreted")}
    lines = [
        f"partly compiled: {share['compiled']:.0%} of {total:.3g} s in compiled parts, {share['interpreted']:.0%} in Python",
        "share of time, calls, form and part, with the reason why it is not compiled:",
    ]
    for seconds, form, calls, code in sorted(rows, key=lambda row: -row[0]):
        lines.append(f"{seconds / total:6.1%} {calls:6d}  {form:11}  {code.name}")
        if form == "interpreted":
            lines.append(f"{'':28}{_reason(code)}")
    return lines


def _reason(code: Code) -> str:
    if any(race.is_won_alone for race in code.races):
        return "Python is faster without entering compiled code"
    if code.reason:
        return " ".join(line.strip() for line in code.reason.splitlines()[:2])
    return f"compiled after {code.wait} more calls" if code.wait else "compiled at its next call"
