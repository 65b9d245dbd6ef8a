"""Implicit methods reach published end values of stiff problems, with any form of the Jacobian."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import morula as mo
from morula.ode import METHODS, EsdirkTableau, jacobian_pattern, odesolve
from morula.ode.steppers.radau import _choice

from .problems import STIFF, diffusing_brusselator, driven, driven_exact, published, van_der_pol
from .rooted_trees import defects

ACCURATE = {
    "kvaerno5": 1e-6,
    "kencarp4": 1e-5,
    "trbdf2": 1e-4,
    "implicit_euler": 1e-3,
    "rosenbrock23": 1e-4,
    "ros3p": 1e-5,
    "ros34pw2": 1e-5,
    "rodas4": 1e-6,
    "rodas5p": 1e-6,
    "radau": 1e-6,
    "radau5": 1e-6,
    "radau9": 1e-8,
    "radau13": 1e-9,
}


ESDIRK = {name: method for name, method in METHODS.items() if isinstance(method, EsdirkTableau)}


@pytest.mark.parametrize("method", ESDIRK.values(), ids=ESDIRK)
def test_esdirk_tableaus_meet_the_order_conditions(method):
    a = method.a + method.gamma * np.diag(np.append(0.0, np.ones(len(method.c) - 1)))
    for order in range(1, method.order + 1):
        assert abs(defects(a, a[-1], order)).max() < 1e-11
    assert abs(defects(a, a[-1], method.order + 1)).max() > 1e-3
    assert np.allclose(a.sum(axis=1), method.c, atol=2e-15) and abs(method.error.sum()) < 2e-15


@pytest.mark.parametrize("method", ESDIRK.values(), ids=ESDIRK)
def test_esdirk_steps_have_their_order_of_convergence(method):
    errors = [
        abs(
            odesolve(driven, driven_exact(0.0), [0, 2], method=method, steps=n, rtol=1e-11, atol=1e-11).y[-1]
            - driven_exact(2.0)
        ).max()
        for n in (40, 80)
    ]
    assert method.order - 0.3 < np.log2(errors[0] / errors[1]) < method.order + 0.5


@pytest.mark.parametrize("name, steps", [("radau5", 20), ("radau9", 8), ("radau13", 6)])
def test_radau_steps_have_their_order_of_convergence(name, steps):
    errors = [
        abs(
            odesolve(driven, driven_exact(0.0), [0, 2], method=name, steps=n, rtol=1e-13, atol=1e-14).y[-1]
            - driven_exact(2.0)
        ).max()
        for n in (steps, 2 * steps)
    ]
    order = METHODS[name].order
    assert order - 0.6 < np.log2(errors[0] / errors[1]) < order + 2


@pytest.mark.parametrize("name", ["radau5", "radau9", "radau13"])
def test_radau_methods_are_collocation(name):
    """The quadrature of order 2 s - 1, the collocation polynomial, and the eigenvectors of the matrix."""
    method = METHODS[name]
    a, s = np.linalg.inv(method.inverse), len(method.c)
    for k in range(1, 2 * s):
        assert np.isclose(a[-1] @ method.c ** (k - 1), 1 / k, atol=1e-13)
        if k <= s:
            assert np.allclose(a @ method.c ** (k - 1), method.c**k / k, atol=1e-13)
    values = np.append(method.shift, method.shifts)
    assert np.allclose((method.from_modes * values @ method.to_modes).real, method.inverse, atol=1e-10)
    assert np.allclose((method.c[:, None] ** np.arange(1, s + 1)) @ method.interpolant, np.eye(s), atol=1e-9)


def test_radau_takes_fewer_steps_than_its_lowest_order_at_tight_tolerances_and_as_many_at_loose_ones():
    f, y0, span, args, _ = published("hires")
    loose, tight = (
        [odesolve(f, y0, span, *args, method=m, rtol=tol, atol=1e-3 * tol).stats for m in ("radau", "radau5")]
        for tol in (1e-4, 1e-9)
    )
    assert loose[0].accepted <= loose[1].accepted
    assert tight[0].accepted < 0.6 * tight[1].accepted and tight[0].evaluations < tight[1].evaluations


def test_the_order_of_radau_rises_with_fast_convergence_and_falls_where_newtons_method_fails():
    steady = (0, 20, 0.001, 0.001, False)
    assert _choice(1.0, steady, 2) == (1, 1, 0.001, True)
    assert _choice(2.0, steady, 2)[0] == 0  # the step has just changed
    assert _choice(1.0, (0, 3, 0.001, 0.001, False), 2)[0] == 0  # the order has just changed
    assert _choice(1.0, (2, 20, 0.001, 0.001, False), 2)[0] == 2
    assert _choice(1.0, (2, 3, 0.001, 0.9, False), 2)[0] == 1
    assert _choice(1.0, (1, 3, 0.001, 0.0, True), 2)[0] == 0


@pytest.mark.parametrize("method", ["radau", "radau5", "kvaerno5"])
def test_matrices_serve_several_steps_where_newtons_method_converges_fast(method):
    f, y0, span, args, _ = published("hires")
    stats = odesolve(f, y0, span, *args, method=method, rtol=1e-6, atol=1e-9).stats
    tried = stats.accepted + stats.rejected
    assert stats.jacobians < 0.9 * tried and stats.implicit_steps == tried
    assert stats.factorisations < (2 if method == "radau5" else 4) * tried


def test_a_jacobian_that_no_longer_serves_is_made_anew_within_the_step():
    """f jumps from a fast decay to a slow one: Newton's method fails with the old matrix, and no step is rejected for that."""

    def f(t, y):
        return -(1e4 if t <= 1.0 else 1.0) * (y - np.cos(t)) * (1 + y * y)

    stats = odesolve(f, np.ones(1), [0.0, 2.0], method="radau5", tstops=[1.0, np.nextafter(1.0, 2.0)], rtol=1e-5).stats
    assert stats.rejected < 5


def test_ros34pw2_meets_the_order_conditions_for_any_matrix():
    """Hairer, Wanner II, IV.7.(7.21'), and the conditions of a method whose matrix is not the Jacobian (IV.7.11)."""
    method = METHODS["ros34pw2"]
    gammas = np.linalg.inv(np.eye(4) / method.gamma - method.C)
    a, b = method.a @ gammas, method.m @ gammas
    alpha, gamma = a.sum(axis=1), gammas.sum(axis=1)
    sums = [
        b.sum(),
        b @ alpha,
        b @ gamma,
        b @ alpha**2,
        b @ a @ alpha,
        b @ a @ gamma,
        b @ gammas @ alpha,
        b @ gammas @ gamma,
    ]
    assert np.allclose(sums, [1, 1 / 2, 0, 1 / 3, 1 / 6, 0, 0, 0], atol=1e-14)


@pytest.mark.parametrize("matrix", [np.zeros((2, 2)), np.array([[-1.0, 0.5], [0.0, -2.0]])])
def test_a_rosenbrock_w_method_has_its_order_with_an_approximate_jacobian(matrix):
    errors = [
        abs(
            odesolve(driven, driven_exact(0.0), [0, 2], method="ros34pw2", steps=n, jacobian=lambda t, y: matrix).y[-1]
            - driven_exact(2.0)
        ).max()
        for n in (160, 320)
    ]
    assert np.log2(errors[0] / errors[1]) > 2.7


def test_the_error_weights_of_radau5_are_the_published_ones():
    weights = np.array([-13 - 7 * np.sqrt(6), -13 + 7 * np.sqrt(6), -1]) / 3  # Hairer, Wanner II, IV.8
    assert np.allclose(METHODS["radau5"].error, weights)


def test_a_stage_that_newtons_method_does_not_find_shortens_the_step():
    solution = odesolve(van_der_pol, np.array([2.0, 0.0]), [0, 900.0], 1000.0, method="kvaerno3", first_step=100.0)
    assert solution.success and solution.stats.rejected > 2


@pytest.mark.parametrize("problem, name", [
    ("vdpol", "rodas5p"), ("rober", "rodas5p"), ("orego", "rodas5p"), ("hires", "rodas5p"), ("hires", "rodas4"),
    ("rober", "rodas4"), ("hires", "ros3p"), ("hires", "rosenbrock23"), ("hires", "ros34pw2"),
    ("rober", "kvaerno5"), ("hires", "kvaerno5"), ("orego", "kencarp4"), ("hires", "trbdf2"), ("hires", "implicit_euler"),
    ("pollution", "rodas5p"), ("chemakzo_ode", "radau5"), ("rober", "radau5"), ("orego", "radau9"), ("hires", "radau13"), ("rober", "radau"), ("hires", "radau"),
])  # fmt: skip
def test_published_end_values(problem, name):
    f, y0, span, args, expected = published(problem)
    tol = ACCURATE[name]
    atol = tol * np.array([1e-6, 1e-10, 1e-6]) if problem == "rober" else 1e-3 * tol
    if problem == "pollution":
        atol = 1e-6 * tol
    y = odesolve(f, y0, span, *args, method=name, rtol=tol, atol=atol).y[-1]
    assert np.allclose(y, expected, rtol=300 * tol, atol=0)


def test_a_reaction_whose_slow_phase_lasts_for_thirteen_decades():
    f, y0, _, args, _ = published("e5")
    times, expected = STIFF["e5"]["t_more"], np.array(STIFF["e5"]["y_more"])
    y = odesolve(f, y0, [0.0, *times], *args, method="rodas5p", rtol=1e-5, atol=1e-28).y[1:]
    assert np.allclose(y, expected, rtol=1e-2, atol=1e-25)


def test_a_ring_modulator_compiled():
    """Oscillations of several frequencies, with diodes that make the problem stiff."""
    f, y0, span, args, expected = published("ringmod")
    solve = mo.jit(
        lambda y0: odesolve(f, y0, span, *args, method="rodas5p", rtol=1e-5, atol=1e-8).y[-1], target="native"
    )
    assert np.allclose(solve(y0), expected, rtol=2e-3)


def test_every_published_stiff_problem_is_tried():
    assert set(STIFF) == {
        "vdpol", "vdpol_eps", "rober", "orego", "hires", "bruss1d", "e5", "pollution", "ringmod", "chemakzo_ode"
    }  # fmt: skip


def test_a_very_stiff_problem_compiled():
    f, y0, span, args, expected = published("vdpol_eps")
    solve = mo.jit(
        lambda y0, eps: odesolve(f, y0, span, eps, method="rodas5p", rtol=1e-8, atol=1e-8).y[-1], target="native"
    )
    assert np.allclose(solve(y0, *args), expected, rtol=1e-6)


def test_steps_grow_with_the_slow_solution():
    """Robertson's reaction to t = 1e11 takes fewer steps than an explicit method would for its first second."""
    f, y0, span, args, _ = published("rober")
    stats = odesolve(f, y0, span, *args, method="rodas5p", rtol=1e-6, atol=1e-10).stats
    assert stats.accepted < 300 and stats.jacobians == stats.factorisations == stats.accepted + stats.rejected


class TestForms:
    """A diffusing reaction: the same solution with each form of the Jacobian."""

    _, y0, span, args, expected = published("bruss1d")

    def test_banded(self):
        y = odesolve(
            diffusing_brusselator,
            self.y0,
            self.span,
            *self.args,
            method="rodas5p",
            jacobian=(2, 2),
            rtol=1e-5,
            atol=1e-5,
        ).y
        assert np.allclose(y[-1], self.expected, atol=1e-4)

    def test_all_forms_agree(self):
        y0 = self.y0[:20]
        args = (1.0, 3.0, 0.02)

        def given(t, y, *args):
            return mo.jacobian(lambda y: diffusing_brusselator(t, y, *args))(y)

        pattern = mo.sparse_jacobian(lambda y: diffusing_brusselator(0.0, y, *args)).pattern(y0)
        ys = [
            odesolve(diffusing_brusselator, y0, [0.0, 1.0], *args, method="rodas4", jacobian=form, rtol=1e-4).y[-1]
            for form in (None, given, (2, 2), (3, 4), pattern, "krylov")
        ]
        for y in ys[1:-1]:
            assert np.allclose(y, ys[0], rtol=1e-11)
        assert np.allclose(ys[-1], ys[0], rtol=1e-7)

    def test_a_pattern_takes_as_many_runs_as_it_has_colours(self):
        assert jacobian_pattern(scipy.sparse.eye_array(50) + scipy.sparse.eye_array(50, k=7)).groups == 2

    @pytest.mark.parametrize("jacobian, message", [
        ((2,), r"jacobian is \(2,\); expected None, a function jacobian"),
        ((2, 20), r"jacobian is \(2, 20\).* each from 0 to 1"),
        (scipy.sparse.eye_array(2, 3), "the pattern of a sparse Jacobian has shape .2, 3.; expected a square matrix"),
        (scipy.sparse.eye_array(3), "the pattern of the Jacobian has 3 rows; the state has 2 components"),
        (lambda t, y, mu: np.eye(3), r"jacobian returned shape \(3, 3\); the state has 2 components: expected \(2, 2\)"),
    ])  # fmt: skip
    def test_wrong_forms(self, jacobian, message):
        with pytest.raises(mo.BadInput, match=message):
            odesolve(van_der_pol, np.array([2.0, 0.0]), [0, 1], 5.0, method="rodas4", jacobian=jacobian)

    def test_a_function_needs_a_vector(self):
        with pytest.raises(mo.BadInput, match="jacobian is a function, which needs a state that is a vector"):
            odesolve(lambda t, y: -y, 1.0, [0, 1], method="rodas4", jacobian=lambda t, y: -1.0)


class TestGradients:
    def loss(self, y0, mu, method, tol=1e-5):
        return odesolve(van_der_pol, y0, [0.0, 0.5, 1.0], mu, method=method, rtol=tol, atol=tol).y[1:].sum()

    @pytest.mark.parametrize(
        "name", ["rosenbrock23", "ros3p", "ros34pw2", "rodas4", "rodas5p", "trbdf2", "kvaerno5", "radau5", "radau"]
    )
    def test_against_forward_sensitivities(self, name):
        """s' = J s + df/dmu, solved with the problem by a method of high order."""
        y0, mu = np.array([1.2, 0.3]), 5.0

        def sensitivities(t, z):
            y, s = z[:2], z[2:].reshape(2, 3)
            j = np.array([[0.0, 1.0], [-2 * mu * y[0] * y[1] - 1, mu * (1 - y[0] ** 2)]])
            ds = j @ s
            ds[1, 2] += (1 - y[0] ** 2) * y[1]
            return np.concatenate([van_der_pol(t, y, mu), ds.reshape(-1)])

        start = np.concatenate([y0, np.eye(2, 3).reshape(-1)])
        z = odesolve(sensitivities, start, [0.0, 0.5, 1.0], method="dop853", rtol=1e-12, atol=1e-12).y
        expected = z[1:, 2:].reshape(2, 2, 3).sum(axis=(0, 1))
        tol = 1e-5 if METHODS[name].order < 4 else 1e-8
        dy0, dmu = mo.gradient(lambda y0, mu: self.loss(y0, mu, name, tol), y0, mu)
        assert np.allclose([*dy0, dmu], expected, rtol=300 * tol)

    @pytest.mark.parametrize(
        "target, name",
        [("native", "rodas5p"), ("xla", "rodas5p"), ("native", "kvaerno3"), ("native", "radau5"), ("native", "radau")],
    )
    def test_compiled(self, target, name):
        y0, mu = np.array([1.2, 0.3]), 5.0
        f = mo.value_and_grad(self.loss, (0, 1))
        value, (dy0, dmu) = mo.jit(f, target=target, static_argnums=2)(y0, mu, name)
        expected, (ey0, emu) = f(y0, mu, name)
        assert np.isclose(value, expected, rtol=1e-9) and np.allclose([*dy0, dmu], [*ey0, emu], rtol=1e-6)

    @pytest.mark.parametrize("name", ["rodas5p", "kvaerno4", "radau5"])
    def test_second_derivatives(self, name):
        hessian = mo.hessian(lambda x: odesolve(lambda t, y: -x * y**2, 1.0, [0.0, 1.5], method=name, rtol=1e-6).y[-1])
        assert np.isclose(hessian(0.8), 2 * 1.5**2 / (1 + 1.2) ** 3, rtol=1e-3)

    def test_times_and_jumps(self):
        """The last time moves the last step; inner times move along the dense output."""

        def value(ts):
            return odesolve(driven, driven_exact(0.3), ts, method="rodas5p", rtol=1e-9, atol=1e-9).y[1:, 0].sum()

        ts = np.array([0.3, 0.6, 1.1])
        d = mo.gradient(value, ts)[0]
        slope = 2 * ts * np.cos(ts**2) * np.exp(np.sin(ts**2))
        assert np.allclose(d[1:], slope[1:], rtol=1e-5)

    @pytest.mark.parametrize("name, form", [
        ("rodas4", "banded"), ("kvaerno3", "banded"), ("radau5", "banded"), ("radau5", "sparse"), ("bdf", "sparse"),
        ("bdf", "krylov"),
    ])  # fmt: skip
    def test_forms_of_the_jacobian(self, name, form):
        pattern = scipy.sparse.diags_array([np.ones(12 - abs(k)) for k in range(-2, 3)], offsets=range(-2, 3))
        given = {"banded": (2, 2), "sparse": jacobian_pattern(pattern), "krylov": "krylov"}[form]

        def loss(alpha, form):
            f = lambda t, y, alpha: diffusing_brusselator(t, y, 1.0, 3.0, alpha)  # noqa: E731
            y0 = 1.0 + np.sin(np.arange(12.0))
            return np.sum(odesolve(f, y0, [0.0, 0.2], alpha, method=name, jacobian=form, rtol=1e-4).y[-1] ** 2)

        assert np.isclose(mo.grad(loss)(0.02, given), mo.grad(loss)(0.02, None), rtol=1e-6)


def test_complex_states_are_refused():
    with pytest.raises(mo.BadInput, match="rodas5p solves real states; give the real and imaginary parts of y0 apart"):
        odesolve(lambda t, z: (-3 + 2j) * z, 1 + 1j, [0.0, 1.0], method="rodas5p")


@pytest.mark.parametrize("method", ["bdf", "kvaerno3", "radau5"])
def test_newtons_method_converges_with_absolute_tolerances_only(method):
    stats = odesolve(van_der_pol, np.array([2.0, 0.0]), [0, 1], 5.0, method=method, rtol=0.0, atol=1e-5).stats
    assert stats.rejected < 0.2 * stats.accepted


def test_radau_methods_need_a_matrix():
    with pytest.raises(mo.BadInput, match="radau5 solves complex systems, which the Krylov form .* choose bdf"):
        odesolve(van_der_pol, np.array([2.0, 0.0]), [0, 1], 5.0, method="radau5", jacobian="krylov")
