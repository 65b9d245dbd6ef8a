"""scipy.interpolate: construction and evaluation, with respect to data, abscissae and evaluation points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import interpolate as ip

import morula as mo
from morula.testing import check_gradients

X = np.array([0.0, 0.7, 1.5, 2.1, 3.4, 4.2])
Y = np.array([0.3, 1.1, -0.4, 0.8, 1.9, 0.5])
AT = np.array([0.35, 1.2, 1.9, 3.9])
C = np.array([[0.3, 0.2, 0.1], [1.2, -0.3, 0.8], [0.4, 0.7, -1.1]])
KNOTS = np.r_[0.0, 0.1, 0.2, 0.3, 1.3, 2.6, 3.9, 4.0, 4.1, 4.2]
B = np.array([0.3, 0.2, 0.7, -0.5, 1.2, 0.4])
IN = np.array([0.45, 1.2, 1.9, 3.7])
GRID = np.arange(5.0) ** 1.1, np.arange(6.0) ** 1.2
VALUES = np.add.outer(np.sin(np.arange(5)), np.cos(np.arange(6) ** 1.1))
WHERE = np.array([[0.4, 0.7], [2.3, 1.1], [3.1, 4.4]])
SITES = np.array([[0.1, 0.2], [0.9, 0.3], [0.4, 0.8], [0.7, 0.9], [0.2, 0.6], [0.5, 0.1]])
BETWEEN = np.array([[0.4, 0.4], [0.55, 0.6]])
MANY = np.linspace(0, 4, 12)

CALLS = {
    **{
        f"CubicSpline {bc}": (lambda x, y, e, bc=bc: ip.CubicSpline(x, y, bc_type=bc)(e), X, Y, AT)
        for bc in ("not-a-knot", "natural", "clamped", ((1, 0.3), (2, -0.4)))
    },
    "CubicSpline, end slopes": (
        lambda x, y, e, s: ip.CubicSpline(x, y, bc_type=((1, s), (1, s)))(e), X, Y, AT, 0.3,
    ),
    "CubicSpline periodic": (
        lambda x, y, e: ip.CubicSpline(x, np.append(y, y[:1]), bc_type="periodic")(e), X, Y[:-1], AT,
    ),
    "CubicSpline of columns": (lambda x, y, e: ip.CubicSpline(x, y, axis=1)(e), X, np.stack([Y, Y**2]), AT),
    "CubicSpline beyond": (lambda x, y, e: ip.CubicSpline(x, y)(e), X, Y, AT + 3),
    "CubicSpline, two points": (lambda x, y, e: ip.CubicSpline(x, y)(e), X[:2], Y[:2], AT),
    "CubicSpline, three points": (lambda x, y, e: float(ip.CubicSpline(x, y)(e)), X[:3], Y[:3], 1.2),
    "its derivative": (lambda x, y, e: ip.CubicSpline(x, y)(e, 1) + ip.CubicSpline(x, y).derivative(2)(e), X, Y, AT),
    "its antiderivative": (lambda x, y, e: ip.CubicSpline(x, y).antiderivative()(e), X, Y, AT),
    "its integral": (lambda x, y, a, b: ip.CubicSpline(x, y).integrate(a, b), X, Y, 0.4, 3.1),
    "its roots": (lambda x, y, v: ip.CubicSpline(x, y).solve(v, extrapolate=False), X, Y, 0.2),
    "CubicHermiteSpline": (lambda x, y, d, e: ip.CubicHermiteSpline(x, y, d)(e), X, Y, Y[::-1].copy(), AT),
    "PchipInterpolator": (lambda x, y, e: ip.PchipInterpolator(x, y)(e), X, Y, AT),
    "Akima1DInterpolator": (lambda x, y, e: ip.Akima1DInterpolator(x, y)(e), X, Y, AT),
    "modified Akima": (lambda x, y, e: ip.Akima1DInterpolator(x, y, method="makima")(e), X, Y, AT),
    "PPoly": (lambda c, x, e: ip.PPoly(c, x)(e), C, X[:4], AT),
    "PPoly, backward breakpoints": (lambda c, x, e: ip.PPoly(c, x)(e), C, X[3::-1].copy(), AT),
    "PPoly integral": (lambda c, x, a, b: ip.PPoly(c, x).integrate(a, b), C, X[:4], 1.9, 0.2),
    "BPoly": (lambda c, x, e: ip.BPoly(c, x)(e) + ip.BPoly(c, x).derivative()(e), C, X[:4], AT),
    "BPoly antiderivative": (lambda c, x, e: ip.BPoly(c, x).antiderivative()(e), C, X[:4], AT),
    "BPoly from derivatives": (lambda x, y, e: ip.BPoly.from_derivatives(x, y)(e), X, np.stack([Y, Y**2], 1), AT),
    "PPoly from BPoly": (lambda c, x, e: ip.PPoly.from_bernstein_basis(ip.BPoly(c, x))(e), C, X[:4], AT),
    "NdPPoly": (
        lambda c, x, e: ip.NdPPoly(c, (x, x))(e) + ip.NdPPoly(c, (x, x))(e, (1, 0)),
        np.sqrt(np.arange(36.0).reshape(3, 3, 2, 2)), np.array([0.0, 1.0, 2.0]), WHERE[:, ::-1] / 3,
    ),
    **{
        f"interp1d {kind}": (lambda x, y, e, kind=kind: ip.interp1d(x, y, kind=kind)(e), X, Y, AT)
        for kind in ("linear", "slinear", "quadratic", "cubic", "zero", "previous", "next")
    },
    "interp1d nearest": (lambda y: ip.interp1d(X, y, kind="nearest")(AT), Y),
    "interp1d beyond": (lambda x, y, e: ip.interp1d(x, y, fill_value="extrapolate")(e), X, Y, AT + 1),
    "interp1d filled": (
        lambda x, y, v: ip.interp1d(x, y, bounds_error=False, fill_value=v)(np.append(AT, 9.0)), X, Y, 0.4,
    ),
    **{
        f"make_interp_spline {k}": (lambda x, y, e, k=k: ip.make_interp_spline(x, y, k=k)(e), X, Y, AT)
        for k in (1, 2, 3, 5)
    },
    "make_interp_spline natural": (lambda x, y, e: ip.make_interp_spline(x, y, bc_type="natural")(e), X, Y, AT),
    "BSpline": (lambda t, c, e: ip.BSpline(t, c, 3)(e), KNOTS, B, IN),
    "BSpline, two derivatives": (lambda t, c, e: ip.BSpline(t, c, 3)(e, 2), KNOTS, B, IN),
    "BSpline derivative": (lambda t, c, e: ip.BSpline(t, c, 3).derivative()(e), KNOTS, B, IN),
    "BSpline antiderivative": (lambda t, c, e: ip.BSpline(t, c, 3).antiderivative()(e), KNOTS, B, IN),
    "BSpline integral": (lambda t, c, a: ip.BSpline(t, c, 3).integrate(a, 2.9), KNOTS, B, 0.4),
    "make_lsq_spline": (
        lambda x, y, e: ip.make_lsq_spline(x, y, np.r_[(-0.5,) * 4, 1.3, 2.6, (4.5,) * 4], method="norm-eq")(e),
        MANY, np.sin(MANY), AT,
    ),
    "make_lsq_spline by factors": (
        lambda y, w: ip.make_lsq_spline(MANY, y, np.r_[(-0.5,) * 4, 1.3, 2.6, (4.5,) * 4], w=w)(AT),
        np.sin(MANY), np.linspace(1, 2, 12),
    ),
    "make_smoothing_spline": (lambda y, e, p: ip.make_smoothing_spline(X, y, lam=p)(e), Y, AT, 0.3),
    **{
        f"InterpolatedUnivariateSpline {k}": (
            lambda x, y, e, k=k: ip.InterpolatedUnivariateSpline(x, y, k=k)(e), X, Y, AT,
        )
        for k in (2, 3)
    },
    "RectBivariateSpline": (lambda x, y: ip.RectBivariateSpline(*GRID, VALUES)(x, y), X[1:3], X[1:4]),
    "RectBivariateSpline derivative": (
        lambda x, y: ip.RectBivariateSpline(*GRID, VALUES).ev(x, y, dx=1), X[1:3], X[2:4],
    ),
    "splev": (lambda e: ip.splev(e, ip.splrep(X, Y)) + ip.splev(e, ip.splrep(X, Y), der=1), AT),
    "splint": (lambda a, b: ip.splint(a, b, ip.splrep(X, Y)), 0.3, 2.9),
    "UnivariateSpline": (lambda e: ip.UnivariateSpline(X, Y, s=0.1)(e), AT),
    "UnivariateSpline derivative": (lambda e: ip.InterpolatedUnivariateSpline(X, Y).derivative()(e), AT),
    **{
        f"RegularGridInterpolator {method}": (
            lambda a, b, v, e, m=method: ip.RegularGridInterpolator((a, b), v, method=m)(e), *GRID, VALUES, WHERE,
        )
        for method in ("linear", "slinear", "pchip")
    },
    "NdBSpline": (
        lambda c, e: ip.NdBSpline((KNOTS, KNOTS), c, 3)(e), np.sqrt(np.arange(36.0).reshape(6, 6)), WHERE[:2] + 0.3,
    ),
    "BarycentricInterpolator": (lambda x, y, e: ip.BarycentricInterpolator(x, y)(e), X, Y, AT),
    "KroghInterpolator": (lambda x, y, e: ip.KroghInterpolator(x, y)(e), X, Y, AT),
    **{
        f"RBFInterpolator {kernel}": (
            lambda x, y, e, k=kernel: ip.RBFInterpolator(x, y, kernel=k, epsilon=1.3)(e), SITES, Y, BETWEEN,
        )
        for kernel in ("gaussian", "multiquadric", "linear", "cubic")
    },
    "RBFInterpolator, its parameters": (
        lambda s, w: ip.RBFInterpolator(SITES, Y, kernel="gaussian", epsilon=s, smoothing=w)(BETWEEN), 1.3, 0.1,
    ),
    "griddata linear": (lambda x, y, e: ip.griddata(x, y, e), SITES, Y, BETWEEN),
    "LinearNDInterpolator": (
        lambda x, y, a, b, f: ip.LinearNDInterpolator(x, y, fill_value=f)(a, b),
        SITES, np.stack([Y, Y**2], 1), np.array([0.4, 0.55, 5.0]), np.array([0.4, 0.6, 5.0]), 0.3,
    ),
    "griddata nearest": (lambda y: ip.griddata(SITES, y, BETWEEN, method="nearest"), Y),
    "lagrange": (lambda x, y, e: ip.lagrange(x, y)(e), X[:4], Y[:4], AT),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    f, *args = CALLS[name]
    check_gradients(f, *args, order=1)


def test_second_derivatives_of_a_cubic_spline():
    check_gradients(lambda x, y, e: ip.CubicSpline(x, y)(e), X, Y, AT)


def test_outside_of_its_interval_a_polynomial_that_is_not_continued_is_nan():
    at = np.array([-1.0, 0.5])
    y, back = mo.pullback(lambda c, e: ip.PPoly(c, X[:4], extrapolate=False)(e), C, at)
    assert np.isnan(y[0]) and not np.isnan(y[1])
    assert back(np.array([0.0, 1.0]))[0] == pytest.approx(np.array([[0.25, 0, 0], [0.5, 0, 0], [1, 0, 0]]))


@pytest.mark.parametrize(
    "f, text",
    [
        (lambda y: ip.UnivariateSpline(X, y, s=0.1)(AT).sum(), "FITPACK chooses the knots"),
        (
            lambda y: ip.splev(AT, ip.splrep(X, y, s=0.1)).sum(),
            "curfit, .* has no derivative rule|FITPACK chooses the knots",
        ),
        (lambda y: ip.CloughTocher2DInterpolator(SITES, y)(BETWEEN).sum(), "has no derivative rule"),
        (
            lambda y: ip.RectBivariateSpline(*GRID, VALUES * y[0])(0.3, 0.4).sum(),
            "regrid(_smth)?, .* has no derivative rule",
        ),
    ],
    ids=["UnivariateSpline", "splrep", "CloughTocher2DInterpolator", "RectBivariateSpline"],
)
def test_what_is_fitted_in_compiled_code_is_refused(f, text):
    with pytest.raises(mo.NoDerivative, match=text):
        mo.gradient(f, Y)


def test_an_array_that_compiled_code_is_given_twice():
    """The program that differentiates the code sees one variable, whose total counts once."""
    mo.testing.check_gradients(
        lambda x: ip.NdPPoly(np.ones((2, 2, 3, 3)), (x, x))(np.full((2, 2), 0.4)), np.arange(4.0)
    )


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_a_spline_through_as_few_points_as_it_has_coefficients(k):
    x, y = np.linspace(0.0, 3.0, k + 1) ** 1.2, np.cos(np.arange(k + 1.0))
    check_gradients(lambda x, y: float(ip.UnivariateSpline(x, y, k=k, s=0)(1.4)), x, y)
