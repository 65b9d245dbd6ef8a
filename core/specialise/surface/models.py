"""Functions that ``rules/`` knows, and that have no source which the program could contain.

If ``rules/`` has a NumPy program for a compiled function, the program takes its place.  If it has the derivative, the function
is called at run time (``library``).
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ...rules import find_model, find_rule
from ...rules.table import AT_RUN_TIME, Model
from ..constants import called_on_known
from ..traced import Trace
from .arguments import refuse
from .library import library_trace


def find(function: Any) -> Callable[..., Any] | None:
    """Return what such a function does on traced values; None for others."""
    rule = find_rule(function)  # loads the rules of the function's library too
    model = find_model(function)
    if model is not None:
        return functools.partial(_run, model)
    if rule is None or rule.writes or isinstance(function, type):
        return None
    module = getattr(function, "__module__", None)
    of_scipy = not isinstance(function, FunctionType) and (module is None or module.startswith("scipy."))
    return library_trace(function) if of_scipy or function in AT_RUN_TIME else None


def _run(model: Model, trace: Trace, *args: Any, **kwargs: Any) -> Any:
    """Interpret the model's program; what it computes is returned, or written into the arguments that it updates."""
    try:
        bound = inspect.signature(model.program).bind(*args, **kwargs)
    except TypeError:
        raise refuse(f"{model.function.__name__} with these arguments", "use mo.callback") from None
    bound.apply_defaults()
    found = called_on_known(trace, model.function, args, kwargs)
    if found is not NotImplemented:
        return trace.uninterpreted.take_in(found)  # type: ignore[attr-defined]
    given = bound.arguments
    out = given.get("out") if not model.into else None
    if out is not None:
        given["out"] = None
    if model.function in trace.called:  # its program calls it, for what should be known
        raise refuse(f"{model.function.__name__} of arrays that are not known while compiling", "use mo.callback")
    trace.called.append(model.function)
    try:
        program = model.loops if model.loops is not None and trace.target == "native" else model.program
        y = trace.call(program, *bound.args, **bound.kwargs)
    finally:
        trace.called.pop()
    if out is not None:
        trace.call(operator.setitem, out, ..., y)
        return out
    if not model.into:
        return y
    outputs = [bound.args[i] for i in model.into]
    for output, content in zip(outputs, y if len(outputs) > 1 else (y,)):
        trace.call(operator.setitem, output, ..., content)
    return outputs[0]
