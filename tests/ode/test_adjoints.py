"""The adjoints of odesolve: the same derivative by each, and clear errors where one does not apply."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import morula as mo
from morula.ode import ADJOINTS, Adjoint, Event, odesolve

NAMES = [name for name in ADJOINTS if name != "auto"]
CONTINUOUS = ["backsolve", "interpolating", "quadrature"]
ON_THE_STEPS = ["discrete", "checkpoint", "forward"]
P = np.array([1.5, 1.0, 3.0, 1.0])
Y0 = np.array([1.0, 1.0])
TS = np.array([0.0, 0.3, 0.3, 0.8])
W = np.random.default_rng(0).normal(size=(4, 2))


def lotka(t, y, p):
    return np.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[3] * y[0] * y[1] - p[2] * y[1] + 0.1 * t])


def forced(t, y, p):
    return -p * (y - np.cos(t))


def loss(adjoint, y0, p, ts, **options):
    given = {"method": "vern7", "rtol": 1e-9, "atol": 1e-9, **options}
    return np.sum(W * odesolve(lotka, y0, ts, p, adjoint=adjoint, **given).y ** 2)


def variational(ts):
    """The gradient of the loss by SciPy: the variational equations of Lotka-Volterra, written by hand."""

    def slope(t, v):
        (a, b), S = v[:2], v[2:].reshape(2, 6)
        J = np.array([[P[0] - P[1] * b, -P[1] * a], [P[3] * b, P[3] * a - P[2]]])
        by_p = np.array([[a, -a * b, 0.0, 0.0], [0.0, 0.0, -b, a * b]])
        return np.concatenate([lotka(t, v[:2], P), (J @ S + np.hstack([np.zeros((2, 2)), by_p])).ravel()])

    start = np.concatenate([Y0, np.eye(2, 6).ravel()])
    found = solve_ivp(slope, (ts[0], ts[-1]), start, "DOP853", np.unique(ts), rtol=1e-13, atol=1e-13).y
    v = found[:, np.searchsorted(np.unique(ts), ts)]
    rows, S = v[:2].T, v[2:].T.reshape(len(ts), 2, 6)
    g = 2 * W * rows
    total = np.einsum("mi,mij->j", g, S)
    dts = [np.dot(g[i], lotka(ts[i], rows[i], P)) for i in range(len(ts))]
    dts[0] = -np.dot(total[:2] - g[0], lotka(ts[0], Y0, P))
    return total[:2], total[2:], np.array(dts)


class TestOneDerivative:
    @pytest.mark.parametrize("name", NAMES)
    def test_agrees_with_variational_equations_solved_by_scipy(self, name):
        """Also with equal times, which move along the solution."""
        found = mo.gradient(lambda y0, p, ts: loss(name, y0, p, ts), Y0, P, TS)
        for got, expected, tolerance in zip(found, variational(TS), (2e-8, 2e-8, 1e-6)):
            assert np.allclose(got, expected, rtol=tolerance, atol=tolerance)

    def test_adjoints_of_the_same_steps_agree_to_rounding(self):
        found = [mo.gradient(lambda y0, p, name=name: loss(name, y0, p, TS), Y0, P) for name in ON_THE_STEPS]
        for other in found[1:]:
            assert all(np.allclose(a, b, rtol=1e-11, atol=1e-11) for a, b in zip(found[0], other))

    @pytest.mark.parametrize("name", ["discrete", "checkpoint", *CONTINUOUS])
    def test_what_f_closes_over(self, name):
        def value(k):
            return odesolve(lambda t, y: -k * y, 2.0, [0.0, 0.5], adjoint=name, rtol=1e-9, atol=1e-9).y[-1]

        assert np.isclose(mo.grad(value)(0.7), -np.exp(-0.35), atol=1e-7)

    @pytest.mark.parametrize("name", NAMES)
    def test_a_complex_state_against_time(self, name):
        def value(z, w):
            return abs(odesolve(rotate, z, [1.0, 0.5], w, adjoint=name, rtol=1e-9, atol=1e-9).y[-1]) ** 2

        dz, dw = mo.gradient(value, 1 + 2j, 0.3 + 1j)
        assert np.isclose(dz, 2 * (1 + 2j) * np.exp(-0.3), atol=1e-6)
        assert np.isclose(dw, -5 * np.exp(-0.3), atol=1e-6)

    @pytest.mark.parametrize("name", NAMES)
    def test_float32_and_one_time(self, name):
        (d,) = mo.gradient(
            lambda y0: odesolve(shrink, y0, [0, 1], 1.0, rtol=1e-4, atol=1e-6, adjoint=name).y[-1].sum(),
            np.ones(2, np.float32),
        )
        assert d.dtype == np.float32 and np.allclose(d, np.exp(-1), atol=1e-4)
        (d,) = mo.gradient(lambda y0: odesolve(shrink, y0, [0.5], 1.0, adjoint=name).y.sum(), np.ones(2))
        assert d.tolist() == [1.0, 1.0]

    @pytest.mark.parametrize("name", NAMES)
    def test_the_hessian(self, name):
        """y = y0 exp(-k t)."""

        def value(x):
            return odesolve(shrink, x[0], [0.0, 0.5, 1.2], x[1], adjoint=name, rtol=1e-8, atol=1e-8).y[-1]

        small = np.exp(-0.7 * 1.2)
        expected = [[0, -1.2 * small], [-1.2 * small, 2 * 1.44 * small]]
        assert np.allclose(mo.hessian(value)(np.array([2.0, 0.7])), expected, atol=3e-6)

    @pytest.mark.parametrize("name", ["quadrature", "interpolating"])
    def test_parameters_that_f_closes_over_beside_those_in_args_at_second_order(self, name):
        """The mixed derivative of exp(-a b t) by a, which f closes over, and b."""

        def value(x):
            a = x[0]
            return odesolve(lambda t, y, b: -a * b * y, 1.0, [0.0, 1.0], x[1], adjoint=name, rtol=1e-8).y[-1]

        a, b = 0.7, 1.3
        small = np.exp(-a * b)
        expected = np.array([[b * b, a * b - 1], [a * b - 1, a * a]]) * small
        assert np.allclose(mo.hessian(value)(np.array([a, b])), expected, atol=1e-5)

    @pytest.mark.parametrize(
        ("method", "name"),
        [("rodas5p", "discrete"), ("rodas5p", "interpolating"), ("rodas5p", "quadrature"), ("radau5", "quadrature")],
    )
    def test_a_stiff_problem_by_the_same_method(self, method, name):
        """y1 is fast and follows y2: its cotangent dies out in a layer that the forward steps do not resolve."""

        def value(p):
            options = {"method": method, "rtol": 1e-6, "atol": 1e-8, "adjoint": name}
            y = odesolve(relax, np.array([1.0, 1.0]), [0.0, 0.3], p, **options).y
            return y[-1, 0]

        p = np.array([1e4, 0.8, 2.0])
        lag = p[0] / (p[0] - p[1])
        slow = np.exp(-0.3 * p[1])
        expected = [
            p[2] * slow * -p[1] / (p[0] - p[1]) ** 2,
            p[2] * slow * (-0.3 * lag + p[0] / (p[0] - p[1]) ** 2),
            lag * slow,
        ]
        assert np.allclose(mo.grad(value)(p), expected, rtol=1e-4, atol=1e-8)

    @pytest.mark.parametrize("jacobian", [(0, 1)])
    def test_the_form_of_the_jacobian_serves_the_adjoint_equation(self, jacobian):
        def value(p, name, form):
            y0 = np.array([1.0, 1.0])
            return odesolve(relax, y0, [0.0, 0.1], p, method="rodas5p", jacobian=form, adjoint=name).y[-1, 0]

        p = np.array([50.0, 0.8, 2.0])
        found = mo.grad(lambda p: value(p, "interpolating", jacobian))(p)
        assert np.allclose(found, mo.grad(lambda p: value(p, "discrete", None))(p), rtol=1e-4, atol=1e-6)

    @pytest.mark.parametrize("name", ["checkpoint", "interpolating", "quadrature", "backsolve", "reversible"])
    def test_steps_end_at_stops_where_f_jumps(self, name):
        def value(k):
            given = {"tstops": [0.5 - 1e-12, 0.5], "rtol": 1e-8, "atol": 1e-10}
            return odesolve(jumping, 1.0, [0.1, 0.5, 0.9], k, adjoint=name, **given).y[-1]

        assert np.isclose(mo.grad(value)(0.7), 0.4 * np.exp(0.28), atol=1e-6)


def jumping(t, y, k):
    return -k * y if t < 0.5 else 2 * k * y


def rotate(t, z, w):
    return w * z


def shrink(t, y, k):
    return -k * y


def relax(t, y, p):
    """y2 = exp(-p1 t), and y1 follows p2 y2 with the rate p0."""
    return np.stack([-p[0] * (y[0] - p[2] * y[1]), -p[1] * y[1]])


class TestErrorControl:
    """At rest the state does not restrict the steps, and the derivative on such steps is wrong."""

    def slope(self, **options):
        def end(y0):
            return odesolve(rest, y0, [0.0, 5.0], 1.0, rtol=1e-6, atol=1e-6, first_step=1.0, **options).y[-1]

        return mo.grad(end)(1.0)

    def test_steps_of_the_state_alone_lose_the_gradient(self):
        assert abs(self.slope() - np.exp(-5.0)) > 1e-3

    @pytest.mark.parametrize("name", ["discrete", "forward"])
    def test_the_sensitivities_keep_it(self, name):
        assert np.isclose(self.slope(adjoint=name, error_control="gradient"), np.exp(-5.0), atol=1e-5)

    @pytest.mark.parametrize("name", CONTINUOUS)
    def test_the_adjoint_equation_has_steps_of_its_own(self, name):
        assert np.isclose(self.slope(adjoint=name), np.exp(-5.0), atol=1e-5)


def rest(t, y, k):
    return -k * (y - 1.0)


class TestSettings:
    def test_the_statistics_name_the_adjoint_and_the_reason(self):
        stats = odesolve(shrink, 1.0, [0.0, 1.0], 1.0).stats
        assert stats.adjoint == "discrete" and "of a state of 1 numbers take about" in stats.adjoint_reason
        stats = odesolve(shrink, 1.0, [0.0, 1.0], 1.0, adjoint="forward").stats
        assert (stats.adjoint, stats.adjoint_reason) == ("forward", "as asked")
        assert odesolve(shrink, 1.0, [0.0, 1.0], 1.0, adjoint=Adjoint(snapshots=3)).stats.adjoint == "checkpoint"

    def test_auto_takes_checkpoints_for_a_large_state(self):
        stats = odesolve(shrink, np.ones(20_000), [0.0, 1e-3], 1.0).stats
        assert stats.adjoint == "checkpoint"

    @pytest.mark.parametrize("options", [{"snapshots": 3}, {"memory": "1MB"}])
    def test_checkpoints_in_a_budget(self, options):
        def value(y0, adjoint):
            return odesolve(shrink, y0, [0.0, 1.0], 1.0, adjoint=adjoint).y[-1]

        found = mo.grad(value)(1.0, Adjoint("checkpoint", **options))
        assert np.isclose(found, mo.grad(value)(1.0, "discrete"), rtol=1e-12)

    def test_tolerances_of_the_adjoint_equation(self):
        def error(rtol):
            options = Adjoint("interpolating", rtol=rtol)
            dp = mo.grad(lambda p: loss(options, Y0, p, TS))(P)
            return np.abs(dp - variational(TS)[1]).max()

        assert error(1e-4) > 10 * error(1e-9)

    def test_the_reversible_solver_has_the_order_of_its_method(self):
        def error(step):
            options = {"method": "bosh3", "first_step": step, "max_step": step, "rtol": 1e9}
            return abs(odesolve(shrink, 1.0, [0.0, 1.0], 1.0, adjoint="reversible", **options).y[-1] - np.exp(-1.0))

        assert 2.5 < np.log2(error(0.1) / error(0.05)) < 4.5

    @pytest.mark.parametrize("name", ["checkpoint", "interpolating"])
    def test_compiled(self, name):
        g = mo.value_and_grad(lambda p: loss(name, Y0, p, TS, method="bosh3", rtol=1e-6, atol=1e-6))
        value, dp = mo.jit(g, target="native")(P)
        expected = g(P)
        assert np.isclose(value, expected[0]) and np.allclose(dp, expected[1], rtol=1e-10)


class TestErrors:
    def solve(self, f=shrink, ts=(0.0, 1.0), **options):
        return odesolve(f, 1.0, ts, 1.0, **options)

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"adjoint": "backsolv"}, "adjoint 'backsolv' is not known; choose one of auto, discrete, checkpoint"),
            ({"adjoint": Adjoint("none")}, "adjoint 'none' is not known"),
            ({"adjoint": Adjoint("discrete", rtol=1e-3)}, "adjoint 'discrete' has no tolerance of its own"),
            ({"adjoint": Adjoint("backsolve", rtol=-1.0)}, "the rtol of the adjoint is -1.0; expected a finite number"),
            ({"adjoint": Adjoint("forward", memory="1MB")}, 'snapshots and memory are for adjoint "checkpoint"'),
            ({"adjoint": Adjoint("checkpoint", memory=1e6, snapshots=2)}, "both snapshots and memory; give one"),
            ({"adjoint": Adjoint("reversible", coupling=0.0)}, "the coupling of the adjoint is 0.0; expected a number above 0"),
            ({"adjoint": "checkpoint", "method": "bdf"}, "and bdf depends on earlier steps; take"),
            ({"adjoint": "reversible", "method": "rodas5p"}, "needs an explicit Runge-Kutta method, and rodas5p is none"),
            ({"adjoint": "checkpoint", "method": "taylor"}, "adjoint 'checkpoint' does not go with taylor; take adjoint=\"discrete\""),
            ({"adjoint": "interpolating", "method": "gbs"}, "adjoint 'interpolating' does not go with gbs; take adjoint=\"discrete\""),
            ({"adjoint": "backsolve", "mass": 2.0}, 'mass goes together with adjoint="discrete"'),
            ({"adjoint": "backsolve", "steps": 3}, 'steps goes together with adjoint="discrete"'),
            ({"error_control": "gradients"}, "error_control 'gradients' is not known"),
            ({"error_control": "gradient", "method": "adams"}, "needs a one-step method, and adams depends on earlier steps"),
            ({"error_control": "gradient", "adjoint": "reversible"}, "whose steps depend on a second state"),
            ({"error_control": "gradient", "events": Event(lambda t, y, k: y - 0.5)}, "does not go together with events"),
        ],
    )  # fmt: skip
    def test_what_does_not_fit_is_refused(self, options, text):
        with pytest.raises(mo.BadInput) as error:
            self.solve(**options)
        assert text in str(error.value)

    @pytest.mark.parametrize("name", ["forward", "reversible"])
    def test_some_see_only_the_arguments(self, name):
        with pytest.raises(mo.BadInput, match="f may depend on more: it \\(or an event\\) is a closure"):
            mo.grad(lambda k: odesolve(lambda t, y: -k * y, 1.0, [0.0, 1.0], adjoint=name).y[-1])(1.0)

    @pytest.mark.parametrize(
        ("adjoint", "t", "rtol", "text"),
        [
            (
                "backsolve",
                4.0,
                1e-6,
                'adjoint="backsolve" is unstable here: at t = 0 the backward solve is .* tolerances from',
            ),
            (
                "reversible",
                4.0,
                1e-4,
                'the steps of adjoint="reversible" are unstable here: its two states are .* apart',
            ),
            (
                Adjoint("reversible", coupling=0.3),
                9.0,
                1e-6,
                "could not be undone: they lead back to a state that is .* from",
            ),
        ],
    )
    def test_an_unstable_backward_solve_is_an_error(self, adjoint, t, rtol, text):
        """Their gradients are wrong by any factor; the problem is of Prothero and Robinson's kind."""
        with pytest.raises(mo.MorulaError, match=text):
            mo.grad(lambda p: odesolve(forced, 1.0, [0.0, t], p, adjoint=adjoint, rtol=rtol, atol=rtol).y[-1])(8.0)

    @pytest.mark.parametrize("name", ["backsolve", "interpolating"])
    def test_an_adjoint_equation_that_is_not_solved_is_an_error(self, name):
        options = Adjoint(name, rtol=1e-13, atol=1e-15)
        with pytest.raises(mo.ode.IntegrationFailed, match="the adjoint equation .* was not solved: max_steps = 30"):
            mo.grad(lambda y0: odesolve(shrink, y0, [0.0, 1.0], 1.0, adjoint=options, max_steps=30).y[-1])(1.0)
