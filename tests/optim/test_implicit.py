"""Minima and fits inside a differentiated function: their derivatives of any order, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.optim import least_squares, minimize

T = np.linspace(0, 3, 8)
Y = 2 * np.exp(-T) + 0.1 * np.sin(9 * T)


def well(x, a):
    return np.sum((x - a) ** 2 + 0.1 * x**4)


def well_slope(x, a):
    return 2 * (x - a) + 0.4 * x**3


def moved(x):
    """dx/da of the minimum of ``well``, from its stationarity by hand."""
    return 2 / (2 + 1.2 * x**2)


class TestMinimum:
    def test_moves_with_an_argument(self):
        x = minimize(well, 0.0, 3.0).x
        assert np.isclose(mo.grad(lambda a: minimize(well, 0.0, a).x)(3.0), moved(x))

    @pytest.mark.parametrize("method", ["bfgs", "lbfgs"])
    def test_moves_with_a_closed_over_variable(self, method):
        def loss(a):
            return np.dot(np.arange(1.0, 4), minimize(lambda x: well(x, a), np.zeros(3), method=method).x)

        a = np.array([1.0, -2.0, 3.0])
        x = minimize(well, np.zeros(3), a).x
        assert np.allclose(mo.grad(loss)(a), np.arange(1.0, 4) * moved(x))

    def test_moves_with_an_attribute(self):
        class Well:
            def __init__(self, a):
                self.a = a

            def __call__(self, x):
                return well(x, self.a)

        x = minimize(well, 0.0, 3.0).x
        assert np.isclose(mo.grad(lambda a: minimize(Well(a), 0.0).x)(3.0), moved(x))

    def test_moves_where_the_gradient_is_given(self):
        x = minimize(well, 0.0, 3.0).x
        assert np.isclose(mo.grad(lambda a: minimize(well, 0.0, a, gradient=well_slope).x)(3.0), moved(x))

    def test_its_value_changes_by_the_partial_derivative_alone(self):
        # The envelope theorem.
        x = minimize(well, 0.0, 3.0).x
        assert np.isclose(mo.grad(lambda a: minimize(well, 0.0, a).value)(3.0), -2 * (x - 3.0))

    def test_has_the_same_value_as_outside(self):
        plain = minimize(well, np.zeros(2), np.array([1.0, 2.0]))
        inside, _ = mo.pullback(lambda a: minimize(well, np.zeros(2), a).x, np.array([1.0, 2.0]))
        assert np.array_equal(plain.x, inside)

    def test_to_second_order(self):
        mo.testing.check_gradients(lambda a: minimize(well, np.zeros(2), a).x[0] ** 2, np.array([1.0, 2.0]), order=2)

    def test_of_a_structure(self):
        def loss(a):
            def f(p):
                return (p["u"] - a) ** 2 + np.sum((p["v"] - p["u"]) ** 2) + 0.1 * p["u"] ** 4

            x = minimize(f, {"u": 0.0, "v": np.zeros(2)}).x
            return x["u"] * x["v"][1]

        mo.testing.check_gradients(loss, 2.0, order=1)

    def test_of_an_object(self):
        class Point:
            def __init__(self, u):
                self.u = u

        u = minimize(well, 0.0, 3.0).x
        found = mo.grad(lambda a: minimize(lambda p: well(p.u, a), Point(0.0)).x.u)(3.0)
        assert np.isclose(found, moved(u))

    def test_in_the_complex_plane(self):
        def loss(a):
            return np.real(minimize(lambda z: abs(z - a * (1 + 2j)) ** 2 + abs(z) ** 4, 0.1j).x)

        mo.testing.check_gradients(loss, 2.0, order=1)

    @pytest.mark.parametrize("adjoint, error", [("implicit", 1e-10), ("krylov", 1e-10), ("unrolled", 1e-5)])
    def test_by_each_adjoint(self, adjoint, error):
        a = np.array([1.0, -2.0, 3.0])
        x = minimize(well, np.zeros(3), a, tol=1e-12).x
        for method in ("bfgs", "trust region"):
            found = mo.grad(
                lambda a: np.sum(minimize(well, np.zeros(3), a, tol=1e-12, method=method, adjoint=adjoint).x)
            )(a)
            assert np.allclose(found, moved(x), rtol=0, atol=error)

    def test_in_forward_mode(self):
        x = minimize(well, 0.0, 3.0).x
        assert np.isclose(mo.jvp(lambda a: minimize(well, 0.0, a).x, (3.0,), (1.0,))[1], moved(x))

    def test_an_unknown_adjoint_is_refused(self):
        with pytest.raises(mo.BadInput, match="adjoint is 'magic', expected one of 'implicit', 'krylov', 'unrolled'"):
            minimize(well, 0.0, 3.0, adjoint="magic")

    def test_does_not_depend_on_where_the_search_starts(self):
        assert mo.grad(lambda x0: minimize(well, x0, 3.0).x)(1.0) == 0.0

    def test_trains_what_is_inside(self):
        # A minimum inside a minimised function: find a so that the well's bottom lies at 1.
        outer = minimize(lambda a: (minimize(well, 0.0, a).x - 1.0) ** 2, 3.0, tol=1e-7)
        assert outer.converged and np.isclose(outer.x, 1.2, atol=1e-5)


class TestFit:
    def test_moves_with_the_data(self):
        def loss(y):
            fit = least_squares(lambda b: b[0] * np.exp(-b[1] * T) - y, np.ones(2))
            return fit.x[0] * fit.x[1] + np.sum(fit.residual**3)

        mo.testing.check_gradients(loss, Y, order=1)

    def test_its_residual_sum_changes_by_the_partial_derivative_alone(self):
        def misfit(b, y):
            return b[0] * np.exp(-b[1] * T) - y

        fit = least_squares(misfit, np.ones(2), Y)
        assert np.allclose(mo.grad(lambda y: least_squares(misfit, np.ones(2), y).rss)(Y), -2 * fit.residual)

    def test_a_straight_line_moves_as_its_pseudoinverse_says(self):
        design = np.stack([T, np.ones_like(T)], axis=1)
        slopes = mo.jacobian(lambda y: least_squares(lambda b: design @ b - y, np.zeros(2)).x)(Y)
        assert np.allclose(slopes, np.linalg.pinv(design))

    @pytest.mark.parametrize("target", ["native", "xla"])
    def test_compiled_it_moves_with_the_data(self, target):
        def loss(y):
            return np.sum(least_squares(lambda b: b[0] * np.exp(-b[1] * T) - y, np.ones(2)).x)

        np.testing.assert_allclose(mo.jit(mo.grad(loss), target=target)(Y), mo.grad(loss)(Y), rtol=1e-7)


class TestRefused:
    @pytest.mark.parametrize(
        "loss, message",
        [
            (
                lambda y: np.sum(least_squares(lambda b: b[0] * T + b[1] - y, np.ones(2)).standard_deviations),
                "the standard deviations of a fit cannot be differentiated",
            ),
            (
                lambda y: minimize(well, np.zeros(8), y).gradient[0],
                "the gradient at a minimum cannot be differentiated",
            ),
            (
                lambda y: np.trace(least_squares(lambda b: b[0] * T + b[1] - y, np.ones(2)).covariance),
                "the covariance of a fit cannot be differentiated",
            ),
            (
                lambda y: np.sum(least_squares(lambda b: (b[0] + b[1]) * T - y, np.ones(2)).x),
                "the Hessian is singular at the minimum",
            ),
            (
                lambda y: minimize(well, np.zeros(8), y, max_iterations=1).x[0],
                "the search found no minimum, so there is no derivative: max_iterations was reached",
            ),
        ],
    )
    def test_what_has_no_derivative_or_no_known_one(self, loss, message):
        with pytest.raises(mo.MorulaError, match=message):
            mo.grad(loss)(Y)
