"""The eager path: run a call and build its pullback from the same source, without compiling to machine code.

    structured   functions of numbers and arrays: their sweeps, or their tangents beside their values, are printed as Python
    rewriting    all other functions: their syntax trees are rewritten so that each operation calls the tape
    recorded     the tape; recorded calls, subscripts, attributes and operators
    arrays       NumPy's arrays and functions on the tape
    unrecorded   code that cannot be recorded (C, other threads, frames older than the run): its effects are detected
    observed     runs under an observer, which sees each operation with its line
    forward      forward mode: a tape that computes tangents
    taylor       Taylor mode: a tape that computes series
    libraries    handlers for SciPy, the standard library, pandas and numba, loaded once the program has imported these

This room imports ``values``, ``ir``, ``rules``, ``source``, ``passes`` and ``emit``, never ``specialise``.  To support another
library function, add a rule to ``rules`` if its derivative is known in closed form, or a handler to ``libraries`` if it
calls back, iterates or keeps state.
"""
