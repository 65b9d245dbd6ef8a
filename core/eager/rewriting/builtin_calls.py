"""Calls of built-in functions that run no code of the program, so that they stay as they are in recorded code."""

from __future__ import annotations

import ast
from typing import Any

FLOATS = {float}

ASKED = (isinstance, issubclass, callable)
"""Functions that return a bool."""

QUIET = (*ASKED, id)
"""Functions that return nothing differentiable and run no method that could compute."""

QUIET_FOR = {len: "sized", int: "compared", float: "floats", list: "iterables", tuple: "iterables"}
"""Functions of one operand, with the name of the set of classes for whose instances they run no Python code."""


def runs_no_code(function: Any, call: ast.Call) -> bool:
    """Whether a call of a constant function can be made as it is, whatever its arguments are."""
    if function is type:
        return _is_of_one(call)
    return any(function is quiet for quiet in QUIET)


def classes_of_operand(function: Any, call: ast.Call) -> str | None:
    """Return the name of the set of classes for which a call of a constant function can be made as it is, or None."""
    if not _is_of_one(call):
        return None
    return next((classes for quiet, classes in QUIET_FOR.items() if function is quiet), None)


def _is_of_one(call: ast.Call) -> bool:
    return len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], ast.Starred)
