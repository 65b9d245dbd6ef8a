"""Loops whose backward sweep makes iterations again in their typed form: the gradient, and what falls back to the tape."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.core.eager.recorded import recomputed_loops

N = 5_000
RNG = np.random.default_rng(3)
X, K = RNG.normal(size=N), RNG.uniform(0.5, 1.0, N)


@pytest.fixture
def used(monkeypatch):
    """The loops for which a typed form was asked, and whether there was one."""
    found = []
    find = recomputed_loops.typed_iterations

    def noted(*args):
        made = find(*args)
        found.append(made is not None)
        return made

    monkeypatch.setattr(recomputed_loops, "typed_iterations", noted)
    return found


def agrees(f, *args, policy=None, memory=None):
    found = mo.gradient(lambda *a: mo.checkpoint(f, *a, policy=policy, memory=memory), *args)
    for a, b in zip(found, mo.gradient(f, *args), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def stencil(x, k):
    """The two variables are one array at first."""
    u = v = x
    for _ in range(30):
        lap = np.zeros_like(u)
        lap[1:-1] = u[2:] + u[:-2] - 2 * u[1:-1]
        u, v = 2 * u - v + k * lap, u
    return np.sum(np.sin(u))


def with_numbers(x, k):
    total, t = np.float64(0.0), 1.0
    for i in range(30):
        x = x * np.cos(t * k) + 0.1 * i
        t = t * 0.9
        total = total + np.sum(np.tanh(x)) * t
    return total


def of_a_closure(x, k):
    def f(y):
        return np.sin(k * y)

    for _ in range(30):
        x = x + 0.1 * f(x)
    return np.sum(x * x)


def over_an_array(x, k):
    for w in k[:30]:
        x = np.tanh(w * x) + w
    return np.sum(x)


def until(x, k):
    while np.sum(x * x) > 50.0:
        x = x * 0.9 - 0.01 * np.sin(k * x)
    return np.sum(x)


def with_a_branch(x, k):
    for _ in range(20):
        if np.sum(x) > 0.0:
            x = x - 0.2 * np.abs(k * x)
        else:
            x = x + 0.3 * k
    return np.sum(x * x)


class Model:
    def __init__(self, k):
        self.k, self.rate = k, 0.1

    def step(self, x):
        return x - self.rate * np.sin(self.k * x)


def of_an_object(x, k):
    model = Model(k * k)
    for _ in range(30):
        x = model.step(x)
    return np.sum(x * x)


POLICIES = [
    {"policy": "sqrt"},
    {"policy": mo.revolve(4)},
    {"memory": "2MB"},
    {"policy": "recompute"},
    {"policy": "offload"},
]


@pytest.mark.parametrize("given", POLICIES, ids=str)
@pytest.mark.parametrize("f", [stencil, with_numbers, over_an_array, with_a_branch, of_an_object, of_a_closure])
def test_the_gradient_is_that_of_the_stored_loop(f, given, used):
    agrees(f, X, K, **given)
    assert used == [True]


def test_a_while_loop():
    agrees(until, X, K, policy=mo.online(4))


@pytest.mark.parametrize("given", POLICIES[:3], ids=str)
def test_iterations_that_have_no_typed_form_are_recorded(given, used):
    """They keep values elsewhere, or a function in them uses a number that the run has computed."""
    kept = []

    def that_appends(x, k):
        for _ in range(20):
            x = np.sin(k * x)
            kept.append(1)
        return np.sum(x)

    def of_a_computed_number(x, k):
        s = np.sum(k) / N

        def scaled(y):
            return s * y

        for _ in range(20):
            x = np.sin(scaled(x)) + x
        return np.sum(x)

    for f in (that_appends, of_a_computed_number):
        agrees(f, X, K, **given)
    assert used == [False, False]


def test_types_that_change_on_the_way():
    def f(x, k):
        for i in range(20):
            x = np.concatenate([x, x[:1]]) if i == 10 else x * k[0] + np.sin(x)
        return np.sum(x)

    agrees(f, X, K, policy="sqrt")
    agrees(f, X, K, memory="3MB")


def test_a_zero_cotangent_that_meets_an_infinite_slope():
    """The sweep is repeated with strong products, on recorded iterations."""

    def f(x, k):
        for _ in range(10):
            x = np.where(x > 0.0, np.sqrt(np.maximum(x, 0.0)) * k, 0.0)
        return np.sum(x)

    x = np.where(np.arange(N) % 3 == 0, 0.0, np.abs(X))
    agrees(f, x, K, policy="sqrt")
    assert np.all(np.isfinite(mo.grad(lambda x: mo.checkpoint(f, x, K, policy="sqrt"))(x)))


def test_own_derivatives_are_those_of_the_sweep():
    def clipped(x):
        return np.sin(x)

    @mo.adjoint(clipped)
    def _(x):
        return np.sin(x), lambda dy: np.clip(dy, -0.1, 0.1)

    def f(x, k):
        for _ in range(12):
            x = clipped(x) + k
        return np.sum(x * x)

    agrees(f, X, K, policy="sqrt")


def test_explain_says_what_an_eager_loop_holds():
    g = mo.grad(lambda x: mo.checkpoint(stencil, x, K, policy="sqrt"))
    line = stencil.__code__.co_firstlineno + 3
    assert g.explain(X).startswith(
        f"the loop at line {line} (sqrt): 5 snapshots of 80 kB, segments of 6 iterations, 1.00 extra forward passes, about"
    )
    assert mo.grad(lambda x: np.sum(x * x)).explain(X) == "no loop of a checkpointed call has a memory policy"
