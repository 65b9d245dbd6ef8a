"""The functions of ``itertools`` as its documentation defines them; interpreted, they are as lazy as generators."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any


class ByComparison:
    """The key that ``functools.cmp_to_key`` makes of an item."""

    def __init__(self, compare, item):
        self.compare = compare
        self.item = item

    def __lt__(self, other):
        return self.compare(self.item, other.item) < 0


def called(function, sentinel):
    """``iter(function, sentinel)``."""
    while True:
        try:
            x = function()
        except StopIteration:
            return
        if x == sentinel:
            return
        yield x


def cycle(iterable):
    saved = []
    for x in iterable:
        yield x
        saved.append(x)
    while saved:
        for x in saved:
            yield x


def repeat(x, times=None):
    if times is None:
        while True:
            yield x
    for _ in range(times):
        yield x


def chain(*iterables):
    for iterable in iterables:
        yield from iterable


def chained(iterables):
    for iterable in iterables:
        yield from iterable


def islice(iterable, *bounds):
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    start = 0 if start is None else start
    step = 1 if step is None else step
    iterator = iter(iterable)
    at = 0
    wanted = start
    while stop is None or at < stop:
        if at == wanted and stop is not None and wanted >= stop:
            return
        try:
            x = next(iterator)
        except StopIteration:
            return
        if at == wanted:
            wanted += step
            yield x
            if stop is not None and wanted >= stop:
                at += 1
                while at < stop:
                    try:
                        next(iterator)
                    except StopIteration:
                        return
                    at += 1
                return
        at += 1


def tee(iterable, n=2):
    iterator = iter(iterable)
    queues = [deque() for _ in range(n)]

    def part(mine):
        while True:
            if not mine:
                try:
                    x = next(iterator)
                except StopIteration:
                    return
                for queue in queues:
                    queue.append(x)
            first = mine.popleft()
            yield first

    return tuple([part(queue) for queue in queues])


def accumulate(iterable, func=None, *, initial=None):
    iterator = iter(iterable)
    total = initial
    if initial is None:
        try:
            total = next(iterator)
        except StopIteration:
            return
    yield total
    for x in iterator:
        total = total + x if func is None else func(total, x)
        yield total


def takewhile(predicate, iterable):
    for x in iterable:
        if not predicate(x):
            return
        yield x


def dropwhile(predicate, iterable):
    iterator = iter(iterable)
    for x in iterator:
        if not predicate(x):
            yield x
            break
    for x in iterator:
        yield x


def filterfalse(predicate, iterable):
    for x in iterable:
        if not (x if predicate is None else predicate(x)):
            yield x


def starmap(function, iterable):
    for args in iterable:
        result = function(*args)
        yield result


def compress(data, selectors):
    for x, keep in zip(data, selectors):
        if keep:
            yield x


def groupby(iterable, key=None):
    iterator = iter(iterable)
    ended = False

    def group(wanted):
        nonlocal x, found, ended
        yield x
        for x in iterator:
            found = x if key is None else key(x)
            if found != wanted:
                return
            yield x
        ended = True

    try:
        x = next(iterator)
    except StopIteration:
        return
    found = x if key is None else key(x)
    while not ended:
        wanted = found
        present = group(wanted)
        yield found, present
        if found == wanted:
            for _ in present:
                pass


def pairwise(iterable):
    iterator = iter(iterable)
    try:
        a = next(iterator)
    except StopIteration:
        return
    for b in iterator:
        yield a, b
        a = b


def zip_longest(*iterables, fillvalue=None):
    iterators = [iter(x) for x in iterables]
    alive = len(iterators)
    ended = [False] * alive
    while alive:
        row = []
        for i in range(len(iterators)):
            if not ended[i]:
                try:
                    row.append(next(iterators[i]))
                    continue
                except StopIteration:
                    ended[i] = True
                    alive -= 1
                    if not alive:
                        return
            row.append(fillvalue)
        yield tuple(row)


def any_(iterable):
    for x in iterable:
        if x:
            return True
    return False


def all_(iterable):
    for x in iterable:
        if not x:
            return False
    return True


def contains(iterable, wanted):
    for x in iterable:
        if alike(x, wanted):
            return True
    return False


def alike(x, y):
    """Compare elements as containers do: by identity, then by equality."""
    return x is y or x == y


DEFINITIONS: dict[Any, Any] = {
    itertools.cycle: cycle,
    itertools.repeat: repeat,
    itertools.chain: chain,
    itertools.chain.from_iterable: chained,
    itertools.islice: islice,
    itertools.tee: tee,
    itertools.accumulate: accumulate,
    itertools.takewhile: takewhile,
    itertools.dropwhile: dropwhile,
    itertools.filterfalse: filterfalse,
    itertools.starmap: starmap,
    itertools.compress: compress,
    itertools.groupby: groupby,
    itertools.pairwise: pairwise,
    itertools.zip_longest: zip_longest,
}
