"""``mo.implicit``: solutions of equations, to second order; ``mo.constant``."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.testing import check_gradients

A = np.array([[4.0, 1.0, 0.3], [0.5, 3.0, 1.0], [0.2, -0.4, 2.0]])
B = np.array([1.0, -2.0, 0.5])


@mo.constant
def newton(a):
    x = 1.0
    for _ in range(60):
        x -= (x**3 + a * x - 1.0) / (3 * x * x + a)
    return x


def cubic(a):
    return mo.implicit(newton(a), lambda x: x**3 + a * x - 1.0)


def test_the_root_of_a_cubic_to_third_order():
    check_gradients(cubic, 0.7, order=3)
    x = newton(0.7)
    assert mo.grad(cubic)(0.7) == pytest.approx(-x / (3 * x * x + 0.7), rel=1e-14)


def linear(m, b, solve=None):
    x = mo.constant(np.linalg.solve)(m, b)
    return mo.implicit(x, lambda x: m @ x - b, solve)


def richardson(pull, dx):
    u = np.zeros_like(dx)
    for _ in range(400):
        u = u + 0.2 * (dx - pull(u))
    return u


@pytest.mark.parametrize("solve", [None, richardson])
def test_a_linear_system(solve):
    check_gradients(lambda m, b: linear(m, b, solve), A, B, order=2)
    found = mo.grad(lambda b: np.sum(linear(A, b, solve) ** 2))(B)
    x = np.linalg.solve(A, B)
    np.testing.assert_allclose(found, np.linalg.solve(A.T, 2 * x), rtol=1e-12)


def test_a_structure_of_unknowns():
    def solved(a, b):
        x = mo.constant(lambda a, b: {"u": np.sqrt(a), "v": b / np.sqrt(a)[0]})(a, b)
        found = mo.implicit(x, lambda x: {"u": x["u"] ** 2 - a, "v": x["v"] * x["u"][0] - b})
        return np.sum(found["u"]) * found["v"]

    check_gradients(solved, np.array([2.0, 3.0]), 1.5, order=2)


def test_outside_of_derivatives_the_residual_is_not_called():
    x = np.ones(2)
    found = mo.implicit(x, lambda x: 1 / 0)
    assert found is not x and found.tolist() == [1.0, 1.0]


def test_it_compiles():
    compiled = mo.jit(mo.grad(lambda b: np.sum(linear(A, b) ** 2)))
    np.testing.assert_allclose(compiled(B), mo.grad(lambda b: np.sum(linear(A, b) ** 2))(B), rtol=1e-12)


def test_a_solution_that_is_not_determined_has_no_derivative():
    with pytest.raises(mo.MorulaError, match="the Jacobian of the residual is singular at x"):
        mo.grad(lambda a: mo.implicit(0.0, lambda x: x * x - a))(0.0)


def test_what_does_not_fit_is_said():
    with pytest.raises(mo.BadInput, match="the residual has 3 entries and x has 1; expected equal numbers"):
        mo.grad(lambda a: mo.implicit(1.0, lambda x: a * np.ones(3)))(1.0)
    with pytest.raises(mo.BadInput, match="expected a function, not a float"):
        mo.implicit(1.0, 2.0)


def test_a_constant_function_passes_nothing_on():
    scale = 3.0
    size = mo.constant(lambda x, *, power=2: scale * np.sum(x**power))
    x = np.array([1.0, 2.0])
    assert size(x, power=3) == 27.0
    assert mo.grad(lambda x: np.sum(x) * size(x, power=3))(x).tolist() == [27.0, 27.0]
    assert not mo.hessian(lambda x: size(x) + 0.0 * np.sum(x))(x).any()
    assert mo.jit(mo.grad(lambda x: np.sum(x) * size(x)))(x).tolist() == [15.0, 15.0]


class Box:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize(
    "read", [lambda a: Box(a), lambda a: [Box(a)], lambda a: {"box": Box(a)}], ids=["alone", "in a list", "in a dict"]
)
def test_arguments_in_objects_that_a_constant_function_returns_are_constant(read):
    held = mo.constant(read)

    def program(x):
        y = held(x)
        return x * (y if isinstance(y, Box) else y[0] if isinstance(y, list) else y["box"]).value

    assert mo.value_and_grad(program)(3.0) == (9.0, 3.0)
    assert mo.jvp(program, (3.0,), (1.0,)) == (9.0, 3.0)
    assert mo.jit(mo.value_and_grad(program))(3.0) == (9.0, 3.0)


def test_solves_for_reverse_and_for_forward_mode():
    def adjoint_solve(pull, dx):
        return np.linalg.solve(A.T, dx)

    def tangent_solve(pull, dx):
        return np.linalg.solve(A, dx)

    pair = (adjoint_solve, tangent_solve)
    dx = np.array([0.3, 0.1, -0.2])
    np.testing.assert_allclose(mo.grad(lambda b: dx @ linear(A, b, pair))(B), np.linalg.solve(A.T, dx), rtol=1e-12)
    np.testing.assert_allclose(mo.jvp(lambda b: linear(A, b, pair), (B,), (dx,))[1], np.linalg.solve(A, dx), rtol=1e-12)


def test_a_solve_that_needs_no_product_spares_a_run_of_the_residual():
    calls = []

    def solved(b, solve, needs_product):
        def residual(x):
            calls.append(0)
            return A @ x - b

        return np.sum(mo.implicit(np.linalg.solve(A, B), residual, solve, needs_product))

    expected = np.linalg.solve(A.T, np.ones(3))
    counts = []
    for needs_product in (True, False):
        calls.clear()
        slope = mo.grad(lambda b: solved(b, lambda pull, dx: np.linalg.solve(A.T, dx), needs_product))(B)
        np.testing.assert_allclose(slope, expected, rtol=1e-12)
        counts.append(len(calls))
    assert counts == [2, 1]
    with pytest.raises(
        mo.BadInput, match="implicit: solve called pull, but needs_product is False; leave needs_product"
    ):
        mo.grad(lambda b: solved(b, richardson, False))(B)
