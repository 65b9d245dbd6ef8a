"""Derivative rules, as data: one file per area of Python, NumPy and SciPy.  ``table`` says how a rule is written."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ..exclusion import one_at_a_time
from .table import MODELS, RULES, Model, Rule

# These libraries are imported by their rules, so these are read when a function of that part is first met.  What calls back
# is no rule but a handler, outside of this folder.
_LAZY = {
    "scipy.special": ("special",),
    "scipy.linalg": ("scipy_linear_algebra", "blas_lapack", "scipy_lapack", ".scipy_linalg"),
    "scipy.fft": ("scipy_fourier", "scipy_compiled_fourier"),
    "scipy.sparse": ("sparse", ".scipy_sparse"),
    "scipy.optimize": ("scipy_optimize", ".scipy_optimize"),
    "scipy.integrate": (".scipy_integrate",),
    "scipy.interpolate": ("scipy_interpolate", ".scipy_interpolate"),
    "scipy.ndimage": ("scipy_ndimage",),
    "scipy.signal": ("scipy_signal",),
    "scipy.spatial": ("scipy_spatial",),
    "scipy.stats": ("scipy_stats",),
    "statistics": ("descriptive_statistics",),
    "pandas._libs.ops_dispatch": (".pandas_operators",),
    "numba.experimental": (".numba_functions",),
    "queue": (".threads",),
    "concurrent.futures.thread": (".threads",),
    **dict.fromkeys(("concurrent.futures.process", "multiprocessing.pool"), (".processes",)),
    **dict.fromkeys(("multiprocessing.queues", "multiprocessing.connection"), (".processes",)),
}
_EAGER = (
    *("operators", "scalar_math", "ufuncs", "reductions", "shapes", "joining", "order", "indexing", "products"),
    *("linear_algebra", "matrix_factorisations", "matrix_norms", "fourier"),
)


def load(names: tuple[str, ...] = _EAGER) -> None:
    """Read the files of rules that are named."""
    for name in names:
        importlib.import_module(f".{name}", __package__)


def find_rule(function: Any) -> Rule | None:
    """The rule of a function, or None; reads the rules of a library when it is first seen to be imported."""
    try:
        rule = RULES.get(function)
    except TypeError:  # an unhashable callable object
        return None
    if rule is None and len(sys.modules) != _modules[0]:  # something has been imported since
        with one_at_a_time:  # another thread waits until the rules are there
            count = len(sys.modules)
            for package in [p for p in _LAZY if p in sys.modules]:
                load(_LAZY.pop(package, ()))  # a file of rules may ask for one
            _modules[0] = count
        rule = RULES.get(function)
    return rule


_modules = [0]
"""How many modules there were when the rules of libraries were last looked for."""


def find_model(function: Any) -> Model | None:
    """The program that stands for a compiled function, or None; ``find_rule`` has been asked before."""
    try:
        return MODELS.get(function)
    except TypeError:  # an unhashable callable object
        return None
