"""Gradients now: a call is run and its pullback is made from the same source, without compiling to machine code.

    structured   functions of numbers and arrays, whose forward and backward sweep is printed as Python
    rewriting    every other function: its syntax tree, rewritten so that what computes calls the tape
    recorded     the tape, and what calls, subscripts, attributes and operators do on it
    arrays       NumPy's arrays and functions on the tape
    unrecorded   code that is not recorded (C, other threads, frames from before the run): what it does is noticed
    libraries    handlers for SciPy, the standard library, pandas and numba, read once a program has imported these

Never imports ``specialise``, the other wing.  A function with a derivative of its own gets a rule in ``rules``; one that
calls back, iterates or keeps state gets a handler in ``libraries``.
"""
