"""Numbers and arrays that the program computes from constants alone, where compiling needs them."""

from __future__ import annotations

from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from ..ir.dynamic import Block, Function, Value
from ..ir.evaluate import evaluate
from ..ir.typed import Dim
from ..values.attributes import bound_to
from ..values.holders import blank
from .arguments import depends_on_traced
from .instances import held_by_instance, hold, is_instance
from .traced import Array, Traced

_PLAIN = (type(None), bool, int, float, complex, str, type, np.generic, np.dtype)


def as_known(trace: Any, x: Any) -> Any:
    """Return the number or array that a traced value is in each run of the program; x itself if it may differ.

    In a tuple or list, each item is replaced by what it is known to be; an object that holds traced values by a copy.
    """
    if type(x) in (tuple, list):
        return type(x)(as_known(trace, e) for e in x)
    if _is_object(x) and depends_on_traced(x):
        made = blank(type(x))
        hold(made, {name: as_known(trace, e) for name, e in held_by_instance(x).items()})
        return made
    found = known_content(trace, trace.value(x)) if isinstance(x, Traced) else None
    if found is None:
        return x
    if found.ndim or isinstance(x, Array):
        return found.copy()
    return found.item() if x.type.weak else found[()]


def known_content(trace: Any, value: Value) -> np.ndarray | None:
    """Return the content of a value in each run of the program; None if it may differ."""
    if value.is_constant:
        return np.asarray(value.constant)
    if value not in trace.builder.fixed:
        return None
    if value in trace.patterns:
        trace.consulted.add(value)
    elif value not in trace.known:
        try:
            with np.errstate(all="ignore"):
                _compute(trace, value)
        except Exception:  # what raises does so when the program runs, if it comes there
            del trace.builder.fixed[value]
            return None
    return np.asarray(trace.known[value])


def _compute(trace: Any, value: Value) -> None:
    """Compute a fixed value, and the values that it is computed from."""
    made_by, known = trace.builder.fixed, trace.known
    operations: dict[int, Any] = {}
    given: list[Value] = []

    def visit(v: Value) -> None:
        if v.is_constant or v in given:
            return
        if v in known:
            given.append(v)
            if v in trace.patterns:
                trace.consulted.add(v)
            return
        op = made_by[v]
        if id(op) not in operations:
            for needed in (*op.operands, *(n.value for r in op.results for n in r.type.shape if isinstance(n, Dim))):
                visit(needed)
            operations[id(op)] = op

    visit(value)
    results = [r for op in operations.values() for r in op.results]
    block = Block([], list(operations.values()), results)
    found = evaluate(Function("constant", given, block), [known[v] for v in given])
    known.update(zip(results, found))


def know_pattern(trace: Any, parameter: Value, x: Any) -> None:
    """If it ``knows_patterns``, let the program assume the content of an array of integers, as the pattern of a sparse matrix.

    ``trace.consulted`` holds the parameters of which it has done so; it is for arrays with that content only.
    """
    if trace.knows_patterns and type(x) is np.ndarray and x.dtype.kind in "iu" and x.ndim:
        trace.patterns.add(parameter)
        trace.known[parameter] = x.copy()
        trace.builder.fixed[parameter] = None


def called_on_known(trace: Any, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function of arrays as Python does, if it gets only what is known while compiling; else return NotImplemented.

    What it writes into an array becomes a write of the program.
    """
    given = [*args, *kwargs.values()]
    known = as_known(trace, given)
    if not _is_plain(known):
        return NotImplemented
    arrays = [(x, y) for x, y in zip(given, known) if isinstance(x, Array)]
    states = [(y, _state(y)) for y in known if _has_parts(y)]
    before = [y.copy() for _, y in arrays]
    found = function(*known[: len(args)], **dict(zip(kwargs, known[len(args) :])))
    found = next((x for x, y in arrays if found is y), found)
    if any(_state(y) != state for y, state in states):
        return NotImplemented  # it changes an object, a list, or an array in these
    if not isinstance(found, Array) and not _is_plain(found, tuple(y for _, y in arrays) or (np.empty(0),)):
        return NotImplemented
    written = [
        (x, y) for (x, y), old in zip(arrays, before) if not np.array_equal(y, old, equal_nan=y.dtype.kind in "fc")
    ]
    if len({id(x.storage) for x, _ in written}) < len(written):
        return NotImplemented
    for x, y in written:
        trace.write(x, trace.builder.constant(y))
    return found


def is_of_arrays(function: Any) -> bool:
    """Whether a function is compiled code of a module, which keeps nothing of the arrays that it is given."""
    is_compiled = type(function) is BuiltinFunctionType or type(function).__name__ == "cython_function_or_method"
    owner = bound_to(function)
    return is_compiled and (owner is None or type(owner).__name__ == "module")


def _is_plain(x: Any, apart: tuple[np.ndarray, ...] = ()) -> bool:
    """Whether x consists of numbers, texts, and arrays of numbers that share no memory with those ``apart``."""
    if type(x) in (tuple, list):
        return all(_is_plain(e, apart) for e in x)
    if type(x) is np.ndarray:
        return x.dtype.kind in "biufc" and not any(np.may_share_memory(x, y) for y in apart)
    if _is_object(x):
        return not apart and not depends_on_traced(x)
    return isinstance(x, _PLAIN) and not isinstance(x, Traced)


def _is_object(x: Any) -> bool:
    """Whether x is an object of NumPy or SciPy, whose compiled functions change only the arrays that they are given."""
    is_theirs = type(x).__module__.partition(".")[0] in ("numpy", "scipy")
    return is_theirs and is_instance(x) and not isinstance(x, (Traced, list, dict, set, tuple, *_PLAIN))


def _has_parts(x: Any) -> bool:
    return type(x) in (tuple, list) or _is_object(x)


def _state(x: Any) -> Any:
    """Return what an object, a list or a tuple holds: the content of arrays, and the identity of what has no parts."""
    if type(x) is np.ndarray:
        return x.tobytes()
    if not _has_parts(x):
        return id(x)
    held = dict(enumerate(x)) if type(x) in (tuple, list) else held_by_instance(x)
    return [(k, _state(e)) for k, e in held.items()]
