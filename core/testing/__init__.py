"""``check_gradients``: morula's derivatives of a program compared with extrapolated differences (``differences``).

Everything works on nested structures: numbers, arrays, dicts, lists, tuples, and objects of any class.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..errors import BadInput
from ..values import tree
from ..values.tree import Path, described
from .differences import (
    fresh,
    fresh_arguments,
    inner_product,
    is_of_numpy,
    is_single,
    numeric_leaves,
    of_each,
    rebuild_numbers,
    slope_along,
    slope_along_all,
    units,
    variables,
    weighted_result,
)


def check_gradients(
    f: Callable[..., Any],
    *args: Any,
    order: int = 2,
    mode: str | Sequence[str] = "reverse",
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
    **kwargs: Any,
) -> None:
    """Check morula's gradients of ``f`` at ``args`` against differences of ``f``; for tests of your own programs.

    Every output is weighted by a random cotangent.  Every differentiable leaf of every argument is then perturbed:
    element by element where it is small, in random directions where it is large.  For the second derivatives a leaf is
    perturbed in one random direction.  In forward mode, all leaves are perturbed together, in two random directions.

    Args:
        f: any function that morula differentiates, with any structure of numbers and arrays as its result.
        args: the point: numbers, floating-point arrays, dicts, lists, tuples, objects.  Choose it away from kinks.
            A Python int is a number like any other, unless ``f`` raises when it is made a float (a count, an index).
        order: how many derivatives to check; 2 also checks the gradient of the gradient.
        mode: "reverse", "forward" or "all"; or the mode of each order, from the inside out: ("reverse", "forward") checks the
            gradient, and its derivative by forward over reverse mode.  "all" checks each order in each mode over each.
        rtol, atol: tolerances; by default 1e-6 and 1e-8, or 2e-3 and 2e-3 if anything is in single precision.
        seed: of the random cotangents and directions.
        kwargs: passed on to ``f``; not differentiated.

    Raises:
        BadInput: ``f`` is not callable, ``order`` is less than 1, or ``mode`` is none of these.
        AssertionError: the value of ``f`` changes by being differentiated, a gradient does not have the structure,
            shape and dtype of its argument, or it disagrees with the differences.  The message names the leaf.

    >>> import morula as mo
    >>> mo.testing.check_gradients(lambda x, n: x**n, 1.5, 2.5)
    >>> mo.testing.check_gradients(lambda z: z * np.exp(z), 1 + 2j, order=3, mode="all")
    """
    if order < 1:
        raise BadInput(f"check_gradients: order must be at least 1, not {order}")
    if not callable(f):
        raise BadInput(f"check_gradients: f must be a function, not {f!r}; give its arguments after it")
    if not isinstance(mode, str):
        modes, order = [(m,) for m in mode], len(mode)
    else:
        modes = [("reverse", "forward") if mode == "all" else (mode,)] * order
    if not modes or any(m not in ("reverse", "forward") for each in modes for m in each):
        raise BadInput(
            f'check_gradients: mode must be "reverse", "forward", "all" or a sequence of the first two, not {mode!r}'
        )
    _check_orders(f, args, kwargs, getattr(f, "__qualname__", None) or repr(f), modes, rtol, atol, seed, 0)


def _check_orders(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
    modes: Sequence[tuple[str, ...]],
    rtol: float | None,
    atol: float | None,
    seed: int,
    times: int,
) -> None:
    """Check the derivatives of ``f``, itself a derivative of order ``times``, and those of each of them."""
    for mode in modes[times] if times < len(modes) else ():
        tolerances = rtol, atol, seed + times, 10.0**times
        if mode == "reverse":
            cotangent = check_pullback(f, args, kwargs, name, *tolerances, by_element=times == 0)
            following, what = gradient_program(f, cotangent, kwargs), f"gradient of {name}"
        else:
            tangents = check_tangent(f, args, kwargs, name, *tolerances)
            following, what = tangent_program(f, tangents, kwargs), f"tangent of {name}"
        _check_orders(following, args, {}, what, modes, rtol, atol, seed, times + 1)


def check_pullback(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
    rtol: float | None,
    atol: float | None,
    seed: int,
    slack: float = 1.0,
    by_element: bool = True,
) -> Any:
    """Check one order for ``check_gradients``; return the random cotangent that was given to the result.

    ``slack`` widens the tolerances: each order is less accurate than the one before.  With ``by_element`` a small leaf
    is perturbed element by element.  Without it, every leaf is perturbed along one random direction: that detects a
    wrong element as well, but does not tell which one it is.
    """
    from ..api import pullback  # imported late, so that importing this module does not load the engine

    names = _argument_names(f, args)
    random = np.random.default_rng(seed)
    plain = f(*fresh_arguments(args), **fresh(kwargs))
    cotangent = _random_cotangent(plain, random)
    y, back = pullback(f, *fresh_arguments(args), **fresh(kwargs))
    differing = _first_difference(plain, y)
    if differing is not None:
        raise AssertionError(f"check_gradients({name}): {differing}, so differentiating f has changed its value")
    gradients = back(fresh(cotangent))
    if not isinstance(gradients, tuple) or len(gradients) != len(args):
        raise AssertionError(
            f"check_gradients({name}): {len(args)} arguments, but the pullback returned {gradients!r}; "
            "expected a tuple with one cotangent per argument"
        )
    rtol, atol = _tolerances(rtol, atol, slack, args, plain)

    _check_places(args, gradients, name, names)
    loss = weighted_result(f, cotangent, args, kwargs)
    for path, x in variables(args):
        where = f"check_gradients({name}): the gradient of {_spell(path, names)}"
        g = _at(gradients, path)
        if g is None:
            raise AssertionError(f"{where} is None; expected {described(x)}")
        if np.shape(g) != np.shape(x) or (isinstance(x, np.ndarray) and np.asarray(g).dtype != x.dtype):
            raise AssertionError(f"{where} is {described(g)}; expected {described(x)}, as the argument")
        for direction, element in _directions(x, random, by_element):
            expected, error = slope_along(loss, path, x, direction)
            if math.isnan(expected) and isinstance(x, int):
                continue
            ours = float(np.sum(np.real(np.conj(direction) * g)))
            _compare(f"{where}{element}", ours, expected, error, (rtol, atol, seed))
    return cotangent


def _tolerances(
    rtol: float | None, atol: float | None, slack: float, args: tuple[Any, ...], result: Any
) -> tuple[float, float]:
    """Return the relative and the absolute tolerance; by default those for the precision of the numbers."""
    single = any(is_single(x) for _, x in [*numeric_leaves(args), *numeric_leaves(result)])
    rtol = (2e-3 if single else 1e-6) if rtol is None else rtol
    atol = (2e-3 if single else 1e-8) if atol is None else atol
    return slack * rtol, slack * atol


def _compare(where: str, ours: float, expected: float, error: float, how: tuple[float, float, int]) -> None:
    """Raise an AssertionError if a derivative is not that of differences, or if these cannot tell.

    ``how``: the relative and the absolute tolerance, and the seed of the random directions.
    """
    rtol, atol, seed = how
    tolerance = atol + rtol * max(abs(ours), abs(expected))
    if not error <= 10 * tolerance:
        raise AssertionError(
            f"{where} cannot be checked: differences give {expected!r} with an error of {error:.1e}; "
            "is f random, not smooth there, or less accurate than rtol and atol ask?"
        )
    if not abs(ours - expected) <= tolerance + 2 * error:
        raise AssertionError(
            f"{where} is {ours!r}, but differences give {expected!r} with an error of {error:.1e} "
            f"(weighted by a random cotangent, seed={seed})"
        )


def check_tangent(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    name: str,
    rtol: float | None,
    atol: float | None,
    seed: int,
    slack: float = 1.0,
) -> tuple[Any, ...]:
    """Check forward mode for ``check_gradients``; return the tangents of the last random direction."""
    from ..forward import jvp

    random = np.random.default_rng(seed)
    plain = f(*fresh_arguments(args), **fresh(kwargs))
    cotangent = _random_cotangent(plain, random)
    loss = weighted_result(f, cotangent, args, kwargs)
    is_number = {
        path: not math.isnan(slope_along(loss, path, x, 1.0)[0]) for path, x in variables(args) if isinstance(x, int)
    }
    rtol, atol = _tolerances(rtol, atol, slack, args, plain)
    where = f"check_gradients({name}): the tangent along a random direction"
    tangents: tuple[Any, ...] = ()
    for _ in range(2):
        tangents = _random_tangents(args, random, is_number)
        y, dy = jvp(lambda *xs: f(*xs, **fresh(kwargs)), fresh_arguments(args), tangents)
        differing = _first_difference(plain, y)
        if differing is not None:
            raise AssertionError(f"check_gradients({name}): {differing}, so forward mode has changed its value")
        expected, error = slope_along_all(f, cotangent, args, kwargs, tangents)
        ours = inner_product(cotangent, dy)
        _compare(where, ours, expected, error, (rtol, atol, seed))
    return tangents


def _random_tangents(
    args: tuple[Any, ...], random: np.random.Generator, is_number: dict[Path, bool]
) -> tuple[Any, ...]:
    """Return a random tangent for each argument; None for what has none, and for ints that only count."""

    def tangent(path: Path, x: Any) -> Any:
        if isinstance(x, int):
            return float(random.uniform(0.5, 1.5)) if is_number.get(path, False) else None
        return _random_like(x, random)

    return of_each(args, tangent, lambda _: None)


def tangent_program(f: Callable[..., Any], tangents: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Any]:
    """Return a program that computes the tangent of f's result, for the next order of ``check_gradients``."""
    from ..forward import jvp

    def tangent_of(*xs: Any) -> Any:
        return jvp(lambda *xs: f(*xs, **kwargs), xs, tangents)[1]

    return tangent_of


def _check_places(args: tuple[Any, ...], gradients: tuple[Any, ...], name: str, names: list[str]) -> None:
    """Check that all places of one array hold the same cotangent."""
    for i, x in enumerate(args):
        first: dict[int, Path] = {}
        for path, leaf in numeric_leaves(x):
            if not isinstance(leaf, np.ndarray) or id(leaf) not in first:
                first[id(leaf)] = path
                continue
            a, b = _at(gradients[i], first[id(leaf)]), _at(gradients[i], path)
            if a is not b and not np.array_equal(a, b, equal_nan=True):
                one, two = (_spell((("item", i), *p), names) for p in (first[id(leaf)], path))
                raise AssertionError(
                    f"check_gradients({name}): {one} and {two} are the same array, but the gradient holds {a!r} and {b!r} there"
                )


def gradient_program(f: Callable[..., Any], cotangent: Any, kwargs: dict[str, Any]) -> Callable[..., Any]:
    """Return a program that computes the cotangents of f's arguments, for the next order of ``check_gradients``."""
    from ..api import pullback

    def gradient_of(*xs: Any) -> Any:
        return pullback(f, *xs, **kwargs)[1](cotangent)

    return gradient_of


def _directions(x: Any, random: np.random.Generator, by_element: bool) -> Iterator[tuple[Any, str]]:
    """Yield directions with the text of their place: all coordinates of a small leaf, three random ones of a large leaf.

    Without ``by_element``, yield one random direction.
    """
    if by_element and np.size(x) <= 8:
        for unit in units(x):
            index = "".join(f"[{', '.join(map(str, i))}]" for i in np.argwhere(unit))
            part = "" if not np.iscomplexobj(x) else " (imaginary part)" if np.iscomplexobj(unit) else " (real part)"
            yield unit, index * isinstance(x, np.ndarray) * (np.ndim(x) > 0) + part
    else:
        for _ in range(3 if by_element else 1):
            yield _random_like(x, random), " along a random direction"


def _random_like(x: Any, random: np.random.Generator) -> Any:
    shape = np.shape(x)
    draw = random.uniform(0.5, 1.5, shape) * random.choice([-1.0, 1.0], shape)
    if np.iscomplexobj(x):
        draw = draw + 1j * random.uniform(0.5, 1.5, shape) * random.choice([-1.0, 1.0], shape)
    if isinstance(x, np.ndarray):
        return np.asarray(draw, x.dtype)
    return type(x)(draw) if is_of_numpy(x) else draw.item() if isinstance(draw, np.ndarray | np.generic) else draw


def _random_cotangent(y: Any, random: np.random.Generator) -> Any:
    return rebuild_numbers(y, lambda path, x: _random_like(x, random), other=lambda _: None)


def _at(value: Any, path: Path) -> Any:
    def step(container: Any, key: tuple[str, Any]) -> Any:
        try:
            return getattr(container, key[1], None) if key[0] == "attribute" else container[key[1]]
        except (TypeError, KeyError, IndexError):
            return None

    return reduce(step, path, value)


def _spell(path: Path, names: list[str]) -> str:
    return tree.spelled(path[1:], names[path[0][1]])


def _argument_names(f: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """Return a name for each argument, for messages: its parameter's name if ``f`` has a signature."""
    names = [f"args[{i}]" for i in range(len(args))]
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return names
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (plain + names[len(plain) :])[: len(args)]


def _first_difference(a: Any, b: Any) -> str | None:
    """Describe the first difference of two results; None if they agree in structure, type, dtype and value."""
    if not isinstance(b, type(a)):  # a NumPy double is a float
        return f"f returns a {type(a).__name__}, and a {type(b).__name__} when differentiated"
    left, right = numeric_leaves(a), numeric_leaves(b)
    if [path for path, _ in left] != [path for path, _ in right]:
        return "f returns another structure when it is differentiated"
    for (_, x), (_, y) in zip(left, right, strict=True):
        if not isinstance(y, type(x)) or np.shape(x) != np.shape(y) or np.asarray(x).dtype != np.asarray(y).dtype:
            return f"f returns {described(x)}, and {described(y)} when differentiated"
        rounding = 8 * np.finfo(np.asarray(x).dtype).eps if np.asarray(x).dtype.kind in "fc" else 0.0
        sizes = np.abs(np.asarray(x))
        size = np.max(sizes, initial=0.0, where=np.isfinite(sizes))  # of terms that may cancel in an entry
        if not np.allclose(x, y, rtol=rounding, atol=rounding * size, equal_nan=True):
            return f"f returns {x!r}, and {y!r} when differentiated"
    return None
