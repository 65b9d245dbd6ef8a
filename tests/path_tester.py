"""One tester of a program on a path: eager, compiled to native code, compiled by XLA.

The program runs plainly in Python and NumPy.  On the path it must have the same value and the same effects on the
arguments, and its gradient must agree with extrapolated differences of the plain program, which do not use morula.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

import morula as mo
from morula.core.errors import NoDerivative
from morula.core.testing.differences import numeric_leaves, numerical_vjp

PATHS = tuple(os.environ.get("MORULA_TEST_PATHS", "eager native xla").split())
"""All there are, or those that the variable names."""


def run_on(path: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the transformation that runs a program on this path; each program is compiled once for all tests."""
    return lambda f: _compiled(path, f)


@cache
def _compiled(path: str, f: Callable[..., Any]) -> Callable[..., Any]:
    return f if path == "eager" else mo.jit(f, target=path)


@cache
def gradient_of(f: Callable[..., Any], argnums: int | tuple[int, ...]) -> Callable[..., Any]:
    """``value_and_grad(f, argnums)``, the same one each time it is asked for."""
    return mo.value_and_grad(f, argnums)


def check_value(path: str, f: Callable[..., Any], *args: Any, rtol: float | None = None) -> Any:
    """Assert that f's value on the path, and what it does to its arguments, are Python's; return the value."""
    expected_args, given = copy.deepcopy(args), copy.deepcopy(args)
    expected = f(*expected_args)
    value = run_on(path)(f)(*given)
    assert_same(value, expected, rtol, "the value")
    assert_same(given, expected_args, rtol, "the arguments afterwards")
    return value


def check_gradient(
    path: str, f: Callable[..., Any], *args: Any, argnums: tuple[int, ...] | None = None, rtol: float | None = None
) -> tuple[Any, ...]:
    """Assert that f's value, effects and gradient on the path are right; return the gradient for each of ``argnums``.

    ``argnums``: by default the arguments that hold a number or array that is not an integer.
    """
    if argnums is None:
        argnums = tuple(i for i, a in enumerate(args) if any(not isinstance(x, int) for _, x in numeric_leaves(a)))
    expected_args, given = copy.deepcopy(args), copy.deepcopy(args)
    expected = f(*expected_args)
    value, gradient = run_on(path)(gradient_of(f, argnums))(*given)
    assert_same(value, expected, rtol, "the value")
    assert_same(given, expected_args, rtol, "the arguments afterwards")

    def at(*chosen: Any) -> Any:
        every = list(copy.deepcopy(args))
        for i, x in zip(argnums, chosen):
            every[i] = x
        return f(*every)

    active = tuple(args[i] for i in argnums)
    slopes, errors = numerical_vjp(at, 1.0, *active)
    found, uncertainties = dict(numeric_leaves(gradient)), dict(numeric_leaves(errors))
    single = any(np.asarray(x).dtype in (np.float32, np.complex64) for _, x in numeric_leaves(args))
    rtol = (2e-3 if single else 1e-6) if rtol is None else rtol
    for where, slope in numeric_leaves(slopes):
        if np.any(np.isnan(slope)):
            continue  # a count: moved, it is no argument of the program
        got = found.get(where)
        assert got is not None and np.shape(got) == np.shape(slope), (
            f"{where}: {got!r} where differences give {slope!r}"
        )
        if isinstance(slope, np.ndarray):
            assert np.asarray(got).dtype == slope.dtype, f"{where}: {np.asarray(got).dtype} for {slope.dtype}"
        tolerance = 0.1 * rtol + rtol * np.abs(slope) + 2 * np.asarray(uncertainties[where])
        assert np.all(np.abs(np.asarray(got) - slope) <= tolerance), (
            f"{where}: {got!r} where differences give {slope!r}"
        )
    if path == "eager":
        try:
            check_tangent(path, f, args, argnums, gradient, rtol)
        except NoDerivative as error:
            assert "forward mode" in str(error)  # a hook, or vectors that only reverse mode can take
    return gradient


def check_tangent(
    path: str, f: Callable[..., Any], args: Any, argnums: tuple[int, ...], gradient: Any, rtol: float = 1e-6
) -> None:
    """Assert that forward mode on the path gives f's value and effects, and the tangent that the gradient says."""
    random = np.random.default_rng(5)

    def tangent(_: Any, x: Any) -> Any:
        t = random.uniform(0.5, 1.5, np.shape(x)) * (1 + 0.5j if np.iscomplexobj(x) else 1)
        return t.astype(x.dtype)[()] if isinstance(x, (np.ndarray, np.generic)) else type(x)(t)

    def of(x: Any) -> Any:
        return mo.tree.rebuild(copy.deepcopy(x), tangent, constant=lambda *_: None)

    tangents = tuple(of(a) if i in argnums else None for i, a in enumerate(args))
    expected_args, given = copy.deepcopy(args), copy.deepcopy(args)
    expected = f(*expected_args)
    value, dy = run_on(path)(pushed(f))(given, tangents)
    assert_same(value, expected, rtol, "the value in forward mode")
    if path == "eager":
        assert_same(given, expected_args, rtol, "the arguments after forward mode")
    product, size = 0.0, 0.0
    each = zip((args[i] for i in argnums), gradient, (tangents[i] for i in argnums))
    for _, g, t in (leaf for parts in each for leaf in mo.tree.leaves(*parts)):
        if g is not None:
            product += float(np.sum(np.real(np.conj(g) * t)))
            size += float(np.sum(np.abs(np.asarray(g) * np.asarray(t))))
    assert abs(dy - product) <= rtol * (1 + size), f"the tangent is {dy!r}, by the gradient {product!r}"


@cache
def pushed(f: Callable[..., Any]) -> Callable[..., Any]:
    """``(args, tangents)`` -> ``jvp(f, args, tangents)``, the same one each time it is asked for."""
    return lambda args, tangents: mo.jvp(f, args, tangents)


def assert_same(found: Any, expected: Any, rtol: float | None, what: str) -> None:
    """Equality of two structures: containers, classes, Python's number types, dtypes, shapes; elements to rounding."""
    if isinstance(expected, np.ndarray) or _is_array(found):
        assert np.shape(found) == np.shape(expected), f"{what} has shape {np.shape(found)}, not {np.shape(expected)}"
        dtype, wanted = np.asarray(found).dtype, np.asarray(expected).dtype
        assert dtype == wanted, f"{what} is {dtype}, not {wanted}"
        close = wanted.kind in "fc"
        single = wanted in (np.float32, np.complex64)
        rtol = (2e-5 if single else 1e-10) if rtol is None else rtol
        equal = np.allclose(found, expected, rtol, rtol, True) if close else np.array_equal(found, expected)
        assert equal, f"{what} is {found!r}, not {expected!r}"
        return
    if isinstance(expected, (bool, int, float, complex, np.generic)):
        # A number of NumPy's and one of Python's with the same bits are one to a caller.
        kinds = {bool: "b", int: "i", float: "f", complex: "c"}
        kind = kinds.get(type(expected)) or np.asarray(expected).dtype.kind
        assert np.asarray(found).dtype.kind == kind, f"{what} is {found!r}, not {expected!r}"
        return assert_same(np.asarray(found), np.asarray(expected), rtol, what)
    assert type(found) is type(expected), f"{what} is {found!r}, not {expected!r}"
    if isinstance(expected, dict):
        assert list(found) == list(expected), f"{what} has keys {list(found)}, not {list(expected)}"
        for key, x in expected.items():
            assert_same(found[key], x, rtol, f"{what}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected), f"{what} has {len(found)} items, not {len(expected)}"
        for i, x in enumerate(expected):
            assert_same(found[i], x, rtol, f"{what}[{i}]")
    elif hasattr(expected, "__dict__") and not isinstance(expected, FunctionType):
        assert_same(vars(found), vars(expected), rtol, what)
    else:
        assert found == expected, f"{what} is {found!r}, not {expected!r}"


def _is_array(x: Any) -> bool:
    return isinstance(x, np.ndarray) or hasattr(x, "__array__") and not isinstance(x, np.generic)
