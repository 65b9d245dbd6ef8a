"""Second derivatives where the slope has a case of its own: at zeros, ones and equal numbers.

The reference is differences of the function's values, at those grid points where they show that the function is smooth.
"""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from scipy import special

import morula as mo
from morula.core.testing.differences import ridders

GRID = [-2.0, 0.0, 0.5, 1.0, 2.0]


def differences(f, x, step):
    """The gradient and the Hessian by extrapolated differences."""

    def slope(at, direction):
        return ridders(lambda t: f(at + t * direction), step, levels=3)[0]

    e = np.eye(len(x))
    gradient = [slope(x, a) for a in e]
    hessian = [ridders(lambda t, a=a, b=b: slope(x + t * a, b), step, levels=3)[0] for a in e for b in e]
    return np.array([*gradient, *hessian])


def smooth(f, x):
    """The gradient and the Hessian, where different steps agree on them; else None."""
    with np.errstate(all="ignore"):
        try:
            found = [differences(f, x, h) for h in (0.02, 0.013)]
        except (ValueError, ZeroDivisionError, TypeError):  # of a complex power
            return None
    return found[1] if np.allclose(*found, rtol=1e-4, atol=1e-4) and np.all(np.isfinite(found)) else None


def derivatives(f, x):
    g = mo.grad(f)(x)
    H = [mo.grad(lambda v, i=i: mo.grad(f)(v)[i])(x) for i in range(len(x))]
    return np.array([*g, *np.ravel(H)])


def wrong(f, points):
    found, asked = {}, 0
    for x in points:
        expected = smooth(f, x)
        if expected is None:
            continue
        asked += 1
        with np.errstate(all="ignore"):
            y = derivatives(f, x)
        if not np.allclose(y, expected, rtol=1e-3, atol=1e-3):
            found[tuple(x)] = y.round(4).tolist(), expected.round(4).tolist()
    assert asked
    return found


BINARY = [f for f in vars(np).values() if isinstance(f, np.ufunc) and "dd->d" in f.types and f.signature is None]
BINARY = sorted({f for f in BINARY if f not in (np.nextafter,)}, key=lambda f: f.__name__)


@pytest.mark.parametrize("f", [*BINARY, operator.pow, math.pow, math.hypot, math.atan2, pow], ids=lambda f: f.__name__)
def test_functions_of_two_numbers(f):
    assert not wrong(lambda v: f(v[0], v[1]), [np.array([a, b]) for a in GRID for b in GRID])


LINES = [[0.0, 3.0, 4.0], [3.0, 0.0, 4.0], [3.0, 4.0, 0.0], [0.0, 0.0, 4.0], [4.0, 0.0, 0.0], [0.0, -2.0, 1.0], [0.0, 0.0, 0.0],
         [2.0, 2.0, 1.0], [1.0, -1.0, 1.0], [-3.0, 1.0, 2.0]]  # fmt: skip
FOLDED = [
    np.add,
    np.multiply,
    np.hypot,
    np.logaddexp,
    np.logaddexp2,
    np.maximum,
    np.minimum,
    np.fmax,
    np.fmin,
    np.subtract,
    np.divide,
]
WEIGHTS = np.array([1.0, -2.0, 3.0])


@pytest.mark.parametrize("form", ["reduce", "reduce with an initial", "reduce where", "accumulate", "reduceat"])
@pytest.mark.parametrize("f", FOLDED, ids=lambda f: f.__name__)
def test_numbers_combined_along_an_axis(f, form):
    def g(v):
        if form == "reduceat":
            return np.sum(f.reduceat(np.concatenate([v, v[:1]]), [0, 2, 3]) * WEIGHTS)
        if form == "accumulate":
            return np.sum(f.accumulate(v) * WEIGHTS)
        m = np.stack([v, v * 2.0])
        options = {"initial": 0.5} if form == "reduce with an initial" else {}
        options |= {"where": np.array([True, True, False]), "initial": 1.5} if form == "reduce where" else {}
        return np.sum(f.reduce(m, axis=1, **options) * WEIGHTS[:2])

    assert not wrong(g, [np.array(x) for x in LINES])


AT_ENDS = [  # a distribution function, an end of its support, and the density and its slope there
    (lambda x: special.gammainc(1.0, x), 0.0, 1.0, -1.0),
    (lambda x: special.gammaincc(2.0, x), 0.0, 0.0, -1.0),
    (lambda x: special.gdtr(3.0, 2.0, x), 0.0, 0.0, 9.0),
    (lambda x: special.chdtr(4.0, x), 0.0, 0.0, 0.25),
    (lambda x: special.betainc(2.0, 3.0, x), 0.0, 0.0, 12.0),
    (lambda x: special.betainc(3.0, 2.0, x), 1.0, 0.0, -12.0),
    (lambda x: special.betaincc(1.0, 2.0, x), 0.0, -2.0, 2.0),
    (lambda x: special.fdtr(2.0, 3.0, x), 0.0, 1.0, -5 / 3),
    (lambda x: special.fdtrc(4.0, 3.0, x), 0.0, 0.0, -20 / 3),
    (lambda x: special.pdtr(1, x), 0.0, 0.0, -1.0),
    (lambda x: special.bdtr(1, 3, x), 0.0, 0.0, -6.0),
    (lambda x: special.nbdtr(1, 2, x), 0.0, 0.0, 6.0),
]


@pytest.mark.parametrize("i", range(len(AT_ENDS)))
def test_distribution_functions_at_the_ends_of_their_supports(i):
    f, x, slope, second = AT_ENDS[i]
    with np.errstate(all="ignore"):
        for run in (lambda g: g, lambda g: mo.jit(g, target="native")):
            assert run(mo.value_and_grad(mo.grad(f)))(x) == pytest.approx((slope, second))
            assert run(lambda x: mo.derivatives(f, x, 2))(x)[1:] == pytest.approx([slope, second])
            assert run(lambda x: mo.jvp(mo.grad(f), (x,), (1.0,)))(x) == pytest.approx((slope, second))
