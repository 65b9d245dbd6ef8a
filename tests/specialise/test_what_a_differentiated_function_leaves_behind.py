"""Values that a differentiated function stores, or returns as extra results, are constants for its own derivative.

An enclosing derivative passes through all of these, on every path.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from path_tester import check_gradient

import morula as mo
from morula.core.specialise import functions

SESSION = {"lists": [[k] for k in range(20_000)]}
"""What a notebook may hold: much, and of no concern to the program."""


class Model:
    """It is read from outside, and refers to the session."""

    rate = 0.5

    def __init__(self):
        self.session = SESSION
        self.calls = 0.0


MODEL = Model()


def in_a_list(x):
    kept = []

    def loss(w):
        kept.append(w * w * x)
        return w**3

    return mo.grad(loss)(x) * kept[0]


def in_an_object(x):
    o = SimpleNamespace(kept=0.0)

    def loss(w):
        o.kept = w * w * x
        return w**3

    return mo.grad(loss)(x) * o.kept


def in_a_variable(x):
    kept = 0.0

    def loss(w):
        nonlocal kept
        kept += w * w * x
        return w**3

    return mo.grad(loss)(x) * kept


def in_an_array(x):
    kept = np.zeros(2)

    def loss(w):
        kept[1] = w * w * x
        return w**3

    return mo.grad(loss)(x) * kept[1]


def in_its_argument(x):
    a = np.array([1.0, 2.0]) * x

    def loss(w):
        w[0] = w[1] * x
        return w[0] * w[1] ** 2

    g = mo.grad(loss)(a)
    return np.sum(g * a) * a[0]


def in_a_list_that_it_is_given(x):
    p = [x, x * x]

    def loss(q):
        q[0] = q[1] * x
        q.append(q[0] * q[1])
        return q[2] * x

    g = mo.grad(loss)(p)
    return g[1] * p[0] * p[2]


def as_auxiliary_result(x):
    def loss(w):
        return w**3, {"kept": w * w * x, "twice": [w * 2, x]}

    g, aux = mo.grad(loss, has_aux=True)(x)
    return g * aux["kept"] * aux["twice"][0] * aux["twice"][1]


def as_its_value(x):
    y, g = mo.value_and_grad(lambda w: w**3 * x)(x * x)
    return y * g


def by_a_pullback(x):
    y, back = mo.vjp(lambda w: (w * w, [w**3 * x]), x)
    (g,) = back((x, [2.0 * x]))
    return g * y[0] * y[1][0]


def in_a_loop(x):
    kept = np.zeros(3)
    w = x
    for i in range(3):

        def loss(v):
            kept[i] = v * x  # noqa: B023
            return v**3

        w = w - 0.1 * mo.grad(loss)(w)
    return np.sum(kept) * w


def within_another(x):
    kept = [0.0]

    def outer(u):
        def inner(w):
            kept[0] = w * w * u
            return w**3

        return mo.grad(inner)(u) * kept[0]

    return mo.grad(outer)(x) * kept[0]


PROGRAMS = [
    in_a_list,
    in_an_object,
    in_a_variable,
    in_an_array,
    in_its_argument,
    in_a_list_that_it_is_given,
    as_auxiliary_result,
    as_its_value,
    by_a_pullback,
    in_a_loop,
    within_another,
]


@pytest.mark.parametrize("path", ["eager", "native", "xla"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_derivative_around_it_passes_through(program, path):
    check_gradient(path, program, 0.8)


def a_closure(x):
    scale = x * x

    def loss(w):
        return MODEL.rate * scale * w**3

    return mo.grad(loss)(x)


def an_object_of_outside(x):
    def loss(w):
        MODEL.calls = w * w
        return w**3

    return mo.grad(loss)(x) * MODEL.calls


def a_function_that_it_makes(x):
    kept = []

    def loss(w):
        def step(u):
            return MODEL.rate * w * u

        kept.append(step)
        return step(w) * w

    return mo.grad(loss)(x) * kept[0](x)


@pytest.mark.parametrize(
    "program", [a_closure, an_object_of_outside, a_function_that_it_makes], ids=lambda f: f.__name__
)
def test_only_what_the_region_made_or_changed_is_searched(program, monkeypatch):
    made = []

    class Left(functions._Left):
        def __init__(self, *args):
            made.append(self)
            super().__init__(*args)

    monkeypatch.setattr(functions, "_Left", Left)
    check_gradient("native", program, 0.8)
    assert made and max(len(x.seen) for x in made) < 500
