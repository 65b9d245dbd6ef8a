"""Functions whose result does not depend only on their arguments: clocks, random numbers, input.

Whatever does not depend on a traced value is computed once, while compiling.  These functions would put a single time
or a single draw into the program, so they are refused, except clocks (``clocks``) and generators with a known seed
(``generators``).
"""

from __future__ import annotations

import builtins
import datetime
import io
import os
import types
from collections.abc import Collection
from typing import Any

from ..errors import BadInput
from ..source.definitions import describe
from ..values.attributes import bound_to

MODULES = ("_random", "numpy.random", "random", "secrets", "time", "uuid")
"""Modules whose functions, and whose classes' methods, are impure."""

FUNCTIONS = {builtins.input, builtins.open, os.urandom}
DRAWS = {"rvs", "resample"}
"""Names of impure functions in SciPy's statistics."""

METHODS = {
    (datetime.datetime, "now"),
    (datetime.datetime, "today"),
    (datetime.datetime, "utcnow"),
    (datetime.date, "today"),
}


EFFECTS = frozenset(
    (*(os.system, os.write, os.remove, os.unlink, os.rename, os.replace, os.mkdir, os.rmdir, os.truncate, os.putenv),)
    + (os.chdir, os.link, os.symlink, os.utime)
)
"""Functions that act on the world outside the program."""


def refuse_effects(function: Any, made: Collection[int]) -> None:
    """Refuse a function that acts on a file or the system; ``made`` has the identities of the program's own objects."""
    owner = bound_to(function)
    if function in EFFECTS or isinstance(owner, io.IOBase) and id(owner) not in made:
        raise BadInput(
            f"{describe(function)} acts on a file or on the system, which would happen only once, while compiling; use print, or "
            "call it through morula.callback"
        )


def refuse_impure(function: Any) -> None:
    """Refuse a function, called while compiling, whose result may differ at run time."""
    if is_impure(function):
        raise BadInput(
            f"{describe(function)} may return another result at each call, but would be called only once, while compiling; pass its "
            "result as an argument, call it through morula.callback, or use morula.random.Generator for random numbers"
        )


def is_impure(function: Any) -> bool:
    owner, name = bound_to(function), getattr(function, "__name__", "")
    if isinstance(owner, type):
        return (owner, name) in METHODS
    holder = function if owner is None or isinstance(owner, types.ModuleType) else type(owner)
    module = (getattr(holder, "__module__", None) or "") + "."
    if module.startswith("scipy.stats.") and name in DRAWS:
        return True
    return function in FUNCTIONS or any(module.startswith(known + ".") for known in MODULES)
