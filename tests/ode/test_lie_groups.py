"""Magnus and commutator-free methods: order, the group is kept, derivatives on every path, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, check_gradient
from scipy.linalg import expm
from scipy.special import ellipj

import morula as mo
from morula.ode import COMMUTATOR_FREE, lie_steps, magnus, odesolve, rotation

A, B, C = np.random.default_rng(0).normal(size=(3, 4, 4)) * 0.7
INERTIA = np.array([1.0, 2.0, 3.0])


def swinging(t):
    return A + np.sin(3 * t) * B + np.cos(2 * t) * C


def entangled(t, y):
    return A * y[0, 1] + np.sin(3 * t + y[1, 1]) * B + np.cos(2 * t) * C


def exact(generator):
    return odesolve(generator, np.eye(4), [0.0, 0.5], method="dop853", rtol=1e-13, atol=1e-14).y[-1]


@pytest.mark.parametrize("order", [2, 4, 6])
def test_halving_the_step_divides_the_error_of_magnus_by_two_to_the_order(order):
    end = exact(lambda t, y: swinging(t) @ y)
    errors = [abs(magnus(swinging, np.eye(4), [0, 0.5], order=order, steps=n)[-1] - end).max() for n in (5, 10)]
    assert abs(np.log2(errors[0] / errors[1]) - order) < 0.15


@pytest.mark.parametrize("name", COMMUTATOR_FREE)
def test_halving_the_step_divides_the_error_by_two_to_the_order(name):
    end = exact(lambda t, y: entangled(t, y) @ y)
    errors = [abs(lie_steps(entangled, np.eye(4), [0, 0.5], method=name, steps=n)[-1] - end).max() for n in (10, 20)]
    assert abs(np.log2(errors[0] / errors[1]) - COMMUTATOR_FREE[name].order) < 0.15


def test_unitary_matrices_stay_unitary():
    hermitian = A + 1j * B
    hermitian = hermitian + hermitian.conj().T
    y = magnus(lambda t: -1j * (hermitian + np.cos(t) * np.eye(4)), np.eye(4) + 0j, [0.0, 3.0], order=6, steps=30)
    assert abs(y[-1].conj().T @ y[-1] - np.eye(4)).max() < 1e-13
    assert abs(y[-1] - expm(-1j * (3 * hermitian + np.sin(3.0) * np.eye(4)))).max() < 1e-10


def test_a_rigid_body_keeps_its_angular_momentum():
    """Euler's equations without torque from a state with elliptic functions as the solution (Landau, Lifshitz, Mechanics, 37)."""
    m0 = np.array([0.8, 0.0, 0.9]) * INERTIA
    energy, square = np.sum(m0**2 / INERTIA) / 2, np.sum(m0**2)
    i1, i2, i3 = INERTIA
    tau = np.sqrt((i3 - i2) * (square - 2 * energy * i1) / (i1 * i2 * i3))
    k2 = (i2 - i1) * (2 * energy * i3 - square) / ((i3 - i2) * (square - 2 * energy * i1))
    ts = np.linspace(0.0, 10.0, 5)
    sn, cn, dn, _ = ellipj(tau * ts, k2)
    w = np.stack(
        [
            np.sqrt((2 * energy * i3 - square) / (i1 * (i3 - i1))) * cn,
            np.sqrt((2 * energy * i3 - square) / (i2 * (i3 - i2))) * sn,
            np.sqrt((square - 2 * energy * i1) / (i3 * (i3 - i1))) * dn,
        ],
        axis=1,
    )
    m = lie_steps(lambda t, m: -m / INERTIA, m0, ts, steps=200, exponential=rotation)
    assert abs(np.linalg.norm(m, axis=1) - np.sqrt(square)).max() < 1e-13
    assert abs(m - w * INERTIA).max() < 1e-7 or abs(m - w * INERTIA * [1, -1, 1]).max() < 1e-7


@pytest.mark.parametrize("w", [np.zeros(3), np.array([1e-3, -2e-3, 1e-4]), np.array([0.02, 0.0, 0.03]), np.array([1.0, -2, 0.5])])  # fmt: skip
def test_rotations(w):
    hat = np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])
    assert abs(rotation(w) - expm(hat)).max() < 2e-15
    mo.testing.check_gradients(lambda w: np.sum(rotation(w) * np.arange(9.0).reshape(3, 3)), w)


@pytest.mark.parametrize("path", PATHS)
def test_gradients(path):
    def loss(y0, strength):
        a = magnus(lambda t, s: s * np.array([[0.0, t], [-1.0, 0.1]]), y0, [0.0, 0.5, 1.0], strength, order=6, steps=1)
        spin = lie_steps(lambda t, m, s: -s * m * np.array([1.0, 0.5, 0.3]), np.array([0.6, 0.1, 0.8]), [0.0, 1.0], strength,
                         exponential=rotation, method="cf3", steps=2)  # fmt: skip
        return np.sum(a**2) + np.sum(spin[-1] * np.array([1.0, 2.0, 3.0]))

    check_gradient(path, loss, np.array([1.0, 0.4]), 0.8)


@pytest.mark.parametrize("solve, message", [
    (lambda: magnus(swinging, np.eye(4), [0, 1], order=3), "order = 3; expected 2, 4 or 6"),
    (lambda: magnus(swinging, np.ones(3), [0, 1]), r"A has shape \(4, 4\) and y0 \(3,\).*\(3, 3\)"),
    (lambda: magnus(lambda t: 1j * A, np.eye(4), [0, 1]), "y0 is real and A is complex"),
    (lambda: magnus(A, np.eye(4), [0, 1]), "generator is ndarray; expected a function"),
    (lambda: magnus(swinging, 1.0, [0, 1]), r"y0 has shape \(\); expected a vector"),
    (lambda: lie_steps(entangled, np.eye(4), [0, 1], method="rk4"), "method 'rk4' is not known; choose one of lie_euler"),
    (lambda: lie_steps(entangled, np.eye(4), [0, 1], steps=0), "steps = 0"),
    (lambda: lie_steps(lambda t, y: y, np.ones(4), [0, 1], exponential=rotation), r"w has shape \(4,\); expected \(3,\)"),
])  # fmt: skip
def test_bad_input(solve, message):
    with pytest.raises(mo.BadInput, match=message):
        solve()
