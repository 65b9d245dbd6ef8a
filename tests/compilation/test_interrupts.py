"""A signal whose handler raises (Ctrl-C) ends any compiled loop; if the handler returns, the loop goes on."""

from __future__ import annotations

import signal
import subprocess
import sys

import numpy as np
import pytest

import morula as mo

FOREVER = 10**15
A = np.linspace(0.1, 1.0, 40)


def upwards(x, n):
    for _ in range(n):
        x = x * 0.999 + 0.1 / (x + 1)
    return x


def downwards(x, n):
    for i in range(n, 0, -3):
        x = x * 0.999 + 1 / (x + i)
    return x


def while_it_holds(x, n):
    i = 0
    while i < n:
        x = x * 0.999 + 0.1
        i += 1
    return x


def short_loops_in_a_long_one(a, n):
    s = 0.0
    for i in range(n):
        for j in range(len(a)):
            for k in range(j):
                s = 0.5 * s + a[j] * a[k] + i
    return s


def a_long_loop_in_a_short_one(a, n):
    s = 0.0
    for x in a:
        for i in range(n):
            s = 0.5 * s + x / (i + 1)
    return s


def loops_that_leave(a, n):
    s = 0.0
    for i in range(n):
        k = 0
        while a[k] < 0.5 + 0.1 * np.sin(s):
            k += 1
        s = 0.5 * s + k
        if s > n:
            break
    return s


def arrays(a, n):
    b = np.zeros((40, 40))
    for i in range(n):
        b = 0.5 * b + np.outer(np.sin(a), a) @ b
    return b.sum()


def parts_of_unknown_length(a, n):
    s = 0.0
    for i in range(n):
        s = 0.5 * s + np.sum(a[i % 7 : i % 40])
    return s


def branching(x, n):
    return x if n < 2 else branching(x, n - 1) + branching(x, n - 2)


PROGRAMS = {
    "range": (upwards, (1.0, FOREVER)),
    "a step": (downwards, (1.0, FOREVER)),
    "while": (while_it_holds, (1.0, FOREVER)),
    "nested": (short_loops_in_a_long_one, (A, FOREVER)),
    "inner": (a_long_loop_in_a_short_one, (A, FOREVER)),
    "leaving": (loops_that_leave, (A, FOREVER)),
    "arrays": (arrays, (A, FOREVER)),
    "parts": (parts_of_unknown_length, (A, FOREVER)),
    "recursion": (branching, (1.0, 90)),
    "gradient": (mo.grad(while_it_holds), (1.0, FOREVER)),
}


class Alarm(Exception):
    pass


def interrupted(name):
    """Run in a process of its own: the program for a tenth of a second; what ended it."""
    f, args = PROGRAMS[name]
    compiled = mo.jit(f, target="native")
    compiled(*args[:-1], 2)

    def ring(*_):
        raise Alarm

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        compiled(*args)
    except Alarm:
        assert compiled(*args[:-1], 2) is not None  # nothing is left behind
        return "ended"
    return "ran to its end"


def test_every_kind_of_loop_is_ended_by_a_signal():
    program = "import test_interrupts as t\nfor name in t.PROGRAMS: print(name, t.interrupted(name), flush=True)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=__file__.rpartition("/")[0]
    )
    assert done.stdout.splitlines() == [f"{name} ended" for name in PROGRAMS], done.stdout + done.stderr


def test_a_handler_that_returns_leaves_the_program_alone():
    calls = []
    compiled = mo.jit(lambda n: while_it_holds(1.0, n), target="native")
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    try:
        for _ in range(200):
            assert compiled(10**7) == pytest.approx(100.0)
            if calls:
                break
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert calls


def test_the_backward_sweep_looks_for_signals_too():
    forward = mo.jit(upwards, target="native").lower(1.0, 5).as_text("llvm")
    both = mo.jit(mo.grad(upwards), target="native").lower(1.0, 5).as_text("llvm")
    assert both.count("call i32 @signalled(") > forward.count("call i32 @signalled(") == 1


def test_loops_known_to_be_short_look_for_nothing():
    def f(a):
        s = 0.0
        for i in range(len(a)):
            for j in range(i):
                s += a[i] * a[j]
        return s

    assert "@signalled" not in mo.jit(f, target="native").lower(A).as_text("llvm")
