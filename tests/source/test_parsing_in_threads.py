"""Several threads may differentiate functions for the first time at once: their sources are parsed in turn."""

from __future__ import annotations

import gc
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from morula.core.source.definitions import parse

NESTED = "x = " + "(" * 60 + "1" + " + f(2))" * 60 + "\n"


@pytest.fixture
def impatient():
    """Threads take turns after a microsecond, and the collector runs Python in the midst of everything."""
    interval, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(100)
    gc.callbacks.append(_pause)
    yield
    gc.callbacks.remove(_pause)
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(interval)


def _pause(*_):
    sum(range(100))


def test_threads_parse_at_once(impatient):
    with ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(parse, [NESTED * 20] * 12))
    assert all(len(tree.body) == 20 for tree in trees)
