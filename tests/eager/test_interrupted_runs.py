"""A run interrupted at any point leaves the caller's objects as they were, and the next derivative is right."""

from __future__ import annotations

import _thread
import gc
import random
import signal
import sys
import threading
import time
from collections import OrderedDict, deque

import numpy as np
import pytest

import morula as mo
from morula.core import recursion
from morula.core.eager.unrecorded import claims
from morula.core.values.numbers import Int

KEPT = np.array([1.0, 2.0, 3.0])


class Mortal:
    ended = 0

    def __init__(self, x):
        self.x = x

    def __del__(self):
        type(self).ended += 1


DEL = vars(Mortal)["__del__"]


class Slotted:
    __slots__ = ("w",)

    def __init__(self, w):
        self.w = w


class Model:
    def __init__(self):
        self.w, self.n, self.z = 1.5, 2, 1 + 2j
        self.array = np.array([0.5, -0.25])
        self.numbers = [0.1, 0.2, (0.3, [0.4])]
        self.table = OrderedDict(a=1.25, b=np.array([[2.0, 1.0]]), same=self.array)
        self.queue = deque([0.75, 3])
        self.slotted = Slotted(2.5)
        self.itself = self


def loss(m):
    total = m.w * m.n + abs(m.z) ** 2 + np.sum(m.array * m.table["same"])
    for _ in range(3):
        total = total * 0.5 + sum(m.numbers[:2]) * m.queue[0] + m.table["a"] * m.slotted.w
    return total + np.sum(m.table["b"]) * m.numbers[2][1][0]


def writing(m):
    """What it writes stays, as in plain Python."""
    m.array[0] = m.w * m.array[1]
    KEPT[1] = m.w * KEPT[0]
    KEPT[1:] *= m.table["a"]
    return KEPT[1] * m.table["a"] + np.sum(m.array) * m.w + np.sum(KEPT)


def mortal(m):
    kept = [Mortal(m.w * k) for k in range(3)]
    return sum(k.x for k in kept) * m.table["a"]


def nested(m):
    return mo.grad(lambda n: n.w**3 * n.table["a"])(m).w * m.w


def checkpointed(m):
    state = [1.0]

    def step(x):
        return x * m.w + state[0]

    return mo.checkpoint(step, mo.checkpoint(step, m.table["a"]))


def watched(m):
    keys = {Key(m.n): m.w}
    return keys[Key(m.n)] * m.w


class Key:
    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return 1

    def __eq__(self, other):
        return self.n == other.n


def deep(m):
    def power(n):
        return m.w if n == 1 else m.w * power(n - 1)

    return power(30)


pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # in generators and __del__

PROGRAMS = [loss, mortal, nested, checkpointed, watched, deep]
DERIVATIVES = {
    "grad": mo.grad,
    "pullback": lambda f: lambda m: mo.pullback(f, m)[1](1.0)[0],
    "second": lambda f: lambda m: mo.pullback(lambda m: mo.grad(f)(m).w, m)[1](1.0)[0],
}


def leaves(x, found=None, seen=None):
    """The numbers and arrays in a structure, with their places."""
    found, seen = [] if found is None else found, set() if seen is None else seen
    if isinstance(x, (float, int, complex, np.ndarray, type(None))):
        found.append(x)
    elif id(x) not in seen:
        seen.add(id(x))
        entries = x if isinstance(x, (list, tuple, deque)) else x.values() if isinstance(x, dict) else None
        if entries is None:
            entries = [x.w] if isinstance(x, Slotted) else vars(x).values()
        for e in entries:
            leaves(e, found, seen)
    return found


def same(a, b):
    return all(np.allclose(x, y) for x, y in zip(leaves(a), leaves(b), strict=True))


class World:
    """All that a run changes for its time, taken down before."""

    def __init__(self, model):
        self.model, self.leaves = model, leaves(model)
        self.arrays = [(a, a.copy()) for a in (KEPT, *self.leaves) if isinstance(a, np.ndarray)]
        self.settings = self.now()

    def now(self):
        errors = np.geterr()
        return (
            sys.getrecursionlimit(),
            gc.get_threshold(),
            sys.getprofile(),
            sys.gettrace(),
            errors,
            vars(Mortal)["__del__"],
        )

    def check(self):
        assert all(a is b for a, b in zip(self.leaves, leaves(self.model), strict=True))
        assert not any(type(x) is Int for x in leaves(self.model))
        assert all(np.array_equal(a, was) for a, was in self.arrays)
        assert self.now() == self.settings
        assert not claims._claims and not claims._waiting and not recursion.is_raised()
        assert claims.lock.acquire(blocking=False)
        claims.lock.release()
        done = threading.Thread(target=lambda: (claims.lock.acquire(), claims.lock.release()), daemon=True)
        done.start()
        done.join(30)
        assert not done.is_alive()


class Stop(BaseException):
    """Raised by nothing else."""


class Counter:
    """A profile function: raises at the n-th function that is entered or C function that returns, where a signal may arrive."""

    def __init__(self, n=None, error=Stop):
        self.n, self.error, self.count = n, error, 0

    def __call__(self, frame, event, arg):
        if event in ("call", "c_return") and "core" in frame.f_code.co_filename + frame.f_globals.get("__name__", ""):
            self.count += 1
            if self.count == self.n:
                raise self.error

    def run(self, f, *args):
        sys.setprofile(self)
        try:
            return f(*args)
        finally:
            sys.setprofile(None)


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_interrupted_wherever_a_signal_may_arrive(f, derivative):
    model, d = Model(), DERIVATIVES[derivative](f)
    expected = d(model)
    world = World(model)
    counter = Counter()
    counter.run(d, model)
    rng, points = random.Random(0), range(1, counter.count + 1)
    stopped = 0
    for n in rng.sample(points, min(len(points), 60 if derivative == "grad" and f is not nested else 25)):
        try:
            Counter(n).run(d, model)
        except Stop:
            stopped += 1
        gc.collect(0)
        world.check()
    assert stopped > 10
    assert same(d(model), expected)


@pytest.mark.parametrize("order", [1, 2])
def test_a_pullback_that_is_interrupted_leaves_arrays_as_the_run_left_them(order):
    """The backward sweep undoes writes, also into the caller's arrays, and does them again."""
    model = Model()
    f = writing if order == 1 else lambda m: mo.grad(lambda n: writing(n) * n.w)(m).w
    d = mo.pullback(f, model)[1]
    expected = d(1.0)[0]
    KEPT[0] = 7.0  # since the run
    world, counter = World(model), Counter()
    counter.run(d, 1.0)
    stopped = 0
    for n in range(1, counter.count + 1, 1 + counter.count // 300):
        try:
            Counter(n).run(d, 1.0)
        except Stop:
            stopped += 1
        world.check()
    assert stopped > 10
    assert same(d(1.0)[0], expected)
    KEPT[:] = 1.0, 2.0, 3.0


class Bell:
    """The signal of the timer raises ``Stop``, until the test says that no more are to come."""

    live = False

    def handler(self, number, frame):
        if self.live:
            raise Stop


@pytest.fixture
def bell(monkeypatch):
    bell = Bell()
    before, interval = signal.signal(signal.SIGALRM, bell.handler), sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)  # ``Stop`` in a ``__del__``
    yield bell
    bell.live = False
    signal.setitimer(signal.ITIMER_REAL, 0)
    sys.setswitchinterval(interval)
    signal.signal(signal.SIGALRM, before)


def ring_after(delay):
    signal.setitimer(signal.ITIMER_REAL, delay)


def ring_again_and_again(delay):
    signal.setitimer(signal.ITIMER_REAL, delay, 2e-4)


def ring_from_a_thread(delay):
    def run():
        time.sleep(delay)
        _thread.interrupt_main(signal.SIGALRM)

    threading.Thread(target=run).start()


@pytest.mark.parametrize("ring", [ring_after, ring_again_and_again, ring_from_a_thread])
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_interrupted_by_signals(f, ring, bell):
    model, d = Model(), mo.grad(f)
    expected = d(model)
    began = time.perf_counter()
    d(model)
    lasts = time.perf_counter() - began
    world, rng, stopped = World(model), random.Random(1), 0
    for _ in range(25):
        delay = max(1e-5, rng.random() * lasts)
        bell.live = True
        try:
            ring(delay)
            for _ in range(100):
                d(model)
            bell.live = False
        except Stop:
            bell.live = False  # before any call, at which the next signal would arrive
            stopped += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        for thread in threading.enumerate():
            if thread.name.endswith("(run)"):
                thread.join()
        world.check()
    assert stopped > 5
    assert same(d(model), expected)


def overflow(m):
    return m.w * overflow(m)


def exit_(m):
    m.table["a"] * m.w
    sys.exit(3)


def no_memory(m):
    return m.w * np.zeros(10**18)[0]


def closed(m):
    def numbers():
        try:
            while True:
                yield m.w * m.w
        finally:
            kept.append(m.table["a"] * m.w)

    kept = []
    it = numbers()
    next(it)
    it.close()
    raise GeneratorExit(kept)


def raising(m):
    try:
        return m.w / (m.n - 2)
    finally:
        m.slotted.w * m.w


@pytest.mark.parametrize(
    "f, error",
    [
        *((overflow, RecursionError), (exit_, SystemExit), (no_memory, MemoryError), (closed, GeneratorExit)),
        (raising, ZeroDivisionError),
    ],
    ids=lambda x: x.__name__,
)
@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_programs_that_raise(f, error, derivative):
    model = Model()
    expected, world = mo.grad(loss)(model), World(model)
    for _ in range(3):
        with pytest.raises(error):
            DERIVATIVES[derivative](f)(model)
        world.check()
    assert same(mo.grad(loss)(model), expected)


def test_a_pullback_that_raises():
    @mo.adjoint(halved)
    def _(x):
        def back(dy):
            raise Stop

        return x / 2, back

    def f(m):
        KEPT[1] = halved(m.w) * m.table["a"]
        return KEPT[1]

    model = Model()
    expected = mo.grad(loss)(model)
    back = mo.pullback(f, model)[1]
    world = World(model)
    for _ in range(3):
        with pytest.raises(Stop):
            back(1.0)
        world.check()
        with pytest.raises(Stop):
            mo.grad(f)(model)
        world.check()
    assert same(mo.grad(loss)(model), expected)
    KEPT[:] = 1.0, 2.0, 3.0


def halved(x):
    return x / 2


def test_a_derivative_inside_of_a_generator_that_is_closed():
    model = Model()
    expected, world = mo.grad(loss)(model), World(model)

    def gradients():
        while True:
            yield mo.grad(loss)(model)

    it = gradients()
    assert same(next(it), expected)
    it.close()
    world.check()


def test_a_compilation_that_is_interrupted():
    """The next call compiles the function; the limit of recursion is as it was."""
    expected, world = 10.0, World(Model())

    def make():
        def f(x):
            return x * x + 4 * x

        return f

    compiled = mo.jit(make())
    counter = Counter()
    counter.run(mo.grad(compiled), 3.0)
    for n in range(1, counter.count, 1 + counter.count // 20):
        d = mo.grad(mo.jit(make()))
        try:
            Counter(n).run(d, 3.0)
        except Stop:
            pass
        world.check()
        assert d(3.0) == expected
