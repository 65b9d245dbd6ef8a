"""Loops that are reversed by inverses which follow from their iterations: gradients, drift, memory, refusals."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import morula as mo

PATHS = ["eager", "native", "xla"]
X = np.linspace(0.1, 1.0, 5)


def leapfrog(q, k):
    p = 0.3 * q
    for i in range(40):
        p = p - 0.01 * (i + 1) * k * np.sin(q)
        q = q + 0.01 * p
    return np.sum(q * q) + np.sum(np.cos(p))


def in_place(q, k):
    """Writes into arrays and parts of them, and a number that counts on."""
    q, p, t = q * 1.0, q * 0.3, 0.0
    for i in range(40):
        p -= 0.1 * np.sin(q) * (i + 1) * k
        q[1:] += 0.1 * p[:-1]
        t += 0.1
        q *= 1.01
    return np.sum(q * q * t)


def wave(u, c):
    v = u
    for _ in range(40):
        lap = np.zeros_like(u)
        lap[1:-1] = u[2:] + u[:-2] - 2 * u[1:-1]
        u, v = 2 * u - v + c * lap, u
    return np.sum(u * u)


def couplings(x, w):
    """Affine and additive layers on the parts of a vector."""
    n = 2
    for _ in range(30):
        a, b = x[:n], x[n:]
        b = b * np.exp(0.1 * np.tanh(w * a.sum())) + w * np.sin(a.sum())
        a = a + np.tanh(b[:2])
        x = np.concatenate([b, a])
    return np.sum(x * x)


def coupling_in_place(x, w):
    x = x.copy()
    for _ in range(30):
        x[:2] += w * np.tanh(x[2:4])
        x[2:] *= 1.0 + 0.1 * np.cos(x[1])
    return np.sum(x * x)


def with_a_total(q, k):
    p, total = q * 1.0, 0.0
    for _ in range(30):
        p -= k * q * 0.01
        q = q + 0.01 * p
        total += np.sum(q * q)
    return total


def until(q, k):
    p = q * q
    while np.sum(p) > 0.5:
        p = p - 0.05 * k * np.sin(q)
        q = q + 0.05 * p
    return np.sum(q)


def over_weights(x, k):
    y = 1.0 - x
    for w in np.linspace(0.1, 0.5, 40) * k:
        x, y = y, x * (1.0 + w**2) + w * np.sin(y)
    return np.sum(x * y)


def of_functions(x, k):
    """Functions with an inverse, one in the other."""
    for _ in range(6):
        x = np.sqrt(np.log1p(np.exp(-(k - x))) / 1.5)
    return np.sum(np.arcsinh(np.sinh(x)))


def of_numbers(x, k):
    a, b = x[0], x[1]
    for _ in range(40):
        a = a + 0.1 * np.sin(b) * k
        b = (b - 0.1 * a) / 1.01
    return a * b


def overwritten_in_full(x, k):
    q, p, seen = 1.0 * x, 0.5 * x, 1.0 * x
    for _ in range(12):
        seen[:] = q
        p = p - 0.1 * k * np.sin(seen)
        q = q + 0.1 * p
    return np.sum(q * seen)


PROGRAMS = [
    leapfrog,
    in_place,
    wave,
    couplings,
    coupling_in_place,
    with_a_total,
    until,
    over_weights,
    of_functions,
    of_numbers,
    overwritten_in_full,
]


def on_path(g, path):
    return g if path == "eager" else mo.jit(g, target=path)


def gradients(f, policy):
    return lambda x, k: mo.gradient(lambda x, k: mo.checkpoint(f, x, k, policy=policy), x, k)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_the_gradient_is_that_of_the_stored_loop_and_the_drift_is_reported(f, path):
    policy = mo.inverse()
    assert policy.drift is None
    found = on_path(gradients(f, policy), path)(X, 0.7)
    for a, b in zip(found, mo.gradient(f, X, 0.7), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)
    assert policy.drift is not None and 0 <= policy.drift < 1e-9


@pytest.mark.parametrize("path", PATHS)
def test_random_steps(path):
    """Each variable in turn is changed by a random function of the others, in a form that can be solved for it."""
    rng = np.random.default_rng(7)
    for _ in range(2 if path == "xla" else 6):
        order = [(rng.integers(3), rng.integers(5), *rng.uniform(0.5, 1.5, 2)) for _ in range(4)]

        def f(x, k, order=order):
            values = [x, 1.0 - x, x * x]
            a, b, c = values
            for _ in range(20):
                values = [a, b, c]
                for i, form, r, s in order:
                    y, others = values[i], np.sin(r * values[i - 1]) + s * np.cos(values[i - 2])
                    values[i] = [
                        lambda: y + 0.1 * others,  # noqa: B023
                        lambda: k * others - y,  # noqa: B023
                        lambda: y * (1.0 + 0.05 * others),  # noqa: B023
                        lambda: (y - others) / (1.0 + 0.02 * s),  # noqa: B023
                        lambda: np.negative(y) + others * k,  # noqa: B023
                    ][form]()
                a, b, c = values
            return np.sum(a * b + np.sin(c))

        for a, b in zip(on_path(gradients(f, "inverse"), path)(X, 0.7), mo.gradient(f, X, 0.7), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("path", PATHS)
def test_the_second_derivative(path):
    f = lambda s: mo.checkpoint(leapfrog, s * X, 0.7, policy="inverse")  # noqa: E731
    expected = mo.grad(mo.grad(lambda s: leapfrog(s * X, 0.7)))(1.1)
    assert on_path(mo.grad(mo.grad(f)), path)(1.1) == pytest.approx(expected, rel=1e-8)


def pushed(q, p):
    for _ in range(12):
        p += 0.1 * np.sin(q)
        q += 0.1 * p
    return q


def test_arrays_of_the_caller_are_changed_as_the_loop_changes_them():
    """The sweep leaves the arrays as the run did; uses before and after the loop have their own cotangents."""

    def f(x, policy):
        q, p = 1.0 * x, 0.5 * x
        before = q * q
        mo.checkpoint(pushed, q, p, policy=policy)
        return np.sum(before) + np.sum(q * p)

    np.testing.assert_allclose(mo.grad(f)(X, "inverse"), mo.grad(f)(X, "store"), rtol=1e-9)
    q, p = X.copy(), 0.5 * X
    y, back = mo.pullback(lambda q, p: mo.checkpoint(pushed, q, p, policy="inverse"), q, p)
    expected = pushed(X.copy(), 0.5 * X)
    assert y is q
    np.testing.assert_array_equal(q, expected)
    back(np.ones(5))
    np.testing.assert_array_equal(q, expected)


def test_memory_does_not_grow_with_the_number_of_steps():
    def run(x, steps):
        u, v = x, 0.5 * x
        for _ in range(steps):
            v = v - 0.01 * np.sin(u)
            u = u + 0.01 * v
        return np.sum(u * v)

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
    assert peak(100) < 1.2 * peak(20)


def test_a_loop_in_a_batch():
    def f(x):
        return mo.checkpoint(of_numbers, x, 0.7, policy="inverse")

    xs = np.linspace(0.1, 1.0, 8).reshape(4, 2)
    for g in (mo.vmap(mo.grad(f)), mo.jit(mo.vmap(mo.grad(f)), target="xla")):
        np.testing.assert_allclose(g(xs), [mo.grad(f)(x) for x in xs], rtol=1e-9)


def rounded(x):
    total = 0.0
    for _ in range(40):
        x = 1e-3 * x + np.cos(0.1)
        total += np.sum(x * x)
    return total


def multiplied_by_zero(x):
    total = 0.0
    for i in range(20):
        x = x * (i - 3.0) + 1.0
        total += np.sum(x * x)
    return total


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f, drift", [(rounded, r"\S+"), (multiplied_by_zero, "nan")], ids=["rounded", "zero"])
def test_a_step_that_loses_its_state_is_refused_with_its_drift(f, drift, path):
    """A contraction, whose state is rounded away, and a product with 0."""
    message = f"the inverse of an iteration.* does not lead back .*: its drift is {drift}, and 1e-06"
    with pytest.raises(mo.BadInput, match=message):
        on_path(mo.grad(lambda x: mo.checkpoint(f, x, policy="inverse")), path)(X)


def test_the_tolerance_is_that_of_the_policy():
    f = lambda x, policy: mo.checkpoint(leapfrog, x, np.float32(0.7), policy=policy)  # noqa: E731
    x = X.astype(np.float32)
    np.testing.assert_allclose(mo.grad(f)(x, mo.inverse(1e-3)), mo.grad(f)(x, "store"), rtol=1e-3)
    with pytest.raises(mo.BadInput, match="its drift is .*, and 1e-12 was allowed"):
        mo.grad(f)(x, mo.inverse(1e-12))


def squared(x):
    for _ in range(30):
        x = np.sin(x)
    return np.sum(x)


def both_from_both(q):
    p = q * 0.5
    for _ in range(30):
        q, p = q + 0.1 * np.sin(p), p - 0.1 * np.sin(q)
    return np.sum(q)


def overwritten(q):
    p = q * 0.5
    for _ in range(30):
        p = q * 2.0
        q = q * 0.9 + 0.1 * np.sin(q)
    return np.sum(q * p)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("f, name", [(squared, "x"), (both_from_both, "p and q"), (overwritten, "q")])
def test_iterations_without_a_derived_inverse(f, name, path):
    names = name if path == "eager" else ".*"
    message = rf"the loop at .* cannot be reversed by an inverse: what {names} held before an iteration does not follow"
    with pytest.raises(mo.BadInput, match=message):
        on_path(mo.grad(lambda x: mo.checkpoint(f, x, policy="inverse")), path)(X)


def test_arrays_with_another_name_are_refused():
    def shared(x):
        q = p = 1.0 * x
        for _ in range(5):
            q += 0.1 * np.sin(p)
        return np.sum(q)

    def a_part(x):
        whole = 1.0 * x
        q = whole[1:]
        for _ in range(5):
            q += 0.1
        return np.sum(whole)

    kept = np.zeros(5)

    def of_an_outer_variable(x):
        for _ in range(5):
            kept[:] = x
            x = x + 0.1 * np.sum(kept)
        return np.sum(x)

    for f in (shared, a_part, of_an_outer_variable):
        with pytest.raises(mo.BadInput, match="cannot be reversed by an inverse: .* copy the array before the loop"):
            mo.grad(lambda x: mo.checkpoint(f, x, policy="inverse"))(X)  # noqa: B023


def test_eager_loops_that_cannot_be_traced_are_refused():
    table = [[0.1], [0.2, 0.3], [0.4]] * 10

    def by_index(x):
        for i in range(30):
            x = x + table[i][0]
        return np.sum(x)

    def of_lists(x):
        state = [x, x]
        for _ in range(30):
            state = [state[1], state[0] + 1.0]
        return np.sum(state[0])

    with pytest.raises(mo.BadInput, match="cannot be reversed by an inverse: .* declare the inverse with"):
        mo.grad(lambda x: mo.checkpoint(by_index, x, policy="inverse"))(X)
    with pytest.raises(mo.BadInput, match="its variables must be numbers and arrays; declare the inverse"):
        mo.grad(lambda x: mo.checkpoint(of_lists, x, policy="inverse"))(X)


@pytest.mark.parametrize("tolerance", [0, -1.0, "small", True])
def test_a_tolerance_that_is_none(tolerance):
    with pytest.raises(mo.BadInput, match="inverse: the tolerance must be a positive number, not"):
        mo.inverse(tolerance)
