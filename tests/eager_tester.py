"""``check_program``: one assertion that a program is differentiated correctly and runs as in Python."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import morula as mo
from morula.core.testing.differences import leaves, vjp_by_differences


def same(a: Any, b: Any) -> bool:
    """Equality of two trees down to types, dtypes, shapes and bits."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if hasattr(a, "__dict__"):
        return same(vars(a), vars(b))
    if hasattr(a, "__slots__"):
        return all(same(getattr(a, name), getattr(b, name)) for name in a.__slots__)
    return bool(a == b)


def close(a: Any, b: Any) -> bool:
    """Equality of the leaves of two trees up to rounding in the last digits."""
    one, other = leaves(a), leaves(b)
    return len(one) == len(other) and all(
        path == place and np.shape(x) == np.shape(y) and np.allclose(x, y, 1e-13, 1e-13, True)
        for (path, x), (place, y) in zip(one, other)
    )


def check_program(f: Callable[..., Any], *args: Any, rtol: float = 1e-8, atol: float = 1e-8) -> tuple[Any, ...]:
    """Assert that f's value, its effects on its arguments and its gradient are right; return the gradient."""
    plain_args = copy.deepcopy(args)
    plain = f(*plain_args)

    run_args = copy.deepcopy(args)
    y, back = mo.vjp(f, *run_args)
    assert same(y, plain), f"the value is {y!r}, Python's is {plain!r}"
    assert same(run_args, plain_args), f"the arguments became {run_args!r}, Python leaves {plain_args!r}"
    one = type(plain)(1)
    gradient = back(one)
    assert same(run_args, plain_args), f"going back changed the arguments to {run_args!r} from {plain_args!r}"
    assert type(gradient) is tuple and len(gradient) == len(args)
    assert same(back(one), gradient), "going back a second time gave another gradient"
    again = mo.gradient(f, *copy.deepcopy(args))  # a later run fuses more operations, and may add in another order
    assert close(again, gradient), "gradient and vjp disagree"

    # Good to about 1e-10 where f is smooth within the step; a branch must not switch within it.
    differences = dict(leaves(vjp_by_differences(f, 1.0, args, step=0.02, has_integers=False)[0]))
    found = dict(leaves(gradient))
    for path, x in leaves(args):
        if isinstance(x, int):  # a count, an index: differences have no meaning
            continue
        got, expected = found.get(path), differences[path]
        where = f"argument {path[0][1]}{[key for _, key in path[1:]]}"
        assert np.shape(got) == np.shape(x), f"{where}: got {got!r} for {x!r}"
        assert np.allclose(got, expected, rtol, atol), f"{where}: got {got!r}, numerically {expected!r}"
    return gradient
