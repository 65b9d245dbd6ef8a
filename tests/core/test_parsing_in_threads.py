"""Several threads may differentiate functions for the first time at once: their sources are parsed one after the other."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from morula.core.source import parse

NESTED = "x = " + "(" * 60 + "1" + " + f(2))" * 60 + "\n"


@pytest.fixture
def impatient():
    """Threads take turns after a microsecond."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_threads_parse_at_once(impatient):
    with ThreadPoolExecutor(4) as pool:
        trees = list(pool.map(parse, [NESTED * 20] * 40))
    assert all(len(tree.body) == 20 for tree in trees)
