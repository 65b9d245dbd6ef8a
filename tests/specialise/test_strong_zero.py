"""Compiled derivatives: a NaN result is computed again by a program in which a zero cotangent contributes zero."""

import math
from functools import cache

import numpy as np
import pytest
from strong_zero_programs import PROGRAMS

import morula as mo
from morula.core.compilation import jitted
from morula.core.testing.differences import numerical_vjp

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
INF, NAN = np.inf, np.nan
TARGETS = ("native", "xla")
SECOND = ("infinite layer", "rows of a product", "zero by chance beside infinity")


@cache
def gradient(f, target):
    return mo.jit(mo.value_and_grad(f), target=target)


def programs(compiled):
    """How many programs were compiled, plainly and with strong products."""

    def count(j):
        return sum(len(form.programs) for form in j.forms.values())

    return count(compiled), count(compiled.strong) if "strong" in vars(compiled) else 0


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_no_cotangent_reaches_does_no_harm(name, target):
    f, finite, x = PROGRAMS[name]
    (slope,), _ = numerical_vjp(finite, 1.0, x)
    value, g = gradient(f, target)(x)
    assert value == pytest.approx(finite(x))
    np.testing.assert_allclose(g, slope, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(g, mo.grad(f)(x), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "target"), [*((n, t) for n in SECOND for t in TARGETS), ("loop", "native"), ("zero by chance", "native")]
)
def test_second_derivatives(name, target):
    f, finite, x = PROGRAMS[name]
    second = mo.hessian if np.ndim(x) else lambda f: mo.grad(mo.grad(f))
    found = mo.jit(second(f), target=target)(x)
    np.testing.assert_allclose(found, second(finite)(x), rtol=1e-9, atol=1e-9)


def guarded(x):
    return np.sum(np.where(x > 0, np.sqrt(x) * np.log(x), x))


@pytest.mark.parametrize("target", TARGETS)
def test_the_second_program_is_made_when_it_is_needed_and_kept(target):
    f = gradient(guarded, target)
    f(np.array([1.0, 2.0]))
    f(np.array([1.0, 3.0]))
    assert programs(f) == (1, 0)
    expected = mo.grad(guarded)(np.array([0.0, 2.0]))
    for _ in range(3):
        assert f(np.array([0.0, 2.0]))[1] == pytest.approx(expected)
    assert programs(f) == (1, 1)
    assert f(np.array([0.0, 3.0]))[1] == pytest.approx(mo.grad(guarded)(np.array([0.0, 3.0])))
    assert programs(f) == (1, 1)
    assert "computed again by a second program" in f.explain(np.array([1.0, 2.0]))


def test_what_contains_no_derivative_is_run_once(monkeypatch):
    f = mo.jit(lambda x: np.sqrt(x), target="native")
    monkeypatch.setattr(jitted.Jitted, "strongly", None)
    assert math.isnan(f(-1.0)) and math.isnan(f(-2.0))
    assert "second program" not in f.explain(1.0)


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_truly_nan_stays_nan(target):
    f = gradient(lambda x: np.sum(np.array([1.0, NAN, INF]) * x), target)
    for _ in range(2):
        value, g = f(np.ones(3))
        assert math.isnan(value) and g[0] == 1 and math.isnan(g[1]) and g[2] == INF


class Model:
    def __init__(self, w):
        self.w, self.steps = w, 0

    def step(self, x, log):
        def loss(w):
            log[0] += 1.0
            return np.sum(np.where(x > 0, np.log(x * w) ** 2, 0.0))

        value, g = mo.value_and_grad(loss)(self.w)
        self.w = self.w - 0.1 * g
        self.steps += 1
        return value


@pytest.mark.parametrize("target", TARGETS)
def test_arguments_are_changed_once(target):
    def train(model, x, log):
        return model.step(x, log)

    compiled = mo.jit(train, target=target)
    x = np.array([0.0, 0.7, 1.5])
    here, there = Model(np.array([1.0, 2.0, 3.0])), Model(np.array([1.0, 2.0, 3.0]))
    log, other = np.zeros(1), np.zeros(1)
    for n in range(1, 4):
        assert compiled(here, x, log) == pytest.approx(train(there, x, other))
        np.testing.assert_allclose(here.w, there.w, rtol=1e-12)
        assert np.all(np.isfinite(here.w)) and here.steps == n and log[0] == other[0] == n


@pytest.mark.parametrize("target", TARGETS)
def test_a_program_that_calls_python_runs_once_with_strong_products(target):
    seen = []

    def note(x):
        seen.append(x)
        return x

    def f(x):
        mo.callback(note, np.float64(0.0), x[0])
        return mo.grad(guarded)(x)

    compiled = mo.jit(f, target=target)
    x = np.array([0.0, 2.0])
    g = compiled(x)
    assert np.allclose(g, mo.grad(guarded)(x)) and np.all(np.isfinite(g)) and len(seen) == 1
    assert "all products check for it" in compiled.explain(x)


@pytest.mark.parametrize("target", TARGETS)
def test_a_compiled_function_in_an_eager_derivative(target):
    inner = mo.jit(guarded, target=target)
    vector = mo.jit(lambda x: np.where(x > 0, np.sqrt(x) * np.log(x), x), target=target)
    x = np.array([0.0, 2.0])
    expected = mo.grad(guarded)(x)
    np.testing.assert_allclose(mo.grad(lambda x: 2 * inner(x))(x), 2 * expected)
    np.testing.assert_allclose(mo.grad(lambda x: np.sum(vector(x)))(x), expected)


def test_functions_that_call_themselves():
    def power(x, n):
        return np.ones(2) if n < 1 else x * power(x, n - 1)

    def f(x, n):
        y = power(np.log(x), n)
        return np.sum(np.where(x > 0, y, 0.0))

    x = np.array([0.0, 2.0])
    g = mo.jit(mo.grad(f), target="native")(x, 3)
    np.testing.assert_allclose(g, [0.0, 3 * np.log(2.0) ** 2 / 2.0])


FACTORS = [np.array([[1.0, 2.0], [NAN, 1.0], [INF, -1.0]]), np.array([[1.0, INF], [-INF, 1.0], [2.0, -INF]])]
COTANGENTS = ([[0.0, 1.0], [0.0, 2.0]], [[0.0, 0.0], [1.0, -3.0]], [[2.0, 0.0], [0.0, 0.0]])


def pull_of_product(x, factor, dy):
    return mo.pullback(lambda x: x @ factor, x)[1](dy)[0]


def pull_of_factor(x, factor, dy):
    return mo.pullback(lambda x: factor @ x, x)[1](dy)[0]


@pytest.mark.parametrize("target", TARGETS)
def test_products_of_matrices_as_eager_code_has_them(target):
    left, right = mo.jit(pull_of_product, target=target), mo.jit(pull_of_factor, target=target)
    for factor in FACTORS:
        for dy in map(np.array, COTANGENTS):
            x = np.ones((2, 3))
            np.testing.assert_array_equal(left(x, factor, dy), pull_of_product(x, factor, dy))
            np.testing.assert_array_equal(right(x.T, factor.T, dy), pull_of_factor(x.T, factor.T, dy))
            z = factor * (1 + 0j)
            expected = pull_of_product(x + 0j, z, dy + 0j)
            np.testing.assert_array_equal(np.isnan(left(x + 0j, z, dy + 0j)), np.isnan(expected))
