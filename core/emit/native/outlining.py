"""A piece of a function as an LLVM function of its own, so that several threads can run it.

    i32 @name(ptr %environment, i64 %low, i64 %high, i64 %place, ptr %context)     loads what the piece uses, then calls
    i32 @name.body(used..., memory..., i64 %low, i64 %high, i64 %place, ptr %context)

The piece is written as usual, with registers of the function around it; those that it uses are found in its text and passed
through a table. Addresses that are computed from a pointer are computed again, so that the pointers that the piece gets do
not overlap, and LLVM may know that. Arrays that exist only within an iteration get memory for each call, and arrays that
iterations only add to a copy for each chunk but the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from .assembly import MARKS
from .buffers import SMALL, Buffer
from .function import FunctionCode, input_registers, with_memory
from .fusion import is_array

_REGISTER = re.compile(r"%[A-Za-z0-9._]+")
_BUFFER = re.compile(r"%(?:out|slot)\d+")
_OWN = {"%low", "%high", "%place", "%context"}
_FLAGS = r"(?: (?:nsw|nuw|exact|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc|disjoint))*"
_KINDS = [
    (re.compile(r"(?:getelementptr|alloca)\b"), "ptr"),
    (re.compile(r"[if]cmp\b"), "i1"),
    (re.compile(rf"(?:load|phi|call|freeze|fneg|tail call)(?: atomic)?{_FLAGS} ([a-z0-9]+)"), ""),
    (re.compile(rf"select{_FLAGS} i1 [^,]+, ([a-z0-9]+) "), ""),
    (re.compile(r"(?:[sz]ext|trunc|fp\w+|[su]itofp|bitcast|inttoptr|ptrtoint)\b.* to ([a-z0-9]+)$"), ""),
    (re.compile(r"extractvalue \{ ([a-z0-9]+), \1 \}"), ""),
    (re.compile(r"extractvalue \{ [a-z0-9]+, i1 \} [^,]+, 1"), "i1"),
    (re.compile(rf"[a-z]+{_FLAGS} (i[0-9]+|float|double) "), ""),
]


@dataclass
class Copies:
    """For arrays that are only added to, the copies that the chunks but the first add to: all those of a chunk side by side."""

    base: str  # the pointer of the copies
    size: int  # bytes of a chunk's copies
    places: dict[Buffer, tuple[str, int]]  # the pointer of each array, and the place of its copy in bytes


@dataclass
class Piece:
    """A piece while it is written."""

    own: list[int] = field(default_factory=list)  # bytes of the memory that each call gets

    def memory(self, size: int) -> str:
        self.own.append(size)
        return f"%own{len(self.own) - 1}"


def kind_of(instruction: str) -> str:
    """Return the LLVM type of an instruction's result."""
    for pattern, kind in _KINDS:
        found = pattern.match(instruction)
        if found:
            return kind or found[1]
    raise AssertionError(f"an instruction of unknown type: {instruction}")


@contextmanager
def _apart(f: FunctionCode, private: Iterable[Buffer], copies: Copies | None):
    """Collect what is written in the block, with memory of its own for the buffers ``private`` and ``copies``."""
    code, piece = f.code, Piece()
    before = code.lines, code.allocas, code.label, f.has_failure, f.pointers, f.strip_buffers, f.op
    code.lines, code.allocas, code.label = [], [], "start"
    f.has_failure, f.pointers, f.strip_buffers, f.piece = False, dict(f.pointers), {}, piece
    for buffer in private:
        f.pointers.pop(buffer, None)
        if buffer.size > SMALL:
            f.pointers[buffer] = piece.memory(buffer.size)
    for k, buffer in enumerate(copies.places if copies else ()):
        f.pointers[buffer] = f"%copy{k}"
    with code.scope():
        yield piece
    code.lines, code.allocas, code.label, f.has_failure, f.pointers, f.strip_buffers, f.op = before
    f.piece = None


def outlined(
    f: FunctionCode, write: Callable[[], None], private: Iterable[Buffer] = (), copies: Copies | None = None
) -> tuple[str, str]:
    """Write a piece; return its function's name, and a pointer to the table of what it uses."""
    code, program = f.code, f.program
    name = f"{f.name}.piece{f.pieces}"
    f.pieces += 1
    with _apart(f, private, copies) as piece:
        write()
        code.do("ret i32 0")
        if f.has_failure:
            code.start("failed")
            code.do("ret i32 1")
        lines, allocas = code.lines, code.allocas
    pointers = [name for _, name in _copied(copies)]
    used, again = _used(f, [*(text for text, _ in _copied(copies)), *lines], allocas)
    slot = code.slot("i64", max(len(used), 1))
    for k, (register, kind) in enumerate(used.items()):
        code.do(f"store {kind} {register}, ptr {code.value(f'getelementptr i64, ptr {slot}, i64 {k}')}")
    own = [f"%own{k}" for k in range(len(piece.own))]
    parameters = [
        *(f"{kind}{_marks(f, register)} {register}" for register, kind in used.items()),
        *(f"ptr noalias nonnull align 64 dereferenceable({n}) {x}" for n, x in zip(piece.own, own)),
        *(f"ptr noalias {name}" for name in pointers),
    ]
    ending = "i64 %low, i64 %high, i64 %place, ptr %context"
    header = f"define internal i32 @{name}.body({', '.join([*parameters, ending])}) noinline {MARKS} {{"
    code.module.functions.append("\n".join([header, "start:", *allocas, *again, *lines, "}", ""]))
    loads = []
    for k, (register, kind) in enumerate(used.items()):
        loads.append(f"  %at{k} = getelementptr i64, ptr %environment, i64 {k}")
        loads.append(f"  {register} = load {kind}, ptr %at{k}")
    passed = [
        *(f"{kind} {register}" for register, kind in used.items()),
        *(f"ptr {x}" for x in (*own, *pointers)),
        ending,
    ]
    call = f"  %status = call i32 @{name}.body({', '.join(passed)})"
    program.module.functions.append(
        "\n".join(
            [
                f"define internal i32 @{name}(ptr %environment, {ending}) {MARKS} {{",
                "start:",
                *loads,
                *(text for text, name in _copied(copies)),
                *with_memory(program, piece.own, "own", call),
                "  ret i32 %status",
                "}",
                "",
            ]
        )
    )
    return name, slot


def _copied(copies: Copies | None) -> list[tuple[str, str]]:
    """Return for each array that has copies the instructions that choose a chunk's, and the name of the pointer."""
    found = []
    for k, (main, at) in enumerate(copies.places.values() if copies else ()):
        assert copies is not None
        lines = [
            f"  %chunk{k} = ashr i64 %place, 1",
            f"  %isfirst{k} = icmp eq i64 %chunk{k}, 0",
            f"  %other{k} = sub i64 %chunk{k}, 1",
            f"  %start{k} = mul i64 %other{k}, {copies.size}",
            f"  %at.copy{k} = add i64 %start{k}, {at}",
            f"  %own.copy{k} = getelementptr i8, ptr {copies.base}, i64 %at.copy{k}",
            f"  %copy{k} = select i1 %isfirst{k}, ptr {main}, ptr %own.copy{k}",
        ]
        found.append(("\n".join(lines), f"%copy{k}"))
    return found


def _used(f: FunctionCode, lines: Sequence[str], allocas: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Return the registers from around a piece with their types, and the instructions that it repeats."""
    defined = {"%start", "%failed"}
    for line in (part for text in (*allocas, *lines) for part in text.splitlines()):
        if line[:1] != " ":
            defined.add(f"%{line.removesuffix(':')}")
        elif " = " in line:
            defined.add(line.split(" = ", 1)[0].strip())
    parameters = {name: kind for k, v in enumerate(f.function.parameters) for kind, name in input_registers(k, v.type)}
    used: dict[str, str] = {}
    again: list[str] = []

    def need(register: str) -> None:
        if register in defined or register in _OWN or re.fullmatch(r"%own\d+", register):
            return
        instruction = f.code.made.get(register)
        if instruction is not None and instruction.startswith("getelementptr"):
            for inner in _REGISTER.findall(instruction):
                need(inner)
            again.append(f"  {register} = {instruction}")
            defined.add(register)
            return
        defined.add(register)
        used[register] = kind_of(instruction) if instruction is not None else parameters.get(register, "ptr")

    for line in lines:
        for register in _REGISTER.findall(line):
            need(register)
    return used, again


def _marks(f: FunctionCode, register: str) -> str:
    """Return what LLVM may know of a register: a buffer's pointer overlaps no other memory."""
    arrays = {f"%in{k}" for k, v in enumerate(f.function.parameters) if is_array(v)}
    is_buffer = register in arrays or _BUFFER.fullmatch(register) or f.code.made.get(register) == "alloca"
    return " noalias" if is_buffer else ""
