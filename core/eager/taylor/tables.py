"""The series of one run in Taylor mode: a table of tangents, as of forward mode, for each coefficient from that of t on.

What moves numbers or is linear acts on each coefficient as forward mode does on the tangent, so it is written once, there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...errors import NoDerivative
from ...values.numbers import call_on
from ..forward.tangents import Stream, Tangents
from ..recorded.tape import Record, Tape

SERIES: dict[Any, Callable[[Any, Record], None]] = {}
"""How each kind of record maps the series of its operands to those of its results; filled by ``pushes``."""


class Coefficients:
    """The tables ``parts`` of a tape; ``parts[k - 1]`` has the coefficients of t^k."""

    is_series = True

    def __init__(self, tape: Tape, order: int) -> None:
        self.tape = tape
        self.parts = [Tangents(tape) for _ in range(order)]
        for part in self.parts:
            part.beside = [other for other in self.parts if other is not part]

    @property
    def tables(self) -> list[Tangents]:
        return self.parts

    @property
    def order(self) -> int:
        return len(self.parts)

    def end(self) -> None:
        for part in self.parts:
            part.end()

    def get(self, x: Any) -> list[Any]:
        """Return the coefficients of a value from that of t on; None: zero."""
        return [part.get(x) for part in self.parts]

    def set(self, y: Any, coefficients: list[Any]) -> None:
        for part, c in zip(self.parts, coefficients):
            part.set(y, c)

    def varies(self, x: Any) -> bool:
        return any(part.varies(x) for part in self.parts)

    def depends(self, opaque: Any) -> bool:
        return any(part.depends(opaque) for part in self.parts)

    def lose(self, y: Any, error: Callable[[], NoDerivative]) -> None:
        for part in self.parts:
            part.lose(y, error)

    def run(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return call_on(self.tape.parent, function, *args, **kwargs)

    # What a stream of records asks for

    @property
    def length(self) -> int:
        return self.parts[0].length

    @length.setter
    def length(self, n: int) -> None:
        for part in self.parts:
            part.length = n

    @property
    def latest(self) -> int:
        return max(part.latest for part in self.parts)

    @property
    def written(self) -> dict[int, tuple[int, Any]]:
        return self.parts[0].written

    def alive(self) -> Iterator[Any]:
        for part in self.parts:
            yield from part.alive()


class SeriesStream(Stream):
    """Takes the records of a tape, computes the series of their results, and forgets them."""

    def append(self, record: Record) -> None:
        apart = getattr(record[0], "push_apart", None)
        if apart is not None:
            self.tangents.length += 1
            apart(self.tangents, record)
        else:
            super().append(record)


def taylor_tape(parent: Tape | None, order: int) -> Tape:
    """Return a tape that computes series."""
    tape = Tape(parent)
    tape.tangents = Coefficients(tape, order)
    tape.records = SeriesStream(tape.tangents, SERIES)  # type: ignore[assignment]
    return tape
