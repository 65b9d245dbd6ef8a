"""C functions and methods that compare the items of lists, as Python functions, for traced items."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import Any

import numpy as np

from .itertools_in_python import alike


def index(items: Any, x: Any, start: int = 0, stop: int | None = None) -> int:
    n = len(items)
    first = max(start + n, 0) if start < 0 else start
    last = n if stop is None else max(stop + n, 0) if stop < 0 else min(stop, n)
    for i in range(first, last):
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


def in_order_by(items: list[Any], key: Any, reverse: bool) -> list[Any]:
    """A stable insertion sort of a list whose length is not known while compiling."""
    keys = list(items) if key is None else [key(x) for x in items]
    for i in range(1, len(items)):
        x, k = items[i], keys[i]
        j = i
        while j > 0 and (keys[j - 1] < k if reverse else k < keys[j - 1]):
            items[j], keys[j] = items[j - 1], keys[j - 1]
            j -= 1
        items[j], keys[j] = x, k
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


def extend(items: list[Any], others: Any) -> None:
    for x in others:
        items.append(x)


def put_end(items: list[Any], start: int, others: Any) -> None:
    """``items[start:] = others``."""
    found = list(others)
    n = len(items)
    start = max(start + n, 0) if start < 0 else min(start, n)
    del items[start:]
    for x in found:
        items.append(x)


def pop_at(items: list[Any], at: int) -> Any:
    n = len(items)
    if at < 0:
        at += n
    if not 0 <= at < n:
        raise IndexError("pop index out of range")
    found = items[at]
    for i in range(n - 1):
        if i >= at:
            items[i] = items[i + 1]
    items.pop()
    return found


def delete(items: list[Any], at: int) -> None:
    if not -len(items) <= at < len(items):
        raise IndexError("list assignment index out of range")
    items.pop(at)


def popleft(items: Any) -> Any:
    if len(items) == 0:
        raise IndexError("pop from an empty deque")
    found = items[0]
    for i in range(len(items) - 1):
        items[i] = items[i + 1]
    items.pop()
    return found


def appendleft(items: Any, x: Any) -> None:
    items.insert(0, x)


def extendleft(items: Any, others: Any) -> None:
    for x in others:
        items.appendleft(x)


def reverse(items: Any) -> None:
    n = len(items)
    for i in range(n // 2):
        items[i], items[n - 1 - i] = items[n - 1 - i], items[i]


def joined(items: Any, others: Any) -> list[Any]:
    found = list(items)
    for x in others:
        found.append(x)
    return found


def repeated(items: Any, count: int) -> list[Any]:
    found = list(items)
    del found[0:]
    for _ in range(count):
        for x in items:
            found.append(x)
    return found


def collected(items: Any) -> list[Any]:
    found: list[Any] = []
    for x in items:
        found.append(x)
    return found


def are_equal(items: Any, others: Any) -> bool:
    if len(items) != len(others):
        return False
    for i in range(len(items)):
        if not alike(items[i], others[i]):
            return False
    return True


def is_before(items: Any, others: Any, or_equal: bool) -> bool:
    for i in range(min(len(items), len(others))):
        if not alike(items[i], others[i]):
            return items[i] < others[i]
    return len(items) <= len(others) if or_equal else len(items) < len(others)


BISECTIONS = {
    f: globals()[f.__name__] for f in (bisect.bisect_left, bisect.bisect_right, bisect.insort_left, bisect.insort_right)
}
METHODS = {"index": index, "count": count, "remove": remove, "sort": sort}
OF_GROWING = METHODS | {
    "extend": extend,
    "insert": insert,
    "reverse": reverse,
    "popleft": popleft,
    "appendleft": appendleft,
    "extendleft": extendleft,
}
"""Methods of lists and deques whose length is not known while compiling, by what the interpreter does itself."""
