"""Derivative rules as data, one file per area of Python, NumPy and SciPy; ``table`` describes how to write a rule.

This room imports ``values`` and ``ir``.  To add a rule, add a line to the file of its area; ``registry`` holds the
handlers that other rooms register, and ``connected`` the functions of later rooms that earlier ones call.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ..exclusion import one_at_a_time
from .table import MODELS, RULES, Model, Rule

# These rules import their library, so they are loaded only once the program has imported it.
_LAZY: dict[str, tuple[str, ...]] = {
    "scipy.special": ("special",),
    "scipy.linalg": (
        *("scipy_linear_algebra", "scipy_eigenvalues", "scipy_qr_forms", "scipy_indefinite", "scipy_schur"),
        *(
            "scipy_generalised_schur",
            "scipy_cosine_sine",
            "known_matrices",
            "blas_lapack",
            "scipy_lapack",
            "scipy_programs",
        ),
        *("scipy_dense_programs", "root_and_logarithm", "matrix_function_programs"),
    ),
    "scipy.fft": ("scipy_fourier", "scipy_compiled_fourier"),
    "scipy.sparse": ("sparse", "sparse_pairs", "sparse_equations", "sparse_solutions", "sparse_programs"),
    "scipy.optimize": ("scipy_optimize",),
    "scipy.interpolate": ("scipy_interpolate",),
    "scipy.ndimage": ("scipy_ndimage",),
    "scipy.signal": ("scipy_signal",),
    "scipy.spatial": ("scipy_spatial",),
    "scipy.stats": ("scipy_stats",),
    "statistics": ("descriptive_statistics",),
}
"""Files of rules by library module: they are loaded once the program has imported the module."""

_HANDLERS: dict[str, tuple[str, ...]] = {}
"""Modules of handlers (full names) by library module, loaded in the same way."""


def when_imported(library: str, *modules: str) -> None:
    """Import ``modules``, which register handlers, once the program has imported a module of a library."""
    with one_at_a_time:
        _HANDLERS[library] = (*_HANDLERS.get(library, ()), *modules)
        _modules[0] = 0


_EAGER = (
    *(
        "operators",
        "scalar_math",
        "ufuncs",
        "inverse_functions",
        "reductions",
        "shapes",
        "joining",
        "order",
        "indexing",
        "products",
    ),
    *(
        "linear_algebra",
        "kept_factors",
        "matrix_factorisations",
        "matrix_norms",
        "kept_decompositions",
        "kept_triangles",
        "dense_programs",
        "fourier",
    ),
)


def load(names: tuple[str, ...] = _EAGER) -> None:
    """Load the named files of rules."""
    for name in names:
        importlib.import_module(f".{name}", __package__)


def find_rule(function: Any) -> Rule | None:
    """Return the rule of a function, or None; loads the rules of libraries that were imported since the last call."""
    try:
        rule = RULES.get(function)
    except TypeError:  # an unhashable callable object
        return None
    if rule is None and len(sys.modules) != _modules[0]:  # modules have been imported since
        with one_at_a_time:  # other threads wait until the rules are loaded
            count = len(sys.modules)
            for package in [p for p in list(_LAZY) if p in sys.modules]:
                load(_LAZY.pop(package, ()))  # loading rules may call ``find_rule``
            for package in [p for p in list(_HANDLERS) if p in sys.modules]:
                for module in _HANDLERS.pop(package, ()):
                    importlib.import_module(module)
            _modules[0] = count
        rule = RULES.get(function)
    return rule


_modules = [0]
"""The number of imported modules when ``find_rule`` last looked for new libraries."""


def find_model(function: Any) -> Model | None:
    """Return the program that models a compiled function, or None; call ``find_rule`` first, which loads the rules."""
    try:
        return MODELS.get(function)
    except TypeError:  # an unhashable callable object
        return None
