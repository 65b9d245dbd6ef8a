"""``numpy.sort`` and ``numpy.argsort`` of short axes: insertion in runs of eight, which are merged; stable, NaN last."""

from __future__ import annotations

import numpy as np

from ...ir.dynamic import Operation
from ...ir.typed import ArrayType
from .arrays import Memory
from .assembly import MARKS, Module
from .elements import convert, register
from .function import EMITTERS, FunctionCode
from .linear_algebra import emits_static

LONGEST = 256
"""Of longer axes NumPy's vectorised functions, called through Python, take less time."""

INDEX = np.dtype(np.int64)


@emits_static(np.argsort)
def _argsort(f: FunctionCode, op: Operation) -> None:
    _each_line(f, op)


@emits_static(np.sort)
def _sort(f: FunctionCode, op: Operation) -> None:
    _each_line(f, op)


def _each_line(f: FunctionCode, op: Operation) -> None:
    (a,), result, code = op.positional, op.results[0], f.code
    axis = int(op.named["axis"].constant) if "axis" in op.named else -1
    shape, dtype = a.type.shape, a.type.dtype
    if dtype.kind not in "iuf" or 0 in shape or not shape or shape[axis] > LONGEST:
        EMITTERS["library"](f, op)
        return
    axis %= len(shape)
    n, array, out = str(shape[axis]), f.array(a), f.memory(result)
    f.values[result] = out
    line, order, other = (_line(f, kind, shape[axis]) for kind in (dtype, INDEX, INDEX))
    name = _function(code.module, dtype)

    def one(at: list[str]) -> None:
        def place(i: str) -> list[str]:
            return [*at[:axis], i, *at[axis:]]

        code.nest([n], lambda i: line.store_flat(code, i[0], array.load(code, place(i[0]))))
        code.do(f"call void @{name}(ptr {line.pointer}, ptr {order.pointer}, ptr {other.pointer}, i64 {n})")

        def put(i: list[str]) -> None:
            k = order.compute_flat(code, i[0])
            x = line.compute_flat(code, k) if op.callee is np.sort else convert(code, k, INDEX, out.dtype)
            out.store(code, place(i[0]), x)

        code.nest([n], put)

    code.nest([length for k, length in enumerate(array.lengths) if k != axis], one)


def _line(f: FunctionCode, dtype: np.dtype, n: int) -> Memory:
    return Memory(f.code, f.temporary(ArrayType(dtype, (n,))), dtype, [str(n)])


def _function(module: Module, dtype: np.dtype) -> str:
    """Return the name of the function of a dtype, which is written into the module once."""
    kind = register(dtype)
    name = f"order.{dtype.name}"
    text = _TEXT.replace("NAME", name).replace("KIND", kind).replace("MARKS", MARKS).replace("BEFORE", _before(dtype))
    if text not in module.functions:
        module.functions.append(text)
        module.declare("llvm.smin.i64", "i64", ["i64", "i64"])
        module.declare("llvm.memcpy.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"], pure=False)
    return name


def _before(dtype: np.dtype) -> str:
    """The text of ``%found``: whether ``%a`` stands before ``%b``."""
    kind = register(dtype)
    if dtype.kind != "f":
        return f"  %found = icmp {'slt' if dtype.kind == 'i' else 'ult'} {kind} %a, %b"
    return "\n".join(
        (
            f"  %less = fcmp olt {kind} %a, %b",
            f"  %number = fcmp ord {kind} %a, %a",
            f"  %none = fcmp uno {kind} %b, %b",
            "  %last = and i1 %number, %none",
            "  %found = or i1 %less, %last",
        )
    )


_TEXT = """\
define internal i1 @NAME.before(KIND %a, KIND %b) alwaysinline MARKS {
BEFORE
  ret i1 %found
}

define internal void @NAME(ptr noalias %x, ptr noalias %order, ptr noalias %other, i64 %n) noinline MARKS {
start:
  br label %outer
outer:
  %i = phi i64 [ 0, %start ], [ %i.next, %placed ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %insert, label %pass
insert:
  %first = and i64 %i, -8
  %i.at = getelementptr inbounds KIND, ptr %x, i64 %i
  %value = load KIND, ptr %i.at
  br label %shift
shift:
  %k = phi i64 [ %i, %insert ], [ %k.before, %move ]
  %inside = icmp sgt i64 %k, %first
  br i1 %inside, label %compare, label %placed
compare:
  %k.before = sub nsw i64 %k, 1
  %k.at = getelementptr inbounds i64, ptr %order, i64 %k.before
  %held = load i64, ptr %k.at
  %held.at = getelementptr inbounds KIND, ptr %x, i64 %held
  %held.value = load KIND, ptr %held.at
  %is.before = call i1 @NAME.before(KIND %value, KIND %held.value)
  br i1 %is.before, label %move, label %placed
move:
  %to = getelementptr inbounds i64, ptr %order, i64 %k
  store i64 %held, ptr %to
  br label %shift
placed:
  %place = getelementptr inbounds i64, ptr %order, i64 %k
  store i64 %i, ptr %place
  %i.next = add nsw i64 %i, 1
  br label %outer
pass:
  %width = phi i64 [ 8, %outer ], [ %double, %block ]
  %unsorted = icmp slt i64 %width, %n
  br i1 %unsorted, label %copy, label %done
copy:
  %bytes = shl i64 %n, 3
  call void @llvm.memcpy.p0.p0.i64(ptr %other, ptr %order, i64 %bytes, i1 false)
  %double = shl i64 %width, 1
  br label %block
block:
  %from = phi i64 [ 0, %copy ], [ %end, %take ]
  %some = icmp slt i64 %from, %n
  br i1 %some, label %begin, label %pass
begin:
  %middle.0 = add nsw i64 %from, %width
  %end.0 = add nsw i64 %from, %double
  %middle = call i64 @llvm.smin.i64(i64 %middle.0, i64 %n)
  %end = call i64 @llvm.smin.i64(i64 %end.0, i64 %n)
  br label %take
take:
  %l = phi i64 [ %from, %begin ], [ %l.next, %store ]
  %r = phi i64 [ %middle, %begin ], [ %r.next, %store ]
  %to.k = phi i64 [ %from, %begin ], [ %to.next, %store ]
  %is.over = icmp sge i64 %to.k, %end
  br i1 %is.over, label %block, label %left
left:
  %has.left = icmp slt i64 %l, %middle
  br i1 %has.left, label %right, label %store
right:
  %has.right = icmp slt i64 %r, %end
  br i1 %has.right, label %both, label %store
both:
  %l.at = getelementptr inbounds i64, ptr %other, i64 %l
  %r.at = getelementptr inbounds i64, ptr %other, i64 %r
  %l.index = load i64, ptr %l.at
  %r.index = load i64, ptr %r.at
  %l.x = getelementptr inbounds KIND, ptr %x, i64 %l.index
  %r.x = getelementptr inbounds KIND, ptr %x, i64 %r.index
  %l.value = load KIND, ptr %l.x
  %r.value = load KIND, ptr %r.x
  %is.right = call i1 @NAME.before(KIND %r.value, KIND %l.value)
  br label %store
store:
  %takes.right = phi i1 [ true, %left ], [ false, %right ], [ %is.right, %both ]
  %taken = select i1 %takes.right, i64 %r, i64 %l
  %taken.at = getelementptr inbounds i64, ptr %other, i64 %taken
  %index = load i64, ptr %taken.at
  %into = getelementptr inbounds i64, ptr %order, i64 %to.k
  store i64 %index, ptr %into
  %step = zext i1 %takes.right to i64
  %r.next = add nsw i64 %r, %step
  %l.step = sub nsw i64 1, %step
  %l.next = add nsw i64 %l, %l.step
  %to.next = add nsw i64 %to.k, 1
  br label %take
done:
  ret void
}
"""
