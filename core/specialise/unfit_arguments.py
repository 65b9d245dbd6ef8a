"""Errors for arguments that do not fit a function's parameters, or the traced form of a NumPy function."""

from __future__ import annotations

import ast
import copy
from typing import Any, NoReturn

from ..errors import ENGINE, BadInput
from ..source.definitions import describe

OF_TRACES = f"{ENGINE}specialise."


def refuse_arguments(node: Any, name: str, args: Any, kwargs: Any) -> NoReturn:
    """Raise Python's own error for arguments that do not fit a function's parameters."""
    own = copy.deepcopy(node.args)
    own.defaults = [ast.Constant(None) for _ in own.defaults]
    own.kw_defaults = [d and ast.Constant(None) for d in own.kw_defaults]
    for parameter in ast.walk(own):
        if isinstance(parameter, ast.arg):
            parameter.annotation = None
    alike = eval(compile(ast.fix_missing_locations(ast.Expression(ast.Lambda(own, ast.Constant(None)))), "", "eval"))
    alike.__qualname__ = name
    alike(*args, **kwargs)
    raise TypeError(f"{name}() does not take these arguments")


def refuse_form(function: Any, error: TypeError) -> None:
    """Refuse a call whose arguments NumPy's function accepts and its traced form does not.

    Such a call raises Python's TypeError at the call itself, or one frame below in a body shared by several functions.
    """
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return
    signs = ("unexpected keyword argument", "multiple values for", "positional argument", "required keyword-only")
    inside = trace.tb_frame.f_globals.get("__name__", "").startswith(OF_TRACES)
    if inside and trace.tb_frame.f_code.co_name != "bind" and any(sign in str(error) for sign in signs):
        given = str(error).partition("() ")[2] or str(error)
        raise BadInput(f"{describe(function)} {given} when compiled; write the call without it") from None
