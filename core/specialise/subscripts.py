"""``x[i]``, ``x[i] = y`` and ``del x[i]`` of containers and objects."""

from __future__ import annotations

import operator
from collections import deque
from typing import Any

import numpy as np

from ..errors import BadInput
from ..faults import kind_of
from ..ir.derived import Derived, as_key, is_list, own_method
from ..ir.traced_text import Text
from .arguments import has_traced
from .contents import opened
from .growing_lists import cut, item_at as item_of_growing, make_growing, part, put_into
from .instances import is_instance, special
from .items import insert_missing, is_index, item_at, present_or_missing, put_at
from .keys import use_as_key
from .lists_in_python import delete, put_end
from .rows import rows_of
from .scopes import Late
from .text_methods import getitem as item_of_text
from .traced import Array, NeedsConcrete, Scalar, Traced
from .traced_keys import item_at_key, put_at_key


def _has_item(x: Any, index: Any) -> bool:
    return isinstance(x, (list, tuple, deque)) and isinstance(index, int) and -len(x) <= index < len(x)


def _of_index(trace: Any, x: Any, index: Any) -> Any:
    """Return an index into ``x`` with the user's objects replaced by their ``__index__``."""
    if isinstance(index, tuple):
        made = [_of_index(trace, x, i) for i in index]
        return index if all(map(operator.is_, made, index)) else tuple(made)
    if type(index) is Derived and not isinstance(x, dict):
        method = own_method(index, "__index__")
        return index.plain if method is None else trace.call(method)
    if isinstance(index, Traced) or isinstance(x, dict) or not is_instance(index):
        return index
    method = special(index, "__index__")
    return index if method is None else trace.call(method)


def getitem(trace: Any, x: Any, index: Any) -> Any:
    if isinstance(x, dict):
        index = as_key(index)
    if isinstance(x, Traced):
        own = _of_index(trace, x, index)
        if own is not index:
            return trace.call(operator.getitem, x, own)
        return NotImplemented
    if isinstance(x, Text):
        return item_of_text(trace, x, _of_index(trace, x, index))
    method = special(x, "__getitem__")
    if method is not None:
        return trace.call(method, index)
    if type(x) is Derived:
        found = item_of_text(trace, x.plain, _of_index(trace, x, index), "list" if is_list(x) else "string")
        return trace.derived.list_of(found) if is_list(x) and isinstance(index, slice) else found
    index = _of_index(trace, x, index)
    if isinstance(x, np.generic) and has_traced(index):  # a mask, as for an array without dimensions
        return trace.call(operator.getitem, trace.constant_array(np.asarray(x)), index)
    if isinstance(index, Array) and not index.type.shape:
        index = Scalar(trace.value(index))
    if rows_of(x) is None and isinstance(x, (list, tuple)) and isinstance(index, slice) and has_traced(index):
        if not trace.outside.is_outside(x) and trace.allows("may_grow"):
            copied: Any = trace.new(list(x))
            if make_growing(trace, copied, []):
                x = copied if isinstance(x, list) else tuple(copied)
    if rows_of(x) is not None:
        return part(trace, x, index) if isinstance(index, slice) else item_of_growing(trace, x, index)
    if isinstance(index, Scalar) and (is_index(index) or isinstance(x, dict)):
        if isinstance(x, (list, tuple, deque, str, bytes)):
            return item_at(trace, x, index)
        return item_at_key(trace, x, index)
    if isinstance(index, slice) or not isinstance(x, dict) and not _has_item(x, index):
        trace.outside.read_whole(x)
        x = opened(trace, x)
    if isinstance(x, dict):
        use_as_key(trace, index)
        if trace.outside.is_outside(x) and not dict.__contains__(x, index):
            trace.outside.miss(trace, x, index)
        late = dict.get(x, index)
        if isinstance(late, Late) and getattr(type(x), "__missing__", None) is not None:
            return present_or_missing(trace, x, index, late)
        if dict.__contains__(x, index):
            found = trace.expressions.settled(x, index, KeyError)
        elif special(x, "__missing__") is not None:
            return trace.call(special(x, "__missing__"), index)
        else:
            insert_missing(trace, x, index)
            found = x[index]
    elif not isinstance(x, type) and not hasattr(type(x), "__getitem__"):
        raise TypeError(f"'{kind_of(x)}' object is not subscriptable")
    else:
        held: Any = x
        found = operator.getitem(held, index)
    if trace.outside.is_outside(x) and not isinstance(index, slice):
        return trace.outside.read(trace, x, index, found)
    return trace.new(found) if isinstance(index, slice) and isinstance(found, list) else found


def setitem(trace: Any, x: Any, index: Any, value: Any) -> Any:
    if isinstance(x, Traced):
        own = _of_index(trace, x, index)
        return NotImplemented if own is index else trace.call(operator.setitem, x, own, value)
    method = special(x, "__setitem__")
    if method is not None:
        return trace.call(method, index, value)
    index = _of_index(trace, x, index)
    if type(x) is list and isinstance(index, slice) and has_traced(index) and trace.allows("may_grow"):
        make_growing(trace, x, [])
    if rows_of(x) is not None:
        if isinstance(index, slice) and index.start is not None and index.stop is None and index.step is None:
            return trace.calls.interpret(put_end, (x, index.start, value), {})
        return put_into(trace, x, index, value)
    if isinstance(x, dict) and isinstance(index, Scalar):
        return put_at_key(trace, x, index, value)
    if has_traced((index,)) and not (isinstance(x, dict) and isinstance(index, Text)):
        put_at(trace, x, index, value)
        return None
    if isinstance(x, dict):
        use_as_key(trace, index)
        if not dict.__contains__(x, index) and any(isinstance(e, Late) for e in x.values()):
            trace.disordered[id(x)] = x  # the new key's position depends on whether another key exists
    if not hasattr(type(x), "__setitem__"):
        raise TypeError(f"'{kind_of(x)}' object does not support item assignment")
    trace.touch(x)
    x[index] = value
    return None


def delitem(trace: Any, x: Any, index: Any) -> Any:
    if isinstance(x, Traced):
        return NotImplemented
    method = special(x, "__delitem__")
    if method is not None:
        return trace.call(method, index)
    if rows_of(x) is not None:
        return _delete_from(trace, x, index)
    if isinstance(index, Traced) and type(x) is list and trace.allows("may_grow") and make_growing(trace, x, []):
        return trace.calls.interpret(delete, (x, index), {})
    if isinstance(index, Traced):
        what = f"the index or key of a deletion from a {kind_of(x)}; mark deleted items in an array of bools instead"
        raise NeedsConcrete(trace.value(index), what)
    if isinstance(x, dict):
        use_as_key(trace, index)
        if dict.__contains__(x, index):
            trace.expressions.settled(x, index, KeyError)
    if not hasattr(type(x), "__delitem__"):
        raise TypeError(f"'{kind_of(x)}' object doesn't support item deletion")
    trace.touch(x)
    del x[index]
    return None


def _delete_from(trace: Any, x: Any, index: Any) -> None:
    """``del x[index]`` of a list of traced length."""
    if not isinstance(index, slice):
        return trace.calls.interpret(delete, (x, index), {})
    if index.stop is not None or index.step not in (None, 1):
        raise BadInput(
            "a deletion of a slice from a list whose length is known only at run time cannot be compiled; build a new list"
        )
    start = 0 if index.start is None else index.start
    n = trace.call(len, x)
    negative = trace.call(operator.lt, start, 0)
    at = trace.call(np.where, negative, trace.call(max, trace.unchecked(operator.add, start, n), 0), start)
    cut(trace, x, trace.call(int, at))
    return None
