"""Lists, dictionaries and sets that stay sorted: lists of lists, bisected and split as they grow."""

from __future__ import annotations

import numpy as np
from sortedcontainers import SortedDict, SortedKeyList, SortedList

from thirdparty.harness import Call

DISTRIBUTION = "sortedcontainers"
FIELD = "containers"
HELD_OUT = True

VALUES = np.sin(np.arange(1.0, 13.0) ** 1.5)


def ranked(values: np.ndarray) -> float:
    ordered = SortedList(values)
    return sum(i * v for i, v in enumerate(ordered)) + ordered[5] * ordered[-1]


def running_median(values: np.ndarray) -> list[float]:
    window, medians = SortedList(values[:5]), []
    for i in range(5, len(values)):
        medians.append(window[2])
        window.remove(values[i - 5])
        window.add(values[i])
    return medians


def by_key(values: np.ndarray) -> list[float]:
    farthest = SortedKeyList(values, key=lambda v: -abs(v))
    farthest.add(values[0] * 2.0)
    return [v * v for v in farthest[:4]] + list(farthest.irange_key(-0.5, 0.0))


def rates(x: float, y: float) -> float:
    table = SortedDict({1.0: x, 5.0: y, 3.0: x * y})
    table.update({2.0: x + y})
    key, value = table.peekitem(1)
    return key * value + sum(table.values()) + table.pop(5.0)


CALLS = {
    "ranked": Call(ranked, VALUES),
    "running_median": Call(running_median, VALUES),
    "by_key": Call(by_key, VALUES),
    "rates": Call(rates, 0.3, 0.8),
}
