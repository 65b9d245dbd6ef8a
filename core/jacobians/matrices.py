"""Jacobians from ``pullback``, eager and compiled: by rows, or by columns if the argument is much smaller.

A pullback maps a cotangent dy to J' dy, which is one row of J for a unit vector.  It is linear, so its own pullback
maps dx to J dx, one column of J: one sweep is differentiated, and each column costs one more (Baydin et al. 2018,
section 3.1; the trick is that of Townsend 2017).  Compiled programs compute all rows, or all columns, by ``vmap``.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import BadInput, MorulaError
from ..rules.connected import connected
from ..source.requirements import kind_of
from ..values import tree

Back = Callable[[Any], Any]

FEWER = 4
"""A column costs about as much as this many rows."""

CLOSE = {"d": 1e-9, "f": 1e-3, "e": 1e-1, "g": 1e-9}
"""The allowed relative difference between J' dy computed from the columns and by the pullback, by dtype."""


def of_run(back: Back, y: Any, x: Any, position: int, is_linear: bool | None = None) -> Any:
    """Return the Jacobian of a run with result ``y`` and argument ``x``.

    Args:
        back: maps a cotangent of y to that of x.
        y: a structure of real numbers and arrays.
        x: a structure of real numbers and arrays.
        position: of x among the arguments, for messages.
        is_linear: whether ``back`` is known to be linear; None compares columns with the pullback itself, since a hook
            may change cotangents in any way.

    Returns:
        The structure of y with the structure of x in place of each leaf; its leaves have the shape of y's leaf
        followed by that of x's.
    """
    variables = _real_variables(x, position)
    results = _real_results(y)
    n = sum([np.size(leaf) for leaf in variables])
    m = sum([np.size(leaf) for leaf in results])
    if is_linear is not False and 0 < FEWER * n < m and _are_floats(variables) and _are_floats(results):
        found = _columns(back, y, results, x, is_linear is None)
        if found is not None:
            return found
    return _with_places(y, [_rows(back, y, k, results, x) for k in range(len(results))])


def _real_variables(x: Any, position: int) -> list[Any]:
    variables = _variables(x)
    if any([np.iscomplexobj(leaf) for leaf in variables]):
        raise BadInput(
            f"jacobian needs real numbers and arrays in argument {position}, not {kind_of(x)}; use morula.pullback, or split "
            "complex numbers into .real and .imag"
        )
    return variables


def _real_results(y: Any) -> list[Any]:
    results: list[Any] = []
    _each_place(y, results.append)
    if not results:
        raise BadInput(f"jacobian needs a result of numbers or arrays, not {kind_of(y)}")
    if any([np.iscomplexobj(leaf) for leaf in results]):
        raise BadInput("jacobian needs a real output; split it into .real and .imag, or use morula.pullback")
    return results


def _is_variable(x: Any) -> bool:
    """Whether x, in an argument, has a gradient: a number of Python's, or a number or array of floats of NumPy's."""
    return tree.is_parameter(x) or isinstance(x, int) and not isinstance(x, (bool, enum.Enum))


def _is_result(x: Any) -> bool:
    """Whether x, in a result, has a cotangent: a number, or an array of numbers."""
    return _is_variable(x) or isinstance(x, (np.ndarray, np.number)) and np.asarray(x).dtype.kind in "iufc"


def _are_floats(leaves: list[Any]) -> bool:
    return all([np.asarray(leaf).dtype.kind == "f" for leaf in leaves])


def _variables(x: Any) -> list[Any]:
    """Return the numbers and arrays of an argument; an array that occurs in two places is one variable."""
    found: list[Any] = []
    tree.rebuild(x, lambda _, leaf: found.append(leaf), is_leaf=_is_variable)
    return found


def _gradients(x: Any, dx: Any) -> list[Any]:
    """Return the entries of a gradient for the variables of ``x``."""
    found: list[Any] = []
    tree.rebuild(x, lambda _, leaf, g: found.append(g), dx, is_leaf=_is_variable)
    return found


def _with_variables(x: Any, values: Iterable[Any]) -> Any:
    """Return the structure of a gradient: ``values`` in place of the variables, None in place of all else."""
    remaining = iter(values)
    return tree.rebuild(x, lambda *_: next(remaining), is_leaf=_is_variable, constant=lambda *_: None)


def _each_place(y: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return a result with ``leaf(v)`` in place of each number and array v, and None in place of all else.

    A container that occurs in two places is visited in both, since a cotangent counts once for each place.
    """
    if _is_result(y):
        return leaf(y)
    return tree.rebuild(
        y,
        lambda _, x: _each_place(x, leaf),
        is_leaf=lambda x: x is not y,
        constant=lambda *_: None,
        is_shared=False,
    )


def _with_places(y: Any, values: Iterable[Any]) -> Any:
    """Return a result with ``values`` in place of its numbers and arrays, in order."""
    remaining = iter(values)
    return _each_place(y, lambda _: next(remaining))


def _rows(back: Back, y: Any, k: int, results: list[Any], x: Any) -> Any:
    """Return the Jacobian of number or array ``k`` of the result, by one sweep for each of its entries."""

    def pull(dy: Any) -> Any:
        return back(_with_places(y, [dy if j == k else None for j in range(len(results))]))

    leaf = results[k]
    if np.ndim(leaf) == 0:
        return pull(1.0)
    shape, size, dtype = np.shape(leaf), np.size(leaf), np.asarray(leaf).dtype
    kinds = [np.asarray(v).dtype if tree.is_parameter(v) else np.dtype(float) for v in _variables(x)]
    shapes = [np.shape(v) for v in _variables(x)]

    def row(dy: Any) -> list[Any]:
        found = _gradients(x, pull(np.reshape(dy, shape)))
        return [np.zeros(of) if g is None else g for g, of in zip(found, shapes)]

    if size == 0:
        return _with_variables(x, [np.zeros((*shape, *of), kind) for of, kind in zip(shapes, kinds)])
    blocks = zip(each(row, np.eye(size, dtype=dtype)), shapes, kinds)
    return _with_variables(x, [np.reshape(block, (*shape, *of)).astype(kind) for block, of, kind in blocks])


def _columns(back: Back, y: Any, results: list[Any], x: Any, is_checked: bool) -> Any:
    """Return the Jacobian computed by columns; None if ``back`` is not linear or has no derivative."""
    # A zero cotangent suppresses an infinite slope, so none of the weights is zero.
    weights = [_generic(leaf) for leaf in results]
    dy = _with_places(y, weights)
    if is_checked:
        try:
            dx, forward = connected.pullback(back, dy)
            blocks = _blocks(forward, results, x)
        except MorulaError:
            return None
        if not _agree(_gradients(x, dx), weights, blocks):
            return None
    else:
        blocks = _blocks(connected.pullback(back, dy)[1], results, x)
    return _with_places(y, [_with_variables(x, [of[k] for of in blocks]) for k in range(len(results))])


def _blocks(forward: Callable[[Any], Any], results: list[Any], x: Any) -> list[list[Any]]:
    """Return, for each variable of x, the Jacobians of the result's numbers and arrays with respect to it."""
    return [_of_variable(forward, results, x, k) for k in range(len(_variables(x)))]


def _of_variable(forward: Callable[[Any], Any], results: list[Any], x: Any, k: int) -> list[Any]:
    variables = _variables(x)
    shape, size, dtype = np.shape(variables[k]), np.size(variables[k]), np.asarray(variables[k]).dtype

    def column(unit: Any) -> list[Any]:
        direction = [np.reshape(unit, shape)[()] if j == k else np.zeros_like(v)[()] for j, v in enumerate(variables)]
        found: list[Any] = []
        _each_place(forward(_with_variables(x, direction))[0], found.append)
        return found

    blocks = _stacked(column, size, dtype, results, [np.asarray(r).dtype for r in results])
    return [np.reshape(block, (*np.shape(r), *shape)) for block, r in zip(blocks, results)]


def _agree(dx: list[Any], dy: list[Any], blocks: list[list[Any]]) -> bool:
    """Whether J' dy computed from the blocks of J is the dx that the pullback gave."""
    for g, of in zip(dx, blocks):
        total, size = 0.0, 0.0
        for weight, block in zip(dy, of):
            axes = np.ndim(weight)
            total = total + np.tensordot(weight, block, axes)
            size = size + np.tensordot(np.abs(weight), np.abs(block), axes)
        # NaN, as from an infinite slope beside a zero, does not agree either: rows handle it.
        with np.errstate(invalid="ignore"):
            if not np.all(np.abs(total - g) <= CLOSE[np.asarray(g).dtype.char] * size):
                return False
    return True


def _generic(y: Any) -> Any:
    """Return different weights near one, in the shape and dtype of ``y``."""
    weights = np.reshape(1 + 0.25 * np.cos(np.arange(np.size(y))), np.shape(y))
    return weights.astype(y.dtype) if isinstance(y, (np.ndarray, np.generic)) else float(weights)


def by_columns(push: Callable[[Any], Any], x: Any, position: int) -> Any:
    """Return the Jacobian of a function at ``x`` by forward mode: ``push(dx)`` returns its value and the tangent of that."""
    variables = _real_variables(x, position)
    y: Any = None
    columns: list[list[Any]] = []  # for each variable, the derivatives of the result's numbers and arrays along it
    for k, leaf in enumerate(variables):
        if np.ndim(leaf) == 0:
            y, dy = push(_with_variables(x, [1.0 if j == k else None for j in range(len(variables))]))
            columns.append(_tangents(y, dy))
            continue
        shape, size, dtype = np.shape(leaf), np.size(leaf), np.asarray(leaf).dtype
        if y is None:
            y, _ = push(_with_variables(x, [None for _ in variables]))

        def along(unit: Any, k: int = k, shape: tuple[int, ...] = shape) -> list[Any]:
            directions = [np.reshape(unit, shape) if j == k else None for j in range(len(variables))]
            return _tangents(*push(_with_variables(x, directions)))

        kinds = [_inexact(np.asarray(r).dtype, dtype) for r in _real_results(y)]
        columns.append(
            [np.reshape(b, (*np.shape(b)[:-1], *shape)) for b in _stacked(along, size, dtype, _real_results(y), kinds)]
        )
    return _with_places(y, [_with_variables(x, [of[k] for of in columns]) for k in range(len(_real_results(y)))])


def _stacked(
    along: Callable[[Any], list[Any]], size: int, dtype: np.dtype, results: list[Any], kinds: list[np.dtype]
) -> list[Any]:
    """Return the arrays that ``along`` returns for each unit vector, along a new last axis."""
    if size == 0:
        return [np.zeros((*np.shape(r), 0), kind) for r, kind in zip(results, kinds)]
    found = each(along, np.eye(size, dtype=dtype))
    return [np.moveaxis(block, 0, -1).astype(kind) for block, kind in zip(found, kinds)]


def each(f: Callable[[Any], list[Any]], rows: Any) -> list[Any]:
    """Return the arrays that ``f`` returns for each row, joined along a new first axis; a compiled program does so by ``vmap``."""
    found = [f(row) for row in rows]
    return [np.stack([arrays[k] for arrays in found]) for k in range(len(found[0]))]


def _inexact(dtype: np.dtype, other: np.dtype) -> np.dtype:
    return dtype if dtype.kind == "f" else other


def _tangents(y: Any, dy: Any) -> list[Any]:
    """Return the tangents of the numbers and arrays of a result, zero for arrays of integers."""
    if _is_result(y):
        _real_results(y)
        return [np.zeros(np.shape(y)) if dy is None else dy]
    found: list[Any] = []
    tree.rebuild(
        y,
        lambda _, e, de: found.extend(_tangents(e, de)),
        dy,
        is_leaf=lambda e: e is not y,
        constant=lambda *_: None,
        is_shared=False,
    )
    return found
