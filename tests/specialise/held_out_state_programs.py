"""Held-out programs about identity, order, length, iterators and scopes."""

from __future__ import annotations

import collections
import functools
import itertools
from collections import OrderedDict, deque
from types import SimpleNamespace

import numpy as np
from specialise.state_programs import Box

PROGRAMS = {}
SEEN = []


def of(*calls):
    def register(f):
        assert f.__name__ not in PROGRAMS, f.__name__
        PROGRAMS[f.__name__] = f, calls
        return f

    return register


SIGNS = ((2.0,), (-1.0,))


@of(*SIGNS)
def nested_choice(x):
    a, b, c = [1.0], [2.0], [3.0]
    q = a if x > 1 else b if x > 0 else c
    q[0] *= x
    return a[0] + 10 * b[0] + 100 * c[0]


@of(*SIGNS)
def chosen_twice(x):
    a, b = Box(1.0), Box(x)
    p = a if x > 0 else b
    q = b if x > 0 else a
    p.v, q.v = 5.0, 7.0
    return a.v * 10 + b.v


@of(*SIGNS)
def chosen_same_is_same(x):
    a, b = [1.0], [x]
    p = a if x > 0 else b
    q = a if x > -2 else b
    return p is q


@of((np.array([1.0, 2.0, 3.0]), 1), (np.array([1.0, 2.0, 3.0]), 2))
def two_buffers(u, n):
    old, new = u, u.copy()
    for _ in range(n):
        for i in range(1, 2):
            new[i] = 0.5 * (old[i - 1] + old[i + 1])
        old, new = new, old
    new[0] = -1.0
    return old[1]


@of((2, [1.0], [2.0]), (3, [1.0], [2.0]))
def argument_lists_exchanged(n, a, b):
    while n > 0:
        a, b = b, a
        n -= 1
    a[0] = 50.0
    return b[0]


@of(*SIGNS)
def tuple_of_one_of_two(x):
    a, b = [x], [3.0]
    pair = (a, b) if x > 0 else (b, a)
    pair[0][0] = 9.0
    return a[0] - b[0]


@of(*SIGNS)
def dict_entry_becomes_alias(x):
    d = {"p": [x], "q": [1.0]}
    if x > 0:
        d["p"] = d["q"]
    d["q"][0] = 4.0
    return d["p"][0]


@of(*SIGNS)
def namespace_chosen(x):
    a, b = SimpleNamespace(v=1.0), SimpleNamespace(v=2.0)
    c = a
    if x < 0:
        c = b
    c.v += x
    return a.v, b.v


@of(*SIGNS)
def identity_by_any(x):
    a, b = Box(1.0), Box(2.0)
    c = a if x > 0 else b
    return any(c is o for o in (b,))


@of(*SIGNS)
def count_of_an_object(x):
    a, b = Box(1.0), Box(2.0)
    c = a if x > 0 else b
    return [a, a, b].count(c)


@of(*SIGNS)
def list_chosen_then_grown(x):
    a, b = [1.0], [2.0, x]
    c = a if x > 0 else b
    return len(c) + sum(c)


@of(*SIGNS)
def key_order_after_conditional_update(x):
    d = {"z": 1.0}
    if x > 0:
        d["a"], d["b"] = x, 3.0
    else:
        d["b"], d["a"] = 3.0, x
    return [v for v in d.values()]


@of(*SIGNS)
def merged_dict_reversed(x):
    d = {"a": x, "b": 1.0} if x > 0 else {"b": x, "a": 1.0}
    return next(reversed(d.values()))


@of(*SIGNS)
def last_used(x):
    cache = OrderedDict(p=1.0, q=x, r=3.0)
    if x > 0:
        cache.move_to_end("p")
    else:
        cache.move_to_end("q")
    cache.popitem(last=False)
    return sum(cache.values())


@of(*SIGNS)
def deque_popped_from_either_end(x):
    d = deque([1.0, 2.0, x])
    y = d.popleft() if x > 0 else d.pop()
    return y + d[0] * 10 + d[-1] * 100


@of((5, 1.0), (2, 1.0))
def moving_window(n, x):
    w = deque([0.0, 0.0], maxlen=2)
    best = 0.0
    for i in range(n):
        w.append(x * i)
        best = max(best, sum(w))
    return best


@of(*SIGNS)
def list_length_differs_then_padded(x):
    v = [x] if x > 0 else [x, x]
    while len(v) < 2:
        v.append(0.0)
    return v[1]


@of(*SIGNS)
def chainmap(x):
    m = collections.ChainMap({"a": x}, {"a": 1.0, "b": 2.0})
    m["b"] = 5.0
    return m["a"] + m["b"] + m.maps[1]["b"]


@of((1.2,), (2.2,), (0.1,))
def search_then_continue(x):
    rest = iter([1.0, 2.0, 3.0, 4.0])
    first = next(v for v in rest if v > x)
    return first * 100 + sum(rest)


@of(*SIGNS)
def pairwise_with_shared(x):
    it = iter([x, 2.0, 5.0])
    previous = next(it)
    out = []
    for v in it:
        out.append(v - previous)
        previous = v
    return out


@of((4,), (7,))
def round_robin(n):
    names = itertools.cycle([1.0, 10.0, 100.0])
    total = 0.0
    for i, w in zip(range(n), names):
        total += i * w
    return total


@of(*SIGNS)
def numbering_in_branches(x):
    ids = itertools.count(1)
    a = next(ids)
    b = next(ids) if x > 0 else 0
    c = next(ids)
    return a * 100 + b * 10 + c


@of(*SIGNS)
def iterator_of_dict_position(x):
    d = {"a": x, "b": 2.0, "c": 3.0}
    it = iter(d)
    if x > 0:
        next(it)
    return d[next(it)]


@of(*SIGNS)
def iterator_in_a_list(x):
    box = [iter([1.0, 2.0, 3.0])]
    for _ in range(2):
        next(box[0])
    return next(box[0]) * x


@of(*SIGNS)
def generator_in_a_closure(x):
    def fib():
        a, b = x, 1.0
        while True:
            yield a
            a, b = b, a + b

    g = fib()
    draw = lambda: next(g)  # noqa: E731
    return draw() + 10 * draw() + 100 * draw()


@of((3,), (1,))
def generator_drawn_in_a_loop(n):
    def powers():
        p = 1.0
        while True:
            yield p
            p *= 2

    g = powers()
    total = 0.0
    for _ in range(n):
        total = total + next(g)
    return total


@of(*SIGNS)
def map_of_two_stops_with_the_shorter(x):
    it = iter([1.0, 2.0, 3.0])
    s = sum(map(lambda a, b: a * b, it, [x]))
    return s, list(it)


@of(*SIGNS)
def min_over_map_effects(x):
    calls = []

    def cost(v):
        calls.append(v)
        return (v - x) ** 2

    best = min([0.0, 1.0, 2.0], key=cost)
    return best, len(calls)


@of(*SIGNS)
def accumulate_partially(x):
    acc = itertools.accumulate([x, 2.0, 3.0])
    next(acc)
    return next(acc), list(acc)


@of(*SIGNS)
def average_by_coroutine(x):
    def average():
        total, n, mean = 0.0, 0, None
        while True:
            v = yield mean
            total, n = total + v, n + 1
            mean = total / n

    c = average()
    next(c)
    c.send(x)
    return c.send(4.0)


@of(*SIGNS)
def return_value_of_delegated_generator(x):
    def part(k):
        yield k
        return k * 2

    def whole():
        a = yield from part(x)
        b = yield from part(a)
        return b

    out = []
    g = whole()
    while True:
        try:
            out.append(next(g))
        except StopIteration as end:
            out.append(end.value)
            break
    return out


@of(*SIGNS)
def removal_while_iterating(x):
    v = [1.0, 1.0, 3.0, x]
    for e in v:
        if e == 1.0:
            v.remove(e)
    return v


@of(*SIGNS)
def keys_of_a_dict_deleted_while_iterated(x):
    d = {"a": x, "b": 1.0}
    for k in d:
        del d[k]
    return 0.0


@of(*SIGNS)
def memo_dict_with_effects(x):
    memo, calls = {}, 0

    def f(k):
        nonlocal calls
        if k not in memo:
            calls += 1
            memo[k] = x if k < 2 else f(k - 1) + f(k - 2)
        return memo[k]

    return f(6), calls


@of(*SIGNS)
def cached_property(x):
    class C:
        n = 0

        @functools.cached_property
        def p(self):
            self.n += 1
            return self.n * x

    c = C()
    return c.p + c.p, c.n


@of(*SIGNS)
def counter_class_attribute(x):
    class C:
        made = 0

        def __init__(self, v):
            C.made += 1
            self.v = v

    a = C(x)
    b = C(1.0) if x > 0 else a
    return C.made + a.v + b.v


@of(*SIGNS)
def counters_by_closure(x):
    def make():
        n = 0.0

        def up(by):
            nonlocal n
            n += by
            return n

        return up

    a, b = make(), make()
    a(x)
    if x > 0:
        b(x)
    return a(1.0) + 10 * b(2.0)


@of(*SIGNS)
def short_circuit_effects(x):
    log = []

    def f(v, truth):
        log.append(v)
        return truth

    r = f(1.0, x > 0) or f(2.0, x < -2) and f(3.0, True)
    return r, sum(log)


@of(*SIGNS)
def unpacking_order(x):
    log = []

    class Target:
        def __setitem__(self, k, v):
            log.append((k, v))

    t = Target()
    t[0], (t[1], *t[2]) = x, [1.0, 2.0, 3.0]
    return log


@of(*SIGNS)
def global_list_appended(x):
    SEEN.append(x)
    return len(SEEN)


@of((3,), (0,))
def loop_variable_after_loop(n):
    i = -5
    for i in range(n):
        pass
    return i


@of(*SIGNS)
def conditional_cell(x):
    if x > 0:
        y = 2.0
    else:
        y = 3.0

    def f():
        return y * x

    y = 10.0
    return f()
