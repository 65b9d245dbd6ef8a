"""Exponential time differencing: order, a stiff equation of Kuramoto and Sivashinsky, derivatives on every path, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import PATHS, check_gradient

import morula as mo
from morula.ode import etdrk4, odesolve

MATRIX = np.array([[-40.0, 3.0], [1.0, -2.0]])


def turning(t, y, rate):
    return np.stack([np.sin(t) - rate * y[0] * y[1], np.cos(t) * y[0]])


@pytest.mark.parametrize("linear", [MATRIX, np.diag(MATRIX), np.array([-3.0, 0.0])], ids=["full", "diagonal", "zero"])
def test_halving_the_step_divides_the_error_by_sixteen(linear):
    full = linear if linear.ndim == 2 else np.diag(linear)
    y0 = np.array([1.0, 0.5])
    exact = odesolve(
        lambda t, y: full @ y + turning(t, y, 2.0), y0, [0, 2], method="radau13", rtol=1e-13, atol=1e-14
    ).y[-1]
    errors = [abs(etdrk4(linear, turning, y0, [0.0, 2.0], 2.0, steps=n)[-1] - exact).max() for n in (80, 160)]
    assert abs(np.log2(errors[0] / errors[1]) - 4) < 0.3


def test_the_equation_of_kuramoto_and_sivashinsky():
    """u_t = -u u_x - u_xx - u_xxxx on a period of 32 pi, in Fourier space; the longest steps are 30 times the longest ones of Euler's method."""
    n = 128
    x = 32 * np.pi * np.arange(n) / n
    u0 = np.cos(x / 16) * (1 + np.sin(x / 16))
    k = np.fft.fftfreq(n, 1 / n) / 16
    odd = np.where(np.arange(n) == n // 2, 0.0, k)  # the derivative of the highest wave is zero on the grid

    def advection(t, v):
        return -0.5j * odd * np.fft.fft(np.real(np.fft.ifft(v)) ** 2)

    def whole(t, u):
        v = np.fft.fft(u)
        return np.real(np.fft.ifft((k**2 - k**4) * v + advection(t, v)))

    exact = odesolve(whole, u0, [0.0, 10.0], method="dop853", rtol=1e-11, atol=1e-12).y[-1]
    found = [
        np.real(np.fft.ifft(etdrk4(k**2 - k**4, advection, np.fft.fft(u0), [0.0, 10.0], steps=steps)[-1]))
        for steps in (40, 640, 1280)
    ]
    errors = [abs(u - exact).max() for u in found]
    assert errors[0] < 1e-4 and abs(np.log2(errors[1] / errors[2]) - 4) < 0.3


def test_times_fall_and_repeat():
    y = etdrk4(np.array([-1.0]), lambda t, y: 0 * y, np.ones(1), [1.0, 1.0, 0.0], steps=2)
    assert np.allclose(y[:, 0], np.exp([0.0, 0.0, 1.0]))


def diagonal(linear, y0, rate):
    return np.sum(etdrk4(linear, turning, y0, [0.0, 0.2, 0.5], rate, steps=2) ** 2)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("linear", [MATRIX, np.array([-3.0, 0.0])], ids=["full", "diagonal"])
def test_gradients(path, linear):
    check_gradient(path, diagonal, linear, np.array([1.0, 0.5]), 2.0)


def spectral(u0, viscosity):
    k = np.fft.fftfreq(8, 1 / 8)

    def cubic(t, v):
        return v - np.fft.fft(np.real(np.fft.ifft(v)) ** 3)

    v = etdrk4(0.3j * k - viscosity * k**2, cubic, np.fft.fft(u0), [0.0, 0.5], steps=2)[-1]
    return np.sum(np.real(np.fft.ifft(v)) ** 2)


@pytest.mark.parametrize("path", PATHS)
def test_gradients_of_a_spectral_method(path):
    check_gradient(path, spectral, np.cos(np.arange(8.0)), 0.1)


def test_second_derivatives():
    mo.testing.check_gradients(diagonal, np.array([-3.0, 0.0]), np.array([1.0, 0.5]), 2.0)


@pytest.mark.parametrize("change, message", [
    ({"nonlinear": 1}, r"nonlinear is int; expected a function nonlinear\(t, y, \*args\)"),
    ({"linear": np.ones(3)}, r"linear has shape \(3,\) and y0 \(2,\); expected the diagonal"),
    ({"nonlinear": lambda t, y: y[0]}, r"nonlinear returned shape \(\) for a state of shape \(2,\)"),
    ({"linear": 1j * np.ones(2)}, "y0 is real, and linear or the result of nonlinear is complex; give y0 as complex"),
    ({"steps": 0}, "steps = 0; expected an integer of at least 1"),
    ({"ts": [0.0, np.nan]}, "ts holds a time that is not finite"),
])  # fmt: skip
def test_bad_input(change, message):
    arguments = {"linear": -np.ones(2), "nonlinear": lambda t, y: y, "y0": np.ones(2), "ts": [0.0, 1.0]} | change
    with pytest.raises(mo.BadInput, match=message):
        etdrk4(**arguments)
