"""``jit``: compile, cache, call and explain.

``compiled`` runs the stages from a Python function to a program, ``jitted`` holds the programs of a function,
``entry`` checks quickly whether a call fits the last program, ``compilation_cache`` stores programs on disk, and
``transformed_calls`` defines morula's own functions inside compiled programs; ``sparse/`` computes sparse derivatives.  This room may import all others.  To add
a target, list its ``compile_function`` in ``targets``; to add a pass, call it in ``compiled``.
"""

from __future__ import annotations

from ..rules import when_imported

when_imported("scipy.optimize", f"{__name__}.scipy_root_finders")
when_imported("scipy.integrate", f"{__name__}.scipy_integrals")
when_imported("scipy.sparse", f"{__name__}.scipy_sparse_matrices")
