"""``inspect.signature`` of functions that the program defines, and the order of many items by traced keys."""

from __future__ import annotations

import inspect

import numpy as np
import pytest


def bound(x):
    def f(t, k=x, *rest, m=2, **options):
        return t * k * m + len(rest) + len(options)

    signature = inspect.signature(f)
    args = signature.bind(x, m=3)
    args.apply_defaults()
    names = [p.name for p in signature.parameters.values()]
    kinds = {p.kind for p in signature.parameters.values()}
    return f(*args.args, **args.kwargs) * len(names) + len(kinds) * signature.parameters["k"].default


def by_names(x):
    f = lambda a, /, b, *, c=1.0: a * b + c
    names = list(inspect.signature(f).parameters)
    assert names == ["a", "b", "c"] and inspect.signature(f).parameters["b"].default is inspect.Parameter.empty
    return f(x, **dict(zip(names[1:], [x * x, 2.0])))


def sorted_by_key(x):
    items = [x * i * (i - 3.1) for i in range(26)]
    return sorted(items, key=lambda p: -p)[1] * 2 + sorted(items, key=abs)[3] + sorted(items, key=abs, reverse=True)[20]


def sorted_in_place(x):
    items = [(x * i * (i - 3.1), x * i) for i in range(26)]
    items.sort(key=lambda p: -p[0])
    total = 0.0
    for i, (value, weight) in enumerate(items):
        total = total + i * value * weight
    return total


def equal_keys(x):
    items = [x + i for i in range(20)]
    up = sorted(items, key=lambda p: (p - x) // 5 * x)
    down = sorted(items, key=lambda p: (p - x) // 5 * x, reverse=True)
    return sum(i * p for i, p in enumerate(up)) + sum(i * i * p for i, p in enumerate(down))


def on_a_path(x):
    items = [x * i * (i - 3.1) for i in range(20)]
    if x > 1:
        items = sorted(items, key=lambda p: -p)
    return items[3] * x


@pytest.mark.parametrize(
    "f", [bound, by_names, sorted_by_key, sorted_in_place, equal_keys, on_a_path], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("x", [1.3, 0.6])
def test_value_and_gradient(f, x, check):
    check(f, x)


def test_a_stable_order(value):
    keys = np.repeat([3.0, 1.0, 2.0], 12)
    value(lambda k: (np.argsort(k, kind="stable"), k.argsort(stable=True)), keys)
