"""Derivatives of derivatives in eager and compiled code: confusion of perturbations, five levels, optimisers inside."""

from __future__ import annotations

import math

import numpy as np
import pytest
from path_tester import PATHS, run_on

import morula as mo

approx = pytest.approx


def by_forward_mode(f):
    return lambda x: mo.jvp(f, (x,), (1.0,))[1]


MODES = [mo.grad, by_forward_mode]

# Perturbation confusion.  J. M. Siskind and B. A. Pearlmutter, Perturbation confusion and referential transparency:
# correct functional implementation of forward-mode AD, IFL 2005.  The derivative of the outer variable is not counted
# for the inner one, although both are perturbed at the same time and at the same point.


@pytest.mark.parametrize("inner", MODES)
@pytest.mark.parametrize("outer", MODES)
@pytest.mark.parametrize("path", PATHS)
def test_the_inner_derivative_does_not_count_the_outer_variable(path, outer, inner):
    def program(x):
        constant = outer(lambda x: x * inner(lambda y: x + y)(1.0))(x)  # (x 1)' = 1, not 2
        product = outer(lambda x: x * inner(lambda y: x * y)(x))(x)  # (x x)' = 2 x
        power = outer(lambda x: inner(lambda y: inner(lambda z: x * y * z)(x) * y)(x))(x)  # (2 x x)' = 4 x
        same_name = outer(lambda x: x * inner(lambda x: x * x)(x))(x)  # (x 2 x)' = 4 x
        return constant, product, power, same_name

    assert run_on(path)(program)(1.0) == (1.0, 2.0, 4.0, 4.0)


# O. Manzyuk, B. A. Pearlmutter, A. A. Radul, D. R. Rush, J. M. Siskind, Perturbation confusion in forward automatic
# differentiation of higher-order functions, J. Funct. Program. 29 (2019) e12: a derivative that returns a function is
# taken twice, and the two must not share one perturbation.


def shift(u):
    return lambda f: lambda x: f(x + u)


@pytest.mark.parametrize("derive", MODES)
@pytest.mark.parametrize("path", PATHS)
def test_a_derivative_operator_made_of_shifts_can_be_applied_twice(path, derive):
    def d(f):
        return lambda x: derive(lambda u: shift(u)(f)(x))(0.0)

    program = lambda x: (d(d(math.exp))(x), d(d(lambda t: t**3))(x), d(derive(d(math.sin)))(x))
    assert run_on(path)(program)(0.7) == approx((math.exp(0.7), 6 * 0.7, -math.cos(0.7)))


@pytest.mark.parametrize("derive", MODES)
@pytest.mark.parametrize("path", PATHS)
def test_functions_that_leave_a_derivative_keep_its_variable_apart(path, derive):
    def program(x):
        kept = []

        def f(y):
            kept.append(lambda z: x * y * z)  # holds both variables, and is called by the outer program
            return kept[0](y)

        slope = derive(f)(2.0)  # 2 x y = 4 x
        return slope * kept[0](3.0)  # 4 x 6 x

    assert run_on(path)(derive(program))(5.0) == approx(48.0 * 5.0)


@pytest.mark.parametrize("derive", MODES)
@pytest.mark.parametrize("path", PATHS)
def test_state_that_an_inner_derivative_writes_has_the_outer_derivative(path, derive):
    def program(x):
        stored = np.zeros(2)

        def f(y):
            stored[0] = x * y
            stored[1] += stored[0] * y
            return stored[1]

        slope = derive(f)(2.0)  # 2 x y = 4 x
        return slope * stored[0]  # 4 x 2 x

    assert run_on(path)(derive(program))(3.0) == approx(48.0)


# Five levels on numbers with control flow.


def branching(x, n):
    y = x
    while n > 0:
        if y < 2.0:
            y = y * x + x
        else:
            y = y * x - x * x * x
        n = n - 1
    return y


def in_six_steps(x):
    y = x
    for _ in range(6):
        if y < 2.0:
            y = y * x + x
        else:
            y = y * x - x * x * x
    return y


def polynomial(at, n):
    """The polynomial that ``branching`` evaluates close to a point."""
    x = np.polynomial.Polynomial([0.0, 1.0])
    y = x
    for _ in range(n):
        y = y * x + x if y(at) < 2.0 else y * x - x**3
    return y


def levels(f, n):
    for _ in range(n):
        f = mo.grad(f)
    return f


@pytest.mark.parametrize("path", PATHS)
def test_five_levels_of_gradients_through_branches(path):
    assert run_on(path)(levels(in_six_steps, 5))(0.9) == approx(polynomial(0.9, 6).deriv(5)(0.9))


@pytest.mark.parametrize("path", PATHS)
def test_levels_of_gradients_through_a_while_loop(path):
    """XLA has no memory that grows, and its program for a loop of unknown length grows tenfold with each level."""
    deepest = 2 if path == "xla" else 5
    f = run_on(path)(levels(branching, deepest))
    for at, n in ((0.9, 6), (1.2, 6), (1.1, 4)):
        assert f(at, n) == approx(polynomial(at, n).deriv(deepest)(at))


def test_the_code_of_each_level_is_at_most_three_times_that_of_the_last():
    f = [mo.jit(levels(branching, n), target="native") for n in range(6)]
    lines = [len(level.lower(0.9, 6).as_text().splitlines()) for level in f]
    for smaller, larger in zip(lines, lines[1:]):
        assert larger < 3 * smaller


# An optimiser that takes gradients, inside of what is differentiated.


@pytest.mark.parametrize("path", PATHS)
def test_the_gradient_of_a_loss_in_the_rate_of_its_descent(path):
    def trained(rate, w):
        for _ in range(5):
            w = w - rate * mo.grad(lambda w: np.sum(w * w))(w)
        return np.sum(w * w)

    # Each step multiplies w by 1 - 2 r: the loss is (1 - 2 r)^10 |w|^2.
    assert run_on(path)(mo.grad(trained))(0.1, np.array([1.0, 2.0])) == approx(-20 * 0.8**9 * 5)


@pytest.mark.parametrize("path", PATHS)
def test_the_gradients_of_a_minimum_by_newtons_method(path):
    def minimum(a):
        cost = lambda x: 0.25 * x**4 + 0.5 * x * x - a * x
        slope = mo.grad(cost)
        x, step = 1.0, 1.0
        while abs(step) > 1e-9:
            step = slope(x) / mo.grad(slope)(x)
            x = x - step
        return x

    # x^3 + x = a, so that x' = 1 / (3 x^2 + 1) and x'' = -6 x x'^3
    a, x = 10.0, 2.0
    first, second = 1 / (3 * x * x + 1), -6 * x / (3 * x * x + 1) ** 3
    on = run_on(path)
    assert on(minimum)(a) == approx(x)
    assert on(mo.grad(minimum))(a) == approx(first)
    assert on(mo.grad(mo.grad(minimum)))(a) == approx(second)
    assert on(mo.grad(by_forward_mode(minimum)))(a) == approx(second)


@pytest.mark.parametrize("path", PATHS)
def test_the_gradient_of_a_validation_loss_in_the_penalty_of_a_fit(path):
    rng = np.random.default_rng(4)
    X, y, V, z = rng.normal(size=(6, 2)), rng.normal(size=6), rng.normal(size=(4, 2)), rng.normal(size=4)

    def validation_loss(penalty):
        def training_loss(w):
            return np.sum((X @ w - y) ** 2) + penalty * np.sum(w * w)

        w, slope = np.zeros(2), np.ones(2)
        while np.sum(slope * slope) > 1e-26:
            slope = mo.grad(training_loss)(w)
            w = w - 0.04 * slope
        return np.sum((V @ w - z) ** 2)

    # Of the fit w = (X'X + p)^-1 X'y, the derivative is -(X'X + p)^-1 w.
    penalty = 0.5
    A = X.T @ X + penalty * np.eye(2)
    w = np.linalg.solve(A, X.T @ y)
    expected = -2 * (V @ w - z) @ V @ np.linalg.solve(A, w)
    assert run_on(path)(mo.grad(validation_loss))(penalty) == approx(expected)
