"""Derivatives inside `jit`, and `jit` inside derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from path_tester import run_on

import morula as mo

A = np.array([0.5, -1.0, 1.5, 2.0])


def f(x, a):
    y = x
    while y < 10:
        y = y * (1.0 + a[0] * a[0]) + x
    return y * a.sum()


def plain():
    return mo.value_and_grad(f, (0, 1))(1.5, A)


def test_jit_of_value_and_grad(path):
    value, (dx, da) = run_on(path)(mo.value_and_grad(f, (0, 1)))(1.5, A)
    expected, (ex, ea) = plain()
    assert np.isclose(value, expected) and np.isclose(dx, ex) and np.allclose(da, ea)


def test_grad_of_jit(path):
    value, (dx, da) = mo.value_and_grad(run_on(path)(f), (0, 1))(1.5, A)
    expected, (ex, ea) = plain()
    assert np.isclose(value, expected) and np.isclose(dx, ex) and np.allclose(da, ea)


def test_jit_inside_differentiated_code(path):
    compiled = run_on(path)(f)

    def loss(x, a):
        parts = [compiled(x * i, a) for i in (1.0, 2.0)]
        return parts[0] * np.sin(parts[1]) + x

    def uncompiled(x, a):
        parts = [f(x * i, a) for i in (1.0, 2.0)]
        return parts[0] * np.sin(parts[1]) + x

    found, expected = mo.grad(loss, (0, 1))(0.5, A), mo.grad(uncompiled, (0, 1))(0.5, A)
    assert np.isclose(found[0], expected[0]) and np.allclose(found[1], expected[1])


def structured(parameters, x):
    h = np.tanh(parameters["w"] @ x + parameters["b"])
    return {"loss": (h * h).sum(), "h": h}


def test_the_pullback_of_a_jitted_function_with_a_structured_result(path):
    parameters = {"w": np.arange(6.0).reshape(2, 3) / 7, "b": np.array([0.1, -0.2])}
    x = np.array([0.3, 0.5, -1.0])
    dy = {"loss": 1.0, "h": np.array([0.5, 2.0])}
    y, back = mo.vjp(run_on(path)(structured), parameters, x)
    expected, plainly = mo.vjp(structured, parameters, x)
    assert np.isclose(y["loss"], expected["loss"])
    (dp, dx), (ep, ex) = back(dy), plainly(dy)
    assert np.allclose(dp["w"], ep["w"]) and np.allclose(dp["b"], ep["b"]) and np.allclose(dx, ex)


def jitted_calls(path):
    square = run_on(path)(_square)

    def g(x):
        return square(x) * square(x + 1)

    return g


def _square(x):
    return x * x


def test_a_jitted_function_inside_a_jitted_one(path):
    g = jitted_calls(path)
    value, dx = run_on(path)(mo.value_and_grad(g))(1.5)
    assert np.isclose(value, (1.5 * 2.5) ** 2) and np.isclose(dx, 2 * 1.5 * 2.5 * 4.0)


def cubic(x):
    return x**3 + np.sin(x)


def second(x):
    return mo.grad(mo.grad(cubic))(x)


def newton(x):
    for _ in range(20):
        x = x - mo.grad(cubic)(x) / second(x)
    return x


def test_gradients_inside_compiled_code(path):
    assert np.isclose(run_on(path)(second)(0.7), 6 * 0.7 - np.sin(0.7))
    assert np.isclose(run_on(path)(newton)(-0.4), newton(-0.4))


def gradient_norm(x, a):
    y, (dx, da) = mo.value_and_grad(f, (0, 1))(x, a)
    return y + dx * dx + (da * da).sum()


def test_reverse_over_reverse(check):
    check(gradient_norm, 1.5, A)


def with_pullback(x):
    y, back = mo.vjp(cubic, x)
    return back(2.0)[0] * y


def test_a_pullback_inside_compiled_code(path):
    x = 0.7
    assert np.isclose(run_on(path)(with_pullback)(x), 2 * (3 * x**2 + np.cos(x)) * cubic(x))


def clipped(x):
    return x * 1.0


@mo.adjoint(clipped)
def _clipped(x):
    return clipped(x), lambda dy: min(dy, 1.0)


def with_own_rule(x):
    return clipped(x * x) * 5.0


def test_an_adjoint_of_the_users_own(path):
    value, dx = run_on(path)(mo.value_and_grad(with_own_rule))(3.0)
    assert np.isclose(value, 45.0) and np.isclose(dx, 6.0)


def stopped(x):
    return x * mo.stop_gradient(x * x)


def test_stop_gradient(path):
    assert np.isclose(run_on(path)(mo.grad(stopped))(3.0), 9.0)


def test_jit_is_a_decorator_with_and_without_arguments(target):
    @mo.jit(target=target)
    def g(x):
        """Twice."""
        return 2 * x

    @mo.jit
    def h(x):
        return 3 * x

    assert g(1.5) == 3.0 and g.__name__ == "g" and g.__doc__ == "Twice."
    assert h(1.5) == 4.5


def test_methods(target):
    class Model:
        def __init__(self, w):
            self.w = w

        @mo.jit(target=target)
        def predict(self, x):
            return self.w @ x

    model = Model(np.arange(6.0).reshape(2, 3))
    x = np.array([1.0, 2.0, 3.0])
    assert np.allclose(model.predict(x), model.w @ x)
    model.w = model.w * 2
    assert np.allclose(model.predict(x), model.w @ x)


def equal_arguments(a):
    return mo.pullback(lambda x, y: (x, y), a, a)[1]((1.0, 10.0))


def equal_arguments_computed_with(a):
    b = a * 3.0
    return mo.pullback(lambda x, y: {"x": [x, x * y], "y": y}, b, b)[1]({"x": [1.0, 10.0], "y": 100.0})


def one_argument_in_several_results(a):
    return mo.pullback(lambda x: (x, x, x + 0), a)[1]((1.0, 10.0, 100.0))


def equal_arguments_differentiated_again(a):
    return mo.grad(lambda b: mo.pullback(lambda x, y: (x * x, y * x), b, b)[1]((1.0, 10.0))[0])(a)


def equal_arrays(a):
    v = np.array([a, 2.0 * a])
    return mo.pullback(lambda x, y: (x, y), v, v)[1]((np.array([1.0, 2.0]), np.array([10.0, 20.0])))


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (equal_arguments, (1.0, 10.0)),
        (equal_arguments_computed_with, (61.0, 160.0)),
        (one_argument_in_several_results, (111.0,)),
        (equal_arguments_differentiated_again, 12.0),
        (equal_arrays, ([1.0, 2.0], [10.0, 20.0])),
    ],
)
def test_results_that_are_one_value_have_cotangents_of_their_own(f, expected, path):
    for x, y in zip(np.atleast_1d(run_on(path)(f)(2.0)), np.atleast_1d(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12)
