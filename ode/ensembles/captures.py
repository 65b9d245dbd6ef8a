"""What a function captures, as arguments: closures, defaults, bound objects and partial arguments.

A derivative reaches the arguments of a job only. So the numbers and arrays that the user's function captures become an argument,
and a worker makes the function again with what arrives. ``captured`` and ``with_captured`` go through a function in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from ...core import BadInput, tree


def captured(f: Any) -> list[Any]:
    """Return the captured values that have a derivative, such as floats, arrays, and containers and objects of them."""
    found: list[Any] = []
    _remade(f, lambda x: _noted(found, x), (), False)
    return found


def with_captured(f: Any, values: list[Any]) -> Callable[..., Any]:
    """Return the function that captures these values in place of its own."""
    given: Iterator[Any] = iter(values)
    return _remade(f, lambda x: next(given), (), True)


def identity(f: Any) -> tuple[Any, ...]:
    """Return what a function is but for its captured values: its code, and the other things that it captures."""
    found: list[Any] = []
    _remade(f, lambda x: x, (), False, found.append)
    return tuple(found)


def _noted(found: list[Any], x: Any) -> Any:
    found.append(x)
    return x


def _remade(
    f: Any,
    value: Callable[[Any], Any],
    outer: tuple[Any, ...],
    is_made: bool,
    note: Callable[[Any], Any] = lambda x: None,
) -> Any:
    """Return ``f`` with ``value(x)`` for each captured value x; f itself unless ``is_made``. ``note`` is told of all else."""
    inner = (*outer, id(f))
    if id(f) in outer:
        raise BadInput(
            f"ensemble: {getattr(f, '__qualname__', f)} captures itself; define it at the top of a module, or give what else it "
            "captures as parameters"
        )
    if isinstance(f, FunctionType):
        note(f.__code__)
        cells = [_remade(cell.cell_contents, value, inner, is_made, note) for cell in f.__closure__ or ()]
        defaults = [_remade(x, value, inner, is_made, note) for x in f.__defaults__ or ()]
        if not is_made or not cells and not defaults:
            return f
        closure = tuple([CellType(x) for x in cells])
        made = FunctionType(f.__code__, f.__globals__, f.__name__, tuple(defaults) or None, closure or None)
        return partial(made, **f.__kwdefaults__) if f.__kwdefaults__ else made
    if isinstance(f, MethodType):
        note(f.__func__)
        owner = _remade(f.__self__, value, inner, is_made, note)
        return MethodType(f.__func__, owner) if is_made else f
    if isinstance(f, partial):
        function = _remade(f.func, value, inner, is_made, note)
        args = [_remade(x, value, inner, is_made, note) for x in f.args]
        keywords = {name: _remade(x, value, inner, is_made, note) for name, x in f.keywords.items()}
        note(tuple(keywords))
        return partial(function, *args, **keywords) if is_made else f
    if isinstance(f, (ModuleType, type)) or not tree.leaves(f):
        note(_Same(f))
        return f
    return value(f)


class _Same:
    """An object as a key that is equal to the same object, and to a number or string of the same type and value."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __hash__(self) -> int:
        return hash(self.x) if isinstance(self.x, (int, str)) else id(self.x)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same) or type(self.x) is not type(other.x):
            return False
        return self.x == other.x if isinstance(self.x, (int, str)) else self.x is other.x
