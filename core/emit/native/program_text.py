"""The state shared by the functions of one native program while it is written: module, errors, callbacks, constants.

Every function is passed the context, an array of 64-bit words:

    0         the error number, 0 for none
    STACKS    the head of the list of stacks' memory
    LIMIT     the lowest address that the processor's stack may reach
    WORK      the budget of work until the next check for signals
    LOOP      in a chunk of a parallel loop, the words of the loop (``thread_pool_code``); else 0
    SLOT      the chunk's place in the order of iterations
    VALUES    the values in the error's message, two words each
    LENGTHS   the lengths of the results that are known only at run time
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...ir.dynamic import Function, Operation
from ...ir.places import calls_to, numbered
from .assembly import Module
from .machine import Processor


class ProgramText:
    """The LLVM assembly of a program while it is written."""

    STACKS = 1
    LIMIT = 2
    WORK = 3
    LOOP = 4
    SLOT = 5
    VALUES = 6
    MOST_VALUES = 16
    LENGTHS = VALUES + 2 * MOST_VALUES
    FAILED = 7
    """The word of a parallel loop that holds the lowest slot with an error."""

    def __init__(self, function: Function, bounds_check: bool, processor: Processor, parallel: bool = False) -> None:
        self.bounds_check, self.parallel = bounds_check, parallel
        self.places = numbered(function)
        self.module = Module(processor)
        self.failures: list[tuple[Any, str, list[np.dtype], int]] = []
        self.callbacks: list[Any] = []
        self.places_of_callbacks: list[int] = []
        self.constants: dict[str, str] = {}
        self.names: dict[Function, str] = {}
        self.to_write: list[Function] = []
        self.pieces: set[Function] = set()  # functions that are called once: see ``long_functions``
        self.kept: list[str] = []
        self.marks: dict[str, str] = {}
        self.polls = False  # loops look for signals
        self.is_recursive = False
        self.frames = 0  # bytes of the processor's stack that its functions take, each once
        self.loops: list[tuple[int, str]] = []  # for each loop, the number of its place and how it runs

    def failure(self, exception: Any, text: str, dtypes: Sequence[np.dtype] = (), op: Operation | None = None) -> int:
        """Return the number, from 1, of an error that an operation may end the program with."""
        entry = (exception, text, list(dtypes), self.place_of(op))
        if entry not in self.failures:
            self.failures.append(entry)
        return self.failures.index(entry) + 1

    def note(self, op: Operation, how: str) -> None:
        """Note how a loop, or the loops of an operation on arrays, are run, for ``explain``."""
        if (self.place_of(op), how) not in self.loops:
            self.loops.append((self.place_of(op), how))

    def place_of(self, op: Operation | None) -> int:
        """Return the number of an operation's place in the user's program, -1 if unknown."""
        return -1 if op is None else self.places.get(calls_to(op.line), -1)

    def name_of(self, function: Function) -> str:
        """Return the name of a function in the module; a new one is queued to be written."""
        if function not in self.names:
            self.names[function] = f"f{len(self.names)}"
            self.to_write.append(function)
        return self.names[function]

    def keep(self, name: str) -> str:
        """Return a global pointer for memory that is kept between calls and freed with the program."""
        if name not in self.kept:
            self.kept.append(name)
            self.module.globals.append(f"@{name} = global ptr null")
        return f"@{name}"

    def metadata(self, text: str) -> str:
        return self.marks.setdefault(text, f"!{len(self.marks)}")

    def loop_marks(self, name: str, x: int) -> str:
        """Return the metadata of a loop's last branch that sets an option of LLVM's loop passes."""
        option = self.metadata(f'!{{!"llvm.loop.{name}", i32 {x}}}')
        found = next((k for text, k in self.marks.items() if text == f"distinct !{{{k}, {option}}}"), "")
        name = found or f"!{len(self.marks)}"
        return f", !llvm.loop {self.metadata(f'distinct !{{{name}, {option}}}')}"

    def text(self) -> str:
        return self.module.text() + "".join(f"{name} = {text}\n" for text, name in self.marks.items())
