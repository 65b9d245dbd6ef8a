"""Builders of LLVM assembly text: instructions, blocks, counted loops, and the declarations of a module.

LLVM parses text fast, and ``llvm_text`` shows it, so there is no tree of objects in between. A register or a literal is
a string. Integer arithmetic of two literals is done here, so that indices of unrolled loops are literals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

from .machine import Processor

_SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "float": 4}
UNROLLED = 16  # loops over at most this many elements, known at compile time, are unrolled
LONG = 2_000  # but not behind so many straight lines: the time of LLVM's vectoriser of such is quadratic in them


MARKS = 'nounwind "reciprocal-estimates"="none"'
"""Attributes of every function. Refined estimates of reciprocal roots would be NaN at zero and infinity."""


class Module:
    """Declarations, constants and functions, each under its own name, for a processor."""

    def __init__(self, processor: Processor) -> None:
        self.processor = processor
        self.declared: dict[str, str] = {}
        self.globals: list[str] = []
        self.functions: list[str] = []
        self.attributes: dict[str, str] = {}
        self.used: dict[str, None] = {}  # functions that only LLVM's passes will call
        self.symbols: dict[str, Any] = {}  # names to link: arrays, and symbols of SciPy's C functions

    def declare(self, name: str, result: str, parameters: Sequence[str], pure: bool = True) -> str:
        """Declare a C function or an LLVM intrinsic and return its name; ``pure``: it reads and writes no memory."""
        marks = " nounwind willreturn memory(none)" if pure and not name.startswith("llvm.") else ""
        self.declared.setdefault(name, f"declare {result} @{name}({', '.join(parameters)}){marks}")
        return name

    def attribute(self, text: str) -> str:
        """Return the attribute group with this text."""
        return self.attributes.setdefault(text, f"#{len(self.attributes)}")

    def constant(self, text: str, mutable: bool = False) -> str:
        """Return a private global with this type and value."""
        name = f"@g{len(self.globals)}"
        kind = "private global" if mutable else "private unnamed_addr constant"
        self.globals.append(f"{name} = {kind} {text}, align 64")
        return name

    def text(self) -> str:
        kept = ", ".join(f"ptr @{name}" for name in self.used)
        used = [f'@llvm.compiler.used = appending global [{len(self.used)} x ptr] [{kept}], section "llvm.metadata"']
        groups = [f"attributes {n} = {{ {t} }}" for t, n in self.attributes.items()]
        return (
            "\n".join([*self.globals, *self.declared.values(), *self.functions, *groups, *used[: len(self.used)]])
            + "\n"
        )


class Code:
    """The body of one function; ``label`` is the block that is being written."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.allocas: list[str] = []
        self.frame = 0  # bytes, at most
        self.lines: list[str] = []
        self.made: dict[str, str] = {}  # for each register, the instruction that computes it
        self.count = 0
        self.label, self.began = "start", 0  # the block, and its first line
        self.is_reproducible = False  # see ``reproducible``
        self.as_it_is: Callable[[], str] = str  # returns the metadata of loops that LLVM does not vectorise
        self.spread: Callable[..., bool] | None = (
            None  # runs a nest of loops in parallel, if that is worth it: see ``nest``
        )
        self.known: list[dict[Any, Any]] = [{}]  # computed elements that dominate the current position, by scope

    # Instructions

    def new(self, prefix: str = "v") -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def value(self, text: str) -> str:
        name = f"%{self.new()}"
        self.lines.append(f"  {name} = {text}")
        self.made[name] = text
        return name

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def call(self, name: str, result: str, arguments: Sequence[tuple[str, str]], **declaration: Any) -> str:
        """Declare and call a function with (type, value) pairs; ``attribute`` is the attribute group of the call."""
        group = declaration.pop("attribute", "")
        self.module.declare(name, result, [kind for kind, _ in arguments], **declaration)
        text = f"call {result} @{name}({', '.join(f'{kind} {x}' for kind, x in arguments)}) {group}".rstrip()
        if result == "void":
            self.do(text)
            return ""
        return self.value(text)

    def slot(self, kind: str, count: int = 1, align: int = 64) -> str:
        """Return memory on the function's stack, allocated at its entry."""
        name = f"%{self.new('m')}"
        self.frame += count * _SIZES.get(kind, 8) + align
        self.allocas.append(f"  {name} = alloca [{count} x {kind}], align {align}")
        self.made[name] = "alloca"
        return name

    # Blocks

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label, self.began = label, len(self.lines)

    def jump(self, label: str) -> None:
        self.do(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str, weights: str = "") -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}{weights}")

    def choose(self, cases: Sequence[tuple[str, Callable[[], None]]], otherwise: Callable[[], None]) -> None:
        """Emit the code of the first case whose condition holds."""
        after = self.new("on")
        for condition, emit in cases:
            yes, no = self.new("case"), self.new("else")
            self.branch(condition, yes, no)
            self.start(yes)
            with self.scope():
                emit()
            self.jump(after)
            self.start(no)
        with self.scope():
            otherwise()
        self.jump(after)
        self.start(after)

    def phi(self, kind: str, first: str, first_label: str) -> tuple[str, Callable[[str, str], None]]:
        """Return a phi, and a function that sets its second entry later."""
        name, at = f"%{self.new()}", len(self.lines)
        self.lines.append("")
        self.made[name] = f"phi {kind}"

        def close(second: str, second_label: str) -> None:
            self.lines[at] = f"  {name} = phi {kind} [ {first}, %{first_label} ], [ {second}, %{second_label} ]"

        return name, close

    @contextmanager
    def scope(self):
        """Open a scope: elements computed inside are not reused after it."""
        self.known.append({})
        try:
            yield
        finally:
            self.known.pop()

    @contextmanager
    def reproducible(self):
        """Emit code that gives the same digits in every loop: without contraction and vector variants of functions."""
        before, self.is_reproducible = self.is_reproducible, True
        try:
            yield
        finally:
            self.is_reproducible = before

    # Integers (i64)

    def add(self, a: str, b: str) -> str:
        if _literal(a) and _literal(b):
            return str(int(a) + int(b))
        if a == "0" or b == "0":
            return b if a == "0" else a
        return self.value(f"add nsw i64 {a}, {b}")

    def subtract(self, a: str, b: str) -> str:
        if _literal(a) and _literal(b):
            return str(int(a) - int(b))
        return a if b == "0" else self.value(f"sub nsw i64 {a}, {b}")

    def multiply(self, a: str, b: str) -> str:
        if _literal(a) and _literal(b):
            return str(int(a) * int(b))
        if a == "1" or b == "1":
            return b if a == "1" else a
        return "0" if "0" in (a, b) else self.value(f"mul nsw i64 {a}, {b}")

    def product(self, factors: Sequence[str]) -> str:
        found = "1"
        for factor in factors:
            found = self.multiply(found, factor)
        return found

    # Loops

    def loop(
        self,
        count: str,
        body: Callable[..., Sequence[str]],
        kinds: Sequence[str] = (),
        initial: Sequence[str] = (),
        unroll: bool = True,
    ) -> list[str]:
        """Emit a loop of ``body(i, *carried)``, which returns the next carried registers, for i in 0 ... count - 1.

        Returns the carried registers after the loop. A short loop of known length is unrolled.
        """
        is_short = _literal(count) and (int(count) <= 1 or unroll and int(count) <= UNROLLED)
        if is_short and (int(count) <= 1 or len(self.lines) - self.began < LONG):
            carried = list(initial)
            for i in range(int(count)):
                carried = list(body(str(i), *carried) or ())
            return carried
        return self.counted("0", count, 1, body, kinds, initial, self.as_it_is() if is_short else "")

    def counted(
        self,
        first: str,
        stop: str,
        step: int,
        body: Callable[..., Sequence[str]],
        kinds: Sequence[str],
        initial: Sequence[str],
        marks: str = "",
    ) -> list[str]:
        """Emit the loop ``for i in range(first, stop, step)`` with a step of 1 or -1; ``marks`` is metadata for LLVM."""

        def turn(i: str, *carried: str) -> tuple[Sequence[str], str]:
            with self.scope():
                carried_on = body(i, *carried) or ()
            return carried_on, self.value(f"add nsw i64 {i}, {step}")

        return self.turns(first, stop, step, turn, kinds, initial, marks)

    def turns(
        self,
        first: str,
        stop: str,
        direction: int,
        turn: Callable[..., tuple[Sequence[str], str]],
        kinds: Sequence[str],
        initial: Sequence[str],
        marks: str = "",
    ) -> list[str]:
        """Emit a loop from ``first`` up or down to ``stop``.

        ``turn(at, *carried)`` returns the next carried registers and the next position.
        """
        inside, after, before = self.new("loop"), self.new("done"), self.label
        certain = _literal(first) and _literal(stop) and (int(stop) - int(first)) * direction > 0
        is_before = "slt" if direction > 0 else "sgt"
        if certain:
            self.jump(inside)
        else:
            self.branch(self.value(f"icmp {is_before} i64 {first}, {stop}"), inside, after)
        self.start(inside)
        at, close = self.phi("i64", first, before)
        phis = [self.phi(kind, x, before) for kind, x in zip(kinds, initial)]
        carried, following = turn(at, *(name for name, _ in phis))
        again = self.value(f"icmp {is_before} i64 {following}, {stop}")
        latch = self.label
        self.branch(again, inside, after, marks)
        close(following, latch)
        for (_, close_), x in zip(phis, carried):
            close_(x, latch)
        self.start(after)
        if certain:
            return list(carried)
        ends = zip(kinds, initial, carried)
        return [self.value(f"phi {kind} [ {x}, %{before} ], [ {y}, %{latch} ]") for kind, x, y in ends]

    def nest(
        self,
        lengths: Sequence[str],
        body: Callable[[list[str]], None],
        may_unroll: bool = True,
        independent: Sequence[int] = (),
    ) -> None:
        """Emit a nest of loops over an array's indices, the last dimension innermost.

        Iterations with another index in one of the dimensions ``independent`` may run at the same time.
        """
        if independent and self.spread is not None and self.spread(lengths, body, independent):
            return
        unroll = may_unroll and is_small(lengths)

        def level(at: int, indices: list[str]) -> None:
            if at == len(lengths):
                body(indices)
                return

            def inner(i: str) -> Sequence[str]:
                level(at + 1, [*indices, i])
                return ()

            self.loop(lengths[at], inner, unroll=unroll)

        level(0, [])


def _literal(text: str) -> bool:
    return text[0] != "%" and text[0] != "@"


def is_small(lengths: Sequence[str]) -> bool:
    """Return whether a nest of loops is unrolled."""
    return all(map(_literal, lengths)) and math.prod(map(int, lengths)) <= UNROLLED
