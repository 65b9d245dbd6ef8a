"""Loops in several threads: errors, threads and processes of Python, signals, options."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from parallel_programs import RNG, X, any_loop, ensemble, loops  # noqa: F401

import morula as mo
from morula.core.emit.native import thread_pool

pytestmark = pytest.mark.skipif(bool(thread_pool.why_serial()), reason="this system has no POSIX threads")


# Errors


def test_the_error_is_that_of_the_first_iteration():
    @mo.jit(target="native", parallel=3)
    def f(x, bad):
        total = 0.0
        for i in range(len(x)):
            if x[i] == bad:
                raise ValueError(f"element {i}")
            total += x[i]
        return total

    x = np.arange(100.0)
    assert f(x, -1.0) == 4950.0
    for bad in (99.0, 50.0, 0.0):
        with pytest.raises(ValueError, match=f"element {int(bad)}$"):
            f(x, bad)
    x[40:] = 7.0
    for _ in range(20):
        with pytest.raises(ValueError, match="element 7$"):
            f(x, 7.0)


def test_an_index_out_of_range_and_a_division_by_zero():
    @mo.jit(target="native", parallel=3)
    def f(x, at):
        total = 0.0
        for i in range(len(at)):
            total += x[at[i]] + 1 / int(at[i])
        return total

    at = np.arange(1, 50)
    np.testing.assert_allclose(f(X, at), np.sum(X[1:]) + np.sum(1 / at), rtol=1e-13)
    at[30:] = 99
    with pytest.raises(IndexError, match="index 99 is out of bounds for axis 0 with size 50"):
        f(X, at)
    at[20] = 0
    with pytest.raises(ZeroDivisionError):
        f(X, at)


def test_errors_of_iterations_that_wait_for_their_neighbours_come_in_order():
    @mo.jit(target="native", parallel=3)
    def f(x, bad):
        y = np.zeros(len(x) + 1)
        for i in range(len(x)):
            if x[i] >= bad:
                raise ValueError(f"element {i}")
            y[i] += x[i]
            y[i + 1] += x[i]
        return y

    x = np.arange(60.0)
    np.testing.assert_array_equal(f(x, 99.0), np.append(x, 0.0) + np.append(0.0, x))
    for bad in range(60):
        with pytest.raises(ValueError, match=f"element {bad}$"):
            f(x, float(bad))


def test_errors_in_copied_arrays_and_later_calls():
    @mo.jit(target="native", parallel=3)
    def f(x, at):
        y = np.zeros(10)
        for i in range(len(at)):
            y[at[i]] += x[i]
        return y

    at = RNG.integers(0, 10, 50)
    expected = np.bincount(at, X, 10)
    for _ in range(3):
        np.testing.assert_allclose(f(X, at), expected, rtol=1e-13)
        with pytest.raises(IndexError, match="index 10 is out of bounds"):
            f(X, np.where(at == 3, 10, at))


# Threads, processes, signals


def test_two_threads_of_python_at_once():
    compiled = mo.jit(mo.value_and_grad(ensemble), target="native", parallel=2)
    p = [RNG.random((60, 2)) for _ in range(4)]
    expected = [compiled(x, 400) for x in p]
    wrong = []

    def run(k):
        for _ in range(30):
            value, slope = compiled(p[k], 400)
            if value != expected[k][0] or not np.array_equal(slope, expected[k][1]):
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_loop_within_a_chunk_runs_in_its_thread():
    @mo.jit(target="native", parallel=3)
    def f(x, depth):
        def level(y, k):
            if k <= 0:
                return y
            total = 0.0
            for i in range(20):
                total += np.sin(y + i)
            return level(total, k - 1)

        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = level(x[i], depth)
        return out

    def one(y, k):
        for _ in range(k):
            y = sum(np.sin(y + i) for i in range(20))
        return y

    np.testing.assert_allclose(f(X, 3), [one(y, 3) for y in X], rtol=1e-9)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    compiled = mo.jit(ensemble, target="native", parallel=2)
    p = RNG.random((60, 2))
    expected = compiled(p, 50)
    child = os.fork()
    if not child:
        os._exit(0 if all(compiled(p, 50) == expected for _ in range(5)) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert compiled(p, 50) == expected


INTERRUPTED = """
import os, signal, threading, time
import numpy as np
import morula as mo

signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it

def f(x, n):
    total = 0.0
    for i in range(len(x)):
        y = x[i]
        for _ in range(n):
            y = 0.5 * (y + 1.0 / (y + 0.1))
        total += y
    return total

compiled = mo.jit(f, target="native", parallel=2)
x = np.ones(40)
compiled(x, 10)
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
began = time.perf_counter()
try:
    compiled(x, 10**12)
except KeyboardInterrupt:
    print("interrupted", time.perf_counter() - began < 20.0, compiled(x, 100) == compiled(x, 100))
"""


def test_ctrl_c_stops_all_threads():
    environment = {**os.environ, "MORULA_CACHE": "0"}
    found = subprocess.run(
        [sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120, env=environment
    )
    assert found.stdout.split() == ["interrupted", "True", "True"], found.stderr


# Options


def test_the_number_of_threads_is_an_option():
    with pytest.raises(mo.BadInput, match="parallel must be True, False or a number of threads, at least 1; it is 0"):
        mo.jit(ensemble, parallel=0)
    with pytest.raises(mo.BadInput, match="it is 'two'"):
        mo.jit(ensemble, parallel="two")
    p = RNG.random((40, 2))
    assert mo.jit(ensemble, target="native", parallel=1)(p, 9) == mo.jit(ensemble, target="native")(p, 9)


def test_explain_lists_loops_and_threads(capsys, monkeypatch):
    text = mo.jit(ensemble, target="native", parallel=2).explain(RNG.random((40, 2)), 9)
    line = ensemble.__code__.co_firstlineno + 2
    assert f"parallel: 2 threads\n  parallel_programs.py, line {line}: in parallel\n" in text
    text = mo.jit(ensemble, target="native", parallel=1).explain(RNG.random((40, 2)), 9)
    assert "parallel: all loops run in one thread, since parallel is 1" in text
    assert "parallel: there is no loop" in mo.jit(lambda x: 2.0 * x, target="native", parallel=2).explain(1.0)
    monkeypatch.setattr(thread_pool, "why_serial", lambda: "native code has no threads on win32")
    text = mo.jit(ensemble, target="native", parallel=2).explain(RNG.random((40, 2)), 9)
    assert "parallel: all loops run in one thread, since native code has no threads on win32" in text


def test_a_program_from_the_disk_runs_in_threads(tmp_path, monkeypatch):
    monkeypatch.setenv("MORULA_CACHE", "1")
    monkeypatch.setenv("MORULA_CACHE_DIR", str(tmp_path))
    p = RNG.random((40, 2))
    first = mo.jit(ensemble, target="native", parallel=2)(p, 9)
    program = mo.jit(ensemble, target="native", parallel=3).lower(p, 9).compile().executable
    assert len(list((tmp_path / "native").iterdir())) == 1
    assert [how for _, how in program.loops] == ["in parallel"]
    np.testing.assert_allclose(program([p, 9])[0], first, rtol=1e-13)
