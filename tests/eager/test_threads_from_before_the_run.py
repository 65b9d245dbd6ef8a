"""Values that a thread from before the run leaves in lists, dicts, attributes and arrays are refused or constant."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

import morula as mo
from morula.core.eager.unrecorded import locks

TIMEOUT = 30  # for waits of the tests alone, so that a thread that has failed ends the test


class Meeting:
    """The caller shows something to a worker and finds what the worker has left; how, the classes below say."""

    def show(self):
        raise NotImplementedError

    def find(self):
        raise NotImplementedError

    def await_shown(self):
        raise NotImplementedError

    def left(self):
        raise NotImplementedError


class Events(Meeting):
    def __init__(self):
        self.there, self.back = threading.Event(), threading.Event()

    def show(self):
        self.there.set()

    def find(self):
        assert self.back.wait(TIMEOUT)

    def await_shown(self):
        assert self.there.wait(TIMEOUT)

    def left(self):
        self.back.set()


class Conditions(Meeting):
    def __init__(self):
        self.condition, self.turn = threading.Condition(), 0

    def show(self):
        with self.condition:
            self.turn = 1
            self.condition.notify_all()

    def find(self):
        with self.condition:
            assert self.condition.wait_for(lambda: self.turn == 2, TIMEOUT)

    def await_shown(self):
        with self.condition:
            assert self.condition.wait_for(lambda: self.turn == 1, TIMEOUT)

    def left(self):
        with self.condition:
            self.turn = 2
            self.condition.notify()


class Barriers(Meeting):
    def __init__(self):
        self.barrier = threading.Barrier(2)

    def show(self):
        self.barrier.wait(TIMEOUT)

    find = await_shown = left = show


class Semaphores(Meeting):
    def __init__(self):
        self.there, self.back = threading.Semaphore(0), threading.BoundedSemaphore(1)
        self.back.acquire()

    def show(self):
        self.there.release()

    def find(self):
        assert self.back.acquire(timeout=TIMEOUT)

    def await_shown(self):
        assert self.there.acquire(timeout=TIMEOUT)

    def left(self):
        self.back.release()


class Locks(Meeting):
    def __init__(self):
        self.there, self.back = threading.Lock(), threading.Lock()
        self.there.acquire()
        self.back.acquire()

    def show(self):
        self.there.release()

    def find(self):
        assert self.back.acquire(True, TIMEOUT)

    def await_shown(self):
        assert self.there.acquire(True, TIMEOUT)

    def left(self):
        self.back.release()


class Polling(Meeting):
    """One lock that is taken again and again."""

    def __init__(self, kind):
        self.lock, self.turn = kind(), 0

    def show(self):
        with self.lock:
            self.turn = 1

    def find(self):
        self.until(2)

    def await_shown(self):
        self.until(1)

    def left(self):
        with self.lock:
            self.turn = 2

    def until(self, turn):
        while True:
            with self.lock:
                if self.turn == turn:
                    return


class Joining(Events):
    """The end of the thread."""

    thread: threading.Thread

    def find(self):
        self.thread.join()

    def left(self):
        pass


MEETINGS = {
    **{cls.__name__: cls for cls in (Events, Conditions, Barriers, Semaphores, Locks, Joining)},
    "with lock": lambda: Polling(threading.Lock),
    "with re-entrant lock": lambda: Polling(threading.RLock),
}

# Each takes what the caller has stored and stores the square of it: where, and what the caller then reads.
LEAVING = {
    "list": (lambda box: box.numbers.append(box.x**2), lambda box: box.numbers[-1]),
    "dict": (lambda box: box.table.update(y=box.x**2), lambda box: box.table["y"]),
    "attribute": (lambda box: setattr(box, "y", box.x**2), lambda box: box.y),
    "new object": (lambda box: setattr(box, "object", SimpleNamespace(z=[box.x**2])), lambda box: box.object.z[0]),
    "array": (lambda box: setattr(box, "fresh", np.array([box.x**2])), lambda box: box.fresh[0]),
    "entry of an array": (lambda box: box.array.__setitem__(1, box.x**2), lambda box: box.array[1]),
    "closure": (lambda box: box.put(box.x**2), lambda box: box.get()),
}


class Box:
    def __init__(self):
        self.x, self.y, self.numbers, self.table, self.array = 1.5, 2.5, [3.5], {"y": 4.5}, np.array([5.5, 6.5])
        self.object, self.fresh = SimpleNamespace(z=[8.5]), np.array([9.5])
        held = 7.5

        def put(y):
            nonlocal held
            held = y

        self.put, self.get = put, lambda: held


@contextmanager
def worker(meeting, work):
    """A thread that waits, does ``work()``, and says so."""
    failed = []

    def run():
        try:
            meeting.await_shown()
            work()
            meeting.left()
        except BaseException as error:
            failed.append(error)

    thread = meeting.thread = threading.Thread(target=run, daemon=True)
    thread.start()
    yield
    thread.join(TIMEOUT)
    assert not failed and not thread.is_alive()


def told(box, meeting, take):
    def f(x):
        box.x = x
        meeting.show()
        meeting.find()
        return take(box) * x

    return f


@pytest.mark.parametrize("kind", MEETINGS)
def test_refused_whatever_the_threads_wait_by(kind):
    meeting, box = MEETINGS[kind](), Box()
    leave, take = LEAVING["list"]
    with worker(meeting, lambda: leave(box)):
        with pytest.raises(mo.NoDerivative, match="a thread started before the differentiated function") as error:
            mo.grad(told(box, meeting, take))(3.0)
    assert f"{__file__}:" in str(error.value) and "Start the thread inside" in str(error.value)
    assert len(str(error.value)) < 450 and box.numbers[-1] == 9.0


@pytest.mark.parametrize("where", LEAVING)
def test_refused_wherever_it_is_left(where):
    meeting, box = Events(), Box()
    leave, take = LEAVING[where]
    with worker(meeting, lambda: leave(box)):
        with pytest.raises(mo.NoDerivative, match="a thread started before the differentiated function"):
            mo.grad(told(box, meeting, take))(3.0)
    assert take(box) == 9.0


@pytest.mark.parametrize("where", LEAVING)
def test_refused_in_a_derivative_of_a_derivative(where):
    meeting, box = Events(), Box()
    leave, take = LEAVING[where]
    with worker(meeting, lambda: leave(box)):
        with pytest.raises(mo.NoDerivative, match="a thread started before the differentiated function"):
            mo.grad(mo.grad(told(box, meeting, take)))(3.0)


@pytest.mark.parametrize("kind", MEETINGS)
@pytest.mark.parametrize("where", LEAVING)
def test_what_existed_before_passes(kind, where):
    """The thread changes something else; what the function reads is as it was, and its derivative is right."""
    meeting, box, other = MEETINGS[kind](), Box(), Box()
    leave, take = LEAVING[where]
    there = take(box) * 3.0
    with worker(meeting, lambda: (leave(other), box.numbers.insert(0, 1.0), box.x)):
        assert mo.grad(told(box, meeting, lambda box: take(box) * 3.0))(3.0) == there
    assert take(other) == 2.25


@pytest.mark.parametrize("kind", MEETINGS)
def test_what_the_run_itself_stores_passes(kind):
    meeting, box, rate = MEETINGS[kind](), Box(), 0.1 + 0.2

    def f(x):
        box.x = x
        box.numbers.append(x * x)
        box.array[0] = x**3
        box.table["rate"], box.table["ten"] = rate, 10.0
        meeting.show()
        box.numbers.append(x * rate * 2.0)
        box.table["later"], box.table["square"] = 11.0, rate**2
        box.array[1] = 4 * x
        meeting.find()
        return (
            sum(box.numbers[1:]) * box.table["ten"] * box.table["later"]
            + box.array[0] * box.array[1] * box.table["rate"] * box.table["square"]
        )

    with worker(meeting, lambda: box.x):
        g = mo.grad(f)(3.0)
    assert g == pytest.approx((2 * 3.0 + 2 * rate) * 110 + 16 * 27.0 * rate**3)


def test_a_value_that_does_not_bear_on_the_result_passes():
    meeting, box = Events(), Box()
    leave, take = LEAVING["list"]
    with worker(meeting, lambda: leave(box)):
        assert mo.vjp(lambda x: (told(box, meeting, take)(x), x * x), 3.0)[1]((0.0, 1.0)) == (6.0,)


def test_what_the_thread_makes_of_nothing_that_is_differentiated_is_a_constant():
    meeting, box = Events(), Box()

    def f(x):
        meeting.show()
        meeting.find()
        return box.y * x

    with worker(meeting, lambda: setattr(box, "y", box.x * 2.0 + 0.25)):
        assert mo.grad(f)(5.0) == 3.25


def test_what_the_thread_moves_keeps_its_derivative():
    meeting, box = Events(), Box()
    with worker(meeting, lambda: box.numbers.append(box.x)):
        assert mo.grad(told(box, meeting, lambda box: box.numbers[-1]))(3.0) == 6.0


def test_threads_that_the_run_starts_are_recorded_beside_one_from_before():
    meeting, box = Events(), Box()

    def f(x):
        box.x = x
        out, done = [], threading.Event()
        inner = threading.Thread(target=lambda: (out.append(x * x), done.set()))
        inner.start()
        done.wait()
        inner.join()
        meeting.show()
        meeting.find()
        return out[0] * x

    with worker(meeting, lambda: box.x):
        assert mo.grad(f)(3.0) == 27.0


shared = {"x": 0.0, "y": 0.0}
RESULT = 0.0


def test_global_variables_of_the_thread():
    meeting = Joining()

    def work():
        global RESULT
        RESULT = shared["x"] ** 2

    def f(x):
        shared["x"] = x
        meeting.show()
        meeting.find()
        return RESULT * x

    with (
        worker(meeting, work),
        pytest.raises(mo.NoDerivative, match="a thread started before the differentiated function"),
    ):
        mo.grad(f)(3.0)


@pytest.mark.parametrize("tells", [True, False], ids=["", "without clocks of threads"])
def test_a_lock_of_this_thread_alone_is_not_looked_at_while_the_others_wait(tells, monkeypatch):
    """A search at each lock would make libraries that use them many times slower as soon as there is any other thread."""
    if not tells:
        monkeypatch.delattr(locks.time, "pthread_getcpuclockid")
    searches = []
    search = locks.Shared.__init__
    monkeypatch.setattr(locks.Shared, "__init__", lambda self, *roots: searches.append(1) or search(self, *roots))
    own, end = threading.RLock(), threading.Event()

    def f(x):
        for _ in range(20):
            with own:
                x = x * 1.1
        return x

    waiting = threading.Thread(target=end.wait)
    waiting.start()
    try:
        assert mo.grad(f)(2.0) == pytest.approx(1.1**20)
    finally:
        end.set()
        waiting.join()
    assert (len(searches) < 60) == tells  # two each time


def test_what_is_left_is_noticed_where_the_system_has_no_clocks_of_threads(monkeypatch):
    monkeypatch.delattr(locks.time, "pthread_getcpuclockid")
    for kind in MEETINGS:
        test_refused_whatever_the_threads_wait_by(kind)
