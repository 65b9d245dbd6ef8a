"""Locks from outside: a compiled program holds them while it runs and makes its changes."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders

PLAIN, REENTRANT, CONDITION = threading.Lock(), threading.RLock(), threading.Condition()
SEMAPHORE = threading.Semaphore()
OTHER = threading.Lock()
SHARED = np.zeros(3)
TABLE: dict = {}
COUNT = 0
LOCKS = {"plain": PLAIN, "reentrant": REENTRANT, "condition": CONDITION, "semaphore": SEMAPHORE}


def reset():
    global COUNT
    TABLE.clear()
    TABLE.update(n=0, total=0.0)
    SHARED[:] = 0.0
    COUNT = 0


def is_free(lock):
    """Whether another thread can take a lock."""
    found = []

    def attempt():
        found.append(lock.acquire(blocking=False))
        if found[0]:
            lock.release()

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return found[0]


def changing(lock):
    def change(x):
        global COUNT
        with lock:
            TABLE["total"] += x * x
            TABLE["n"] += 1
        if x > 1.0:
            with lock:
                COUNT += 1
        return TABLE["total"] * x

    return change


def acquiring(lock):
    def change(x):
        lock.acquire()
        try:
            TABLE["total"] += x * x
        finally:
            lock.release()
        return TABLE["total"] * x

    return change


@pytest.fixture(params=["native", "xla"])
def target(request):
    return request.param


@pytest.mark.parametrize("made", [changing, acquiring])
@pytest.mark.parametrize("name", LOCKS)
def test_changes_under_a_lock(made, name, target):
    lock = LOCKS[name]
    f = made(lock)
    compiled = mo.jit(f, target=target)
    reset()
    expected = [f(x) for x in (2.0, 0.5, 3.0)], dict(TABLE), COUNT
    reset()
    assert ([compiled(x) for x in (2.0, 0.5, 3.0)], dict(TABLE), COUNT) == expected
    assert is_free(lock)


@pytest.mark.parametrize("made", [changing, acquiring])
def test_the_gradient(made, target):
    f = made(PLAIN)

    def afresh(x):
        reset()
        return f(x)

    slope = ridders(lambda h: afresh(1.7 + h), 0.01)[0]
    reset()
    assert mo.jit(mo.grad(f), target=target)(1.7) == pytest.approx(slope, rel=1e-8)
    reset()
    assert mo.grad(mo.jit(f, target=target))(1.7) == pytest.approx(slope, rel=1e-8)
    assert is_free(PLAIN)


def test_no_change_is_lost_among_threads(target):
    compiled = mo.jit(changing(PLAIN), target=target)
    reset()
    compiled(2.0)
    threads = [threading.Thread(target=lambda: [compiled(2.0) for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert TABLE == {"n": 201, "total": 804.0}
    assert COUNT == 201


def test_an_array_is_read_under_the_lock(target):
    def total(x):
        with PLAIN:
            return x * np.sum(SHARED)

    compiled = mo.jit(total, target=target)
    reset()
    assert compiled(2.0) == 0.0

    def fill():
        with PLAIN:
            SHARED[0] = 1.0
            held.set()
            time.sleep(0.05)
            SHARED[1:] = 1.0

    held = threading.Event()
    thread = threading.Thread(target=fill)
    thread.start()
    held.wait()
    assert compiled(2.0) == 6.0
    thread.join()


def test_two_locks_that_others_take_in_another_order(target):
    def change(x):
        with PLAIN:
            TABLE["n"] += 1
        with OTHER:
            TABLE["total"] += x
        return x

    def opposite():
        for _ in range(200):
            with OTHER, PLAIN:
                TABLE["n"] += 1

    compiled = mo.jit(change, target=target)
    reset()
    compiled(1.0)
    thread = threading.Thread(target=opposite)
    thread.start()
    for _ in range(200):
        compiled(1.0)
    thread.join()
    assert TABLE == {"n": 401, "total": 201.0}


def test_a_program_that_raises_leaves_the_lock_free(target):
    def fail(x):
        with PLAIN:
            TABLE["n"] += 1
            if x < 0.0:
                raise ValueError("negative")
        return x

    compiled = mo.jit(fail, target=target)
    reset()
    assert compiled(1.0) == 1.0
    for _ in range(2):
        with pytest.raises(ValueError, match="negative"):
            compiled(-1.0)
    assert is_free(PLAIN)
    assert compiled(1.0) == 1.0


def test_a_lock_that_the_program_makes(target):
    def change(x):
        lock = threading.Lock()
        with lock:
            TABLE["n"] += 1
        return x * TABLE["n"]

    compiled = mo.jit(change, target=target)
    reset()
    assert [compiled(2.0), compiled(2.0)] == [2.0, 4.0]


def test_a_caller_that_holds_a_reentrant_lock(target):
    compiled = mo.jit(changing(REENTRANT), target=target)
    reset()
    with REENTRANT:
        assert compiled(2.0) == 8.0
        assert not is_free(REENTRANT)
    assert is_free(REENTRANT)


def test_the_description_names_the_number_of_locks(target):
    reset()
    assert "locks that are held while it runs: 1" in mo.jit(changing(PLAIN), target=target).explain(2.0)
    assert is_free(PLAIN)
