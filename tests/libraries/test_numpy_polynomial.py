"""``numpy.polynomial``: its six bases as functions and as classes; ``poly1d`` and ``polyfit``."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.polynomial import Chebyshev, Hermite, HermiteE, Laguerre, Legendre, Polynomial, polyutils

import morula as mo

P = np.polynomial
C, D = np.array([0.7, -1.2, 0.5, 0.8]), np.array([1.3, 0.4])
X, Y = np.array([-0.7, 0.1, 0.5, 0.9, 1.2]), np.array([0.4, 0.2, 0.9, -0.3, 0.5])
R = np.array([-1.2, 0.3, 1.9, 0.8])  # with roots that are apart
PLANE, SPACE = np.outer(C, D), np.multiply.outer(np.outer(C, D), D)

BASES = {
    "poly": (P.polynomial, Polynomial),
    "cheb": (P.chebyshev, Chebyshev),
    "leg": (P.legendre, Legendre),
    "herm": (P.hermite, Hermite),
    "herme": (P.hermite_e, HermiteE),
    "lag": (P.laguerre, Laguerre),
}

FUNCTIONS = {
    "add": (lambda f, a, b: f(a, b), C, D),
    "sub": (lambda f, a, b: f(a, b), C, D),
    "mul": (lambda f, a, b: f(a, b), C, D),
    "div": (lambda f, a, b: f(a, b), C, D),
    "pow": (lambda f, a: f(a, 3), C),
    "mulx": (lambda f, a: f(a), C),
    "trim": (lambda f, a: f(a) ** 2, C),
    "line": (lambda f, a, b: f(a, b), 0.3, 0.4),
    "val": (lambda f, a, x: f(x, a) * f(x[0], [a[0], 2 * a[1], a[2] ** 2]), C, X),
    "val2d": (lambda f, a, x: f(x, x**2, a), PLANE, X),
    "val3d": (lambda f, a, x: f(x, x**2, x, a), SPACE, X[:2]),
    "grid2d": (lambda f, a, x: f(x, x**2, a), PLANE, X),
    "grid3d": (lambda f, a, x: f(x, x**2, x, a), SPACE, X[:2]),
    "der": (lambda f, a: f(a, 2, scl=1.5), C),
    "int": (lambda f, a, k, lower: f(a, 2, [k, 1.0], lower), C, 0.3, 0.2),
    "fromroots": (lambda f, r: f(r), C),
    "roots": (lambda f, a: f(a), R),
    "companion": (lambda f, a: f(a), C),
    "vander": (lambda f, x: f(x, 3), X),
    "vander2d": (lambda f, x: f(x, x**2, [2, 2]), X),
    "vander3d": (lambda f, x: f(x, x**2, x, [1, 1, 1]), X),
    "fit": (lambda f, x, y, w: f(x, y, 2) + f(x, y, [0, 1, 2], w=w), X, Y, X + 2),
}

CLASSES = {
    "arithmetic": (lambda B, a, x: (B(a) * B(a) + 1 - 2 * B(x) / x[0])(x), C, X),
    "quotient": (lambda B, a, x: (B(a) ** 2 // B([1.0, 1.0, 1.0]) + B(a) % B([1.0, 1.0, 1.0]))(x), C, X),
    "domain": (lambda B, a, x, lower: B(a, domain=[lower, 2.0])(x), C, X, -1.2),
    "derivative and integral": (lambda B, a, x: B(a).deriv()(x) * B(a).integ(1, lbnd=0.5)(x), C, X),
    "roots": (lambda B, a: B(a).roots(), R),
    "fit": (lambda B, x, y, z: B.fit(x, y, 2)(z), X, Y, 0.3),
    "fromroots": (lambda B, r, x: B.fromroots(r)(x), C, 0.3),
    "convert": (lambda B, a, x: B(a).convert(kind=Polynomial)(x) * Polynomial(a).convert(kind=B)(x), C, X),
    "cast": (lambda B, a, x: B.cast(Chebyshev(a))(x), C, X),
    "linspace": (lambda B, a: B(a).linspace(5), C),
    "truncate": (lambda B, a: B(a).truncate(2).coef ** 2 * B(a).cutdeg(1).coef * B(a).degree(), C),
    "basis": (lambda B, x: B.basis(3)(x) * B.identity()(x), X),
    "coefficients": (lambda B, a: sum(c * c for c in -B(a) - 3) * B(a).coef * (B(a) == B(a)), C),
    "composition": (lambda B, a, x: B(a)(B(D))(x), C, X),
    "divmod": (lambda B, a, x: divmod(B(a), B(x[:2]))[0].coef, C, X),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("prefix", BASES)
def test_functions(prefix, name):
    f = getattr(BASES[prefix][0], prefix + name)
    program, *args = FUNCTIONS[name]
    mo.testing.check_gradients(lambda *args: program(f, *args), *args, order=1)


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("prefix", BASES)
def test_classes(prefix, name):
    basis = BASES[prefix][1]
    program, *args = CLASSES[name]
    mo.testing.check_gradients(lambda *args: program(basis, *args), *args, order=1)


@pytest.mark.parametrize("prefix", BASES)
def test_second_derivatives(prefix):
    basis = BASES[prefix][1]
    mo.testing.check_gradients(lambda a, x: (basis(a) * basis(a).deriv() + 1)(x), C, X)
    mo.testing.check_gradients(lambda x, y, z: basis.fit(x, y, 2)(z), X, Y, 0.3, rtol=1e-5)


def written(a, x):
    p = np.poly1d(a)
    p[2] = x[1] ** 2
    p[5] = x[0]
    return p(x)


OTHERS = {
    "chebinterpolate": (lambda a: P.chebyshev.chebinterpolate(lambda x: np.sin(a * x), 4), 0.7),
    "Chebyshev.interpolate": (lambda a: Chebyshev.interpolate(lambda x: np.sin(a * x), 4, domain=[0, 2])(0.3), 0.7),
    "poly2cheb": (lambda a: P.chebyshev.poly2cheb(a) * P.chebyshev.cheb2poly(a), C),
    "chebweight": (lambda x: P.chebyshev.chebweight(x / 2), X),
    "polyvalfromroots": (lambda r, x: P.polynomial.polyvalfromroots(x, r), C, X),
    "mapdomain": (
        lambda x, d: polyutils.mapdomain(x, d, [0.0, 1.0]) * polyutils.getdomain(x)[0],
        X,
        np.array([-1.0, 2]),
    ),
    "leggauss": (lambda a: np.dot(np.sin(a * P.legendre.leggauss(5)[0]), P.legendre.leggauss(5)[1] ** 2), 0.4),
    "poly1d": (lambda a, x: (np.poly1d(a) * np.poly1d([1.0, x[0]]) + 2 - np.poly1d(a) / 2.0)(x), C, X),
    "poly1d, calculus": (lambda a, x, k: np.poly1d(a).deriv()(x) * np.poly1d(a).integ(k=k)(x), C, X, 0.3),
    "poly1d, roots": (lambda a: np.poly1d(a).r, np.array([1.0, -6.0, 11.0, -6.1])),
    "poly1d, from roots": (lambda r: np.poly1d(r, True).coeffs * np.poly1d(r)[1], C),
    "poly1d, quotient": (lambda a, x: (np.poly1d(a) ** 2 / np.poly1d([1.0, 2.0]))[0](x), C, X),
    "poly1d, written to": (written, C, X),
    "polyval of polynomials": (lambda a, x: np.polyval(np.poly1d(a), np.poly1d(x))(0.2), D, X),
    "polyfit, covariance": (lambda x, y: np.polyfit(x, y, 1, cov=True), X, Y),
    "polyfit, weights": (lambda x, y, w: np.polyfit(x, y, 1, w=w) * np.polyfit(x, y, 1, full=True)[1], X, Y, X + 2),
}


@pytest.mark.parametrize(("program", "args"), [(f, args) for f, *args in OTHERS.values()], ids=OTHERS)
def test_other_forms_of_polynomials(program, args):
    mo.testing.check_gradients(program, *args, rtol=1e-5)


def test_a_leading_coefficient_of_zero_is_cut_off_and_has_no_derivative():
    """``roots`` looks at it; the path that ran is differentiated."""
    assert mo.grad(lambda a: np.roots(a).real.sum())(np.array([0.0, 1.0, -6.0, 5.0]))[0] == 0
