"""Caches with a size and an order of their own, in front of functions and of methods."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import Any

from cachetools import LFUCache, LRUCache, cached, cachedmethod
from cachetools.keys import hashkey

from thirdparty.harness import Call

DISTRIBUTION = "cachetools"
FIELD = "containers"
HELD_OUT = True


def legendre(x: float) -> float:
    @cached(LRUCache(maxsize=32))
    def polynomial(n: int) -> Any:
        if n < 2:
            return x if n else 1.0
        return ((2 * n - 1) * x * polynomial(n - 1) - (n - 1) * polynomial(n - 2)) / n

    return sum(polynomial(n) / (n + 1) for n in range(8))


def keyed_by_value(x: float, y: float) -> float:
    @cached(cache={}, key=lambda a, b, scale: hashkey(a, b))
    def distance(a: float, b: float, scale: float) -> float:
        return math.hypot(a, b) * scale

    return distance(x, y, 2.0) + distance(y, x, 2.0) + distance(x, y, 2.0)


def evicted(x: float) -> float:
    cache: LRUCache[int, float] = LRUCache(maxsize=3)
    for i in range(6):
        cache[i] = x**i
    return sum(cache.values()) + cache.get(0, x)


class Oscillator:
    def __init__(self, stiffness: float, mass: float) -> None:
        self.stiffness, self.mass = stiffness, mass
        self.cache: LFUCache[Any, float] = LFUCache(maxsize=16)

    @cachedmethod(attrgetter("cache"))
    def frequency(self, mode: int) -> float:
        return mode * math.sqrt(self.stiffness / self.mass)


def method(stiffness: float, mass: float) -> float:
    oscillator = Oscillator(stiffness, mass)
    return sum(oscillator.frequency(1 + i % 3) for i in range(9))


CALLS = {
    "legendre": Call(legendre, 0.3),
    "keyed_by_value": Call(keyed_by_value, 0.3, 0.8),
    "evicted": Call(evicted, 0.9),
    "method": Call(method, 2.5, 0.4),
}
