"""Compares a plain and a compiled run of a program in all that a caller can observe of results and arguments.

Compared are the exception or the values, the classes, the identity of arrays, shared memory, writability, the arguments
afterwards, and the effect of a write into each result on the arguments and the other results.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

import morula as mo


class Box:
    def __init__(self, **held):
        for name, x in held.items():
            setattr(self, name, x)


def arrays_in(x, name=""):
    """The arrays and numbers in a structure, with where they stand."""
    if isinstance(x, (list, tuple)):
        return [e for i, part in enumerate(x) for e in arrays_in(part, f"{name}[{i}]")]
    if isinstance(x, dict):
        return [e for k, part in x.items() for e in arrays_in(part, f"{name}[{k!r}]")]
    if isinstance(x, Box):
        return arrays_in(vars(x), f"{name}.")
    return [(name, x)]


def facts(y, args):
    """All that a caller can find out about a result and the arguments afterwards, by the places of the arrays."""
    found = {}
    given = [(n, x) for n, x in arrays_in(args, "argument") if isinstance(x, np.ndarray)]
    results = arrays_in(y, "result")
    for name, x in [*results, *given]:
        found[name] = type(x) if isinstance(x, np.ndarray) else np.asarray(x).dtype.kind, np.array(x).tolist()
    results = [(n, x) for n, x in results if isinstance(x, np.ndarray)]
    for name, x in results:
        found[name, "form"] = x.dtype, x.shape, x.flags.writeable
    for (n, x), (m, other) in itertools.combinations([*results, *given], 2):
        found[n, m] = "is" if x is other else "shares" if np.shares_memory(x, other) else ""
    for name, x in results:
        if x.flags.writeable:
            x[...] = np.arange(100, 100 + x.size).reshape(x.shape)
            found[name, "written"] = {n: np.array(e).tolist() for n, e in [*results, *given]}
    return found


def compare(f, make, target, *more):
    """Run a program plainly and compiled, and compare; gives the exception, if there is one."""
    plain, given = make(), make()
    try:
        expected = facts(f(*plain, *more), plain)
    except Exception as error:  # noqa: BLE001 - whatever Python raises
        expected = type(error), str(error)
    try:
        found = facts(compiled(f, target)(*given, *more), given)
    except mo.BadInput:
        raise
    except Exception as error:  # noqa: BLE001
        found = type(error), str(error).partition("\n")[0]
    if isinstance(found, dict) and isinstance(expected, dict):
        wrong = {k: (found.get(k), expected.get(k)) for k in {**found, **expected} if found.get(k) != expected.get(k)}
        assert not wrong, f"found and expected: {wrong}"
    assert found == expected, f"{found} for {expected}"
    return expected


@cache
def compiled(f, target):
    return mo.jit(f, target=target)
