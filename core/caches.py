"""``functools.lru_cache`` on the tape: each run has a cache of its own.

A value that was kept from elsewhere has no derivative in this run, and one that this run computes means nothing to the next.
Two equal numbers may have different derivatives, so what can be differentiated is looked up as the object that it is; which
calls are hits, and which entry has to go, is decided by equality, as Python decides it.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from functools import partial
from typing import Any

from .call import CALLERS, call, handles
from .tape import Tape
from .values import differentiable
from .watched import is_plain_key, watched

KIND: Any = functools._lru_cache_wrapper


def _plainly(function: Any, *args: Any) -> Any:
    return function(*args)


class Cache:
    """What one run has computed by one cached function."""

    def __init__(self, function: Any) -> None:
        self.function = function  # which must live as long as its identity is used to find this
        parameters = function.cache_parameters()
        self.typed, self.most = parameters["typed"], parameters["maxsize"]
        # By the key that Python takes, the least recently used first: the results by the identity of the arguments.
        self.entries: OrderedDict[Any, dict[tuple[int, ...], tuple[Any, ...]]] = OrderedDict()
        self.hits = self.misses = 0

    def call(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        look = _plainly if all(map(is_plain_key, (*args, *kwargs.values()))) else partial(watched, tape)
        key = look(functools._make_key, args, kwargs, self.typed)
        given = tuple(x for x in (*args, *kwargs.values()) if differentiable(x))
        who = tuple(map(id, given))
        found = look(self.entries.get, key)  # which hashes and compares the arguments
        if found is not None:
            self.hits += 1
            look(self.entries.move_to_end, key)
            if who in found:
                return found[who][0]
        else:
            self.misses += 1
        y = call(tape, self.function.__wrapped__, *args, **kwargs)
        if self.most != 0:
            look(self.entries.setdefault, key, {})[who] = y, given
            if self.most is not None and len(self.entries) > self.most:
                self.entries.popitem(last=False)
        return y


def cache_of(tape: Tape, function: Any) -> Cache:
    found = tape.memory.get(id(function))
    if found is None:
        found = tape.memory[id(function)] = Cache(function)
    return found


@handles(KIND.cache_info)
def _info(tape: Tape, function: Any) -> Any:
    """``function.cache_info()``, of the calls before the run and in it."""
    cache, before = cache_of(tape, function), function.cache_info()
    size = before.currsize + len(cache.entries)
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
