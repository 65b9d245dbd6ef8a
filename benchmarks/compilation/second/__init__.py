"""The second list: programs written to find out what the speed of the tuned-on list does not carry over to.

They are from other fields than the tuned-on programs, in the style of their authors. morula is tuned on them: they were chosen from
more programs after these had been compiled, since they told most. They do not replace the held-out list: their fields were chosen
after the names of its programs were known.

``hand`` is a hand-written adjoint in C for the programs that tell most. The others are compared with the compiled value
alone: a gradient by hand takes two to four times as long as the value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ...racing.contender import collected


@dataclass(frozen=True)
class Program:
    """One program; the fields are those of the ``Program`` of the races, of which only ``hand`` is optional."""

    name: str
    numpy: Callable[..., Any]
    inputs: Callable[[Any], tuple[Any, ...]]
    size: Any
    small: Any
    argnums: tuple[int, ...]
    hand: Callable[..., tuple[Any, tuple[Any, ...]]] | None = None


def programs() -> dict[str, Program]:
    """The programs by name."""
    return collected(__package__ or "")
