"""The functions of ``heapq`` in Python, for items whose order depends on traced numbers.

In a list of known length the items are moved between known places, one condition for each place where an item may be: the
comparisons are those that C makes.  In a list of unknown length (see ``growing_lists``) the place is a number of the program.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from ..errors import BadInput
from .rows import rows_of

MOST = 64
"""A heap of known length with more items than this would become too large a program."""


def heappush(heap: Any, item: Any) -> None:
    heap.append(item)
    rise(heap, len(heap) - 1)


def heappop(heap: Any) -> Any:
    last = heap.pop()
    if len(heap) == 0:
        return last
    return heapreplace(heap, last)


def heapreplace(heap: Any, item: Any) -> Any:
    first = heap[0]
    heap[0] = item
    sink(heap, 0)
    return first


def heappushpop(heap: Any, item: Any) -> Any:
    if len(heap) > 0 and heap[0] < item:
        return heapreplace(heap, item)
    return item


def heapify(heap: Any) -> None:
    for i in [*reversed(range(len(heap) // 2))]:
        sink(heap, i)


def nsmallest(n: int, iterable: Any, key: Any = None) -> list[Any]:
    return sorted(iterable, key=key)[: max(n, 0)]


def nlargest(n: int, iterable: Any, key: Any = None) -> list[Any]:
    return sorted(iterable, key=key, reverse=True)[: max(n, 0)]


def rise(heap: Any, at: int, top: int = 0) -> None:
    """Move the item at a known place up, as ``heapq._siftdown`` does."""
    rising = True
    while at > top:
        parent = (at - 1) >> 1
        if rising and heap[at] < heap[parent]:
            heap[at], heap[parent] = heap[parent], heap[at]
        else:
            rising = False
        at = parent


def sink(heap: Any, top: int) -> None:
    """Move the item at ``top`` down to a leaf and then up to its place, as ``heapq._siftup`` does."""
    n = len(heap)
    at = top
    for place in [*range(top, n // 2)]:  # a list is gone over item by item
        if at == place:
            child = 2 * place + 1
            if child + 1 < n and not heap[child] < heap[child + 1]:
                heap[place], heap[child + 1] = heap[child + 1], heap[place]
                at = child + 1
            else:
                heap[place], heap[child] = heap[child], heap[place]
                at = child
    for place in [*range(n - 1, top, -1)]:
        if at == place:
            parent = (place - 1) >> 1
            if heap[place] < heap[parent]:
                heap[place], heap[parent] = heap[parent], heap[place]
                at = parent
            else:
                at = -1


def rise_in_rows(heap: Any, at: int, top: int = 0) -> None:
    """``rise`` in a list of unknown length."""
    while at > top and heap[at] < heap[(at - 1) >> 1]:
        parent = (at - 1) >> 1
        heap[at], heap[parent] = heap[parent], heap[at]
        at = parent


def sink_in_rows(heap: Any, top: int) -> None:
    """``sink`` in a list of unknown length."""
    n = len(heap)
    at = top
    while 2 * at + 1 < n:
        child = 2 * at + 1
        if child + 1 < n and not heap[child] < heap[child + 1]:
            child += 1
        heap[at], heap[child] = heap[child], heap[at]
        at = child
    rise_in_rows(heap, at, top)


def _by_length(of_known: Callable[..., Any], of_rows: Callable[..., Any]) -> Callable[..., Any]:
    def moved(trace: Any, heap: Any, *places: Any) -> Any:
        return trace.calls.interpret(of_known if rows_of(heap) is None else of_rows, (heap, *places), {})

    return moved


def _of_heap(function: Any, definition: Callable[..., Any]) -> Callable[..., Any]:
    def called(trace: Any, heap: Any, *items: Any) -> Any:
        if not isinstance(heap, list) or rows_of(heap) is None and not trace.containers.compares_unknown((heap, items)):
            return NotImplemented
        if rows_of(heap) is None and len(heap) > MOST:
            raise BadInput(
                f"heapq.{function.__name__} of more than {MOST} items whose order depends on numbers that are not known while compiling "
                "would become too large a program; keep fewer items in the heap, or sort an array of the numbers (np.sort, np.argsort)"
            )
        return trace.calls.interpret(definition, (heap, *items), {})

    return called


def _by_sorting(definition: Callable[..., Any]) -> Callable[..., Any]:
    return lambda trace, *args, **options: trace.calls.interpret(definition, args, options)


HEAPS: dict[Any, Callable[..., Any]] = {
    rise: _by_length(rise, rise_in_rows),
    sink: _by_length(sink, sink_in_rows),
    **{getattr(heapq, f.__name__): _of_heap(f, f) for f in (heappush, heappop, heapreplace, heappushpop, heapify)},
    heapq.nsmallest: _by_sorting(nsmallest),
    heapq.nlargest: _by_sorting(nlargest),
}
"""As ``builtin_functions.SPECIAL``."""
