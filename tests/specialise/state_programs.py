"""Short programs that depend on the identity of objects, on order and length of containers and on iterators."""

from __future__ import annotations

import functools
import itertools
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[tuple[Any, ...], ...]]] = {}
WORLD: dict[str, Any] = {"log": [], "n": 0}
TABLE = {"a": 1.0, "b": 2.0}
COUNT = 0.0


def of(*calls: tuple[Any, ...]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a program with the arguments of each of its calls."""

    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        assert f.__name__ not in PROGRAMS, f.__name__
        PROGRAMS[f.__name__] = f, calls
        return f

    return register


class Box:
    def __init__(self, v):
        self.v = v


BOTH = ((1.5,), (-0.5,))


# Identity


@of(*BOTH)
def is_after_a_branch(x):
    o, p = [x], [x]
    if x > 0:
        o = p
    return 1.0 if o is p else 2.0


@of(*BOTH)
def is_not_after_a_branch(x):
    o, p = Box(x), Box(2.0)
    q = o if x > 0 else p
    return (q is o, q is p, q is not o)


@of(*BOTH)
def membership_by_identity(x):
    o, p = Box(x), Box(2.0)
    if x > 0:
        o = p
    return 3.0 * x if p in [o] else x


@of(*BOTH)
def change_of_one_of_two(x):
    o, p = [x], [2.0]
    q = o if x > 0 else p
    q[0] = 5.0 * x
    return o[0] + 10 * p[0]


@of(*BOTH)
def change_of_one_of_two_objects(x):
    o, p = Box(x), Box(2.0)
    q = o if x > 0 else p
    q.v = 5.0 * x
    return o.v + 10 * p.v


@of(*BOTH)
def change_seen_through_the_other_name(x):
    o, p = [x], [2.0]
    q = o if x > 0 else p
    o[0] = 7.0 * x
    return q[0] * x


@of((1.5, [1.0, 2.0]), (-0.5, [1.0, 2.0]))
def append_to_one_of_two(x, a):
    b = [0.0]
    c = a if x > 0 else b
    c.append(x)
    return len(a) + 10 * len(b)


@of((np.array([1.0, 2.0]), np.array([3.0, 4.0]), 1), (np.array([1.0, 2.0]), np.array([3.0, 4.0]), 2))
def swapped_arguments_in_a_loop(v, w, n):
    a = w
    for _ in range(n):
        v, a = a, v
    v[0] = 5.0
    return a[0]


@of((np.array([1.0, 2.0]), 1), (np.array([1.0, 2.0]), 2), (np.array([1.0, 2.0]), 0))
def swapped_with_a_local_in_a_loop(v, n):
    a = np.zeros(2)
    for _ in range(n):
        v, a = a, v
    v[0] = 5.0
    return a[0] + v[1]


@of((np.array([1.0, 2.0]), 0.5), (np.array([1.0, 2.0]), -0.5))
def array_or_its_copy(v, x):
    w = v if x > 0 else v.copy()
    w[0] = 9.0
    return v[0]


@of((np.array([1.0, 2.0]), 0.5), (np.array([1.0, 2.0]), -0.5))
def array_or_its_copy_changed_before_reading(v, x):
    w = v if x > 0 else v.copy()
    v[0] = 9.0
    return w[0]


@of(([1.0, 2.0], 3), ([1.0, 2.0], 2))
def lists_swapped_in_a_loop(a, n):
    b = [3.0, 4.0]
    for i in range(n):
        a, b = b, a
        a[0] += i
    return a[0] - b[0]


@of((3, 0.5), (0, 0.5))
def objects_swapped_in_a_while(n, x):
    o, p = Box(x), Box(1.0)
    first = o
    while n > 0:
        o, p = p, o
        n -= 1
    o.v = 8.0
    return first.v


@of((3,), (0,))
def is_after_a_loop(n):
    o, p = [1.0], [1.0]
    q = o
    for _ in range(n):
        q = p
    return q is o


@of(*BOTH)
def none_or_object(x):
    o = None
    if x > 0:
        o = Box(x)
    return 1.0 if o is None else 2.0


@of(*BOTH)
def none_or_number(x):
    o = None
    if x > 0:
        o = x
    if o is not None:
        return o * 3.0
    return x


@of(*BOTH)
def item_that_is_one_of_two(x):
    rows = [[1.0], [2.0]]
    row = rows[0]
    if x > 0:
        row = rows[1]
    row[0] = x
    return rows[0][0] * 10 + rows[1][0]


@of(*BOTH)
def list_index_of_an_object(x):
    o, p = Box(1.0), Box(2.0)
    q = o if x > 0 else p
    return [o, p].index(q)


@of(*BOTH)
def list_removes_an_object(x):
    o, p = Box(1.0), Box(2.0)
    q = o if x > 0 else p
    both = [o, p]
    both.remove(q)
    return both[0].v


@of(*BOTH)
def dict_keyed_by_object(x):
    o, p = Box(1.0), Box(2.0)
    q = o if x > 0 else p
    return {o: 1.0, p: x}[q]


@of(*BOTH)
def id_of_one_of_two(x):
    o, p = [1.0], [1.0]
    q = o if x > 0 else p
    return id(q) == id(o)


@of(*BOTH)
def two_attributes_become_one(x):
    o, p = Box([x]), Box([2.0])
    if x > 0:
        p.v = o.v
    p.v[0] = 3.0
    return o.v[0]


@of(*BOTH)
def a_branch_makes_an_alias_and_a_later_one_writes(x):
    a, b = np.array([x, 1.0]), np.array([2.0, 3.0])
    if x > 0:
        b = a
    if x > 1:
        b[1] = 10.0
    return a[1]


@of(([Box(1.0), Box(2.0), Box(0.5)],), ([Box(1.0), Box(-2.0), Box(3.5)],))
def the_largest_object_is_changed(items):
    best = items[0]
    for item in items:
        if item.v > best.v:
            best = item
    best.v = 0.0
    return sum(i.v for i in items)


@of((np.array([3.0, 1.0, 2.0]), 0.2), (np.array([3.0, 1.0, 2.0]), -0.2))
def view_or_copy(a, x):
    v = a[1:]
    if x > 0:
        v = v.copy()
    v[0] = 100.0
    return a.sum()


@of(*BOTH)
def function_that_returns_one_of_its_arguments(x):
    def pick(a, b):
        if x > 0:
            return a
        return b

    o, p = [1.0], [2.0]
    pick(o, p)[0] = 7.0
    return o[0] * 10 + p[0]


@of(*BOTH)
def equality_without_eq_is_identity(x):
    o, p = Box(1.0), Box(1.0)
    q = o if x > 0 else p
    return (q == o, q != o, [q] == [o])


@of(*BOTH)
def augmented_list_of_one_of_two(x):
    o, p = [1.0], [2.0]
    q = o if x > 0 else p
    q += [3.0]
    return len(o) * 10 + len(p)


@of(*BOTH)
def number_in_a_list_of_numbers(x):
    return 1.0 if x in [1.5, 2.5] else 0.0


@of(*BOTH)
def result_holds_one_object_twice(x):
    o, p = [x], [x]
    if x > 0:
        o = p
    r = [o, p]
    r[0][0] = 9.0
    return r[1][0]


# Order and length of containers


@of(*BOTH)
def dict_order_of_two_branches(x):
    d = {}
    if x > 0:
        d["a"] = 1.0
        d["b"] = 2.0
    else:
        d["b"] = 2.0
        d["a"] = 1.0
    total = 0.0
    for k, v in d.items():
        total = total * 10 + v
    return total


@of(*BOTH)
def key_order_of_two_branches(x):
    d = {}
    if x > 0:
        d["a"] = x
        d["b"] = 2.0
    else:
        d["b"] = 2.0
        d["a"] = x
    return "".join(d)


@of(*BOTH)
def dict_of_two_branches_is_returned(x):
    if x > 0:
        d = {"a": x, "b": 2.0}
    else:
        d = {"b": 2.0, "a": x}
    return d


@of(*BOTH)
def key_deleted_and_put_back_in_a_branch(x):
    d = {"a": x, "b": 2.0}
    if x > 0:
        del d["a"]
        d["a"] = 3.0
    return list(d.values())[0]


@of((1.5, {"a": 1.0, "b": 2.0}), (-1.5, {"a": 1.0, "b": 2.0}))
def argument_reordered_in_a_branch(x, d):
    if x > 0:
        d["a"] = d.pop("a") + x
    return x


@of((1.5, {"a": 1.0}), (-1.5, {"a": 1.0}))
def key_added_to_an_argument_in_a_branch(x, d):
    if x > 0:
        d["b"] = x
    return len(d)


@of(*BOTH)
def popitem_after_a_branch(x):
    d = {"a": x, "b": 2.0}
    if x > 0:
        d["a"] = d.pop("a") * 2
    return d.popitem()[1]


@of(*BOTH)
def ordered_dict_move_to_end_in_a_branch(x):
    d = OrderedDict(a=x, b=2.0)
    if x > 0:
        d.move_to_end("a")
    return d.popitem()[1]


@of(*BOTH)
def ordered_dict_popitem_first(x):
    d = OrderedDict(a=x, b=2.0)
    if x > 0:
        d.move_to_end("b", last=False)
    return d.popitem(last=False)[1]


@of(*BOTH)
def ordered_dicts_compare_their_order(x):
    d, e = OrderedDict(a=1.0, b=2.0), OrderedDict(b=2.0, a=1.0)
    if x > 0:
        e.move_to_end("b")
    return d == e


@of(*BOTH)
def deque_with_maxlen(x):
    d = deque([1.0, 2.0, 3.0], maxlen=3)
    d.append(x)
    d.appendleft(4.0)
    return list(d)


@of(*BOTH)
def deque_rotated_in_a_branch(x):
    d = deque([1.0, x, 3.0])
    if x > 0:
        d.rotate(1)
    return d[0] * 100 + d[1] * 10 + d[2]


@of(*BOTH)
def deque_append_in_a_branch(x):
    d = deque([1.0, x])
    if x > 0:
        d.append(3.0)
    return len(d)


@of((4, 0.5), (2, 0.5))
def deque_in_a_loop(n, x):
    d = deque([x, 2.0, 3.0], maxlen=3)
    for i in range(n):
        d.append(d[0] + i)
    return sum(d)


@of((4, 0.5), (2, 0.5))
def queue_of_constant_length(n, x):
    d = deque([x, 2.0, 3.0])
    for i in range(n):
        d.append(d.popleft() * 2 + i)
    return list(d)


@of(*BOTH)
def list_append_in_a_branch(x):
    v = [x]
    if x > 0:
        v.append(2.0)
    return len(v)


@of(*BOTH)
def list_pop_in_a_branch(x):
    v = [x, 1.0, 2.0]
    if x > 0:
        v.pop()
    return v[-1]


@of(*BOTH)
def list_insert_and_sort(x):
    v = [3.0, 1.0]
    v.insert(0, x)
    v.sort()
    v.reverse()
    return v


@of(*BOTH)
def list_reversed_in_a_branch(x):
    v = [x, 1.0, 2.0]
    if x > 0:
        v.reverse()
    return v[0] - v[2]


@of(*BOTH)
def counter_with_a_key_of_a_branch(x):
    c = Counter()
    c["a" if x > 0 else "b"] += 1
    return c["a"] * 10 + c["b"]


@of(*BOTH)
def counter_most_common(x):
    c = Counter(a=1, b=2)
    if x > 0:
        c["a"] += 5
    return c.most_common(1)[0][0]


@of(*BOTH)
def counter_missing_key_is_not_inserted(x):
    c = Counter()
    y = c["a"]
    return len(c) + y + x


@of(*BOTH)
def defaultdict_inserts_when_read(x):
    d = defaultdict(float)
    if x > 0:
        d["a"]
    return len(d)


@of(*BOTH)
def defaultdict_of_lists(x):
    d = defaultdict(list)
    d["a"].append(x)
    d["b"].append(1.0)
    d["a"].append(2.0)
    return [sum(v) for v in d.values()]


@of(*BOTH)
def set_grows_in_a_branch(x):
    s = {1, 2}
    if x > 0:
        s.add(3)
    return len(s)


@of(*BOTH)
def set_membership_after_a_branch(x):
    s = {1, 2}
    if x > 0:
        s.discard(2)
    return 2 in s


@of(*BOTH)
def set_of_traced_numbers(x):
    return len({x, 1.5, 2.0})


@of(*BOTH)
def dict_with_traced_key(x):
    return {1.5: 2.0, -0.5: 3.0}[x]


@of(*BOTH)
def dict_update_in_a_branch(x):
    d = {"a": 1.0, "b": x}
    if x > 0:
        d.update(b=5.0, a=3.0)
    else:
        d |= {"b": 6.0}
    return [*d.items()]


@of(*BOTH)
def setdefault_in_a_branch(x):
    d = {"a": x}
    if x > 0:
        d.setdefault("b", 2.0)
    else:
        d.setdefault("b", 3.0)
    return d.setdefault("b", 4.0) + d["a"]


@of((3,), (5,))
def dict_filled_in_a_loop(n):
    d = {"a": 0.0, "b": 0.0}
    for i in range(n):
        d["b"] += i
        d["a"] = d["b"] * 2
    return list(d.items())


@of(*BOTH)
def attributes_in_the_order_of_their_assignment(x):
    b = Box(0.0)
    if x > 0:
        b.p, b.q = x, 2.0
    else:
        b.q, b.p = 2.0, x
    return list(vars(b))


@of(*BOTH)
def attribute_deleted_in_a_branch(x):
    b = Box(x)
    if x > 0:
        del b.v
    return hasattr(b, "v")


# Iterators


@of(*BOTH)
def shared_iterator_advanced_in_a_branch(x):
    it = iter([1.0, 2.0, 3.0])
    if x > 0:
        next(it)
    return next(it) * x


@of((2.5,), (0.5,), (9.0,))
def iterator_left_by_break(x):
    it = iter([1.0, 2.0, 3.0])
    for v in it:
        if v > x:
            break
    return sum(it)


@of((2.5,), (0.5,), (9.0,))
def iterator_resumed_by_next(x):
    it = iter([1.0, 2.0, 3.0])
    for v in it:
        if v > x:
            break
    return next(it, -1.0)


@of(*BOTH)
def iterator_shared_by_two_loops(x):
    it = iter([x, 2.0, 3.0, 4.0])
    total = 0.0
    for v in it:
        total = total * 10 + v
        total += next(it, 0.0)
    return total


@of(*BOTH)
def zip_of_one_iterator_with_itself(x):
    it = iter([x, 2.0, 3.0, 4.0, 5.0])
    return [a * b for a, b in zip(it, it)]


@of(*BOTH)
def zip_consumes_one_more(x):
    it = iter([x, 2.0, 3.0])
    pairs = list(zip(it, [1.0]))
    return [len(pairs), *it]


@of(*BOTH)
def zip_second_is_shorter_consumes_none(x):
    it = iter([x, 2.0, 3.0])
    pairs = list(zip([1.0], it))
    return [len(pairs), *it]


@of((3,), (0,))
def cycle_in_a_loop(n):
    c = itertools.cycle([1.0, 2.0])
    total = 0.0
    for _ in range(n):
        total = total * 10 + next(c)
    return total


@of(*BOTH)
def cycle_advanced_in_a_branch(x):
    c = itertools.cycle([1.0, 2.0, 3.0])
    if x > 0:
        next(c)
    return next(c), next(c)


@of((3,), (5,))
def count_in_a_loop(n):
    c = itertools.count(10)
    total = 0
    for _ in range(n):
        total += next(c)
    return total


@of(*BOTH)
def count_advanced_in_a_branch(x):
    c = itertools.count()
    if x > 0:
        next(c)
    return next(c)


@of(*BOTH)
def islice_leaves_the_rest(x):
    it = iter([x, 2.0, 3.0, 4.0])
    first = list(itertools.islice(it, 2))
    return sum(first) * 100 + sum(it)


@of(*BOTH)
def tee_is_independent(x):
    a, b = itertools.tee(iter([x, 2.0, 3.0]))
    next(a)
    return next(a) + 10 * next(b)


@of(*BOTH)
def chain_of_an_iterator(x):
    it = iter([x, 2.0])
    c = itertools.chain(it, [5.0])
    next(c)
    return next(it) + 10 * next(c)


@of(*BOTH)
def next_in_an_if(x):
    it = iter([1.0, 2.0])
    y = next(it) if x > 0 else x
    return y + 10 * next(it)


@of(*BOTH)
def next_with_default_in_an_if(x):
    it = iter([1.0])
    if x > 0:
        next(it)
    return next(it, 7.0)


@of((1,), (5,))
def next_in_a_loop_runs_out(n):
    it = iter([1.0, 2.0])
    total = 0.0
    for _ in range(n):
        total += next(it)
    return total


@of(*BOTH)
def lazy_map_with_effects(x):
    log = []

    def f(v):
        log.append(v)
        return v * x

    m = map(f, [1.0, 2.0, 3.0])
    first = next(m)
    return first, len(log)


@of(*BOTH)
def lazy_map_never_run(x):
    log = []
    map(log.append, [x, 2.0])
    return len(log)


@of(*BOTH)
def map_is_interleaved_with_its_loop(x):
    log = []

    def f(v):
        log.append(v)
        return v

    for v in map(f, [1.0, 2.0]):
        log.append(-v * x)
    return log


@of(*BOTH)
def filter_with_effects(x):
    log = []

    def keep(v):
        log.append(v)
        return v > 1.5

    it = filter(keep, [1.0, 2.0, 3.0])
    return next(it) * x, len(log)


@of(*BOTH)
def filter_on_traced(x):
    return sum(filter(lambda v: v > x, [1.0, 2.0, 3.0]))


@of(*BOTH)
def generator_expression_is_lazy(x):
    a = [1.0]
    g = (v * a[0] for v in [1.0, 2.0])
    a[0] = x
    return sum(g)


@of(*BOTH)
def generator_expression_evaluates_its_source_at_once(x):
    a = [1.0, 2.0]
    g = (v * x for v in a)
    a = [5.0]
    return sum(g)


@of(*BOTH)
def any_stops_early(x):
    log = []

    def f(v):
        log.append(v)
        return v > 1.0

    found = any(f(v) for v in [0.5, x, 2.0, 3.0])
    return found, sum(log)


@of(*BOTH)
def all_stops_early(x):
    it = iter([1.0, x, 2.0])
    ok = all(v > 0 for v in it)
    return ok, sum(it)


@of(*BOTH)
def in_consumes_an_iterator(x):
    it = iter([1.0, 1.5, 2.0])
    found = x in it
    return found, sum(it)


@of(*BOTH)
def list_grows_while_iterated(x):
    v = [x, 2.0]
    total = 0.0
    for e in v:
        if len(v) < 5:
            v.append(e + 1)
        total += e
    return total


@of(*BOTH)
def list_shrinks_while_iterated(x):
    v = [x, 2.0, 3.0, 4.0]
    total = 0.0
    for e in v:
        v.remove(2.0) if 2.0 in v[1:2] else None
        total += e
    return total


@of(*BOTH)
def list_pops_while_iterated(x):
    v = [x, 2.0, 3.0, 4.0]
    total = 0.0
    for e in v:
        total = total * 10 + e + v.pop()
    return total


@of(*BOTH)
def list_written_while_iterated(x):
    v = [x, 2.0, 3.0]
    total = 0.0
    for e in v:
        v[2] = 10.0
        total += e
    return total


@of((np.array([1.0, 2.0, 3.0]),))
def array_written_while_iterated(a):
    total = 0.0
    for e in a:
        a[2] = 10.0 * e
        total += e
    return total


@of((np.array([[1.0, 2.0], [3.0, 4.0]]),))
def rows_are_views(m):
    for row in m:
        row[0] = 7.0
    return m.sum()


@of(*BOTH)
def dict_changed_while_iterated(x):
    d = {"a": x}
    for k in d:
        d["b"] = 1.0
    return 1.0


@of(*BOTH)
def dict_value_changed_while_iterated(x):
    d = {"a": x, "b": 1.0}
    for k in d:
        d[k] = d[k] * 2
    return d["a"]


@of(*BOTH)
def generator_return_value(x):
    def g():
        yield x
        return 5.0 * x

    it = g()
    next(it)
    try:
        next(it)
    except StopIteration as stop:
        return stop.value
    return 0.0


@of(*BOTH)
def yield_from_value(x):
    def inner():
        yield 1.0
        return x

    def outer():
        y = yield from inner()
        yield y * 10

    return list(outer())


@of(*BOTH)
def generator_send(x):
    def g():
        total = 0.0
        while True:
            got = yield total
            if got is None:
                return
            total += got

    it = g()
    next(it)
    it.send(x)
    return it.send(2.0)


@of(*BOTH)
def generator_throw(x):
    def g():
        try:
            yield x
        except ValueError:
            yield 9.0

    it = g()
    next(it)
    return it.throw(ValueError("stop"))


@of(*BOTH)
def generator_close_runs_finally(x):
    log = []

    def g():
        try:
            yield x
            yield 2.0
        finally:
            log.append(x)

    it = g()
    next(it)
    it.close()
    return len(log)


@of(*BOTH)
def generator_left_by_break_then_resumed(x):
    def g():
        yield 1.0
        yield x
        yield 3.0

    it = g()
    for v in it:
        break
    return sum(it)


@of((2.5,), (0.5,))
def generator_advanced_in_a_branch(x):
    def g():
        yield 1.0
        yield 2.0
        yield 3.0

    it = g()
    if x > 1:
        next(it)
    return next(it)


@of(*BOTH)
def generator_with_effects_is_interleaved(x):
    log = []

    def g():
        log.append(1.0)
        yield x
        log.append(2.0)
        yield x

    for v in g():
        log.append(v)
    return log


@of((3,), (4,))
def generator_of_a_traced_range(n):
    def g():
        for i in range(n):
            yield i * 2.0

    total = 0.0
    for v in g():
        total += v
    return total


@of(*BOTH)
def reversed_is_an_iterator(x):
    it = reversed([1.0, x, 3.0])
    next(it)
    return next(it)


@of(*BOTH)
def enumerate_is_an_iterator(x):
    it = enumerate([x, 2.0, 3.0])
    next(it)
    return [i * v for i, v in it]


@of(*BOTH)
def takewhile_consumes_one_more(x):
    it = iter([1.0, 2.0, 3.0, 4.0])
    taken = list(itertools.takewhile(lambda v: v < 2.5, it))
    return len(taken), sum(it) * x


@of(*BOTH)
def starred_of_an_iterator(x):
    it = iter([x, 2.0, 3.0])
    a, *rest = it
    return a + len(rest) * 10 + sum(it)


@of(*BOTH)
def max_of_an_exhausted_iterator(x):
    it = iter([x, 2.0])
    max(it)
    return max(it, default=-3.0)


class Up:
    def __init__(self, x):
        self.i = 0
        self.x = x

    def __iter__(self):
        return self

    def __next__(self):
        if self.i == 3:
            raise StopIteration
        self.i += 1
        return self.i * self.x


@of(*BOTH)
def iterator_class(x):
    up = Up(x)
    next(up)
    return sum(up)


# Effects, names and scopes


@of(*BOTH)
def lru_cache_with_effects(x):
    log = []

    @functools.lru_cache
    def f(k):
        log.append(k)
        return k * x

    return f(1) + f(1) + f(2), len(log)


@of(*BOTH)
def cache_called_in_a_branch(x):
    log = [0]

    @functools.cache
    def f(k):
        log[0] += 1
        return k * 2.0

    if x > 0:
        f(1)
    return f(1), log[0]


class Base:
    def __init__(self, x):
        self.__v = x

    def base(self):
        return self.__v


class Derived(Base):
    def __init__(self, x):
        super().__init__(x)
        self.__v = 5.0

    def derived(self):
        return self.__v

    @staticmethod
    def __twice(x):
        return 2 * x

    def twice(self):
        return self.__twice(self.__v)


@of(*BOTH)
def private_names_of_two_classes(x):
    d = Derived(x)
    return d.base() + 10 * d.derived() + d.twice()


def _of_the_same_name():
    class Base(globals()["Base"]):
        def __init__(self, x):
            super().__init__(x)
            self.__v = 5.0

        def own(self):
            return self.__v

    return Base


SameName = _of_the_same_name()


@of(*BOTH)
def private_names_of_classes_of_one_name(x):
    d = SameName(x)
    return d.base() + 10 * d.own()


class C:
    k = 1.0
    made = []


@of(*BOTH)
def class_attribute_changed_in_a_branch(x):
    c = C()
    if x > 0:
        C.k = 3.0
    return c.k * x


@of(*BOTH)
def class_attribute_shadowed_in_a_branch(x):
    c = C()
    if x > 0:
        c.k = 3.0
    return c.k * x + C.k


@of(*BOTH)
def list_of_a_class_changed(x):
    c = C()
    c.made.clear()
    c.made.append(x)
    return len(C.made)


class Counting:
    n = 0

    def __init__(self, x):
        self.x = x

    @property
    def p(self):
        self.n += 1
        return self.n * self.x

    @p.setter
    def p(self, v):
        self.n = v


@of(*BOTH)
def property_with_effects(x):
    c = Counting(x)
    c.p
    c.p += 2.0
    return c.p


class CountingDescriptor:
    def __get__(self, o, kind=None):
        o.count += 1
        return o.count * o.x

    def __set__(self, o, v):
        o.count = v


class Described:
    d = CountingDescriptor()

    def __init__(self, x):
        self.x = x
        self.count = 0


@of(*BOTH)
def descriptor_with_effects(x):
    c = Described(x)
    y = c.d
    c.d = 5
    if x > 0:
        c.d
    return y + c.d


class Answering:
    def __init__(self, x):
        self.x = x

    def __getattr__(self, name):
        self.asked = name
        return len(name) * self.x


@of(*BOTH)
def getattr_hook(x):
    c = Answering(x)
    return c.abc, c.asked


@of(*BOTH)
def mutable_default(x):
    def f(v, seen=[]):
        seen.append(v)
        return len(seen)

    f(x)
    return f(x)


@of(*BOTH)
def cell_shared_by_two_functions(x):
    n = 0.0

    def up():
        nonlocal n
        n += x

    def read():
        return n

    up()
    if x > 0:
        up()
    return read() + n


@of((3,), (0,))
def cell_changed_in_a_loop(n):
    total = 1.0

    def up(i):
        nonlocal total
        total = total * 2 + i

    for i in range(n):
        up(i)
    return total


@of(*BOTH)
def closures_of_a_loop_see_its_last_value(x):
    fs = [lambda: i * x for i in range(3)]
    return fs[0]() + fs[1]()


@of((3,), (2,))
def closure_made_in_a_loop(n):
    f = lambda: 0.0  # noqa: E731
    for i in range(n):
        f = lambda: i * 1.0  # noqa: E731
    return f()


@of(*BOTH)
def function_of_a_branch(x):
    if x > 0:
        f = lambda v: v * 2  # noqa: E731
    else:
        f = lambda v: v * 3  # noqa: E731
    return f(x)


@of(*BOTH)
def global_is_written(x):
    global COUNT
    COUNT = 1.5
    COUNT = COUNT + x
    return COUNT


@of(*BOTH)
def global_dict_is_written_in_a_branch(x):
    if x > 0:
        WORLD["n"] = x
    return WORLD["n"]


@of(*BOTH)
def name_deleted_in_a_branch(x):
    y = x
    if x > 0:
        del y
    return y


@of(*BOTH)
def name_bound_in_a_branch(x):
    if x > 0:
        y = x
    return y


@of(*BOTH)
def walrus_in_a_comprehension(x):
    v = [last := e * x for e in [1.0, 2.0]]
    return last + sum(v)


@of(*BOTH)
def walrus_in_a_condition(x):
    if (y := x * 2) > 0 and (z := y + 1) > 2:
        return z
    return y


@of(*BOTH)
def comprehension_does_not_leak(x):
    e = 5.0
    v = [e * x for e in [1.0, 2.0]]
    return e + sum(v)


@of(*BOTH)
def chained_comparison_with_effects(x):
    log = []

    def f(v):
        log.append(v)
        return v

    ok = f(0.0) < f(x) < f(2.0)
    return ok, len(log)


@of(*BOTH)
def and_or_return_their_operand(x):
    y = x > 0 and x
    z = (x > 0 and [1.0]) or [2.0]
    return y * 1.0 + z[0]


@of(*BOTH)
def order_of_evaluation(x):
    log = []

    def f(v):
        log.append(v)
        return v

    d = {f(1): f(2)}
    d[f(1)] = f(x)
    a = [0.0, 0.0]
    a[f(0)] = f(4.0) + f(5.0) * f(6.0)
    return log


@of(*BOTH)
def augmented_assignment_reads_first(x):
    a = [x, 1.0]

    def f():
        a[0] = 100.0
        return 1.0

    a[0] += f()
    return a[0]


@of(*BOTH)
def assignment_from_left_to_right(x):
    i = 0
    a = [0.0, 0.0]
    i, a[i] = 1, x
    return a


@of(*BOTH)
def method_added_in_a_branch(x):
    b = Box(x)
    if x > 0:
        b.f = lambda: 2.0
    else:
        b.f = lambda: 3.0
    return b.f()


@of(*BOTH)
def try_finally_order(x):
    log = []

    def f():
        try:
            log.append(1.0)
            return x
        finally:
            log.append(2.0)

    log.append(f())
    return log


@of(*BOTH)
def swap_by_attribute(x):
    o, p = Box([x]), Box([2.0])
    if x > 0:
        o.v, p.v = p.v, o.v
    o.v[0] += 1.0
    return o.v[0] * 10 + p.v[0]


@of((3, 0.5), (2, 0.5))
def linked_objects_rotate(n, x):
    a, b, c = Box(x), Box(1.0), Box(2.0)
    for _ in range(n):
        a, b, c = b, c, a
        a.v += 1.0
    return a.v * 100 + b.v * 10 + c.v
