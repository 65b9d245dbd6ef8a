"""Searches and their derivatives: morula beside optimistix, SciPy, PyTorch and code by hand.

Run: python -m benchmarks.optim [--quick] [--only NAME...] [--groups GROUP...] [--with CONTENDER...]

Each contender solves the same problem from the same start in a process of its own, on one core. Contenders stop by tests of their own, so the
tables show what each reached: the largest entry of the gradient, residual or equation at its answer. Times are medians of alternating runs.
``programs`` is what the package was tuned on; ``held_out`` was written before its speed was looked at. ``robustness`` counts
the problems of NIST and of Moré, Garbow and Hillstrom that are solved from near and far starts.
"""
