"""Every method and its dense output have their order of convergence, and reach published values."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from morula.ode import METHODS, Tableau, odesolve

from .problems import (
    PUBLISHED,
    driven,
    driven_exact,
    kepler,
    kepler_exact,
    kepler_start,
    published,
)
from .rooted_trees import defects

EXPLICIT = {name: method for name, method in METHODS.items() if isinstance(method, Tableau)}
ADAPTIVE = [name for name, method in EXPLICIT.items() if len(method.error)]


def observed_order(steps, errors):
    """The slope of log error over log step, between neighbouring entries."""
    return np.diff(np.log(errors)) / -np.diff(np.log(steps))


def butcher(method):
    """The matrix and the weights of a tableau, with the first stage."""
    a = np.zeros((len(method.a), len(method.a)))
    a[1:] = method.a[:-1]
    return a, method.a[-1]


@pytest.mark.parametrize("method", EXPLICIT.values(), ids=EXPLICIT)
def test_the_tableau_meets_the_order_conditions(method):
    rounding = 2e-15 * max(1, abs(method.a).max())  # the weights are printed to 16 digits
    for order in range(1, method.order + 1):
        assert abs(defects(*butcher(method), order)).max() < 100 * rounding
    assert abs(defects(*butcher(method), method.order + 1)).max() > 1e-7
    assert np.allclose(method.a.sum(axis=1), method.c, atol=rounding)
    assert np.allclose(method.extra_a.sum(axis=1), method.extra_c, atol=100 * rounding)
    assert np.allclose(method.error.sum(axis=1), 0, atol=rounding)


@pytest.mark.parametrize("method", EXPLICIT.values(), ids=EXPLICIT)
def test_the_dense_output_ends_at_the_step(method):
    b = np.zeros(method.interpolant.shape[1])
    b[: len(method.c)] = method.a[-1]
    assert np.allclose(method.interpolant.sum(axis=0), b, atol=2e-13 + 1e-15 * abs(method.interpolant).max())


@pytest.mark.parametrize("method", EXPLICIT.values(), ids=EXPLICIT)
def test_the_dense_output_has_the_slope_f_at_both_ends(method):
    first = np.eye(method.interpolant.shape[1])[0]
    last = np.eye(method.interpolant.shape[1])[len(method.c)]
    degrees = np.arange(1, len(method.interpolant) + 1)
    rounding = 1e-15 * max(1, abs(method.interpolant).max())
    assert np.allclose(method.interpolant[0], first, atol=rounding + 2e-13)
    assert np.allclose(degrees @ method.interpolant, last, atol=degrees.max() * rounding + 2e-12)


@pytest.mark.parametrize("name, steps", [
    ("euler", [4000, 8000]), ("midpoint", [500, 1000]), ("heun", [500, 1000]), ("bosh3", [400, 800]),
    ("rk4", [200, 400]), ("dopri5", [160, 320]), ("tsit5", [320, 640]), ("dop853", [40, 80]), ("ralston", [500, 1000]),
    ("williamson3", [400, 800]), ("ck54", [200, 400]), ("kcl43", [200, 400]), ("kcl54", [100, 200]),
    ("cfrlddrk64", [200, 400]), ("vern6", [25, 50]), ("vern7", [15, 30]),
    ("vern8", [12, 24]), ("vern9", [12, 24]),
    ("rosenbrock23", [40, 80]), ("ros3p", [80, 160]), ("ros34pw2", [320, 640]), ("rodas4", [80, 160]), ("rodas5p", [80, 160]),
])  # fmt: skip
def test_halving_the_step_divides_the_error_by_two_to_the_order(name, steps):
    exact = driven_exact(2.0)
    errors = [abs(odesolve(driven, driven_exact(0.0), [0.0, 2.0], method=name, steps=n).y[-1] - exact).max()
              for n in steps]  # fmt: skip
    order = METHODS[name].order
    assert (
        order - 0.25 < observed_order(steps, errors)[0] < order + (0.9 if order < 6 else 3)
    )  # order 6: long transients


@pytest.mark.parametrize("name, order, count", [
    ("heun", 2, 200), ("midpoint", 2, 200), ("bosh3", 3, 100), ("dopri5", 4, 60), ("tsit5", 4, 60), ("dop853", 7, 14),
    ("ralston", 2, 200), ("kcl43", 4, 60), ("kcl54", 5, 60), ("vern6", 6, 40), ("vern7", 6, 25), ("vern8", 7, 14), ("vern9", 8, 12),
    ("rosenbrock23", 2, 80), ("ros3p", 3, 40), ("ros34pw2", 3, 40), ("rodas4", 4, 40), ("rodas5p", 4, 40),
])  # fmt: skip
def test_values_between_the_steps_have_the_order_of_the_dense_output(name, order, count):
    ts = np.linspace(0.0, 2 * np.pi, 301)
    exact = kepler_exact(ts, 0.2)
    errors = []
    for n in (count, 2 * count):
        h = 2 * np.pi / n
        solution = odesolve(kepler, kepler_start(0.2), ts, method=name, rtol=1e6, first_step=h, max_step=h)
        assert solution.stats.accepted == n
        errors.append(abs(solution.y - exact).max())
    assert observed_order([count, 2 * count], errors)[0] > order - 0.3


@pytest.mark.parametrize("name, tolerance", [
    ("bosh3", 1e-7), ("kcl43", 1e-8), ("kcl54", 1e-10), ("dopri5", 1e-10), ("tsit5", 1e-10), ("dop853", 1e-12), ("vern6", 1e-11),
    ("vern7", 1e-11), ("vern8", 1e-12), ("vern9", 1e-12),
])  # fmt: skip
@pytest.mark.parametrize("problem", ["lotka", "brusselator0", "rigidbody", "fitzhugh", "vdpol@mu1"])
def test_published_end_values(problem, name, tolerance):
    f, y0, span, args, expected = published(problem)
    solution = odesolve(f, y0, span, *args, method=name, rtol=tolerance, atol=tolerance)
    assert np.allclose(solution.y[-1], expected, rtol=0, atol=200 * tolerance * abs(expected).max())


@pytest.mark.parametrize("problem, tolerance, error", [
    ("lorenz", 1e-12, 2e-8), ("arenstorf", 1e-13, 2e-7), ("pleiades", 1e-12, 1e-8),
])  # fmt: skip
def test_published_end_values_of_sensitive_problems(problem, tolerance, error):
    f, y0, span, args, expected = published(problem)
    for name in ("tsit5", "dop853"):
        solution = odesolve(f, y0, span, *args, method=name, rtol=tolerance, atol=tolerance)
        assert np.allclose(solution.y[-1], expected, rtol=error, atol=error)


def test_every_published_problem_is_tried():
    assert set(PUBLISHED) == {"lotka", "brusselator0", "rigidbody", "fitzhugh", "vdpol@mu1", "lorenz", "arenstorf",
                              "pleiades"}  # fmt: skip


@pytest.mark.parametrize("e", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_kepler_orbits_detest_d1_to_d5(e):
    ts = np.linspace(0.0, 20.0, 41)
    solution = odesolve(kepler, kepler_start(e), ts, method="dop853", rtol=1e-11, atol=1e-12)
    assert abs(solution.y - kepler_exact(ts, e)).max() < 1e-7


@pytest.mark.parametrize("f, y0, exact", [
    (lambda t, y: -y, 1.0, lambda t: np.exp(-t)),
    (lambda t, y: -(y**3) / 2, 1.0, lambda t: 1 / np.sqrt(1 + t)),
    (lambda t, y: y * np.cos(t), 1.0, lambda t: np.exp(np.sin(t))),
    (lambda t, y: y / 4 * (1 - y / 20), 1.0, lambda t: 20 / (1 + 19 * np.exp(-t / 4))),
], ids=["A1", "A2", "A3", "A4"])  # fmt: skip
@pytest.mark.parametrize("name", ["bosh3", "dopri5", "tsit5", "dop853"])
def test_detest_scalar_problems(f, y0, exact, name):
    ts = np.linspace(0.0, 20.0, 33)
    solution = odesolve(f, y0, ts, method=name, rtol=1e-9, atol=1e-9)
    assert abs(solution.y - exact(ts)).max() < 2e-6 * max(1, abs(exact(ts)).max())


def test_detest_a5_whose_solution_is_implicit():
    ts = np.linspace(0.0, 20.0, 9)
    y = odesolve(lambda t, y: (y - t) / (y + t), 4.0, ts, rtol=1e-10, atol=1e-10).y
    assert np.allclose(np.log(ts**2 + y**2) / 2 - np.arctan2(ts, y), np.log(4.0), atol=1e-8)


@pytest.mark.parametrize("name, scipy_name", [("bosh3", "RK23"), ("dopri5", "RK45"), ("dop853", "DOP853")])
def test_a_single_step_is_that_of_scipy(name, scipy_name):
    ts = np.linspace(0.0, 0.3, 7)
    ours = odesolve(kepler, kepler_start(0.3), ts, method=name, rtol=1e3, first_step=0.3)
    theirs = solve_ivp(kepler, (0.0, 0.3), kepler_start(0.3), scipy_name, ts, rtol=1e3, first_step=0.3, max_step=0.3)
    assert ours.stats.accepted == 1
    assert np.allclose(ours.y, theirs.y.T, rtol=0, atol=2e-13)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_a_tighter_tolerance_gives_a_smaller_error(name):
    loose = 1e-3 if METHODS[name].order == 2 else 1e-4
    exact = kepler_exact(5.0, 0.5)
    errors = [
        abs(odesolve(kepler, kepler_start(0.5), [0, 5], method=name, rtol=tol, atol=tol).y[-1] - exact).max()
        for tol in (loose, loose / 100)
    ]
    assert errors[1] < errors[0] / 15


def test_work_grows_with_the_fifth_root_of_the_accuracy():
    count = [
        odesolve(kepler, kepler_start(0.3), [0, 20], rtol=tol, atol=tol).stats.evaluations for tol in (1e-6, 1e-11)
    ]
    assert 7 < count[1] / count[0] < 13


@pytest.mark.parametrize("name", ["tsit5", "dop853"])
def test_conserved_quantities(name):
    f, y0, span, args, _ = published("rigidbody")
    y = odesolve(f, y0, np.linspace(*span, 50), *args, method=name, rtol=1e-10, atol=1e-10).y
    i1, i2, i3 = args
    for invariant in (y[:, 0] ** 2 / i1 - y[:, 1] ** 2 / i2, y[:, 1] ** 2 / i2 - y[:, 2] ** 2 / i3):
        assert np.ptp(invariant) < 1e-8
    orbit = odesolve(kepler, kepler_start(0.6), np.linspace(0, 30, 80), method=name, rtol=1e-10, atol=1e-10).y
    energy = (orbit[:, 2] ** 2 + orbit[:, 3] ** 2) / 2 - 1 / np.hypot(orbit[:, 0], orbit[:, 1])
    momentum = orbit[:, 0] * orbit[:, 3] - orbit[:, 1] * orbit[:, 2]
    assert abs(energy + 0.5).max() < 1e-7
    assert np.ptp(momentum) < 1e-7
