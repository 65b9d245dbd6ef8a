"""Proof of a gradient by numbers: what morula derives from the source against what differences of the function show.

Differences are central and extrapolated to step zero by Ridders' method, which also says how far it may be trusted.
Everything works on nested structures: numbers, arrays, dicts, lists, tuples, and objects of any class.

Source: C. J. F. Ridders, Accurate computation of F'(x) and F'(x)F''(x), Adv. Eng. Software 4 (1982) 75-76; Press et
al., Numerical Recipes, 3rd ed., section 5.7.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np

from .errors import BadInput
from .values import tree
from .values.tree import Path, described

_REFUSED = (TypeError, ValueError, ArithmeticError, IndexError, np.linalg.LinAlgError)
"""What a function may raise when a point is outside its domain, or when a count has become a float."""

_FIRST_STEP = 0.1234
"""The widest step, for arguments of size one; an odd number, so that no grid or period of the function divides it."""


def ridders(
    phi: Callable[[float], float], step: float, levels: int = 12, resolution: float = 2.0**-53
) -> tuple[float, float]:
    """The derivative of ``phi`` at 0 by central differences extrapolated to step zero, and an estimate of its error.

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
            break  # smaller steps have errors of rounding larger than the least so far, or it is small enough
        step *= 0.5
    return (best, least) if column[1:] else (math.nan, math.nan)


def numerical_vjp(f: Callable[..., Any], dy: Any, *args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The pullback of ``f`` at ``args``, applied to ``dy``, by extrapolated differences: slow, and free of rules.

    Args:
        f: the function; it may return any structure of numbers and arrays.
        dy: a cotangent with the structure of ``f(*args)``; None for the leaves that carry none.
        args: where to differentiate: numbers, floating-point arrays, dicts, lists, tuples, objects.
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
    """``numerical_vjp`` with a chosen widest step, for arguments of size one.

    Without ``has_integers`` no Python int is displaced: a count that is not whole may keep ``f`` from ending.
    """
    loss = _loss(f, dy, args, kwargs or {})
    slopes: dict[Path, Any] = {}
    errors: dict[Path, Any] = {}
    for path, x in _variables(args):
        if isinstance(x, int) and not has_integers:
            slopes[path] = errors[path] = None
            continue
        value = np.zeros(np.shape(x), complex if np.iscomplexobj(x) else float)
        error = np.zeros(np.shape(x))
        for unit in _units(x):
            slope, uncertainty = _slope(loss, path, x, unit, step)
            value = value + slope * unit
            error = np.maximum(error, uncertainty * np.abs(unit))
        slopes[path] = value.astype(x.dtype) if isinstance(x, np.ndarray) else value.item()
        errors[path] = error if isinstance(x, np.ndarray) else error.item()

    def pick(found: dict[Path, Any]) -> tuple[Any, ...]:
        return _of_each(args, lambda path, _: found[path], lambda _: None)

    return pick(slopes), pick(errors)


def check_gradients(
    f: Callable[..., Any],
    *args: Any,
    order: int = 2,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
    **kwargs: Any,
) -> None:
    """Check morula's gradients of ``f`` at ``args`` against differences of ``f``; for tests of your own programs.

    Every output is weighted by a random cotangent.  Every differentiable leaf of every argument is then perturbed:
    element by element where it is small, in random directions where it is large.  For the second derivatives a leaf is
    perturbed in one random direction.

    Args:
        f: any function that morula differentiates, with any structure of numbers and arrays as its result.
        args: the point: numbers, floating-point arrays, dicts, lists, tuples, objects.  Choose it away from kinks.
            A Python int is a number like any other, unless ``f`` raises when it is made a float (a count, an index).
        order: how many derivatives to check; 2 also checks the gradient of the gradient.
        rtol, atol: tolerances; by default 1e-6 and 1e-8, or 2e-3 and 2e-3 if anything is in single precision.
        seed: of the random cotangents and directions.
        kwargs: passed on to ``f``; not differentiated.

    Raises:
        BadInput: ``f`` is not callable, or ``order`` is less than 1.
        AssertionError: the value of ``f`` changes by being differentiated, a gradient does not have the structure,
            shape and dtype of its argument, or it disagrees with the differences.  The message names the leaf.

    >>> import morula as mo
    >>> mo.testing.check_gradients(lambda x, n: x**n, 1.5, 2.5)
    """
    if order < 1:
        raise BadInput(f"check_gradients: order must be at least 1, not {order}")
    if not callable(f):
        raise BadInput(f"check_gradients: f must be a function, not {f!r}; give its arguments after it")
    name = getattr(f, "__qualname__", None) or repr(f)
    for times in range(order):
        cotangent = check_pullback(
            f, args, kwargs, name, rtol, atol, seed=seed + times, slack=10.0**times, by_element=times == 0
        )
        f, kwargs, name = gradient_program(f, cotangent, kwargs), {}, f"gradient of {name}"


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
    """One order of ``check_gradients``; returns the random cotangent that it gave to the result.

    ``slack`` widens the tolerances: each order is less accurate than the one before.  With ``by_element`` a small leaf
    is perturbed element by element; without, every leaf is along one random direction: a wrong element spoils that as
    surely, though it does not say which one it is.
    """
    from .api import pullback  # the engine is loaded only by those who ask for it

    names = _argument_names(f, args)
    random = np.random.default_rng(seed)
    plain = f(*_fresh_arguments(args), **_fresh(kwargs))
    cotangent = _random_cotangent(plain, random)
    y, back = pullback(f, *_fresh_arguments(args), **_fresh(kwargs))
    differing = _first_difference(plain, y)
    if differing is not None:
        raise AssertionError(f"check_gradients({name}): {differing}, so differentiating f has changed its value")
    gradients = back(_fresh(cotangent))
    if not isinstance(gradients, tuple) or len(gradients) != len(args):
        raise AssertionError(
            f"check_gradients({name}): {len(args)} arguments, but the pullback returned {gradients!r}; "
            "expected a tuple with one cotangent per argument"
        )
    single = any(_is_single(x) for _, x in [*leaves(args), *leaves(plain)])
    rtol = slack * ((2e-3 if single else 1e-6) if rtol is None else rtol)
    atol = slack * ((2e-3 if single else 1e-8) if atol is None else atol)

    _check_places(args, gradients, name, names)
    loss = _loss(f, cotangent, args, kwargs)
    for path, x in _variables(args):
        where = f"check_gradients({name}): the gradient of {_spell(path, names)}"
        g = _at(gradients, path)
        if g is None:
            raise AssertionError(f"{where} is None; expected {described(x)}")
        if np.shape(g) != np.shape(x) or (isinstance(x, np.ndarray) and np.asarray(g).dtype != x.dtype):
            raise AssertionError(f"{where} is {described(g)}; expected {described(x)}, as the argument")
        for direction, element in _directions(x, random, by_element):
            expected, error = _slope(loss, path, x, direction)
            if math.isnan(expected) and isinstance(x, int):
                continue
            ours = float(np.sum(np.real(np.conj(direction) * g)))
            tolerance = atol + rtol * max(abs(ours), abs(expected))
            if not error <= 10 * tolerance:
                raise AssertionError(
                    f"{where}{element} cannot be checked: differences give {expected!r} with an error of {error:.1e}; "
                    "is f random, not smooth there, or less accurate than rtol and atol ask?"
                )
            if not abs(ours - expected) <= tolerance + 2 * error:
                raise AssertionError(
                    f"{where}{element} is {ours!r}, but differences give {expected!r} with an error of {error:.1e} "
                    f"(weighted by a random cotangent, seed={seed})"
                )
    return cotangent


def _check_places(args: tuple[Any, ...], gradients: tuple[Any, ...], name: str, names: list[str]) -> None:
    """Check that all places of one array hold the same cotangent."""
    for i, x in enumerate(args):
        first: dict[int, Path] = {}
        for path, leaf in leaves(x):
            if not isinstance(leaf, np.ndarray) or id(leaf) not in first:
                first[id(leaf)] = path
                continue
            a, b = _at(gradients[i], first[id(leaf)]), _at(gradients[i], path)
            if a is not b and not np.array_equal(a, b, equal_nan=True):
                one, two = (_spell((("item", i), *p), names) for p in (first[id(leaf)], path))
                raise AssertionError(
                    f"check_gradients({name}): {one} and {two} are one array, but the gradient holds {a!r} and {b!r} there"
                )


def gradient_program(f: Callable[..., Any], cotangent: Any, kwargs: dict[str, Any]) -> Callable[..., Any]:
    """The cotangents of f's arguments as a program of its own, for the next order of ``check_gradients``."""
    from .api import pullback

    def gradient_of(*xs: Any) -> Any:
        return pullback(f, *xs, **kwargs)[1](cotangent)

    return gradient_of


def leaves(value: Any, is_shared: bool = False) -> list[tuple[Path, Any]]:
    """Every differentiable leaf of a structure with the path that leads to it, in order.

    With ``is_shared`` an array that stands in two places is one leaf, at the first of them.

    >>> [x for _, x in leaves({"w": [1.0, "name"], "n": (2, None)})]
    [1.0, 2]
    """
    found: list[tuple[Path, Any]] = []
    rebuild(value, lambda path, x: found.append((path, x)), is_shared=is_shared)
    return found


def rebuild(
    value: Any,
    leaf: Callable[[Path, Any], Any],
    other: Callable[[Any], Any] = lambda x: x,
    is_shared: bool = False,
) -> Any:
    """A copy of a structure with ``leaf(path, x)`` in place of its differentiable leaves, ``other(x)`` of the rest.

    >>> rebuild({"w": [1.0, "name"]}, lambda path, x: 2 * x)
    {'w': [2.0, 'name']}
    """
    return tree.rebuild(value, leaf, is_leaf=_is_leaf, constant=lambda _, x: other(x), is_shared=is_shared)


def _of_each(args: tuple[Any, ...], leaf: Callable[[Path, Any], Any], other: Callable[[Any], Any]) -> tuple[Any, ...]:
    """``rebuild`` of each argument; within one of them an array that stands in two places is one variable."""
    return tuple(
        rebuild(x, lambda path, leaf_, i=i: leaf((("item", i), *path), leaf_), other, is_shared=True)
        for i, x in enumerate(args)
    )


def _variables(args: tuple[Any, ...]) -> list[tuple[Path, Any]]:
    """The leaves of each argument, each variable once."""
    found: list[tuple[Path, Any]] = []
    _of_each(args, lambda path, x: found.append((path, x)), lambda x: x)
    return found


def _is_leaf(x: Any) -> bool:
    kind = type(x)
    if kind is float or kind is int or kind is complex:
        return True
    if isinstance(x, np.ndarray):
        return x.dtype.kind in "fc"
    return isinstance(x, (int, float, complex, np.inexact)) and kind is not bool


def _fresh(value: Any) -> Any:
    """A copy that shares nothing writable with ``value``, so that a function may write into its arguments."""
    return rebuild(value, lambda path, x: copy.copy(x), other=_copied)


def _fresh_arguments(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return _of_each(args, lambda path, x: copy.copy(x), _copied)


def _copied(x: Any) -> Any:
    try:
        return copy.deepcopy(x)
    except Exception:  # a generator, a lock, a module: shared, as any caller would share it
        return x


def _loss(f: Callable[..., Any], dy: Any, args: Any, kwargs: Any) -> Callable[[Path, Any], float]:
    """The real inner product of ``dy`` with ``f``, as a function of a displacement of one leaf of ``args``."""
    weights = dict(leaves(dy))

    def loss(path: Path, displacement: Any) -> float:
        def displace(p: Path, x: Any) -> Any:
            if p != path:
                return copy.copy(x)
            if isinstance(x, np.ndarray):
                moved = copy.copy(x)  # a sum would choose a memory layout of its own
                moved += displacement
                return moved
            return type(x)(x + displacement) if _typed(x) else x + displacement

        y = f(*_of_each(args, displace, _copied), **_fresh(kwargs))
        outputs = dict(leaves(y))
        # Summed exactly: a rounded sum would be the largest error in a difference of two nearly equal losses.
        terms = [np.ravel(np.real(np.conj(w) * np.asarray(outputs[p], np.clongdouble))) for p, w in weights.items()]
        return float(np.sum(np.concatenate(terms))) if terms else 0.0

    return loss


def _slope(
    loss: Callable[[Path, Any], float], path: Path, x: Any, direction: Any, step: float = _FIRST_STEP
) -> tuple[float, float]:
    reached = np.abs(np.asarray(x))[np.asarray(direction) != 0]
    size = max(1.0, float(np.max(reached, initial=0.0))) / float(np.max(np.abs(direction), initial=1e-30))
    resolution = 2.0**-24 if _is_single(x) else 2.0**-53
    return ridders(lambda t: loss(path, t * direction), step * size, resolution=resolution)


def _typed(x: Any) -> bool:
    return isinstance(x, np.inexact)


def _central(phi: Callable[[float], float], step: float) -> tuple[float, float]:
    """The central difference, and the size of the values it is made of."""
    try:
        with np.errstate(all="ignore"):
            after, before = phi(step), phi(-step)
            return (after - before) / (2 * step), max(abs(after), abs(before))
    except _REFUSED:
        return math.nan, math.nan


def _units(x: Any) -> Iterator[Any]:
    """Every coordinate direction of ``x``; the imaginary ones too where it is complex."""
    for index in np.ndindex(np.shape(x)):
        for one in (1.0, 1j) if np.iscomplexobj(x) else (1.0,):
            unit = np.zeros(np.shape(x), type(one))
            unit[index] = one
            yield unit if isinstance(x, np.ndarray) else one


def _directions(x: Any, random: np.random.Generator, by_element: bool) -> Iterator[tuple[Any, str]]:
    """Every coordinate of a small leaf, or random directions: three of a large one.  Each with the text of its place."""
    if by_element and np.size(x) <= 8:
        for unit in _units(x):
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
    return type(x)(draw) if _typed(x) else draw.item() if isinstance(draw, np.ndarray | np.generic) else draw


def _random_cotangent(y: Any, random: np.random.Generator) -> Any:
    return rebuild(y, lambda path, x: _random_like(x, random), other=lambda _: None)


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
    """What the error message calls each argument: its parameter's name where ``f`` has a signature."""
    names = [f"args[{i}]" for i in range(len(args))]
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return names
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return (plain + names[len(plain) :])[: len(args)]


def _is_single(x: Any) -> bool:
    return isinstance(x, (np.ndarray, np.generic)) and x.dtype in (np.float16, np.float32, np.complex64)


def _first_difference(a: Any, b: Any) -> str | None:
    """What differs between two results, in words; None where they agree in structure, type, dtype and value."""
    if not isinstance(b, type(a)):  # a NumPy double is a float
        return f"f returns a {type(a).__name__}, and a {type(b).__name__} when differentiated"
    left, right = leaves(a), leaves(b)
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
