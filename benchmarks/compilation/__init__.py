"""Measure compiled value and gradient of whole programs: morula, the best hand-written adjoint and a fair JAX version.

Run: python -m benchmarks.compilation [--quick] [--only NAME ...]        (pip install "morula[bench]" adds the peers)

``loops`` and ``arrays`` hold the programs (``program.Program``), written as a scientist writes them in NumPy.  Each
contender has its own process (``desk``), so that its settings (XLA's flags), memory use or crash do not affect the
others.  ``race`` runs the contenders on the same arguments, compares their results and then times them, interleaved;
``tables`` makes the tables.
"""
