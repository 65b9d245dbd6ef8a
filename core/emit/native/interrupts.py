"""Signals such as Ctrl-C while a program runs: long loops check regularly whether one is pending.

Work is counted in units of about a nanosecond. A loop whose work is known to be small does not check; its work counts
for the enclosing loop. Any other loop runs in strides of at most ``STRIDE`` units. After each stride the work is
subtracted from a budget in the context. When the budget is used up, the main thread checks for signals, and an
exception from a signal handler ends the program.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...ir import typed
from ...ir.dynamic import Block, Function, Operation, Value
from ...ir.typed import ArrayType, Dim
from .assembly import Module
from .function import PARTS, FunctionCode
from .program_text import ProgramText

BUDGET, STRIDE = 1 << 24, 1 << 20
UNCOUNTED, USUAL = 512, 16
"""For arrays whose length is known only at run time: the size up to which their elements are not counted at run time,
and the size that is assumed at compile time."""
_UNBOUNDED = 1 << 62
SIGNALLED = -2
"""The error number when a signal handler has raised; the exception's type, value and traceback are in the context."""
STOPPED = -3
"""The error number of a chunk of a parallel loop that has ended early, since an error of an earlier iteration is known."""

_CHEAP = {
    np.add,
    np.subtract,
    np.multiply,
    np.less,
    np.greater,
    np.equal,
    np.negative,
    np.maximum,
    np.minimum,
    np.where,
}


def work(f: FunctionCode, block: Block) -> int:
    """Return the largest work of a block in units, without inner loops that count their own work."""
    return sum(work_of(f, op) for op in block.operations)


def work_of(f: FunctionCode, op: Operation) -> int:
    """Return the largest work of an operation in units, without inner loops that count their own work."""
    if op.kind == "if":
        return 2 + max(work(f, block) for block in op.blocks)
    if op.kind == "while":
        return 2
    if op.kind == "range":
        total = trips(f, op) * (1 + work(f, op.blocks[0]))
        return total if total <= STRIDE else 2
    size = max(map(_size, (*op.operands, *op.results)), default=1)
    if isinstance(op.callee, Function):
        return 20
    if op.callee is np.matmul:
        inner = op.operands[0].type.shape[-1]
        return _size(op.results[0]) * (min(inner.bound, USUAL) if isinstance(inner, Dim) else inner)
    if op.callee in (typed.getitem, typed.setitem, typed.add_at):
        return _size(op.results[0] if op.callee is typed.getitem else op.positional[-1])
    if isinstance(op.callee, typed.Primitive) or op.callee in _CHEAP:
        return size
    return 10 * size if isinstance(op.callee, np.ufunc) else 1000 + 10 * size


def _size(x: Value) -> int:
    """Return the number of elements; at most ``USUAL`` for an array whose length is known only at run time."""
    if not isinstance(x.type, ArrayType):
        return 1
    size = math.prod(x.type.bounds)
    return size if x.type.is_static else min(size, USUAL)


def count_length(f: FunctionCode, op: Operation) -> None:
    """Emit code that counts an operation's elements if there turn out to be many at run time."""
    if op.callee in (typed.getitem, typed.cast) or isinstance(op.callee, np.ufunc):
        return  # the elements are computed by the operation that uses them, which counts them
    kinds = [v.type for v in op.positional if isinstance(v.type, ArrayType) and not v.type.is_static]
    kind = max(kinds, key=lambda kind: math.prod(kind.bounds), default=None)
    if kind is None or math.prod(kind.bounds) <= UNCOUNTED:
        return
    code = f.code
    size = code.product(f.lengths(kind))
    many, few = code.new("many"), code.new("few")
    code.branch(code.value(f"icmp sgt i64 {size}, {UNCOUNTED}"), many, few, f.unlikely())
    code.start(many)
    count(f, size)
    code.jump(few)
    code.start(few)


def trips(f: FunctionCode, op: Operation) -> int:
    """Return the largest number of iterations of a ``range``."""
    start, stop, step = op.operands[:3]
    if not step.is_constant or not int(step.constant):
        return _UNBOUNDED
    (first, last), (low, high) = _interval(f, start), _interval(f, stop)
    distance = high - first if int(step.constant) > 0 else last - low
    return max(-(-distance // abs(int(step.constant))), 0)


def _interval(f: FunctionCode, x: Value) -> tuple[int, int]:
    if x.is_constant:
        return int(x.constant), int(x.constant)
    return f.proofs.intervals.get(x, (-_UNBOUNDED, _UNBOUNDED))


def stride(f: FunctionCode, op: Operation) -> tuple[int, int]:
    """Return the number of iterations, a power of two, after which a loop counts its work, and the units of each.

    The number is 0 for a loop that never counts.
    """
    each = 1 + work(f, op.blocks[-1])
    if op.kind == "range" and trips(f, op) * each <= STRIDE:
        return 0, each
    return 1 << max(STRIDE // each, 1).bit_length() - 1, each


def count(f: FunctionCode, units: str) -> None:
    """Emit code that subtracts work from the budget and checks for signals when it is used up."""
    code = f.code
    place = code.value(f"getelementptr i64, ptr %context, i64 {f.program.WORK}")
    left = code.value(f"sub i64 {code.value(f'load i64, ptr {place}')}, {units}")
    code.do(f"store i64 {left}, ptr {place}")
    ask, after = code.new("ask"), code.new("on")
    code.branch(code.value(f"icmp slt i64 {left}, 0"), ask, after, f.unlikely())
    code.start(ask)
    check_for_signals(code.module)
    f.program.polls = True
    status = code.value("call i32 @signalled(ptr %context)")
    f.leave_if(code.value(f"icmp ne i32 {status}, 0"))
    code.jump(after)
    code.start(after)


_SIGNALLED = f"""define internal i32 @signalled(ptr %context) noinline cold nounwind {{
start:
  %budget = getelementptr i64, ptr %context, i64 WORK
  store i64 {BUDGET}, ptr %budget
  %loopat = getelementptr i64, ptr %context, i64 LOOP
  %loop = load ptr, ptr %loopat
  %alone = icmp eq ptr %loop, null
  br i1 %alone, label %ask, label %chunk
chunk:
  %slotat = getelementptr i64, ptr %context, i64 SLOT
  %slot = load i64, ptr %slotat
  %failedat = getelementptr i64, ptr %loop, i64 FAILED
  %failed = load atomic i64, ptr %failedat monotonic, align 8
  %useless = icmp slt i64 %failed, %slot
  br i1 %useless, label %stop, label %ask
stop:
  store i64 {STOPPED}, ptr %context
  ret i32 1
ask:
  %here = call i64 @PyThread_get_thread_ident()
  %main = load i64, ptr @main_thread
  %ismain = icmp eq i64 %here, %main
  br i1 %ismain, label %look, label %quiet
look:
  %state = call i32 @PyGILState_Ensure()
  %status = call i32 @PyErr_CheckSignals()
  %none = icmp eq i32 %status, 0
  br i1 %none, label %done, label %raised
raised:
  store i64 {SIGNALLED}, ptr %context
  %kind = getelementptr i64, ptr %context, i64 VALUE0
  %value = getelementptr i64, ptr %context, i64 VALUE1
  %trace = getelementptr i64, ptr %context, i64 VALUE2
  call void @PyErr_Fetch(ptr %kind, ptr %value, ptr %trace)
  br label %done
done:
  call void @PyGILState_Release(i32 %state)
  ret i32 %status
quiet:
  ret i32 0
}}
"""


def check_for_signals(module: Module) -> None:
    """Add the function ``@signalled`` to a module."""
    if any("define internal i32 @signalled(" in text for text in module.functions):
        return
    text = _SIGNALLED
    for name in ("WORK", "LOOP", "SLOT", "FAILED"):
        text = text.replace(f"i64 {name}\n", f"i64 {getattr(ProgramText, name)}\n")
    for i in range(3):
        text = text.replace(f"VALUE{i}", str(ProgramText.VALUES + i))
    module.functions.append(text)
    module.globals.append("@main_thread = global i64 0")
    for name, result, parameters in (
        ("PyThread_get_thread_ident", "i64", []),
        ("PyGILState_Ensure", "i32", []),
        ("PyGILState_Release", "void", ["i32"]),
        ("PyErr_CheckSignals", "i32", []),
        ("PyErr_Fetch", "void", ["ptr", "ptr", "ptr"]),
    ):
        module.declare(name, result, parameters, pure=False)


def strided(
    f: FunctionCode,
    first: str,
    stop: str,
    step: int,
    body: Any,
    kinds: list[str],
    initial: list[str],
    each: int,
    most: int,
    counted: Any = None,
) -> list[str]:
    """Emit ``counted`` (``Code.counted``) in strides of ``most`` iterations; each counts ``each`` units per iteration."""
    code = f.code

    def turn(at: str, *carried: str) -> tuple[list[str], str]:
        with code.scope():
            ahead = code.value(f"sub i64 {stop}, {at}" if step > 0 else f"sub i64 {at}, {stop}")
            size = code.call("llvm.umin.i64", "i64", [("i64", ahead), ("i64", str(most))])
            end = code.value(f"{'add' if step > 0 else 'sub'} nsw i64 {at}, {size}")
            carried_on = (counted or code.counted)(at, end, step, body, kinds, carried)
            count(f, code.value(f"mul i64 {size}, {each}"))
        return carried_on, end

    return code.turns(first, stop, step, turn, kinds, initial)


PARTS.update(count=count, count_length=count_length)
