"""Programs that combine Python features have Python's results and the right gradients, on both targets."""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import math
import typing

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders


class Spring:
    def __init__(self, x):
        self._x = x
        self.n = 0

    @property
    def x(self):
        self.n += 1
        return self._x

    @x.setter
    def x(self, v):
        self._x = v * 2

    @functools.cached_property
    def sq(self):
        return self._x**2

    def __iadd__(self, o):
        self._x += o
        return self

    def __len__(self):
        return 3

    def __getitem__(self, i):
        return self._x * i

    def __contains__(self, v):
        return v > self._x

    def __enter__(self):
        self.n += 10
        return self

    def __exit__(self, *a):
        self.n += 100
        return False

    def __lt__(self, o):
        return self._x < o._x


@dataclasses.dataclass(order=True)
class Record:
    a: float
    b: float = 2.0
    c: list = dataclasses.field(default_factory=list)

    def total(self):
        return self.a + self.b + sum(self.c)


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: float


class Kind(enum.Enum):
    A = 1
    B = 2


class Level(enum.IntEnum):
    X = 1
    Y = 2


class Pair(typing.NamedTuple):
    u: float
    v: float = 3.0

    def n(self):
        return math.hypot(self.u, self.v)


outside = np.array([1.0, 2.0, 3.0])
factor = 2.0


def properties(x):
    p = Spring(x)
    p.x = 3.0 * x
    return p.x + p.n + p.sq


def data_classes(x):
    d = Record(x, c=[x, 1.0])
    e = dataclasses.replace(d, b=x * x)
    return e.total() * d.total()


def enumerations(x):
    return {Kind.A: x, Kind.B: 2 * x}[Kind.B] + (Level.Y * x) + Kind(1).value


def named_tuples(x):
    t = Pair(x)
    a, b = t
    return t.n() + a * b + t._replace(v=x).n() + t._asdict()["u"]


def arguments_by_name(x, *, k=2.0, **m):
    return x * k + sum(m.values())


def arrays_as_defaults(x, d=np.ones(3)):
    return np.sum(d * x) + arguments_by_name(x, k=3.0, z=x)


def arrays_outside(x):
    return np.sum(outside * x) * factor


def variables_of_closures(x):
    n = [0]

    def inc():
        n[0] += 1
        return n[0] * x

    inc()
    return inc() + inc()


def recursion_with_arrays(a, n=3):
    return a.sum() if n == 0 else recursion_with_arrays(a[1:] * 2.0 if len(a) > 1 else a, n - 1) + a[0]


def sets(x):
    s = {1.0, 2.0}
    s.add(3.0)
    return x * len(s) + (2.0 in s)


def dicts_of_arrays(x):
    d = {"a": np.ones(2) * x, "b": np.arange(2.0)}
    d["a"][0] = 5 * x
    d["c"] = d["a"] * d["b"]
    return sum(np.sum(v) for v in d.values())


def loops_that_end_in_finally(x):
    t = 0.0
    try:
        for i in range(5):
            if i * x > 3:
                break
            t += i * x
        else:
            t = -1.0
    finally:
        t *= 2
    return t


def contexts(x):
    with Spring(x) as p:
        p += 2.0 * x
    return p.x * p.n


def gen(x):
    y = x
    while True:
        z = yield y
        y = y * 2 if z is None else z


def generators_that_are_sent_to(x):
    g = gen(x)
    a = next(g)
    b = next(g)
    c = g.send(5 * x)
    g.close()
    return a + b + c


def assignment_expressions(x):
    return [y := x * 2, y**2][1] + (z := y + 1) * z


def starred_targets(x):
    a, *b, c = [x, 2 * x, 3 * x, 4 * x]
    (d, e), f = (a, b[0]), c
    return d * e + f + sum(b)


def masks(a):
    m = a > 0
    b = a.copy()
    b[m] *= 2
    b[~m] = 0.5
    return np.sum(b[m] ** 2) + np.sum(b)


def ellipsis_and_new_axes(a):
    b = a.reshape(1, -1)[..., None]
    return np.sum(b[..., 0] * b[0, :, 0][None, :])


def complex_numbers(x):
    z = complex(x, 1.0)
    return abs(z * z.conjugate()) + (z**2).imag + np.angle(1j * x + 1)


def iterators(a):
    it = iter(a)
    return next(it) + sum(v * v for v in it)


def reductions_of_functools(x):
    return functools.reduce(lambda p, q: p * q + 1, [x, 2.0, x], 1.0)


def functions_of_math(x):
    return math.prod([x, 2.0, x]) + math.fsum([x, 1.0]) + math.dist([x, 1.0], [0.0, 0.0])


def bounded_queues(a):
    q = collections.deque(a, maxlen=2)
    q.appendleft(a[0] * 3)
    return q[0] * q[1]


def counters(x):
    c = collections.Counter("abca")
    return c["a"] * x + c.most_common(1)[0][1]


def default_dicts(x):
    dd = collections.defaultdict(float)
    dd["a"] += x
    dd["b"] += dd["a"] * 2
    return sum(dd.values())


def patterns(x):
    match (x, 2.0):
        case (a, b) if a > b:
            return a * b
        case (a, 2.0):
            return a**3


def combinations(a):
    return sum(x * y for x, y in itertools.combinations(a, 2))


def frozen_data_classes(x):
    return Frozen(x).a * 2 if Frozen(1.0) == Frozen(1.0) else 0.0


def starred_parameters(x):
    return (lambda *a, **k: a[0] * k["q"])(x, q=x)


def deleted_items(x):
    del_ = [x, x * 2]
    del del_[0]
    return del_[0]


def comparisons_of_data_classes(x):
    return Record(x) < Record(5.0) and x * 2 or x * 3


def suppressed_exceptions(x):
    with contextlib.suppress(ZeroDivisionError):
        return 1 / (x - 1.5)
    return x


def globals_declared(x):
    global factor
    return factor * x


def swaps_of_elements(a):
    a = a.copy()
    a[[0, 1]] = a[[1, 0]]
    a[-1], a[0] = a[0], a[-1]
    return a @ np.arange(len(a))


def integer_parts(x):
    return int(x) // 2 + x % 1 + divmod(x, 0.4)[1] + (-x) // 1


def parts_and_products(a):
    return sum(np.split(a, 2)[0]) + np.einsum("i,i", a, a) + np.convolve(a, [1, 2])[1]


def attributes_by_name(x):
    return getattr(Spring(x), "_x") + hasattr(Spring(x), "zz") + isinstance(x, float) + callable(x)


def unpacked_literals(x):
    return [*range(3), *[x]][-1] + {**{"a": x}, **{"b": 1}}["a"]


def nested_lists(x):
    return sum([[x, 1.0], [2.0, x]][0]) + np.array([[x, 1.0], [2.0, x]])[0, 0] + len("abc" * 2) * x


def orders(a):
    return np.sum(a[a.argsort()[:2]]) + np.partition(a, 1)[0] + np.unique(np.round(a)).size


def assertions(x):
    assert isinstance(x, float), "no"
    return x**0.5


PROGRAMS = [
    properties,
    data_classes,
    enumerations,
    named_tuples,
    arguments_by_name,
    arrays_as_defaults,
    arrays_outside,
    variables_of_closures,
    recursion_with_arrays,
    sets,
    dicts_of_arrays,
    loops_that_end_in_finally,
    contexts,
    generators_that_are_sent_to,
    assignment_expressions,
    starred_targets,
    masks,
    ellipsis_and_new_axes,
    complex_numbers,
    iterators,
    reductions_of_functools,
    functions_of_math,
    bounded_queues,
    counters,
    default_dicts,
    patterns,
    combinations,
    frozen_data_classes,
    starred_parameters,
    deleted_items,
    comparisons_of_data_classes,
    suppressed_exceptions,
    globals_declared,
    swaps_of_elements,
    integer_parts,
    parts_and_products,
    attributes_by_name,
    unpacked_literals,
    nested_lists,
    orders,
    assertions,
]
NUMBER, ARRAY = 1.3, np.array([0.7, -1.2, 2.5, 0.3])


def derivative(f, x):
    if not isinstance(x, np.ndarray):
        return ridders(lambda t: float(f(x + t)), 0.02)[0]
    return np.array([ridders(lambda t, d=d: float(f(x + t * d)), 0.02)[0] for d in np.eye(len(x))])


@pytest.mark.parametrize("f", PROGRAMS)
def test_value_and_gradient(target, f):
    x = ARRAY if f.__code__.co_varnames[0] == "a" else NUMBER
    value, gradient = mo.jit(mo.value_and_grad(f), target=target)(copy.copy(x))
    np.testing.assert_allclose(value, f(copy.copy(x)), rtol=1e-12)
    np.testing.assert_allclose(gradient, derivative(f, x), rtol=1e-6, atol=1e-9)


def comparisons(x):
    return [
        (x, 1.0) < (2.0, 3.0), (x, 2.0) >= (1.3, 2.0), (x, 2.0) > (1.3, 2.0), [x] < [x, 1], [x, 2] <= [x, 1], (1.3, x) <= (x, 1.0),
        Level.Y * x, x + Level.X, x < Level.Y, np.float32(x) * Level.Y, Length(2.0) * x, Length(2.0) < x, Level.X - x,
    ]  # fmt: skip


class Length(float):
    pass


def test_tuples_in_order_and_numbers_of_classes_of_their_own(target):
    found, expected = mo.jit(comparisons, target=target)(1.3), comparisons(1.3)
    assert [type(y) for y in found] == [type(y) for y in expected]
    assert found == pytest.approx(expected)
