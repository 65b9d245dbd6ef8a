"""Products in which a zero cotangent gives zero even if the other factor is infinite or NaN.

A backward sweep first uses plain products.  Only if a gradient is NaN is it repeated with ``Strong`` cotangents:
arrays whose products ignore non-finite factors at zero entries.  A linear function of a strong cotangent is strong
again, so rules that multiply more than once need no special treatment.

The factor is replaced, not the product, so that the derivative with respect to the cotangent is the factor that was
used, and second derivatives differentiate the same formula.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

SMALL = 1000
"""The array size up to which a sum of squares is the fastest test for NaN."""


def is_nan(g: Any) -> bool:
    """Return whether a number or array holds a NaN; an infinite complex number may also give True."""
    if isinstance(g, np.ndarray):
        if g.dtype.kind not in "fc":
            return False
        # Both are NaN if an entry is, and neither allocates an array of g's size as np.isnan does.
        seen = np.vdot(g, g) if g.size < SMALL else np.maximum.reduce(g, None)
        return bool(seen != seen)
    return isinstance(g, (float, complex, np.inexact)) and bool(g != g)


def is_zero(dy: Any) -> bool:
    """Return whether a cotangent, or each in a structure, is exactly zero."""
    if isinstance(dy, dict):
        dy = list(dy.values())
    if isinstance(dy, (tuple, list)):
        return all(map(is_zero, dy))
    return dy is None or isinstance(dy, (np.ndarray, np.number, float, complex, int)) and not np.any(dy)


def product(dy: Any, factor: Any) -> Any:
    """Return ``dy * factor``, zero where ``dy`` is zero.

    >>> product(np.array([0.0, 2.0]), np.array([np.inf, np.inf])).tolist()
    [0.0, inf]
    """
    lost = (dy == 0) & ~np.isfinite(factor)
    return dy * (np.where(lost, 0, factor) if np.any(lost) else factor)


def quotient(dy: Any, divisor: Any) -> Any:
    """Return ``dy / divisor``, zero where ``dy`` is zero.

    >>> quotient(np.array([0.0, 2.0]), np.array([0.0, 4.0])).tolist()
    [0.0, 0.5]
    """
    lost = (dy == 0) & ((divisor == 0) | ~np.isfinite(divisor))
    return dy / (np.where(lost, 1, divisor) if np.any(lost) else divisor)


def conjugate_product(dy: Any, factor: Any) -> Any:
    """Return ``product`` with the conjugate of a slope: an element-wise pullback."""
    return product(dy, np.conjugate(factor) if np.iscomplexobj(factor) else factor)


def contraction(multiply: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """Return ``multiply(*operands)``, a sum of products of one ``Strong`` operand and others.

    Non-finite entries of the other operands are replaced by zero; results in which one meets a non-zero cotangent are
    then set to infinity or NaN.
    """
    place = next(i for i, x in enumerate(operands) if isinstance(x, Strong))
    finite = [np.isfinite(x) for x in operands]
    plain = [_weak(x) if i == place else _weak(np.where(f, x, 0)) for i, (x, f) in enumerate(zip(operands, finite))]
    y = multiply(*plain)
    others = [i for i in range(len(operands)) if i != place and not np.all(finite[i])]
    if not others:
        return strong(y)
    dy = plain[place]

    def count(mine: Any, i: int, theirs: Any) -> Any:
        """Count, for each entry of the result, the products of marked entries in its sum."""
        marks = [np.ones(np.shape(x)) for x in operands]
        marks[place], marks[i] = np.asarray(mine, float), np.asarray(theirs, float)
        return multiply(*marks)

    if len(operands) > 2 or np.iscomplexobj(y):
        met = sum(count(dy != 0, i, ~finite[i]) for i in others)
        return strong(np.where(met != 0, np.nan, y))
    (i,) = others
    x = _weak(operands[i])
    up = count(dy > 0, i, x == np.inf) + count(dy < 0, i, x == -np.inf)
    down = count(dy > 0, i, x == -np.inf) + count(dy < 0, i, x == np.inf)
    neither = count(dy != 0, i, np.isnan(x)) + up * down
    y = np.where(up != 0, np.inf, np.where(down != 0, -np.inf, y))
    return strong(np.where(neither != 0, np.nan, y))


def solution(solve: Callable[..., Any], a: Any, b: Any) -> Any:
    """Return ``solve(a, b)`` for stacks of matrices; a zero right-hand side gives zero for any matrix."""
    a, b = np.asarray(a), _weak(b)
    as_vector = b.ndim == 1
    columns = b[:, None] if as_vector else b
    nothing = np.all(columns == 0, axis=-2, keepdims=True)
    whole = np.all(nothing, axis=-1, keepdims=True)
    if whole.ndim > a.ndim:
        a = np.broadcast_to(a, (*whole.shape[:-2], *a.shape[-2:]))
    y = np.where(nothing, 0, solve(np.where(whole, np.eye(a.shape[-1]), a), columns))
    return strong(y[:, 0] if as_vector else y)


class Strong(np.ndarray):
    """A cotangent array in which zero times any factor is zero."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        if out is not None:
            kwargs["out"] = tuple(map(_weak, out))
        of_objects = any(isinstance(x, np.ndarray) and x.dtype.kind == "O" for x in inputs)
        if method == "__call__" and not kwargs and len(inputs) == 2 and not of_objects:
            a, b = inputs
            if ufunc in (np.multiply, np.divide, np.matmul) and isinstance(a, Strong) is not isinstance(b, Strong):
                if ufunc is np.matmul:
                    return contraction(np.matmul, inputs)
                dy, factor = (_weak(a), b) if isinstance(a, Strong) else (_weak(b), a)
                if ufunc is np.multiply:
                    return strong(product(dy, np.asarray(factor)))
                if isinstance(a, Strong):
                    return strong(quotient(dy, np.asarray(factor)))
        return strong(getattr(ufunc, method)(*map(_weak, inputs), **kwargs))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function in CONTRACTIONS:
            return CONTRACTIONS[function](*args, **kwargs)
        return strong(function(*weak(args), **{name: weak(x) for name, x in kwargs.items()}))


def strong(x: Any) -> Any:
    """Convert cotangents to ``Strong`` arrays; values that are not numbers are unchanged."""
    if isinstance(x, (tuple, list)):
        parts = map(strong, x)
        return tuple(parts) if isinstance(x, tuple) else list(parts)
    if isinstance(x, Strong) or x is None:
        return x
    if isinstance(x, (np.ndarray, np.inexact, float, complex)):
        x = np.asarray(x)
        return x.view(Strong) if x.dtype.kind in "fc" else x
    return x


def _weak(x: Any) -> Any:
    return x.view(np.ndarray) if isinstance(x, Strong) else x


def weak(x: Any) -> Any:
    """Convert ``Strong`` arrays back to plain ones, also in nested sequences."""
    if type(x) is tuple or type(x) is list:
        return type(x)([weak(e) for e in x])
    return _weak(x)


def like(x: Any, dy: Any) -> Any:
    """Return ``x``, made from entries of ``dy``, as ``Strong`` if ``dy`` is."""
    return x.view(Strong) if type(dy) is Strong else x


def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """Return ``np.cross`` for three-dimensional vectors."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    after, before = [1, 2, 0], [2, 0, 1]
    return np.moveaxis(a[..., after] * b[..., before] - a[..., before] * b[..., after], -1, axisc)


def _outer(a: Any, b: Any) -> Any:
    return np.multiply(np.ravel(a)[:, None], np.ravel(b)[None, :])


def _einsum(subscripts: Any, *operands: Any, **kwargs: Any) -> Any:
    if not isinstance(subscripts, str):
        return strong(np.einsum(*map(_weak, (subscripts, *operands)), **kwargs))
    return contraction(lambda *xs: np.einsum(subscripts, *xs, **kwargs), operands)


def _of_two(function: Any) -> Callable[..., Any]:
    return lambda a, b, *args, **kwargs: contraction(lambda x, y: function(x, y, *args, **kwargs), (a, b))


CONTRACTIONS: dict[Any, Callable[..., Any]] = {
    **{f: _of_two(f) for f in (np.dot, np.inner, np.tensordot, np.vdot, np.kron, np.convolve, np.correlate)},
    np.cross: _cross,
    np.outer: _outer,
    np.einsum: _einsum,
    np.linalg.solve: lambda a, b: solution(np.linalg.solve, a, b),
}
"""Functions that sum products in C or convert operands to plain arrays -> their version for strong cotangents."""
