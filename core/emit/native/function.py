"""One typed function as LLVM code: its signature, memory, blocks and results.

    i32 @name(inputs..., outputs..., ptr %context)                  allocates the slots, then calls
    i32 @name.body(inputs..., outputs..., slots..., ptr %context)

An input is a number in registers, the pointer of a contiguous array, or a stack (data, bytes in use, capacity); an
output is a pointer to the memory of a result. Every array that a body writes to has its own ``noalias`` pointer, so
LLVM knows that buffers do not overlap. The status is 0, or 1 if the program has ended with an error, which is in the
context. The emitters of operations are in the files that register in ``EMITTERS``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir.dynamic import Block, Function, Operation, Value
from ...ir.typed import STACK, ArrayType, Dim
from ...passes.index_proofs import Proofs, analyse
from .arrays import Array, Memory
from .assembly import MARKS, Code
from .buffers import SMALL, Buffer, Placement, place
from .constants import constant_array
from .elements import Element, element, in_memory, is_complex, literal, load, register, registers, store
from .fusion import fused, is_array
from .liveness import order
from .overlaps import Overlaps
from .program_text import ProgramText
from .rounding import decisive
from .schedule import scheduled
from .strips import Strip, fits, gathered, strips
from .sums import unordered

LEAST_KEPT, MOST_KEPT = 64 * 2**10, 32 * 2**20  # bytes

EMITTERS: dict[Any, Callable[[FunctionCode, Operation], None]] = {}
"""For each callee or kind of operation, the function that emits it."""


PARTS: dict[str, Callable[..., Any]] = {}
"""Further emitters by name, registered by files that import this one, to avoid circular imports."""


def emits(*callees: Any) -> Callable[[Any], Any]:
    def add(function: Any) -> Any:
        EMITTERS.update(dict.fromkeys(callees, function))
        return function

    return add


class FunctionCode:
    """A function while it is written; ``values`` maps a value to an element, an ``Array`` or a stack's registers."""

    def __init__(self, function: Function, program: ProgramText, is_entry: bool = True) -> None:
        function = self.function = scheduled(function)
        self.proofs = analyse(function) if program.bounds_check or program.parallel else Proofs()
        runs = gathered(function, self.proofs if program.bounds_check else None)
        self.program, self.is_entry = program, is_entry
        self.code = Code(program.module)
        self.code.as_it_is = lambda: program.loop_marks("vectorize.width", 1)
        self.order = order(function)
        self.overlaps = Overlaps(self.order, self.proofs)
        self.lazy = fused(function, self.order, self.overlaps)
        self.strips: dict[Operation, Strip] = {}
        self.placement = self.placed(strips(runs, self.order, self.lazy, self.overlaps))
        self.strip_buffers: dict[tuple[str, int], list[str]] = {}  # by kind and number of elements
        self.strip: Any = None  # the ``InStrip`` of the strip whose operations are being written
        self.decisive = decisive(function)
        self.unordered = unordered(function) - self.decisive
        self.values: dict[Value, Any] = {}
        self.pointers: dict[Buffer, str] = {}
        self.has_room: set[Operation] = set()  # pushes that need no check, since their loop has reserved room
        self.has_failure = False
        self.op: Operation | None = None
        self.name, self.pieces = "", 0
        self.piece: Any = None  # the ``Piece`` that is being written, which runs in several threads
        self.independent: dict[Operation, Any] = {}  # loops whose iterations run in chunks
        if program.parallel:
            self.code.spread = lambda *nest: self.piece is None and PARTS["spread"](self, *nest)
            self.independent = PARTS["independent"](self)

    @cached_property
    def branching(self) -> set[Value]:
        """The decisive values, without those that only decide whether an error is raised."""
        return decisive(self.function, of_errors=False)

    def placed(self, chosen: list[Strip]) -> Placement:
        """Return the memory of all arrays, when the operations of ``chosen`` run by strips, as far as they can."""
        no_memory = self.lazy.union(*(strip.inside for strip in chosen))
        spans = [(strip.start, strip.end) for strip in chosen]
        found = place(self.function, self.order, no_memory, self.overlaps, spans)
        fitting = [strip for strip in chosen if fits(strip, found)]
        if len(fitting) < len(chosen):
            return self.placed(fitting)
        self.strips = {strip.members[0]: strip for strip in chosen}
        return found

    # Values

    def element(self, value: Value) -> Element:
        """Return the element of a number."""
        if value.is_constant:
            return literal(value.constant, np.dtype(value.type.dtype))
        return self.values[value]

    def array(self, value: Value) -> Array:
        if self.strip is not None:
            return self.strip.array(value)
        if value.is_constant:
            return constant_array(self.code, self.program, np.asarray(value.constant, value.type.dtype))
        return self.values[value]

    def length(self, n: int | Dim) -> str:
        return self.element(n.value) if isinstance(n, Dim) else str(n)

    def lengths(self, kind: ArrayType) -> list[str]:
        if self.strip is not None:
            return self.strip.lengths(kind)
        return [self.length(n) for n in kind.shape]

    def memory(self, value: Value) -> Memory:
        """Return the memory of an array's buffer, contiguous in C order."""
        buffer = self.placement.of[value]
        if buffer not in self.pointers:
            if buffer.size > SMALL:
                raise AssertionError(f"{value.name} has a buffer without memory")
            kind = in_memory(value.type.dtype)
            items = buffer.size // value.type.dtype.itemsize * (2 if is_complex(value.type.dtype) else 1)
            self.pointers[buffer] = self.code.slot(kind, max(items, 1))
        return Memory(self.code, self.pointers[buffer], value.type.dtype, self.lengths(value.type))

    def in_memory(self, value: Value) -> Memory:
        """Return an array contiguous in C order, copied to temporary memory if it is not."""
        array = self.array(value)
        if isinstance(array, Memory) and array.flat:
            return array
        return self.copied(array, value.type)

    def copied(self, array: Array, kind: ArrayType) -> Memory:
        made = Memory(self.code, self.temporary(kind), array.dtype, array.lengths)
        made.fill(self.code, array)
        return made

    def temporary(self, kind: ArrayType) -> str:
        """Return memory of the size of an array, for use by one operation."""
        buffer = Buffer(int(np.prod(kind.bounds)) * kind.dtype.itemsize)
        if buffer.size <= SMALL:
            return self.code.slot("i8", max(buffer.size, 1))
        if self.piece is not None:
            return self.piece.memory(buffer.size)
        self.placement.slots.append(buffer.size)
        return f"%slot{len(self.placement.slots) - 1}"

    def set_array(self, value: Value, array: Array) -> None:
        """Define an array value: keep a lazy one as it is, write the elements of any other to its memory."""
        if self.strip is not None:
            self.strip.define(value, array)
            return
        if value in self.lazy:
            self.values[value] = array
            return
        memory = self.memory(value)
        self.values[value] = memory
        memory.fill(self.code, array)

    def refuse(self, what: str) -> BadInput:
        op, where = self.op, self.function.filename or self.function.name
        line = f"{where}, line {op.line}: " if op is not None and op.line else ""
        return BadInput(f"{line}{what}")

    # The function

    def write(self, name: str) -> None:
        """Add the function to the module."""
        self.name = name
        function, code = self.function, self.code
        parameters, calls = self.signature()
        outputs = [f"%out{k}" for k in range(len(function.block.results))]
        for buffer in self.placement.of.values():
            if buffer.output is not None:
                self.pointers[buffer] = outputs[buffer.output]
            elif buffer.slot is not None:
                self.pointers[buffer] = f"%slot{buffer.slot}"
        for k, value in enumerate(function.parameters):
            self.values[value] = self.parameter(k, value)
        self.block(function.block)
        self.results(function.block.results, outputs)
        code.do("ret i32 0")
        if self.has_failure:
            code.start("failed")
            code.do("ret i32 1")
        slots = self.placement.slots
        inner = [
            *parameters,
            *(f"ptr noalias nonnull align 64 dereferenceable({size}) %slot{i}" for i, size in enumerate(slots)),
        ]
        self.program.frames += code.frame
        text = [
            f"define internal i32 @{name}.body({', '.join([*inner, 'ptr %context'])}) noinline {MARKS} {{",
            "start:",
        ]
        code.module.functions.append("\n".join([*text, *code.allocas, *code.lines, "}", ""]))
        code.module.functions.append(self.frame(name, parameters, calls, slots))

    def signature(self) -> tuple[list[str], list[str]]:
        """Return the parameters of inputs and outputs, as declared and as arguments of a call."""
        declared, passed = [], []
        for k, value in enumerate(self.function.parameters):
            for kind, name in input_registers(k, value.type):
                marks = " noalias readonly" if is_array(value) else ""
                declared.append(f"{kind}{marks} {name}")
                passed.append(f"{kind} {name}")
        for k, _ in enumerate(self.function.block.results):
            declared.append(f"ptr noalias %out{k}")
            passed.append(f"ptr %out{k}")
        return declared, passed

    def parameter(self, k: int, value: Value) -> Any:
        names = [name for _, name in input_registers(k, value.type)]
        if value.type is STACK:
            return tuple(names)
        if not value.type.shape:
            return element(names, value.type.dtype)
        buffer = self.placement.of[value]
        self.pointers[buffer] = names[0]
        # A length may be a later parameter, which has no value yet.
        lengths = [
            f"%in{self.function.parameters.index(n.value)}" if isinstance(n, Dim) else str(n) for n in value.type.shape
        ]
        return Memory(self.code, names[0], value.type.dtype, lengths)

    def frame(self, name: str, parameters: list[str], calls: list[str], slots: list[int]) -> str:
        """Return the text of the function that allocates the slots; running out of memory is an error of the program.

        Memory of medium size is kept for the next call, since the system takes longer to provide new memory than the
        program to fill it.
        """
        total = sum(map(_spaced, slots))
        kept = self.program.keep(f"{name}.kept") if LEAST_KEPT <= total <= MOST_KEPT else ""
        pointers = [f"ptr %slot{i}" for i, _ in enumerate(slots)]
        call = f"  %status = call i32 @{name}.body({', '.join([*calls, *pointers, 'ptr %context'])})"
        header = f"define internal i32 @{name}({', '.join([*parameters, 'ptr %context'])}) {MARKS} {{"
        lines = with_memory(self.program, slots, "slot", call, kept)
        return "\n".join([header, "start:", *lines, "  ret i32 %status", "}", ""])

    def results(self, values: Sequence[Value], outputs: Sequence[str]) -> None:
        code = self.code
        for k, (value, pointer) in enumerate(zip(values, outputs)):
            if value.type is STACK:
                for i, (kind, x) in enumerate(zip(("ptr", "i64", "i64"), self.values[value])):
                    code.do(f"store {kind} {x}, ptr {code.value(f'getelementptr i64, ptr {pointer}, i64 {i}')}")
            elif not value.type.shape:
                store(code, pointer, self.element(value), value.type.dtype)
            elif value.is_constant or self.placement.of[value].output != k:
                Memory(code, pointer, value.type.dtype, self.lengths(value.type)).fill(code, self.array(value))
        dims = [n for value in values if value.type is not STACK for n in value.type.shape if isinstance(n, Dim)]
        for n, dim in enumerate(dims):
            place_ = code.value(f"getelementptr i64, ptr %context, i64 {self.program.LENGTHS + n}")
            code.do(f"store i64 {self.length(dim)}, ptr {place_}")

    # Operations

    def block(self, block: Block) -> None:
        waiting = iter(block.operations)
        for op in waiting:
            strip = self.strips.get(op)
            if strip is not None:
                PARTS["strip"](self, strip)
                for _ in strip.members[1:]:  # they follow each other
                    next(waiting)
                continue
            self.op = op
            if op.kind == "call":
                self.call(op)
            else:
                EMITTERS[op.kind](self, op)

    def call(self, op: Operation) -> None:
        self.compute(op)
        PARTS["count_length"](self, op)

    def compute(self, op: Operation) -> None:
        if isinstance(op.callee, Function):
            self.call_function(op)
        elif op.callee in EMITTERS:
            EMITTERS[op.callee](self, op)
        elif not PARTS["elementwise"](self, op):
            # Functions of SciPy are found by name, so that they need not be imported.
            name = f"{getattr(op.callee, '__module__', '')}.{getattr(op.callee, '__name__', '')}"
            EMITTERS.get(name, EMITTERS["library"])(self, op)

    def call_function(self, op: Operation) -> None:
        """Emit a call of a typed function, possibly a recursive one."""
        code, name = self.code, self.program.name_of(op.callee)
        if op.callee not in self.program.pieces:
            self.check_depth()
        PARTS["count"](self, "20")
        arguments = []
        for k, (operand, parameter) in enumerate(zip(op.operands, op.callee.parameters)):
            kinds = [kind for kind, _ in input_registers(k, parameter.type)]
            if operand.type is STACK:
                found = list(PARTS["take_stack"](self, operand, op))
            else:
                found = [self.in_memory(operand).pointer] if operand.type.shape else registers(self.element(operand))
            arguments += [f"{kind} {x}" for kind, x in zip(kinds, found)]
        places = []
        for result in op.results:
            if is_array(result):
                memory = self.memory(result)
                self.values[result] = memory
                places.append(memory.pointer)
            else:
                places.append(code.slot("i64", 3))
        arguments += [f"ptr {p}" for p in (*places, "%context")]
        status = code.value(f"call i32 @{name}({', '.join(arguments)})")
        self.leave_if(code.value(f"icmp ne i32 {status}, 0"))
        for result, pointer in zip(op.results, places):
            if result.type is STACK:
                at = [code.value(f"getelementptr i64, ptr {pointer}, i64 {i}") for i in range(3)]
                self.values[result] = tuple(code.value(f"load {k}, ptr {p}") for k, p in zip(("ptr", "i64", "i64"), at))
            elif not result.type.shape:
                self.values[result] = load(code, pointer, result.type.dtype)

    # Errors

    def check_depth(self) -> None:
        """Emit a check that raises RecursionError before calls fill the processor's stack."""
        code = self.code
        self.program.is_recursive = True
        here = code.call("llvm.frameaddress.p0", "ptr", [("i32", "0")])
        limit = code.value(f"load i64, ptr {code.value(f'getelementptr i64, ptr %context, i64 {self.program.LIMIT}')}")
        deep = code.value(f"icmp ult i64 {code.value(f'ptrtoint ptr {here} to i64')}, {limit}")
        self.fail_if(deep, RecursionError, "maximum recursion depth exceeded in compiled code")

    def unlikely(self) -> str:
        """Return the metadata of a branch that is hardly ever taken."""
        mark = self.program.metadata('!{!"branch_weights", i32 1, i32 1000000}')
        return f", !prof {mark}"

    def leave_if(self, condition: str) -> None:
        """End the program if the condition holds; its error is already in the context."""
        self.has_failure = True
        after = self.code.new("on")
        self.code.branch(condition, "failed", after, self.unlikely())
        self.code.start(after)

    def fail_if(
        self,
        condition: str,
        exception: Any,
        text: str,
        values: Sequence[tuple[Element, np.dtype]] = (),
        number: int = 0,
    ) -> None:
        """End the program with an exception, or with error ``number``; the values replace the braces in its text."""
        code, program = self.code, self.program
        bad, after = code.new("bad"), code.new("on")
        code.branch(condition, bad, after, self.unlikely())
        code.start(bad)
        number = number or program.failure(exception, text, [dtype for _, dtype in values], self.op)
        code.do(f"store i64 {number}, ptr %context")
        for i, (x, dtype) in enumerate(values):
            place_ = code.value(f"getelementptr i64, ptr %context, i64 {program.VALUES + 2 * i}")
            store(code, place_, x, dtype)
        self.has_failure = True
        code.jump("failed")
        code.start(after)


def with_memory(program: ProgramText, sizes: Sequence[int], name: str, call: str, kept: str = "") -> list[str]:
    """Return the lines of a call in the block ``start``, with memory of these sizes at ``%name0``, ``%name1``, ...

    The memory is freed after the call, or left in the global ``kept`` for the next one.
    """
    if not sizes:
        return [call]
    program.module.declare("malloc", "ptr", ["i64"], pure=False)
    program.module.declare("free", "void", ["ptr"], pure=False)
    number = program.failure(MemoryError, "not enough memory for the arrays of compiled code")
    ends = list(itertools.accumulate(map(_spaced, sizes), initial=0))
    return [
        *([f"  %kept = atomicrmw xchg ptr {kept}, ptr null seq_cst"] if kept else []),
        f"  %missing = icmp eq ptr {'%kept' if kept else 'null'}, null",
        "  br i1 %missing, label %new, label %run",
        "new:",
        f"  %made = call ptr @malloc(i64 {ends[-1] + 64})",
        "  %none = icmp eq ptr %made, null",
        "  br i1 %none, label %failed, label %run",
        "failed:",
        f"  store i64 {number}, ptr %context",
        "  ret i32 1",
        "run:",
        f"  %memory = phi ptr [ {'%kept' if kept else 'null'}, %start ], [ %made, %new ]",
        "  %address = ptrtoint ptr %memory to i64",
        "  %above = add i64 %address, 63",
        "  %aligned = and i64 %above, -64",
        "  %frame = inttoptr i64 %aligned to ptr",
        *(f"  %{name}{k} = getelementptr inbounds i8, ptr %frame, i64 {at}" for k, at in enumerate(ends[:-1])),
        call,
        *([f"  %other = atomicrmw xchg ptr {kept}, ptr %memory seq_cst"] if kept else []),
        f"  call void @free(ptr {'%other' if kept else '%memory'})",
    ]


def _spaced(size: int) -> int:
    """Return the bytes that an array takes: with a gap, so that rows of several arrays do not share cache sets."""
    return (size + 127) // 64 * 64


def input_registers(k: int, kind: Any) -> list[tuple[str, str]]:
    """Return the LLVM parameters, as (type, name), of parameter k."""
    if kind is STACK:
        return [("ptr", f"%in{k}"), ("i64", f"%in{k}.used"), ("i64", f"%in{k}.capacity")]
    if kind.shape:
        return [("ptr", f"%in{k}")]
    if is_complex(kind.dtype):
        return [(register(kind.dtype), f"%in{k}.re"), (register(kind.dtype), f"%in{k}.im")]
    return [(register(kind.dtype), f"%in{k}")]
