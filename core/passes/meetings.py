"""Which iterations of a loop access the same elements of an array that the loop carries.

    for i in range(n):
        b[i] += a[i + 1 :, i] @ b[i + 1 :]      # iteration i reads rows that only later iterations write

Two accesses *meet* at a distance t if the first at iteration i and the second at iteration i + t may have an element in
common. With parts whose first and last index are affine in i, each dimension bounds t; the accesses meet only within the
intersection. ``lanes_of_parts`` executes each operation of a body for all iterations before the next operation. This is
right if every read finds what it would have found in the loop, and writes of different iterations keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ir.affine import Affine
from ..ir.dynamic import Operation, Value
from ..ir.integer_bounds import Bounds

_FAR = 1 << 60
Meeting = tuple[int, int]
_NEVER: Meeting = (1, 0)
Spans = Sequence[tuple[Affine, Affine] | None]


@dataclass
class Access:
    """An access to a carried array: its operation, the parts, whether it only adds, and the number of writes before it."""

    op: Operation
    spans: Spans
    is_write: bool
    is_addition: bool
    place: int


def slope(form: Affine, index: Value) -> int:
    return dict(form.terms).get(index, 0)


def meeting(bounds: Bounds, index: Value, a: Spans, b: Spans) -> Meeting:
    """Return the least and the greatest distance at which two accesses may meet; an empty interval if they never do."""
    low, high = -_FAR, _FAR
    for one, other in zip(a, b):
        if one is None or other is None:
            continue
        # b's last at i + t is at least a's first at i, and b's first at i + t at most a's last at i.
        for form, by in ((one[0] - other[1], slope(other[1], index)), (other[0] - one[1], -slope(other[0], index))):
            least = bounds.lower(form)  # by * t >= form somewhere
            if by > 0:
                low = max(low, -(-least // by))
            elif by < 0:
                high = min(high, -least // -by)
            elif least > 0:
                return _NEVER
    return low, high


def at_once(found: Meeting) -> bool:
    """Whether accesses meet only within an iteration, or never."""
    return found[0] > found[1] or found == (0, 0)


def not_before(found: Meeting, distance: int) -> bool:
    """Whether accesses meet only at this distance or a greater one, or never."""
    return found[0] > found[1] or found[0] >= distance


class Order:
    """The accesses to one carried array, in the order of the program, of a loop whose step is 1."""

    def __init__(self, bounds: Bounds, index: Value, accesses: Sequence[Access]) -> None:
        self.bounds, self.index = bounds, index
        self.writes = [a for a in accesses if a.is_write]

    def keeps_writes(self) -> bool:
        """Whether the writes have the same result if each is executed for all iterations before the next write."""
        for k, first in enumerate(self.writes):
            for second in self.writes[k:]:
                if first.is_addition and second.is_addition:
                    continue
                found = self.meeting(first, second)
                if not (at_once(found) if first is second else not_before(found, 0)):
                    return False
        return True

    def reads_initial(self, read: Access) -> bool:
        """Whether a read finds what the array held before the loop."""
        return all(not_before(self.meeting(read, w), 1 if w.place < read.place else 0) for w in self.writes)

    def reads_current(self, read: Access) -> bool:
        """Whether a read finds the same after the writes that precede it were executed for all iterations."""
        return all(
            at_once(found) if w.place < read.place else not_before(found, 0)
            for w in self.writes
            for found in [self.meeting(read, w)]
        )

    def meeting(self, a: Access, b: Access) -> Meeting:
        return meeting(self.bounds, self.index, a.spans, b.spans)
