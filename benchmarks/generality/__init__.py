"""Measure value and gradient relative to the plain call, for programs that were not written for differentiation.

Run: python -m benchmarks.generality [--quick] [--no-peers] [--only eager native xla] [name ...]

The programs are the calls of ``tests/thirdparty`` (install the extra ``thirdparty``) and some of SciPy's own solvers and
of plain Python.  autograd, JAX and PyTorch (extra ``bench``) are given the same functions, and are timed if they run
them and give the right gradient.  ``mo.jit`` compiles them for each target, in a process of its own, and the results are
compared with the eager ones.  Held-out packages, which are never profiled to make morula faster, are summarised
separately.  Times are processor time; first calls are wall-clock time.  The tables are written to
benchmarks/results/generality-<date>.md.
"""
