"""The standard library's function and iterator tools, and `operator`."""

from __future__ import annotations

import functools
import itertools
import math
import operator

import numpy as np
import pytest

import morula as mo


def test_partial(check):
    def g(a, b, c=1.0):
        return a * b**2 + c

    def f(x):
        h = functools.partial(g, x, c=x * x)
        return h(2.0) + h(x) + functools.partial(h, x)() + h(1.0, c=x)

    check(f, 1.5)


def test_partialmethod(check):
    class Scale:
        def __init__(self, x):
            self.x = x

        def by(self, k):
            return self.x * k

        twice = functools.partialmethod(by, 2)

    check(lambda x: Scale(x * x).twice() + Scale(x).by(x), 1.5)


def test_reduce(check):
    def f(v):
        product = functools.reduce(lambda a, b: a * b, v)
        return product + functools.reduce(operator.add, v, product) + functools.reduce(math.hypot, v)

    check(f, [1.0, 2.0, 3.0])


def test_reduce_over_functions(check):
    check(lambda x: functools.reduce(lambda y, g: g(y), [math.sin, math.exp, lambda y: y * x], x), 0.7)


def test_lru_cache_on_active_values(check):
    def f(x):
        @functools.lru_cache(maxsize=None)
        def fib(n):
            return x if n < 2 else fib(n - 1) * x + fib(n - 2)

        return fib(9)

    check(f, 0.6)


def test_lru_cache_takes_equal_numbers_apart():
    @functools.lru_cache(maxsize=None)
    def power(x, n):
        return x**n

    assert mo.gradient(lambda a, b: power(a, 2) + 3 * power(b, 2), 1.5, 1.5) == (3.0, 9.0)


def test_a_module_level_lru_cache_does_not_leak_gradients_between_calls():
    @functools.lru_cache
    def square(x):
        return x * x

    def f(x):
        return square(x) + square(x) * x

    for _ in range(2):
        assert mo.gradient(f, 1.5) == (9.75,)
    assert f(1.5) == 5.625 and type(square(1.5)) is float
    assert mo.gradient(f, 1.5) == (9.75,)
    assert mo.gradient(lambda x: square(x) * 2, 1.5) == (6.0,)


def test_cache(check):
    def f(x):
        @functools.cache
        def binomial(n, k):
            return 1.0 if k in (0, n) else binomial(n - 1, k - 1) * x + binomial(n - 1, k)

        return binomial(6, 3)

    check(f, 0.7)


def test_wraps(check):
    def logged(log):
        def decorate(g):
            @functools.wraps(g)
            def wrapped(*args, **kwargs):
                y = g(*args, **kwargs)
                log.append(y)
                return y

            return wrapped

        return decorate

    def f(x):
        log = []

        @logged(log)
        def g(y, *, k=2.0):
            return y**k * x

        g(x)
        g(x, k=3)
        return sum(log) * len(g.__name__)

    check(f, 1.5)


def test_singledispatch(check):
    @functools.singledispatch
    def size(x):
        return x * x

    @size.register
    def _(x: list):
        return sum(size(y) for y in x)

    @size.register(np.ndarray)
    def _(x):
        return (x**3).sum()

    @size.register(str)
    def _(x):
        return len(x)

    def f(x, a):
        return size([x, [x * 2], "abc"]) + size(a * x)

    check(f, 1.5, np.array([1.0, 2.0]))


def test_singledispatchmethod(check):
    class Area:
        def __init__(self, k):
            self.k = k

        @functools.singledispatchmethod
        def of(self, x):
            return x * self.k

        @of.register
        def _(self, x: tuple):
            return x[0] * x[1] * self.k

    check(lambda x: Area(x).of((x, 2.0)) + Area(x).of(x), 1.5)


def test_cached_property(check):
    class Model:
        def __init__(self, x):
            self.x = x
            self.calls = 0

        @functools.cached_property
        def square(self):
            self.calls += 1
            return self.x**2

    def f(x):
        m = Model(x)
        y = m.square * m.square
        m.x = 100.0
        return y + m.square * m.calls

    check(f, 1.5)


def test_total_ordering(check):
    @functools.total_ordering
    class Cost:
        def __init__(self, c):
            self.c = c

        def __eq__(self, other):
            return self.c == other.c

        def __lt__(self, other):
            return self.c < other.c

    def f(x):
        a, b = Cost(x), Cost(x * x)
        return max(a, b).c * (b >= a) + (a <= b) * a.c + (sorted([b, a])[0].c if a != b else 0.0)

    check(f, 1.5)


def test_cmp_to_key(check):
    def f(v):
        w = sorted(v, key=functools.cmp_to_key(lambda a, b: (a * a > b * b) - (a * a < b * b)))
        return sum(k * a for k, a in enumerate(w))

    check(f, [3.0, -1.0, 2.0])


ITERTOOLS = {
    "accumulate": lambda v: sum(k * a for k, a in enumerate(itertools.accumulate(v))),
    "accumulate-function-initial": lambda v: sum(itertools.accumulate(v, lambda a, b: a * b + 1, initial=v[0])),
    "accumulate-operator": lambda v: sum(itertools.accumulate(v, operator.mul)),
    "chain": lambda v: sum(k * a for k, a in enumerate(itertools.chain(v, (v[0] * 2,), [v[1]]))),
    "chain.from_iterable": lambda v: math.prod(itertools.chain.from_iterable([v, v[:1]])),
    "combinations": lambda v: sum(a * b for a, b in itertools.combinations(v, 2)),
    "combinations_with_replacement": lambda v: sum(a * b**2 for a, b in itertools.combinations_with_replacement(v, 2)),
    "compress": lambda v: sum(a * a for a in itertools.compress(v, [1, 0, 1])),
    "count": lambda v: sum(a * k for a, k in zip(v, itertools.count(v[0], v[1]))),  # noqa: B905
    "cycle": lambda v: sum(a * k for k, a in zip(range(7), itertools.cycle(v))),  # noqa: B905
    "dropwhile": lambda v: sum(a * a for a in itertools.dropwhile(lambda a: a < 1.5, v)),
    "filterfalse": lambda v: sum(a * a for a in itertools.filterfalse(lambda a: a > 1.5, v)),
    "groupby": lambda v: sum(k * sum(g) ** 2 for k, g in itertools.groupby(v, key=lambda a: int(a > 1.5))),
    "islice": lambda v: sum(a * a for a in itertools.islice(v, 0, 3, 2)),
    "pairwise": lambda v: sum(a * b for a, b in itertools.pairwise(v)),
    "permutations": lambda v: sum(a * b**2 for a, b in itertools.permutations(v, 2)),
    "product": lambda v: sum(a * b**2 for a, b in itertools.product(v, repeat=2)),
    "product-two": lambda v: sum(a * b for a, b in itertools.product(v, (v[0], 2.0))),
    "repeat": lambda v: sum(map(operator.mul, v, itertools.repeat(v[0]))),
    "starmap": lambda v: sum(itertools.starmap(lambda a, b: a**b, zip(v, v))),  # noqa: B905
    "takewhile": lambda v: sum(a * a for a in itertools.takewhile(lambda a: a < 2.5, v)),
    "tee": lambda v: sum(a * b for a, b in zip(*itertools.tee(a * a for a in v))),  # noqa: B905
    "zip_longest": lambda v: sum(a * b for a, b in itertools.zip_longest(v, v[:1], fillvalue=v[2])),
}


@pytest.mark.parametrize("name", ITERTOOLS)
def test_itertools(check, name):
    check(ITERTOOLS[name], [1.0, 2.0, 3.0])


OPERATORS = {
    "add": lambda x, y: operator.add(x, y),
    "sub": lambda x, y: operator.sub(x, y),
    "mul": lambda x, y: operator.mul(x, y),
    "truediv": lambda x, y: operator.truediv(x, y),
    "pow": lambda x, y: operator.pow(x, y),
    "neg": lambda x, y: operator.neg(x) * operator.pos(y),
    "mod": lambda x, y: operator.mod(x, y) + operator.floordiv(x, y),
    "abs": lambda x, y: operator.abs(-x) * y,
    "iadd": lambda x, y: operator.iadd(x, y) * operator.imul(x, y),
    "itemgetter": lambda x, y: operator.itemgetter(1)([x, y]) * operator.itemgetter(0, 1)((x, y))[0],
    "attrgetter": lambda x, y: operator.attrgetter("real")(x) * y,
    "methodcaller": lambda x, y: operator.methodcaller("conjugate")(x) * y,
    "getitem": lambda x, y: operator.getitem([x, y], 1) * x,
    "setitem": lambda x, y: (v := [x, y], operator.setitem(v, 0, y * x), v[0] * v[1])[-1],
    "delitem": lambda x, y: (v := [x, y], operator.delitem(v, 0), v[0] * x)[-1],
    "contains": lambda x, y: x * operator.contains([x], x) + y * operator.truth(x),
    "lt": lambda x, y: x if operator.lt(x, y) else y * operator.ge(x, y),
    "call": lambda x, y: (lambda a: a * y)(x) + operator.index(3) * x,
    "concat": lambda x, y: sum(operator.concat([x], [y * y])),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operator_functions(check, name):
    check(OPERATORS[name], 2.7, 1.3)


def test_operator_matmul(check):
    check(lambda a: operator.matmul(a, a).sum(), np.array([[1.0, 2.0], [3.0, 4.0]]))
