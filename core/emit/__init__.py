"""Code generation: ``python`` prints the structured tier's sweeps, ``native`` writes LLVM assembly, ``xla`` uses JAX.

``typed_python`` prints typed IR as Python. A new back end is a folder with ``compile_function``, listed in
``compilation/targets.py``, that lowers each operation of ``ir/typed.py``; ``ir/evaluate.py`` defines the right results.
This room imports ``values``, ``ir``, ``rules`` and ``passes``.
"""
