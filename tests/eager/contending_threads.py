"""Eight threads that differentiate and compile for the first time, enter the same objects and run ``__del__``; a script.

Arguments: the timeout in seconds, after which it prints the stacks of all threads; the seconds between thread switches;
the number of rounds; and whether all threads start cold, before the libraries' rules are loaded, and without
``__del__`` (in which CPython 3.11 cannot import).
"""

from __future__ import annotations

import faulthandler
import gc
import itertools
import linecache
import random
import sys
import threading

import numpy as np

import morula as mo

THREADS = 8

TEXT = """
import numpy as np
def power(x, n):
    y = 1.0
    for _ in range(n):
        y = y * x
    return y
def scaled(x):
    return np.sum(np.sin(x) * 2.0)
def of_list(b):
    b.append(b[0] * b[1])
    return b[2]
"""


def never_seen():
    """Functions whose code no derivative has been taken of."""
    name, scope = f"made {next(numbers)}", {}
    linecache.cache[name] = len(TEXT), None, TEXT.splitlines(True), name
    exec(compile(TEXT, name, "exec"), scope)
    return scope["power"], scope["scaled"], scope["of_list"]


numbers = itertools.count()
cube, _, _ = never_seen()


class Model:
    def __init__(self):
        self.w, self.parts = 2.0, [1.0, 3.0]


shared, other, third = Model(), Model(), Model()


def of_model(m):
    return cube(m.w, 3) * m.parts[0] + m.parts[1]


def nested(m):
    return mo.grad(of_model)(m).w * mo.grad(of_model)(third).w


def check_model(model):
    g = mo.grad(of_model)(model)
    assert (g.w, g.parts) == (12.0, [8.0, 1.0]), (g.w, g.parts)


def check_nested(model):
    assert mo.grad(nested)(model).w == 12.0 * 12.0


def check_first(model):
    power, scaled, of_list = never_seen()
    assert mo.grad(power)(3.0, 2) == 6.0
    assert mo.grad(of_list)([2.0, 5.0])[:2] == [5.0, 2.0]
    assert np.allclose(mo.grad(scaled)(np.zeros(2)), 2.0)


def check_jit(model):
    power, _, _ = never_seen()

    def f(x):
        return power(x, 2) + x

    assert mo.grad(mo.jit(f, target="native"))(3.0) == 7.0


class Mortal:
    def __init__(self):
        self.cycle = self  # so that the collector finds it

    def __del__(self):
        ended.append(1)
        random.Random(len(ended)).choice([check_model, check_first, check_jit])(shared)


def check_mortal(model):
    def f(x):
        [Mortal() for _ in range(2)]
        return x * x

    assert mo.grad(f)(3.0) == 6.0
    for _ in range(30):
        Mortal()


ended, failed = [], []
start = threading.Barrier(THREADS)
CHECKS = [check_model, check_nested, check_first, check_jit]


def check_libraries(model):
    import queue
    import statistics

    def f(x):
        q = queue.SimpleQueue()
        q.put(x)
        return q.get() * statistics.mean([x, x])

    assert np.isclose(mo.grad(f)(3.0), 6.0)


def work(k, rounds, cold):
    rng = random.Random(k)
    checks = [*CHECKS, check_libraries if cold else check_mortal]
    try:
        start.wait(60)
        for _ in range(rounds):
            cold or Mortal()
            rng.choice(checks)(rng.choice([shared, other]))
    except BaseException as error:
        failed.append(error)


def main(limit, interval, rounds, cold):
    faulthandler.dump_traceback_later(limit, exit=True)  # a deadlock ends here, and says where
    sys.setswitchinterval(interval)
    sys.unraisablehook = lambda unraisable: failed.append(unraisable.exc_value)  # in a ``__del__``
    if not cold:
        for check in CHECKS:
            check(shared)
        gc.set_threshold(9, 1, 1)  # a ``__del__`` may run wherever the engine allocates
    threads = [threading.Thread(target=work, args=(k, rounds, cold), daemon=True) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.set_threshold(700)
    for error in failed:
        raise error
    assert cold or ended
    assert all((m.w, m.parts) == (2.0, [1.0, 3.0]) for m in (shared, other, third))
    print("done", len(ended))


if __name__ == "__main__":
    main(float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "cold")
