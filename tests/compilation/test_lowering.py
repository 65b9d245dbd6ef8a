"""``lowering``: a form of a function for one back end, with the derivatives of what is called."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo

X = np.array([0.5, -1.0, 2.0])


def made():
    """A function whose forms differ, so that the results tell which was called."""

    def f(x):
        return 2.0 * np.sum(x**2)

    @mo.lowering(f, "native")
    def _(x):
        total = 0.0
        for e in x:
            total += e**2
        return 3.0 * total

    @mo.lowering(f, "xla")
    def _(x):
        return 2.5 * f(x)

    return f


FACTORS = {"native": 3.0, "xla": 5.0}


@pytest.mark.parametrize("target", FACTORS)
def test_each_back_end_calls_its_form(target):
    f, factor = made(), FACTORS[target]
    assert mo.jit(f, target=target)(X) == pytest.approx(factor * np.sum(X**2))
    assert mo.jit(lambda x: f(x) + f(2.0 * x), target=target)(X) == pytest.approx(5.0 * factor * np.sum(X**2))
    np.testing.assert_allclose(mo.jit(mo.grad(f), target=target)(X), 2.0 * factor * X)
    np.testing.assert_allclose(mo.jit(mo.vmap(f), target=target)(np.stack([X, X])), [factor * np.sum(X**2)] * 2)


def test_eager_code_calls_the_function():
    f = made()
    assert f(X) == 2.0 * np.sum(X**2)
    np.testing.assert_allclose(mo.grad(f)(X), 4.0 * X)


@pytest.mark.parametrize("target", FACTORS)
def test_a_derivative_by_hand_is_used(target):
    f = made()

    @mo.adjoint(f)
    def _(x):
        return f(x), lambda dy: dy * 7.0 * x

    np.testing.assert_allclose(mo.jit(mo.grad(f), target=target)(X), 7.0 * X)
    assert mo.jit(f, target=target)(X) == pytest.approx(FACTORS[target] * np.sum(X**2))


class Scaled:
    def __init__(self, k):
        self.k = k

    def __call__(self, x):
        return self.k * x


def test_callable_objects():
    f = Scaled(2.0)
    mo.lowering(f, "native")(lambda x: 10.0 * x)
    assert mo.jit(lambda x: f(x) + Scaled(2.0)(x))(1.0) == 12.0


def test_bad_input():
    with pytest.raises(mo.BadInput, match="the target must be .native. or .xla., not .cuda."):
        mo.lowering(np.sum, "cuda")
    with pytest.raises(mo.BadInput, match="expected a function, not an int"):
        mo.lowering(np.sum, "xla")(3)
