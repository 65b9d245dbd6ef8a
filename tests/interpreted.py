"""A function as typed IR, run by the interpreter instead of a back end, to test ``jit`` without a compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import morula as mo
from morula.core.eager.recorded.tape import NotANumber
from morula.core.ir.evaluate import evaluate


def interpreted(f: Callable[..., Any]) -> Callable[..., Any]:
    """``f`` traced, differentiated and simplified for its arguments, and then evaluated in NumPy.

    Raises:
        BadInput: when called: ``f`` cannot be compiled.
        NoDerivative: when called: its derivative cannot.
    """
    jitted = mo.jit(f, target="native")

    def run(*args: Any) -> Any:
        try:
            return _evaluated(jitted, args)
        except NotANumber:
            return _evaluated(jitted.strong, args)

    return run


def _evaluated(jitted: Any, args: tuple[Any, ...]) -> Any:
    given = jitted.given(args, {})
    found, leaves = jitted.compilation(*given)
    if found.executable is None:
        found.executable = lambda parameters: evaluate(found.function, parameters)
    return found.run(leaves, given)
