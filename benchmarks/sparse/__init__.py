"""Measure sparse Jacobians and Hessians of about 100,000 unknowns, in one run with SciPy's differences and JAX.

Run: python -m benchmarks.sparse [--quick] [--only NAME ...]        (pip install "morula[bench]" adds JAX)

``programs`` holds the programs on which the implementation was tuned, ``held_out`` others, which were written before. Each is NumPy, by arrays or by
loops over elements; array programs also run with ``jax.numpy``. SciPy gets the pattern and groups its columns itself; it calls the compiled
function, or for a Hessian the compiled gradient. JAX gets the colouring of morula, and maps ``jvp`` over its directions.
"""
