"""Measure derivatives in every mode, in one run with peers: JAX, PyTorch, autograd.

Run: python -m benchmarks.modes [--quick] [--only NAME ...] [--forward]        (pip install "morula[bench]" adds the peers)

``objectives`` holds the objectives of GradBench, ``programs`` some programs in all modes, written as a scientist writes
them in Python and NumPy, ``batches`` programs for one sample in batches; ``in_jax``, ``in_torch`` and ``in_autograd`` the same derivatives as an expert writes them for
these, ``in_c`` loops in C for some of the batches (needs a C compiler).  The contenders race as in ``benchmarks/compilation``: each in its own process, on the same arguments, their
results compared, then timed, interleaved.  ``nested`` takes five gradients of gradients.  ``forward`` (minutes more)
runs eager forward mode on the programs of ``benchmarks/generality``.
"""
