"""Measure values and gradients of dense linear algebra, in one run with adjoints written by hand, JAX and PyTorch.

Run: python -m benchmarks.linalg [--quick] [--only NAME ...]        (pip install "morula[bench]" adds the peers)

``programs``, ``small`` and ``large`` hold the programs on which the implementation was tuned, ``held_out`` others, which were written before.  Each has its
value and gradient by NumPy and SciPy, with the adjoint written by hand on LAPACK's functions.  The contenders race as in
``benchmarks/compilation``: each in its own process, on the same arguments, their results compared, then timed, interleaved.
``sparse_systems`` has large equations solved by CG, multigrid, BiCGStab and sparse LU.  ``degenerate`` compares errors where eigenvalues or singular values are equal, and where other systems lack a derivative.
"""
