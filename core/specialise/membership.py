"""``x in container`` for traced values and containers that hold them."""

from __future__ import annotations

import operator
from collections import deque
from types import FunctionType
from typing import Any

import numpy as np

from ..ir.derived import as_key, plain_unless
from ..ir.traced_text import Text
from ..values.array_classes import is_inherited, is_subclass_array
from . import text_methods
from .arguments import has_traced
from .choices import distributed_over
from .identity import has_choice
from .instances import is_instance
from .iterators import Iterator
from .itertools_in_python import contains
from .keys import use_as_key
from .rows import rows_of
from .scopes import UNBOUND, Choice, Late
from .traced import Array, Scalar, Traced
from .traced_keys import has_key


def contained(trace: Any, container: Any, x: Any) -> Any:
    """Return ``x in container``: a bool, or a traced bool."""
    if type(container) is Choice or type(x) is Choice:
        return distributed_over(trace, [container, x], lambda found: contained(trace, *found))
    container = plain_unless(container, "__contains__")
    x = as_key(x) if isinstance(container, (dict, set, frozenset)) else x
    is_string = isinstance(container, str) and type(container).__contains__ is str.__contains__
    if isinstance(container, Text) or is_string and isinstance(x, Text):
        return text_methods.contains(trace, container, x)
    kind = type(container)
    if isinstance(container, Array) or is_subclass_array(container) and is_inherited(kind, "__contains__"):
        equal = trace.arrays.plain(trace.call(operator.eq, container, x))
        return trace.call(bool, trace.call(np.any, equal))
    method = getattr(kind, "__contains__", None)
    if isinstance(method, FunctionType):
        return trace.expressions.truth(trace.call(method, container, x))
    if (
        isinstance(container, Iterator)
        or rows_of(container) is not None
        or method is None
        and isinstance(getattr(kind, "__iter__", None), FunctionType)
    ):
        return trace.calls.interpret(contains, (container, x), {})
    if isinstance(container, dict) and not isinstance(x, (Traced, Text)):
        use_as_key(trace, x)
        held = container.get(x, UNBOUND) if kind is dict else dict.get(container, x, UNBOUND)
        trace.expressions.note_key(container, x, held)
        return trace.call(operator.not_, held.absent) if isinstance(held, Late) else held is not UNBOUND
    if isinstance(container, dict) and isinstance(x, Scalar):
        return has_key(trace, container, x)
    trace.outside.read_whole(container, is_deep=True)
    if isinstance(container, (list, tuple, deque)):
        one_by_one = any(has_traced(e) or is_instance(e) for e in (x, *container)) or has_choice(trace, (x, container))
    else:
        one_by_one = isinstance(x, (Traced, Text))
        if isinstance(x, Text):
            trace.refuse_unknown_entries(container, order=False)
            container = [e for e in container if isinstance(e, str)]
        else:
            use_as_key(trace, x)
    if not one_by_one:
        return x in container  # type: ignore[operator]
    found: Any = False
    for e in container:
        found = trace.expressions.either(found, trace.expressions.alike(e, x))
    return found
