"""An integer has the same derivatives as the equal float, in every order and in nested derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy

import morula as mo


class Holder:
    def __init__(self, x):
        self.x = x


def repeated(x):
    r = 1
    for _ in range(4):
        r *= x
    return r


def listed(x):
    parts = [x]
    parts.append(parts[0] * x)
    return parts[1] * parts[0]


s = sympy.Symbol("s")
PROGRAMS = {
    "power": (lambda x: x**3, s**3),
    "product": (lambda x: x * x * 2 - x, 2 * s**2 - s),
    "quotient": (lambda x: (x + 1) / x, (s + 1) / s),
    "branch": (lambda x: x**4 if x > 0 else -x, s**4),
    "loop": (repeated, s**4),
    "container": (listed, s**3),
    "attribute": (lambda x: Holder(x * x).x * x, s**3),
    "sum": (lambda x: sum(x**k for k in range(5)), sum(s**k for k in range(5))),
    "math": (lambda x: math.sin(x) * x, sympy.sin(s) * s),
    "numpy": (lambda x: np.exp(x) * x, sympy.exp(s) * s),
    "float of it": (lambda x: float(x) ** 3, s**3),
    "an array of it": (lambda x: np.sum(np.ones(3) * x**2), 3 * s**2),
    "abs and neg": (lambda x: abs(-(x**3)), s**3),
}

SECOND = {
    "grad of grad": lambda f: mo.grad(mo.grad(f)),
    "hessian": mo.hessian,
    "jacobian of grad": lambda f: mo.jacobian(mo.grad(f)),
    "grad of jacobian": lambda f: mo.grad(mo.jacobian(f)),
    "grad of gradient": lambda f: mo.grad(lambda x: mo.gradient(f, x)[0]),
    "grad of value_and_grad": lambda f: mo.grad(lambda x: mo.value_and_grad(f)(x)[1]),
    "a pullback inside": lambda f: mo.grad(lambda x: mo.pullback(f, x)[1](1)[0]),
    "a pullback of a float": lambda f: mo.grad(lambda x: mo.pullback(f, x)[1](1.0)[0]),
    "forwarddiff": lambda f: mo.grad(mo.grad(lambda x: mo.forwarddiff(f, x))),
    "checkpoint": lambda f: mo.grad(mo.grad(lambda x: mo.checkpoint(f, x))),
    "in a list": lambda f: mo.grad(lambda x: mo.grad(lambda parts: f(parts[0]))([x])[0]),
    "in a dict": lambda f: mo.grad(lambda x: mo.grad(lambda d: f(d["x"]))({"x": x})["x"]),
    "in an object": lambda f: mo.grad(lambda x: mo.grad(lambda h: f(h.x))(Holder(x)).x),
    "one of two": lambda f: mo.grad(lambda x: mo.grad(lambda a, b: f(a) + f(b) * 0)(x, x)),
    "recorded around": lambda f: mo.grad(lambda x: [mo.grad(f)(x)][0]),
}


@pytest.mark.parametrize("transform", SECOND)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_second_derivative(program, transform):
    f, formula = PROGRAMS[program]
    expected = float(sympy.diff(formula, s, 2).subs(s, 3))
    derivative = SECOND[transform](f)
    assert derivative(3.0) == pytest.approx(expected, rel=1e-12)
    assert derivative(3) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_third_and_the_fourth(program):
    f, formula = PROGRAMS[program]
    third = mo.grad(mo.grad(mo.grad(f)))
    assert third(2) == pytest.approx(float(sympy.diff(formula, s, 3).subs(s, 2)), rel=1e-12)
    assert mo.grad(third)(2) == pytest.approx(float(sympy.diff(formula, s, 4).subs(s, 2)), rel=1e-12)


CLOSURES = {
    "x * d/dy xy": (lambda x: x * mo.grad(lambda y: x * y)(1), s**2),
    "d/dy xyy at x": (lambda x: mo.grad(lambda y: x * y * y)(x), 2 * s**2),
    "d/dy (xy)^3 at 2": (lambda x: mo.grad(lambda y: (x * y) ** 3)(2), 12 * s**3),
    "through a list": (lambda x: mo.grad(lambda y: [x, y][0] ** 2 * y**2)(3) * x, 6 * s**3),
    "two levels": (lambda x: mo.grad(lambda y: mo.grad(lambda z: x * y * z**2)(y))(x), 4 * s**2),
    "a constant inside": (lambda x: mo.grad(lambda y: y**3)(2) * x, 12 * s),
    "a hook": (lambda x: mo.hook(lambda d: 2 * d, x) * x, sympy.Rational(3, 2) * s**2),
}


@pytest.mark.parametrize("program", CLOSURES)
def test_a_closure_over_an_integer(program):
    f, formula = CLOSURES[program]
    for order in (1, 2) if program != "a hook" else (1,):
        derivative = f
        for _ in range(order):
            derivative = mo.grad(derivative)
        expected = float(sympy.diff(formula, s, order).subs(s, 4))
        assert derivative(4.0) == pytest.approx(expected, rel=1e-12)
        assert derivative(4) == pytest.approx(expected, rel=1e-12)


def test_the_gradient_of_an_integer_is_one_of_python():
    assert type(mo.grad(mo.grad(lambda x: x**3))(2)) is int
    assert mo.value_and_grad(mo.grad(lambda x: x**3))(2) == (12, 12)
    assert type(mo.value_and_grad(mo.grad(lambda x: x**3))(2)[0]) is int


def test_numpys_integer_of_a_python_int_at_second_order_is_right_or_refused():
    with pytest.raises(mo.NoDerivative, match="Python int that is differentiated"):
        mo.grad(mo.grad(lambda x: np.int64(x) ** 3))(2)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_compiled(target):
    def everything(x):
        power = mo.grad(mo.grad(lambda y: y**3))(x)
        closure = mo.grad(lambda y: y * mo.grad(lambda z: y * z)(1))(x)
        second = mo.hessian(lambda y: y**4)(x)
        within = mo.grad(lambda y: mo.pullback(lambda z: z**3, y)[1](1.0)[0])(x)
        return power, closure, second, within

    assert mo.jit(everything, target=target)(4) == (24, 8, 192, 24)
