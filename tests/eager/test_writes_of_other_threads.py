"""Writes of another thread to an object under differentiation are kept, with a right gradient or an error."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import morula as mo

TIMEOUT = 30


class Tagged(np.ndarray):
    pass


def memory():
    return np.arange(24.0).reshape(4, 6)


ARRAYS = {
    "plain": lambda: np.array([1.0, 2.0]),
    "with NaN": lambda: np.array([1.0, np.nan, 2.0])[[0, 2, 1]],
    "single precision": lambda: np.array([1.0, 2.0], np.float32),
    "complex": lambda: np.array([1.0, 2j]),
    "not contiguous": lambda: memory()[::2, ::-3],
    "transposed": lambda: memory().T,
    "no dimensions": lambda: np.array(3.0),
    "of a class of its own": lambda: np.array([1.0, 2.0]).view(Tagged),
}


class Model:
    def __init__(self, w):
        self.w, self.b, self.numbers, self.table = w, 3.0, [1.0, 2.0], {"a": 1.5, "b": 2.5}


def first(w):
    return w[(0,) * w.ndim]


class Flag:
    """An event of which a recorded run does not know that it is one: it waits for nothing, it looks again and again."""

    def __init__(self):
        self.up = False

    def set(self):
        self.up = True

    def wait(self, timeout):
        end = time.monotonic() + timeout
        while not self.up and time.monotonic() < end:
            time.sleep(1e-4)
        return self.up


def meanwhile(model, act, f=lambda m: m.b**2, derivative=mo.grad, event=Flag):
    """The derivative at ``model``, while ``act(model)`` runs in another thread; its result, or the error."""
    inside, done = event(), event()

    def g(m):
        inside.set()
        assert done.wait(TIMEOUT)
        return f(m)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(derivative(g), model)
        try:
            assert inside.wait(TIMEOUT)
            act(model)
        finally:
            done.set()
        return running.exception() or running.result()


def write(m):
    m.w[(0,) * m.w.ndim] = 7.0


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize(
    "act", [write, lambda m: np.multiply(m.w, 3.0, out=m.w), lambda m: m.w.fill(5.0)], ids=["entry", "out", "fill"]
)
def test_a_write_in_place_is_kept_and_the_run_refused(kind, act):
    model, plain = Model(ARRAYS[kind]()), Model(ARRAYS[kind]())
    w = model.w
    error = meanwhile(model, act)
    act(plain)
    assert isinstance(error, mo.BadInput)
    assert "another thread, or code that is not recorded, has written in place" in str(error)
    assert "Give each thread a copy" in str(error) and len(str(error)) < 400
    assert model.w is w and np.array_equal(w, plain.w, equal_nan=True)
    assert mo.grad(lambda m: m.b**2)(model).b == 6.0


@pytest.mark.parametrize("kind", ARRAYS)
def test_a_write_in_place_that_the_run_waits_for_is_kept_and_refused_only_if_it_is_read(kind):
    model, plain = Model(ARRAYS[kind]()), Model(ARRAYS[kind]())
    g = meanwhile(model, write, event=threading.Event)
    write(plain)
    assert g.b == 6.0 and np.array_equal(model.w, plain.w, equal_nan=True)

    def reading(m):
        return abs(first(m.w)) ** 2 * m.b

    error = meanwhile(model, lambda m: m.w.fill(5.0), reading, event=threading.Event)
    assert isinstance(error, mo.NoDerivative) and "a thread started before the differentiated function" in str(error)
    assert np.all(model.w == 5.0)


@pytest.mark.parametrize("kind", ARRAYS)
def test_a_write_into_an_array_that_the_thread_had_before_is_kept_and_the_gradient_right(kind):
    """The run differentiates what the object held when it began."""
    model = Model(ARRAYS[kind]())
    w = model.w
    g = meanwhile(model, lambda m: w.fill(7.0), lambda m: abs(first(m.w)) ** 2 * m.b)
    assert model.w is w and np.all(w == 7.0)
    assert g.b == pytest.approx(abs(first(ARRAYS[kind]())) ** 2)


def delete(m):
    del m.table["a"], m.w


ACTS = {
    "stores a new array": (lambda m: setattr(m, "w", np.zeros(2)), lambda m: np.all(m.w == 0)),
    "stores a number": (lambda m: setattr(m, "b", 9.0), lambda m: m.b == 9.0),
    "stores in a dict": (lambda m: m.table.update(a=9.0, c=8.0), lambda m: m.table == {"a": 9.0, "b": 2.5, "c": 8.0}),
    "appends": (lambda m: m.numbers.append(3.0), lambda m: m.numbers == [1.0, 2.0, 3.0]),
    "inserts": (lambda m: m.numbers.insert(0, 3.0), lambda m: m.numbers == [3.0, 1.0, 2.0]),
    "removes": (lambda m: m.numbers.pop(0), lambda m: m.numbers == [2.0]),
    "deletes": (delete, lambda m: m.table == {"b": 2.5} and not hasattr(m, "w")),
    "reads in a loop": (
        lambda m: [np.testing.assert_array_equal(m.w, [1.0, 2.0]) for _ in range(200)],
        lambda m: m.b == 3.0,
    ),
}


def own_write(m):
    m.w[0] = m.b
    return m.w[0] ** 2


def raising(m):
    raise KeyError("mine")


@pytest.mark.parametrize("act", ACTS)
def test_changes_of_containers_and_objects_are_kept_and_gradients_right(act):
    """The caller's own numbers and arrays are in all places that the other thread has left alone."""
    model = Model(np.array([1.0, 2.0]))
    mine = {id(x) for x in (model.w, model.b, *model.numbers, *model.table.values())}
    change, holds = ACTS[act]
    numbers = model.w
    g = meanwhile(model, change, lambda m: numbers[0] + m.table["b"] ** 2)
    assert g.table["b"] == 5.0 and g.numbers == [0.0, 0.0]
    assert holds(model)
    for x in (getattr(model, "w", model.b), model.b, *model.numbers, *model.table.values()):
        assert id(x) in mine or any(np.array_equal(x, y) for y in (0.0 * numbers, 9.0, 8.0, 3.0))


def test_a_run_that_raises_keeps_the_write_and_its_own_exception():
    model = Model(np.array([1.0, 2.0]))
    error = meanwhile(model, write, raising)
    assert isinstance(error, KeyError) and model.w.tolist() == [7.0, 2.0]


def test_writes_of_the_run_and_of_another_thread_are_both_kept():
    model = Model(np.array([1.0, 2.0]))
    meanwhile(model, lambda m: m.w.__setitem__(1, 7.0), own_write)
    assert model.w.tolist() == [3.0, 7.0]


def test_nested_runs():
    model = Model(np.array([1.0, 2.0]))

    def outer(derivative):
        return lambda g: lambda m: mo.grad(lambda n: derivative(g)(n).b * n.b)(m)

    error = meanwhile(model, write, derivative=outer(mo.grad))
    assert isinstance(error, mo.BadInput) and model.w.tolist() == [7.0, 2.0]
    assert meanwhile(model, lambda m: None, derivative=outer(mo.grad)).b == 12.0


def test_an_array_in_two_places_and_views_of_one_memory():
    w = np.array([1.0, 2.0])
    model = Model(w)
    model.table["same"] = w
    error = meanwhile(model, write)
    assert isinstance(error, mo.BadInput)
    assert w.tolist() == [7.0, 2.0] and model.table["same"] is w

    base = np.array([1.0, 2.0, 3.0])
    model = Model(base[:2])
    model.table["tail"] = base[1:]
    error = meanwhile(model, lambda m: m.table["tail"].fill(5.0))
    assert isinstance(error, mo.BadInput) and base.tolist() == [1.0, 5.0, 5.0]


def test_a_read_only_array_stays_so_in_the_run():
    model = Model(np.array([1.0, 2.0]))
    model.w.flags.writeable = False
    found = []

    def act(m):
        with pytest.raises(ValueError, match="read-only"):
            m.w[0] = 3.0
        found.append(m.w[0])

    assert meanwhile(model, act, lambda m: m.w[0] ** 2 * m.b).w.tolist() == [6.0, 0.0]
    assert found == [1.0]
    with pytest.raises(ValueError, match="read-only"):
        mo.grad(own_write)(model)
    with pytest.raises(ValueError, match="read-only"):
        mo.grad(lambda m: mo.grad(own_write)(m).b)(model)
    assert model.w.tolist() == [1.0, 2.0] and not model.w.flags.writeable


def test_writes_of_the_run_in_a_program_with_threads(check):
    """A write that is recorded, in the run or in a thread that it starts, is none of another thread's."""

    def f(w, b):
        model = Model(w)
        thread = threading.Thread(target=lambda: model.w.__setitem__(0, b * b))
        thread.start()
        thread.join()
        model.w[1] = b
        return np.sum(model.w * model.w)

    stop = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(stop.wait, TIMEOUT)
        try:
            g = mo.grad(lambda m: f(m.w, m.b))(Model(np.array([1.0, 2.0])))
        finally:
            stop.set()
    assert g.b == pytest.approx(4 * 27.0 + 6.0) and g.w.tolist() == [0.0, 0.0]
