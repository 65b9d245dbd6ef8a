"""Typed IR to XLA, through JAX: one function that JAX traces once, compiled to one executable.

    client          the switches that XLA reads when it starts, 64-bit numbers, the compilation cache
    program         ``compile_function``: tracing, lowering, compiling, calling
    lower           the walk over blocks: control flow, and the error that a program carries to its end
    lengths         arrays whose length is known only at run time: padded to their bound, masked where it matters
    overwriting     what is read before an array is written to, so that it is written in place
    pending         several writes to one array in a row, done at once
    elementwise     NumPy's ufuncs, with NumPy's results for every dtype
    special         SciPy's ufuncs
    arrays          shapes, casts, matrix products
    indexing        parts of arrays, read, written and added to
    reductions      sums, extrema, cumulative functions, sorting
    library         linear algebra and Fourier transforms
    host            what runs in Python while the program does: calls that XLA lacks, callbacks, printing

Each file registers what it lowers in ``lower.LOWERINGS``; a call that none of them knows runs in Python (``host``).
"""

from __future__ import annotations

from .program import XlaProgram, compile_function

__all__ = ["XlaProgram", "compile_function"]
