"""``lowering``: another function for the programs of one back end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import BadInput
from ..rules.registry import LOWERINGS, key_of
from ..source.requirements import check_function

Function = Callable[..., Any]
BACK_ENDS = ("native", "xla")


def lowering(f: Function, target: str) -> Callable[[Function], Function]:
    """Give ``f`` another form for one back end; use as the decorator of a function that computes the same.

    Programs compiled for this back end call it where ``f`` is called: loops for native code, say, and whole arrays for XLA. Eager code and
    the other back end call ``f``. Derivatives are those of the function that is called, unless ``f`` has its own by ``adjoint`` or
    ``tangent``.

    Args:
        f: any function or callable object.
        target: ``"native"`` or ``"xla"``. The decorated function takes the arguments of ``f`` and returns what ``f`` returns; it may call
            ``f``.

    Returns:
        The decorator, which returns its function unchanged.

    Raises:
        BadInput: ``f`` or the decorated function is not callable, or the target is another.

    >>> from morula import jit
    >>> def total(x):
    ...     result = 0.0
    ...     for e in x:
    ...         result += e
    ...     return result
    >>> @lowering(total, "xla")
    ... def _(x):
    ...     return x.sum()
    >>> import numpy as np
    >>> float(jit(total)(np.ones(4)))
    4.0
    """
    check_function(f)
    if target not in BACK_ENDS:
        raise BadInput(f'lowering: the target must be "native" or "xla", not {target!r}')

    def register(form: Function) -> Function:
        check_function(form)
        LOWERINGS[target, key_of(f)] = form
        return form

    return register
