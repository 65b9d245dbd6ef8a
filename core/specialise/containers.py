"""Methods of lists, dicts, sets and deques, which change them or read entries that exist on one path only."""

from __future__ import annotations

import operator
from collections import OrderedDict, deque
from typing import Any

from ..errors import BadInput
from ..values.attributes import bound_to
from ..values.items import are_in_one_order
from .arguments import has_traced
from .choices import narrowed
from .contents import CHANGING
from .formatting import by_format, is_told, joined
from .forms import of_items, same_entries
from .growing_lists import append, clear, make_growing, pop
from .identity import has_choice
from .instances import is_instance
from .keys import use_as_key
from .lists_in_python import METHODS, OF_GROWING, insert, pop_at
from .rows import rows_of
from .scopes import UNBOUND, Conflict, Late
from .state import RAW, content, put
from .traced import NeedsConcrete, Scalar
from .traced_keys import get_at_key

_LOOKING = frozenset(("pop", "get", "index", "count", "remove", "setdefault"))
ON_ENTRIES = frozenset(("__setitem__", "__getitem__", "__delitem__", "__contains__", *_LOOKING))
CONTAINERS = (list, dict, set, deque, *RAW)
_BY_OPERATOR = {
    "__getitem__": operator.getitem,
    "__setitem__": operator.setitem,
    "__delitem__": operator.delitem,
    "__contains__": operator.contains,
    "__len__": len,
    "__iter__": iter,
    "__add__": operator.add,
    "__iadd__": operator.iadd,
    "__mul__": operator.mul,
    "__eq__": operator.eq,
    "__ne__": operator.ne,
}


class Containers:
    """The part of the interpreter that calls methods of containers."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    def equal(self, a: Any, b: Any) -> Any:
        if len(a) != len(b):
            return False
        if isinstance(a, dict):
            for x in (a, b):
                self.trace.refuse_unknown_entries(x, order=isinstance(a, OrderedDict))
            if a.keys() != b.keys() or isinstance(a, OrderedDict) and list(a) != list(b):
                return False
        result: Any = True
        for x, y in zip(a, b) if not isinstance(a, dict) else ((a[k], b[k]) for k in a):
            result = self.trace.expressions.both(result, self.trace.expressions.alike(x, y))
        return result

    def in_order(self, compare: Any, a: Any, b: Any, i: int = 0) -> Any:
        """Compare two lists or tuples by ``<``, ``<=``, ``>`` or ``>=``: as their first unequal items compare."""
        if i == min(len(a), len(b)):
            return compare(len(a), len(b))
        same = self.trace.expressions.alike(a[i], b[i])
        if isinstance(same, bool):
            return self.in_order(compare, a, b, i + 1) if same else self.trace.call(compare, a[i], b[i])
        return self.trace.branch(
            self.trace.value(same),
            lambda: self.in_order(compare, a, b, i + 1),
            lambda: self.trace.call(compare, a[i], b[i]),
        )

    def call_builtin(self, function: Any, args: Any, kwargs: Any) -> Any:
        owner, name = bound_to(function), function.__name__
        if isinstance(owner, str) and name == "join" and len(args) == 1:
            return joined(self.trace, str.__str__(owner), *args)
        if isinstance(owner, str) and name == "format" and any(map(is_told, (*args, *kwargs.values()))):
            return by_format(self.trace, str.__str__(owner), args, kwargs)
        if type(owner) is list and name == "insert" and isinstance(args[0], Scalar):
            return self.trace.calls.interpret(insert, (owner, *args), kwargs)
        if type(owner) in (list, tuple) and name in METHODS and self.compares_unknown((owner, args)):
            return self.trace.calls.interpret(METHODS[name], (owner, *args), kwargs)
        if rows_of(owner) is not None:
            return self.call_of_growing(owner, name, args, kwargs)
        if type(owner) is list and name == "pop" and args and isinstance(args[0], Scalar):
            if self.trace.allows("may_grow") and make_growing(self.trace, owner, []):
                return self.trace.calls.interpret(pop_at, (owner, *args), {})
        if isinstance(owner, CONTAINERS):
            if name in _LOOKING and args and isinstance(args[0], Scalar):
                if isinstance(owner, dict):
                    return get_at_key(self.trace, owner, name, args[0], args[1:])
                what = f"the argument of {type(owner).__name__}.{name}"
                raise NeedsConcrete(self.trace.value(args[0]), what)
            if isinstance(owner, dict):
                found = self.call_of_dict(owner, name, args)
                if found is not NotImplemented:
                    return found
            elif name in ("index", "count", "remove") and has_choice(self.trace, (owner, args)):
                raise BadInput(
                    f"{type(owner).__name__}.{name} cannot find an object that was chosen by a condition not known while compiling; "
                    "keep a number in the objects, and compare that"
                )
            if name in CHANGING:
                self.trace.touch(owner)
            if type(owner) is dict and name in ("values", "items") and self.trace.outside.is_outside(owner):
                return [(k, v) if name == "items" else v for k, v in self.read_all(owner)]
        elif is_instance(owner) and name in ("__setattr__", "__delattr__"):
            self.trace.touch_attributes(owner)
        return self.trace.uninterpreted.call_real(function, args, kwargs)

    def call_of_growing(self, owner: Any, name: str, args: Any, kwargs: Any) -> Any:
        """Call a method of a list, tuple or deque of traced length."""
        if name == "append":
            return append(self.trace, owner, *args)
        if name == "clear":
            return clear(self.trace, owner)
        if name == "copy":
            return self.trace.new(of_items(owner, [rows_of(owner)]))
        if name == "pop":
            last = not args or type(args[0]) is int and args[0] == -1
            return pop(self.trace, owner) if last else self.trace.calls.interpret(pop_at, (owner, *args), kwargs)
        if name in OF_GROWING:
            return self.trace.calls.interpret(OF_GROWING[name], (owner, *args), kwargs)
        if name in _BY_OPERATOR:
            return self.trace.call(_BY_OPERATOR[name], owner, *args)
        raise BadInput(
            f"{type(owner).__name__}.{name} of a list whose length is known only at run time cannot be compiled; write it as a loop"
        )

    def compares_unknown(self, x: Any) -> bool:
        """Whether comparing the contents of x may depend on traced numbers or on merged objects."""
        return has_traced(x) or has_choice(self.trace, x) or any(is_instance(e) for part in x for e in part)

    def call_of_dict(self, owner: Any, name: str, args: Any) -> Any:
        """Call a dict's method that reads one entry, maybe absent on one path; NotImplemented leaves it to Python."""
        if name not in ("get", "pop", "setdefault"):
            if name not in ("clear", "__setitem__", "__getitem__", "__contains__"):
                self.trace.refuse_unknown_entries(owner)
            return NotImplemented
        key, *default = args
        use_as_key(self.trace, key)
        held = dict.get(owner, key, UNBOUND)
        if isinstance(held, Conflict):
            raise BadInput(held.text)
        if name == "get" and self.trace.outside.is_outside(owner):
            self.trace.expressions.note_key(owner, key, held)
            if held is UNBOUND:
                return default[0] if default else None
            if not isinstance(held, Late):
                return self.trace.outside.read(self.trace, owner, key, narrowed(self.trace, held))
        if not isinstance(held, Late):
            return NotImplemented
        if name == "pop" and not default:
            found = self.trace.expressions.settled(owner, key, KeyError)
        else:
            other = default[0] if default else None
            found = self.trace.branch(self.trace.value(held.absent), lambda: other, lambda: held.x)
        if name != "get":
            self.trace.touch(owner)
            if name == "pop":
                del owner[key]
            else:
                owner[key] = found
        return found

    def read_all(self, holder: dict[Any, Any]) -> list[tuple[Any, Any]]:
        """Return the entries of an outside dict, all read."""
        return [(k, self.trace.outside.read(self.trace, holder, k, x)) for k, x in holder.items()]

    def note_change(self, x: Any, before: Any) -> bool:
        """Register whether a C function changed a container, or refuse it if the container must not change."""
        now = content(x)
        if isinstance(x, set):
            same = before == now
        else:
            same = (
                len(before) == len(now)
                and same_entries(before, now)
                and (not isinstance(x, dict) or are_in_one_order(before, now))
            )
        if not same:
            put(x, before)
            self.trace.touch(x)
            put(x, now)
        return not same
