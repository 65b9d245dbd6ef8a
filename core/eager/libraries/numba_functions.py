"""numba: a compiled function is differentiated through the Python function that it was compiled from.

Two things differ from the compiled functions: Python's integers do not wrap around at 64 bits, and random numbers come
from NumPy's generators instead of numba's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...rules.registry import CALLERS
from ...values.numbers import call_on
from ..recorded.call import call
from ..recorded.stores import setitem
from ..recorded.tape import Tape


def _call_dispatcher(tape: Tape, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function of ``numba.jit``."""
    return call(tape, function.py_func, *args, **kwargs)


def _call_ufunc(tape: Tape, ufunc: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function of ``numba.vectorize``: the Python function at each element."""
    return _call_loop(tape, ufunc, _elements, ufunc.nin, [], args, kwargs)


def _call_gufunc(tape: Tape, ufunc: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a function of ``numba.guvectorize``: the Python function writes its results at each index of the loop."""
    inner, outer = ufunc.expected_ndims()
    declared = next(iter(ufunc.gufunc_builder._sigs), None)
    # A scalar may be declared as an array of one element.  Without declared types, scalar results are such arrays.
    held = [0] * len(inner) + [1] * len(outer) if declared is None else [getattr(t, "ndim", 0) for t in declared.args]
    ranks = list(zip((*inner, *outer), held))
    return _call_loop(tape, ufunc, _places, len(inner), ranks, args, kwargs)


def _call_loop(
    tape: Tape,
    ufunc: Any,
    loop: Callable[..., Any],
    n: int,
    ranks: Sequence[Any],
    args: Sequence[Any],
    named: dict[str, Any],
) -> Any:
    given = named.pop("out", args[n:])
    if named:
        raise NoDerivative(
            f"numba's {ufunc.__name__} has no derivative with the arguments {', '.join(sorted(named))}; leave them out"
        )
    out = given if isinstance(given, tuple) else (given,)
    # Run the compiled function for the shapes and dtypes of the results.
    results = call_on(tape.parent, ufunc, *args[:n], *(np.copy(x) for x in out))
    several = isinstance(results, tuple)
    places = [np.array(y) for y in (results if several else (results,))]
    call(tape, loop, ufunc._dispatcher.py_func, ranks, args[:n], places)
    if out:
        for x, y in zip(out, places):
            setitem(tape, x, ..., y)
        return given if several else out[0]
    found = tuple(call(tape, _scalar, y) for y in places)
    return found if several else found[0]


def _scalar(y):
    return y[()]


def _elements(function, _, args, results):
    arrays = np.broadcast_arrays(*args, *results)[: len(args)]
    for place in np.ndindex(results[0].shape):
        found = function(*(x[place] for x in arrays))
        if len(results) == 1:
            results[0][place] = found
        else:
            for y, part in zip(results, found):
                y[place] = part


def _places(function, ranks, args, results):
    arrays = [np.asarray(x) for x in (*args, *results)]
    loops = [x.shape[: x.ndim - inner] for x, (inner, _) in zip(arrays, ranks)]
    loop = np.broadcast_shapes(*loops)
    operands = []
    for i, (x, (inner, declared)) in enumerate(zip(arrays, ranks)):
        if i < len(args):
            x = np.broadcast_to(x, loop + x.shape[x.ndim - inner :])
        operands.append(x[..., None] if declared > inner else x)
    for place in np.ndindex(loop):
        function(*(x[place] for x in operands))


# numba is not a dependency: this file is loaded once the program has imported it.
if "numba.experimental" in sys.modules:
    CALLERS[sys.modules["numba.core.registry"].CPUDispatcher] = _call_dispatcher
    CALLERS[sys.modules["numba.np.ufunc.dufunc"].DUFunc] = _call_ufunc
    CALLERS[sys.modules["numba.np.ufunc.gufunc"].GUFunc] = _call_gufunc
