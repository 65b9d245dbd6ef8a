"""The limit of the processor's stack: calls raise RecursionError before it is full, also if a thread's is small."""

from __future__ import annotations

import sys

from .assembly import Module

DEEPEST = 4 * 2**20  # bytes that calls may fill at most where the stack's size is known
UNKNOWN = 128 * 2**10  # where it is not known: a thread may have half a megabyte
SPARE = 24 * 2**10  # reserved for C functions, and for what LLVM itself puts on the stack
LARGE = 4 * 2**10  # bytes of frames up to which the stack is not checked, unless functions are recursive

# The lowest address of a thread's stack. Each thread asks only once: for the main thread, the C library reads a file.
_LOWEST = """define internal i64 @stack.lowest() noinline nounwind {
start:
  %key = load i32, ptr @stack.key
  %known = call ptr @pthread_getspecific(i32 %key)
  %isnew = icmp eq ptr %known, null
  br i1 %isnew, label %ask, label %done
ask:
  %attributes = alloca [128 x i8], align 16
  %address = alloca i64
  %size = alloca i64
  %guard = alloca i64
  %self = call ptr @pthread_self()
  %status = call i32 @pthread_getattr_np(ptr %self, ptr %attributes)
  %failed = icmp ne i32 %status, 0
  br i1 %failed, label %unknown, label %read
read:
  %first = call i32 @pthread_attr_getstack(ptr %attributes, ptr %address, ptr %size)
  %second = call i32 @pthread_attr_getguardsize(ptr %attributes, ptr %guard)
  %third = call i32 @pthread_attr_destroy(ptr %attributes)
  %low = load i64, ptr %address
  %kept = load i64, ptr %guard
  %above = add i64 %low, %kept
  %pointer = inttoptr i64 %above to ptr
  %fourth = call i32 @pthread_setspecific(i32 %key, ptr %pointer)
  br label %done
unknown:
  br label %done
done:
  %found = phi ptr [ %known, %start ], [ %pointer, %read ], [ null, %unknown ]
  %lowest = ptrtoint ptr %found to i64
  ret i64 %lowest
}
"""


def lowest(module: Module) -> str:
    """Return an instruction that computes the lowest address of the thread's stack, 0 if unknown."""
    if not sys.platform.startswith("linux"):
        return "add i64 0, 0"
    for name, result, parameters in (
        ("pthread_getspecific", "ptr", ["i32"]),
        ("pthread_setspecific", "i32", ["i32", "ptr"]),
        ("pthread_self", "ptr", []),
        ("pthread_getattr_np", "i32", ["ptr", "ptr"]),
        ("pthread_attr_getstack", "i32", ["ptr", "ptr", "ptr"]),
        ("pthread_attr_getguardsize", "i32", ["ptr", "ptr"]),
        ("pthread_attr_destroy", "i32", ["ptr"]),
    ):
        module.declare(name, result, parameters, pure=False)
    module.functions.append(_LOWEST)
    module.globals.append("@stack.key = global i32 0")
    return "call i64 @stack.lowest()"
