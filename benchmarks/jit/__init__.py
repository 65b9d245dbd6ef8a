"""Value and gradient of whole programs, compiled: morula beside the best hand-written adjoint and a fair JAX version.

Run: python -m benchmarks.jit [--quick] [--only NAME ...]        (pip install "morula[bench]" adds the peers)

``loops`` and ``arrays`` hold the programs (``program.Program``), written as a scientist writes them in NumPy.  Each
contender lives in a process of its own (``worker``), so that what one needs (XLA's flags) or spoils (memory, a crash)
does not reach the others; ``race`` has them compute the same thing, holds their results against each other, and then
times them in turn; ``report`` makes the tables.
"""
