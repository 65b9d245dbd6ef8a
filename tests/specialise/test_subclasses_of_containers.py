"""Subclasses of containers: their methods run where Python runs them, and the compiler reads items without them."""

from __future__ import annotations

import numpy as np
import pytest

import morula as mo
from morula.core.testing.differences import ridders


class Items(list):
    def __getitem__(self, n):
        if isinstance(n, slice):
            return type(self)(super().__getitem__(n))
        return super().__getitem__(n) * 2.0

    def __iter__(self):
        return super().__iter__()

    def __len__(self):
        return super().__len__()

    def __contains__(self, x):
        return super().__contains__(x)

    def append(self, x):
        super().append(x * 3.0)


class Table(dict):
    def __getitem__(self, k):
        return super().__getitem__(k) * 2.0

    def __setitem__(self, k, v):
        super().__setitem__(k, v + 1.0)

    def get(self, k, default=None):
        return super().get(k, default)


class Pair(tuple):
    def __new__(cls, *items):
        return super().__new__(cls, items)

    def __getitem__(self, n):
        return super().__getitem__(n) * 2.0


ITEMS, TABLE, PAIR = Items([1.0, 2.0, 3.0]), Table(a=2.0), Pair(1.0, 2.0)
ARRAYS, NAMES = Items([np.ones(2), np.full(2, 3.0)]), Items(["a", "b"])


def of_items(items, x):
    items = Items(items)
    items.append(x)
    return items[0] * items[-1] + sum(items) + len(items) + items[1:][0]


def outside_items(x):
    return ITEMS[0] * x + ITEMS[1:][1] * x + sum(ITEMS) * len(ITEMS) + (x if 2.0 in ITEMS else 0.0)


def outside_arrays(x):
    return np.sum(ARRAYS[1] * x) + np.sum(ARRAYS[:1][0]) * x + sum(a[0] for a in ARRAYS) * x


def outside_names(x):
    return x * len([n for n in NAMES if n == "a"]) + (x if "b" in NAMES else 0.0)


def of_table(x):
    table = Table()
    table["a"] = x
    return table["a"] * x + table.get("b", 3.0) * TABLE["a"] + TABLE.get("a") * x


def of_pairs(x):
    pair = Pair(x, x * x)
    return pair[0] * pair[1] + PAIR[1] * x


def by_name(x):
    return ITEMS.__getitem__(1) * x + list.__getitem__(ITEMS, 0) * x + ARRAYS.__getitem__(0).sum() * x


PROGRAMS = [lambda x: of_items([x, 1.0], x), outside_items, outside_arrays, outside_names, of_table, of_pairs, by_name]


@pytest.mark.parametrize("f", PROGRAMS)
def test_overriding_methods_call_those_of_the_base(f, target):
    y, slope = mo.value_and_grad(f)(1.5)
    assert np.isclose(y, f(1.5), rtol=1e-15)
    assert np.isclose(slope, ridders(lambda h: f(1.5 + h), 0.01)[0], rtol=1e-8)
    assert np.allclose(mo.jit(mo.value_and_grad(f), target=target)(1.5), (y, slope), rtol=1e-14)
    assert np.allclose(mo.value_and_grad(mo.jit(f, target=target))(1.5), (y, slope), rtol=1e-14)


def _refused(name):
    def method(self, *args, **kwargs):
        raise AssertionError(f"{name} is called, which the program does not call")

    return method


NAMES_OF_METHODS = (
    "__iter__ __getitem__ __setitem__ __delitem__ __len__ __contains__ __eq__ __ne__ __bool__ __reversed__ __add__ __iadd__ __mul__ __or__ "
    "__ior__ __repr__ __str__ __reduce__ __copy__ __lt__ append extend pop insert clear copy index count keys values items get update "
    "setdefault popitem"
).split()
ClosedList, ClosedDict, ClosedTuple = (
    type(f"Closed{base.__name__}", (base,), {name: _refused(name) for name in NAMES_OF_METHODS if hasattr(base, name)})
    for base in (list, dict, tuple)
)
LIST, DICT = ClosedList([1.0, np.ones(2)]), ClosedDict(a=2.0, b=np.ones(2))
TUPLE, STATE = ClosedTuple((1.0, np.ones(2))), ClosedDict(a=2.0, b=3.0)
item, entry, part = list.__getitem__, dict.__getitem__, tuple.__getitem__


def made_inside(x):
    items, entries, parts = ClosedList([x, x * x]), ClosedDict(a=x), ClosedTuple((x, x * x))
    list.append(items, 2.0 * x)
    dict.__setitem__(entries, "b", x * x)
    return item(items, 0) * item(items, 2) + list.__len__(items) + entry(entries, "b") * part(parts, 1)


def on_a_path_and_in_loops(x):
    items, entries = ClosedList([x, 1.0]), ClosedDict(a=x)
    if x > 1.0:
        list.__setitem__(items, 1, x * x)
        dict.__setitem__(entries, "a", x * 3.0)
    for k in range(3):
        list.__setitem__(items, 0, item(items, 0) * x)
        dict.__setitem__(entries, "a", entry(entries, "a") + k)
    while item(items, 0) < 100.0:
        list.__setitem__(items, 0, item(items, 0) * 2.0)
    return item(items, 0) * item(items, 1) * entry(entries, "a")


def one_of_two(x):
    items = ClosedList([x, 1.0]) if x > 1.0 else ClosedList([2.0 * x, 3.0])
    entries = ClosedDict(a=x) if x > 1.0 else ClosedDict(a=x * x)
    parts = ClosedTuple((x, 1.0)) if x > 1.0 else ClosedTuple((2.0 * x, 3.0))
    return item(items, 0) * item(items, 1) * entry(entries, "a") + part(parts, 0)


def from_outside(x):
    y = item(LIST, 0) * x + np.sum(item(LIST, 1)) * x
    return y + entry(DICT, "a") * x + np.sum(entry(DICT, "b")) * x + part(TUPLE, 0) * x + np.sum(part(TUPLE, 1)) * x


def changed_outside(x):
    dict.__setitem__(STATE, "a", entry(STATE, "a") + 1.0)
    return x * entry(STATE, "a") * entry(STATE, "b")


@pytest.mark.parametrize("f", [made_inside, on_a_path_and_in_loops, one_of_two, from_outside, changed_outside])
def test_methods_that_the_program_does_not_call_are_not_called(f, target):
    def begin():
        dict.__setitem__(STATE, "a", 2.0)
        return 1.5

    y, slope = mo.value_and_grad(f)(begin())
    assert y == f(begin())
    assert np.allclose(mo.jit(mo.value_and_grad(f), target=target)(begin()), (y, slope), rtol=1e-14)
    assert np.allclose(mo.value_and_grad(mo.jit(f, target=target))(begin()), (y, slope), rtol=1e-14)
    begin()


def test_arguments_and_results_of_such_classes(target):
    def changes(items, entries, parts, x):
        list.__setitem__(items, 0, item(items, 0) * x)
        list.append(items, x)
        dict.__setitem__(entries, "a", entry(entries, "a") * x)
        return [ClosedList([item(items, 0)]), ClosedDict(a=x), ClosedTuple((x, part(parts, 0)))]

    def total(items, entries, parts, x):
        found = changes(items, entries, parts, x)
        return item(found[0], 0) * entry(entries, "a") * part(found[2], 1)

    def given():
        return ClosedList([2.0, 1.0]), ClosedDict(a=3.0), ClosedTuple((4.0,)), 1.5

    def plain(x):
        kinds = {ClosedList: list.__iter__, ClosedTuple: tuple.__iter__}
        if type(x) in (*kinds, list, tuple):
            return isinstance(x, tuple), [plain(e) for e in kinds.get(type(x), iter)(x)]
        return (type(x).__name__, dict(dict.items(x))) if isinstance(x, dict) else x

    args, others = given(), given()
    assert plain(mo.jit(changes, target=target)(*args)) == plain(changes(*others))
    assert plain(args) == plain(others)
    gradient = mo.grad(total, (0, 1, 2, 3))
    assert plain(mo.jit(gradient, target=target)(*given())) == plain(gradient(*given()))


class Series(list):
    def __init__(self, items, unit):
        super().__init__(items)
        self.unit, self.total = unit, sum(items)


class Point(tuple):
    def __new__(cls, x, y):
        return super().__new__(cls, (x, y))

    def __init__(self, x, y):
        self.length = (x * x + y * y) ** 0.5


def test_a_result_of_a_derived_class_keeps_its_attributes(target):
    def f(x):
        return Series([x, 2.0 * x], "m"), Point(3.0 * x, 4.0 * x)

    found, expected = mo.jit(f, target=target)(1.5), f(1.5)
    for one, other in zip(found, expected, strict=True):
        assert type(one) is type(other) and one == other and vars(one) == vars(other)
