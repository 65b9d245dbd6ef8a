"""Variables of outside that a program assigns: globals, variables of closures, attributes of classes and modules.

While the program is traced, its values are kept here, and the variables themselves do not change, since other threads may
read them; they are assigned when the program has run.
"""

from __future__ import annotations

import types
from typing import Any

from ..errors import BadInput
from .scopes import UNBOUND

_NAMES = ("__name__", "__qualname__")
"""What a class stores in C, and does not inherit."""


class Variable:
    """A variable of outside, or an attribute of a class."""

    def __init__(self, holder: Any, key: str) -> None:
        self.holder = holder  # a dict of globals, a cell, or a class
        self.key = key
        self.held: dict[str, Any] = {}  # its content in the program
        self.found: Any = UNBOUND  # its content before
        self.before: Any = UNBOUND  # the same, as the program's value

    def put(self, x: Any) -> None:
        if isinstance(self.holder, types.CellType):
            self.holder.cell_contents = x
        elif isinstance(self.holder, type):
            setattr(self.holder, self.key, x)
        else:
            self.holder[self.key] = x


class Variables:
    """The variables of outside that one program assigns."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, str], Variable] = {}

    def value(self, trace: Any, holder: Any, key: str) -> Any:
        """Return what the program has assigned; UNBOUND if nothing."""
        known = self.found.get((id(holder), key)) if self.found else None
        return trace.expressions.settled(known.held, key) if known is not None and key in known.held else UNBOUND

    def of_class(self, trace: Any, cls: type, name: str) -> Any:
        """Return what the program has assigned to an attribute of a class or of one that it inherits from."""
        if name in _NAMES:
            return self.value(trace, cls, name)
        for base in cls.__mro__ if self.found else ():
            found = self.value(trace, base, name)
            if found is not UNBOUND or name in vars(base):
                return found
        return UNBOUND

    def assign(self, trace: Any, holder: Any, key: str, x: Any) -> None:
        """Assign to a variable, which is guarded as if it were read: its content counts where it is not assigned."""
        if trace.recursions:
            raise BadInput(
                f"a recursive function assigns to '{key}', a variable outside of it; return the value instead"
            )
        known = self.found.get((id(holder), key))
        if known is None:
            known = Variable(holder, key)
            is_name = isinstance(holder, type) and key in _NAMES
            try:
                content: Any = _content(holder, key)
            except (LookupError, ValueError):
                trace.outside.miss(trace, vars(holder) if isinstance(holder, type) else holder, key)
            else:
                known.found = content
                place = None if isinstance(holder, types.CellType) else key
                known.before = known.held[key] = (
                    content if is_name else trace.outside.read(trace, holder, place, content)
                )
            self.found[id(holder), key] = known
        trace.touch(known.held)
        known.held[key] = x

    def set_of_class(self, trace: Any, cls: type, name: str, x: Any) -> None:
        """Set an attribute of a class that is plain data."""
        raw = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
        is_settable = type(cls).__setattr__ is type.__setattr__ and bool(cls.__flags__ & 1 << 9)
        is_special = name[:2] == "__" == name[-2:] and not (name in _NAMES and type(x) is str)
        if not is_settable or is_special or any(hasattr(type(e), "__get__") for e in (raw, x)):
            raise BadInput(
                f"compiled code can only set attributes of a class that are plain data, not {name} of {cls.__name__}; store the value "
                "in an object that is an argument"
            )
        self.assign(trace, cls, name, x)

    def changed(self) -> list[tuple[Variable, Any]]:
        """Return the variables that have a new content, with it."""
        found = [(v, v.held.get(v.key, v.before)) for v in self.found.values()]
        return [(v, x) for v, x in found if x is not v.before]


def _content(holder: Any, key: str) -> Any:
    if isinstance(holder, types.CellType):
        return holder.cell_contents
    if isinstance(holder, type) and key in _NAMES:
        return getattr(holder, key)
    return vars(holder)[key] if isinstance(holder, type) else holder[key]
