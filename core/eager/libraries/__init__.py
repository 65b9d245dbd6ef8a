"""Handlers for libraries: what calls back, iterates on a function of the user's, or keeps values where only C can see them.

Each file is read once the program has imported the module of the library that is named beside it.
"""

from __future__ import annotations

from ...rules import when_imported

_FILES = {
    "scipy.linalg": "scipy_linalg",
    "scipy.sparse": "scipy_sparse",
    "scipy.optimize": "scipy_optimize",
    "scipy.integrate": "scipy_integrate",
    "scipy.interpolate": "scipy_interpolate",
    "pandas._libs.ops_dispatch": "pandas_operators",
    "numba.experimental": "numba_functions",  # the last part that numba imports
    "queue": "threads",
    "concurrent.futures.thread": "threads",
    "concurrent.futures.process": "processes",
    "multiprocessing.pool": "processes",
    "multiprocessing.queues": "processes",
    "multiprocessing.connection": "processes",
}

for _library, _file in _FILES.items():
    when_imported(_library, f"{__name__}.{_file}")
