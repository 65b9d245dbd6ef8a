"""Deeply nested programs compile even close to Python's recursion limit."""

from __future__ import annotations

import linecache
import signal
import sys
import threading

import pytest

import morula as mo
from morula.core.emit.native import machine


def made(source, name):
    filename = f"<{name}>"
    linecache.cache[filename] = len(source), None, source.splitlines(True), filename
    space = {}
    exec(compile(source, filename, "exec"), space)
    return space["f"]


def alternatives(n):
    lines = [f"    {'el' if k else ''}if x > {n - k}.0:\n        y = {k}.0 * x\n" for k in range(n)]
    return f"def f(x):\n{''.join(lines)}    else:\n        y = x\n    return y\n"


def conditions(n):
    lines = [f"    {' ' * k}if x > {k}.5:\n     {' ' * k}y = y + {k}.0 * x\n" for k in range(n)]
    return f"def f(x):\n    y = x\n{''.join(lines)}    return y\n"


def brackets(n):
    terms = "".join(f" * 1.5 + {k}.0)" for k in range(n))
    return f"def f(x):\n    return {'(' * n}x{terms}\n"


def calls(n):
    functions = "".join(f"def f{k}(x):\n    return f{k + 1}(x) + {k}.0 * x\n" for k in range(n))
    return f"def f(x):\n    return f0(x)\n{functions}def f{n}(x):\n    return x\n"


def depth():
    frame, n = sys._getframe(), 0
    while frame is not None:
        frame, n = frame.f_back, n + 1
    return n


@pytest.mark.parametrize("nest, n", [(alternatives, 16), (conditions, 16), (brackets, 90), (calls, 200)])
def test_a_deep_nest_where_little_is_left_of_the_limit(target, nest, n):
    f = made(nest(n), nest.__name__)
    compiled = mo.jit(f, target=target)
    mo.jit(lambda x: x + 1.0, target=target)(1.0)  # what is imported at the first call needs frames, too
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(depth() + 150)
    try:
        found = compiled(3.25)
        assert sys.getrecursionlimit() == depth() + 150
    finally:
        sys.setrecursionlimit(before)
    assert found == pytest.approx(f(3.25), rel=1e-13)
    assert compiled(-1.0) == pytest.approx(f(-1.0), rel=1e-13)


TEXT = "define i32 @f() {\n  ret i32 1\n}\n"


def compiles_in_another_thread():
    made = []
    thread = threading.Thread(target=lambda: made.append(machine.object_code(TEXT, machine.host())), daemon=True)
    thread.start()
    thread.join(60.0)
    return bool(made)


def test_no_lock_of_llvm_is_left_taken():
    """A RecursionError where LLVM's lock is taken would leave it taken: other threads would wait without end."""
    machine.object_code(TEXT, machine.host())
    failed, before = 0, sys.getrecursionlimit()
    for left in range(2, 60, 2):
        try:
            sys.setrecursionlimit(depth() + left)
            machine.object_code(TEXT, machine.host())
        except RecursionError:
            failed += 1
        finally:
            sys.setrecursionlimit(before)
        assert compiles_in_another_thread(), f"the lock is taken after a run with {left} frames"
    assert 0 < failed < 29


class Stop(Exception):
    pass


def test_a_signal_while_llvm_runs_leaves_no_lock_taken():
    """Handlers run in the main thread, at any instruction: also between taking a lock and noting that it is taken."""

    def stop(*_):
        raise Stop

    machine.object_code(TEXT, machine.host())
    before, stopped = signal.signal(signal.SIGALRM, stop), 0
    try:
        for k in range(150):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + 1e-5 * k)
                machine.object_code(TEXT, machine.host())
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Stop:
                stopped += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert stopped > 10
    assert compiles_in_another_thread()


def test_what_fails_in_the_larger_stack_is_raised_here():
    from morula.core.recursion import deeply

    def endless():
        return endless()

    attempts = []

    def fails():
        attempts.append(depth())
        if len(attempts) == 1:
            raise RecursionError
        raise KeyError("second")

    with pytest.raises(KeyError, match="second"):
        deeply(fails)
    assert deeply(lambda: 5) == 5
    with pytest.raises(RecursionError):
        deeply(endless)
