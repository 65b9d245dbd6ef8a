"""Stacks: growing sequences of bytes. A stack is three registers: pointer of its memory, bytes in use, capacity.

In typed IR a stack is immutable: a push or a pop returns a new stack. The new one takes over the memory of the old one,
which is usually not used again. If it is used again, both get a capacity of 0, which means that they do not own the
memory: the next push makes a copy.

The memory blocks of a program's stacks form a list through three words before the data (next, previous, capacity), so
that all are freed when the program ends, also by an error. A block of up to 32 MiB is kept for the next run, since the
system takes longer to provide new memory than the program to fill it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ...ir import typed
from ...ir.dynamic import Operation, Value
from ...ir.typed import STACK, ArrayType
from .arrays import Memory
from .assembly import Module
from .elements import load, store
from .function import PARTS, FunctionCode, emits

# Make room for %needed bytes. The context's word 1 is the head of the list of blocks.
_GROW = """define internal ptr @stack.grow(ptr %context, ptr %data, i64 %used, i64 %capacity, i64 %needed) noinline cold nounwind {
start:
  %twice = mul i64 %capacity, 2
  %more = call i64 @llvm.umax.i64(i64 %needed, i64 %twice)
  %size = call i64 @llvm.umax.i64(i64 %more, i64 1024)
  %bytes = add i64 %size, 32
  %head = getelementptr i64, ptr %context, i64 1
  %borrowed = icmp eq i64 %capacity, 0
  br i1 %borrowed, label %copy, label %enlarge
copy:
  %isnew = icmp eq i64 %used, 0
  br i1 %isnew, label %again, label %make
again:
  %kept = atomicrmw xchg ptr @stack.kept, ptr null seq_cst
  %nothing = icmp eq ptr %kept, null
  br i1 %nothing, label %make, label %look
look:
  %keptat = getelementptr i64, ptr %kept, i64 2
  %keptsize = load i64, ptr %keptat
  %suits = icmp uge i64 %keptsize, %needed
  br i1 %suits, label %fill, label %drop
drop:
  call void @free(ptr %kept)
  br label %make
make:
  %fresh = call ptr @malloc(i64 %bytes)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %none, label %fill
fill:
  %made = phi ptr [ %fresh, %make ], [ %kept, %look ]
  %madesize = phi i64 [ %size, %make ], [ %keptsize, %look ]
  %target = getelementptr i8, ptr %made, i64 32
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %data, i64 %used, i1 false)
  %first = load ptr, ptr %head
  store ptr %first, ptr %made
  %back = getelementptr ptr, ptr %made, i64 1
  store ptr null, ptr %back
  br label %link
enlarge:
  %block = getelementptr i8, ptr %data, i64 -32
  %moved = call ptr @realloc(ptr %block, i64 %bytes)
  %lost = icmp eq ptr %moved, null
  br i1 %lost, label %none, label %link
link:
  %new = phi ptr [ %made, %fill ], [ %moved, %enlarge ]
  %newsize = phi i64 [ %madesize, %fill ], [ %size, %enlarge ]
  %at = getelementptr i64, ptr %new, i64 2
  store i64 %newsize, ptr %at
  %next = load ptr, ptr %new
  %last = icmp eq ptr %next, null
  br i1 %last, label %before, label %after
after:
  %nextback = getelementptr ptr, ptr %next, i64 1
  store ptr %new, ptr %nextback
  br label %before
before:
  %previousat = getelementptr ptr, ptr %new, i64 1
  %previous = load ptr, ptr %previousat
  %isfirst = icmp eq ptr %previous, null
  %place = select i1 %isfirst, ptr %head, ptr %previous
  store ptr %new, ptr %place
  %found = getelementptr i8, ptr %new, i64 32
  ADVICE
  ret ptr %found
none:
  ret ptr null
}
"""

# Request huge pages for large blocks: the system takes longer to provide a page of 4 KiB than the program to fill it.
_ADVICE = """%islarge = icmp ugt i64 %newsize, 8388608
  br i1 %islarge, label %advise, label %ready
advise:
  %address = ptrtoint ptr %new to i64
  %above = add i64 %address, 4095
  %aligned = and i64 %above, -4096
  %page = inttoptr i64 %aligned to ptr
  %whole = and i64 %newsize, -4096
  %length = sub i64 %whole, 4096
  %ignored = call i32 @madvise(ptr %page, i64 %length, i32 14)
  br label %ready
ready:"""


def _grow_text(module: Module) -> str:
    """Return the routine that makes room; on Linux with MADV_HUGEPAGE for large blocks."""
    if not sys.platform.startswith("linux"):
        return _GROW.replace("ADVICE\n", "\n")
    module.declare("madvise", "i32", ["ptr", "i64", "i32"], pure=False)
    return _GROW.replace("ADVICE", _ADVICE)


RELEASE = """define internal void @stack.release(ptr %context) noinline nounwind {
start:
  %head = getelementptr i64, ptr %context, i64 1
  %first = load ptr, ptr %head
  br label %loop
loop:
  %block = phi ptr [ %first, %start ], [ %next, %drop ]
  %end = icmp eq ptr %block, null
  br i1 %end, label %done, label %free
free:
  %next = load ptr, ptr %block
  %at = getelementptr i64, ptr %block, i64 2
  %size = load i64, ptr %at
  %islarge = icmp ugt i64 %size, 33554432
  br i1 %islarge, label %drop, label %keep
keep:
  %before = atomicrmw xchg ptr @stack.kept, ptr %block seq_cst
  br label %drop
drop:
  %old = phi ptr [ %block, %free ], [ %before, %keep ]
  call void @free(ptr %old)
  br label %loop
done:
  ret void
}
"""

# Remove the stack whose three words are at %words from the list of blocks, since it outlives the program. A stack that
# does not own its memory is copied first.
GIVE = """define internal i32 @stack.give(ptr %context, ptr %words, i64 %number, i32 %status) noinline nounwind {
start:
  %bad = icmp ne i32 %status, 0
  br i1 %bad, label %failed, label %take
take:
  %data0 = load ptr, ptr %words
  %usedat = getelementptr i64, ptr %words, i64 1
  %used = load i64, ptr %usedat
  %capacityat = getelementptr i64, ptr %words, i64 2
  %capacity = load i64, ptr %capacityat
  %owned = icmp ne i64 %capacity, 0
  br i1 %owned, label %detach, label %copy
copy:
  %data1 = call ptr @stack.grow(ptr %context, ptr %data0, i64 %used, i64 0, i64 %used)
  store ptr %data1, ptr %words
  %none = icmp eq ptr %data1, null
  br i1 %none, label %nomemory, label %detach
detach:
  %data = phi ptr [ %data0, %take ], [ %data1, %copy ]
  %block = getelementptr i8, ptr %data, i64 -32
  %head = getelementptr i64, ptr %context, i64 1
  %next = load ptr, ptr %block
  %at = getelementptr ptr, ptr %block, i64 1
  %previous = load ptr, ptr %at
  %isfirst = icmp eq ptr %previous, null
  %place = select i1 %isfirst, ptr %head, ptr %previous
  store ptr %next, ptr %place
  %last = icmp eq ptr %next, null
  br i1 %last, label %done, label %after
after:
  %nextback = getelementptr ptr, ptr %next, i64 1
  store ptr %previous, ptr %nextback
  br label %done
done:
  ret i32 0
nomemory:
  store i64 %number, ptr %context
  br label %failed
failed:
  ret i32 1
}
"""


def routine(module: Module, text: str) -> None:
    """Add a routine of this file to the module, with its declarations, unless it is there."""
    if text not in module.functions:
        module.functions.append(text)
        for name, kinds in (("malloc", ["i64"]), ("realloc", ["ptr", "i64"])):
            module.declare(name, "ptr", kinds, pure=False)
        module.declare("free", "void", ["ptr"], pure=False)
        module.declare("llvm.umax.i64", "i64", ["i64", "i64"])
        module.declare("llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1 immarg"], pure=False)


def take_stack(f: FunctionCode, stack: Value, op: Operation) -> tuple[str, str, str]:
    """Return a stack's registers for an operation that takes over its memory; capacity 0 if the stack is used again."""
    data, used, capacity = f.values[stack]
    if f.order.is_live_after(stack, f.order.at[op]):
        capacity = "0"
        f.values[stack] = (data, used, capacity)
    return data, used, capacity


def bytes_of(f: FunctionCode, kind: ArrayType) -> str:
    """Return the size of a value on a stack in bytes, rounded up to whole words."""
    size = f.code.multiply(f.code.product(f.lengths(kind)), str(kind.dtype.itemsize))
    if size[0] != "%":
        return str((int(size) + 7) // 8 * 8)
    return f.code.value(f"and i64 {f.code.add(size, '7')}, -8") if kind.dtype.itemsize < 8 else size


def grown(f: FunctionCode, stack: tuple[str, str, str], needed: str) -> tuple[str, str]:
    """Return the memory and capacity of a stack, enlarged if necessary to ``needed`` bytes."""
    code, (data, used, capacity) = f.code, stack
    routine(f.program.module, _grow_text(f.program.module))
    f.program.keep("stack.kept")
    before, grow, after = code.label, code.new("grow"), code.new("room")
    code.branch(code.value(f"icmp ugt i64 {needed}, {capacity}"), grow, after)
    code.start(grow)
    arguments = f"ptr %context, ptr {data}, i64 {used}, i64 {capacity}, i64 {needed}"
    new = code.value(f"call ptr @stack.grow({arguments})")
    f.fail_if(
        code.value(f"icmp eq ptr {new}, null"),
        MemoryError,
        "not enough memory for the values that the backward sweep needs; put mo.checkpoint around the outermost loop",
    )
    size = code.value(f"load i64, ptr {code.value(f'getelementptr i64, ptr {new}, i64 -2')}")
    end = code.label
    code.jump(after)
    code.start(after)
    found = code.value(f"phi ptr [ {data}, %{before} ], [ {new}, %{end} ]")
    return found, code.value(f"phi i64 [ {capacity}, %{before} ], [ {size}, %{end} ]")


@emits(typed.stack_new)
def _new(f: FunctionCode, op: Operation) -> None:
    f.values[op.results[0]] = ("null", "0", "0")


def is_fixed_push(op: Operation) -> bool:
    """Return whether an operation pushes a number of bytes that is known at compile time."""
    return op.callee is typed.stack_push and all(v.type is STACK or v.type.is_static for v in op.positional[1:])


def reserve(f: FunctionCode, stack: Sequence[str], chain: Sequence[Operation], count: str) -> tuple[str, str, str]:
    """Return the stack with room for the pushes ``chain`` of ``count`` iterations, which then need not check."""
    code, (data, used, capacity) = f.code, stack
    sizes = ("24" if v.type is STACK else bytes_of(f, v.type) for op in chain for v in op.positional[1:])
    total = code.multiply(str(sum(map(int, sizes))), count)
    data, capacity = grown(f, (data, used, capacity), code.add(used, total))
    f.has_room.update(chain)
    return data, used, capacity


def _in_order(values: Sequence[Value]) -> list[Value]:
    """Return pushed values in the order of memory: values of static size last, so their addresses need no lengths."""
    return sorted(values, key=lambda v: v.type is STACK or v.type.is_static)


@emits(typed.stack_push)
def _push(f: FunctionCode, op: Operation) -> None:
    code, (stack, *values) = f.code, op.positional
    registers = take_stack(f, stack, op)
    sizes = {v: "24" if v.type is STACK else bytes_of(f, v.type) for v in values}
    needed = registers[1]
    for v in values:
        needed = code.add(needed, sizes[v])
    data, capacity = (registers[0], registers[2]) if op in f.has_room else grown(f, registers, needed)
    at = registers[1]
    for v in _in_order(values):
        pointer = code.value(f"getelementptr inbounds i8, ptr {data}, i64 {at}")
        if v.type is STACK:
            for i, (kind, x) in enumerate(zip(("ptr", "i64", "i64"), take_stack(f, v, op))):
                code.do(f"store {kind} {x}, ptr {code.value(f'getelementptr inbounds i64, ptr {pointer}, i64 {i}')}")
        elif v.type.shape:
            Memory(code, pointer, v.type.dtype, f.lengths(v.type)).fill(code, f.array(v))
        else:
            store(code, pointer, f.element(v), v.type.dtype)
        at = code.add(at, sizes[v])
    f.values[op.results[0]] = (data, needed, capacity)


@emits(typed.stack_pop)
def _pop(f: FunctionCode, op: Operation) -> None:
    code, (*values, rest) = f.code, op.results
    data, used, capacity = take_stack(f, op.operands[0], op)
    for v in reversed(_in_order(values)):
        used = code.subtract(used, "24" if v.type is STACK else bytes_of(f, v.type))
        pointer = code.value(f"getelementptr inbounds i8, ptr {data}, i64 {used}")
        if v.type is STACK:
            places = [code.value(f"getelementptr inbounds i64, ptr {pointer}, i64 {i}") for i in range(3)]
            f.values[v] = tuple(code.value(f"load {k}, ptr {p}") for k, p in zip(("ptr", "i64", "i64"), places))
        elif v.type.shape:
            found = Memory(code, pointer, v.type.dtype, f.lengths(v.type))
            if f.placement.of[v].is_own:
                f.set_array(v, found)
            else:
                f.pointers[f.placement.of[v]] = pointer
                f.values[v] = found
        else:
            f.values[v] = load(code, pointer, v.type.dtype)
    f.values[rest] = (data, used, capacity)


PARTS.update(take_stack=take_stack)
