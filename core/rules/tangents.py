"""The tangent of a function's result, from the tangents of its operands and the table of rules.

The tangent of an element-wise function is the sum of its partial derivatives times the operands' tangents. A linear function is
its own tangent. The solution of a linear equation solves the equation's tangent. Where only a pullback is known, its transpose is
the tangent; in three cases that needs no transposition:

 - The result is one real number: the pullback of 1 is the gradient, and its product with the tangents is the tangent.
 - ``pointwise`` functions: the pullback multiplies element by element, so it is its own transpose.
 - ``reduces``: each entry of the operand contributes to one entry of the result, so the pullback of ones holds all partial
   derivatives; their products with the tangents are summed along the axis.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from inspect import signature
from typing import Any

import numpy as np

from ..ir.vocabulary import Unstructured
from ..values.cotangents import conform, fit
from ..values.strong_zero import product, strong, weak
from .table import EQUATIONS, POINTWISE, REDUCES, RULES, Rule, linear_in


def push(rule: Rule, tangents: Sequence[Any], y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The tangent of the result for those of the positional arguments, None for zero; NotImplemented without a formula.

    It has the form of the result but for broadcasting, dtype and the imaginary part of a real result.  Where it is NaN,
    ``push_strongly`` finds it.
    """
    if rule.partials:
        total = None
        for t, p in zip(tangents, rule.partials):
            if t is not None and p != 0:
                part = t * p(y, *args)  # type: ignore[operator,misc]
                total = part if total is None else total + part
        return total
    t = _push_linear(rule, tangents, args, kwargs)
    if t is NotImplemented and rule.function in EQUATIONS:
        t = _push_solution(rule, tangents, y, args, kwargs)
    return _push_by_pullback(rule, tangents, y, args, kwargs) if t is NotImplemented else t


def tangent(
    function: Callable[..., Any], tangents: Sequence[Any], y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return ``push`` in the form of the result, for a function that ``may_push``.

    Raises:
        Unstructured: there is no formula for these operands.
    """
    t = push(RULES[function], tangents, y, args, kwargs)
    if t is NotImplemented:
        raise Unstructured(f"a call of {function.__name__}, whose pullback is to be transposed")
    return or_zero(t, y) if t is None else fit(t, y)


def push_strongly(rule: Rule, tangents: Sequence[Any], y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``push`` with products in which a tangent of zero gives zero: see ``strong_zero``."""
    if rule.partials:
        total = None
        for t, p in zip(tangents, rule.partials):
            if t is not None and p != 0:
                part = product(t, p(y, *args))  # type: ignore[operator,misc]
                total = part if total is None else total + part
        return total
    t = _push_linear(rule, [strong(t) for t in tangents], args, kwargs)
    return t if t is NotImplemented else weak(t)


def may_push(rule: Rule, varying: Collection[int], named: Collection[str], is_number: bool) -> bool:
    """Whether ``push`` has a formula if operands at these positions vary; for some complex operands it has none.

    ``is_number`` says that the result is a real number.
    """
    f = rule.function
    if rule.partials or is_number or f in POINTWISE or linear_groups(rule, varying, named) is not None:
        return True
    return f in REDUCES or f in EQUATIONS and {EQUATIONS[f].matrix, EQUATIONS[f].right}.issuperset(varying)


def linear_groups(rule: Rule, varying: Collection[int], named: Collection[str]) -> tuple[tuple[int, ...], ...] | None:
    """Return the groups of positions in which a function is linear, if all that vary are in one of them, else None."""
    groups = linear_in(rule.function, [name for name in named if name != "dtype"])  # tangents are converted, too
    return groups if groups and {i for group in groups for i in group}.issuperset(varying) else None


def _push_linear(rule: Rule, tangents: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    varying = {i for i, t in enumerate(tangents) if t is not None}
    groups = None if rule.position_of_out < len(args) else linear_groups(rule, varying, kwargs)
    if groups is None:
        return NotImplemented
    total = None
    for group in groups:
        if not varying.isdisjoint(group):
            given = [or_zero(tangents[i], x) if i in group else x for i, x in enumerate(args)]
            part = rule.function(*given, **kwargs)
            total = part if total is None else total + part
    return total


def _push_solution(rule: Rule, tangents: Sequence[Any], y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """For y = f(a, b) with ``product(a, y, b) = b``: dy = f(a, db - product(da, y, b))."""
    equation = EQUATIONS[rule.function]
    i, j = equation.matrix, equation.right
    options = dict(zip(rule.names[j + 1 :], args[j + 1 :])) | kwargs
    overwrites = any(x and name.startswith("overwrite") for name, x in options.items())
    if (
        overwrites
        or len(args) > len(rule.names)
        or any(t is not None and k not in (i, j) for k, t in enumerate(tangents))
    ):
        return NotImplemented
    da, db = tangents[i], tangents[j]
    if da is not None:
        moved = equation.product(da, y, args[j], **options)
        db = -moved if db is None else db - moved
    as_columns = np.ndim(args[j]) == 1 and np.ndim(db) > 1  # one vector for several matrices has tangents for each
    dy = rule.function(*args[:j], db[..., None] if as_columns else db, **options)
    return dy[..., 0] if as_columns else dy


def _push_by_pullback(
    rule: Rule, tangents: Sequence[Any], y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    f = rule.function
    varying = [i for i, t in enumerate(tangents) if t is not None]
    if np.iscomplexobj(y) or rule.together is None and not all(_has_pullback(rule, i) for i in varying):
        return NotImplemented
    if f in POINTWISE:
        if any(isinstance(args[i], (list, tuple)) or np.iscomplexobj(args[i]) for i in varying):
            return NotImplemented
        total, shape = None, np.shape(y)
        for i in varying:
            t = tangents[i]
            part = _pulled_to(i, rule, t if np.shape(t) == shape else np.broadcast_to(t, shape), y, args, kwargs)
            total = part if total is None else total + part
        return total
    if isinstance(y, (float, np.floating)):
        total, one = None, type(y)(1)
        together = None if rule.together is None else rule.together(one, y, *args, **kwargs)
        for i in varying:
            if together is None:
                g = _pulled_to(i, rule, one, y, args, kwargs)
            else:
                g = together[i] if i < len(together) else None
            if g is not None:
                part = _along(tangents[i], conform(g, args[i]))
                total = part if total is None else total + part
        return total
    if f in REDUCES and varying == [0] and isinstance(args[0], np.ndarray) and isinstance(y, np.ndarray):
        given = dict(zip(_names(rule), args)) | kwargs
        if given.get("out") is None:
            g = conform(_pulled_to(0, rule, np.ones_like(y), y, args, kwargs), args[0])
            return np.sum(_product(tangents[0], g), axis=given.get("axis"), keepdims=given.get("keepdims") in (True, 1))
    return NotImplemented


def _pulled_to(i: int, rule: Rule, dy: Any, y: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the cotangent of operand ``i``."""
    if rule.together is not None:
        return rule.together(dy, y, *args, **kwargs)[i]
    return rule.pullbacks[i](dy, y, *args, **kwargs)  # type: ignore[misc]


def _has_pullback(rule: Rule, i: int) -> bool:
    return i < len(rule.pullbacks) and callable(rule.pullbacks[i])


def _along(t: Any, g: Any) -> Any:
    """Return the derivative along ``t`` of a real number with the gradient ``g``."""
    if isinstance(t, (list, tuple)):
        return sum(_along(ti, gi) for ti, gi in zip(t, g) if ti is not None and gi is not None)
    along = _product(t, g)
    return np.sum(along) if isinstance(along, np.ndarray) else along


def _product(t: Any, g: Any) -> Any:
    return np.real(t * np.conjugate(g)) if np.iscomplexobj(t) or np.iscomplexobj(g) else t * g


def _names(rule: Rule) -> list[str]:
    """The names of the arguments by position, as the pullback spells them after ``dy, y``."""
    return list(signature(rule.pullbacks[0]).parameters)[2:]  # type: ignore[arg-type]


def or_zero(t: Any, x: Any) -> Any:
    """Return a tangent of ``x`` with zeros in place of None."""
    if isinstance(x, (list, tuple)):
        return [or_zero(None if t is None else t[i], e) for i, e in enumerate(x)]
    return np.zeros_like(x) if t is None else t
