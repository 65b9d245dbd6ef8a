"""One language feature per line, after Zygote's ``features.jl``.

Each line is a program, its arguments, and its gradient in closed form.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from eager_tester import check_tangent

import morula as mo

Pair = namedtuple("Pair", "a b")


@dataclass
class Point:
    x: float
    y: float

    def norm2(self):
        return self.x * self.x + self.y * self.y

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)

    def __mul__(self, s):
        return Point(self.x * s, self.y * s)

    def __neg__(self):
        return self * -1

    def __matmul__(self, other):
        return self.x * other.x + self.y * other.y

    def __abs__(self):
        return math.sqrt(self.norm2())

    def __getitem__(self, i):
        return (self.x, self.y)[i]

    def __iter__(self):
        yield self.x
        yield self.y

    def __call__(self, t):
        return self.x + self.y * t

    @property
    def double(self):
        return 2 * self.x

    @staticmethod
    def half(x):
        return x / 2

    @classmethod
    def diagonal(cls, x):
        return cls(x, x)


class Child(Point):
    def norm2(self):
        return 3 * super().norm2()


class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


def power(x, n):
    r = 1
    while n > 0:
        n -= 1
        r *= x
    return r


def recursive(x, n):
    return 1 if n == 0 else x * recursive(x, n - 1)


def even(x, n):
    return x if n == 0 else odd(x * x, n - 1)


def odd(x, n):
    return 2 * x if n == 0 else even(3 * x, n - 1)


def relu(x):
    if x > 0:
        return x
    return 0.0


def ladder(x):
    if x < 0:
        return -x
    elif x < 1:
        return x * x
    else:
        return 2 * x


def early(x):
    for i in range(10):
        x = x * 2
        if x > 10:
            return x * i
    return x


def broken(x):
    total = 0.0
    for i in range(10):
        if i == 3:
            break
        total += x * i
    else:
        total = 1000 * x
    return total


def skipped(x):
    total = 0.0
    for i in range(6):
        if i % 2:
            continue
        total += i * x
    return total


def exhausted(x):
    for _ in range(3):
        x *= 2
    else:
        x += 5 * x
    return x


def forever(x):
    while True:
        x = x * x
        if x > 50:
            return x


def nested_loops(x):
    total = 0.0
    for i in range(3):
        for j in range(i):
            total += x**j * i
    return total


def kinds_of_parameters(a, /, b, *rest, c=2.0, **more):
    return a * b + sum(rest) * c + more.get("d", 0.0)


def default(x, y=3.0):
    return x * y


def caught(x):
    try:
        if x > 1:
            raise ValueError(x * 2)
        return x
    except ValueError as error:
        return error.args[0] * 3


def cleaned(x):
    y = [x]
    try:
        return y[0] * 2
    finally:
        y[0] = 0.0


def otherwise(x):
    try:
        y = x * 2
    except ValueError:
        y = x * 100
    else:
        y = y + x
    finally:
        y = y * 2
    return y


@contextmanager
def scaled(x):
    yield x * 4


def managed(x):
    with scaled(x) as y:
        return y * x


def suppressed(x):
    with suppress(KeyError):
        x = x * 3
        raise KeyError
    return x


def generated(x, n):
    for i in range(n):
        yield x**i


def delegated(x):
    yield from generated(x, 3)
    yield 5 * x


def sent(x):
    y = yield x
    yield y * x


def conversation(x):
    g = sent(x)
    return next(g) * g.send(3.0)


def counter():
    n = 0.0

    def add(x):
        nonlocal n
        n += x
        return n

    return add


def counted(x):
    add = counter()
    add(x)
    add(2 * x)
    return add(x) * x


STATE = {"s": 0.0}


def through_state(x):
    STATE["s"] = x * 3
    return STATE["s"] * x


GLOBAL = 5.0


def changes_global(x):
    global GLOBAL
    GLOBAL = x * x
    return GLOBAL * x


def late_binding(x):
    fs = [lambda t: t * i for i in range(3)]
    return sum(f(x) for f in fs)


def early_binding(x):
    fs = [lambda t, i=i: t * i for i in range(3)]
    return sum(f(x) for f in fs)


def swapped(x, y):
    x, y = y, x
    return x**2 * y


def starred(a):
    first, *rest, last = a
    return first * last + sum(rest)


def walrus(x):
    return (y := x * x) + y


def chained_comparison(x):
    return x * 2 if 0 < x < 10 else x


def assigned_twice(x):
    a = b = x * 2
    return a * b


def augmented(x):
    y = x
    y += x
    y -= 3 * x
    y *= x
    y /= 2
    y **= 2
    return y


def deleted(x):
    y = x * 2
    z = y * x
    del y
    return z


def list_methods(x):
    items = [x]
    items.append(x * 2)
    items.extend([x * 3, 1.0])
    items.insert(0, x * x)
    items.remove(1.0)
    items.reverse()
    return items.pop() + items[0] * items.pop(0)


def list_writes(x):
    items = [0.0] * 4
    items[1] = x
    items[2:] = [x * x, 5 * x]
    items[0], items[1] = items[1], items[0]
    del items[1]
    return items[0] * items[1] + items[-1]


def grown(x):
    items = []
    for i in range(3):
        items = items + [x * i]
    items += [x]
    return sum(items)


def dict_methods(x):
    d = {"a": x}
    d.update(b=x * 2)
    d["c"] = d.pop("a") * d["b"]
    d.setdefault("e", x)
    d |= {"f": 3 * x}
    return sum(d.values()) + d.get("zzz", x)


def dict_walk(x):
    return sum(v * len(k) for k, v in {"a": x, "bb": x * x}.items())


def deque_walk(x):
    d = deque([x, 2 * x], maxlen=2)
    d.append(x * x)
    d.rotate(1)
    return d[0] * d.popleft()


def defaulted(x):
    d = defaultdict(float)
    d["a"] += x
    d["a"] += x * x
    d["b"] -= x
    return d["a"] + d["b"]


def matched(p):
    match p:
        case {"x": x, "y": y}:
            return x * y
        case [x, *rest]:
            return x * sum(rest)
        case Point(x=x, y=0.0):
            return 7 * x
        case Point(x=x, y=y):
            return x - y
        case (int() | float()) as x:
            return x * x


def wrapped(f):
    @functools.wraps(f)
    def inner(*args):
        return f(*args) * 2

    return inner


@wrapped
def decorated(x):
    return x * x


def written(a):
    b = a.copy()
    b[0] = b[1] * 2
    b[1:] *= 3
    return b.sum()


def overwritten(a):
    a[0] = 0.0
    return np.sum(a * a)


def viewed(a):
    v = a[::2]
    v *= 2
    return np.sum(a * a)


def rows(m):
    return sum(row @ row for row in m)


def filled(x):
    a = np.zeros(3)
    for i in range(3):
        a[i] = x ** (i + 1)
    return a.sum()


def prefix(a):
    for i in range(1, len(a)):
        a[i] += a[i - 1]
    return a[-1]


def newton(x):
    y = x
    for _ in range(20):
        y = 0.5 * (y + x / y)
    return y


def object_state(x):
    p = Point(x, 0.0)
    p.y = p.x * 2
    p.x = p.y * x
    return p.x + p.y


def attributes_by_name(x):
    p = SimpleNamespace(v=x)
    setattr(p, "w", getattr(p, "v") * 3)
    return p.w * vars(p)["v"]


def tree_sum(t):
    return t if isinstance(t, float) else sum(map(tree_sum, t))


def derivative_inside(x):
    return x * mo.grad(lambda y: y * y * x)(x)


V = np.array([1.0, 2.0, 3.0])
M = np.array([[1.0, 2.0], [3.0, 5.0]])

FEATURES = {
    # numbers
    "identity": (lambda x: x, (3.0,), 1.0),
    "constant": (lambda x: 5.0, (3.0,), 0.0),
    "sum": (lambda x, y: x + y, (2.0, 3.0), (1.0, 1.0)),
    "difference": (lambda x, y: x - y, (2.0, 3.0), (1.0, -1.0)),
    "product": (lambda x, y: x * y, (2.0, 3.0), (3.0, 2.0)),
    "quotient": (lambda x, y: x / y, (3.0, 2.0), (0.5, -0.75)),
    "floor division": (lambda x: x // 2, (5.0,), 0.0),
    "remainder": (lambda x, y: x % y, (7.0, 3.0), (1.0, -2.0)),
    "divmod": (lambda x: divmod(x, 2.0)[1] * x, (5.0,), 6.0),
    "power": (lambda x, n: x**n, (2.0, 3.0), (12.0, 8 * math.log(2))),
    "power with an int": (lambda x: x**3, (2.0,), 12.0),
    "power of an int": (lambda n: 2**n, (3.0,), 8 * math.log(2)),
    "negative power": (lambda x: x**-2, (2.0,), -0.25),
    "pow": (pow, (5, 3), (75, 125 * math.log(5))),
    "minus": (lambda x: -x, (3.0,), -1.0),
    "plus": (lambda x: +x, (3.0,), 1.0),
    "abs": (abs, (-3.0,), -1.0),
    "round": (lambda x: round(x) * x, (2.6,), 3.0),
    "int": (lambda x: int(x) * x, (2.6,), 2.0),
    "float": (lambda x: float(x) ** 2, (3.0,), 6.0),
    "bool": (lambda x: bool(x) * x, (3.0,), 1.0),
    "an int argument": (lambda n: n * n, (3,), 6),
    "int and float": (lambda n, x: n * x, (3, 2.0), (2.0, 3.0)),
    "a float that is integral": (lambda x: x if x.is_integer() else 2 * x, (3.0,), 1.0),
    "conjugate of a real": (lambda x: x.conjugate() * x.real, (3.0,), 6.0),
    "fraction constant": (lambda x: x * float(Fraction(1, 4)), (3.0,), 0.25),
    "min": (lambda x, y: min(x, y), (2.0, 3.0), (1.0, 0.0)),
    "max": (lambda x, y: max(x, y), (2.0, 3.0), (0.0, 1.0)),
    "max of three": (lambda x: max(x, x * x, 1.0), (3.0,), 6.0),
    "max of a tie": (lambda x, y: max(x, y), (2.0, 2.0), (0.5, 0.5)),
    "max of three equal": (max, (2.0, 2.0, 2.0), (1 / 3, 1 / 3, 1 / 3)),
    "min of a list of equals": (min, ([2.0, 2.0, 2.0, 3.0],), [1 / 3, 1 / 3, 1 / 3, 0.0]),
    "np.max of three equal": (np.max, (np.full(3, 2.0),), np.full(3, 1 / 3)),
    "max with a key": (lambda x, y: max(x, y, key=lambda t: -t), (2.0, 3.0), (1.0, 0.0)),
    "min of a list": (lambda x: min([x, x * 2, x * 3]), (2.0,), 1.0),
    "max with a default": (lambda x: max([], default=x), (2.0,), 1.0),
    "sum of a list": (lambda x: sum([x, x, 2 * x]), (2.0,), 4.0),
    "sum with a start": (lambda x: sum([x], x * x), (2.0,), 5.0),
    "math.prod": (lambda x: math.prod([x, x, 2.0]), (3.0,), 12.0),
    "math.fsum": (lambda x: math.fsum([x, x * x]), (3.0,), 7.0),
    "math.hypot": (lambda x, y: math.hypot(x, y), (3.0, 4.0), (0.6, 0.8)),
    "math.dist": (lambda x: math.dist((x, 0.0), (0.0, 4.0)), (3.0,), 0.6),
    "math.sin": (math.sin, (0.5,), math.cos(0.5)),
    "math.cos": (math.cos, (0.5,), -math.sin(0.5)),
    "math.tan": (math.tan, (0.5,), 1 + math.tan(0.5) ** 2),
    "math.exp": (math.exp, (0.5,), math.exp(0.5)),
    "math.expm1": (math.expm1, (0.5,), math.exp(0.5)),
    "math.log": (math.log, (2.0,), 0.5),
    "math.log with a base": (lambda x: math.log(x, 2), (2.0,), 0.5 / math.log(2)),
    "math.log2": (math.log2, (2.0,), 0.5 / math.log(2)),
    "math.log10": (math.log10, (2.0,), 0.5 / math.log(10)),
    "math.log1p": (math.log1p, (1.0,), 0.5),
    "math.sqrt": (math.sqrt, (4.0,), 0.25),
    "math.cbrt": (math.cbrt, (8.0,), 1 / 12),
    "math.asin": (math.asin, (0.6,), 1.25),
    "math.acos": (math.acos, (0.6,), -1.25),
    "math.atan": (math.atan, (2.0,), 0.2),
    "math.atan2": (math.atan2, (1.0, 2.0), (0.4, -0.2)),
    "math.sinh": (math.sinh, (0.5,), math.cosh(0.5)),
    "math.cosh": (math.cosh, (0.5,), math.sinh(0.5)),
    "math.tanh": (math.tanh, (0.5,), 1 - math.tanh(0.5) ** 2),
    "math.asinh": (math.asinh, (0.75,), 0.8),
    "math.acosh": (math.acosh, (1.25,), 4 / 3),
    "math.atanh": (math.atanh, (0.6,), 1 / 0.64),
    "math.erf": (math.erf, (0.5,), 2 / math.sqrt(math.pi) * math.exp(-0.25)),
    "math.gamma": (math.gamma, (1.0,), -0.5772156649015329),
    "math.lgamma": (math.lgamma, (1.0,), -0.5772156649015329),
    "math.degrees": (math.degrees, (1.0,), 180 / math.pi),
    "math.radians": (math.radians, (1.0,), math.pi / 180),
    "math.fabs": (math.fabs, (-2.0,), -1.0),
    "math.copysign": (math.copysign, (2.0, -1.0), (-1.0, 0.0)),
    "math.fmod": (math.fmod, (7.0, 3.0), (1.0, -2.0)),
    "math.floor": (lambda x: math.floor(x) * x, (2.5,), 2.0),
    "math.ldexp": (lambda x: math.ldexp(x, 3), (2.0,), 8.0),
    "math.modf": (lambda x: math.modf(x)[0] * x, (2.5,), 3.0),
    # the operator module and functions as values
    "operator.mul": (operator.mul, (2.0, 3.0), (3.0, 2.0)),
    "operator.neg": (operator.neg, (2.0,), -1.0),
    "operator.itemgetter": (lambda x: operator.itemgetter(1)([1.0, x * x]), (3.0,), 6.0),
    "operator.attrgetter": (lambda p: operator.attrgetter("x")(p) ** 2, (Point(3.0, 1.0),), Point(6.0, 0.0)),
    "operator.methodcaller": (lambda p: operator.methodcaller("norm2")(p), (Point(3.0, 1.0),), Point(6.0, 2.0)),
    "a function from a table": (lambda x: {"s": math.sin}["s"](x), (0.0,), 1.0),
    "a function as an argument": (lambda x: (lambda f, t: f(f(t)))(lambda t: t * t, x), (2.0,), 32.0),
    "composition": (lambda x: functools.reduce(lambda f, g: lambda t: g(f(t)), [math.sin, math.exp])(x), (0.0,), 1.0),
    "partial": (lambda x: functools.partial(default, y=x)(x), (3.0,), 6.0),
    "partial of a product": (functools.partial(operator.mul, 4.0), (3.0,), 4.0),
    "currying": (lambda x: (lambda a: lambda b: a * b * b)(x)(x), (2.0,), 12.0),
    "an immediately called lambda": (lambda x: (lambda t: t * t)(x), (3.0,), 6.0),
    "a decorated function": (decorated, (3.0,), 12.0),
    "a bound method": (Point(2.0, 3.0).__call__, (5.0,), 3.0),
    "a built-in type as a function": (lambda x: float(complex(x, 0.0).real) * x, (3.0,), 6.0),
    # control flow
    "while": (power, (5, 3), (75, 0)),
    "recursion": (recursive, (5.0, 3), (75.0, 0)),
    "mutual recursion": (even, (2.0, 3), (576.0, 0)),
    "if taken": (relu, (2.0,), 1.0),
    "if not taken": (relu, (-2.0,), 0.0),
    "elif, first": (ladder, (-2.0,), -1.0),
    "elif, second": (ladder, (0.5,), 1.0),
    "elif, else": (ladder, (2.0,), 2.0),
    "conditional expression": (lambda x: x * x if x > 0 else -x, (3.0,), 6.0),
    "and": (lambda x: x and x * x, (3.0,), 6.0),
    "or": (lambda x: x * x or 7.0, (3.0,), 6.0),
    "or of zero": (lambda x: 0.0 or x * 2, (3.0,), 2.0),
    "not": (lambda x: x if not x < 0 else 2 * x, (3.0,), 1.0),
    "chained comparison": (chained_comparison, (3.0,), 2.0),
    "return inside a loop": (early, (1.0,), 48.0),
    "break": (broken, (2.0,), 3.0),
    "continue": (skipped, (2.0,), 6.0),
    "else of a loop": (exhausted, (2.0,), 48.0),
    "while True": (forever, (2.0,), 8 * 2.0**7),
    "nested loops": (nested_loops, (3.0,), 2.0),
    "loop with a negative step": (lambda x: sum(i * x for i in range(5, 0, -2)), (2.0,), 9.0),
    "loop over an array": (lambda a: sum(x * x for x in a), (V,), 2 * V),
    "loop over a matrix": (rows, (M,), 2 * M),
    "loop over a string": (lambda x: sum(x * ord(c) for c in "ab"), (2.0,), 195.0),
    "loop over a dict": (lambda d: sum(d[k] ** 2 for k in d), ({"a": 2.0, "b": 3.0},), {"a": 4.0, "b": 6.0}),
    "loop over a set": (lambda x: sum(x * i for i in {1, 2, 3}), (2.0,), 6.0),
    "enumerate": (lambda a: sum(i * x for i, x in enumerate(a, 1)), (V,), V),
    "zip": (lambda a, b: sum(x * y for x, y in zip(a, b)), (V, V + 1), (V + 1, V)),
    "reversed": (lambda x: next(iter(reversed([x, x * x]))), (3.0,), 6.0),
    "sorted": (lambda x, y: sorted([x, y])[0] * 2, (3.0, 2.0), (0.0, 2.0)),
    "sorted with a key": (lambda x, y: sorted([x, y], key=lambda t: -t)[0], (3.0, 2.0), (1.0, 0.0)),
    "map": (lambda x: sum(map(lambda t: t * t, [x, 2 * x])), (3.0,), 30.0),
    "map of two": (lambda x: sum(map(operator.mul, [x, x], [x, 2.0])), (3.0,), 8.0),
    "filter": (lambda x: sum(filter(lambda t: t > 1, [x, -x, 2 * x])), (3.0,), 3.0),
    "all and any": (lambda x: x * (all([x, 1.0]) + any([0.0, x])), (3.0,), 2.0),
    "iter with a sentinel": (lambda x: sum(iter(iter([x, 2 * x, 0.0]).__next__, 0.0)), (3.0,), 3.0),
    "newton's iteration": (newton, (4.0,), 0.25),
    # functions
    "default argument": (default, (2.0,), 3.0),
    "keyword argument": (lambda x: default(x, y=x), (2.0,), 4.0),
    "all kinds of parameters": (lambda x: kinds_of_parameters(x, x, x, 1.0, c=x, d=x), (3.0,), 14.0),
    "splatted arguments": (lambda x: kinds_of_parameters(*[x, 2.0], **{"c": 1.0}), (3.0,), 2.0),
    "splatted array": (lambda a: math.hypot(*a), (np.array([3.0, 4.0]),), np.array([0.6, 0.8])),
    "closure": (lambda x: (lambda y: x * y)(x), (3.0,), 6.0),
    "closure with state": (counted, (2.0,), 16.0),
    "late binding": (late_binding, (2.0,), 6.0),
    "early binding": (early_binding, (2.0,), 3.0),
    "state in a global dict": (through_state, (2.0,), 12.0),
    "a global that changes": (changes_global, (2.0,), 12.0),
    "a function inside a function": (lambda x: [f(x) for f in (lambda t: t * x,)][0], (3.0,), 6.0),
    "assigned twice": (assigned_twice, (3.0,), 24.0),
    "augmented assignment": (augmented, (2.0,), 8.0),
    "swap": (swapped, (2.0, 3.0), (9.0, 12.0)),
    "starred assignment": (starred, ([2.0, 3.0, 4.0, 5.0],), [5.0, 1.0, 1.0, 2.0]),
    "walrus": (walrus, (3.0,), 12.0),
    "del": (deleted, (3.0,), 12.0),
    "multiple results": (lambda x: (lambda a, b: a * b)(*divmod(7.5, x)), (2.0,), -9.0),
    # exceptions and context managers
    "exception caught": (caught, (2.0,), 6.0),
    "exception not raised": (caught, (0.5,), 1.0),
    "finally": (cleaned, (3.0,), 2.0),
    "else of a try": (otherwise, (3.0,), 6.0),
    "context manager": (managed, (3.0,), 24.0),
    "suppressed exception": (suppressed, (3.0,), 3.0),
    # generators
    "generator": (lambda x: sum(generated(x, 3)), (3.0,), 7.0),
    "yield from": (lambda x: sum(delegated(x)), (3.0,), 12.0),
    "send": (conversation, (2.0,), 12.0),
    "next with a default": (lambda x: next(iter([]), x * x), (3.0,), 6.0),
    "itertools.accumulate": (lambda x: list(itertools.accumulate([x, x, x], operator.mul))[-1], (2.0,), 12.0),
    "itertools.chain": (lambda x: sum(itertools.chain([x], [x * x])), (2.0,), 5.0),
    "itertools.product": (lambda x: sum(a * b for a, b in itertools.product([x, 1.0], repeat=2)), (2.0,), 6.0),
    "itertools.islice": (lambda x: sum(itertools.islice(generated(x, 9), 1, 3)), (2.0,), 5.0),
    "itertools.takewhile": (lambda x: sum(itertools.takewhile(lambda t: t < 5, [x, 2 * x, 4 * x])), (2.0,), 3.0),
    "itertools.pairwise": (lambda x: sum(a * b for a, b in itertools.pairwise([x, 2 * x, 1.0])), (2.0,), 10.0),
    "itertools.starmap": (lambda x: sum(itertools.starmap(pow, [(x, 2), (x, 3)])), (2.0,), 16.0),
    "itertools.repeat": (lambda x: sum(itertools.repeat(x, 3)), (2.0,), 3.0),
    "functools.reduce": (lambda x: functools.reduce(operator.mul, [x, x, x], 2.0), (2.0,), 24.0),
    "functools.cache": (lambda x: functools.cache(lambda t: t * t)(x), (3.0,), 6.0),
    # comprehensions
    "list comprehension": (lambda x: sum([x * i for i in range(4)]), (2.0,), 6.0),
    "condition in a comprehension": (lambda x: sum([x * i for i in range(4) if i % 2]), (2.0,), 4.0),
    "nested comprehension": (lambda x: sum(sum([x * i * j for j in range(3)]) for i in range(3)), (2.0,), 9.0),
    "two loops in a comprehension": (lambda x: sum(a * b for a in [x, 1.0] for b in [x, 2.0]), (3.0,), 9.0),
    "dict comprehension": (lambda x: {k: v * x for k, v in {"a": x}.items()}["a"], (3.0,), 6.0),
    "set comprehension": (lambda x: sum({i * x for i in range(3)}), (2.0,), 3.0),
    "tuple of a generator": (lambda x: tuple(x * i for i in range(3))[2], (2.0,), 2.0),
    "comprehension over rows": (lambda m: sum([r[0] * r[1] for r in m]), (M,), M[:, ::-1]),
    # containers
    "tuple": (lambda t: t[0] * t[1], ((2.0, 3.0),), (3.0, 2.0)),
    "named tuple": (lambda p: p.a * p.b, (Pair(2.0, 3.0),), Pair(3.0, 2.0)),
    "named tuple replaced": (lambda x: Pair(x, 1.0)._replace(b=x * 3).b, (2.0,), 3.0),
    "list": (lambda t: t[0] * t[-1], ([2.0, 3.0],), [3.0, 2.0]),
    "slice of a list": (lambda t: sum(t[1:]) ** 2, ([2.0, 3.0, 4.0],), [0.0, 14.0, 14.0]),
    "reversed slice of a list": (lambda t: t[::-1][0] ** 2, ([2.0, 3.0],), [0.0, 6.0]),
    "list times int": (lambda x: sum([x] * 3), (2.0,), 3.0),
    "list plus list": (lambda t: sum(t + t), ([2.0, 3.0],), [2.0, 2.0]),
    "methods of a list": (list_methods, (3.0,), 60.0),
    "writes into a list": (list_writes, (3.0,), 32.0),
    "a list that grows": (grown, (2.0,), 4.0),
    "dict": (lambda d: d["a"] * d["b"], ({"a": 2.0, "b": 3.0},), {"a": 3.0, "b": 2.0}),
    "methods of a dict": (dict_methods, (3.0,), 19.0),
    "items of a dict": (dict_walk, (3.0,), 13.0),
    "merged dicts": (lambda x: ({"a": 1.0} | {"a": x * x})["a"], (3.0,), 6.0),
    "unpacked dict": (lambda x: {**{"a": x}, "b": x}["a"] * 2, (3.0,), 2.0),
    "nested containers": (lambda t: t["a"][0][1] ** 2, ({"a": [(1.0, 3.0)]},), {"a": [(0.0, 6.0)]}),
    "deque": (deque_walk, (3.0,), 108.0),
    "defaultdict": (defaulted, (3.0,), 6.0),
    "OrderedDict": (lambda x: OrderedDict(a=x, b=x * x).popitem()[1], (3.0,), 6.0),
    "ChainMap": (lambda x: ChainMap({"a": x * x}, {"a": 1.0})["a"], (3.0,), 6.0),
    "Counter": (lambda x: x * Counter("aab")["a"], (3.0,), 2.0),
    "in": (lambda x: x * ("a" in {"a": x}) * (x in [x]), (3.0,), 1.0),
    "index of a list": (lambda x: [1.0, x][[0, 1].index(1)], (3.0,), 1.0),
    "a tree": (tree_sum, ([1.0, [2.0, (3.0, 4.0)]],), [1.0, [1.0, (1.0, 1.0)]]),
    "unused parts": (lambda d: d["a"], ({"a": 2.0, "b": "text", "c": 3.0},), {"a": 1.0, "b": None, "c": 0.0}),
    "text beside numbers": (lambda x, s: x * len(s), (2.0, "abc"), (3.0, None)),
    # objects
    "attribute": (lambda p: p.x * p.y, (Point(2.0, 3.0),), Point(3.0, 2.0)),
    "method": (Point.norm2, (Point(2.0, 3.0),), Point(4.0, 6.0)),
    "method of a base class": (lambda p: p.norm2(), (Child(2.0, 3.0),), Child(12.0, 18.0)),
    "property": (lambda p: p.double**2, (Point(2.0, 3.0),), Point(16.0, 0.0)),
    "static method": (lambda x: Point.half(x), (2.0,), 0.5),
    "class method": (lambda x: Point.diagonal(x).norm2(), (2.0,), 8.0),
    "constructor": (lambda x: Point(x, x * x).y, (3.0,), 6.0),
    "operators of a class": (lambda x: (Point(x, 1.0) + Point(1.0, x) * x) @ Point(1.0, 1.0), (3.0,), 8.0),
    "unary operators of a class": (lambda x: abs(-Point(x, 4.0)), (3.0,), 0.6),
    "item of a class": (lambda p: p[1] ** 2, (Point(2.0, 3.0),), Point(0.0, 6.0)),
    "iteration over a class": (lambda p: sum(p) ** 2, (Point(2.0, 3.0),), Point(10.0, 10.0)),
    "calling an object": (lambda p, t: p(t), (Point(2.0, 3.0), 4.0), (Point(1.0, 4.0), 3.0)),
    "writing attributes": (object_state, (3.0,), 14.0),
    "attributes by name": (attributes_by_name, (3.0,), 18.0),
    "dataclasses.replace": (lambda p: replace(p, x=p.y).norm2(), (Point(2.0, 3.0),), Point(0.0, 12.0)),
    "slots": (lambda x: Slots(x, x * 2).b * Slots(x, 0.0).a, (3.0,), 12.0),
    "a class made on the way": (lambda x: type("T", (), {"f": lambda self: x * x})().f(), (3.0,), 6.0),
    "isinstance": (lambda x: x if isinstance(x, float) else 2 * x, (3.0,), 1.0),
    # pattern matching
    "match a dict": (matched, ({"x": 2.0, "y": 3.0},), {"x": 3.0, "y": 2.0}),
    "match a list": (matched, ([2.0, 3.0, 4.0],), [7.0, 2.0, 2.0]),
    "match an object by a value": (matched, (Point(2.0, 0.0),), Point(7.0, 0.0)),
    "match an object": (matched, (Point(2.0, 3.0),), Point(1.0, -1.0)),
    "match a number": (matched, (3.0,), 6.0),
    # arrays
    "np.sum": (np.sum, (V,), np.ones(3)),
    "np.mean": (np.mean, (V,), np.ones(3) / 3),
    "np.prod": (np.prod, (V,), np.array([6.0, 3.0, 2.0])),
    "np.max": (np.max, (V,), np.array([0.0, 0.0, 1.0])),
    "np.max of a tie": (np.max, (np.array([3.0, 1.0, 3.0]),), np.array([0.5, 0.0, 0.5])),
    "np.var": (np.var, (V,), np.array([-2.0, 0.0, 2.0]) / 3),
    "np.linalg.norm": (np.linalg.norm, (np.array([3.0, 4.0]),), np.array([0.6, 0.8])),
    "np.dot": (np.dot, (V, V + 1), (V + 1, V)),
    "@": (lambda a, b: (a @ b).sum(), (M, M), (np.array([[3.0, 8.0], [3.0, 8.0]]), np.array([[4.0, 4.0], [7.0, 7.0]]))),
    "transpose": (lambda m: (m.T * np.array([[1.0, 2.0], [3.0, 4.0]])).sum(), (M,), np.array([[1.0, 3.0], [2.0, 4.0]])),
    "trace": (np.trace, (M,), np.eye(2)),
    "det": (np.linalg.det, (M,), np.array([[5.0, -3.0], [-2.0, 1.0]])),
    "inverse": (lambda m: np.linalg.inv(m)[0, 1], (M,), np.array([[10.0, -5.0], [-4.0, 2.0]])),
    "solve": (lambda b: np.linalg.solve(M, b)[0], (np.array([1.0, 1.0]),), np.array([-5.0, 2.0])),
    "outer": (lambda a: np.outer(a, a).sum(), (V,), np.full(3, 12.0)),
    "broadcasting": (lambda x, a: (x * a).sum(), (2.0, V), (6.0, np.full(3, 2.0))),
    "broadcasting of rows": (lambda r: (M + r).sum(), (np.zeros(2),), np.full(2, 2.0)),
    "broadcasting of columns": (lambda c: (M * c[:, None]).sum(), (np.ones(2),), np.array([3.0, 8.0])),
    "element": (lambda a: a[1] ** 2, (V,), np.array([0.0, 4.0, 0.0])),
    "element of a matrix": (lambda m: m[0, 1] * m[1, 0], (M,), np.array([[0.0, 3.0], [2.0, 0.0]])),
    "row": (lambda m: m[1].sum(), (M,), np.array([[0.0, 0.0], [1.0, 1.0]])),
    "column": (lambda m: m[:, 1].sum(), (M,), np.array([[0.0, 1.0], [0.0, 1.0]])),
    "slice": (lambda a: a[1:].sum(), (V,), np.array([0.0, 1.0, 1.0])),
    "slice with a step": (lambda a: (a[::-2] * np.array([1.0, 5.0])).sum(), (V,), np.array([5.0, 0.0, 1.0])),
    "index array": (lambda a: a[[0, 0, 2]].sum(), (V,), np.array([2.0, 0.0, 1.0])),
    "mask": (lambda a: a[a > 1.5].sum(), (V,), np.array([0.0, 1.0, 1.0])),
    "ellipsis and newaxis": (lambda a: a[..., None][1, 0] * 3, (V,), np.array([0.0, 3.0, 0.0])),
    "reshape": (lambda a: a.reshape(3, 1)[2, 0] * 2, (V,), np.array([0.0, 0.0, 2.0])),
    "concatenate": (lambda a: np.concatenate([a, a * a]).sum(), (V,), 1 + 2 * V),
    "stack": (lambda a: np.stack([a, 2 * a])[1].sum(), (V,), np.full(3, 2.0)),
    "an array of numbers": (lambda x: np.array([x, x * x, 1.0]).sum(), (3.0,), 7.0),
    "where": (lambda a: np.where(a > 1.5, a * a, 0.0).sum(), (V,), np.array([0.0, 4.0, 6.0])),
    "clip": (lambda a: np.clip(a, 1.5, 2.5).sum(), (V,), np.array([0.0, 1.0, 0.0])),
    "cumsum": (lambda a: np.cumsum(a).sum(), (V,), np.array([3.0, 2.0, 1.0])),
    "sort": (lambda a: np.sort(a)[0], (V[::-1].copy(),), np.array([0.0, 0.0, 1.0])),
    "roll": (lambda a: np.roll(a, 1)[0] * 2, (V,), np.array([0.0, 0.0, 2.0])),
    "diff": (lambda a: np.diff(a)[0], (V,), np.array([-1.0, 1.0, 0.0])),
    "einsum": (lambda a, b: np.einsum("i,i", a, b), (V, V + 1), (V + 1, V)),
    "tile": (lambda a: np.tile(a, 2).sum(), (V,), np.full(3, 2.0)),
    "np.sin": (lambda a: np.sin(a).sum(), (V,), np.cos(V)),
    "np.exp": (lambda a: np.exp(a).sum(), (V,), np.exp(V)),
    "np.log": (lambda a: np.log(a).sum(), (V,), 1 / V),
    "np.tanh": (lambda a: np.tanh(a).sum(), (V,), 1 - np.tanh(V) ** 2),
    "np.sqrt": (lambda a: np.sqrt(a).sum(), (V,), 0.5 / np.sqrt(V)),
    "np.maximum": (lambda a: np.maximum(a, 1.5).sum(), (V,), np.array([0.0, 1.0, 1.0])),
    "vectorize": (lambda a: np.vectorize(lambda t: t * t)(a).sum(), (V,), 2 * V),
    "apply_along_axis": (lambda m: np.apply_along_axis(np.sum, 0, m)[0], (M,), np.array([[1.0, 0.0], [1.0, 0.0]])),
    "copy and write": (written, (V,), np.array([0.0, 5.0, 3.0])),
    "overwritten argument": (overwritten, (V.copy(),), np.array([0.0, 4.0, 6.0])),
    "write through a view": (viewed, (V.copy(),), np.array([8.0, 4.0, 24.0])),
    "filled array": (filled, (2.0,), 17.0),
    "prefix sums in place": (prefix, (V.copy(),), np.ones(3)),
    "float32": (lambda a: np.sum(a * a), (V.astype(np.float32),), (2 * V).astype(np.float32)),
    "integer array": (lambda x: (x * np.arange(3)).sum(), (2.0,), 3.0),
    "array of no dimensions": (lambda a: a * a, (np.array(3.0),), np.array(6.0)),
    "NumPy scalar": (lambda x: x * x, (np.float64(3.0),), np.float64(6.0)),
    "empty array": (np.sum, (np.zeros(0),), np.zeros(0)),
    "array of arrays in a list": (lambda t: (t[0] * t[1]).sum(), ([V, V + 1],), [V + 1, V]),
    "array in an object": (lambda p: (p.x * p.y).sum(), (Point(V, V + 1),), Point(V + 1, V)),
}

TRANSFORMS = {
    "second derivative": (mo.grad(lambda x: x**3), (2.0,), 12.0),
    "second derivative at an int": (mo.grad(lambda x: x**3), (2,), 12),
    "third derivative": (mo.grad(mo.grad(lambda x: x**4)), (2.0,), 48.0),
    "second derivative of a loop": (mo.grad(lambda x: power(x, 4)), (2.0,), 48.0),
    "derivative by an outer variable": (derivative_inside, (3.0,), 54.0),
    "derivative at a constant by an outer variable": (lambda x: x * mo.grad(lambda y: x * y)(1), (4.0,), 8.0),
    "the same at an int": (lambda x: x * mo.grad(lambda y: x * y)(1), (4,), 8),
    "an inner variable of the same name": (lambda x: mo.grad(lambda x: x * x)(2 * x), (3.0,), 4.0),
    "derivative of a pullback": (lambda x: mo.pullback(lambda y: y**3, x)[1](1.0)[0], (2.0,), 12.0),
    "cotangent of a pullback": (lambda t: mo.pullback(lambda y: y**3, 2.0)[1](t)[0], (5.0,), 12.0),
    "value of a pullback": (lambda x: mo.pullback(lambda y: y**3, x)[0], (2.0,), 12.0),
    "value_and_grad inside": (lambda x: math.prod(mo.value_and_grad(lambda y: y * y)(x)), (2.0,), 24.0),
    "gradient by two inside": (lambda x: math.prod(mo.gradient(lambda a, b: a * b * b, x, x)), (1.0,), 8.0),
    "jacobian inside": (lambda a: np.trace(mo.jacobian(lambda b: b**3)(a)), (V,), 6 * V),
    "hessian inside": (lambda a: np.trace(mo.hessian(lambda b: np.sum(b**3))(a)), (V,), np.full(3, 6.0)),
    "hessian of a number inside": (lambda x: mo.hessian(lambda y: y**4)(x), (2.0,), 48.0),
    "hessian at an int": (lambda n: mo.hessian(lambda y: y**4)(n), (2,), 48),
    "second derivative of a loop at an int": (mo.grad(lambda x: power(x, 4)), (2,), 48),
    "forwarddiff": (lambda x: mo.forwarddiff(lambda y: y**3, x), (2.0,), 12.0),
    "checkpoint": (lambda x: mo.checkpoint(lambda y: y**3, x), (2.0,), 12.0),
    "checkpoint of a closure": (lambda x: mo.checkpoint(lambda y: y * x, x), (2.0,), 4.0),
    "stop_gradient": (lambda x: mo.stop_gradient(x) * x, (3.0,), 3.0),
    "hook": (lambda x: mo.hook(lambda g: 10 * g, x) ** 2, (3.0,), 60.0),
    "a gradient step": (lambda w: (w - 0.1 * mo.grad(lambda v: v * v)(w)) ** 2, (1.0,), 1.28),
    "the derivative of a root": (lambda c: root(c), (4.0,), 0.25),
}


def root(c):
    """Newton's method with the derivative taken inside."""
    x = c
    for _ in range(30):
        x = x - (x * x - c) / mo.grad(lambda y: y * y - c)(x)
    return x


def assert_equal(found, expected):
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            assert_equal(found[key], expected[key])
    elif isinstance(expected, (list, tuple)):
        assert type(found) is type(expected) and len(found) == len(expected)
        for one, other in zip(found, expected):
            assert_equal(one, other)
    elif isinstance(expected, Point):
        assert type(found) is type(expected)
        assert_equal(vars(found), vars(expected))
    elif expected is None:
        assert found is None
    else:
        assert np.shape(found) == np.shape(expected)
        if isinstance(expected, np.ndarray):
            assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [*FEATURES, *TRANSFORMS])
def test_a_feature_of_the_language_has_its_gradient(name):
    f, args, expected = {**FEATURES, **TRANSFORMS}[name]
    found = mo.gradient(f, *[a.copy() if isinstance(a, np.ndarray) else a for a in args])
    assert_equal(found, expected if len(args) > 1 else (expected,))


OF_COTANGENTS = {"hook"}
"""Features that forward mode does not have."""


@pytest.mark.parametrize("name", [name for name in {**FEATURES, **TRANSFORMS} if name not in OF_COTANGENTS])
def test_a_feature_of_the_language_has_its_tangent(name):
    f, args, expected = {**FEATURES, **TRANSFORMS}[name]
    check_tangent(f, args, expected if len(args) > 1 else (expected,))
