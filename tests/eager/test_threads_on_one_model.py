"""Derivatives of one model from several threads at once."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import morula as mo
from morula.core.eager.unrecorded import claims
from morula.core.values import passing

THREADS = 8
TIMEOUT = 60  # of waits for a thread that may have failed


@pytest.fixture(autouse=True)
def _quick_switches():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)
    assert not claims._claims and not claims._waiting


def at_once(work, threads=THREADS, rounds=5):
    """``work(k)`` in each of some threads, started together in each round; its results, or the error of one that failed."""
    barrier = threading.Barrier(threads)
    errors = []

    def run(k):
        found = []
        for _ in range(rounds):
            try:
                barrier.wait(TIMEOUT)
                found.append(work(k))
            except threading.BrokenBarrierError:
                break
            except BaseException as error:
                errors.append(error)
                barrier.abort()  # the others would wait for this one for ever
                break
        return found

    with ThreadPoolExecutor(threads) as pool:
        results = [result for found in pool.map(run, range(threads)) for result in found]
    if errors:
        raise errors[0]
    return results


class Layer:
    def __init__(self, w, b):
        self.w, self.b = w, b
        self.count = 2

    def __call__(self, x):
        return np.tanh(self.w @ x + self.b) * self.count


class Model:
    def __init__(self, size=3):
        rng = np.random.default_rng(0)
        self.layers = [Layer(rng.normal(size=(2, 2)), rng.normal(size=2)) for _ in range(size)]
        self.scale = 1.5
        self.settings = {"power": 2, "shift": 0.25}
        self.head = self.layers[0].w

    def loss(self, x):
        for layer in self.layers:
            x = layer(x)
        return (
            self.scale * (1.0 + np.sum(self.head @ x) ** 2) ** self.settings["power"]
            + self.settings["shift"] * self.scale
        )


def leaves(x, found=None):
    found = [] if found is None else found
    if isinstance(x, (float, int, np.ndarray)) or x is None:
        found.append(x)
    else:
        for e in x if isinstance(x, list) else x.values() if isinstance(x, dict) else vars(x).values():
            leaves(e, found)
    return found


def same(a, b):
    return all(np.array_equal(x, y) for x, y in zip(leaves(a), leaves(b), strict=True))


X = np.array([0.3, -0.4])


def loss(model, x):
    return model.loss(x)


@pytest.mark.parametrize(
    "derivative",
    [
        mo.grad(loss),
        lambda m, x: mo.value_and_grad(loss)(m, x)[1],
        lambda m, x: mo.pullback(loss, m, x)[1](1.0)[0],
        lambda m, x: mo.grad(lambda p, x: loss(p["model"], x))({"model": m}, x)["model"],
    ],
    ids=["grad", "value_and_grad", "pullback", "held by another"],
)
def test_gradients_of_one_model_from_eight_threads_are_those_of_one(derivative):
    model = Model()
    mine = leaves(model)
    expected = [derivative(model, X * k) for k in range(THREADS)]
    found = at_once(lambda k: (k, derivative(model, X * k)))
    assert all(same(g, expected[k]) for k, g in found)
    assert all(a is b for a, b in zip(mine, leaves(model), strict=True))


@pytest.mark.parametrize("make", [lambda: [2.0, 3.0], lambda: {0: 2.0, 1: 3.0}, lambda: [2, np.array(3.0)]])
def test_numbers_in_containers(make):
    box = make()
    mine = leaves(box)

    def f(b):
        total = 0.0
        for _ in range(20):
            total = total + b[0] * b[1] * b[0]
        return total

    expected = mo.grad(f)(box)
    assert all(same(g, expected) for g in at_once(lambda k: mo.grad(f)(box)))
    assert all(a is b for a, b in zip(mine, leaves(box), strict=True))


def test_nested_derivatives_of_one_object():
    model = Layer(2.0, 3.0)

    def inner(m):
        return m.w**3 * m.b

    def outer(m):
        return mo.grad(inner)(m).w * m.b  # 3 w^2 b^2

    for g in at_once(lambda k: mo.grad(outer)(model)):
        assert (g.w, g.b, g.count) == (108.0, 72.0, 0)
    assert (model.w, model.b) == (2.0, 3.0) and type(model.count) is int


def test_models_that_overlap_claimed_in_any_order():
    a, b = Layer(2.0, 3.0), Layer(5.0, 7.0)
    both = [{"first": a, "second": b}, [b, a], {"x": a}, [b]]
    first = [lambda h: h["first"].w, lambda h: h[1].w, lambda h: h["x"].w, lambda h: h[0].w]

    def work(k):
        i = k % 4
        return i, mo.grad(lambda h: first[i](h) ** 2)(both[i])

    for i, g in at_once(work):
        assert first[i](g) == (10.0 if i == 3 else 4.0)
    assert (a.w, b.w) == (2.0, 5.0)


def test_an_object_that_is_written_to_by_the_program():
    """Each run counts once, and what it caches is its own when it reads it."""
    model = Layer(2.0, 1.0)

    def f(m, x):
        m.count += 1
        m.cache = m.w * x
        return m.cache**2

    for k, g in at_once(lambda k: (k, mo.grad(f)(model, float(k)))):
        assert g.w == 4.0 * k * k
    assert model.count == 2 + THREADS * 5 and type(model.count) is int and type(model.cache) is float


def test_another_thread_that_only_evaluates_or_holds_the_model_constant_has_the_callers_values():
    model = Model()
    value = model.loss(X)
    by_x = mo.grad(lambda x: model.loss(x))(X)

    def work(k):
        if k % 4 == 0:
            mo.grad(loss)(model, X)
        elif k % 4 == 1:
            assert model.loss(X) == value
        elif k % 4 == 2:
            assert np.array_equal(mo.grad(lambda x: model.loss(x))(X), by_x)
        else:
            assert type(model.scale) is float and same(model, copy)

    copy = Model()
    at_once(work, rounds=20)


def test_containers_and_objects_are_always_the_callers_own():
    model = Model()
    mine = [model.layers, *model.layers, model.settings]
    done = threading.Event()

    def read():
        while not done.is_set():
            assert all(a is b for a, b in zip(mine, [model.layers, *model.layers, model.settings], strict=True))

    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(read)
        try:
            at_once(lambda k: mo.grad(loss)(model, X), rounds=3)
        finally:
            done.set()
        reader.result()


def test_what_another_thread_stores_meanwhile_stays():
    model = Layer(2.0, 3.0)
    inside, stored = threading.Event(), threading.Event()

    def f(m):
        inside.set()
        assert stored.wait(TIMEOUT)
        return m.b**2

    with ThreadPoolExecutor(1) as pool:
        g = pool.submit(mo.grad(f), model)
        assert inside.wait(TIMEOUT)
        model.w, model.new = 5.0, "new"
        stored.set()
        assert g.result().b == 6.0
    assert (model.w, model.b, model.new) == (5.0, 3.0, "new")


def test_an_error_in_one_thread_frees_what_it_held():
    model = Layer(2.0, 3.0)

    def f(m):
        if m.count > 1:
            raise KeyError("mine")

    for outcome in at_once(lambda k: pytest.raises(KeyError, mo.grad(f), model)):
        assert outcome.type is KeyError
    assert (model.w, model.b) == (2.0, 3.0)


def test_two_runs_that_wait_for_each_others_objects_are_refused_not_stuck():
    a, b = Layer(2.0, 3.0), Layer(5.0, 7.0)
    inside = threading.Barrier(2, timeout=TIMEOUT)

    def work(k):
        mine, other = ((a, b), (b, a))[k]

        def f(m):
            inside.wait()
            return m.w * mo.grad(lambda n: n.w**2)(other).w

        try:
            return mo.grad(f)(mine).w
        except mo.BadInput as error:
            return str(error)

    found = at_once(work, threads=2, rounds=1)
    refused = [e for e in found if isinstance(e, str)]
    assert len(refused) == 1 and [e for e in found if e in (4.0, 10.0)]
    assert "another thread is differentiating the same Layer object and waits for an object" in refused[0]
    assert "give each thread its own copy (copy.deepcopy)" in refused[0]
    assert (a.w, b.w) == (2.0, 5.0)


def test_a_run_that_waits_for_a_thread_which_waits_for_it_is_refused(monkeypatch):
    monkeypatch.setattr(claims, "PATIENCE", 0.2)
    model = Layer(2.0, 3.0)
    asked, answered = threading.Event(), threading.Event()
    found = []

    def elsewhere():
        try:
            assert asked.wait(TIMEOUT)
            mo.grad(lambda n: n.w**2)(model)
        except Exception as error:
            found.append(str(error))
        finally:
            answered.set()

    def f(m):
        asked.set()
        assert answered.wait(TIMEOUT)
        return m.w

    with ThreadPoolExecutor(1) as pool:
        pool.submit(elsewhere)
        assert mo.grad(f)(model).w == 1.0
    assert "the same Layer object and has been waiting for another thread for 0.2 seconds" in found[0]


def test_a_thread_that_a_run_starts_may_differentiate_what_the_run_differentiates():
    model = Layer(2.0, 3.0)

    def f(m):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: mo.grad(lambda n: n.w**3)(m).w).result()

    assert mo.grad(f)(model).w == 12.0


def test_deep_recursion_in_several_threads():
    """The limit of recursion that one run raises stays until the last one has ended."""
    limit = sys.getrecursionlimit()

    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    def f(m, n):
        return power(m.w, n)

    model = [Layer(1.0, 0.0) for _ in range(THREADS)]
    for k, g in at_once(lambda k: (k, mo.grad(f)(model[k], 20 * (k + 1)))):
        assert g.w == 20 * (k + 1)
    assert sys.getrecursionlimit() == limit


def test_a_run_that_cannot_let_the_other_one_go_on_is_refused(monkeypatch):
    """As in a ``__del__`` that the collector calls while the engine holds its lock, or in a function that is being compiled."""
    monkeypatch.setattr(claims, "PATIENCE", 0.2)
    model = Layer(2.0, 3.0)
    inside, refused = threading.Event(), threading.Event()

    def f(m):
        inside.set()
        assert refused.wait(TIMEOUT)
        return m.w

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(mo.grad(f), model)
        try:
            assert inside.wait(TIMEOUT)
            with claims.lock, pytest.raises(mo.BadInput, match="another thread is differentiating the same Layer"):
                mo.grad(lambda n: n.w**2)(model)
        finally:
            refused.set()
        assert running.result().w == 1.0


def test_caches_are_evicted_while_other_threads_fill_them(monkeypatch):
    monkeypatch.setattr(passing, "MOST_PASSING", 4)

    def work(k):
        found = []
        for n in range(6):
            names = {}
            exec(f"def scaled(x, w):\n    return x * w * {n + k}.0\ndef f(x):\n    return scaled(x, x) + [x][0]", names)
            found.append(mo.grad(names["f"])(2.0) == 4.0 * (n + k) + 1.0)
            found.append(mo.grad(names["scaled"])(2.0, 3.0) == 3.0 * (n + k))
        return all(found)

    assert all(at_once(work))
