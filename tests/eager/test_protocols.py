"""Methods that Python calls implicitly: comparisons, truth, unpacking, calls by C code."""

from __future__ import annotations

import functools
import itertools
import math
import operator
import queue
import random
import statistics
import sys
import types
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping
from itertools import accumulate, chain

import numpy as np
import pytest
from scipy.special import pro_cv  # compiled, and without a rule

import morula as mo


class Logged:
    """Everything that Python asks of it computes with its value and keeps what it has computed."""

    def __init__(self, x):
        self.x, self.log = x, 0.0

    def __lt__(self, other):
        self.log = self.log + self.x * other.x
        return self.x < other.x

    def __eq__(self, other):
        return self.x * other  # no bool at all

    __hash__ = None

    def __contains__(self, y):
        self.log = self.log + self.x * y
        return True

    def __bool__(self):
        self.log = self.log + self.x**2
        return True

    def keys(self):
        return ["a", "b"]

    def __getitem__(self, key):
        return self.x * (2 if key == "a" else 3)


def test_a_comparison_computes(check):
    def f(x):
        a, b = Logged(x), Logged(x * x)
        first = a < b
        return (a == 3.0) + a.log * first + (b > a)

    check(f, 1.5)


def test_a_chained_comparison_evaluates_each_operand_once(check):
    def f(x):
        seen = []

        def value(y):
            seen.append(y)
            return y

        inside = 0 < value(x) < value(x * 2) < 10
        return sum(seen) * inside * len(seen)

    check(f, 1.5)


def test_membership_and_truth_compute(check):
    def f(x):
        a = Logged(x)
        if x * 2 in a and not (not a):
            while a:
                break
        assert a
        return a.log if a else 0.0

    check(f, 1.5)


def test_unpacking_a_mapping_calls_its_methods(check):
    def f(x):
        def product(a, b):
            return a * b

        return product(**Logged(x)) + {**Logged(x)}["b"]

    check(f, 1.5)


def test_super_finds_properties_and_c_methods(check):
    class Base(dict):
        @property
        def double(self):
            return self["x"] * 2

        def __setitem__(self, key, value):
            super().__setitem__(key, value * value)

    class Derived(Base):
        @property
        def double(self):
            return super().double * self["x"]

    def f(x):
        d = Derived()
        d["x"] = x
        return d.double

    check(f, 1.5)


def test_a_class_body_and_defaults_compute(check):
    def f(x):
        class Local:
            square = x * x
            cube = square * x

            def value(self, scale=x * 2, *, shift=x + 1):
                return self.cube * scale + shift

        return Local().value() + (lambda y=x * x: y)()

    check(f, 1.5)


def test_decorators_are_evaluated_in_order(check):
    def f(x):
        order = []

        def scaled(factor):
            order.append(factor)
            return lambda g: lambda y: g(y) * factor

        @scaled(x)
        @scaled(x + 1)
        def g(y):
            return y * y

        return g(x) + order[0] * 2 + order[1]

    check(f, 1.5)


def test_a_count_by_a_real_step(check):
    check(lambda x: sum(itertools.islice(itertools.count(x, x * x), 3)), 1.5)


def test_statistics(check):
    def f(v):
        spread = statistics.variance(v) * statistics.pstdev(v) + statistics.stdev(v) - statistics.pvariance(v)
        return statistics.mean(v) * spread + statistics.fmean(v) + statistics.harmonic_mean(v) + statistics.median(v)

    check(f, [1.5, 0.7, 2.5, 3.0])


def test_recursion_goes_as_deep_as_in_python():
    class Node:
        def __init__(self, x, depth):
            self.x = x
            self.below = Node(x * 0.99, depth - 1) if depth else None

        def last(self):
            return self.x if self.below is None else self.below.last()

    limit = sys.getrecursionlimit()
    depth = limit // 3
    assert mo.gradient(lambda x: Node(x, depth).last(), 1.5)[0] == pytest.approx(0.99**depth)
    assert sys.getrecursionlimit() == limit


def test_endless_recursion_is_a_recursion_error():
    def endless(x):
        return endless(*[x * 2])

    limit = sys.getrecursionlimit()
    with pytest.raises(RecursionError):
        mo.gradient(endless, 1.5)
    assert sys.getrecursionlimit() == limit


# Code written in C, without a rule


def test_what_comes_out_of_a_queue_was_only_moved():
    def f(x):
        q = queue.SimpleQueue()
        q.put(x * x)
        q.put(x)
        return q.get() * 3 + q.get()

    assert mo.gradient(f, 2.0) == (13.0,)


def test_an_opaque_result_matters_only_if_it_depends_on_an_argument():
    def f(x, n):
        constant = pro_cv(1, 1, 0.5)
        table = {"constant": constant, "draw": random.Random(1).random()}
        return x * table["constant"] * table["draw"] * n

    assert mo.gradient(f, 2.0, 3)[0] == pytest.approx(f(1.0, 3))
    with pytest.raises(mo.NoDerivative, match="(?s)pro_cv.*test_protocols.py"):
        mo.gradient(lambda x: pro_cv(1, 1, [x * x][0]), 0.5)


def test_the_dependence_of_an_opaque_result_is_found_through_what_it_calls_back():
    from scipy.integrate import odeint

    def f(x):
        return odeint(lambda y, t: -x * y, 1.0, [0.0, 1.0])[-1, 0]

    with pytest.raises(mo.NoDerivative, match="odeint"):
        mo.gradient(f, 2.0)
    assert mo.gradient(lambda x: x * f(2.0), 3.0)[0] == pytest.approx(np.exp(-2.0))


def test_an_array_that_c_code_wrote_into():
    def f(a, swapped):
        b = a * 2
        if swapped:
            b.byteswap(inplace=True)
        return (b * np.arange(4.0)).sum() * 0 + (a * a).sum()

    a = np.array([1.0, 2.0, 3.0, 4.0])
    assert mo.gradient(f, a, True)[0].tolist() == [2.0, 4.0, 6.0, 8.0]

    def g(a):
        b = a * 2
        b.byteswap(inplace=True)
        return (b * np.arange(4.0)).sum()

    with pytest.raises(mo.NoDerivative, match="(?s)byteswap.*test_protocols.py"):
        mo.gradient(g, a)


def test_eval_gives_back_a_variable_but_computes_nothing_differentiable():
    assert mo.gradient(lambda x: eval("x") * 2, 3.0) == (2.0,)
    assert mo.gradient(lambda x: x * eval("1.5 + 0.5"), 3.0) in [(2.0,)]
    with pytest.raises(mo.NoDerivative, match="eval"):
        mo.gradient(lambda x: eval("x * x"), 3.0)


def test_the_shape_of_an_array_is_assigned_to(check):
    def f(a):
        b = a * a
        b.shape = (2, 2)
        c = b @ b
        b.shape = (4,)
        b *= 2
        return c.sum() * b[1]

    check(f, np.array([1.0, 2.0, 0.5, -1.0]))


# Special methods that are no plain functions


def value_of(x):
    return x.value if isinstance(x, Held) else x


class Held:
    def __init__(self, value):
        self.value = value


class Operating:
    """A descriptor that makes a special method of an operator."""

    def __init__(self, operation):
        self.operation = operation

    def __get__(self, x, kind):
        return lambda *others: kind(self.operation(value_of(x), *map(value_of, others)))


class ByDescriptor(Held):
    __add__ = __radd__ = Operating(operator.add)
    __mul__ = __rmul__ = Operating(operator.mul)
    __neg__ = Operating(operator.neg)
    __getitem__ = Operating(operator.mul)
    __call__ = Operating(operator.truediv)


class ByCache(Held):
    @functools.lru_cache
    def __add__(self, other):
        return ByCache(self.value + value_of(other))

    @functools.lru_cache
    def __neg__(self):
        return ByCache(-self.value)


class ByPartialMethod(Held):
    def apply(self, *others, operation):
        return type(self)(operation(self.value, *map(value_of, others)))

    __mul__ = __rmul__ = functools.partialmethod(apply, operation=operator.mul)
    __abs__ = functools.partialmethod(apply, operation=operator.abs)


class OfNoObject(Held):
    @staticmethod
    def __neg__():
        return OfNoObject(3.0)

    @classmethod
    def __abs__(cls):
        return cls(4.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: ((x + ByDescriptor(x)) * (x * x) + x * -ByDescriptor(x)).value,
        lambda x: ByDescriptor(x)[x].value + ByDescriptor(x)(x * x).value,
        lambda x: (ByCache(x * x) + x).value * (-ByCache(x)).value,
        lambda x: (x * abs(ByPartialMethod(x)) * ByPartialMethod(x)).value,
        lambda x: (-OfNoObject(x)).value * x + abs(OfNoObject(x)).value * x * x,
    ],
    ids=["descriptor", "subscript and call", "cached", "partial method", "static"],
)
def test_special_methods_are_bound_as_python_binds_them(check, f):
    check(f, 1.7)


class Wrapped(Held, np.lib.mixins.NDArrayOperatorsMixin):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return Wrapped(getattr(ufunc, method)(*map(value_of, inputs), **kwargs))


@pytest.mark.parametrize(
    "f",
    [
        lambda a: (a * Wrapped(a * a)).value.sum(),
        lambda a: (Wrapped(a) ** 2 / a).value.sum(),
        lambda a: (a[0] - Wrapped(a)).value.sum(),
        lambda a: np.sin(-Wrapped(a)).value.sum(),
        lambda a: (a @ Wrapped(a)).value.sum(),
    ],
)
def test_arrays_give_way_to_a_class_with_array_ufunc(check, f):
    check(f, np.array([0.7, 1.3]))


class Squares(Mapping):
    """A mapping that computes what it gives."""

    def __init__(self, **entries):
        self.entries = entries

    def __getitem__(self, key):
        return self.entries[key] * self.entries[key]

    def __iter__(self):
        return iter(self.entries)

    def __len__(self):
        return len(self.entries)


class Doubled(dict):
    def __getitem__(self, key):
        return 2 * super().__getitem__(key)


def test_mappings_are_read_by_their_methods(check):
    def keywords(**entries):
        return entries["a"]

    def f(x, y):
        d = {"z": 1.0}
        d.update(Squares(a=x), b=y)
        d |= Squares(c=x * y)
        n = Counter(Squares(a=x))
        n.update(Squares(a=y))
        made = dict(Squares(a=y), b=x), OrderedDict(Squares(a=x)), defaultdict(float, Squares(a=y))
        read = keywords(**Squares(a=x)) + keywords(**Doubled(a=x)) + dict(Doubled(a=y))["a"]
        return d["a"] * d["b"] + d["c"] + n["a"] * made[0]["a"] + made[1]["a"] * made[2]["a"] + read

    check(f, 1.5, 0.7)


class ByIndex:
    def __init__(self, x):
        self.x = x

    def __getitem__(self, i):
        if i > 2:
            raise IndexError
        return self.x * (i + 1)


class ByIterator:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        return (self.x * (i + 1) for i in range(3))


@pytest.mark.parametrize("kind", [ByIndex, ByIterator])
def test_what_iterates_in_c_reads_objects_by_their_methods(check, kind):
    def f(x, y):
        values = [1.0]
        values.extend(kind(x))
        values += kind(y)
        values[1:2] = kind(x * y)
        queue = deque(kind(y))
        queue.extend(kind(x))
        total = sum(values) + sum(queue) * max(kind(x)) + math.fsum(kind(x)) * math.prod(kind(y)) + sum(set(kind(x)))
        return total + list(accumulate(kind(x)))[2] * list(chain(kind(y), kind(x)))[3] + np.fromiter(kind(x), float)[1]

    check(f, 1.5, 0.7)


class Node:
    def __init__(self, x):
        self.x = x

    @property
    def square(self):
        return self.x * self.x

    def scaled(self, k):
        return self.x * k

    def __getitem__(self, k):
        return self.x + k

    def __add__(self, other):
        return self.x * other

    def __call__(self, k):
        return self.x**k

    def __iter__(self):
        yield self.x * 2

    def __floor__(self):
        return self.x * 2

    def __ceil__(self):
        return self.x * 3


def test_a_weak_proxy_is_the_object_that_it_stands_for(check):
    def f(x, y):
        node = Node(x)
        p = weakref.proxy(node)
        p.x = p.x * y
        return p.square + p.scaled(y) + p[y] + (p + x) + sum(p) + p(3)

    check(f, 1.5, 0.7)


def test_rounding_an_object_is_its_own_method(check):
    check(lambda x, y: math.floor(Node(x)) * math.ceil(Node(y)) + math.floor(x * 3) * y, 1.4, 0.7)


def test_a_module_computes_attributes_that_it_does_not_have(check):
    module = types.ModuleType("module")

    def f(x, y):
        module.__getattr__ = lambda name: x * len(name)
        module.there = y
        return module.missing * module.there + getattr(module, "other")  # noqa: B009

    check(f, 1.5, 0.7)
