"""Native code: typed IR to LLVM assembly, with single-threaded loops.

schedule    moves reads before writes, so that fewer arrays are copied
liveness    where values are defined and used
fusion      which arrays are never in memory: their elements are computed where they are used
buffers     memory for the other arrays, such that updates are made in place
strips      which loops run together, piece by piece; strip_loops emits them
function    one function as LLVM assembly. The emitters of operations are in control, elementwise, updates, reductions,
            products, linear_algebra, stacks, library; those of single elements in real_functions, complex_functions, integers
entry       the C and CPython entry points
machine     LLVM's passes, object code
program     the callable program
"""

from . import (  # noqa: F401  they register their emitters
    complex_functions,
    control,
    elementwise,
    interrupts,
    library,
    linear_algebra,
    products,
    reductions,
    special_functions,
    stacks,
    strip_loops,
    updates,
)
from .program import NativeProgram, NativeStack, compile_function

__all__ = ["NativeProgram", "NativeStack", "compile_function"]
