"""Parts of a structure into which a traced program has not looked (see ``parts``)."""

from __future__ import annotations

from typing import Any, NoReturn


class Part:
    """A list, tuple, dict, object or number of which the program knows that it is there, and nothing else.

    ``path``: where it is in the arguments.  In the items of a list of unknown length it is one of many: ``number``, a traced int, says in which
    item it is, and ``place`` is the place of the list and that in the item.
    """

    __slots__ = ("number", "path", "place")

    def __init__(self, path: tuple[Any, ...], place: tuple[int, int] = (0, 0), number: Any = None) -> None:
        self.path, self.place, self.number = path, place, number

    def _look(self, *args: Any) -> NoReturn:
        raise LooksInto(self)

    def _go_through(self) -> NoReturn:
        raise LooksInto(self, True)

    __len__ = __iter__ = __bool__ = _go_through
    __getitem__ = __contains__ = __call__ = __getattr__ = __format__ = __morula_trace__ = _look  # type: ignore[assignment]
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __hash__ = __str__ = __repr__ = _look  # type: ignore[assignment]


class LooksInto(BaseException):
    """The program looks into a part.

    ``goes_through``: it asks for its length or for all of its items, as a loop does; it then may do without a known length.
    """

    def __init__(self, part: Part, goes_through: bool = False) -> None:
        self.part, self.goes_through = part, goes_through
