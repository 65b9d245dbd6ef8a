"""A line search for a step length that satisfies the strong Wolfe conditions.

The method of J.J. Moré and D.J. Thuente, "Line search algorithms with guaranteed sufficient decrease", ACM Trans. Math.
Software 20 (1994) 286-307, keeps an interval that contains a step with

    φ(α) <= φ(0) + c1 α φ'(0)      (sufficient decrease)
    |φ'(α)| <= c2 |φ'(0)|          (curvature: the slope has nearly vanished)

and narrows it by safeguarded cubic and quadratic interpolation of values and slopes. There are two additions. A trial
with a non-finite value or slope becomes an upper bound, the wall; later steps stay below it. Where the decrease is
below the rounding of φ, only the slopes decide (the approximate Wolfe conditions of W.W. Hager and H. Zhang, SIAM J.
Optim. 16 (2005) 170-192, eq. 4.1), so that the minimum is found to full precision instead of to half of the digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .flatten import Vector


class Trial(NamedTuple):
    """The value and slope of φ at one step length, with the point and the gradient there."""

    step: float
    value: float
    slope: float
    point: Vector
    gradient: Vector


def strong_wolfe(
    phi: Callable[[float], Trial],
    origin: Trial,
    first: float,
    *,
    c1: float = 1e-4,
    c2: float = 0.9,
    noise: float = 0.0,
    longest: float = 1e10,
    trials: int = 40,
) -> tuple[Trial, bool]:
    """Return the best trial found from ``origin`` (φ at 0, with a negative slope), and whether it meets the conditions.

    ``first`` is the first step tried, ``longest`` the longest allowed, ``noise`` the absolute rounding error of φ,
    ``trials`` the largest number of evaluations. If no trial is lower than the origin, the origin itself is returned.
    """
    decrease = c1 * origin.slope
    best = other = origin
    bracketed, relaxed = False, True
    width, width_before = longest, 2 * longest
    lower, upper = 0.0, 5 * first
    wall = math.inf
    step = min(first, longest)
    for _ in range(trials):
        trial = phi(step)
        if not (math.isfinite(trial.value) and math.isfinite(trial.slope)):
            wall = step
            step = best.step + 0.25 * (wall - best.step)
            upper = min(upper, best.step + 0.9 * (wall - best.step))
            continue
        enough = trial.value <= origin.value + step * decrease
        if enough and abs(trial.slope) <= -c2 * origin.slope:
            return trial, True
        lost = abs(trial.value - origin.value) <= noise
        if lost and (2 * c1 - 1) * origin.slope >= trial.slope >= c2 * origin.slope:
            return trial, True
        if step >= longest and enough and trial.slope <= decrease:
            return trial, False

        # Until a step with sufficient decrease and a rising slope is found, minimise φ(α) - c1 α φ'(0) instead of φ:
        # its minimiser has sufficient decrease.
        relaxed = relaxed and not (enough and trial.slope >= 0)
        tilt = decrease if relaxed and trial.value <= best.value and not enough else 0.0
        step, best, other, bracketed = _narrow(best, other, trial, bracketed, lower, upper, tilt)
        if bracketed:
            if abs(other.step - best.step) >= 0.66 * width_before:
                step = best.step + 0.5 * (other.step - best.step)
            width_before, width = width, abs(other.step - best.step)
            lower, upper = min(best.step, other.step), max(best.step, other.step)
            if upper - lower <= 1e-15 * upper or not lower < step < upper:
                break
        else:
            lower = step + 1.1 * (step - best.step)
            upper = step + 4.0 * (step - best.step)
            step = min(step, longest, best.step + 0.9 * (wall - best.step))
    return (best, False) if best.value < origin.value else (origin, False)


def _narrow(
    best: Trial, other: Trial, trial: Trial, bracketed: bool, lower: float, upper: float, tilt: float
) -> tuple[float, Trial, Trial, bool]:
    """Return the next step, the interval's best and other end, and whether it brackets (section 4, cases 1 to 4).

    ``tilt`` is the slope of the line that is subtracted from φ.
    """
    ax, fx, dx = best.step, best.value - tilt * best.step, best.slope - tilt
    ay, fy, dy = other.step, other.value - tilt * other.step, other.slope - tilt
    a, f, d = trial.step, trial.value - tilt * trial.step, trial.slope - tilt
    opposite = d * math.copysign(1.0, dx) < 0.0

    if f > fx:  # Case 1: the value is higher, so a minimum lies between.
        cubic = _cubic(ax, fx, dx, a, f, d)
        quadratic = ax + 0.5 * (dx / ((fx - f) / (a - ax) + dx)) * (a - ax)
        step = cubic if abs(cubic - ax) < abs(quadratic - ax) else cubic + 0.5 * (quadratic - cubic)
        bracketed = True
    elif opposite:  # Case 2: lower, and the slope has changed sign.
        cubic = _cubic(a, f, d, ax, fx, dx)
        secant = a + d / (d - dx) * (ax - a)
        step = cubic if abs(cubic - a) > abs(secant - a) else secant
        bracketed = True
    elif abs(d) < abs(dx):  # Case 3: lower, same sign, flatter: the cubic may have no minimum in this direction.
        cubic = _cubic(ax, fx, dx, a, f, d, ahead=upper if a > ax else lower)
        secant = a + d / (d - dx) * (ax - a)
        if bracketed:
            step = cubic if abs(cubic - a) < abs(secant - a) else secant
            limit = a + 0.66 * (ay - a)
            step = min(limit, step) if a > ax else max(limit, step)
        else:
            step = cubic if abs(cubic - a) > abs(secant - a) else secant
            step = min(max(step, lower), upper)
    elif bracketed:  # Case 4: lower, same sign, no flatter.
        step = _cubic(a, f, d, ay, fy, dy)
    else:
        step = upper if a > ax else lower

    if f > fx:
        other = trial
    else:
        if opposite:
            other = best
        best = trial
    return step, best, other, bracketed


def _cubic(ax: float, fx: float, dx: float, a: float, f: float, d: float, ahead: float | None = None) -> float:
    """Return the minimiser of the cubic through both points, or ``ahead``, if given, where it is not beyond ``a``."""
    theta = 3.0 * (fx - f) / (a - ax) + dx + d
    scale = max(abs(theta), abs(dx), abs(d))
    if scale == 0.0:
        return a if ahead is None else ahead
    radicand = (theta / scale) ** 2 - (dx / scale) * (d / scale)
    gamma = scale * math.sqrt(max(radicand, 0.0))
    if ahead is not None:
        gamma = -gamma if a > ax else gamma
        p, q = (gamma - d) + theta, (gamma + (dx - d)) + gamma
        r = p / q if q != 0.0 else 0.0
        return a + r * (ax - a) if r < 0.0 and gamma != 0.0 else ahead
    gamma = -gamma if a < ax else gamma
    p, q = (gamma - dx) + theta, ((gamma - dx) + gamma) + d
    return ax + (p / q) * (a - ax) if q != 0.0 else 0.5 * (ax + a)


def rounding_error(phi: Callable[[float], Trial], step: float) -> float:
    """Return the standard deviation of the rounding errors of φ near 0, measured within the length ``step``.

    Fourth differences of seven values remove the smooth part of φ and amplify the errors by √(8!)/4! (R.W. Hamming,
    Introduction to Applied Numerical Analysis, chapter 6; J.J. Moré and S.M. Wild, SIAM J. Sci. Comput. 33 (2011)
    1292-1314). Rounding errors do not depend on the spacing of the values, so the smallest of three results is taken; 0 if φ is
    not finite near 0.
    """
    values, smallest = np.zeros(7), math.inf
    for spacing in (1e-3 * step, 1e-4 * step, 1e-5 * step):
        for k in range(7):
            values[k] = phi(spacing * (k - 3)).value
        with np.errstate(invalid="ignore"):  # infinite values give NaN
            spread = float(np.sqrt(np.mean(np.diff(values, 4) ** 2) * math.factorial(4) ** 2 / math.factorial(8)))
        smallest = min(smallest, spread)
    return smallest if math.isfinite(smallest) else 0.0
