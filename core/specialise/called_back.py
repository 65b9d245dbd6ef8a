"""Special methods that Python's C code calls while a program is compiled: comparisons, hashes, strings, indices.

Such a method runs as plain Python, so the interpreter does not see what it stores.  An object whose special methods
store something therefore counts as changed in every region (``Branches.run_region``); its contents and those of its
containers are compared at the end.
"""

from __future__ import annotations

import dis
from inspect import unwrap
from types import CellType, FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from ..errors import BadInput
from .instances import held_by_instance
from .state import content, put

_STORES = frozenset(("STORE_ATTR", "DELETE_ATTR", "STORE_SUBSCR", "DELETE_SUBSCR"))
_CHANGING = frozenset(
    "append extend insert remove pop popitem clear update setdefault add discard sort reverse rotate appendleft popleft extendleft "
    "setattr delattr __setattr__ __setitem__ __dict__ vars".split()
)
_INTERPRETED = frozenset(
    "__init__ __new__ __post_init__ __call__ __enter__ __exit__ __setattr__ __delattr__ __setitem__ __delitem__ __init_subclass__ "
    "__class_getitem__ __set_name__ __iter__ __next__ __reduce__ __reduce_ex__ __getstate__ __setstate__ __del__".split()
)
"""Special methods that C code never calls, or that are always interpreted."""

_which: WeakKeyDictionary[type, frozenset[str]] = WeakKeyDictionary()


def storing(cls: type) -> frozenset[str]:
    """Return the special methods of a class that store something, judged by their code and the methods they call."""
    if cls not in _which:
        functions = functions_of(cls)
        found = {
            n for n in functions if n[:2] == n[-2:] == "__" and n not in _INTERPRETED and _stores(n, functions, set())
        }
        _which[cls] = frozenset(found)
    return _which[cls]


def functions_of(cls: type) -> dict[str, FunctionType]:
    """Return the functions of a class and its bases by their names."""
    methods = {name: x for base in reversed(cls.__mro__) for name, x in vars(base).items()}
    return {name: f for name, x in methods.items() for f in _functions(x)}


def _functions(x: Any) -> list[FunctionType]:
    inner = [x, getattr(x, "fget", None), getattr(x, "__func__", None), getattr(x, "func", None)]
    return [_own(f) for f in inner if isinstance(f, FunctionType)]


def _own(f: FunctionType) -> FunctionType:
    """Return a method, without the recursion guard that dataclasses put around ``__repr__``."""
    return unwrap(f) if f.__globals__.get("__name__") in ("dataclasses", "reprlib") else f  # type: ignore[return-value]


def stores_by_itself(cls: type, name: str, other: str) -> bool:
    """Whether a special method of a class stores something other than by calling the method ``other``."""
    return name in functions_of(cls) and _stores(name, functions_of(cls), {other})


def _stores(name: str, functions: dict[str, FunctionType], seen: set[str]) -> bool:
    seen.add(name)
    code = functions[name].__code__
    if not _CHANGING.isdisjoint(code.co_names) or any(i.opname in _STORES for i in dis.get_instructions(code)):
        return True
    return any(_stores(n, functions, seen) for n in code.co_names if n in functions and n not in seen)


def held_with(x: Any) -> list[Any]:
    """Return an object and the containers that it holds."""
    return [x, *(e for e in held_by_instance(x).values() if type(e) in (list, dict, set))]


def held_outside(cls: type) -> list[Any]:
    """Return the lists, dicts and sets in globals and closures of a class's special methods that store something."""
    found: list[Any] = []
    for base in cls.__mro__:
        for function in (f for name in storing(cls) for f in _functions(vars(base).get(name))):
            found += [function.__globals__.get(name) for name in function.__code__.co_names]
            found += [x for x in map(_content_of_cell, function.__closure__ or ())]
    return [x for x in found if type(x) in (list, dict, set)]


def _content_of_cell(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _entries(held: Any) -> list[Any]:
    return (
        [*held, *held.values()] if isinstance(held, dict) else sorted(held, key=id) if isinstance(held, set) else held
    )


def holds_the_same(a: Any, b: Any) -> bool:
    """Whether two contents hold the same objects in the same order."""
    return list(map(id, _entries(a))) == list(map(id, _entries(b)))


def restore(outside: dict[int, tuple[Any, Any]]) -> BadInput | None:
    """Restore outside lists, dicts and sets after tracing; return the refusal if one has changed."""
    refusal = None
    for x, held in outside.values():
        if not holds_the_same(content(x), held):
            put(x, held)
            refusal = BadInput(
                f"a special method changes a {type(x).__name__} that is not one of the function's arguments, and is called by Python's "
                "C code, which runs only once, while compiling; move the change out of the method, or call the method by name"
            )
    return refusal
