"""Python functions that only take texts apart and join them: a program calls them, as they are, when it runs.

A loop over the words or the characters of a text has no length that is known while compiling.  A function whose
instructions can do nothing but compute a new text, bool or number from texts and numbers is one operation instead.
"""

from __future__ import annotations

import dis
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ..ir.traced_text import Text, filled
from ..source.bytecode import instructions
from .text_methods import read
from .texts import made, template_of
from .traced import Scalar

_COMPUTING = set(
    """
    RESUME NOP CACHE PRECALL EXTENDED_ARG COPY SWAP POP_TOP PUSH_NULL LOAD_FAST STORE_FAST LOAD_CONST CALL KW_NAMES
    RETURN_VALUE RETURN_CONST GET_ITER FOR_ITER COMPARE_OP CONTAINS_OP IS_OP UNARY_NOT UNARY_NEGATIVE BUILD_TUPLE
    BUILD_LIST BUILD_STRING BUILD_SLICE BINARY_SLICE LIST_APPEND FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC
    CONVERT_VALUE END_FOR POP_ITER TO_BOOL NOT_TAKEN BINARY_OP BINARY_SUBSCR LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR
    LOAD_SMALL_INT LOAD_FAST_BORROW
    """.split()  # noqa: SIM905
) | {dis.opname[code] for code in (*dis.hasjrel, *dis.hasjabs)}
"""Instructions that change nothing but local variables and new lists, if they are given texts and numbers."""

_METHODS = set(
    """
    append capitalize casefold center count endswith extend find index isalnum isalpha isdigit islower isnumeric
    isspace isupper join ljust lower lstrip partition removeprefix removesuffix replace rfind rjust rpartition rsplit
    rstrip split splitlines startswith strip swapcase title upper zfill
    """.split()  # noqa: SIM905
)
_BUILTINS = set("abs bool enumerate float int len max min range reversed sorted str sum zip".split())  # noqa: SIM905
_SAMPLES = (0.5, -12345.678, 1e-9)


def at_run_time(trace: Any, function: FunctionType, args: Any, kwargs: Any) -> Any:
    """Return what a function makes of texts when the program runs; NotImplemented if it must be interpreted."""
    given = (*args, *kwargs.values())
    if trace.tries or not any(isinstance(x, Text) for x in given) or not all(map(_is_plain, given)):
        return NotImplemented
    code, defaults = function.__code__, (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    if (
        not _only_computes(code)
        or not all(map(_is_plain, defaults))
        or any(n in function.__globals__ for n in code.co_names)
    ):
        return NotImplemented
    kinds = [_kind_of_sample(function, args, kwargs, x) for x in _SAMPLES]
    if kinds[0] not in (str, bool, int, float) or any(kind is not kinds[0] for kind in kinds):
        return NotImplemented
    if kinds[0] is float and any(isinstance(x, Scalar) and x.type.is_inexact for x in given):
        return NotImplemented  # it may have a derivative
    trace.outside.run(function)
    values: list[Any] = []
    parts = [template_of(x, values) for x in (args, tuple(kwargs), tuple(kwargs.values()))]
    text = Text(("call", "run", ("constant", function), ("constant", kinds[0]), *parts), values)
    if kinds[0] is not str:
        return read(trace, kinds[:1], text, may_raise=True)[0]
    read(trace, [int], made("len", text), may_raise=True)  # it may raise here, not where the text is first used
    return text


def _is_plain(x: Any) -> bool:
    return isinstance(x, (Text, Scalar)) or x is None or type(x) in (str, bool, int, float)


@lru_cache(maxsize=1024)
def _only_computes(code: CodeType) -> bool:
    """Whether code has a loop, and can do nothing but compute texts, bools and numbers."""
    known = {"LOAD_METHOD": _METHODS, "LOAD_ATTR": _METHODS, "LOAD_GLOBAL": _BUILTINS}
    if not all(
        i.argval in known[i.opname] if i.opname in known else i.opname in _COMPUTING for i in instructions(code)
    ):
        return False
    return not code.co_cellvars and not code.co_freevars and any(i.opname == "FOR_ITER" for i in instructions(code))


def _kind_of_sample(function: FunctionType, args: Any, kwargs: Any, number: float) -> type | None:
    """Return the type of what a function returns for one value of the numbers; None if it raises."""

    def sample(x: Any) -> Any:
        if isinstance(x, Text):
            return filled(x.template, map(sample, x.values))
        if not isinstance(x, Scalar):
            return x
        found = np.full(x.ir.type.bounds, number).astype(x.ir.type.dtype)
        return found.item() if x.ir.type.weak else found[()]

    try:
        return type(function(*map(sample, args), **{name: sample(x) for name, x in kwargs.items()}))
    except Exception:
        return None
