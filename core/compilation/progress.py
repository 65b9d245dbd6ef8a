"""Says on stderr what is being compiled, if that takes long.

Only in a terminal; ``MORULA_PROGRESS=1`` in the environment says it elsewhere too, ``MORULA_PROGRESS=0`` nowhere.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer

from ..source.definitions import describe

SECONDS = 2.0
"""How long a stage may take before a line says what it works on."""


@contextmanager
def told(stage: str, function: object) -> Iterator[None]:
    """Say what is being compiled if the block takes long."""
    timer = Timer(SECONDS, _tell, (f"morula: {stage} {describe(function)} ... (MORULA_PROGRESS=0 hides this)",))
    timer.daemon = True
    try:
        if _is_wanted():
            timer.start()
    except RuntimeError:  # no thread can be started here
        pass
    try:
        yield
    finally:
        timer.cancel()


def _is_wanted() -> bool:
    given = os.environ.get("MORULA_PROGRESS")
    if given:
        return given != "0"
    return sys.stderr is not None and sys.stderr.isatty()


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
