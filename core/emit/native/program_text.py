"""What the functions of one native program share: the module, errors that it can end with, callbacks, constants.

The context that every function is passed is an array of words: the number of the error (0: none), the head of the list of
stacks' memory, the lowest address that the processor's stack may reach, the work that may be done before signals are looked for, values of the error (two words each), lengths of the results that are not known before.
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
    """The text of a program while it is written."""

    STACKS = 1
    LIMIT = 2
    WORK = 3
    VALUES = 4
    MOST_VALUES = 16
    LENGTHS = VALUES + 2 * MOST_VALUES

    def __init__(self, function: Function, bounds_check: bool, processor: Processor) -> None:
        self.bounds_check = bounds_check
        self.places = numbered(function)
        self.module = Module(processor)
        self.failures: list[tuple[Any, str, list[np.dtype], int]] = []
        self.callbacks: list[Any] = []
        self.places_of_callbacks: list[int] = []
        self.constants: dict[str, str] = {}
        self.names: dict[Function, str] = {}
        self.to_write: list[Function] = []
        self.kept: list[str] = []
        self.marks: dict[str, str] = {}
        self.polls = False  # loops look for signals
        self.is_recursive = False
        self.frames = 0  # bytes of the processor's stack that its functions take, each once

    def failure(self, exception: Any, text: str, dtypes: Sequence[np.dtype] = (), op: Operation | None = None) -> int:
        """The number, from 1, of an error of an operation."""
        entry = (exception, text, list(dtypes), self.place_of(op))
        if entry not in self.failures:
            self.failures.append(entry)
        return self.failures.index(entry) + 1

    def place_of(self, op: Operation | None) -> int:
        """The number of the place in the user's program that an operation comes from, -1 if it is not known."""
        return -1 if op is None else self.places.get(calls_to(op.line), -1)

    def name_of(self, function: Function) -> str:
        """The name of a function in the module; one that is new will be written."""
        if function not in self.names:
            self.names[function] = f"f{len(self.names)}"
            self.to_write.append(function)
        return self.names[function]

    def keep(self, name: str) -> str:
        """A pointer of the program's own to memory that is freed with the program."""
        if name not in self.kept:
            self.kept.append(name)
            self.module.globals.append(f"@{name} = global ptr null")
        return f"@{name}"

    def metadata(self, text: str) -> str:
        return self.marks.setdefault(text, f"!{len(self.marks)}")

    def text(self) -> str:
        return self.module.text() + "".join(f"{name} = {text}\n" for text, name in self.marks.items())
