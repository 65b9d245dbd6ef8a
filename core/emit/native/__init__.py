"""Native code: typed IR to LLVM assembly, with loops that run in one thread or, on request, in several.

schedule    moves reads before writes, so that fewer arrays are copied
liveness    where values are defined and used
fusion      which arrays are never in memory: their elements are computed where they are used
buffers     memory for the other arrays, such that updates are made in place
strips      which loops run together, piece by piece; strip_loops emits them
fission     which loops run in two parts: one that vectorises, and one that runs in order;
            fission_loops emits them
rounding    which numbers are rounded exactly as by NumPy; stack_contents says which push a pop belongs to
function    one function as LLVM assembly. The emitters of operations are in control, elementwise, updates, reductions,
            products, linear_algebra (which call ``lapack``), factorisations, eigenvalues, schur_forms, turns_of_schur_forms, scipy_factorisations, structured_systems, least_squares, banded_matrices, sorting, fourier, stacks, library; those of single elements in real_functions, complex_functions, integers
parallel_loops, parallel_ranges, parallel_strips
            chunks of loops for several threads: pieces of code (``outlining``), run by ``thread_pool``
entry       the C and CPython entry points
machine     LLVM's passes, object code
program     the callable program
"""

from . import (  # noqa: F401  they register their emitters
    banded_matrices,
    complex_functions,
    control,
    eigenvalues,
    elementwise,
    factorisations,
    fourier,
    interrupts,
    kept_factors,
    least_squares,
    library,
    linear_algebra,
    parallel_ranges,
    parallel_strips,
    products,
    reductions,
    schur_forms,
    scipy_factorisations,
    sorting,
    special_functions,
    stacks,
    strip_loops,
    structured_systems,
    turns_of_schur_forms,
    updates,
)
from .program import NativeProgram, NativeStack, compile_function

__all__ = ["NativeProgram", "NativeStack", "compile_function"]
