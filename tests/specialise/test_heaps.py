"""``heapq`` on items whose order depends on traced numbers."""

from __future__ import annotations

import heapq

import numpy as np
import pytest
from path_tester import PATHS, check_gradient

import morula as mo


def numbers(x, y, z):
    heap = []
    for v in (x, y, z, x * y, y - z, 0.3):
        heapq.heappush(heap, v)
    total = 0.0
    for i in range(6):
        total = total * 0.5 + heapq.heappop(heap) * (i + 1)
    return total


def tuples(x, y, z):
    heap = [(x, 0, "a"), (y, 1, "b"), (z, 2, "b"), (0.2, 3, "c")]
    heapq.heapify(heap)
    a, b = heapq.heapreplace(heap, (x + y, 5, "e")), heapq.heappushpop(heap, (z * z, 6, "f"))
    return a[0] * 3 + b[0] * 2 + b[1] + a[1] + sum(v[0] * (i + 1) for i, v in enumerate(heap))


def largest_and_smallest(x, y, z):
    v = [x, y, z, x * z, y * z]
    return sum(a * b for a, b in zip(heapq.nsmallest(2, v), heapq.nlargest(2, v, key=lambda v: -v * v)))


def merged(x, y, z):
    return sum(v * (i + 1) for i, v in enumerate(heapq.merge(sorted([x, y]), sorted([z, 0.5 * x]))))


class Event:
    def __init__(self, weight):
        self.weight = weight
        self.count = 0


def events(x, y, z):
    heap = []
    for i, v in enumerate((x, y, z)):
        heapq.heappush(heap, (v, i, Event(v * v + i)))
    total = 0.0
    while heap:
        now, _, event = heapq.heappop(heap)
        event.count += 1
        total = total * 0.5 + now * event.weight * event.count
    return total


PROGRAMS = [numbers, tuples, largest_and_smallest, merged, events]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_heaps(path, program):
    for point in ((0.45, 1.3, 0.9), (2.1, -0.5, 0.7), (0.8, 0.6, 1.4)):
        check_gradient(path, program, *point)


def of_unknown_length(x, v):
    heap = []
    for e in v:
        if e > x:
            heapq.heappush(heap, e * x)
    total = 0.0
    if len(heap) > 0:
        total = heap[0] + 2.0 * heapq.heapreplace(heap, 3.0 * x)
    return total + heap[0] * heap[-1] + len(heap)


@pytest.mark.parametrize("path", PATHS)
def test_a_heap_of_unknown_length(path):
    for x in (0.6, -2.0, 1.5):
        check_gradient(path, of_unknown_length, x, np.array([0.5, 2.0, -1.0, 3.0, 0.9, 0.2]))


def test_a_heap_that_is_too_large_is_refused():
    def program(x):
        heap = [x * i for i in range(100)]
        heapq.heapify(heap)
        return heap[0]

    with pytest.raises(mo.BadInput, match="more than 64 items whose order depends on numbers"):
        mo.jit(program, target="native")(1.3)
