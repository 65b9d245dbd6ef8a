"""The verdict on a program with state: the result of ``jit`` against Python's."""

from __future__ import annotations

import copy
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import morula as mo

INTERNAL = re.compile(r"\b(traced\.|Conflict|Closure\b|Scalar\b|Missing\b|<morula|morula\.core|0x[0-9a-f]{6,})")
"""Names of the compiler's own classes and addresses, of which no message speaks."""


def same(found: Any, expected: Any) -> bool:
    """Equality of structures, numbers to rounding; an int may have become a float, as on the other path of a branch."""
    if isinstance(expected, (list, tuple)):
        alike = type(found) is type(expected) and len(found) == len(expected)
        return alike and all(same(a, b) for a, b in zip(found, expected))
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(same(found[k], expected[k]) for k in expected)
    if isinstance(expected, (bool, int, float, np.ndarray, np.generic)):
        if np.asarray(found).dtype.kind not in "biufc" or isinstance(found, bool) != isinstance(expected, bool):
            return False
        return np.shape(found) == np.shape(expected) and np.allclose(found, expected, 1e-9, 1e-9, equal_nan=True)
    if hasattr(expected, "__dict__") and not callable(expected):
        return type(found).__name__ == type(expected).__name__ and same(vars(found), vars(expected))
    return found == expected


def world_of(f: Callable[..., Any]) -> dict[str, Any]:
    """What a program may change outside of it: the plain values in its module."""
    return {
        k: v for k, v in f.__globals__.items() if k.isupper() and k != "PROGRAMS" and isinstance(v, (dict, list, float))
    }


def run(f: Callable[..., Any], call: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, Any, Any, Any]:
    """How a call ends, its arguments after it, and the module after it; the module is put back."""
    before = copy.deepcopy(world_of(f))
    args = copy.deepcopy(args)
    try:
        end = "returned", call(*args)
    except mo.BadInput as error:
        end = "refused", str(error)
    except Exception as error:
        end = "raised " + type(error).__name__, str(error)
    after = copy.deepcopy(world_of(f))
    module = sys.modules[f.__module__]
    for name, value in before.items():
        setattr(module, name, value)
    return *end, args, after


def verdict(f: Callable[..., Any], compiled: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, str]:
    """``right``, ``refused``, ``wrong`` or ``raised`` (what Python does not raise), and an account of it."""
    how, value, args_after, world_after = run(f, f, args)
    got_how, got, got_args, got_world = run(f, compiled, args)
    if got_how == "refused":
        return "refused", got
    if got_how.startswith("raised") and got_how != how:
        return "raised", f"{got_how}: {got}; Python {how} {value!r}"
    if got_how != how or how == "returned" and not same(got, value):
        return "wrong", f"{got_how} {got!r}; Python {how} {value!r}"
    if how == "returned" and not same(got_args, args_after):
        return "wrong", f"the arguments are {got_args!r}; after Python {args_after!r}"
    if not same(got_world, world_after) and how == "returned":
        return "wrong", f"the module holds {got_world!r}; after Python {world_after!r}"
    return "right", ""
