"""Native code: typed IR as LLVM, for the loops of one processor.

liveness    where values are defined and used
fusion      which arrays are never in memory: their elements are computed where they are used
buffers     which memory the others have, so that updates are made in place
function    one function as LLVM's text; what each operation is stands in control, elementwise, updates, reductions,
            products, stacks, library, on elements: real_functions, complex_functions, integers
machine     LLVM's passes, object code
program     what is called
"""

from . import (  # noqa: F401  they enter what they write
    complex_functions,
    control,
    elementwise,
    interrupts,
    library,
    products,
    reductions,
    special_functions,
    stacks,
    updates,
)
from .program import NativeProgram, NativeStack, compile_function

__all__ = ["NativeProgram", "NativeStack", "compile_function"]
