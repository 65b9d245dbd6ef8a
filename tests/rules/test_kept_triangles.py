"""Least squares in compiled code: by a triangle that both sweeps use, or by singular values where the rank is in doubt."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import run_on

import morula as mo
from morula.core.testing.differences import numerical_vjp

RNG = np.random.default_rng(1)
TALL, SIDES = RNG.normal(size=(7, 3)), RNG.normal(size=(7, 2))
DEPENDENT = TALL.copy()
DEPENDENT[:, 2] = DEPENDENT[:, 0] - DEPENDENT[:, 1]
CASES = [
    (TALL, SIDES),
    (TALL, SIDES[:, 0]),
    (TALL + 1j * np.cos(TALL), SIDES + 1j),
    (TALL[:3] + 3 * np.eye(3), SIDES[:3]),
    (DEPENDENT, SIDES),
    (DEPENDENT, SIDES[:, 0]),
]


def fitted(a, b):
    return np.sum(np.sin(np.abs(np.linalg.lstsq(a, b)[0]) ** 2))


@pytest.mark.parametrize("target", ["native", "xla"])
@pytest.mark.parametrize("a, b", CASES)
def test_gradients_of_solutions(a, b, target):
    value, found = run_on(target)(mo.value_and_grad(fitted, argnums=(0, 1)))(a, b)
    np.testing.assert_allclose(value, fitted(a, b), rtol=1e-12)
    # Changes that keep the rank: differences would raise that of a matrix without full rank.
    expected = mo.grad(fitted, argnums=(0, 1))(a, b) if a is DEPENDENT else numerical_vjp(fitted, 1.0, a, b)[0]
    for g, h in zip(found, expected):
        np.testing.assert_allclose(g, h, atol=1e-8 * np.max(np.abs(h)))


def test_second_derivatives():
    def of_gradient(a, b):
        return sum(np.sum(np.sin(g)) for g in mo.grad(fitted, argnums=(0, 1))(a, b))

    found = mo.jit(mo.grad(of_gradient, argnums=(0, 1)), target="native")(TALL, SIDES)
    for g, h in zip(found, numerical_vjp(of_gradient, 1.0, TALL, SIDES)[0]):
        np.testing.assert_allclose(g, h, atol=1e-7 * np.max(np.abs(h)))


def test_a_program_that_reads_singular_values_gets_them():
    def f(a, b):
        x, _, rank, s = np.linalg.lstsq(a, b)
        return np.sum(x) + np.sum(s**2) * rank

    expected = numerical_vjp(f, 1.0, TALL, SIDES)[0]
    for g, h in zip(mo.jit(mo.grad(f, argnums=(0, 1)), target="native")(TALL, SIDES), expected):
        np.testing.assert_allclose(g, h, atol=1e-8)


def test_the_backward_sweep_factorises_nothing():
    text = mo.jit(mo.grad(fitted), target="native").lower(TALL, SIDES).as_text("llvm")
    assert text.count("call void @lapack.dgeqrf(") == 1


@pytest.mark.parametrize("target", ["native", "xla"])
def test_a_tolerance_that_cuts_off_singular_values_is_refused(target):
    def f(a):
        return np.sum(np.linalg.lstsq(a, SIDES, rcond=0.9)[0])

    with pytest.raises(mo.NoDerivative, match=r"lstsq was given a tolerance that cuts off singular values"):
        run_on(target)(mo.grad(f))(TALL)
