"""``check_program``: one assertion that a program is differentiated correctly and runs as in Python."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

import morula as mo
from morula.core.errors import NoDerivative
from morula.core.testing.differences import numeric_leaves, vjp_by_differences


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
    one, other = numeric_leaves(a), numeric_leaves(b)
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
    differences = dict(numeric_leaves(vjp_by_differences(f, 1.0, args, step=0.02, has_integers=False)[0]))
    found = dict(numeric_leaves(gradient))
    for path, x in numeric_leaves(args):
        if isinstance(x, int):  # a count, an index: differences have no meaning
            continue
        got, expected = found.get(path), differences[path]
        where = f"argument {path[0][1]}{[key for _, key in path[1:]]}"
        assert np.shape(got) == np.shape(x), f"{where}: got {got!r} for {x!r}"
        assert np.allclose(got, expected, rtol, atol), f"{where}: got {got!r}, numerically {expected!r}"
    try:
        check_tangent(f, args, gradient)
    except NoDerivative as error:
        assert "forward mode" in str(error)  # a hook, or vectors that only reverse mode can take
    return gradient


def random_tangents(args: tuple[Any, ...], seed: int) -> tuple[Any, ...]:
    """A tangent for each argument, without zeros: none for ints, which count or are indices."""
    random = np.random.default_rng(seed)

    def tangent(_: Any, x: Any) -> Any:
        if isinstance(x, int):
            return None
        t = random.uniform(0.5, 1.5, np.shape(x)) * (1 + 0.5j if np.iscomplexobj(x) else 1)
        return t.astype(x.dtype) if isinstance(x, np.ndarray) else type(x)(t)

    return tuple(mo.tree.rebuild(copy.deepcopy(x), tangent, constant=lambda *_: None) for x in args)


def check_tangent(f: Callable[..., Any], args: tuple[Any, ...], gradient: tuple[Any, ...], rtol: float = 1e-8) -> None:
    """Assert that forward mode gives f's value, its effects on its arguments, and the derivative that the gradient says."""
    plain_args, run_args = copy.deepcopy(args), copy.deepcopy(args)
    plain = f(*plain_args)
    tangents = random_tangents(args, seed=3)
    y, dy = mo.jvp(f, run_args, tangents)
    assert same(y, plain), f"the value is {y!r} in forward mode, Python's is {plain!r}"
    assert same(run_args, plain_args), f"forward mode left the arguments as {run_args!r}, Python {plain_args!r}"
    total, size = 0.0, 0.0
    for x, g, t in (leaf for each in zip(args, gradient, tangents) for leaf in mo.tree.leaves(*each)):
        if g is not None:
            total += np.sum(np.real(np.conj(g) * t))
            size += np.sum(np.abs(g) * np.abs(t))
    assert np.allclose(dy, total, rtol=rtol, atol=rtol * (1 + size)), (
        f"the tangent is {dy!r}, by the gradient {total!r}"
    )
