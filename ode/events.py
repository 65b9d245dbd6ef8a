"""Events: times at which a function of the solution is zero, found on the dense output.

Where an event stands is searched for as a constant; ``implicit`` then attaches the derivative of the event's time, that of
the root of the event function along the dense output. A terminal event ends the solve there; an event that changes the
state begins a new solve there. All later steps move with its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import BadInput, constant, implicit
from .state import pack, unpack


@dataclass(frozen=True)
class Event:
    """A time at which ``function(t, y, *args)`` is zero.

    >>> bounce = Event(lambda t, y: y[0], direction=-1, change=lambda t, y: np.array([0.0, -0.9 * y[1]]))
    >>> bounce.is_terminal
    False
    """

    function: Callable[..., Any]
    """``function(t, y, *args)`` returns a real number; it takes the state in y0's structure."""
    is_terminal: bool | int = False
    """Whether the solve ends at the first such time; or the number of such times after which it ends."""
    direction: int = 0
    """1 counts only zeros at which the function rises in the direction of the solve, -1 those at which it falls."""
    change: Callable[..., Any] | None = None
    """``change(t, y, *args)`` returns the state after the event, from which the solve goes on."""


class Watch:
    """The events of one solve, as functions of a time and a vector.

    events: what to watch. args: of the user's f. leaves: the layout of the state.
    """

    def __init__(self, events: Sequence[Event], args: tuple[Any, ...], leaves: Any, dtype: np.dtype[Any]) -> None:
        self.events, self.args, self.leaves, self.dtype = list(events), args, leaves, dtype
        self.is_stopping = [e.is_terminal or e.change is not None for e in self.events]

    def value(self, i: int, t: Any, y: NDArray[Any]) -> Any:
        found = self.events[i].function(t, unpack(y, self.leaves), *self.args)
        if np.shape(found) != () or np.iscomplexobj(found):
            raise BadInput(
                f"the function of event {i} returned shape {np.shape(found)} and dtype {np.asarray(found).dtype}; expected a "
                "real number"
            )
        return found

    def changed(self, i: int, t: Any, y: NDArray[Any]) -> NDArray[Any]:
        """Return the state after event i."""
        change = self.events[i].change
        if change is None:
            return y
        after = pack(change(t, unpack(y, self.leaves), *self.args), self.leaves, f"the state that event {i} returned")
        return after if after.dtype == self.dtype else after.astype(self.dtype)

    def with_args(self, args: tuple[Any, ...]) -> Watch:
        """Return the watch of the same events with other further arguments."""
        return Watch(self.events, args, self.leaves, self.dtype)

    @constant
    def values(self, t: Any, y: NDArray[Any]) -> NDArray[Any]:
        """Return the values of all event functions (k,)."""
        return np.array([float(self.value(i, t, y)) for i in range(len(self.events))])

    @constant
    def may_cross(self, before: NDArray[Any], after: NDArray[Any]) -> bool:
        """Return whether some event function changed its sign, or was zero, which an event leaves behind."""
        return bool(np.any(before * after <= 0.0))

    @constant
    def crossings(
        self, before: NDArray[Any], after: NDArray[Any], t: float, h: float, y: NDArray[Any], c: NDArray[Any]
    ) -> NDArray[Any]:
        """Return where in the step (0 to 1) each event stands (k,); inf for none."""
        found = np.full(len(self.events), inf)
        for i in range(len(self.events)):
            left, low = 0.0, before[i]
            if low == 0.0:  # an event of this function began the step
                left = _BEHIND
                low = float(self.value(i, t + left * h, along(left, y, c)))
            high = after[i]
            if low * high < 0.0 or (high == 0.0 and low != 0.0):
                direction = self.events[i].direction
                if direction == 0 or (low < 0.0) == (direction > 0):
                    found[i] = self._root(i, left, low, high, t, h, y, c)
        return found

    def _root(
        self, i: int, left: float, low: float, high: float, t: float, h: float, y: NDArray[Any], c: NDArray[Any]
    ) -> float:
        """Return the zero between ``left`` and 1, by the Illinois method with a bisection where that is slow.

        Source: M. Dowell, P. Jarratt, A modified regula falsi method, BIT 11 (1971) 168.
        """
        right, side, count = 1.0, 0, 0
        while right - left > 4e-16 and high != 0.0 and count < 100:
            middle = 0.5 * (left + right) if count % 8 == 7 else (left * high - right * low) / (high - low)
            middle = min(max(middle, left), right)
            g = float(self.value(i, t + middle * h, along(middle, y, c)))
            if g == 0.0:
                left, right, high = middle, middle, 0.0
            elif (g < 0.0) == (low < 0.0):
                left, low = middle, g
                if side == -1:
                    high *= 0.5
                side = -1
            else:
                right, high = middle, g
                if side == 1:
                    low *= 0.5
                side = 1
            count += 1
        return right

    @constant
    def first_stop(self, places: NDArray[Any]) -> tuple[int, NDArray[Any]]:
        """Return the first event that ends the step, -1 for none; and the places (k,) without those behind it."""
        hit, first = -1, inf
        for i in range(len(self.events)):
            if self.is_stopping[i] and places[i] < first:
                hit, first = i, places[i]
        return hit, np.where(places <= min(first, 1.0), places, inf)

    @constant
    def after(self, hit: int, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values after event ``hit``, whose own is zero up to rounding."""
        return np.where(np.arange(len(values)) == hit, 0.0, values)

    def time(self, i: int, place: float, t: Any, h: Any, y: NDArray[Any], c: NDArray[Any]) -> Any:
        """Return the time of event i, which ``crossings`` found at ``place``, with its derivative."""
        return implicit(_held(t, place, h), lambda s: self.value(i, s, along((s - t) / h, y, c)))


_BEHIND = 1e-6
"""Behind an event, its function is looked at here in the step: at the event itself rounding decides the sign."""


@constant
def _held(t: float, place: float, h: float) -> float:
    return float(t + place * h)


def along(theta: Any, y: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
    """Return the dense output at a place in the step: y + sum_j theta^(j + 1) c[j]."""
    total = c[-1]
    for j in range(len(c) - 2, -1, -1):
        total = c[j] + theta * total
    return y + theta * total


def watch_of(events: Any, args: tuple[Any, ...], leaves: Any, dtype: np.dtype[Any]) -> Watch | None:
    """Return the watch for the argument ``events`` of ``odesolve``; None for no events."""
    if isinstance(events, Event) or callable(events):
        given = [events]
    elif isinstance(events, (list, tuple)):
        given = list(events)
    else:
        raise BadInput(
            f"events is {events!r}; expected an Event, a function event(t, y, *args), or a sequence of these"
        )
    made = [e if isinstance(e, Event) else Event(e) if callable(e) else None for e in given]
    for i, e in enumerate(made):
        if e is None or not callable(e.function):
            raise BadInput(f"events[{i}] is {given[i]!r}; expected an Event, or a function event(t, y, *args)")
        if e.direction not in (-1, 0, 1):
            raise BadInput(f"events[{i}] has direction {e.direction!r}; expected -1, 0 or 1")
    return Watch([e for e in made if e is not None], args, leaves, dtype) if made else None
