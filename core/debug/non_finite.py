"""``debug_nans``: the line on which the Inf or NaN of a result first appears."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from ..api import pullback
from ..eager.observed.non_finite import Origins
from ..faults import prune
from ..source.requirements import check_function

__all__ = ["debug_nans"]


def debug_nans(f: Callable[..., Any] | None = None, *, inf: bool = True) -> Any:
    """Report the line on which the Inf or NaN of a result first appears, forward or backward, eager or compiled.

    ``with debug_nans():`` checks the results of derivatives and of compiled functions that the block calls: values,
    gradients, tangents.  ``debug_nans(f)`` is ``f`` with its value checked, and may be a derivative or compiled.  Where a
    result holds an Inf or NaN, the error names the operation that made it of finite operands.  What appears on the way and
    does not reach a result, as in the branch of ``np.where`` that is not taken, is no error.

    Eager runs are recorded operation by operation, and are slower.  Compiled functions run as always; of a result that is
    not finite, the typed program is interpreted, to find the line.

    Args:
        f: a function; None to get a context manager.
        inf: whether an Inf is reported, as well as a NaN.

    Returns:
        A function like ``f``, or a context manager.

    Raises:
        NonFinite: when it runs: a result holds an Inf or NaN; ``error.place`` is its file and line.
        BadInput: ``f`` is not callable.

    >>> import numpy as np
    >>> from morula.core import grad
    >>> def log_ratio(x):
    ...     return np.log(x / 4) * np.log(x)
    >>> with debug_nans():
    ...     float(grad(log_ratio)(2.0))
    0.0
    """
    if f is None:
        return _Checking(inf)
    check_function(f)

    @functools.wraps(f, updated=())
    def checked(*args: Any, **kwargs: Any) -> Any:
        with _Checking(inf):
            if hasattr(type(f), "__morula_call__"):  # a derivative or a compiled function, which checks itself
                return f(*args, **kwargs)
            return pullback(f, *args, **kwargs)[0]

    return checked


class _Checking:
    """The context in which runs are checked."""

    def __init__(self, inf: bool) -> None:
        self.inf = inf
        self.stack = ExitStack()

    def __enter__(self) -> None:
        self.origins = Origins(only_nan=not self.inf)
        self.stack.enter_context(self.origins.observing())

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.stack.close()
        if error is not None:
            self.origins.explain(error)
            prune(error)
