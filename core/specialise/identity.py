"""Whether an array or a container has a second name, by which a change of it would be seen.

A loop or a branch that binds a variable anew makes of the object a new one, on other values.  That is the same program only
while nothing else refers to the object that was there before and one of the two is changed.
"""

from __future__ import annotations

from typing import Any

from ..traced import Array, Storage
from .instances import held_by_instance, is_instance
from .scopes import Closure, Scope


def identity(x: Any) -> int:
    """What two names of one thing have in common: an array's storage, or the object itself."""
    return id(x.storage) if isinstance(x, Array) else id(x)


def has_other_name(trace: Any, x: Any, holder: Any, key: Any) -> bool:
    """Whether an array or a container can be reached otherwise than at ``holder[key]`` (or that attribute)."""
    wanted = identity(x)
    if any(id(a.storage) == wanted for a in trace.given_arrays):
        return True
    seen: set[int] = set()

    def found(x: Any) -> bool:
        if isinstance(x, (Array, list, dict)) or is_instance(x):
            if identity(x) == wanted:
                return True
        if isinstance(x, (Array, Storage)) or id(x) in seen:
            return False
        seen.add(id(x))
        if isinstance(x, Closure):
            return of_scope(x.scope) or any(map(found, x.defaults))
        if isinstance(x, (list, tuple, set)):
            return any(map(found, x))
        if isinstance(x, dict):
            return entries(x, x)
        return is_instance(x) and entries(x, held_by_instance(x))

    def entries(owner: Any, held: dict[Any, Any]) -> bool:
        return any(found(e) for k, e in held.items() if owner is not holder or k != key)

    def of_scope(scope: Scope | None) -> bool:
        while scope is not None:
            if id(scope.vars) not in seen:
                seen.add(id(scope.vars))
                if entries(scope.vars, scope.vars):
                    return True
            scope = scope.parent
        return False

    return any(of_scope(scope) for scope in trace.scopes)
