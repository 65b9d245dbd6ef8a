"""Measure the cost of eager gradients against plain Python and peers, in one run.

Run: python -m benchmarks.eager [--quick]        (pip install "morula[bench]" adds the peers, PyTorch and autograd)

Each figure is a median of repeats.  The programs' repeats are interleaved, so that a slow phase of the machine affects all
alike.  The tables are printed, and written to benchmarks/results/eager-<date>.md.
"""
