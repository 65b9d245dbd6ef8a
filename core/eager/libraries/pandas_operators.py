"""pandas: Cython code maps ufuncs of its objects to their operators; here these operators are called on the tape."""

from __future__ import annotations

import sys
from typing import Any

from ...rules.registry import handles
from ..recorded.access import special
from ..recorded.call import call_method
from ..recorded.tape import Tape

ALIASES = {
    **{"add": "add", "subtract": "sub", "multiply": "mul", "floor_divide": "floordiv", "true_divide": "truediv"},
    **{"divide": "truediv", "power": "pow", "remainder": "mod", "divmod": "divmod", "matmul": "matmul"},
    **{"equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge"},
    **{
        "bitwise_or": "or",
        "bitwise_and": "and",
        "bitwise_xor": "xor",
        "negative": "neg",
        "absolute": "abs",
        "positive": "pos",
    },
}
REFLECTED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def _dispatch(tape: Tape, x: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    name = ALIASES.get(ufunc.__name__)
    if kwargs or method != "__call__" or name is None:
        return NotImplemented
    if inputs[0] is x:
        name, others = f"__{name}__", inputs[1:]
    else:
        name, others = f"__{REFLECTED.get(name, f'r{name}')}__", inputs[:1]
    return NotImplemented if special(type(x), name) is None else call_method(tape, x, name, *others)


# pandas is not a dependency: this file is loaded once the program has imported it.
if "pandas._libs.ops_dispatch" in sys.modules:
    handles(sys.modules["pandas._libs.ops_dispatch"].maybe_dispatch_ufunc_to_dunder_op)(_dispatch)
