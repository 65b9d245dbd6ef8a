"""The entry points of a program, as LLVM code: a C function of tables of pointers, and a CPython built-in function.

    i32 @entry(ptr %inputs, ptr %outputs, ptr %context)    numbers are passed by pointer too
    ptr @call(ptr %self, ptr %arguments, i64 %count)       METH_FASTCALL: from NumPy arrays and numbers to a list

``@call`` reads the fields of the arguments' C structures (``PyArrayObject_fields`` of NumPy's C API; NumPy scalars and
Python floats have their value after the object header). An array that is not contiguous in C order is copied. If an argument
is not exactly of the compiled type, a Python function handles the call. The GIL is released while the program runs.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

import numpy as np

from ...ir.dynamic import Function, Value
from ...ir.typed import STACK, Dim
from .assembly import MARKS
from .function import input_registers
from .fusion import is_array
from .interrupts import BUDGET
from .processor_stack import DEEPEST, LARGE, SPARE, UNKNOWN, lowest
from .program_text import ProgramText
from .stacks import GIVE, RELEASE, routine

_VALUE, _DATA, _NDIM, _DIMS, _DESCR, _FLAGS = 16, 16, 24, 32, 56, 64
_CONTIGUOUS_ALIGNED = 0x1 | 0x100
_SCALAR, _NEW_COPY, _NEW_FROM_DESCR = 60, 85, 94  # places in the table of NumPy's C API

# Release the copies of arguments in the table %copies.
_DROP = """define internal void @drop.copies(ptr %copies, i64 %count) noinline nounwind {
start:
  br label %loop
loop:
  %k = phi i64 [ 0, %start ], [ %next, %after ]
  %place = getelementptr ptr, ptr %copies, i64 %k
  %copy = load ptr, ptr %place
  %none = icmp eq ptr %copy, null
  br i1 %none, label %after, label %drop
drop:
  call void @Py_DecRef(ptr %copy)
  store ptr null, ptr %place
  br label %after
after:
  %next = add i64 %k, 1
  %again = icmp slt i64 %next, %count
  br i1 %again, label %loop, label %done
done:
  ret void
}
"""


class _Lines:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def new(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def do(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def field(self, pointer: str, offset: int, kind: str) -> str:
        return self.new(f"load {kind}, ptr {self.new(f'getelementptr i8, ptr {pointer}, i64 {offset}')}")

    def item(self, table: str, i: int) -> str:
        return self.new(f"load ptr, ptr {self.new(f'getelementptr ptr, ptr {table}, i64 {i}')}")

    def unless(self, condition: str, otherwise: str) -> None:
        """Continue if the condition holds; else branch to the label ``otherwise``."""
        self.count += 1
        self.do(f"br i1 {condition}, label %ok{self.count}, label %{otherwise}")
        self.lines.append(f"ok{self.count}:")


def write_entry(function: Function, name: str, program: ProgramText) -> None:
    """Write ``@entry``; it frees the memory of stacks at its end."""
    out, passed = _Lines(), []
    for k, value in enumerate(function.parameters):
        pointer = out.item("%inputs", k)
        if is_array(value):
            passed.append(f"ptr {pointer}")
        elif value.type is not STACK and value.type.dtype.kind == "b":
            byte = out.new(f"load i8, ptr {pointer}")
            passed.append(f"i1 {out.new(f'trunc i8 {byte} to i1')}")
        else:
            for i, (kind, _) in enumerate(input_registers(k, value.type)):
                place = out.new(f"getelementptr {'i64' if value.type is STACK else kind}, ptr {pointer}, i64 {i}")
                passed.append(f"{kind} {out.new(f'load {kind}, ptr {place}')}")
    looks_at_stack = program.is_recursive or program.frames > LARGE
    if looks_at_stack:
        _write_limit(out, program)
    if program.polls:
        out.do(f"store i64 {BUDGET}, ptr {out.new(f'getelementptr i64, ptr %context, i64 {program.WORK}')}")
    outputs = [out.item("%outputs", k) for k, _ in enumerate(function.block.results)]
    passed += [f"ptr {p}" for p in (*outputs, "%context")]
    status = out.new(f"call i32 @{name}({', '.join(passed)})")
    if any("@stack.grow" in text for text in program.module.functions):
        for value, pointer in zip(function.block.results, outputs):
            if value.type is STACK:
                routine(program.module, GIVE)
                number = program.failure(
                    MemoryError,
                    "not enough memory for the values that the backward sweep needs; put mo.checkpoint around the outermost loop",
                )
                given = out.new(f"call i32 @stack.give(ptr %context, ptr {pointer}, i64 {number}, i32 {status})")
                status = out.new(f"or i32 {status}, {given}")
        out.do("call void @stack.release(ptr %context)")
        routine(program.module, RELEASE)
    header = f"define i32 @entry(ptr %inputs, ptr %outputs, ptr %context) {MARKS} {{"
    end = ["full:", "  ret i32 1"] if looks_at_stack else []
    program.module.functions.append("\n".join([header, *out.lines, f"  ret i32 {status}", *end, "}", ""]))


def _write_limit(out: _Lines, program: ProgramText) -> None:
    """Store the stack limit in the context; end the program at once if there is no room for its own frames."""
    module = program.module
    for name in ("umax", "usub.sat"):
        module.declare(f"llvm.{name}.i64", "i64", ["i64", "i64"])
    module.declare("llvm.frameaddress.p0", "ptr", ["i32"])
    here = out.new(f"ptrtoint ptr {out.new('call ptr @llvm.frameaddress.p0(i32 0)')} to i64")
    low = out.new(lowest(module))
    known = out.new(f"icmp ne i64 {low}, 0")
    deepest = out.new(f"select i1 {known}, i64 {DEEPEST}, i64 {UNKNOWN}")
    far = out.new(f"call i64 @llvm.usub.sat.i64(i64 {here}, i64 {deepest})")
    near = out.new(f"add i64 {low}, {SPARE + (1 + program.is_recursive) * program.frames}")
    limit = out.new(f"call i64 @llvm.umax.i64(i64 {far}, i64 {near})")
    out.do(f"store i64 {limit}, ptr {out.new(f'getelementptr i64, ptr %context, i64 {program.LIMIT}')}")
    text = (
        "the stack of this thread is too small for compiled code; call threading.stack_size(2**20) before starting it"
    )
    number = program.failure(MemoryError, text)
    out.do(f"store i64 {number}, ptr %context")
    out.unless(out.new(f"icmp ugt i64 {here}, {limit}"), "full")
    out.do("store i64 0, ptr %context")


def has_fast_call(function: Function) -> bool:
    """Return whether a function gets ``@call``: its arguments and results have static shapes, and none is a stack."""
    values = [*function.parameters, *function.block.results]
    return all(v.type is not STACK and v.type.is_static for v in values)


def write_call(function: Function, program: ProgramText, words: int) -> list[Any]:
    """Write ``@call``; return the Python objects that the table ``@objects`` must point to after its first two."""
    module, out = program.module, _Lines()
    objects: list[Any] = ["slow", "fail"]

    def an_object(x: Any) -> str:
        if not any(x is y for y in objects):
            objects.append(x)
        k = next(k for k, y in enumerate(objects) if x is y)
        return out.new(f"load ptr, ptr getelementptr (ptr, ptr @objects, i64 {k})")

    count = len(function.parameters)
    n_results = len(function.block.results)
    out.do(f"%inputs = alloca [{max(count, 1)} x ptr]")
    out.do(f"%outputs = alloca [{max(n_results, 1)} x ptr]")
    out.do(f"%context = alloca [{words} x i64]")
    out.do(f"%numbers = alloca [{2 * (count + n_results) + 1} x i64], align 16")
    out.do(f"call void @llvm.memset.p0.i64(ptr %context, i8 0, i64 {8 * program.VALUES}, i1 false)")
    has_arrays = any(value.type.shape for value in function.parameters)
    if has_arrays:
        module.functions.append(_DROP)
        out.do(f"%copies = alloca [{count} x ptr]")
        out.do(f"call void @llvm.memset.p0.i64(ptr %copies, i8 0, i64 {8 * count}, i1 false)")

    def drop_copies() -> None:
        if has_arrays:
            out.do(f"call void @drop.copies(ptr %copies, i64 {count})")

    out.unless(out.new(f"icmp eq i64 %count, {count}"), "slow")
    for k, value in enumerate(function.parameters):
        argument = out.item("%arguments", k)
        kind = out.field(argument, 8, "ptr")
        if value.type.shape:
            pointer = _array(out, an_object, argument, kind, value, k)
        else:
            pointer = _number(out, an_object, argument, kind, value, 2 * k)
        out.do(f"store ptr {pointer}, ptr {out.new(f'getelementptr ptr, ptr %inputs, i64 {k}')}")
    made: list[str] = []
    for k, value in enumerate(function.block.results):
        if value.type.shape:
            found = _new_array(out, an_object, program, value)
            made.append(found)
            out.unless(out.new(f"icmp ne ptr {found}, null"), "nothing")
            pointer = out.field(found, _DATA, "ptr")
        else:
            pointer = out.new(f"getelementptr i64, ptr %numbers, i64 {2 * (count + k)}")
            made.append("")
        out.do(f"store ptr {pointer}, ptr {out.new(f'getelementptr ptr, ptr %outputs, i64 {k}')}")
    thread = out.new("call ptr @PyEval_SaveThread()")
    status = out.new("call i32 @entry(ptr %inputs, ptr %outputs, ptr %context)")
    out.do(f"call void @PyEval_RestoreThread(ptr {thread})")
    drop_copies()
    out.unless(out.new(f"icmp eq i32 {status}, 0"), "failed")
    results = out.new(f"call ptr @PyList_New(i64 {n_results})")
    out.unless(out.new(f"icmp ne ptr {results}, null"), "nothing")
    api = out.new("load ptr, ptr @numpy")
    scalar = out.item(api, _SCALAR)
    for k, value in enumerate(function.block.results):
        x = made[k]
        if not value.type.shape:
            place = out.new(f"getelementptr i64, ptr %numbers, i64 {2 * (count + k)}")
            x = out.new(f"call ptr {scalar}(ptr {place}, ptr {an_object(np.dtype(value.type.dtype.char))}, ptr null)")
        out.do(f"call i32 @PyList_SetItem(ptr {results}, i64 {k}, ptr {x})")
    out.do(f"ret ptr {results}")
    out.lines.append("failed:")
    for x in made:
        if x:
            out.do(f"call void @Py_DecRef(ptr {x})")
    at = out.new("call ptr @PyLong_FromVoidPtr(ptr %context)")
    fail, slow = (f"load ptr, ptr getelementptr (ptr, ptr @objects, i64 {k})" for k in (1, 0))
    raised = out.new(f"call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr {out.new(fail)}, ptr {at}, ptr null)")
    out.do(f"call void @Py_DecRef(ptr {at})")
    out.do(f"ret ptr {raised}")
    out.lines.append("nothing:")
    drop_copies()
    out.do("ret ptr null")
    out.lines.append("slow:")
    drop_copies()
    slowly = f"call ptr @PyObject_Vectorcall(ptr {out.new(slow)}, ptr %arguments, i64 %count, ptr null)"
    out.do(f"ret ptr {out.new(slowly)}")
    _declare(program)
    module.globals.append(f"@objects = global [{len(objects)} x ptr] zeroinitializer")
    module.globals.append("@numpy = global ptr null")
    header = f"define ptr @call(ptr %self, ptr %arguments, i64 %count) {MARKS} {{"
    module.functions.append("\n".join([header, *out.lines, "}", ""]))
    return objects[2:]


def _declare(program: ProgramText) -> None:
    for name, result, parameters in (
        ("PyEval_SaveThread", "ptr", []),
        ("PyEval_RestoreThread", "void", ["ptr"]),
        ("PyList_New", "ptr", ["i64"]),
        ("PyList_SetItem", "i32", ["ptr", "i64", "ptr"]),
        ("Py_DecRef", "void", ["ptr"]),
        ("Py_IncRef", "void", ["ptr"]),
        ("PyLong_FromVoidPtr", "ptr", ["ptr"]),
        ("PyLong_AsLongLong", "i64", ["ptr"]),
        ("PyErr_Occurred", "ptr", []),
        ("PyErr_Clear", "void", []),
        ("PyObject_CallFunctionObjArgs", "ptr", ["ptr", "..."]),
        ("PyObject_Vectorcall", "ptr", ["ptr", "ptr", "i64", "ptr"]),
        ("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1 immarg"]),
    ):
        program.module.declare(name, result, parameters, pure=False)


def _array(out: _Lines, an_object: Any, argument: str, kind: str, value: Value, k: int) -> str:
    """Check that an argument is an array of the compiled type, and return the pointer of its data, or of those of a copy."""
    shape = value.type.shape
    out.unless(out.new(f"icmp eq ptr {kind}, {an_object(np.ndarray)}"), "slow")
    out.unless(out.new(f"icmp eq ptr {out.field(argument, _DESCR, 'ptr')}, {an_object(value.type.dtype)}"), "slow")
    out.unless(out.new(f"icmp eq i32 {out.field(argument, _NDIM, 'i32')}, {len(shape)}"), "slow")
    dims = out.field(argument, _DIMS, "ptr")
    for d, n in enumerate(shape):
        assert not isinstance(n, Dim)
        out.unless(out.new(f"icmp eq i64 {out.field(dims, 8 * d, 'i64')}, {n}"), "slow")
    flags = out.new(f"and i32 {out.field(argument, _FLAGS, 'i32')}, {_CONTIGUOUS_ALIGNED}")
    flat = out.new(f"icmp eq i32 {flags}, {_CONTIGUOUS_ALIGNED}")
    own = out.field(argument, _DATA, "ptr")
    out.do(f"br label %given{k}")
    out.lines.append(f"given{k}:")
    out.do(f"br i1 {flat}, label %flat{k}, label %copy{k}")
    out.lines.append(f"copy{k}:")
    new_copy = out.item(out.new("load ptr, ptr @numpy"), _NEW_COPY)
    copy = out.new(f"call ptr {new_copy}(ptr {argument}, i32 0)")  # 0: in C order
    out.do(f"store ptr {copy}, ptr {out.new(f'getelementptr ptr, ptr %copies, i64 {k}')}")
    out.do(f"br i1 {out.new(f'icmp eq ptr {copy}, null')}, label %nothing, label %made{k}")
    out.lines.append(f"made{k}:")
    copied = out.field(copy, _DATA, "ptr")
    out.do(f"br label %flat{k}")
    out.lines.append(f"flat{k}:")
    return out.new(f"phi ptr [ {own}, %given{k} ], [ {copied}, %made{k} ]")


def _number(out: _Lines, an_object: Any, argument: str, kind: str, value: Value, word: int) -> str:
    """Check that an argument is a NumPy scalar of the dtype, or a Python number, and return its value's address."""
    dtype = value.type.dtype
    place = out.new(f"getelementptr i8, ptr {argument}, i64 {_VALUE}")
    exact = out.new(f"icmp eq ptr {kind}, {an_object(dtype.type)}")
    if dtype.char in "dD":
        plain = out.new(f"icmp eq ptr {kind}, {an_object(float if dtype.char == 'd' else complex)}")
        out.unless(out.new(f"or i1 {exact}, {plain}"), "slow")
    elif dtype == np.int64:
        own = out.new(f"getelementptr i64, ptr %numbers, i64 {word}")
        n = out.count = out.count + 1
        out.do(f"br i1 {exact}, label %exact{n}, label %other{n}")
        out.lines.append(f"other{n}:")
        out.unless(out.new(f"icmp eq ptr {kind}, {an_object(int)}"), "slow")
        converted = out.new(f"call i64 @PyLong_AsLongLong(ptr {argument})")
        out.do(f"store i64 {converted}, ptr {own}")
        out.unless(out.new(f"icmp eq i64 {converted}, -1"), f"small{n}")
        error = out.new("call ptr @PyErr_Occurred()")
        out.do("call void @PyErr_Clear()")
        out.unless(out.new(f"icmp eq ptr {error}, null"), "slow")
        out.do(f"br label %small{n}")
        out.lines.append(f"small{n}:")
        out.do(f"br label %done{n}")
        out.lines.append(f"exact{n}:")
        out.do(f"br label %done{n}")
        out.lines.append(f"done{n}:")
        place = out.new(f"phi ptr [ {own}, %small{n} ], [ {place}, %exact{n} ]")
    else:
        out.unless(exact, "slow")
    return place


def _new_array(out: _Lines, an_object: Any, program: ProgramText, value: Value) -> str:
    shape = value.type.shape
    dims = program.module.constant(f"[{len(shape)} x i64] [{', '.join(f'i64 {n}' for n in shape)}]")
    descr = an_object(np.dtype(value.type.dtype.char))
    out.do(f"call void @Py_IncRef(ptr {descr})")
    api = out.new("load ptr, ptr @numpy")
    new = out.item(api, _NEW_FROM_DESCR)
    arguments = f"ptr {an_object(np.ndarray)}, ptr {descr}, i32 {len(shape)}, ptr {dims}"
    return out.new(f"call ptr {new}({arguments}, ptr null, ptr null, i32 0, ptr null)")


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("documentation", ctypes.c_char_p),
    ]


_definitions: list[Any] = []  # a built-in function uses its definition even while it is freed, so these are kept


def built_in(program: Any, loaded: Any, objects: list[Any], slow: Any, fail: Any) -> tuple[Any, Any]:
    """Return the built-in function of ``@call``, which refers to its program, and objects to be kept alive."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = pointer(importlib.import_module("numpy._core._multiarray_umath")._ARRAY_API, None)
    ctypes.c_void_p.from_address(loaded.variable("numpy")).value = table
    # The program compares dtypes by identity. NumPy has one object for each built-in dtype; unpickling makes copies.
    kept = [slow, fail, *(np.dtype(x.type) if isinstance(x, np.dtype) else x for x in objects)]
    place = loaded.variable("objects")
    for k, x in enumerate(kept):
        ctypes.c_void_p.from_address(place + 8 * k).value = id(x)
    definition = _MethodDefinition(b"compiled", loaded.address("call"), 0x80, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    _definitions.append(definition)
    return make(ctypes.addressof(definition), program, None), kept
