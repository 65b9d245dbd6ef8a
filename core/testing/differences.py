"""Numerical derivatives of functions of structures: central differences, extrapolated to step zero by Ridders' method.

Source: C. J. F. Ridders, Accurate computation of F'(x) and F'(x)F''(x), Adv. Eng. Software 4 (1982) 75-76; Press et
al., Numerical Recipes, 3rd ed., section 5.7.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..values import tree
from ..values.tree import Path

_REFUSED = (TypeError, ValueError, ArithmeticError, IndexError, np.linalg.LinAlgError)
"""The exceptions of a function evaluated outside its domain, or with a float in place of a count."""

_FIRST_STEP = 0.1234
"""The widest step, for arguments of size one; an odd number, so that no grid or period of the function divides it."""


def ridders(
    phi: Callable[[float], float], step: float, levels: int = 12, resolution: float = 2.0**-53
) -> tuple[float, float]:
    """Return the derivative of ``phi`` at 0 by central differences extrapolated to step zero, and its estimated error.

    Args:
        phi: a real function of a real number, smooth within ``step`` of 0.
        step: the widest step; each level halves it.  Where ``phi`` raises or is not finite, the step shrinks first.
        levels: the most steps tried; two evaluations each.
        resolution: the relative rounding error of ``phi``, below which two equal differences prove nothing.

    Returns:
        The derivative and the estimated error; both NaN where ``phi`` has no finite value on both sides of 0.

    Source: Ridders (1982), with steps halved.

    >>> slope, error = ridders(math.exp, 0.1)
    >>> abs(slope - 1) < 1e-10 and error < 1e-8
    True
    """
    best, least = math.nan, math.inf
    column: list[float] = []
    for _ in range(levels):
        difference, size = _central(phi, step)
        while not math.isfinite(difference) and not column and step > 1e-9:
            step *= 0.1
            difference, size = _central(phi, step)
        if not math.isfinite(difference):
            break
        rounding = resolution * size / step
        previous, column = column, [difference]
        for order, coarser in enumerate(previous, start=1):
            finer = column[-1]
            column.append(finer + (finer - coarser) / (4.0**order - 1.0))
            error = max(abs(column[-1] - finer), abs(column[-1] - coarser), rounding)
            if error < least:
                best, least = column[-1], error
        if least <= rounding or len(column) > 3 and least <= 1e-11 * abs(best):
            break  # smaller steps only add rounding error, or the error is small enough
        step *= 0.5
    return (best, least) if column[1:] else (math.nan, math.nan)


def numerical_vjp(f: Callable[..., Any], dy: Any, *args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the pullback of ``f`` at ``args``, applied to ``dy``, by extrapolated differences: slow, without any rule.

    Args:
        f: the function; it may return any structure of numbers and arrays.
        dy: a cotangent with the structure of ``f(*args)``; None for the leaves that carry none.
        args: the point: numbers, floating-point arrays, dicts, lists, tuples, objects.
        kwargs: passed on unchanged.

    Returns:
        The cotangents, one per argument, in its structure, and the estimated errors in the same structure.  Complex
        leaves follow the convention dL/dx + i dL/dy.  Leaves that cannot be differentiated hold None; where ``f`` has
        no value on both sides of a leaf, the cotangent is NaN.

    >>> (slope, _), _ = numerical_vjp(lambda x, y: x * x * y, 1.0, 3.0, 2.0)
    >>> round(slope, 8)
    12.0
    """
    return vjp_by_differences(f, dy, args, kwargs)


def vjp_by_differences(
    f: Callable[..., Any],
    dy: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    step: float = _FIRST_STEP,
    has_integers: bool = True,
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Run ``numerical_vjp`` with a given widest step, for arguments of size one.

    Without ``has_integers`` no Python int is displaced: with a fractional count ``f`` may not terminate.
    """
    loss = weighted_result(f, dy, args, kwargs or {})
    slopes: dict[Path, Any] = {}
    errors: dict[Path, Any] = {}
    for path, x in variables(args):
        if isinstance(x, int) and not has_integers:
            slopes[path] = errors[path] = None
            continue
        value = np.zeros(np.shape(x), complex if np.iscomplexobj(x) else float)
        error = np.zeros(np.shape(x))
        for unit in units(x):
            slope, uncertainty = slope_along(loss, path, x, unit, step)
            value = value + slope * unit
            error = np.maximum(error, uncertainty * np.abs(unit))
        slopes[path] = value.astype(x.dtype) if isinstance(x, np.ndarray) else value.item()
        errors[path] = error if isinstance(x, np.ndarray) else error.item()

    def pick(found: dict[Path, Any]) -> tuple[Any, ...]:
        return of_each(args, lambda path, _: found[path], lambda _: None)

    return pick(slopes), pick(errors)


def numeric_leaves(value: Any, is_shared: bool = False) -> list[tuple[Path, Any]]:
    """Return the differentiable leaves of a structure in order, each with its path.

    With ``is_shared`` an array that occurs in two places is one leaf, at the first of them.

    >>> [x for _, x in numeric_leaves({"w": [1.0, "name"], "n": (2, None)})]
    [1.0, 2]
    """
    found: list[tuple[Path, Any]] = []
    rebuild_numbers(value, lambda path, x: found.append((path, x)), is_shared=is_shared)
    return found


def rebuild_numbers(
    value: Any,
    leaf: Callable[[Path, Any], Any],
    other: Callable[[Any], Any] = lambda x: x,
    is_shared: bool = False,
) -> Any:
    """Return a copy of a structure, with ``leaf(path, x)`` for each differentiable leaf and ``other(x)`` for the rest.

    >>> rebuild_numbers({"w": [1.0, "name"]}, lambda path, x: 2 * x)
    {'w': [2.0, 'name']}
    """
    return tree.rebuild(value, leaf, is_leaf=_is_leaf, constant=lambda _, x: other(x), is_shared=is_shared)


def of_each(args: tuple[Any, ...], leaf: Callable[[Path, Any], Any], other: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Rebuild each argument; an array that occurs twice within one argument is one variable."""
    return tuple(
        rebuild_numbers(x, lambda path, leaf_, i=i: leaf((("item", i), *path), leaf_), other, is_shared=True)
        for i, x in enumerate(args)
    )


def variables(args: tuple[Any, ...]) -> list[tuple[Path, Any]]:
    """Return the leaves of all arguments, each variable once."""
    found: list[tuple[Path, Any]] = []
    of_each(args, lambda path, x: found.append((path, x)), lambda x: x)
    return found


def _is_leaf(x: Any) -> bool:
    kind = type(x)
    if kind is float or kind is int or kind is complex:
        return True
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, (int, float, complex, np.inexact)) and kind is not bool


def fresh(value: Any) -> Any:
    """Return a copy that shares nothing writable with ``value``, so that a function may write into its arguments."""
    return rebuild_numbers(value, lambda path, x: copy.copy(x), other=_copied)


def fresh_arguments(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return of_each(args, lambda path, x: copy.copy(x), _copied)


def _copied(x: Any) -> Any:
    try:
        return copy.deepcopy(x)
    except Exception:  # a generator, a lock, a module: shared, as any caller would share it
        return x


def weighted_result(f: Callable[..., Any], dy: Any, args: Any, kwargs: Any) -> Callable[[Path, Any], float]:
    """Return the real inner product of ``dy`` with ``f``, as a function of a displacement of one leaf of ``args``."""

    def loss(path: Path, displacement: Any) -> float:
        def displace(p: Path, x: Any) -> Any:
            return copy.copy(x) if p != path else _moved(x, displacement)

        return inner_product(dy, f(*of_each(args, displace, _copied), **fresh(kwargs)))

    return loss


def _moved(x: Any, displacement: Any) -> Any:
    if isinstance(x, np.ndarray):
        moved = copy.copy(x)  # a sum would choose a memory layout of its own
        moved += displacement
        return moved
    return type(x)(x + displacement) if is_of_numpy(x) else x + displacement


def inner_product(dy: Any, y: Any) -> float:
    """Return the real inner product of two structures; leaves without a partner count as zero."""
    outputs = dict(numeric_leaves(y))
    # Summed exactly: a rounded sum would be the largest error in a difference of two nearly equal losses.
    terms = [
        np.ravel(np.real(np.conj(w) * np.asarray(outputs[p], np.clongdouble)))
        for p, w in numeric_leaves(dy)
        if p in outputs
    ]
    return float(np.sum(np.concatenate(terms))) if terms else 0.0


def slope_along_all(
    f: Callable[..., Any], dy: Any, args: Any, kwargs: Any, tangents: Any, step: float = _FIRST_STEP
) -> tuple[float, float]:
    """Return the derivative of the inner product of ``dy`` with ``f`` along tangents of all leaves, and its error."""
    directions = dict(numeric_leaves(tangents))

    def phi(t: float) -> float:
        def displace(p: Path, x: Any) -> Any:
            return _moved(x, t * directions[p]) if p in directions else copy.copy(x)

        return inner_product(dy, f(*of_each(args, displace, _copied), **fresh(kwargs)))

    single = any(is_single(x) for _, x in variables(args))
    return ridders(phi, step, resolution=2.0**-24 if single else 2.0**-53)


def slope_along(
    loss: Callable[[Path, Any], float], path: Path, x: Any, direction: Any, step: float = _FIRST_STEP
) -> tuple[float, float]:
    reached = np.abs(np.asarray(x))[np.asarray(direction) != 0]
    size = max(1.0, float(np.max(reached, initial=0.0))) / float(np.max(np.abs(direction), initial=1e-30))
    resolution = 2.0**-24 if is_single(x) else 2.0**-53
    return ridders(lambda t: loss(path, t * direction), step * size, resolution=resolution)


def is_of_numpy(x: Any) -> bool:
    return isinstance(x, np.inexact)


def _central(phi: Callable[[float], float], step: float) -> tuple[float, float]:
    """Return the central difference, and the magnitude of the two values subtracted."""
    try:
        with np.errstate(all="ignore"):
            after, before = phi(step), phi(-step)
            return (after - before) / (2 * step), max(abs(after), abs(before))
    except _REFUSED:
        return math.nan, math.nan


def units(x: Any) -> Iterator[Any]:
    """Yield every coordinate direction of ``x``, and the imaginary ones if it is complex."""
    for index in np.ndindex(np.shape(x)):
        for one in (1.0, 1j) if np.iscomplexobj(x) else (1.0,):
            unit = np.zeros(np.shape(x), type(one))
            unit[index] = one
            yield unit if isinstance(x, np.ndarray) else one


def is_single(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype in (np.float16, np.float32, np.complex64)
