"""Gauss methods: order, symmetry, invariants, energy over long times, derivatives on every path, and their errors."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, check_gradient

import morula as mo
from morula.core.testing.differences import numerical_vjp
from morula.ode import METHODS, jacobian_pattern, odesolve

from .problems import driven, driven_exact
from .rooted_trees import defects

GAUSS = ("implicit_midpoint", "gauss4", "gauss6")


def entangled(t, y, a):
    """H(q, p) = a (q^2 + 1) (p^2 + 1) / 2, which is not separable."""
    q, p = y
    return np.stack([a * (q * q + 1) * p, -a * (p * p + 1) * q])


@pytest.mark.parametrize("name", GAUSS)
def test_the_coefficients_meet_the_order_conditions_and_are_symplectic(name):
    method = METHODS[name]
    a, b = np.linalg.inv(method.inverse), method.interpolant.sum(axis=0) @ np.linalg.inv(method.inverse)
    for order in range(1, method.order + 1):
        assert abs(defects(a, b, order)).max() < 1e-13
    assert abs(b[:, None] * a + (b[:, None] * a).T - np.outer(b, b)).max() < 1e-15


@pytest.mark.parametrize("name, steps", [("implicit_midpoint", 80), ("gauss4", 20), ("gauss6", 20)])
def test_halving_the_step_divides_the_error_by_two_to_the_order(name, steps):
    errors = [
        abs(odesolve(driven, driven_exact(0.0), [0, 2], method=name, steps=n).y[-1] - driven_exact(2.0)).max()
        for n in (steps, 2 * steps)
    ]
    assert abs(np.log2(errors[0] / errors[1]) - METHODS[name].order) < 0.2


@pytest.mark.parametrize("name", GAUSS)
def test_steps_back_return_and_areas_in_phase_space_are_kept(name):
    def end(y0, ts=(0.0, 2.0)):
        return odesolve(entangled, y0, ts, 1.0, method=name, steps=10).y[-1]

    y0 = np.array([0.3, 0.8])
    assert abs(end(end(y0), (2.0, 0.0)) - y0).max() < 1e-13
    rows = [numerical_vjp(lambda y0, i=i: end(y0)[i], 1.0, y0)[0][0] for i in range(2)]
    assert abs(np.linalg.det(np.array(rows)) - 1) < 1e-8


def test_the_energy_does_not_drift():
    """Over 10,000 steps the deviation of the energy stays the same; that of a method of the same order, not symplectic, grows."""

    def deviation(method):
        ts = np.linspace(0.0, 2000.0, 1001)
        return abs(compiled(np.array([0.3, 0.8]), ts, method) - 1)

    @mo.jit(target="native", static_argnames="method")
    def compiled(y0, ts, method):
        q, p = odesolve(entangled, y0, ts, 1.0, method=method, steps=10).y.T
        energy = (q * q + 1) * (p * p + 1) / 2
        return energy / energy[0]

    symplectic, other = deviation("gauss4"), deviation("rk4")
    assert symplectic[-200:].max() < 1.1 * symplectic[:200].max() < 1e-4
    assert other[-200:].max() > 4 * other[:200].max()


def ends(y0, a):
    return np.sum(odesolve(entangled, y0, [0.0, 0.5, 1.0], a, method="gauss4", steps=3).y[-1] ** 2)


@pytest.mark.parametrize("path", PATHS)
def test_gradients(path):
    check_gradient(path, ends, np.array([0.3, 0.8]), 1.1)


def test_second_derivatives():
    mo.testing.check_gradients(ends, np.array([0.3, 0.8]), 1.1)


def test_all_forms_of_the_jacobian_agree():
    def heat(t, u):
        padded = np.concatenate([np.zeros(1), u, np.zeros(1)])
        return 50.0 * (padded[:-2] - 2 * u + padded[2:]) - u**3

    y0 = np.sin(np.linspace(0.2, 2.9, 8))
    pattern = jacobian_pattern(mo.sparse_jacobian(lambda u: heat(0.0, u)).pattern(y0))
    first, *others = (
        odesolve(heat, y0, [0.0, 0.1], method="gauss6", steps=4, jacobian=form).y[-1]
        for form in (None, (1, 1), pattern, "krylov")
    )
    for y in others:
        assert np.allclose(y, first, rtol=1e-11)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("gauss4", path) for path in PATHS),
        *((method, "eager") for method in ("radau5", "kencarp4", "implicit_euler", "trapezoid")),
        ("radau5", "native"),
        ("trapezoid", "native"),
    ],
)
def test_stages_that_are_not_found(method, path):
    """The solution of y' = y^2 is infinite at t = 1."""

    def far(y0):
        return odesolve(lambda t, y: y * y, y0, [0.0, 4.0], method=method, steps=1).y[-1]

    solve = far if path == "eager" else mo.jit(far, target=path)
    text = f"the stages of {method} were not found at t = 0: .* steps of 4; give more steps"
    with np.errstate(all="ignore"), pytest.raises(mo.BadInput, match=text):
        solve(1.0)


def test_equal_steps_only():
    with pytest.raises(mo.BadInput, match='method "gauss4" has no error estimate; give the number of steps'):
        odesolve(entangled, np.ones(2), [0, 1], 1.0, method="gauss4")


def test_an_empty_state():
    assert odesolve(lambda t, y: -y, np.zeros(0), [0, 1], method="gauss4", steps=3).y.shape == (2, 0)


def test_a_step_after_a_tiny_one_is_not_extrapolated():
    """The polynomial of a step of 1e-14 says nothing of the next one, which is 1e13 times as long."""
    y0 = np.array([0.3, 0.8])
    y = odesolve(entangled, y0, [0.0, 1e-14, 0.2], 1.0, method="gauss4", steps=1).y
    assert np.allclose(y[-1], odesolve(entangled, y0, [0.0, 0.2], 1.0, method="gauss4", steps=1).y[-1], rtol=1e-12)
