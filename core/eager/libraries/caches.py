"""``functools.lru_cache`` on the tape: each run has its own cache.

A number cached before the run has no derivative in it, and a number that the run computes is useless to later runs.
Results without numbers (names, classes, modules) are taken from Python's own cache.  Two equal numbers may have
different derivatives, so differentiable arguments are looked up by identity.  Equality of the arguments decides which
calls count as hits and which entry is evicted, as in Python.
"""

from __future__ import annotations

import functools
import sys
from collections import OrderedDict
from functools import partial
from types import FrameType, FunctionType
from typing import Any

from ...rules.registry import CALLERS, handles
from ...values.attributes import MISSING
from ...values.numbers import differentiable
from ...values.reachable import reached
from ..recorded.call import call
from ..recorded.tape import Tape
from ..unrecorded.unasking import is_plain_key
from ..unrecorded.watched import watched

KIND: Any = functools._lru_cache_wrapper


def _plainly(function: Any, *args: Any) -> Any:
    return function(*args)


class _Miss(BaseException):
    """Raised when Python's own cache does not hold the result of a call."""


def _kept(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the result in Python's own cache; raise ``_Miss`` before the function would run, by a profiler."""
    code, before = function.__wrapped__.__code__, sys.getprofile()

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is code:
            raise _Miss

    try:
        sys.setprofile(look)
        return function(*args, **kwargs)
    finally:
        sys.setprofile(before)


def _holds_no_number(y: Any) -> bool:
    values: list[Any] = []
    reached(y, set(), None, values)
    return not values


class Cache:
    """The results that one run has computed by one cached function."""

    def __init__(self, function: Any) -> None:
        self.function = function  # kept alive, as its id is the key of this cache
        parameters = function.cache_parameters()
        self.typed, self.most = parameters["typed"], parameters["maxsize"]
        # Python's key -> {identities of the differentiable arguments: (result, these)}, least recently used first.
        self.entries: OrderedDict[Any, dict[tuple[int, ...], tuple[Any, ...]]] = OrderedDict()
        self.hits = self.misses = 0
        self.taken: set[Any] = set()  # keys of the entries taken from Python's own cache

    def call(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        is_plain = all(map(is_plain_key, (*args, *kwargs.values())))
        look = _plainly if is_plain else partial(watched, tape)
        key = look(functools._make_key, args, kwargs, self.typed)
        given = tuple(x for x in (*args, *kwargs.values()) if differentiable(x))
        who = tuple(map(id, given))
        found = look(self.entries.get, key)  # hashes and compares the arguments
        if found is not None:
            self.hits += 1
            look(self.entries.move_to_end, key)
            if who in found:
                return found[who][0]
            y = MISSING
        else:
            y = self.kept(args, kwargs) if is_plain and not given else MISSING
            if y is MISSING:
                self.misses += 1
            else:
                self.taken.add(key)
        if y is MISSING:
            y = call(tape, self.function.__wrapped__, *args, **kwargs)
        if self.most != 0:
            look(self.entries.setdefault, key, {})[who] = y, given
            if self.most is not None and len(self.entries) > self.most:
                self.taken.discard(self.entries.popitem(last=False)[0])
        return y

    def kept(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return a result without numbers from Python's own cache, which then counts the call, or ``MISSING``."""
        profiler = sys.getprofile()
        asks = profiler is None or callable(profiler)  # a profiler written in C could not be restored
        size = self.function.cache_info().currsize
        full = self.most is not None and size + len(self.entries) - len(self.taken) > self.most  # it may be evicted
        if not asks or not size or full or type(self.function.__wrapped__) is not FunctionType:
            return MISSING
        try:
            y = _kept(self.function, args, kwargs)
        except _Miss:
            self.misses -= 1
            return MISSING
        if _holds_no_number(y):
            return y
        self.hits -= 1  # Python's cache counted a hit, but the run counts a miss
        return MISSING


def cache_of(tape: Tape, function: Any) -> Cache:
    found = tape.memory.get(id(function))
    if found is None:
        found = tape.memory[id(function)] = Cache(function)
    return found


@handles(KIND.cache_info)
def _info(tape: Tape, function: Any) -> Any:
    """Return ``function.cache_info()`` for the calls before the run and in it."""
    cache, before = cache_of(tape, function), function.cache_info()
    size = before.currsize + len(cache.entries) - len(cache.taken)
    return before._replace(
        hits=before.hits + cache.hits,
        misses=before.misses + cache.misses,
        currsize=size if cache.most is None else min(size, cache.most),
    )


@handles(KIND.cache_clear)
def _clear(tape: Tape, function: Any) -> None:
    function.cache_clear()
    tape.memory.pop(id(function), None)


CALLERS[KIND] = lambda tape, function, /, *args, **kwargs: cache_of(tape, function).call(tape, args, kwargs)
