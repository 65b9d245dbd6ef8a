"""SymPy as the reference of the element-wise rules: the rule's partials against the formula's derivative.

Each line gives a function of the table, the formula in SymPy, and a domain to take the points from.  The points are
real, and complex as well where the function is holomorphic.
"""

from __future__ import annotations

import cmath
import math
import operator

import numpy as np
import pytest
import sympy as sp
from scipy import special

from morula.core.rules import find_rule
from morula.core.rules.table import RULES, pull

find_rule(special.erf)

x, a, b = sp.symbols("x a b")
LINE, UNIT, POSITIVE, ABOVE_ONE = [-1.7, -0.3, 0.6, 2.2], [-0.8, -0.1, 0.45, 0.9], [0.2, 0.7, 1.9], [1.2, 2.7]
PLANE = [0.4 + 0.3j, -1.2 + 0.8j, 0.9 - 1.4j]
PROBABILITY = [0.05, 0.4, 0.93]

HOLOMORPHIC = [
    ("sin", sp.sin(x), LINE),
    ("cos", sp.cos(x), LINE),
    ("tan", sp.tan(x), LINE),
    ("sinh", sp.sinh(x), LINE),
    ("cosh", sp.cosh(x), LINE),
    ("tanh", sp.tanh(x), LINE),
    ("arcsin asin", sp.asin(x), UNIT),
    ("arccos acos", sp.acos(x), UNIT),
    ("arctan atan", sp.atan(x), LINE),
    ("arcsinh asinh", sp.asinh(x), LINE),
    ("arccosh acosh", sp.acosh(x), ABOVE_ONE),
    ("arctanh atanh", sp.atanh(x), UNIT),
    ("exp", sp.exp(x), LINE),
    ("sqrt", sp.sqrt(x), POSITIVE),
    ("log", sp.log(x), POSITIVE),
    ("log10", sp.log(x, 10), POSITIVE),
]

REAL = [
    ("exp2", 2**x, LINE),
    ("expm1", sp.exp(x) - 1, LINE),
    ("log2", sp.log(x, 2), POSITIVE),
    ("log1p", sp.log(1 + x), POSITIVE),
    ("cbrt", sp.cbrt(x), POSITIVE),
    ("degrees rad2deg", x * 180 / sp.pi, LINE),
    ("radians deg2rad", x * sp.pi / 180, LINE),
    ("square", x**2, LINE),
    ("reciprocal", 1 / x, LINE),
    ("negative neg", -x, LINE),
    ("positive pos", x, LINE),
    ("absolute fabs abs", sp.Piecewise((x, x > 0), (-x, True)), LINE),
    ("sinc", sp.sin(sp.pi * x) / (sp.pi * x), LINE),
    ("i0", sp.besseli(0, x), LINE),
    ("erf", sp.erf(x), LINE),
    ("erfc", sp.erfc(x), LINE),
    ("gamma", sp.gamma(x), POSITIVE),
    ("gammaln lgamma loggamma", sp.loggamma(x), POSITIVE),
]

SPECIAL = [
    (special.erf, sp.erf(x), LINE + PLANE),
    (special.erfc, sp.erfc(x), LINE + PLANE),
    (special.erfi, sp.erfi(x), LINE + PLANE),
    (special.erfcx, sp.exp(x**2) * sp.erfc(x), LINE + PLANE),
    (special.dawsn, sp.sqrt(sp.pi) / 2 * sp.exp(-(x**2)) * sp.erfi(x), LINE + PLANE),
    (special.wofz, sp.exp(-(x**2)) * sp.erfc(-sp.I * x), PLANE),
    (special.erfinv, sp.erfinv(x), UNIT),
    (special.erfcinv, sp.erfinv(1 - x), PROBABILITY),
    (special.ndtr, (1 + sp.erf(x / sp.sqrt(2))) / 2, LINE),
    (special.log_ndtr, sp.log((1 + sp.erf(x / sp.sqrt(2))) / 2), LINE),
    (special.ndtri, sp.sqrt(2) * sp.erfinv(2 * x - 1), PROBABILITY),
    (special.gamma, sp.gamma(x), LINE + PLANE),
    (special.gammaln, sp.loggamma(x), POSITIVE),
    (special.loggamma, sp.loggamma(x), POSITIVE + PLANE),
    (special.digamma, sp.digamma(x), POSITIVE),
    (special.rgamma, 1 / sp.gamma(x), LINE + PLANE),
    (special.expit, 1 / (1 + sp.exp(-x)), LINE),
    (special.logit, sp.log(x / (1 - x)), PROBABILITY),
    (special.log_expit, -sp.log(1 + sp.exp(-x)), LINE),
    (special.entr, -x * sp.log(x), POSITIVE),
    (special.exprel, (sp.exp(x) - 1) / x, LINE),
    (special.cosm1, sp.cos(x) - 1, LINE),
    (special.expm1, sp.exp(x) - 1, LINE),
    (special.log1p, sp.log(1 + x), POSITIVE),
    (special.exp2, 2**x, LINE),
    (special.exp10, 10**x, LINE),
    (special.cbrt, sp.cbrt(x), POSITIVE),
    (special.sindg, sp.sin(sp.pi * x / 180), LINE),
    (special.cosdg, sp.cos(sp.pi * x / 180), LINE),
    (special.tandg, sp.tan(sp.pi * x / 180), LINE),
    (special.cotdg, sp.cot(sp.pi * x / 180), LINE),
    (special.spence, sp.polylog(2, 1 - x), POSITIVE),
    (special.exp1, sp.expint(1, x), POSITIVE),
    (special.expi, sp.Ei(x), LINE),
    (special.ellipk, sp.elliptic_k(x), UNIT),
    (special.ellipe, sp.elliptic_e(x), UNIT),
    (special.ellipkm1, sp.elliptic_k(1 - x), PROBABILITY),
    (special.lambertw, sp.LambertW(x), POSITIVE),
    (special.j0, sp.besselj(0, x), LINE),
    (special.j1, sp.besselj(1, x), LINE),
    (special.y0, sp.bessely(0, x), POSITIVE),
    (special.y1, sp.bessely(1, x), POSITIVE),
    (special.i0, sp.besseli(0, x), LINE),
    (special.i1, sp.besseli(1, x), LINE),
    (special.i0e, sp.besseli(0, x) * sp.exp(-x), POSITIVE),
    (special.i1e, sp.besseli(1, x) * sp.exp(-x), POSITIVE),
    (special.k0, sp.besselk(0, x), POSITIVE),
    (special.k1, sp.besselk(1, x), POSITIVE),
    (special.k0e, sp.besselk(0, x) * sp.exp(x), POSITIVE),
    (special.k1e, sp.besselk(1, x) * sp.exp(x), POSITIVE),
]

BINARY = [
    ("add", a + b, LINE, LINE),
    ("subtract sub", a - b, LINE, LINE),
    ("multiply mul", a * b, LINE, LINE),
    ("divide truediv", a / b, LINE, LINE),
    ("power float_power pow", a**b, POSITIVE, LINE),
    ("power float_power pow", a**b, PLANE, LINE),
    ("arctan2 atan2", sp.atan2(a, b), LINE, LINE),
    ("hypot", sp.sqrt(a**2 + b**2), LINE, LINE),
    ("logaddexp", sp.log(sp.exp(a) + sp.exp(b)), LINE, LINE),
    ("logaddexp2", sp.log(2**a + 2**b, 2), LINE, LINE),
    ("maximum fmax", sp.Piecewise((a, a > b), (b, True)), LINE, [0.1, 3.0]),
    ("minimum fmin", sp.Piecewise((a, a < b), (b, True)), LINE, [0.1, 3.0]),
]

# Differentiated in the variables that the last entry counts.
OF_SEVERAL = [
    (special.beta, sp.gamma(a) * sp.gamma(b) / sp.gamma(a + b), (1.3, 0.7), (0, 1)),
    (special.betaln, sp.loggamma(a) + sp.loggamma(b) - sp.loggamma(a + b), (1.3, 0.7), (0, 1)),
    (special.poch, sp.gamma(a + b) / sp.gamma(a), (1.3, 0.7), (0, 1)),
    (special.binom, sp.gamma(a + 1) / sp.gamma(b + 1) / sp.gamma(a - b + 1), (4.3, 1.7), (0, 1)),
    (special.gammainc, sp.lowergamma(a, b) / sp.gamma(a), (1.3, 0.7), (1,)),
    (special.gammaincc, sp.uppergamma(a, b) / sp.gamma(a), (1.3, 0.7), (1,)),
    (special.polygamma, sp.polygamma(a, b), (2, 1.7), (1,)),
    (special.zeta, sp.zeta(a, b), (2.5, 1.7), (1,)),
    (special.expn, sp.expint(a, b), (3, 0.7), (1,)),
    (special.jv, sp.besselj(a, b), (1.7, 2.2), (1,)),
    (special.yv, sp.bessely(a, b), (1.7, 2.2), (1,)),
    (special.iv, sp.besseli(a, b), (1.7, 2.2), (1,)),
    (special.kv, sp.besselk(a, b), (1.7, 2.2), (1,)),
    (special.jv, sp.besselj(a, b), (1.7, 0.4 + 0.3j), (1,)),
    (special.hankel1, sp.hankel1(a, b), (1.7, 0.4 + 0.3j), (1,)),
    (special.hankel2, sp.hankel2(a, b), (1.7, 0.4 + 0.3j), (1,)),
    (special.xlogy, a * sp.log(b), (1.3, 0.7), (0, 1)),
    (special.xlog1py, a * sp.log(1 + b), (1.3, 0.7), (0, 1)),
    (special.rel_entr, a * sp.log(a / b), (1.3, 0.7), (0, 1)),
    (special.kl_div, a * sp.log(a / b) - a + b, (1.3, 0.7), (0, 1)),
    (special.powm1, a**b - 1, (1.3, 0.7), (0, 1)),
    (special.boxcox, (a**b - 1) / b, (1.3, 0.7), (0, 1)),
    (special.boxcox1p, ((1 + a) ** b - 1) / b, (1.3, 0.7), (0, 1)),
    (special.inv_boxcox, (a * b + 1) ** (1 / b), (1.3, 0.7), (0, 1)),
    (special.inv_boxcox1p, (a * b + 1) ** (1 / b) - 1, (1.3, 0.7), (0, 1)),
    (special.pseudo_huber, a**2 * (sp.sqrt(1 + (b / a) ** 2) - 1), (1.3, 0.7), (0, 1)),
    (special.eval_legendre, sp.legendre(4, b), (4, 0.7), (1,)),
    (special.eval_chebyt, sp.chebyshevt(4, b), (4, 0.7), (1,)),
    (special.eval_chebyu, sp.chebyshevu(4, b), (4, 0.7), (1,)),
    (special.eval_hermite, sp.hermite(4, b), (4, 0.7), (1,)),
    (special.eval_laguerre, sp.laguerre(4, b), (4, 0.7), (1,)),
    (special.ellipkinc, sp.elliptic_f(a, b), (1.3, 0.7), (0, 1)),
    (special.ellipeinc, sp.elliptic_e(a, b), (1.3, 0.7), (0, 1)),
    (math.log, sp.log(a) / sp.log(b), (1.3, 0.7), (0, 1)),
    (cmath.log, sp.log(a) / sp.log(b), (1.3 + 1j, 0.7 - 0.4j), (0, 1)),
]


def named(names, modules):
    """The functions of these names in these modules that the table has."""
    found = [getattr(module, name, None) for name in names.split() for module in modules]
    return [f for f in dict.fromkeys(found) if f is not None and f in RULES]


def cases(table, modules):
    return [pytest.param(f, *rest, id=f"{f.__name__}-{i}") for i, (names, *rest) in enumerate(table)
            for f in named(names, modules)]  # fmt: skip


def assert_partials(f, formula, variables, point, of):
    """The table's pullback of 1 is the conjugate of SymPy's derivative at the point."""
    with np.errstate(all="ignore"):
        gradients = pull(RULES[f], 1.0, f(*point), tuple(point), {})
    for i in of:
        slope = complex(sp.diff(formula, variables[i]).subs(dict(zip(variables, point))).evalf(30))
        expected = slope.conjugate() if isinstance(point[i], complex) else slope.real
        assert complex(gradients[i]) == pytest.approx(expected, rel=1e-10, abs=1e-13), (f, point, i)


@pytest.mark.parametrize(("f", "formula", "points"), cases(HOLOMORPHIC, (np, math, cmath)))
def test_holomorphic_functions(f, formula, points):
    for point in points + (PLANE if f not in vars(math).values() else []):
        assert_partials(f, formula, [x], [point], [0])


@pytest.mark.parametrize(("f", "formula", "points"), cases(REAL, (np, math, operator)))
def test_functions_of_a_real_number(f, formula, points):
    for point in points:
        assert_partials(f, formula, [x], [point], [0])


@pytest.mark.parametrize(("f", "formula", "points"), SPECIAL, ids=lambda c: getattr(c, "__name__", None))
def test_special_functions(f, formula, points):
    for point in points:
        assert_partials(f, formula, [x], [point], [0])


@pytest.mark.parametrize(("f", "formula", "left", "right"), cases(BINARY, (np, math, operator)))
def test_functions_of_two_numbers(f, formula, left, right):
    if f in vars(math).values() and any(isinstance(p, complex) for p in left):
        return
    for p in left:
        for q in right:
            assert_partials(f, formula, [a, b], [p, q], [0, 1])


@pytest.mark.parametrize(("f", "formula", "point", "of"), OF_SEVERAL, ids=lambda c: getattr(c, "__name__", None))
def test_functions_of_several_numbers(f, formula, point, of):
    assert_partials(f, formula, [a, b], list(point), of)
