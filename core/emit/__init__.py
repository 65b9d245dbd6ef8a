"""IR to code: ``python`` prints the sweeps of the structured tier, ``native`` writes LLVM's assembly, ``xla`` traces with JAX.

Imports what is below ``eager`` and ``specialise``.  A new back end is a folder with ``compile_function``, named in
``compilation/targets.py``, and has a form for each operation of ``ir/typed.py``; ``ir/evaluate.py`` says what is right.
"""
