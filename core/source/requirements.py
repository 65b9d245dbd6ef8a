"""Checks that a function, its arguments and its result can be differentiated, and the errors if not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import BadInput
from ..faults import kind_of as named
from .definitions import describe


def kind_of(x: Any) -> str:
    if isinstance(x, np.ndarray):
        return f"an array of dtype {x.dtype}"
    name = named(x)
    if x is None or isinstance(x, (str, bool)):
        return "None" if x is None else f"{name} {x!r}"
    if isinstance(x, tuple):
        return f"a {name} of length {len(x)}"
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def out_of_range(f: Any, position: int, args: tuple[Any, ...]) -> BadInput:
    """Return the error for an ``argnums`` out of range."""
    n = len(args)
    return BadInput(
        f"argnums {position} is out of range: {describe(f)} was called with {n} positional argument{'' if n == 1 else 's'}; pass "
        "differentiated arguments by position, not by keyword"
    )


def no_scalar(f: Any, y: Any, shape: str = "") -> BadInput:
    """Return the error for a differentiated function that does not return a real scalar."""
    if y is None:
        return nothing_returned(f)
    if isinstance(y, tuple):
        return BadInput(
            f"a gradient needs a real scalar output, but {describe(f)} returned {kind_of(y)}; if it returns (value, aux), "
            "pass has_aux=True; otherwise use morula.pullback with a cotangent of the output's structure"
        )
    return BadInput(
        f"a gradient needs a real scalar output, but {describe(f)} returned {kind_of(y)}{shape}; use morula.jacobian for "
        "arrays, or morula.pullback with a cotangent of the output's structure"
    )


def no_pair(f: Any, y: Any) -> BadInput:
    """Return the error for a function that does not return ``(value, aux)``."""
    if y is None:
        return nothing_returned(f)
    return BadInput(f"with has_aux, {describe(f)} must return a pair (value, aux), not {kind_of(y)}")


def nothing_returned(f: Any) -> BadInput:
    return BadInput(f"{describe(f)} returned None, which has no derivative; is a `return` missing at its end?")


def result_is_none() -> BadInput:
    return BadInput("the result is None, so its cotangent must be None too; is a `return` missing in the function?")


def check_function(f: Any) -> None:
    if not callable(f):
        raise BadInput(f"expected a function, not {kind_of(f)}; write grad(f)(x), not grad(f(x))")
