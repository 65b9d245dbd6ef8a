"""Handlers for library functions that call back, iterate on a user function, or keep values inside C objects.

``_FILES`` maps a library's module to the file of its handlers, which is loaded once the program imports that module.
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
    "numba.experimental": "numba_functions",  # the module that numba imports last
    "queue": "threads",
    "concurrent.futures.thread": "threads",
    "concurrent.futures.process": "processes",
    "multiprocessing.pool": "processes",
    "multiprocessing.queues": "processes",
    "multiprocessing.connection": "processes",
}

for _library, _file in _FILES.items():
    when_imported(_library, f"{__name__}.{_file}")
