"""Pullbacks of functions that treat a stack of matrices one by one, made from the pullback for one matrix."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np


def one_by_one(pullback: Callable[..., Any], *dimensions: int) -> Callable[..., Any]:
    """Extend a joint pullback, whose first arguments have at most these numbers of dimensions, to stacks of them.

    The leading axes of the arguments are broadcast against each other, as SciPy does, and every result has them.
    """

    @wraps(pullback)
    def of_stack(dy: Any, y: Any, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        cores = [0 if x is None or not d else min(d, np.ndim(x)) for x, d in zip(args, dimensions)]
        stacks = [np.shape(x)[: np.ndim(x) - d] if d else () for x, d in zip(args, cores)]
        stack = np.broadcast_shapes(*stacks)
        if stack == ():
            return pullback(dy, y, *args, **kwargs)

        def of_one(x: Any, at: tuple[int, ...]) -> Any:
            if isinstance(x, (tuple, list)):
                return tuple(of_one(part, at) for part in x)
            return x if x is None else x[at]

        whole = [np.broadcast_to(x, (*stack, *np.shape(x)[np.ndim(x) - d :])) if d else x for x, d in zip(args, cores)]
        found: list[Any] = []
        for at in np.ndindex(stack):
            given = [x[at] if d else x for x, d in zip(whole, cores)]
            found = [*found, pullback(of_one(dy, at), of_one(y, at), *given, *args[len(given) :], **kwargs)]
        gathered = []
        for parts in zip(*found):
            together = None if parts[0] is None else np.stack(parts)
            gathered = [
                *gathered,
                together if together is None else np.reshape(together, (*stack, *together.shape[1:])),
            ]
        return tuple(gathered)

    return of_stack
