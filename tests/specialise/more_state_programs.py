"""More short programs with state: arguments that are containers, classes with special methods, iterators in loops."""

from __future__ import annotations

import bisect
import contextlib
import copy
import dataclasses
import functools
import heapq
import itertools
import operator
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple

import numpy as np

PROGRAMS = {}


def of(*calls):
    def r(f):
        PROGRAMS[f.__name__] = (f, calls)
        return f

    return r


S = ((1.5,), (-0.5,))


class Table:
    def __init__(self):
        self.d = {}
        self.log = []

    def __contains__(self, k):
        self.log.append(k)
        return k in self.d

    def __setitem__(self, k, v):
        self.d[k] = v

    def __getitem__(self, k):
        return self.d[k]

    def __delitem__(self, k):
        self.log.append(-1)
        del self.d[k]

    def __iter__(self):
        for k in self.d:
            yield k

    def __len__(self):
        return len(self.d)

    def __call__(self, x):
        self.log.append(x)
        return x


class Miss(dict):
    def __missing__(self, k):
        self[k] = len(k) * 1.0
        return self[k]


@of(*S)
def own_container(x):
    t = Table()
    t[1] = x
    t[2] = 2.0
    a = 1 in t
    if x > 0:
        t[1] = t[1] * 2
    del t[2]
    return a, len(t), t.log, [t[k] for k in t]


@of(*S)
def missing_hook(x):
    m = Miss(a=x)
    y = m["bcd"]
    return y, len(m), m


@of(*S)
def returned_containers(x):
    return OrderedDict(a=x), defaultdict(list, {"k": [x]}), Counter(a=2), deque([x, 2.0], maxlen=2)


@contextlib.contextmanager
def doubled(log):
    log.append(1.0)
    try:
        yield 2.0
    finally:
        log.append(2.0)


@of(*S)
def context_manager(x):
    log = []
    with doubled(log) as k:
        y = k * x
        log.append(y)
    return y, log


@of(*S)
def context_manager_in_branch(x):
    log = [0.0]
    y = 0.0
    if x > 0:
        with doubled([]) as k:
            y = k * x
    return y


class Tree:
    def __init__(self, v, l=None, r=None):
        self.v, self.l, self.r = v, l, r

    def __iter__(self):
        if self.l:
            yield from self.l
        yield self.v
        if self.r:
            yield from self.r


@of(*S)
def tree_walk(x):
    t = Tree(x, Tree(1.0), Tree(2.0, Tree(3.0)))
    return list(t), sum(t), max(t)


@of(*S)
def gen_finally(x):
    log = []

    def g():
        try:
            yield x
            yield 2.0
        finally:
            log.append(x)

    return list(g()), log


@of(*S)
def gen_except_inside(x):
    def g():
        for v in [1.0, 0.0, x]:
            try:
                if v == 0.0:
                    raise ValueError("zero")
                yield v
            except ValueError:
                yield -1.0
            else:
                yield 0.5

    return list(g())


@of(*S)
def heap(x):
    h = [3, 1, 2]
    if x > 0:
        heapq.heapify(h)
    return h[0]


@of(*S)
def heap2(x):
    h = [3, 1, 2]
    heapq.heapify(h)
    heapq.heappush(h, 0)
    a = heapq.heappop(h)
    bisect.insort(h, 5)
    return a, h, x


@of(*S)
def unbound_method(x):
    v = [x]
    if x > 0:
        list.append(v, 1.0)
    else:
        list.append(v, 2.0)
    dict_ = dict(a=1.0)
    dict.update(dict_, b=x)
    return v, dict_


@of(*S)
def frozen(x):
    return dataclasses.replace(P(1.0, x), a=3.0)


@dataclasses.dataclass(frozen=True)
class P:
    a: float
    b: float


@dataclasses.dataclass
class Q:
    a: float
    b: list = dataclasses.field(default_factory=list)


@of(*S)
def dc(x):
    q = Q(x)
    r = Q(x)
    if x > 0:
        q.b.append(1.0)
    else:
        q.b.append(x)
    return q == r, q.b is r.b, q


@of(*S)
def reduce_lazy(x):
    it = iter([1.0, x, 3.0])
    next(it)
    return functools.reduce(operator.mul, it), list(it)


@of((3, 1.5), (6, 1.5))
def fib_loop(n, x):
    def g():
        a, b = x, 1.0
        while True:
            yield a
            a, b = b, a + b

    it = g()
    s = 0.0
    for i in range(n):
        s += next(it)
    return s + next(it)


@of((3,), (6,))
def zip_gen_and_range(n):
    c = itertools.count()
    s = 0
    for i, k in zip(range(n), c):
        s += i * k
    return s, next(c)


@of(
    (np.arange(6.0),),
)
def named_walk(a):
    e = enumerate(a)
    i, x = next(e)
    s = 0.0
    for j, y in e:
        s += j * y
    return s, list(e), i


@of(
    (np.arange(6.0),),
)
def left_walk(a):
    e = iter(a)
    s = 0.0
    for y in e:
        if y > 2:
            break
        s += y
    return s, next(e)


@of(
    (np.arange(6.0),),
)
def any_index_early(a):
    return any(a[i] > 3 for i in range(60))


@of(*S)
def dict_sorted_after(x):
    d = {}
    if x > 0:
        d["b"] = 1.0
        d["a"] = x
    else:
        d["a"] = x
        d["b"] = 2.0
    return len(d), [d[k] for k in sorted(d)], d == {"a": x, "b": 1.0}


@of(*S)
def identity_of_arrays(x):
    a = np.array([x])
    b = np.array([x])
    c = a if x > 0 else b
    return c is a, c is b, c[0]


@of(*S)
def bool_identity(x):
    return (x > 0) is True, (x > 0) is not False, None is None


@of(*S)
def sentinel(x):
    M = object()
    o = M
    if x > 0:
        o = M
    return o is M


@of(*S)
def two_gens_interleaved(x):
    log = []

    def g(k):
        for i in range(3):
            log.append(k * 10 + i)
            yield i * k * x

    return [a + b for a, b in zip(g(1), g(2))], log


@of(*S)
def map_none_left(x):
    m = map(lambda a, b: a * b * x, [1.0, 2.0, 3.0], [1.0, 2.0])
    return next(m), list(m), next(m, None) is None


@of(*S)
def groupby(x):
    return [(k, list(g)) for k, g in itertools.groupby([1, 1, 2, 2, 1])], x


@of(*S)
def product_etc(x):
    return (
        list(itertools.product([x, 1.0], repeat=2)),
        list(itertools.combinations([x, 1.0, 2.0], 2)),
        list(itertools.zip_longest([x], [1.0, 2.0])),
        list(itertools.repeat(x, 2)),
        list(itertools.starmap(pow, [(2, 3)])),
        list(itertools.compress([x, 1.0], [1, 0])),
        list(itertools.pairwise([x, 1.0, 2.0])),
        list(itertools.dropwhile(lambda v: v < 2, [1, 2, 1])),
        list(itertools.islice([x, 1.0, 2.0, 3.0], 1, None, 2)),
    )


@of(*S)
def iter_sentinel(x):
    q = [3, 2, 1, 0, 5]
    return [v * x for v in iter(lambda: q.pop(0), 0)], q


@of(*S)
def nested_fn_generator_args(x):
    def g(a, *, b=2.0, **k):
        got = yield a
        while got is not None:
            got = yield got * b

    it = g(x)
    next(it)
    return it.send(3.0), it.send(x), next(it, 9.0)


@of(*S)
def gen_closed_loop(x):
    def g():
        i = 0
        while True:
            i += 1
            yield i * x

    out = []
    for v in g():
        out.append(v)
        if len(out) == 3:
            break
    return out


@of(*S)
def dict_views(x):
    d = {"a": x, "b": 1.0}
    k = d.keys()
    v = d.values()
    d["c"] = 2.0
    return len(k), list(v), list(reversed(d)), "c" in k, k & {"a"}


@of(*S)
def del_in_branch_then_in(x):
    d = {"a": x, "b": 1.0}
    if x > 0:
        del d["a"]
    return "a" in d, d.get("a", 5.0), "b" in d


@of(*S)
def pop_late(x):
    d = {"b": 1.0}
    if x > 0:
        d["a"] = x
    y = d.pop("a", 7.0)
    return y, len(d), d


@of(*S)
def late_keyerror(x):
    d = {}
    if x > 0:
        d["a"] = x
    return d["a"]


@of(*S)
def late_attr(x):
    b = Table()
    if x > 0:
        b.z = x
    return getattr(b, "z", 3.0), hasattr(b, "z")


@of(*S)
def attr_error(x):
    b = Table()
    if x > 0:
        b.z = x
    return b.z


@of((deque([1.0, 2.0]), 1.5), (deque([1.0, 2.0]), -1.5))
def deque_arg(q, x):
    q.append(x)
    q.rotate(1)
    return q[0]


@of(
    (OrderedDict(a=1.0, b=2.0), 1.5),
)
def od_arg(d, x):
    d.move_to_end("a")
    d["c"] = x
    return list(d)


@of((OrderedDict(a=1.0, b=2.0), 1.5), (OrderedDict(a=1.0, b=2.0), -1.5))
def od_arg_branch(d, x):
    if x > 0:
        d.move_to_end("a")
    return d["a"]


@of(
    ({1, 2}, 1.5),
)
def set_arg(s, x):
    s.add(3)
    return len(s) * x


@of(
    (Counter(a=1), 1.5),
)
def counter_arg(c, x):
    c["b"] += 2
    c.update(["a"])
    return c["a"] * x


@of(
    (defaultdict(list, {"a": [1.0]}), 1.5),
)
def dd_arg(d, x):
    d["b"].append(x)
    d["a"].append(2.0)
    return len(d)


@of(
    ([3.0, 1.0, 2.0], 0.5),
)
def list_arg(v, x):
    v.sort(key=lambda e: 0)
    v.insert(1, x)
    del v[0]
    v += [1.0]
    v[1:1] = [x, x]
    return len(v)


@of(
    ([3.0, 1.0, 2.0], 0.5),
)
def list_slices(v, x):
    v[::2] = [x, x]
    w = v[:]
    w[0] = 9.0
    v *= 2
    del v[1:3]
    return sum(v) + w[0]


@of(
    (iter([1.0, 2.0]), 0.5),
)
def iter_arg(it, x):
    return next(it) * x


@of(*S)
def returns_gen(x):
    return (v * x for v in [1.0, 2.0])


@of(([[1.0], [2.0]], 0.5), ([[1.0], [2.0]], -0.5))
def inner_swap(v, x):
    if x > 0:
        v[0], v[1] = v[1], v[0]
    return v[0][0]


@of(([[1.0], [2.0]], 0.5), ([[1.0], [2.0]], -0.5))
def inner_alias(v, x):
    v[0] = v[1]
    v[0][0] = x
    return v


@of(({"a": [1.0]}, 0.5), ({"a": [1.0]}, -0.5))
def arg_alias_result(d, x):
    r = d["a"]
    if x > 0:
        r = [x]
    return r


@of(({"a": 1.0, "b": 2.0}, 0.5), ({"a": 1.0, "b": 2.0}, -0.5))
def popitem_arg(d, x):
    k, v = d.popitem()
    d["z"] = v * x
    return k


@of(({"a": 1.0, "b": 2.0}, 0.5), ({"a": 1.0, "b": 2.0}, -0.5))
def del_in_branch_arg(d, x):
    if x > 0:
        del d["b"]
    return d["a"]


@of(
    ({"a": 1.0, "b": 2.0}, 0.5),
)
def clear_update(d, x):
    d.clear()
    d.update(b=x, a=1.0)
    return d


@of((3, 0.5), (5, 0.5))
def loop_ordered(n, x):
    d = OrderedDict(a=x, b=2.0)
    for _ in range(n):
        d.move_to_end(next(iter(d)))
    return list(d.values())


@of((3, 0.5), (4, 0.5))
def loop_pop_insert(n, x):
    d = {"a": x, "b": 2.0}
    for i in range(n):
        v = d.pop("a")
        d["a"] = v + i
    return list(d.items())


@of((3, 0.5), (4, 0.5))
def loop_deque_rotate(n, x):
    d = deque([x, 1.0, 2.0])
    for i in range(n):
        d.rotate(1)
    return list(d)


@of((3, 0.5), (4, 0.5))
def loop_list_reverse(n, x):
    d = [x, 1.0, 2.0]
    for i in range(n):
        d.reverse()
    return d


@of((3, 0.5), (7, 0.5))
def loop_next_alike(n, x):
    it = itertools.cycle([x, 1.0, 2.0])
    s = 0.0
    for i in range(n):
        s += next(it) * i
    return s


@of((5.0,), (40.0,))
def while_next(x):
    it = itertools.count(1)
    s = 0.0
    while s < x:
        s += next(it)
    return s, next(it)


@of((5.0,), (40.0,))
def while_gen(x):
    def g():
        k = 1.0
        while True:
            yield k
            k *= 2

    it = g()
    s = 0.0
    while s < x:
        s += next(it)
    return s


@of((5.0,), (40.0,))
def while_list_iter(x):
    it = iter([10.0, 20.0, 30.0])
    s = 0.0
    while s < x:
        s += next(it)
    return s


@of((5.0,), (40.0,))
def while_is(x):
    a, b = [1.0], [2.0]
    cur = a
    s = 0.0
    while s < x:
        s += cur[0]
        cur = b if cur is a else a
    return s


@of((5.0,), (40.0,))
def while_closure(x):
    s = 0.0

    def add(v):
        nonlocal s
        s += v

    while s < x:
        add(3.0)
    return s


@of((3, 1.0), (5, 1.0))
def node_chain(n, x):
    class_ = dict
    head = None
    for i in range(n):
        head = {"v": x * i, "next": head}
    s = 0.0
    while head is not None:
        s += head["v"]
        head = head["next"]
    return s


@of((1.0,), (3.0,))
def try_stop(x):
    it = iter([1.0, 2.0])
    out = []
    while True:
        try:
            out.append(next(it) * x)
        except StopIteration:
            break
    return out


@of((1.0,), (-3.0,))
def for_else(x):
    for v in iter([1.0, 2.0]):
        if v * x > 1.5:
            break
    else:
        v = 9.0
    return v


@of((1.0,), (-3.0,))
def nested_shared(x):
    it = iter(range(6))
    out = []
    for a in it:
        for b in it:
            out.append(a * 10 + b)
            if b % 2 == 0:
                break
    return out, x


@of((1.0,), (-3.0,))
def global_in_default(x):
    def f(v, k=[x]):
        k[0] = k[0] + v
        return k[0]

    return f(1.0) + f(2.0)


@of((1.0,), (-3.0,))
def bound_cells(x):
    fs = []
    for i in range(3):

        def f(j=i):
            return j * x + i

        fs.append(f)
    return [f() for f in fs]


@of((1.0,), (-3.0,))
def attr_on_function(x):
    def f():
        f.n += 1
        return f.n

    f.n = 0
    f()
    return f() * x


@of((1.0,), (-3.0,))
def partial_effects(x):
    log = []
    p = functools.partial(log.append, x)
    p()
    p()
    return log


@of((1.0,), (-3.0,))
def star_args_order(x):
    log = []

    def t(v):
        log.append(v)
        return v

    def f(*a, **k):
        return sum(a) + sum(k.values())

    return f(t(1.0), *[t(2.0), t(x)], k=t(3.0), **{"z": t(4.0)}), log


@of((1.0,), (-3.0,))
def aug_attr_order(x):
    log = []
    class_ = {"v": x}

    def g():
        log.append("g")
        return class_

    def h():
        log.append("h")
        return 2.0

    g()["v"] += h()
    return class_, log


@of((1.0,), (-3.0,))
def ifexp_effects(x):
    log = [0.0]

    def t(v):
        log[0] += v
        return v

    y = t(1.0) if t(x) > 0 else t(2.0)
    return y, log


@of((1.0,), (-3.0,))
def sort_key_effects(x):
    log = []
    v = sorted([3, 1, 2], key=lambda e: (log.append(e * x), e)[1])
    return v, log


@of((1.0,), (-3.0,))
def is_none_sum(x):
    v = None
    for a in [1.0, x]:
        v = a if v is None else v + a
    return v


@of((4, 1.0), (6, 2.0))
def is_none_loop(n, x):
    v = None
    for i in range(n):
        v = x if v is None else v + i
    return v


class Box:
    def __init__(self, v):
        self.v = v


class Eq:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return self.v == o.v

    def __hash__(self):
        return 1


class Chain:
    def __init__(self, v):
        self.v = v

    def add(self, k):
        self.v = self.v + k
        return self


class Meta(type):
    pass


class WithClassCounter:
    total = [0]

    def __init__(self, v):
        self.v = v

    @classmethod
    def make(cls, v):
        return cls(v)

    @staticmethod
    def twice(v):
        return 2 * v


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a


class GetAttr:
    def __getattribute__(self, n):
        if n == "z":
            return 3.0
        return object.__getattribute__(self, n)


class Frozen:
    def __init__(self, v):
        object.__setattr__(self, "v", v)

    def __setattr__(self, n, v):
        raise AttributeError("frozen")


class Lazy:
    def __init__(self, x):
        self.x = x
        self.n = 0

    @functools.cached_property
    def p(self):
        self.n += 1
        return self.x * 2


@of(*S)
def eq_hook(x):
    a, b = Eq(x), Eq(1.5)
    return a == b, a in [b], [a] == [b]


@of(*S)
def fluent(x):
    c = Chain(x)
    d = c.add(1.0).add(x)
    if x > 0:
        d.add(5.0)
    return c.v, d is c


@of(*S)
def class_methods(x):
    w = WithClassCounter.make(x)
    return w.twice(w.v), type(w) is WithClassCounter


@of(*S)
def class_list(x):
    WithClassCounter.total.append(1)
    return x


@of(*S)
def slots(x):
    s = Slots(x)
    if x > 0:
        s.b = 2.0
    else:
        s.b = x
    del s.a
    return s.b, hasattr(s, "a")


@of(*S)
def slot_late(x):
    s = Slots(x)
    if x > 0:
        s.b = 2.0
    return hasattr(s, "b"), getattr(s, "b", 1.0)


@of(*S)
def getattribute(x):
    g = GetAttr()
    g.k = x
    return g.z + g.k


@of(*S)
def frozen_again(x):
    f = Frozen(x)
    if x > 0:
        object.__setattr__(f, "v", 2.0)
    return f.v


@of(*S)
def cached_prop_branch(x):
    l = Lazy(x)
    if x > 0:
        l.p
    return l.p, l.n


@of(*S)
def two_names_then_rebind(x):
    a = [x]
    b = a
    a = a + [1.0]
    a[0] = 5.0
    return b, a


@of(*S)
def iadd_alias(x):
    a = [x]
    b = a
    a += [1.0]
    a[0] = 5.0
    return b, a is b


@of(*S)
def array_iadd_alias(x):
    a = np.array([x, 1.0])
    b = a
    a += 1.0
    c = a
    a = a * 2
    return b, c is b, a


@of(*S)
def mult_list_alias(x):
    r = [[x]] * 3
    r[0].append(1.0)
    return r, r[0] is r[2]


@of(*S)
def fromkeys_alias(x):
    d = dict.fromkeys("ab", [x])
    d["a"].append(1.0)
    return d


@of(*S)
def shallow_copy(x):
    a = [[x], [1.0]]
    b = copy.copy(a)
    b[0].append(2.0)
    c = copy.deepcopy(a)
    c[1][0] = 9.0
    return a, b, c


@of(*S)
def slice_assign_self(x):
    a = [x, 1.0, 2.0]
    a[1:] = a
    return a


@of(*S)
def extend_self(x):
    a = [x]
    a.extend(a)
    a += a
    return a


@of(*S)
def del_slice_iter(x):
    a = [x, 1.0, 2.0, 3.0]
    out = []
    for i, v in enumerate(a):
        out.append(v)
        if i == 0:
            del a[1]
    return out


@of(*S)
def enumerate_zip_share(x):
    it = iter([x, 1.0, 2.0, 3.0])
    out = []
    for i, v in zip(range(2), it):
        out.append(i * v)
    out.append(next(it))
    return out


@of(*S)
def chain_from_gen(x):
    log = []

    def g():
        for i in range(2):
            log.append(i)
            yield [x * i, x]

    c = itertools.chain.from_iterable(g())
    a = next(c)
    n = len(log)
    return a, n, list(c), log


@of(*S)
def max_key_default(x):
    return max([], default=x), max([1.0, 2.0], key=lambda v: -v), min((v for v in [x, 2.0]))


@of(*S)
def dict_comp_order(x):
    log = []

    def t(v):
        log.append(v)
        return v

    d = {t(k): t(x) for k in "ab"}
    return d, log


@of(*S)
def nested_comp_scope(x):
    k = 2.0
    v = [[k * i * x for k in range(2)] for i in range(2)]
    return v, k


@of(*S)
def walrus_any(x):
    if any((w := v) > 1.0 for v in [0.5, x, 3.0]):
        return w
    return 0.0


@of(*S)
def walrus_filter(x):
    return [y for v in [1.0, 2.0] if (y := v * 2) > 2.5], y * x


@of(*S)
def lambda_default_capture(x):
    fs = [(lambda v, i=i: v * i + x) for i in range(3)]
    return [f(1.0) for f in fs]


@of(*S)
def nonlocal_branch(x):
    n = 0

    def up():
        nonlocal n
        if x > 0:
            n += 1
        else:
            n += 2
        return n

    return up() + up() * 10, n


@of((3, 1.0), (0, 2.0))
def nonlocal_loop_traced(n, x):
    s = 0.0
    k = 0

    def step(i):
        nonlocal s, k
        s = s + x * i
        k = k + 1

    for i in range(n):
        step(i)
    return s, k


@of((3, 1.0), (6, 2.0))
def object_counter_loop(n, x):
    b = Box(0.0)
    for i in range(n):
        b.v += x * i
        c = b
        c.v *= 0.5
    return b.v, c is b


@of((3, 1.0), (6, 2.0))
def objects_in_list_loop(n, x):
    bs = [Box(x), Box(1.0)]
    for i in range(n):
        for b in bs:
            b.v = b.v * 0.5 + i
        bs[0].v, bs[1].v = bs[1].v, bs[0].v
    return [b.v for b in bs]


@of((3, 1.0), (6, 2.0))
def list_rotated_objects_loop(n, x):
    bs = [Box(x), Box(1.0), Box(2.0)]
    for i in range(n):
        bs.append(bs.pop(0))
    return bs[0].v


@of(*S)
def del_global_like(x):
    y = x
    del y
    try:
        return y
    except NameError:
        return 7.0


@of(*S)
def finally_overrides(x):
    def f():
        try:
            return x
        finally:
            return 2.0

    return f()


@of(*S)
def loop_else_effects(x):
    log = []
    for v in (1.0, x):
        log.append(v)
    else:
        log.append(-1.0)
    return log


@of(*S)
def star_unpack_gen(x):
    def g():
        yield x
        yield 1.0
        yield 2.0

    a, *b = g()
    c, d, e = g()
    return a, b, c + d + e, [*g(), *g()]


@of(*S)
def unpack_too_many(x):
    it = itertools.count()
    try:
        a, b = it
    except ValueError:
        return next(it)


@of(*S)
def set_ops(x):
    s = {1, 2}
    s |= {3}
    s.add(4)
    t = s
    t -= {1}
    return sorted(s), s is t, x


@of(*S)
def namedtuple_replace(x):
    P = namedtuple("P", "a b")
    p = P(x, 1.0)
    if x > 0:
        p = p._replace(a=3.0)
    return p.a, p.b


@of(*S)
def tuple_identity(x):
    t = (x, 1.0)
    u = t if x > 0 else (x, 1.0)
    return u == t, u is t


@of(*S)
def none_is(x):
    o = None
    p = [x]
    return o is None, p is None, p is not None


@of(*S)
def str_keys_building(x):
    d = {}
    for k in "abc":
        d.setdefault(k, []).append(x)
    d["b"] += [1.0]
    return d, [len(v) for v in d.values()]


class Five(dict):
    def __missing__(self, key):
        return 5.0


@of(*S)
def counter_entry_of_one_path(x):
    c = Counter()
    if x > 0:
        c["a"] = x
    return c["a"] * 10.0 + x, len(c)


@of(*S)
def default_of_an_entry_of_one_path(x):
    d = defaultdict(float)
    if x > 0:
        d["a"] = x
    return d["a"] * 10.0 + x, len(d), d["a"]


@of(*S)
def missing_entry_of_one_path(x):
    d = Five()
    if x > 0:
        d["a"] = x
    y = d["a"]
    d["a"] = 2.0
    return y * 10.0 + x, len(d), d["a"]


@of(*S)
def missing_entry_in_a_loop(x):
    d = defaultdict(list)
    for i in range(4):
        d["high" if x * i > 2.0 else "low"].append(x)
    return len(d["high"]) + 10.0 * len(d["low"]), x
