"""Warning filters that a program sets in ``warnings.catch_warnings``, in front of those of its caller."""

from __future__ import annotations

import warnings
from typing import Any

from ..errors import BadInput


def own_filters(trace: Any) -> list[Any]:
    """Return the filters that the program has put before those of its caller."""
    if not trace.filters:
        return []
    before, now = trace.filters[0], list(warnings.filters)
    for count in range(len(now) + 1):
        own = now[:count]
        if now[count:] == [x for x in before if x not in own]:  # Python removes an equal filter that comes later
            return own
    raise BadInput(
        "compiled code can only add warning filters in front of the existing ones; leave out append= and resetwarnings"
    )


UNKNOWN = "unknown"


def action(filters: list[Any], kind: type, text: str | None, module: str, line: int) -> str | None:
    """Return what filters say about a warning; None if nothing, UNKNOWN if that depends on a text which is not known."""
    for how, pattern, category, modules, number in filters:
        if not issubclass(kind, category) or number not in (0, line) or modules and not modules.match(module):
            continue
        if pattern is None or text is not None and pattern.match(text):
            return how
        if text is None:
            return UNKNOWN
    return None
