"""Values stored by a frame from before the run, when the run resumes it, are right or refused."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import morula as mo


def keep(state):
    """Something that depends on ``state.v``, left where a function can find it."""
    state.kept = state.v * 3.0


def keep_in_list(state):
    state.entries[0] = state.v * 3.0


def keep_in_dict(state):
    state.table["kept"] = state.v * 3.0


def append(state):
    state.entries.append(state.v * 3.0)


def write(state):
    state.array[0] = state.v * 3.0


STORES = {
    "attribute": (keep, lambda s: s.kept),
    "entry of a list": (keep_in_list, lambda s: s.entries[0]),
    "entry of a dict": (keep_in_dict, lambda s: s.table["kept"]),
    "appended": (append, lambda s: s.entries[-1]),
    "entry of an array": (write, lambda s: s.array[0]),
}


class Advancing:
    def __init__(self, state, store):
        self.state, self.store = state, store

    def __iter__(self):
        return self

    def __next__(self):
        self.store(self.state)
        return 1


def generator(state, store):
    while True:
        store(state)
        yield 1


def awaiting(state, store):
    async def coroutine():
        store(state)
        return state.v * 3.0

    return coroutine()


FRAMES = {
    "generator": generator,
    "generator expression": lambda state, store: (store(state) for _ in itertools.count()),
    "map": lambda state, store: map(lambda i: store(state), itertools.count()),
    "filter": lambda state, store: filter(lambda i: store(state) is None, itertools.count()),
    "accumulate": lambda state, store: itertools.accumulate(itertools.repeat(1), lambda a, b: store(state) or 1),
    "until": lambda state, store: iter(lambda: store(state), 7),
    "an object": Advancing,
    "zip of an object": lambda state, store: zip(Advancing(state, store)),
    "chain of a generator": lambda state, store: itertools.chain(generator(state, store)),
}


def taken_by_next(frame):
    next(frame)


def taken_by_for(frame):
    for _ in frame:
        break


def taken_within(frame):
    def delegating():
        yield from frame

    next(delegating())


def new_state():
    return SimpleNamespace(v=1.0, kept=0.0, entries=[0.0], table={"kept": 0.0}, array=np.zeros(1))


@pytest.mark.parametrize("take", [taken_by_next, taken_by_for, taken_within])
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("kind", FRAMES)
def test_what_it_stores_is_refused_or_right(kind, store, take):
    state = new_state()
    put, read = STORES[store]
    frame = FRAMES[kind](state, put)
    next(frame)
    if kind == "accumulate":
        next(frame)

    def f(x):
        state.v = x
        take(frame)
        return read(state)

    try:
        assert mo.value_and_grad(f)(2.0) == (6.0, 3.0)
    except mo.NoDerivative as error:
        if kind not in ("an object", "zip of an object"):  # whose method may have been recorded
            assert "created before the differentiated function was called" in str(error)


@pytest.mark.parametrize("returned", [True, False])
def test_what_a_coroutine_from_before_returns_or_stores_is_refused(returned):
    state = new_state()
    coroutine = awaiting(state, keep)

    def f(x):
        state.v = x
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value if returned else state.kept

    with pytest.raises(mo.NoDerivative, match="created before the differentiated function was called"):
        mo.grad(f)(2.0)


def test_what_a_generator_from_before_returns_at_its_end_is_refused():
    state = new_state()

    def numbers():
        yield 1
        return state.v * 3.0

    g = numbers()
    next(g)

    def f(x):
        state.v = x

        def delegating():
            return (yield from g)

        try:
            next(delegating())
        except StopIteration as end:
            return end.value

    with pytest.raises(mo.NoDerivative, match="the generator .*numbers.* created before"):
        mo.grad(f)(2.0)


def test_a_frame_that_stores_what_does_not_depend_on_the_argument_is_no_hindrance():
    state = new_state()
    frame = generator(state, keep)
    next(frame)

    def f(x):
        next(frame)
        return state.kept * x * x

    assert mo.grad(f)(2.0) == 12.0
