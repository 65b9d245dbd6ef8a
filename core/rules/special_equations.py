"""Rules of functions of ``scipy.special`` that return (y, y'), where y solves a differential equation of second order.

    y'' = p(x) y' + q(x) y

gives the derivative of y'.  Derivatives by the equations' parameters are not available.  Also the Legendre functions,
whose derivatives SciPy computes, and the arithmetic-geometric mean.

Sources: NIST Digital Library of Mathematical Functions (DLMF) 10.47, 12.2, 14.2, 14.10, 19.8, 28.2, 28.20, 30.2; for
the results of SciPy's routines S. Zhang and J. Jin, "Computation of Special Functions", 1996.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from ..errors import NoDerivative
from .table import elementwise, vjp

RADIANS = 0.017453292519943295


def with_slope(function: Any, second: Callable[..., Any], at: int, unit: float = 1.0, real_only: bool = False) -> None:
    """Register a function that returns (y, y'); ``second(y, slope, *args)`` is y'', and ``args[at]`` is x.

    ``unit``: the derivative of the equation's variable by x (SciPy may take degrees).
    ``real_only``: whether complex x are refused.
    """

    def pullback(dy, y, *args):
        if real_only and np.iscomplexobj(args[at]):
            raise NoDerivative(f"scipy.special.{function.__name__} has a derivative for real arguments only")
        d_value, d_slope = dy
        g = 0.0 if d_value is None else d_value * np.conj(y[1])
        g = g if d_slope is None else g + d_slope * np.conj(second(y[0], y[1], *args))
        return g * unit

    vjp(function, *[None] * at, pullback)


# Mathieu's equations; the ordinary ones take degrees


def mathieu(characteristic: Any) -> Callable[..., Any]:
    return lambda y, slope, m, q, x: -(characteristic(m, q) - 2 * q * np.cos(2 * RADIANS * x)) * y


def modified_mathieu(characteristic: Any) -> Callable[..., Any]:
    return lambda y, slope, m, q, x: (characteristic(m, q) - 2 * q * np.cosh(2 * x)) * y


with_slope(special.mathieu_cem, mathieu(special.mathieu_a), 2, RADIANS)
with_slope(special.mathieu_sem, mathieu(special.mathieu_b), 2, RADIANS)
for _function in (special.mathieu_modcem1, special.mathieu_modcem2):
    with_slope(_function, modified_mathieu(special.mathieu_a), 2)
for _function in (special.mathieu_modsem1, special.mathieu_modsem2):
    with_slope(_function, modified_mathieu(special.mathieu_b), 2)


# Spheroidal wave functions


def prolate(y, slope, m, n, c, value, x):
    return (2 * x * slope - (value - c**2 * x**2 - m**2 / (1 - x**2)) * y) / (1 - x**2)


def oblate(y, slope, m, n, c, value, x):
    return (2 * x * slope - (value + c**2 * x**2 - m**2 / (1 - x**2)) * y) / (1 - x**2)


def oblate_radial(y, slope, m, n, c, value, x):
    return (-2 * x * slope + (value - c**2 * x**2 - m**2 / (1 + x**2)) * y) / (1 + x**2)


def spheroidal(equation: Callable[..., Any], characteristic: Any) -> Callable[..., Any]:
    return lambda y, slope, m, n, c, x: equation(y, slope, m, n, c, characteristic(m, n, c), x)


for _names, _equation, _characteristic in (
    (("pro_ang1", "pro_rad1", "pro_rad2"), prolate, special.pro_cv),
    (("obl_ang1",), oblate, special.obl_cv),
    (("obl_rad1", "obl_rad2"), oblate_radial, special.obl_cv),
):
    for _name in _names:
        with_slope(getattr(special, _name), spheroidal(_equation, _characteristic), 3)
        with_slope(getattr(special, f"{_name}_cv"), _equation, 4)


# Sequences of all orders up to one, along the last axis


def orders(v: Any) -> Any:
    """Return the orders of a sequence: from the fractional part of ``v`` up to ``v``, at least two, as in SciPy."""
    if v < 0:
        raise NoDerivative("scipy.special: sequences of functions of negative order have no derivative rule")
    return np.arange(max(int(v), 1) + 1) + (v - int(v))


def riccati(y, slope, n, x):
    k = np.arange(n + 1)
    return (k * (k + 1) / x**2 - 1) * y


def legendre_of_second_kind(y, slope, n, z):
    k = np.reshape(np.arange(n + 1), (-1,) + (1,) * np.ndim(z))
    return (2 * z * slope - k * (k + 1) * y) / (1 - z**2)


def associated_legendre_of_second_kind(y, slope, m, n, z):
    k = np.reshape(np.arange(n + 1), (-1,) + (1,) * np.ndim(z))
    j = np.reshape(np.arange(m + 1), (-1, 1) + (1,) * np.ndim(z))
    return (2 * z * slope - (k * (k + 1) - j**2 / (1 - z**2)) * y) / (1 - z**2)


def parabolic_cylinder(y, slope, v, x):
    return (x**2 / 4 - orders(v) - 0.5) * y


def bessel_lambda(y, slope, v, x):
    return -(2 * orders(v) + 1) / x * slope - y


with_slope(special.riccati_jn, riccati, 1)
with_slope(special.riccati_yn, riccati, 1)
with_slope(special.lqn, legendre_of_second_kind, 1)
with_slope(special.lqmn, associated_legendre_of_second_kind, 2)
with_slope(special.pbdn_seq, parabolic_cylinder, 1, real_only=True)  # SciPy's results for complex ones are not analytic
with_slope(special.pbdv_seq, parabolic_cylinder, 1)
with_slope(special.pbvv_seq, parabolic_cylinder, 1)
with_slope(special.lmbda, bessel_lambda, 1)


# Legendre functions of the first kind; SciPy computes two derivatives


def legendre(function: Any, at: int) -> None:
    def pullback(dy, y, *args, diff_n=0, **kwargs):
        if diff_n > 1:
            raise NoDerivative(f"scipy.special.{function.__name__} has derivatives up to the second order only")
        slopes = function(*args, diff_n=diff_n + 1, **kwargs)[1:]
        return dy * np.conj(slopes[0]) if diff_n == 0 else np.sum(dy * np.conj(slopes), axis=0)

    vjp(function, *[None] * at, pullback)


def sph_harm_theta(dy, y, n, m, theta, phi):
    """Half the difference of the functions of the orders above and below (DLMF 14.30, 14.10), also at the poles.

    SciPy's function depends on theta only by cos(theta), so it is even; at a pole the slope is that within [0, pi].
    """
    above, below = np.maximum((n - m) * (n + m + 1.0), 0), np.maximum((n + m) * (n - m + 1.0), 0)
    raised = np.where(above > 0, np.sqrt(above) * special.sph_harm_y(n, m + 1, theta, phi), 0)
    lowered = np.where(below > 0, np.sqrt(below) * special.sph_harm_y(n, m - 1, theta, phi), 0)
    half = np.where(np.sin(theta) < 0, -0.5, 0.5)
    return dy * np.conj(half * (np.exp(-1j * phi) * raised - np.exp(1j * phi) * lowered))


def degrees_and_orders(n: Any, m: Any, rank: int) -> tuple[Any, Any]:
    """The degrees and orders of the results of ``sph_harm_y_all``: negative orders count from the end."""
    ones = (1,) * rank
    return np.reshape(np.arange(n + 1), (-1, 1, *ones)), np.reshape(np.r_[0 : m + 1, -m:0], (1, -1, *ones))


def sph_harm_all_theta(dy, y, n, m, theta, phi):
    return sph_harm_theta(dy, y, *degrees_and_orders(n, m, y.ndim - 2), theta, phi)


def sph_harm_all_phi(dy, y, n, m, theta, phi):
    return dy * np.conj(1j * degrees_and_orders(n, m, y.ndim - 2)[1] * y)


if hasattr(special, "legendre_p"):  # SciPy 1.15
    legendre(special.legendre_p, 1)
    legendre(special.legendre_p_all, 1)
    legendre(special.assoc_legendre_p, 2)
    legendre(special.assoc_legendre_p_all, 2)
    legendre(special.sph_legendre_p, 2)
    legendre(special.sph_legendre_p_all, 2)
    vjp(special.sph_harm_y_all, None, None, sph_harm_all_theta, sph_harm_all_phi)
    vjp(special.sph_harm_y, None, None, sph_harm_theta, lambda dy, y, n, m, theta, phi: dy * np.conj(1j * m * y))


# Exponentially scaled Airy functions of a real argument


def airye_pullback(dy, y, z):
    if np.iscomplexobj(z):
        raise NoDerivative("scipy.special.airye has a derivative for real arguments only; use airy")
    root = np.sqrt(np.maximum(z, 0))
    ai, aip, bi, bip = y
    slopes = (aip + root * ai, z * ai + root * aip, bip - root * bi, z * bi - root * bip)
    return sum(d * slope for d, slope in zip(dy, slopes) if d is not None)


vjp(special.airye, airye_pullback)


# The arithmetic-geometric mean: M = pi (a + b) / (4 K(m)) with m = ((a - b)/(a + b))^2


def agm_slope(y: Any, a: Any, b: Any) -> Any:
    ratio = (a - b) / (a + b)
    m = ratio**2
    other = np.where(m == 0, 0.5, m)
    k = special.ellipk(m)
    dk = np.where(m == 0, np.pi / 8, (special.ellipe(other) / (1 - other) - special.ellipk(other)) / (2 * other))
    return y / (a + b) * (1 - 4 * dk / k * ratio * b / (a + b))


elementwise(special.agm, agm_slope, lambda y, a, b: agm_slope(y, b, a))
