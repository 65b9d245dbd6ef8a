"""One compiled function in concurrent threads, in threads with a small stack, in forked and in spawned processes."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest

import morula as mo

A = np.linspace(0.0, 1.0, 7)


def run(*works, stack=0):
    """What each work gives or raises, all of them started at once in threads of their own."""
    found = [None] * len(works)
    barrier = threading.Barrier(len(works))

    def one(i):
        barrier.wait(60)
        try:
            found[i] = works[i]()
        except Exception as error:
            found[i] = error

    before = threading.stack_size(stack)
    try:
        threads = [threading.Thread(target=one, args=(i,), daemon=True) for i in range(len(works))]
        for thread in threads:
            thread.start()
    finally:
        threading.stack_size(before)
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    return found


def scaled(a, x, n):
    for i in range(n):
        a = a * 0.5 + x + np.sin(i * x)
    return a.sum()


def test_the_first_call_in_several_threads_compiles_once(target):
    f = mo.jit(scaled, target=target)
    found = run(*(lambda x=x: f(A, x, 20) for x in range(6)))
    assert found == pytest.approx([scaled(A, x, 20) for x in range(6)])
    assert sum(len(form.programs) for form in f.forms.values()) == 1


def test_gradients_and_errors_are_each_threads_own(target):
    def root(x):
        if x < 0:
            raise ValueError(f"no root of {x}")
        return x**0.5

    f = mo.jit(mo.grad(root), target=target)
    found = run(*(lambda x=x: f(float(x)) for x in (4, -1, 9, -2, 16, -3)))
    assert found[::2] == pytest.approx([0.25, 1 / 6, 0.125])
    assert [str(e) for e in found[1::2]] == ["no root of -1.0", "no root of -2.0", "no root of -3.0"]


def test_threads_that_write_one_array(target):
    a = np.zeros(8)
    by_item = mo.jit(lambda a, i: a.__setitem__(i, i * 1.0), target=target)
    by_statement = mo.jit(lambda a, x: a.fill(x), target=target)
    parts = [a[:4], a[4:]]
    assert run(*(lambda p=p, k=k: by_statement(p, k + 1.0) for k, p in enumerate(parts))) == [None, None]
    assert a.tolist() == [1.0] * 4 + [2.0] * 4
    by_item(a, 3)
    assert a.tolist() == [1.0, 1.0, 1.0, 3.0] + [2.0] * 4


def depth(x, n):
    return x if n == 0 else depth(x * 0.5, n - 1) + 1


def many_small_arrays(a):
    found = []
    for k in range(100):
        b = np.zeros(50 + k % 2)  # of two lengths, so that the loop is unrolled, and each array has memory of its own
        b[k % 50] = a[k % 7]
        b[int(a[0])] = 2.0
        found.append(b)
    return sum(b[int(a[1])] for b in found)


_SMALL_STACKS = """
import numpy as np, morula as mo, test_threads_and_processes as t
deep, many = mo.jit(t.depth, target="native"), mo.jit(t.many_small_arrays, target="native")
a = np.ones(7)
deep(1.0, 3), many(a)
for stack in (64, 128, 512):
    found = t.run(lambda: deep(1.0, 5), lambda: deep(1.0, 10**7), lambda: many(a), stack=stack * 1024)
    print([str(x) if isinstance(x, float) else type(x).__name__ for x in found], flush=True)
"""


def in_a_process(program):
    folder = __file__.rpartition("/")[0]
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=folder)


def test_a_thread_with_a_small_stack_gets_an_error_and_no_crash():
    done = in_a_process(_SMALL_STACKS)
    lines = done.stdout.splitlines()
    assert len(lines) == 3, done.stdout + done.stderr
    assert all("'RecursionError'" in line for line in lines)
    assert lines[2] == "['5.03125', 'RecursionError', '200.0']"
    assert "MemoryError" in lines[0]


_FORKED = """
import os, morula as mo, test_threads_and_processes as t
f = mo.jit(t.scaled, target=TARGET)
f(t.A, 0.5, 20)
child = os.fork()
if not child:
    try:
        print("%.6f" % f(t.A, 0.5, 20), "%.6f" % mo.jit(lambda x: x * 3, target=TARGET)(2.0), flush=True)
    except mo.BadInput as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""

_FORKED_WHILE_COMPILING = """
import os, threading, morula as mo, test_threads_and_processes as t
from morula.core.exclusion import one_at_a_time
held, over = threading.Event(), threading.Event()
def hold():
    with one_at_a_time:
        held.set()
        over.wait(60)
threading.Thread(target=hold, daemon=True).start()
held.wait(60)
child = os.fork()
if not child:
    print(mo.jit(lambda x: x * 3, target="native")(2.0), flush=True)
    os._exit(0)
os.waitpid(child, 0)
over.set()
"""

_SPAWNED = """
import multiprocessing, morula as mo, test_threads_and_processes as t
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(t.compiled, [0.5, 1.5]))
"""


def compiled(x):
    return round(float(mo.jit(scaled)(A, x, 20)), 6)


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system has no fork")
def test_a_forked_process(target):
    done = in_a_process(_FORKED.replace("TARGET", repr(target)))
    if target == "native":
        assert done.stdout == f"{scaled(A, 0.5, 20):.6f} 6.000000\n", done.stdout + done.stderr
    else:
        assert "spawn" in done.stdout and "JAX was started before this process was forked" in done.stdout, (
            done.stdout + done.stderr
        )


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="this system has no fork")
def test_a_process_that_is_forked_while_another_thread_compiles():
    done = in_a_process(_FORKED_WHILE_COMPILING)
    assert done.stdout == "6.0\n", done.stdout + done.stderr


def test_a_spawned_process(tmp_path):
    folder = __file__.rpartition("/")[0]
    path = tmp_path / "main.py"
    path.write_text(f"import sys; sys.path.insert(0, {folder!r})\n" + _SPAWNED)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120)
    assert done.stdout == f"{[compiled(0.5), compiled(1.5)]}\n", done.stdout + done.stderr
