"""``range`` with bounds that are known only at run time, as Python defines it; its methods are interpreted."""

from __future__ import annotations


class Range:
    """The integers from ``start`` to ``stop`` in steps of ``step``, which is known while compiling."""

    def __init__(self, start, stop, step):
        self.start = start
        self.stop = stop
        self.step = step

    def __len__(self):
        if self.step > 0:
            return max((self.stop - self.start + self.step - 1) // self.step, 0)
        return max((self.start - self.stop - self.step - 1) // -self.step, 0)

    def __bool__(self):
        return self.start < self.stop if self.step > 0 else self.start > self.stop

    def __getitem__(self, i):
        n = len(self)
        if isinstance(i, slice):
            return self.part(i, n)
        place = i + n if i < 0 else i
        if place < 0 or place >= n:
            raise IndexError("range object index out of range")
        return self.start + place * self.step

    def part(self, i, n):
        """Return the items of a slice; its ends are moved into the range as ``slice.indices`` does."""
        step = 1 if i.step is None else i.step
        if step == 0:
            raise ValueError("slice step cannot be zero")
        low, high = (0, n) if step > 0 else (-1, n - 1)

        def end(x, otherwise):
            if x is None:
                return otherwise
            return max(x + n, low) if x < 0 else min(x, high)

        start, stop = (low, high) if step > 0 else (high, low)
        first, last = end(i.start, start), end(i.stop, stop)
        return Range(self.start + first * self.step, self.start + last * self.step, self.step * step)

    def __contains__(self, x):
        inside = self.start <= x < self.stop if self.step > 0 else self.stop < x <= self.start
        return inside and (x - self.start) % self.step == 0

    def __eq__(self, other):
        if not isinstance(other, range):
            return NotImplemented
        n = len(self)
        if n != len(other):
            return False
        return n == 0 or self.start == other.start and (n == 1 or self.step == other.step)

    def index(self, x):
        if x not in self:
            raise ValueError(f"{x} is not in range")
        return (x - self.start) // self.step

    def count(self, x):
        return 1 if x in self else 0

    def __repr__(self):
        return (
            f"range({self.start}, {self.stop})" if self.step == 1 else f"range({self.start}, {self.stop}, {self.step})"
        )
