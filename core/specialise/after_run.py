"""Objects that are made anew when a program has run: times (``datetime.now()``) and random names (``uuid.uuid4()``).

The program can only keep them, in its result and in objects; what they contain is not known while it is compiled.
"""

from __future__ import annotations

import datetime
import functools
import uuid
from collections.abc import Callable
from typing import Any, NoReturn

from ..errors import BadInput
from ..source.definitions import describe
from .traced import EFFECTS, traces

TIMES: dict[Any, type] = {
    datetime.datetime.now: datetime.datetime,
    datetime.datetime.today: datetime.datetime,
    datetime.datetime.utcnow: datetime.datetime,
}
"""Methods of C that tell the time, with the types of their results."""


class AfterRun:
    """What ``function()`` returns after the run; an object of the class ``kind``."""

    def __init__(self, kind: type, function: Callable[[], Any], name: str) -> None:
        object.__setattr__(self, "made_by", (kind, function, name))

    def refuse(self, *_: Any, **__: Any) -> NoReturn:
        name = object.__getattribute__(self, "made_by")[2]
        raise BadInput(
            f"the result of {name} is another one at each call, and known only when the compiled program has run: it can be stored and "
            "returned, but not used; pass it as an argument, or take time.time() for a time in seconds"
        )

    __str__ = __repr__ = __format__ = __bool__ = __len__ = __iter__ = __getitem__ = __contains__ = __hash__ = refuse  # type: ignore[assignment]
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __mod__ = __float__ = __int__ = __index__ = __bytes__ = refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __setattr__ = __reduce_ex__ = refuse  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" == name[-2:]:
            raise AttributeError(name)
        self.refuse()

    def __copy__(self) -> AfterRun:
        return self

    def __deepcopy__(self, memo: Any) -> AfterRun:
        return self


def kind_made(x: AfterRun) -> type:
    return object.__getattribute__(x, "made_by")[0]


def make(x: AfterRun) -> Any:
    return object.__getattribute__(x, "made_by")[1]()


def time_after_run(function: Any, args: Any, kwargs: Any) -> AfterRun:
    return AfterRun(TIMES[function], functools.partial(function, *args, **kwargs), describe(function))


def _of_uuid(function: Any) -> None:
    @traces(function)
    def apply(trace: Any, *args: Any, **kwargs: Any) -> AfterRun:
        return AfterRun(uuid.UUID, functools.partial(function, *args, **kwargs), describe(function))

    EFFECTS.add(function)


_of_uuid(uuid.uuid1)
_of_uuid(uuid.uuid4)


class Today:
    """The guard of a program for one day: ``date.today()`` is a constant of it."""

    def __init__(self) -> None:
        self.found = datetime.date.today()

    def holds(self) -> bool:
        return datetime.date.today() == self.found
