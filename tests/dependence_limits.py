"""Limits by which the analysis of dependences takes each of its ways through loops, for tests on small programs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from morula.core.passes.dependence import loops

WAYS = {
    "in turn": {},
    "at once": {"FEW": 0, "MOST_IN_TURN": 0},
    "shared": {"FEW": 0, "MOST_IN_TURN": 0, "MOST_LANED": 0},
}
"""Limits by which the iterations of loops are interpreted one after the other, at once, or at once with one set for all."""


@contextmanager
def limits(way: str) -> Iterator[None]:
    before = {name: getattr(loops, name) for name in WAYS[way]}
    try:
        for name, value in WAYS[way].items():
            setattr(loops, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(loops, name, value)
