"""Object identity: ``is`` after branches and loops, and whether an array or a container has another name.

A loop or branch that assigns a variable replaces the object by a new one with new values.  That is correct only if
nothing else refers to the old object, or neither of the two is changed.

An object merged after a branch has *candidates*: the objects that it may be, each with its condition.  ``is``,
``in`` and ``==`` of objects without ``__eq__`` are computed from these conditions.  After a loop the candidates are not
known.
"""

from __future__ import annotations

import operator
from collections import deque
from typing import Any

from ..errors import BadInput
from ..ir.derived import Derived, plain
from ..ir.dynamic import Value
from ..values.items import entries_of, items_of
from .instances import held_by_instance, is_instance
from .scopes import Choice, Closure, Conflict, Scope
from .surface.arguments import is_number
from .surface.views import in_numpy
from .traced import Array, Scalar, Storage, Traced


def identity(x: Any) -> int:
    """Return a key that all names of one thing share: the id of an array's storage, or of the object."""
    return id(x.storage) if isinstance(x, Array) else id(x)


def has_other_name(trace: Any, x: Any, holder: Any, key: Any) -> bool:
    """Whether an array or a container is also reachable otherwise than at ``holder[key]`` (or that attribute)."""
    wanted = identity(x)
    if any(id(a.storage) == wanted for a in trace.given_arrays) or wanted in trace.given_objects:
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
        if type(x) is Choice:
            return any(map(found, x.options))
        if type(x) is Derived:
            return found(x.held)
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


class Not:
    """The negation of a condition, computed where it is needed."""

    def __init__(self, condition: Value) -> None:
        self.condition = condition


Option = tuple[Any, Any, Any]
"""A candidate, its condition, and, for a view, its indices and lengths."""


class Candidates:
    """The objects that ``x`` may be, by id; None if they are not known."""

    def __init__(self, x: Any, objects: dict[int, Option] | None) -> None:
        self.x = x
        self.objects = objects

    def restore(self, originals: dict[int, Any]) -> None:
        """Put original objects in place of their replacements; ``originals`` maps the replacements' ids."""
        if self.objects is not None and not originals.keys().isdisjoint(self.objects):
            options = [(originals.get(key, x), on, numbers) for key, (x, on, numbers) in self.objects.items()]
            self.objects = {id(option[0]): option for option in options}


def candidates(trace: Any, x: Any) -> dict[int, Option] | None:
    found = trace.candidates.get(id(x))
    return {id(x): (x, True, numbers_of(x))} if found is None else found.objects


def numbers_of(x: Any) -> Any:
    return in_numpy(x.view)[0] if isinstance(x, Array) and x.view is not None else ()


def choose(merger: Any, made: Any, a: Any, b: Any) -> None:
    """Note that ``made`` is ``a`` where the branch's condition holds, else ``b``."""
    trace = merger.trace
    one, other = candidates(trace, a), candidates(trace, b)
    if one is None or other is None:
        trace.candidates[id(made)] = Candidates(made, None)
        return
    objects = {}
    for key, (x, _, numbers) in {**one, **other}.items():
        on = [side.get(key, (x, False))[1] for side in (one, other)]
        if on[0] is True and on[1] is True:
            found: Any = True
        elif on[0] is True and on[1] is False:
            found = Scalar(merger.condition)
        elif on[0] is False and on[1] is True:
            found = Not(merger.condition)
        else:
            parts = [merger.within(i, lambda c=c: condition(trace, c)) for i, c in enumerate(on)]
            found = merger.merge(*parts)
        objects[key] = x, found, _leaving(merger, x, numbers, one.get(key), other.get(key)) if numbers else ()
    trace.candidates[id(made)] = Candidates(made, objects)


def _leaving(merger: Any, x: Array, numbers: Any, one: Option | None, other: Option | None) -> Any:
    """Return a view's indices and lengths after the branches; memory that is new in a branch does not need them."""
    if merger.trace.made_in(x.storage) in merger.regions:
        return numbers
    sides = [option and option[2] for option in (one, other)]
    side = 0 if sides[0] is not None else 1
    if None in sides:
        found = [merger.one_side(Scalar(v), side) for v in numbers]
    else:
        found = [merger.merge(Scalar(v), Scalar(w)) for v, w in zip(*sides)]
    return [merger.trace.value(v) for v in found]


def condition(trace: Any, x: Any) -> Any:
    return trace.call(operator.not_, Scalar(x.condition)) if isinstance(x, Not) else x


def forget(trace: Any, x: Any) -> None:
    """Note that the candidates of ``x`` are not known, since a loop carries it."""
    trace.candidates[id(x)] = Candidates(x, None)


def has_choice(trace: Any, x: Any) -> bool:
    """Whether an object, or a container's element, may be one of two objects."""
    if not trace.candidates:
        return False
    if id(x) in trace.candidates:
        return True
    if type(x) is Choice:
        return has_choice(trace, x.options)
    if isinstance(x, (list, tuple, deque, set, frozenset)):
        return any(has_choice(trace, e) for e in items_of(x))
    return isinstance(x, dict) and any(has_choice(trace, e) for _, e in entries_of(x))


def identical(trace: Any, x: Any, y: Any) -> Any:
    """``x is y``: a bool, or a traced bool."""
    for side in (x, y):
        if isinstance(side, Conflict):
            side.refuse()
    x, y = map(trace.arrays.inside, (x, y))
    if x is y:
        return True
    if type(x) is type(y) is Derived and x.cls is y.cls and isinstance(x.plain, Scalar):
        x, y = plain(x), plain(y)  # one object may have become two in a loop
    for a, b in ((x, y), (y, x)):
        if isinstance(a, Scalar):
            if isinstance(b, bool) and a.type.dtype.kind == "b" and a.type.weak:
                return a if b else trace.call(operator.not_, a)
            if isinstance(b, bool) and a.type.dtype.kind != "b":
                return False
            return _is_plain_number(b) and _is_one_number(trace, a, b)
    if type(x) is type(y) and trace.outside.is_outside(x) is not trace.outside.is_outside(y):
        trace.outside.compared |= {id(x), id(y)}
    if type(x) is not type(y) or not trace.candidates:
        return False
    of_x, of_y = candidates(trace, x), candidates(trace, y)
    if of_x is None or of_y is None:
        raise BadInput(
            "compiled code cannot compare objects with `is` after a loop that assigns them; keep a number in the objects, and compare "
            "the numbers"
        )
    result: Any = False
    for key in of_x.keys() & of_y.keys():
        here = [condition(trace, c) for c in (of_x[key][1], of_y[key][1])]
        result = trace.expressions.either(result, trace.expressions.both(*here))
    return result


_ONE_OF = "compiled code cannot tell whether two equal numbers are the same object; compare them with =="
_SMALLEST, _LARGEST = -5, 256  # Python keeps one object for each of these ints


def _is_plain_number(x: Any) -> bool:
    """Whether x is a number, but not one of a user's class."""
    return is_number(x) and (isinstance(x, Traced) or not is_instance(x))


def _is_one_number(trace: Any, a: Scalar, b: Any) -> Any:
    """``a is b`` of numbers: unequal ones are two objects, and equal small ints are one; else the program raises."""
    kinds = [x.type if isinstance(x, Scalar) else trace.value(x).type for x in (a, b)]
    if isinstance(b, bool) or any(kind.dtype.kind == "b" for kind in kinds):
        return False
    equal = trace.call(operator.eq, a, b)
    if all(kind.dtype.kind == "i" and kind.weak for kind in kinds):
        is_small = trace.call(
            operator.and_, trace.call(operator.ge, b, _SMALLEST), trace.call(operator.le, b, _LARGEST)
        )
        unknown = trace.call(operator.and_, equal, trace.call(operator.not_, is_small))
    else:
        unknown, equal = trace.call(operator.or_, equal, _are_nan(trace, a, b)), False
    trace.builder.end_if(trace.value(unknown), BadInput, _ONE_OF)
    return equal


def _are_nan(trace: Any, a: Any, b: Any) -> Any:
    return trace.call(operator.and_, *(trace.call(operator.ne, x, x) for x in (a, b)))
