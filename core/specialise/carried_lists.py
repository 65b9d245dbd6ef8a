"""Lists that an iteration of a loop makes longer or shorter: the loop carries them with a traced length."""

from __future__ import annotations

from collections import deque
from typing import Any

from ..errors import BadInput
from .exchanged import parts
from .forms import of_items
from .growing_lists import form_of, is_in_growing_list, made_of, make_growing
from .rows import rows_of
from .slots import Slot, is_changed
from .state import content


def carries_rows(trace: Any, slot: Slot, last: Any, slots: list[Slot]) -> bool:
    """Whether a slot, whose list or tuple has another length after an iteration, can carry it with a traced length.

    If so, the list or tuple before the loop has got one.
    """
    first = slot.first
    if type(first) is not type(last) or type(first) not in (list, tuple, deque) or not trace.allows("may_grow"):
        return False
    form = form_of(trace, [first, last])
    if form is None:
        return False
    before = rows_of(first)
    holder = slot.holder if slot.key is None else first
    most = trace.roomy[id(holder)][1] if id(holder) in trace.roomy else max(form.capacity + 1, trace.capacity)
    form.capacity = max(most, before.capacity if before is not None else 0)
    if isinstance(holder, tuple):
        slot.first = of_items(first, [made_of(trace, first, form, True)])
    elif make_growing(trace, holder, [last], True, form.capacity):
        for s in slots:
            if s.key is None and s.holder is holder:
                s.first, s.types = list(content(holder)), None
    slot.types = None
    return True


def refuse_changed_items(trace: Any, slots: list[Slot], region: Any) -> None:
    """Refuse a loop that changes, in a later iteration, an object that it has put into a list of traced length."""
    changed = [holder for holder, _ in region.after.values() if trace.made_in(holder) is not region.changes]
    if any(map(is_changed, slots)):
        changed += [x for s in slots if s.form == "carried" for x in parts(s.held(region.after))]
    if any(is_in_growing_list(trace, x) for x in changed):
        raise BadInput(
            "an iteration of a loop puts an array, list or object into a list whose length is known only at run time, and "
            "another iteration changes it; put a copy into the list"
        )
