"""How many random programs a test draws: a quarter of them in ``make test``, all of them in ``make test-random``."""

from __future__ import annotations

import os

EVERY = os.environ.get("MORULA_TEST_RANDOM") == "all"


def drawn(count: int) -> int:
    return count if EVERY else -(-count // 4)
