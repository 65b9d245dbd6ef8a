"""C functions and methods that compare the items of lists, as Python functions, for traced items."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import Any

import numpy as np

from .itertools_in_python import alike


def index(items: Any, x: Any, start: int = 0, stop: int | None = None) -> int:
    for i in range(*slice(start, stop).indices(len(items))):
        if alike(items[i], x):
            return i
    raise ValueError(f"{x!r} is not in list" if isinstance(items, list) else "tuple.index(x): x not in tuple")


def count(items: Any, x: Any) -> int:
    found = 0
    for e in items:
        if alike(e, x):
            found += 1
    return found


def remove(items: list[Any], x: Any) -> None:
    found = len(items)
    for i in range(len(items)):
        if alike(items[i], x):
            found = i
            break
    if found == len(items):
        raise ValueError("list.remove(x): x not in list")
    for i in range(len(items) - 1):
        if i >= found:
            items[i] = items[i + 1]
    items.pop()


def sort(items: list[Any], *, key: Any = None, reverse: bool = False) -> None:
    items[:] = sorted(items, key=key, reverse=reverse)


def largest(items: Any, key: Callable[[Any], Any]) -> Any:
    best, top = items[0], key(items[0])
    for x in items[1:]:
        k = key(x)
        if k > top:
            best, top = x, k
    return best


def smallest(items: Any, key: Callable[[Any], Any]) -> Any:
    best, least = items[0], key(items[0])
    for x in items[1:]:
        k = key(x)
        if k < least:
            best, least = x, k
    return best


def in_order(items: list[Any], keys: list[Any], reverse: bool) -> list[Any]:
    """A stable insertion sort."""
    for i in range(1, len(items)):
        for j in range(i, 0, -1):
            if keys[j - 1] < keys[j] if reverse else keys[j] < keys[j - 1]:
                keys[j - 1], keys[j] = keys[j], keys[j - 1]
                items[j - 1], items[j] = items[j], items[j - 1]
    return items


def by_numbers(items: list[Any], keys: list[Any], reverse: bool) -> list[Any]:
    """A stable sort of many items that can be chosen at an index of the program."""
    n = len(items)
    order = np.argsort(np.array(keys[::-1] if reverse else keys), kind="stable")
    return [items[n - 1 - order[n - 1 - i]] if reverse else items[order[i]] for i in range(n)]


def bisect_left(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> int:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        if (a[middle] if key is None else key(a[middle])) < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


def bisect_right(a: Any, x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> int:
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        if x < (a[middle] if key is None else key(a[middle])):
            hi = middle
        else:
            lo = middle + 1
    return lo


def insort_left(a: list[Any], x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> None:
    a.insert(bisect.bisect_left(a, x if key is None else key(x), lo, hi, key=key), x)


def insort_right(a: list[Any], x: Any, lo: int = 0, hi: Any = None, *, key: Any = None) -> None:
    a.insert(bisect.bisect_right(a, x if key is None else key(x), lo, hi, key=key), x)


def insert(items: list[Any], at: int, x: Any) -> None:
    n = len(items)
    at = max(at + n, 0) if at < 0 else min(at, n)
    items.append(x)
    for i in range(n, -1, -1):
        if i > at:
            items[i] = items[i - 1]
        elif i == at:
            items[i] = x


BISECTIONS = {
    f: globals()[f.__name__] for f in (bisect.bisect_left, bisect.bisect_right, bisect.insort_left, bisect.insort_right)
}
METHODS = {"index": index, "count": count, "remove": remove, "sort": sort}
