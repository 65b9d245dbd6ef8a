"""Measure compiled value and gradient of whole programs: morula, the best hand-written adjoint and a fair JAX version.

Run: python -m benchmarks.compilation [--quick] [--only NAME ...]        (pip install "morula[bench]" adds the peers)

``loops`` and ``arrays`` hold the programs (``program.Program``), written as a scientist writes them in NumPy.  Those of
``held_out_loops`` and ``held_out_arrays`` are held out: they were written before any of them was compiled, and they are
not looked at when morula is tuned.  Only their times, and results that are wrong, are of interest.  ``compiling`` and
``keeping`` hold programs for other costs.  ``second`` is a list that was written to find what the speed of the tuned-on
programs does not carry over to; ``in_turn`` times it, and any group, on a machine that others use, and counts with
``emitted`` what the code of a gradient does, which explains the time of a held-out program without showing it.

Each contender has its own process (``desk``), so that its settings (XLA's flags), memory use or crash do not affect the
others.  ``race`` runs the contenders on the same arguments, compares their results and then times them, interleaved;
``tables`` makes the tables, and a summary of the groups.
"""
