"""``sparse_jacobian`` and ``sparse_hessian`` in a program that is compiled: pattern and colouring are found while compiling.

The pattern is that of the function for arguments of the same types.  What the pattern consults (indices, the zeros of a factor) must be
known then: constants of the program.  An array from outside may change; the compiled program compares it with the one that was consulted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from ...errors import BadInput
from ...source.definitions import describe
from ...specialise.arguments import has_traced
from ...specialise.scopes import Closure
from ...specialise.traced import Array, Scalar, Traced
from ...values.layout import Build, Describe
from . import programs


def traced(derivative: Any, trace: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the matrix in a program that is being traced."""
    if any(map(has_traced, _closed_over(derivative.f))):
        raise BadInput(
            f"{derivative.name} of {describe(derivative.f)} in compiled code: the function closes over values of the compiled program; give "
            "them to it as arguments"
        )
    given, given_kwargs, made = _examples(derivative, trace, args, kwargs)
    flat = derivative._flat(given, given_kwargs)
    if flat is not None:
        position = derivative.position(args)
        is_array = isinstance(args[position], Array)
        like = None if is_array else trace.call(programs.zeros_of, args[position])
        vector = args[position] if is_array else trace.call(programs.vector_of, args[position])
        derivative, args = flat[0], (*args[:position], vector, *args[position + 1 :], like)
        given, given_kwargs, made = _examples(derivative, trace, args, kwargs)
    x, position, rest = derivative._arguments(given)
    found, values, hidden = derivative.planned(x, position, rest, given_kwargs)
    for i, _, consulted in found.values:
        if any(values[i] is e for e in made):
            raise BadInput(
                f"{derivative.name} of {describe(derivative.f)} in compiled code: the entries depend on the values of an array of shape "
                f"{np.shape(values[i])}, which are not known while compiling; take it from outside (a global), or call it outside of "
                "the compiled function"
            )
        if i in hidden:
            source = hidden[i]
            now = trace.outside.read(trace, source.holder, source.key, source.found)
            trace.call(_check_unchanged, now, consulted, derivative.name)
    pattern = found.plan.pattern
    x = args[position]
    given_args = (*args[:position], None, *args[position + 1 :])
    if found.seeds:
        entries = programs.entries_of(derivative.f, position, derivative.makes(found))
        data = trace.call(entries, x, found.seeds, found.plan.places, given_args, kwargs)
    else:
        data = np.zeros(0, x.type.dtype)
    return trace.call(csr_array, (data, pattern.indices, pattern.indptr), shape=pattern.shape)


def _check_unchanged(now: Any, consulted: Any, name: str) -> None:
    if np.any((now != 0) != (consulted != 0) if consulted.dtype == bool else now != consulted):
        raise ValueError(f"{name}: an array on whose values the entries depend has changed; compile the program anew")


def _closed_over(f: Any) -> list[Any]:
    """Return the values that a function has from the compiled program around it."""
    if not isinstance(f, Closure):
        return [f]
    found = [*f.defaults, *f.keyword_defaults.values()]
    names, scope = set(f.__code__.co_freevars), f.scope
    while scope is not None:
        found += [scope.vars[name] for name in names if name in scope.vars]
        names = {name for name in names if name not in scope.vars}
        scope = scope.parent
    return [e for x in found for e in (_closed_over(x) if isinstance(x, Closure) and x is not f else [x])]


def _examples(derivative: Any, trace: Any, args: Any, kwargs: Any) -> tuple[Any, Any, list[Any]]:
    """Return the arguments with numbers and arrays in place of the program's, and these; ints must be known while compiling."""
    found = Describe(Traced)
    layout = found.describe((args, kwargs))
    made: list[Any] = []
    leaves: list[Any] = []
    for x in found.leaves:
        if not isinstance(x, Traced):
            leaves.append(x)
            continue
        if not x.type.is_static:
            raise BadInput(f"{derivative.name} in compiled code needs arrays of known shape, not {x.type}")
        if isinstance(x, Scalar) and x.type.dtype.kind in "iu":
            leaves.append(trace.concrete(x, f"the entries of a {derivative.matrix}"))
            continue
        leaves.append(np.zeros(x.type.shape, x.type.dtype) if x.type.shape or not x.type.weak else x.type.number(0))
        made.append(leaves[-1])
    given, given_kwargs = Build(leaves).build(layout)
    return given, given_kwargs, made
