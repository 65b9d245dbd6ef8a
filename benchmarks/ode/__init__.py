"""Measure solves and gradients of initial-value problems, in one run with solvers in C, SciPy, Diffrax and torchdiffeq.

Run: python -m benchmarks.ode [--quick] [--only NAME ...]         (pip install "morula[bench]" adds the peers)

``problems`` and ``batches`` hold the problems on which the implementation was tuned, ``held_out`` others, which were written
before. Every problem is solved, and the sum of squares of its end value is differentiated with respect to y0 and all parameters.
``limits`` is the limit of what can be reached: solvers in C for one problem each, with the same method and step control, and the
discrete adjoint by hand. The contenders race as in ``benchmarks/compilation``: each in its own process, timed interleaved. Errors are
those of the end value and of the gradient by the parameters, relative to ``references.json`` (``reference`` makes it, by
variational equations). ``kinds`` measures stochastic, symplectic and delay equations and large ensembles. ``work_precision`` draws error against time for all methods.
"""
