"""Derivative rules, as data: one file per area of Python, NumPy and SciPy.  ``table`` says how a rule is written."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ..exclusion import one_at_a_time
from .table import MODELS, RULES, Model, Rule

# These libraries are imported by their rules, so these are read when a function of that part is first met.
_LAZY: dict[str, tuple[str, ...]] = {
    "scipy.special": ("special",),
    "scipy.linalg": ("scipy_linear_algebra", "blas_lapack", "scipy_lapack"),
    "scipy.fft": ("scipy_fourier", "scipy_compiled_fourier"),
    "scipy.sparse": ("sparse",),
    "scipy.optimize": ("scipy_optimize",),
    "scipy.interpolate": ("scipy_interpolate",),
    "scipy.ndimage": ("scipy_ndimage",),
    "scipy.signal": ("scipy_signal",),
    "scipy.spatial": ("scipy_spatial",),
    "scipy.stats": ("scipy_stats",),
    "statistics": ("descriptive_statistics",),
}
"""By a module of a library: the files of rules that are read once the program has imported it."""

_HANDLERS: dict[str, tuple[str, ...]] = {}
"""Likewise for handlers, by the full names of their modules."""


def when_imported(library: str, *modules: str) -> None:
    """Import ``modules``, which register handlers, once the program has imported a module of a library."""
    with one_at_a_time:
        _HANDLERS[library] = modules
        _modules[0] = 0


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
            for package in [p for p in _HANDLERS if p in sys.modules]:
                for module in _HANDLERS.pop(package, ()):
                    importlib.import_module(module)
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
