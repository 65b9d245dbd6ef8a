"""Typed IR to XLA, through JAX: JAX traces one function once and compiles it to one executable.

    client          XLA's start-up flags, 64-bit numbers, the cache key of an executable
    program         ``compile_function``: tracing, lowering, compiling, calling
    lower           the walk over blocks: control flow, and the error that a program carries to its end
    lengths         arrays whose length is known only at run time: padded to their bound, masked where it matters
    overwriting     reads that are scheduled before a write, so that XLA writes in place
    pending         several writes to one array in a row, done at once
    elementwise     NumPy's ufuncs, with NumPy's results for every dtype
    special         SciPy's ufuncs
    arrays          shapes, casts, matrix products
    indexing        reads, writes and additions to parts of arrays
    overflow        detection of Python ints out of the range of int64
    reductions      sums, extrema, cumulative functions, sorting
    library         linear algebra and Fourier transforms
    factor_kernels  adjoints with triangles
    kept_factors    LU factors that the backward sweep uses again
    scipy_linear_algebra  factorisations of SciPy, and solutions with factors
    host            calls into Python: functions that XLA lacks, callbacks, printing

Each file registers its lowerings in ``lower.LOWERINGS``; a call without a lowering runs in Python (``host``).
"""

from __future__ import annotations

from .program import XlaProgram, compile_function

__all__ = ["XlaProgram", "compile_function"]
