"""Recorded code does what needs no record as plain Python does it; objects that define the operation are recorded."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import morula as mo
from morula.core.eager.unrecorded.opaque import _identify
from morula.core.testing.differences import ridders
from morula.core.values.reachable import reached

length = len


class Holder:
    def __init__(self, **values):
        self.__dict__.update(values)


class Doubling:
    """Its attribute, its entries, its length and its key are computed by methods in Python."""

    def __init__(self, x):
        self.inner = Holder(x=x)

    @property
    def x(self):
        return 2 * self.inner.x

    @x.setter
    def x(self, value):
        self.inner.x = value / 3

    def __getitem__(self, i):
        return self.inner.x * (i + 1)

    def __setitem__(self, i, value):
        self.inner.x = value * i

    def __len__(self):
        return 3

    def __iter__(self):
        return iter([self.inner.x, self.x])


class Place:
    def __init__(self, i):
        self.i = i

    def __index__(self):
        return self.i

    def __hash__(self):
        return hash(self.i)

    def __eq__(self, other):
        return self.i == getattr(other, "i", other)


def test_parts_of_parts_are_loaded_and_stored(check):
    def f(x, y):
        a = Holder(b=Holder(c=[x, y, [x * y]], d={"k": x}), e=Doubling(y))
        total = a.b.c[0] * a.b.c[1] + a.b.c[2][0] * a.b.d["k"] + a.e.x * a.e[1] + a.b.c[-2]
        a.b.c[2][0] = total * x
        a.b.d["m"] = a.b.c[2][0] + a.e.inner.x
        a.e.x = a.b.d["m"]
        a.e[2] = a.e.x * y
        return a.e.inner.x * total + len(a.e) * len(a.b.c) * a.b.c[len(a.b.c[2])]

    check(f, 1.3, 0.7)


def test_augmented_assignments_to_parts(check):
    def f(x, y):
        a = Holder(x=x, n=0, items=[x, y, 2], table={"k": y}, other=Doubling(x), array=np.array([x, y, 1.0]))
        for i in range(2):
            a.n += 1
            a.x *= y + a.n
            a.items[i + 1] += a.x
            a.items[-1] -= a.items[i] * a.n
            a.table["k"] **= 2
            a.other.x += y
            a.other[1] *= a.other.x
            a.array[i] *= a.table["k"]
            a.array += x
            a.array[1:] -= a.array[:-1]
        return a.x + sum(a.items) * a.table["k"] + a.other.x + a.array.sum() + a.n

    check(f, 1.3, 0.7)


def test_an_index_is_evaluated_once_and_after_its_container(check):
    def f(x):
        seen = []

        def taken(value):
            seen.append(value)
            return value

        a, b = [x, 2 * x, 3 * x], [x * x, x, 1.0]
        y = a[(a := b) and taken(1)]  # the container is the one from before
        a[taken(0)] += y * len(seen)
        taken(b)[taken(2)] = a[0] * x
        a[Place(1)] *= x
        table = {Place(3): x, 4: y}
        table[Place(3)] += table[taken(4)]
        return a[0] + a[1] * b[2] + table[3] + len(seen)

    check(f, 1.3)


def test_built_in_functions_of_objects_that_define_them(check):
    class Number:
        def __init__(self, x):
            self.x = x

        def __float__(self):
            return self.x * 2

        def __int__(self):
            return 3

    def f(x):
        d = Doubling(x)
        first, second = d
        listed = list(d) + [*d] + [e for e in d] + list(list(zip(d, (1.0, 2.0)))[1:][0][:1])
        assert isinstance(d, Doubling) and not issubclass(Doubling, Place) and callable(f) and id(d) == id(d)
        return first * second + sum(listed) * len(d) + float(Number(x)) * int(Number(x)) + float(x) + type(x)(2)

    check(f, 1.3)


def test_a_built_in_name_that_is_rebound_is_noticed(monkeypatch):
    def f(x):
        return x * length([1, 2])

    assert mo.gradient(f, 2.0) == (2.0,)
    monkeypatch.setitem(globals(), "length", lambda values: 5)
    assert mo.gradient(f, 2.0) == (5.0,)
    monkeypatch.setitem(globals(), "isinstance", lambda x, kind: True)

    def g(x):
        return x * 3 if isinstance(x, str) else x

    assert mo.gradient(g, 2.0) == (3.0,)


def test_objects_are_freed_when_their_statement_ends(check):
    class Owned:
        def __init__(self, x):
            self.x = x
            self.items = [x, x * x]

    def f(x):
        died = []

        def owned():
            o = Owned(x)
            weakref.finalize(o, died.append, x * len(died))
            return o

        y = owned().x
        y += len(died)
        z = owned().items[1]
        y += z * len(died)
        if owned().x > 0:
            y *= len(died)
        for e in owned().items:
            y += e * len(died)
        owned().x += 1.0
        y *= len(died)
        owned().items[0] = y
        y *= len(died)
        p, q = owned().items
        return y + p * q * len(died) + sum(died)

    check(f, 1.3)


def test_a_generator_is_closed_when_its_loop_is_left(check):
    def f(x):
        closed = []

        def values():
            try:
                yield x
                yield x * x
            finally:
                closed.append(x)

        for v in values():
            break
        return v * len(closed) + sum(closed)

    check(f, 1.3)


def test_a_property_that_is_replaced_in_the_run_is_noticed(check):
    def f(x):
        class Local:
            value = property(lambda self: x)

        o = Local()
        y = o.value * getattr(o, "value") + Holder(o=o).o.value
        Local.value = property(lambda self: x * x)
        y += o.value
        Local.value = 2.0
        return y * o.value

    check(f, 1.3)
    assert mo.gradient(f, 1.3) == mo.gradient(f, 1.3)


CALLS = {
    "numbers": lambda x, a: np.sin(x) * np.hypot(x, 2) + np.power(x, 3) + np.arctan2(1, x),
    "arrays": lambda x, a: np.sum(np.exp(a) * np.maximum(a, 0.5) + np.power(a, 2) * np.tanh(x * a)),
    "broadcasting": lambda x, a: np.sum(np.multiply(a, a[:1]) + np.subtract(a.reshape(-1, 1), a) ** 2),
    "keywords": lambda x, a: (
        np.sum(np.sum(np.outer(a, a), axis=0, keepdims=True)) + np.max(a, axis=0) + np.std(a, ddof=1)
    ),
    "views": lambda x, a: np.sum(np.transpose(np.outer(a, a[::-1]))[1]) * np.ravel(a)[0] + a.reshape(3, 1).T[0].sum(),
    "methods": lambda x, a: (
        a.sum() * a.mean() + a.prod() + a.dot(a) + a.copy()[0] + a.max(axis=0) + a.astype(float).sum()
    ),
    "complex": lambda x, a: np.abs(np.exp(1j * x) + np.sum(np.sqrt(a + 0j))) + np.real(np.multiply(a, 1j * x)).sum(),
    "lists": lambda x, a: np.array([x, 2, x * x]).sum() + np.asarray((x, x))[1] + np.array([[x, 1], [2, x]])[1, 1],
    "integers": lambda x, a: np.sum(a * np.arange(3) + 2**a - np.array([1, 2, 3])) + np.where(a > 1, a, x).sum(),
    "an entry": lambda x, a: a[0] * a[-1] + np.broadcast_to(a[:1], (3,))[1] * x + a[1:][0],
    "matrices": lambda x, a: (
        (np.outer(a, a) @ a + np.eye(3) * x).sum() + np.linalg.inv(np.outer(a, a) + np.eye(3))[0, 0]
    ),
    "an entry twice": lambda x, a: np.add(a, a).sum() + np.multiply(x, x) + np.array([x, x]).prod(),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_rules(check, name):
    f, x, a = CALLS[name], 0.7, np.array([0.4, 1.3, 2.2])

    def program(x, a):
        held = Holder(f=f)  # an attribute keeps the structured tier away
        return held.f(x, a) * 1.0

    gradient = check(program, x, a)

    def inner(x, a):
        return mo.gradient(program, x, a)[0] * 1.0 + np.sum(mo.gradient(program, x, a)[1])

    again = mo.gradient(inner, x, a)  # on an inner tape everything goes the general way
    assert np.allclose(again[0], ridders(lambda h: inner(x + h, a), 0.1)[0], 1e-6, 1e-6)
    assert np.allclose(mo.jacobian(program, 1)(x, a), gradient[1])


def test_infinite_slopes_and_zero_cotangents():
    def f(a, x):
        held = Holder(a=a, x=x)
        root = np.sqrt(held.a)
        return (root * np.array([0.0, 1.0])).sum() + np.sqrt(held.x) * 0.0

    gradient = mo.gradient(f, np.array([0.0, 4.0]), 0.0)
    assert gradient[0].tolist() == [0.0, 0.25] and gradient[1] == 0.0
    assert mo.gradient(lambda a: np.sqrt(Holder(a=a).a).sum(), np.array([0.0, 4.0]))[0].tolist() == [np.inf, 0.25]


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.longdouble])
def test_other_dtypes_keep_their_own(dtype):
    def f(a):
        held = Holder(a=a)
        return np.abs(np.exp(held.a) * np.multiply(held.a, 2)).sum() + np.abs(held.a[1])

    a = np.array([0.5, 1.5], dtype)
    assert mo.gradient(f, a)[0].dtype == dtype
    assert np.allclose(mo.gradient(f, a)[0].real, mo.gradient(f, a.real.astype(float))[0], 1e-5)


def test_sums_and_text(check):
    def f(x):
        parts = [x, x * x, 2, 1.5]
        names = [name for name in ("ab", "cd", "ae") if name.startswith("a") and any(map(name.endswith, ("e", "b")))]
        return sum(parts) * sum(parts, x) + sum(e * x for e in parts) + sum([], x) + len(names) + sum(map(float, parts))

    check(f, 1.3)


def test_code_without_source_is_run_again_in_later_runs():
    space = {}
    exec("def twice(f, x):\n    for _ in range(2):\n        x = f(x)\n    return x", space)  # noqa: S102

    def f(x):
        return space["twice"](lambda v: v * x, x)

    first = mo.value_and_grad(f)(1.5)
    assert first[0] == f(1.5) and mo.value_and_grad(f)(1.5) == first == mo.value_and_grad(f)(1.5)
    exec("def scaled(x):\n    return 2.0 * x", space)  # noqa: S102
    assert mo.gradient(lambda x: space["scaled"](x) * x, 1.5) == mo.gradient(lambda x: 2.0 * x * x, 1.5)


def test_the_identities_in_a_record_are_those_that_a_full_walk_finds():
    held = Holder(values=[1.5, np.ones(2)[1:]])
    inner = [2.5, held]
    inner.append(inner)
    record = [inner, np.float64(1.0), (3.5, {"k": held})]
    for _ in range(60):  # each container is visited once: this has 2**60 paths
        record = [record, record]
    short, full = set(), set()
    _identify((record,), short)
    reached((record,), full)
    assert short == full
