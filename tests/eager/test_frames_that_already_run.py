"""Values from a generator, iterator, thread or process started before the run are right or refused."""

from __future__ import annotations

import functools
import itertools
import multiprocessing
import operator
import queue
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from multiprocessing.pool import ThreadPool

import numpy as np
import pytest

import morula as mo
from morula.core.eager.unrecorded import frames


def square(x):
    return x * x


def squares(box):
    while True:
        yield box[0] * box[0]


def accumulator():
    total = 0.0
    while True:
        x = yield total
        total = total + x * x


def started(generator):
    next(generator)
    return generator


class Advancing:
    def __init__(self, box):
        self.box = box

    def __iter__(self):
        return self

    def __next__(self):
        return self.box[0] * self.box[0]


class Indexed:
    def __init__(self, box):
        self.box = box

    def __len__(self):
        return 9

    def __getitem__(self, i):
        return self.box[0] * self.box[0]


def delegating(box):
    yield from squares(box)


box = [1.0]
"""A global that generators made here read."""

from_global = (box[0] * k for k in itertools.count(2.0))


class OfGlobal:
    factor = box

    def __getitem__(self, i):
        return box[0] * box[0]

    def numbers(self):
        while True:
            yield self.helped()

    def helped(self):
        return self.factor[0] * made_by_class(self)


def made_by_class(x):
    return type(x).factor[0]


class Holder:
    def __init__(self, numbers):
        self.numbers = numbers


# Each makes what computes a x**2 of what is in the box, and is outside of the differentiated function.
COMPUTING = {
    "generator": squares,
    "generator that has been started": lambda box: started(squares(box)),
    "generator expression": lambda box: (box[0] * box[0] for _ in range(9)),
    "delegating generator": delegating,
    "map": lambda box: map(lambda k: box[0] * box[0], range(9)),
    "map of a builtin": lambda box: map(operator.mul, cycled(box), cycled(box)),
    "map of a partial": lambda box: map(functools.partial(lambda box, k: box[0] * box[0], box), range(9)),
    "filter over a generator": lambda box: filter(None, squares(box)),
    "zip of generators": lambda box: map(max, zip(squares(box), squares(box))),
    "starmap": lambda box: itertools.starmap(operator.mul, ((box[0], box[0]) for _ in range(9))),
    "chain": lambda box: itertools.chain(squares(box), [1.0]),
    "islice": lambda box: itertools.islice(squares(box), 5),
    "tee": lambda box: itertools.tee(squares(box))[1],
    "takewhile": lambda box: itertools.takewhile(lambda v: True, squares(box)),
    "accumulate": lambda box: itertools.islice(itertools.accumulate(cycled(box), operator.mul), 1, None),
    "a function until a sentinel": lambda box: iter(lambda: box[0] * box[0], None),
    "a sequence by index": lambda box: iter(Indexed(box)),
    "a sequence backwards": lambda box: reversed(Indexed(box)),
    "a class that advances": lambda box: map(float, zip_of_one(Advancing(box))),
}


def cycled(box):
    while True:
        yield box[0]


def zip_of_one(x):
    return (v for (v,) in zip(x))


# Each takes one value out.
TAKING = {
    "next": next,
    "next with a default": lambda it: next(it, 0.0),
    "a method": lambda it: it.__next__(),
    "a loop": lambda it: [v for v, _ in zip(it, range(1))][0],
    "for": lambda it: first(it),
    "unpacking": lambda it: [*itertools.islice(it, 1)][0],
    "yield from": lambda it: next(iter(again(it))),
    "sum": lambda it: sum(itertools.islice(it, 1)),
    "an array": lambda it: np.fromiter(itertools.islice(it, 1), float)[0],
}


def first(it):
    for v in it:
        return v


def again(it):
    yield from it


@pytest.mark.parametrize("computing", COMPUTING)
def test_refused_if_it_computes_with_what_is_differentiated(computing):
    box = [2.0]
    it = COMPUTING[computing](box)

    def f(x):
        box[0] = x
        return next(it) * 2

    with pytest.raises(mo.NoDerivative, match="created before the differentiated function was called") as error:
        mo.grad(f)(3.0)
    assert f"{__file__}:{f.__code__.co_firstlineno + 2}" in str(error.value)
    assert "Create it inside" in str(error.value) and len(str(error.value)) < 500
    with pytest.raises(mo.NoDerivative, match="created before"):
        mo.grad(mo.grad(f))(3.0)


@pytest.mark.parametrize("taking", TAKING)
def test_refused_however_a_value_is_taken(taking):
    box = [2.0]
    it = squares(box)

    def f(x):
        box[0] = x
        return TAKING[taking](it) * 2

    with pytest.raises(mo.NoDerivative, match=r"generator squares \(.*created before the differentiated function"):
        mo.grad(f)(3.0)


@pytest.mark.parametrize("computing", COMPUTING)
def test_right_if_it_is_made_inside(check, computing):
    check(lambda x: next(COMPUTING[computing]([x])) * 2, 1.3)


@pytest.mark.parametrize("taking", TAKING)
def test_right_however_a_value_is_taken_from_one_made_inside(check, taking):
    check(lambda x: TAKING[taking](squares([x])) * 2, 1.3)


@pytest.mark.parametrize("computing", COMPUTING)
def test_constants_come_out_as_constants(computing):
    for derivative, expected in ((mo.grad, 4.0 * 6.0), (lambda f: mo.grad(mo.grad(f)), 4.0 * 2.0)):
        it = COMPUTING[computing]([2.0])
        assert derivative(lambda x: x * x * next(it))(3.0) == expected  # noqa: B023


def test_generators_of_a_function_that_an_earlier_run_has_made_are_refused():
    """The nested function stays as it was written; only the code around it was rewritten to record."""
    made = []

    def f(x):
        def numbers(box):
            for v in box:
                yield v * v

        def squared(box):
            return (v * v for v in box)

        made[:] = [numbers, squared]
        return x * x

    assert mo.grad(f)(3.0) == 6.0
    for make in made:
        box = [2.0]
        it = make(box)

        def g(x):
            box[0] = x  # noqa: B023
            return next(it)  # noqa: B023

        with pytest.raises(mo.NoDerivative, match="created before"):
            mo.grad(g)(3.0)
        assert mo.grad(lambda x: next(make([x])))(3.0) == 6.0  # noqa: B023


def test_what_is_sent_counts():
    a = started(accumulator())
    with pytest.raises(mo.NoDerivative, match="generator accumulator"):
        mo.grad(lambda x: a.send(x))(3.0)
    b = started(accumulator())
    assert mo.grad(lambda x: b.send(2.0) * x)(3.0) == 4.0


def test_globals_attributes_and_arguments_are_seen():
    def of_global(x):
        box[0] = x
        return next(from_global)

    holder = Holder(squares(box))

    def of_attribute(x):
        box[0] = x
        return next(holder.numbers)

    def of_argument(x, numbers):
        box[0] = x
        return sum(v for v, _ in zip(numbers, "ab"))

    by_index, by_method = iter(OfGlobal()), OfGlobal().numbers()

    def of_method(x):
        box[0] = x
        return next(by_method)

    def of_class(x):
        box[0] = x
        return next(by_index)

    for f, args in (
        (of_method, ()),
        (of_class, ()),
        (of_global, ()),
        (of_attribute, ()),
        (of_argument, (squares(box),)),
    ):
        with pytest.raises(mo.NoDerivative, match="created before"):
            mo.grad(f)(3.0, *args)
    assert mo.grad(lambda x, numbers: sum(v * x for v in numbers))(3.0, (k for k in (1.0, 2.0))) == 3.0


def test_what_only_moves_passes(check):
    def f(x, wrap):
        entries = [0.0, 1.0]
        it = wrap(entries)
        entries[0] = x
        return next(it) * x

    for wrap in (iter, zip, enumerate, reversed, itertools.cycle, itertools.chain):
        entries = [5.0]
        it = wrap(entries)

        def g(x):
            entries[0] = x  # noqa: B023
            y = next(it)  # noqa: B023
            return (y[-1] if isinstance(y, tuple) else y) * x

        assert mo.grad(g)(3.0) == 6.0


def test_a_generator_of_an_earlier_run_is_refused_in_the_next():
    kept = []

    def f(x):
        box[0] = x
        if not kept:
            kept.append(squares(box))
        return next(kept[0])

    assert mo.grad(f)(3.0) == 6.0
    with pytest.raises(mo.NoDerivative, match="created before"):
        mo.grad(f)(3.0)


def test_a_generator_of_an_outer_derivative_in_an_inner_one():
    def f(x):
        box = [x]
        it = squares(box)

        def inner(y):
            box[0] = y
            return next(it)

        return mo.grad(inner)(x)

    with pytest.raises(mo.NoDerivative, match="created before"):
        mo.grad(f)(3.0)

    def g(x):
        it = squares([x])
        return mo.grad(lambda y: y * next(it))(x)

    assert mo.grad(g)(3.0) == 6.0


# Threads


def made_inside(x):
    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(square, [x, 2 * x])) + pool.submit(square, x).result()


def completed(x):
    with ThreadPoolExecutor(2) as pool:
        return sum(f.result() for f in as_completed([pool.submit(square, k * x) for k in (1, 2)]))


def thread(x):
    out = []
    worker = threading.Thread(target=lambda: out.append(x * x), daemon=True)
    worker.start()
    worker.join()
    return out[0] * x


def thread_with_queues(x):
    there, back = queue.Queue(), queue.SimpleQueue()
    worker = threading.Thread(target=lambda: back.put(there.get() ** 2), daemon=True)
    worker.start()
    there.put(x)
    y = back.get(timeout=60)  # a thread that fails gives nothing
    worker.join()
    return y


def only_a_queue(x):
    q = queue.PriorityQueue()
    q.put((2, x * x))
    q.put((1, x))
    return q.get()[1] * 3 + q.get()[1]


def initialised(x):
    local = threading.local()

    def prepare():
        local.scale = x * x

    with ThreadPoolExecutor(1, initializer=prepare) as pool:
        return pool.submit(lambda u: u * local.scale, x).result()


@pytest.mark.parametrize(
    "f", [made_inside, completed, thread, thread_with_queues, only_a_queue, initialised], ids=lambda f: f.__name__
)
def test_work_of_threads_that_the_run_starts(check, f):
    for _ in range(2):
        check(f, 1.3)


def test_a_pool_that_was_made_before_records_each_run():
    with ThreadPoolExecutor(1) as pool, ThreadPool(1) as other:
        pool.submit(square, 2.0).result()
        for _ in range(3):
            assert mo.grad(lambda x: pool.submit(square, x).result())(3.0) == 6.0
            assert mo.grad(lambda x: sum(pool.map(square, [x, 2 * x])))(3.0) == 30.0
            assert mo.grad(lambda x: sum(other.map(square, [x, x])) + other.apply(square, (x,)))(3.0) == 18.0
            assert mo.grad(lambda x: sum(other.imap(square, [x, x])))(3.0) == 12.0
            assert mo.grad(lambda x: other.starmap(operator.mul, [(x, x)])[0])(3.0) == 6.0
        assert mo.grad(mo.grad(lambda x: pool.submit(lambda u: u**3, x).result()))(3.0) == 18.0
        assert pool.submit(square, 3.0).result() == 9.0


def test_a_pool_that_a_run_made_and_that_lives_on():
    pools = []

    def f(x):
        if not pools:
            pools.append(ThreadPoolExecutor(1))
        return pools[0].submit(square, x).result()

    for _ in range(3):
        assert mo.grad(f)(3.0) == 6.0
    pools[0].shutdown()


@pytest.mark.parametrize("kind", [queue.Queue, queue.SimpleQueue])
def test_a_worker_that_was_started_before_is_refused(kind):
    there, back = kind(), kind()

    def work():
        while (x := there.get()) is not None:
            back.put(x * x)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()

    def f(x):
        there.put(x)
        return back.get(timeout=60) * 2

    try:
        with pytest.raises(mo.NoDerivative, match="thread started before the differentiated function") as error:
            mo.grad(f)(3.0)
        assert f"{__file__}:{f.__code__.co_firstlineno + 2}" in str(error.value)
        assert mo.grad(lambda x: (there.put(2.0), back.get())[1] * x)(3.0) == 4.0
    finally:
        there.put(None)
        worker.join()


def test_a_worker_of_an_earlier_run_is_refused():
    queues = []

    def f(x):
        if not queues:
            there, back = queue.Queue(), queue.Queue()

            def work():
                while (u := there.get()) is not None:
                    back.put(u * u)

            threading.Thread(target=work, daemon=True).start()
            queues.extend((there, back))
        queues[0].put(x)
        return queues[1].get(timeout=60)

    assert mo.grad(f)(3.0) == 6.0
    with pytest.raises(mo.NoDerivative, match="thread started before the differentiated function"):
        mo.grad(f)(3.0)
    queues[0].put(None)


def test_another_process_is_refused_and_its_constants_are_not():
    spawned = multiprocessing.get_context("spawn")  # a fork of a process with threads may wait for ever

    with ProcessPoolExecutor(1, spawned) as executor, spawned.Pool(1) as pool:
        for ask in (lambda x: executor.submit(square, x).result(), lambda x: pool.map(square, [x])[0]):

            def f(x):
                return ask(2.0) * x, ask(x)  # noqa: B023

            assert mo.vjp(f, 3.0)[1]((1.0, 0.0)) == (4.0,)
            with pytest.raises(mo.NoDerivative, match="another process"):
                mo.grad(lambda x: f(x)[1])(3.0)  # noqa: B023


def test_a_pool_of_processes_made_inside_is_refused():
    def f(x):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.map(square, [x])[0]

    with pytest.raises(mo.NoDerivative, match="another process"):
        mo.grad(f)(3.0)


def test_a_generator_that_only_moves_values_is_one_of_the_run():
    def f(x):
        pairs = [(x, x), (x * x, x)]
        total = 0.0
        for value in (a for a, b in pairs if a is b):
            total = total + value * x
        return total + sum(b for _, b in pairs)

    assert reaches(f, 3.0) == 0
    assert mo.grad(f)(3.0) == 8.0


def test_iterators_that_choose_entries_in_the_run_are_part_of_it():
    def f(x):
        powers = (x**n for n in itertools.count(1))
        few = itertools.takewhile(functools.partial(operator.gt, 30.0), powers)
        return sum(filter(lambda p: p > 3.0, few)) + all(map(bool, (x, x))) * x

    assert reaches(f, 3.0) == 0
    assert mo.grad(f)(3.0) == 2 * 3.0 + 3 * 3.0**2 + 1


def reaches(f, x):
    """How often a run of the gradient looks for what an iterator from outside of it can reach."""
    found = []
    original = frames.Reach

    def counted(*roots):
        found.append(roots)
        return original(*roots)

    frames.Reach = counted
    try:
        mo.grad(f)(x)
    finally:
        frames.Reach = original
    return len(found)
