"""Exchanges in loops: after a loop, a variable may hold an array or container that another variable held before it.

If that object is also named outside of the loop, as arguments are, a write through the variable would have to reach it.
"""

from __future__ import annotations

from typing import Any

from .forms import containers
from .identity import has_other_name, identity
from .numbers import arrays_in
from .traced import Storage


def exchanged(trace: Any, slots: list[Any]) -> dict[Any, tuple[list[Any], list[Any]]]:
    """Return each slot's objects before the loop that have another name, and the named ones it may hold after."""
    slots = [s for s in slots if s.form != "local" and s.key is not None and not isinstance(s.holder, Storage)]
    carried = [s for s in slots if s.form == "carried"]
    named = {s: [x for x in parts(s.first) if has_other_name(trace, x, s.holder, s.key)] for s in carried}
    first = {identity(x): any(x is y for y in named[s]) for s in carried for x in parts(s.first)}
    starts = {identity(x): s for s in carried for x in parts(s.general)}
    found = {}
    for slot in slots:
        own = {*map(identity, parts(slot.first))} if slot.form == "carried" else set()
        origins = [o for x in arrays_in(slot.last) for o in trace.numbers.all_origins(x)]
        may_be = {identity(o): o for o in origins if identity(o) not in own}
        waiting, seen = [slot], {slot}
        while waiting:
            for x in parts(waiting.pop().last):
                other = starts.get(identity(x))
                held = [x] if other is None else parts(other.first)
                may_be |= {identity(y): y for y in held}
                if other is not None and other not in seen:
                    seen.add(other)
                    waiting.append(other)
        outside = [
            x for key, x in may_be.items() if (first[key] if key in first else has_other_name(trace, x, None, None))
        ]
        found[slot] = named.get(slot, []), outside
    return found


def parts(x: Any) -> list[Any]:
    """Return the arrays and containers in a value."""
    return [*arrays_in(x), *containers(x, [])]
