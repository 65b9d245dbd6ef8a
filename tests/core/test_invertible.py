"""Loops of invertible steps: gradients without stored states, drift, errors."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import morula as mo

PATHS = ["eager", "native", "xla"]
X = np.linspace(0.1, 1.0, 5)


def force(q, k):
    return -k * np.sin(q)


def leapfrog(q, p, k, dt):
    p = p + dt * force(q, k)
    return q + dt * p, p


def leapfrog_back(q, p, k, dt):
    q = q - dt * p
    return q, p - dt * force(q, k)


def coupling(a, b, w):
    a = a + np.tanh(w * b)
    return a, b * np.exp(0.1 * np.sin(a))


def coupling_back(a, b, w):
    b = b * np.exp(-0.1 * np.sin(a))
    return a - np.tanh(w * b), b


STEP, LAYER = mo.invertible(leapfrog, leapfrog_back), mo.invertible(coupling, coupling_back)


def orbit(q, k):
    p = 0.3 * q
    for i in range(40):
        q, p = STEP(q, p, k, 0.01 * (i + 1))
    return np.sum(q * q) + np.sum(np.cos(p))


def orbit_until(q, k):
    p, t = q * q, 0.0
    while np.sum(p) > 0.5:
        q, p = STEP(q, p, k, 0.05)
    return np.sum(q) + t


def layers(a, w):
    b = 1.0 - a
    for v in w:
        a, b = LAYER(a, b, v)
    return np.sum(a * b)


def one_number(x, k):
    for _ in range(20):
        x = HALF(x, k)
    return np.sum(x)


HALF = mo.invertible(lambda x, k: 0.9 * x + k, lambda y, k: (y - k) / 0.9)
PROGRAMS = {"orbit": (orbit, 0.7), "layers": (layers, np.linspace(0.2, 0.8, 6)), "one": (one_number, 0.4)}


def on_path(g, path):
    return g if path == "eager" else mo.jit(g, target=path)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradient_is_that_of_the_stored_loop(name, path):
    f, k = PROGRAMS[name]
    found = on_path(lambda x, k: mo.gradient(lambda x, k: mo.checkpoint(f, x, k, policy="inverse"), x, k), path)(X, k)
    for a, b in zip(found, mo.gradient(f, X, k), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize("path", PATHS)
def test_a_loop_of_unknown_length(path):
    g = on_path(lambda x, k: mo.gradient(lambda x, k: mo.checkpoint(orbit_until, x, k, policy="inverse"), x, k), path)
    for a, b in zip(g(X, 0.9), mo.gradient(orbit_until, X, 0.9), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize("path", PATHS)
def test_the_second_derivative(path):
    f = lambda s: mo.checkpoint(orbit, s * X, 0.7, policy="inverse")  # noqa: E731
    expected = mo.grad(mo.grad(lambda s: orbit(s * X, 0.7)))(1.1)
    assert on_path(mo.grad(mo.grad(f)), path)(1.1) == pytest.approx(expected, rel=1e-8)


def test_without_the_policy_it_is_an_ordinary_function():
    assert STEP(1.0, 2.0, 0.5, 0.1) == leapfrog(1.0, 2.0, 0.5, 0.1)
    np.testing.assert_allclose(mo.grad(orbit)(X, 0.7), mo.jit(mo.grad(orbit))(X, 0.7), rtol=1e-12)


def test_the_drift_is_reported():
    mo.grad(lambda x: mo.checkpoint(orbit, x, 0.7, policy="inverse"))(X)
    assert 0 < STEP.drift < 1e-12


@pytest.mark.parametrize("path", PATHS)
def test_a_wrong_inverse_is_refused_with_its_drift(path):
    wrong = mo.invertible(leapfrog, lambda q, p, k, dt: (q - dt * p, p))

    def f(q):
        p = 0.3 * q
        for _ in range(10):
            q, p = wrong(q, p, 0.5, 0.1)
        return np.sum(q)

    g = on_path(mo.grad(lambda q: mo.checkpoint(f, q, policy="inverse")), path)
    with pytest.raises(
        mo.BadInput, match=r"the inverse of leapfrog does not lead back .* its drift is 0\.\d+, and 1e-06"
    ):
        g(X)


def test_memory_does_not_grow_with_the_number_of_steps():
    def run(x, steps):
        y = 0.5 * x
        for _ in range(steps):
            x, y = STEP(x, y, 0.5, 0.01)
        return np.sum(x * y)

    def peak(steps):
        g = mo.grad(lambda x: mo.checkpoint(run, x, steps, policy="inverse"))
        g(x)
        tracemalloc.start()
        try:
            g(x)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    x = np.ones(10_000)
    assert peak(200) < 1.5 * peak(20)


@pytest.mark.parametrize("target", ["native", "xla"])
def test_compiled_programs_hold_nothing_for_each_step(target):
    g = mo.jit(mo.grad(lambda x: mo.checkpoint(orbit, x, 0.7, policy="inverse")), target=target)
    assert "[40" not in g.lower(X).as_text() and "stack" not in g.lower(X).as_text()


def no_step(q):
    for _ in range(30):
        q = np.sin(q)
    return np.sum(q)


def another_variable(q):
    p, total = q, 0.0
    for _ in range(30):
        q, p = STEP(q, p, 0.5, 0.1)
        total = total + np.sum(q * total)
    return total


def other_arguments(q):
    p = q
    for _ in range(30):
        q, p = STEP(2 * q, p, 0.5, 0.1)
    return np.sum(q)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f", [no_step, another_variable, other_arguments], ids=lambda f: f.__name__)
def test_loops_that_no_inverse_reverses(f, path):
    with pytest.raises(mo.BadInput, match="cannot be reversed by an inverse: "):
        on_path(mo.grad(lambda x: mo.checkpoint(f, x, policy="inverse")), path)(X)


def test_bad_input():
    with pytest.raises(mo.BadInput):
        mo.invertible(3, leapfrog)
    with pytest.raises(mo.BadInput):
        mo.invertible(leapfrog, None)
    short = mo.invertible(leapfrog, lambda q, p, k, dt: q)

    def f(q):
        p = q
        for _ in range(3):
            q, p = short(q, p, 0.5, 0.1)
        return np.sum(q)

    for path in PATHS:
        with pytest.raises(mo.BadInput, match="the inverse of leapfrog returns 1 values for a state of 2"):
            on_path(mo.grad(lambda x: mo.checkpoint(f, x, policy="inverse")), path)(X)
