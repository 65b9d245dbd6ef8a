"""The kinks listed in ``docs/semantics.md``, row by row: programs at a kink with the documented gradient.

``KINKS`` has an entry for each row of the page's table "Where there is no derivative", under the text of its first cell.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from scipy import special

inf, nan = math.inf, math.nan
A = np.array
FINITE = "finite"  # no value of its own: the same on all paths


@dataclass(frozen=True)
class Kink:
    """A program and its arguments at a kink.

    ``gradient`` has an entry for each argument.  ``second`` is the gradient of the gradient's leaves weighted with 1, 2, 3, ...:
    zero by default, as the subgradient that is chosen is piecewise constant; None where the slope is infinite.
    """

    name: str
    program: Callable[..., Any]
    args: tuple[Any, ...]
    gradient: tuple[Any, ...]
    second: Any = 0.0


def at(name: str, program: Callable[..., Any], *args: Any, gives: Any, second: Any = 0.0) -> Kink:
    return Kink(name, program, args, gives if isinstance(gives, tuple) else (gives,), second)


def norms_at_zero() -> list[Kink]:
    vector, matrix = np.zeros(3), np.zeros((2, 2))
    found = []
    for ord in (None, 1, 2, 3, 2.5, inf, -inf, 0):
        found.append(at(f"norm {ord} of a vector", lambda x, ord=ord: np.linalg.norm(x, ord), vector, gives=vector))
    for ord in (None, "fro", 1, -1, 2, -2, inf, -inf, "nuc"):
        found.append(at(f"norm {ord} of a matrix", lambda x, ord=ord: np.linalg.norm(x, ord), matrix, gives=matrix))
    return found


def step(x: float, y: float) -> Any:
    """A running maximum of elements, which are NumPy's numbers."""
    best = x[0]
    for i in range(len(x)):
        best = max(best, x[i])
    return best * y


KINKS: dict[str, list[Kink]] = {
    "`abs`, `np.hypot`, `math.hypot`, `math.dist`, at zero": [
        at("abs", lambda x: abs(x), 0.0, gives=0.0),
        at("abs of an element", lambda x: abs(x[0]) + abs(x[1]), A([0.0, -2.0]), gives=A([0.0, -1.0])),
        at("np.abs", lambda x: np.sum(np.abs(x)), A([0.0, -1.0]), gives=A([0.0, -1.0])),
        at("np.fabs", lambda x: np.sum(np.fabs(x)), A([0.0, -1.0]), gives=A([0.0, -1.0])),
        at("math.fabs", lambda x: math.fabs(x), 0.0, gives=0.0),
        at("abs of a complex number", lambda z: abs(z), 0j, gives=0j),
        at("np.abs of complex", lambda z: np.sum(np.abs(z)), A([0j, 5 + 0j]), gives=A([0j, 1.0 + 0j]), second=FINITE),
        at("cmath.polar", lambda z: cmath.polar(z)[0], 0j, gives=0j),
        at("np.hypot", lambda a, b: np.hypot(a, b), 0.0, 0.0, gives=(0.0, 0.0)),
        at(
            "np.hypot of arrays",
            lambda a, b: np.sum(np.hypot(a, b)),
            *(A([0.0, 3.0]), A([0.0, 4.0])),
            gives=(A([0.0, 0.6]), A([0.0, 0.8])),
            second=(A([0.0, (2 * 0.64 - 4 * 0.48) / 5]), A([0.0, (-2 * 0.48 + 4 * 0.36) / 5])),
        ),
        at("math.hypot", lambda a, b: math.hypot(a, b), 0.0, 0.0, gives=(0.0, 0.0)),
        at("math.hypot of three", lambda a, b, c: math.hypot(a, b, c), 0.0, 0.0, 0.0, gives=(0.0,) * 3),
        at(
            "math.hypot beside zero",
            lambda a, b, c: math.hypot(a, b, c),
            *(0.0, 0.0, 2.0),
            gives=(0.0, 0.0, 1.0),
            second=(0.5, 1.0, 0.0),
        ),
        at("math.dist", lambda a, b: math.dist((a, b), (a, 2.0)), 0.0, 2.0, gives=(0.0, 0.0)),
        at("a sum of kinks", lambda x: np.sum(np.abs(x)) + np.linalg.norm(x), np.zeros(3), gives=np.zeros(3)),
    ],
    "a norm (`np.linalg.norm`, `vector_norm`, `matrix_norm`, `scipy.linalg.norm`), of any order, at zero": [
        *norms_at_zero(),
        at(
            "norms of rows",
            lambda x: np.sum(np.linalg.norm(x, axis=1)),
            A([[0.0, 0.0], [3.0, 4.0]]),
            gives=A([[0.0, 0.0], [0.6, 0.8]]),
            second=FINITE,
        ),
        at(
            "norms of columns, kept",
            lambda x: np.sum(np.linalg.norm(x, axis=0, keepdims=True)),
            A([[0.0, 3.0], [0.0, 4.0]]),
            gives=A([[0.0, 0.6], [0.0, 0.8]]),
            second=FINITE,
        ),
        at(
            "norms of order 3 of rows",
            lambda x: np.sum(np.linalg.norm(x, 3, axis=1)),
            A([[0.0, 0.0], [0.0, 4.0]]),
            gives=A([[0.0, 0.0], [0.0, 1.0]]),
            second=FINITE,
        ),
        at("of complex numbers", lambda z: np.linalg.norm(z), A([0j, 0j]), gives=A([0j, 0j])),
        at("of a list", lambda x, y: np.linalg.norm([x, y]), 0.0, 0.0, gives=(0.0, 0.0)),
        at("vector_norm", lambda x: np.sum(np.linalg.vector_norm(x, axis=0)), np.zeros((2, 2)), gives=np.zeros((2, 2))),
        at("matrix_norm", lambda x: np.linalg.matrix_norm(x), np.zeros((2, 2)), gives=np.zeros((2, 2))),
        at("scipy.linalg.norm", lambda x: scipy.linalg.norm(x), np.zeros(3), gives=np.zeros(3)),
        at("deviation from the mean", lambda x: np.linalg.norm(x - np.mean(x)), np.full(3, 2.0), gives=np.zeros(3)),
        at("a square of a norm", lambda x: np.linalg.norm(x) ** 2, np.zeros(3), gives=np.zeros(3)),
    ],
    "`np.std`, `np.nanstd`, of equal numbers": [
        at("np.std", lambda x: np.std(x), np.full(3, 2.0), gives=np.zeros(3)),
        at("x.std()", lambda x: x.std(), np.full(3, 2.0), gives=np.zeros(3)),
        at(
            "along an axis",
            lambda x: np.sum(np.std(x, axis=1, ddof=1, keepdims=True)),
            A([[1.0, 1.0], [0.0, 2.0]]),
            gives=A([[0.0, 0.0], [-(0.5**0.5), 0.5**0.5]]),
        ),
        at("where=", lambda x: np.std(x, where=A([True, True, False])), A([2.0, 2.0, 7.0]), gives=np.zeros(3)),
        at("np.nanstd", lambda x: np.nanstd(x), A([2.0, 2.0, nan]), gives=np.zeros(3)),
        at("correction=", lambda x: np.std(x, correction=1), np.full(3, 2.0), gives=np.zeros(3)),
        at("np.var", lambda x: np.var(x), np.full(3, 2.0), gives=np.zeros(3), second=A([-2 / 3, 0.0, 2 / 3])),
    ],
    "`np.maximum`, `np.minimum`, `np.fmax`, `np.fmin`, of equal numbers": [
        at("np.maximum", lambda a, b: np.maximum(a, b), 2.0, 2.0, gives=(0.5, 0.5)),
        at("np.fmax", lambda a, b: np.fmax(a, b), 2.0, 2.0, gives=(0.5, 0.5)),
        at("np.fmin", lambda a, b: np.fmin(a, b), 2.0, 2.0, gives=(0.5, 0.5)),
        at(
            "np.minimum of arrays",
            lambda a, b: np.sum(np.minimum(a, b)),
            *(A([2.0, 1.0]), A([2.0, 3.0])),
            gives=(A([0.5, 1.0]), A([0.5, 0.0])),
        ),
        at(
            "np.maximum with a number",
            lambda a, b: np.sum(np.maximum(a, b)),
            *(A([2.0, 1.0, 2.0]), 2.0),
            gives=(A([0.5, 0.0, 0.5]), 2.0),
        ),
        at("of three", lambda a, b, c: np.maximum(np.maximum(a, b), c), 2.0, 2.0, 2.0, gives=(0.25, 0.25, 0.5)),
        at("rectifier", lambda x: np.sum(np.maximum(x, 0)), A([0.0, 1.0, -1.0]), gives=A([0.5, 1.0, 0.0])),
        at(
            "soft threshold",
            lambda x: np.sum(np.sign(x) * np.maximum(np.abs(x) - 1, 0)),
            A([1.0, 2.0, 0.0]),
            gives=A([0.5, 1.0, 0.0]),
        ),
    ],
    "`np.max`, `np.min`, `np.ptp`, `maximum.reduce`, a norm of maxima, of which several attain it": [
        at("np.max", lambda x: np.max(x), A([1.0, 3.0, 3.0]), gives=A([0.0, 0.5, 0.5])),
        at("x.min()", lambda x: x.min(), np.full(3, 2.0), gives=np.full(3, 1 / 3)),
        at("np.amax", lambda x: np.amax(x), A([1.0, 3.0, 3.0]), gives=A([0.0, 0.5, 0.5])),
        at(
            "along an axis, kept",
            lambda x: np.sum(x.max(axis=1, keepdims=True) * A([[1.0], [2.0]])),
            A([[1.0, 1.0], [0.0, 3.0]]),
            gives=A([[0.5, 0.5], [0.0, 2.0]]),
        ),
        at(
            "where= and initial=",
            lambda x: np.max(x, where=A([True, True, False]), initial=3.0),
            A([1.0, 3.0, 3.0]),
            gives=A([0.0, 0.5, 0.0]),
        ),
        at(
            "initial=",
            lambda x, i: np.max(x, initial=i),
            A([1.0, 3.0, 3.0]),
            3.0,
            gives=(A([0.0, 1 / 3, 1 / 3]), 1 / 3),
        ),
        at(
            "where= and initial= along an axis",
            lambda x: np.sum(np.min(x, axis=0, where=A([[True, False], [True, True]]), initial=1.0)),
            np.ones((2, 2)),
            gives=A([[1 / 3, 0.0], [1 / 3, 0.5]]),
        ),
        at(
            "out= and initial=",
            lambda x: np.sum(np.max(x, axis=0, out=np.zeros(2), initial=1.0) * A([1.0, 2.0])),
            np.ones((3, 2)),
            gives=np.tile(A([0.25, 0.5]), (3, 1)),
        ),
        at("maximum.reduce", lambda x: np.maximum.reduce(x), A([1.0, 3.0, 3.0]), gives=A([0.0, 0.5, 0.5])),
        at(
            "minimum.reduce",
            lambda x: np.minimum.reduce(x, axis=None, initial=1.0),
            np.ones((2, 2)),
            gives=np.full((2, 2), 0.2),
        ),
        at("fmax.reduce", lambda x: np.fmax.reduce(x), np.ones(3), gives=np.full(3, 1 / 3)),
        at("np.nanmax", lambda x: np.nanmax(x), A([nan, 3.0, 3.0]), gives=A([0.0, 0.5, 0.5])),
        at("np.nanmin", lambda x: np.nanmin(x, initial=1.0), A([1.0, nan, 3.0]), gives=A([0.5, 0.0, 0.0])),
        at("np.ptp", lambda x: np.ptp(x), np.full(3, 2.0), gives=np.zeros(3)),
        at("x.max() - x.min()", lambda x: x.max() - x.min(), A([1.0, 1.0, 2.0]), gives=A([-0.5, -0.5, 1.0])),
        at("maximum norm", lambda x: np.linalg.norm(x, np.inf), A([3.0, -3.0, 1.0]), gives=A([0.5, -0.5, 0.0])),
        at(
            "column sum norm",
            lambda x: np.linalg.norm(x, 1),
            A([[1.0, 2.0], [1.0, 0.0]]),
            gives=A([[0.5, 0.5], [0.5, 0.0]]),
        ),
        at("spectral norm", lambda x: np.linalg.norm(x, 2), np.eye(2), gives=np.eye(2) / 2, second=FINITE),
    ],
    "Python's `max` and `min` of equal numbers": [
        at("of two", lambda a, b: max(a, b), 2.0, 2.0, gives=(0.5, 0.5)),
        at("min of two", lambda a, b: min(a, b), 2.0, 2.0, gives=(0.5, 0.5)),
        at("of three", lambda a, b, c: max(a, b, c), 2.0, 2.0, 2.0, gives=(1 / 3, 1 / 3, 1 / 3)),
        at("min of three", lambda a, b, c: min(a, b, c), 2.0, 3.0, 2.0, gives=(0.5, 0.0, 0.5)),
        at("of four", lambda a, b, c, d: max(a, b, c, d), 2.0, 2.0, 1.0, 2.0, gives=(1 / 3, 1 / 3, 0.0, 1 / 3)),
        at("of integers", lambda a, b, c: max(a, b, c) * 1.0, 2, 2, 2, gives=(1 / 3, 1 / 3, 1 / 3)),
        at("of an integer and a float", lambda a, b: max(a, b) * 1.0, 2, 2.0, gives=(0.5, 0.5)),
        at("of NumPy's numbers", lambda x: max(x[0], x[1]), A([1.0, 1.0]), gives=A([0.5, 0.5])),
        at("of three of NumPy's numbers", lambda x: min(x[0], x[1], x[2]), np.ones(3), gives=np.full(3, 1 / 3)),
        at("with a constant", lambda a: max(a, 0.0), 0.0, gives=0.5),
        at("with an integer constant", lambda a: max(a, 0), 0.0, gives=0.5),
        at("with an integer constant first", lambda a: max(0, a) * 1.0, 0.0, gives=0.5),
        at("of a list", lambda a, b: max([a, b, 1.0, b]), 2.0, 2.0, gives=(1 / 3, 2 / 3)),
        at("of a list argument", lambda x: max(x), [1.0, 1.0, 0.0], gives=([0.5, 0.5, 0.0],)),
        at("of starred arguments", lambda x: max(*x), (1.0, 1.0, 0.0), gives=((0.5, 0.5, 0.0),)),
        at("of a generator", lambda a, b: max(t * 1.0 for t in (a, b)), 2.0, 2.0, gives=(0.5, 0.5)),
        at("of a map", lambda x: max(map(abs, x)), [1.0, -1.0, 0.0], gives=([0.5, -0.5, 0.0],)),
        at("of a dict", lambda x: max(x.values()), {"a": 1.0, "b": 1.0}, gives=({"a": 0.5, "b": 0.5},)),
        at("of an array", lambda x: max(x), A([1.0, 3.0, 3.0]), gives=A([0.0, 0.5, 0.5])),
        at("default=", lambda a, b: max([a, b], default=0.0), 2.0, 2.0, gives=(0.5, 0.5)),
        at("of itself", lambda a: max(a, a), 2.0, gives=1.0),
        at("of computed numbers", lambda a, b: max(a + 0, b + 0, 2 * a - b), 2.0, 2.0, gives=(1.0, 0.0)),
        at(
            "in a loop",
            lambda x, y: step(x, y),
            A([1.0, 2.0, 2.0, 2.0]),
            1.0,
            gives=(A([0.0, 0.25, 0.25, 0.5]), 2.0),
            second=FINITE,
        ),
        at("of infinities", lambda a, b: max(a, b), inf, inf, gives=(0.5, 0.5)),
        at("of zeros of either sign", lambda a, b: min(a, b), 0.0, -0.0, gives=(0.5, 0.5)),
        at("beside NaN", lambda a, b, c: max(a, b, c), nan, 2.0, 2.0, gives=(1.0, 0.0, 0.0)),
    ],
    "`max(key=)` and `min(key=)`, sorting by a key, of equal keys": [
        at("max(key=)", lambda a, b: max(a, b, key=abs), 2.0, -2.0, gives=(1.0, 0.0)),
        at("min(key=) of a list", lambda a, b: min([a, b], key=lambda t: -t), 2.0, 2.0, gives=(1.0, 0.0)),
    ],
    "`np.sort`, `np.partition`, `np.median`, `np.percentile`, `sorted`, of equal numbers": [
        at("np.sort", lambda x: np.sum(np.sort(x) * A([1.0, 2.0, 3.0])), A([2.0, 1.0, 2.0]), gives=A([2.0, 1.0, 3.0])),
        at(
            "np.partition",
            lambda x: np.sum(np.partition(x, 1) * A([1.0, 2.0, 3.0])),
            A([2.0, 1.0, 2.0]),
            gives=A([2.0, 1.0, 3.0]),
        ),
        at("np.median", lambda x: np.median(x), A([2.0, 2.0, 2.0]), gives=A([0.0, 1.0, 0.0])),
        at("np.median of four", lambda x: np.median(x), A([2.0, 2.0, 1.0, 3.0]), gives=A([0.5, 0.5, 0.0, 0.0])),
        at(
            "np.median of rows",
            lambda x: np.sum(np.median(x, axis=1)),
            np.full((2, 3), 2.0),
            gives=A([[0.0, 1.0, 0.0]] * 2),
        ),
        at("np.nanmedian", lambda x: np.nanmedian(x), A([2.0, nan, 2.0, 2.0]), gives=A([0.0, 0.0, 1.0, 0.0])),
        at("np.percentile", lambda x: np.percentile(x, 25), np.full(3, 2.0), gives=A([0.5, 0.5, 0.0])),
        at("np.quantile", lambda x: np.quantile(x, 0.5), np.full(3, 2.0), gives=A([0.0, 1.0, 0.0])),
        at("sorted", lambda a, b: sorted([a, b])[1], 2.0, 2.0, gives=(0.0, 1.0)),
        at("sorted downwards", lambda x: sorted(x, reverse=True)[0], [2.0, 2.0, 1.0], gives=([1.0, 0.0, 0.0],)),
    ],
    "`np.maximum.accumulate`, `np.minimum.accumulate`, of equal numbers": [
        at(
            "np.maximum.accumulate",
            lambda x: np.sum(np.maximum.accumulate(x) * A([1.0, 10.0, 100.0])),
            A([1.0, 1.0, 0.0]),
            gives=A([56.0, 55.0, 0.0]),
        ),
    ],
    "`np.clip` at a bound": [
        at("at the lower bound", lambda x, lo, hi: np.clip(x, lo, hi), 1.0, 1.0, 2.0, gives=(1.0, 0.0, 0.0)),
        at("at the upper bound", lambda x, lo, hi: np.clip(x, lo, hi), 2.0, 1.0, 2.0, gives=(1.0, 0.0, 0.0)),
        at("between equal bounds", lambda x, lo, hi: np.clip(x, lo, hi), 1.0, 1.0, 1.0, gives=(1.0, 0.0, 0.0)),
        at("beyond a bound", lambda x, lo, hi: np.clip(x, lo, hi), 3.0, 1.0, 2.0, gives=(0.0, 0.0, 1.0)),
        at(
            "of an array",
            lambda x: np.sum(np.clip(x, 1.0, 2.0)),
            A([1.0, 2.0, 1.5, 3.0, 0.0]),
            gives=A([1.0, 1.0, 1.0, 0.0, 0.0]),
        ),
        at("x.clip", lambda x: np.sum(x.clip(1.0, 2.0)), A([1.0, 2.0, 3.0]), gives=A([1.0, 1.0, 0.0])),
        at("no lower bound", lambda x: np.sum(np.clip(x, None, 2.0)), A([1.0, 2.0, 3.0]), gives=A([1.0, 1.0, 0.0])),
        at("no upper bound", lambda x: np.sum(np.clip(x, 1.0, None)), A([0.0, 1.0, 2.0]), gives=A([0.0, 1.0, 1.0])),
        at(
            "bounds by name", lambda x: np.sum(np.clip(x, min=1.0, max=2)), A([0.0, 1.0, 2.0]), gives=A([0.0, 1.0, 1.0])
        ),
        at(
            "bounds that are arrays",
            lambda x, lo, hi: np.sum(np.clip(x, lo, hi)),
            *(A([0.0, 1.0, 3.0]), A([1.0]), A([0.5, 1.0, 3.0])),
            gives=(A([0.0, 1.0, 1.0]), A([0.0]), A([1.0, 0.0, 0.0])),
        ),
        at(
            "out=",
            lambda x: np.sum(np.clip(x, 1.0, 2.0, out=np.zeros(2)) * A([1.0, 2.0])),
            A([1.0, 3.0]),
            gives=A([1.0, 0.0]),
        ),
    ],
    "`np.where`, `np.select`, `if`, on the branch not taken": [
        at(
            "np.where",
            lambda x: np.sum(np.where(x > 0, np.sqrt(np.maximum(x, 0)), x)),
            A([0.0, 4.0]),
            gives=A([1.0, 0.25]),
            second=A([0.0, -1 / 16]),
        ),
        at(
            "np.select",
            lambda x: np.sum(np.select([x > 0], [np.log(x)], x)),
            A([0.0, 4.0]),
            gives=A([1.0, 0.25]),
            second=A([0.0, -1 / 8]),
        ),
        at("if", lambda x: math.sqrt(x) if x > 0 else 2 * x, 0.0, gives=2.0),
        at("np.nan_to_num", lambda x: np.sum(np.nan_to_num(x)), A([0.0, nan, inf]), gives=A([1.0, 0.0, 0.0])),
    ],
    "`floor`, `ceil`, `round`, `sign`, `int`, `//`, comparisons, `argmax`, `argsort`, at a jump and elsewhere": [
        at("np.floor", lambda x: np.floor(x), 2.0, gives=0.0),
        at("math.floor", lambda x: math.floor(x) * 1.0, 2.0, gives=0.0),
        at("np.ceil", lambda x: np.ceil(x), 2.0, gives=0.0),
        at("np.rint", lambda x: np.rint(x), 2.5, gives=0.0),
        at("np.round", lambda x: np.round(x), 2.5, gives=0.0),
        at("np.trunc", lambda x: np.trunc(x), 2.0, gives=0.0),
        at("//", lambda x: x // 1, 2.0, gives=0.0),
        at("np.sign", lambda x: np.sum(np.sign(x)), A([0.0, -1.0]), gives=A([0.0, 0.0])),
        at("np.sign of complex", lambda z: np.sum(np.real(np.sign(z))), A([0j]), gives=A([0j])),
        at("a comparison", lambda x: (x > 0) * 1.0, 0.0, gives=0.0),
        at("int", lambda x: int(x) * 1.0, 2.0, gives=0.0),
        at("np.argmax", lambda x: x[np.argmax(x)], A([1.0, 1.0]), gives=A([1.0, 0.0])),
        at("np.heaviside", lambda x, h: np.heaviside(x, h), 0.0, 0.5, gives=(0.0, 1.0)),
        at("np.copysign", lambda x: np.copysign(x, -1.0), 0.0, gives=-1.0),
    ],
    "`x % m`, `np.fmod`, `math.fmod`, `divmod`, `np.modf`, at a jump": [
        at("%", lambda x, m: x % m, 4.0, 2.0, gives=(1.0, -2.0)),
        at("np.mod", lambda x, m: np.mod(x, m), 4.0, 2.0, gives=(1.0, -2.0)),
        at("np.fmod", lambda x, m: np.fmod(x, m), 4.0, 2.0, gives=(1.0, -2.0)),
        at("math.fmod", lambda x, m: math.fmod(x, m), 4.0, 2.0, gives=(1.0, -2.0)),
        at("divmod", lambda x, m: divmod(x, m)[1], 4.0, 2.0, gives=(1.0, -2.0)),
        at("np.modf", lambda x: np.modf(x)[0], 2.0, gives=1.0),
    ],
    "`np.interp` at a node": [
        at("np.interp", lambda x: np.interp(x, A([0.0, 1.0, 2.0]), A([0.0, 1.0, 3.0])), 1.0, gives=2.0),
        at("the first", lambda x: np.interp(x, A([0.0, 1.0, 2.0]), A([0.0, 1.0, 3.0])), 0.0, gives=1.0),
        at("the last", lambda x: np.interp(x, A([0.0, 1.0, 2.0]), A([0.0, 1.0, 3.0])), 2.0, gives=2.0),
    ],
    "`x ** 0`, also at zero": [
        at("x ** 0", lambda x: x**0, 0.0, gives=0.0),
        at("of an array", lambda x: np.sum(x**0), np.zeros(3), gives=np.zeros(3)),
        at("np.power", lambda x: np.power(x, 0), 0.0, gives=0.0),
        at("math.pow", lambda x: math.pow(x, 0), 0.0, gives=0.0),
        at("x ** 1", lambda x: x**1, 0.0, gives=1.0),
    ],
    "`0 ** n`, for n": [
        at("**", lambda x, n: x**n, 0.0, 2.0, gives=(0.0, 0.0), second=(2.0, 0.0)),
        at("np.power", lambda x, n: np.power(x, n), 0.0, 2.0, gives=(0.0, 0.0), second=(2.0, 0.0)),
        at("math.pow", lambda x, n: math.pow(x, n), 0.0, 2.0, gives=(0.0, 0.0), second=(2.0, 0.0)),
        at("0 ** 0", lambda x, n: np.power(x, n), 0.0, 0.0, gives=(0.0, 0.0), second=FINITE),
    ],
    "`x ** n` with x negative, for n": [
        at("**", lambda x, n: np.power(x, n), -2.0, 2.0, gives=(-4.0, nan), second=None),
    ],
    "`np.sqrt`, `math.sqrt`, `x ** 0.5`, `np.cbrt` at zero, `math.acos` at one": [
        at("np.sqrt", lambda x: np.sqrt(x), 0.0, gives=inf, second=None),
        at("math.sqrt", lambda x: math.sqrt(x), 0.0, gives=inf, second=None),
        at("x ** 0.5", lambda x: x**0.5, 0.0, gives=inf, second=None),
        at("np.cbrt", lambda x: np.cbrt(x), 0.0, gives=inf, second=None),
        at("math.acos", lambda x: math.acos(x), 1.0, gives=-inf, second=None),
        at("np.arccos", lambda x: np.arccos(x), 1.0, gives=-inf, second=None),
        at("np.arcsin", lambda x: np.arcsin(x), 1.0, gives=inf, second=None),
        at("math.acosh", lambda x: math.acosh(x), 1.0, gives=inf, second=None),
        at("where no cotangent arrives", lambda x: np.sqrt(x) * 0.0, 0.0, gives=0.0, second=None),
    ],
    "`scipy.special.xlogy`, `entr`, `rel_entr`, `kl_div` at zero": [
        at("xlogy", lambda x, y: special.xlogy(x, y), 0.0, 2.0, gives=(math.log(2.0), 0.0), second=(1.0, 0.5)),
        at("xlogy at zero", lambda x, y: special.xlogy(x, y), 0.0, 0.0, gives=(-inf, 0.0), second=None),
        at("entr", lambda x: special.entr(x), 0.0, gives=inf, second=None),
        at("rel_entr", lambda x, y: special.rel_entr(x, y), 0.0, 1.0, gives=(-inf, 0.0), second=None),
        at("kl_div", lambda x, y: special.kl_div(x, y), 0.0, 1.0, gives=(-inf, 1.0), second=None),
    ],
    "`scipy.special.huber(d, r)` at d = |r|, of second order": [
        at("huber", lambda d, r: special.huber(d, r), 1.0, -1.0, gives=(0.0, -1.0), second=(0.0, 2.0)),
        at("huber inside", lambda r: special.huber(1.0, r), 0.0, gives=0.0, second=1.0),
        at("pseudo_huber", lambda r: special.pseudo_huber(1.0, r), 0.0, gives=0.0, second=1.0),
    ],
    "`np.sinc` at zero, `scipy.special.logsumexp` of equal numbers, `np.prod` with zeros: smooth": [
        at("np.sinc", lambda x: np.sinc(x), 0.0, gives=0.0, second=-(np.pi**2) / 3),
        at("logsumexp", lambda x: special.logsumexp(x), A([1.0, 1.0]), gives=A([0.5, 0.5]), second=A([-0.25, 0.25])),
        at("np.logaddexp", lambda a, b: np.logaddexp(a, b), 0.0, 0.0, gives=(0.5, 0.5), second=(-0.25, 0.25)),
        at("np.prod", lambda x: np.prod(x), A([0.0, 0.0, 2.0]), gives=np.zeros(3), second=A([4.0, 2.0, 0.0])),
        at("np.cumprod", lambda x: np.sum(np.cumprod(x)), A([0.0, 2.0]), gives=A([3.0, 0.0]), second=A([2.0, 1.0])),
    ],
    "`np.arctan2`, `np.angle`, `cmath.phase` at zero": [
        at("np.arctan2", lambda a, b: np.arctan2(a, b), 0.0, 0.0, gives=(nan, nan), second=None),
        at("math.atan2", lambda a, b: math.atan2(a, b), 0.0, 0.0, gives=(nan, nan), second=None),
        at("np.angle", lambda z: np.angle(z), 0j, gives=complex(nan, nan), second=None),
        at("cmath.phase", lambda z: cmath.phase(z), 0j, gives=complex(nan, nan), second=None),
    ],
}
