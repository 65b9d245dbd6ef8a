"""Side effects of a code object, read from its bytecode.

If code only computes, and assigns only local variables and attributes of its arguments, a run need not search for other
changes.  Callees count separately: those in Python have code of their own, and a profile function observes those in C.
Calls that no profile function observes (of classes in C, ufuncs, slots) count as storing unless they are known not to;
so does every instruction that is not listed here.
"""

from __future__ import annotations

import builtins
import cmath
import dis
import functools
import inspect
import math
import threading
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from dis import Instruction
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    MappingProxyType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from ..values.attributes import MISSING, class_attribute, dict_of, slot_of
from ..values.reachable import REFERENCING, is_foreign
from ..values.special_methods import special
from ..values.versions import HEAP_TYPE
from .bytecode import instructions

COMPUTING = set(
    """
    RESUME NOP CACHE PRECALL EXTENDED_ARG COPY SWAP POP_TOP COPY_FREE_VARS MAKE_CELL LOAD_FAST STORE_FAST DELETE_FAST
    LOAD_CONST LOAD_GLOBAL LOAD_DEREF LOAD_CLOSURE LOAD_ATTR LOAD_METHOD CALL KW_NAMES RETURN_VALUE RETURN_GENERATOR
    YIELD_VALUE GET_ITER FOR_ITER SEND GET_YIELD_FROM_ITER COMPARE_OP CONTAINS_OP IS_OP UNARY_POSITIVE UNARY_NEGATIVE
    UNARY_NOT UNARY_INVERT BINARY_OP BUILD_TUPLE BUILD_LIST BUILD_SET BUILD_MAP BUILD_STRING BUILD_SLICE
    BUILD_CONST_KEY_MAP LIST_APPEND SET_ADD MAP_ADD LIST_EXTEND SET_UPDATE DICT_UPDATE LIST_TO_TUPLE UNPACK_SEQUENCE
    FORMAT_VALUE MAKE_FUNCTION RAISE_VARARGS RERAISE PUSH_EXC_INFO POP_EXCEPT CHECK_EXC_MATCH LOAD_ASSERTION_ERROR
    STORE_DEREF STORE_ATTR LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR
    RETURN_CONST END_FOR TO_BOOL NOT_TAKEN POP_ITER FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE
    """.split()  # noqa: SIM905
) | {dis.opname[code] for code in (*dis.hasjrel, *dis.hasjabs)}
"""Instructions that store only variables of the frame; calls, attributes and in-place operators are examined further.

Subscription is not listed, except by a constant int (see ``_is_quiet``): a ``defaultdict`` stores its factory's result.
"""
INTRINSICS = {"INTRINSIC_STOPITERATION_ERROR", "INTRINSIC_UNARY_POSITIVE", "INTRINSIC_LIST_TO_TUPLE"}
"""Arguments of CALL_INTRINSIC_1 (since Python 3.12) that only compute."""

COMPREHENSIONS = {"<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<lambda>"}

FUNCTIONS = {
    getattr(builtins, name)
    for name in (
        "abs all any ascii bin callable chr divmod format getattr hasattr hash hex id isinstance issubclass "
        "len max min oct ord pow repr round sum"
    ).split()
}
FUNCTIONS |= {f for m in (math, cmath) for f in vars(m).values() if isinstance(f, BuiltinFunctionType)}
"""C functions without side effects."""

UNCHANGING = {str, bytes, int, float, complex, bool, tuple, frozenset, range, type(None), slice, MappingProxyType}
UNCHANGING |= {type({}.keys()), type({}.values()), type({}.items()), type(threading.Lock()), type(threading.RLock())}
"""Classes whose methods have no visible side effects."""

CONTAINERS = (list, dict, set, deque, OrderedDict, np.ndarray)
READING = set(
    """
    get items keys values index count copy union difference intersection issubset issuperset isdisjoint symmetric_difference
    item view tolist astype __new__ __hash__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __repr__ __str__ __len__ __contains__
    __getattribute__ __array_finalize__ __add__ __sub__ __mul__ __truediv__ __neg__ __abs__ __float__
    """.split()  # noqa: SIM905
)
"""Methods of containers, arrays and numbers without side effects."""

WITH_SLOTS = {*CONTAINERS, *UNCHANGING, object}
"""C classes whose slots named in ``READING`` have no side effects."""

OF_TEXT = {name for kind in (str, int, float) for name in vars(kind) if not name.startswith("_")}
MADE = {object, tuple, int, float, complex, str, bytes, bool, frozenset, list, dict, set, range, slice, type, super}
MADE |= {enumerate, zip, reversed, map, filter, np.ndarray}
"""C classes that only make an object; of these only ``map`` and ``filter`` call an argument."""

CALLED_OR_WRITTEN = {"key", "out"}
"""Keyword arguments that C functions call or write into."""


class Effects:
    """Side effects of a code object: any on its ``loud`` lines, elsewhere only stores to attributes of arguments."""

    def __init__(self, code: CodeType) -> None:
        self.attributes: list[tuple[str, str]] = []  # stored: (argument, attribute)
        self.functions: list[tuple[str, ...]] = []  # called globals, or attributes of modules, as paths
        self.mapped: list[tuple[str, ...]] = []  # those called by map and filter
        self.methods: set[tuple[str, str]] = set()  # called: (argument or global variable, method)
        self.is_path = False  # whether a loaded attribute extends the last path in ``functions``
        self.is_read = bool(code.co_flags & inspect.CO_OPTIMIZED)  # else a class body or code run by exec
        self.loud = {*self._loud(code)} if self.is_read else set()
        self.called = [(name, tuple(rest), False) for name, *rest in {*self.functions} - {*self.mapped}]
        self.called += [(name, tuple(rest), True) for name, *rest in {*self.mapped}]
        self.stores_nothing = self.is_read and not self.loud and not self.attributes

    def _loud(self, code: CodeType) -> Iterator[int | None]:
        found = [*instructions(code)]
        given = code.co_argcount + code.co_kwonlyargcount
        changed = {i.argval for i in found if i.opname in ("STORE_FAST", "DELETE_FAST")}
        fixed = {*code.co_varnames[:given]} - changed - {*code.co_cellvars}
        before = None
        for i in found:
            if not self._is_quiet(code, i, before, fixed):
                yield i.positions and i.positions.lineno
            before = i

    def _is_quiet(self, code: CodeType, i: Instruction, before: Instruction | None, fixed: set[str]) -> bool:
        """Return whether an instruction stores only the attributes noted here; ``fixed``: arguments never rebound."""
        name = i.opname
        of = before.argval if before is not None and not i.is_jump_target else None
        of_argument = of is not None and before.opname == "LOAD_FAST" and of in fixed  # type: ignore[union-attr]
        if before is not None and before.opname == "LOAD_GLOBAL" and before.argval in ("map", "filter"):
            if name != "LOAD_GLOBAL":
                return False
            self.mapped.append((i.argval,))
        if name == "STORE_ATTR":
            if of_argument:
                self.attributes.append((of, i.argval))
            return of_argument
        if name == "LOAD_GLOBAL" and "NULL" in i.argrepr:
            self.functions.append((i.argval,))
            self.is_path = True
            return True
        if name == "LOAD_ATTR" and self.is_path and "NULL" not in i.argrepr:
            self.functions[-1] = (*self.functions[-1], i.argval)
            return True
        self.is_path = False
        if name == "LOAD_METHOD" or name == "LOAD_ATTR" and "NULL" in i.argrepr:
            if not of_argument and (of is None or before.opname != "LOAD_GLOBAL"):  # type: ignore[union-attr]
                return i.argval in READING or i.argval in OF_TEXT
            self.methods.add((of, i.argval))
        elif name == "BINARY_OP":
            return not i.argrepr.endswith(("=", "[]"))
        elif name == "KW_NAMES":
            return CALLED_OR_WRITTEN.isdisjoint(code.co_consts[i.arg or 0])
        elif name == "MAKE_FUNCTION":
            return isinstance(of, CodeType) and of.co_name in COMPREHENSIONS
        elif name == "STORE_DEREF":
            return i.argval not in code.co_freevars
        elif name == "BINARY_SUBSCR":
            return type(of) is int
        return name in COMPUTING or name == "CALL_INTRINSIC_1" and i.argrepr in INTRINSICS

    def are_known(self, frame: FrameType, local: Mapping[str, Any]) -> bool:
        """Return whether a frame that starts with these variables stores only to ``attributes``, and all its calls are
        known or observed by a profile function."""
        space, outside = frame.f_globals, frame.f_builtins
        for name, path, is_mapped in self.called:
            function = space[name] if name in space else outside.get(name)
            for attribute in path:
                function = _method(function, attribute)
            if function in (map, filter) and name not in ("map", "filter") or not shows(function):
                return False
            if is_mapped and type(function) is not FunctionType and not isinstance(function, type):
                if not changes_nothing(function):
                    return False
        for name, method in self.methods:
            x = local[name] if name in local else space[name] if name in space else outside.get(name)
            if not shows(_method(x, method)):
                return False
        return all(_is_stored_in(local[name], attribute) for name, attribute in self.attributes)


CACHED = type(functools.lru_cache(len))
CACHED_PROPERTY = functools.cached_property.__get__.__code__


def attributes_stored(frame: FrameType, by_lines: bool = False) -> list[tuple[Any, str]] | None:
    """Return the (object, attribute) pairs that a starting frame may store; None if it may store anything else.

    ``by_lines``: ignore the lines in ``loud_lines``.
    """
    code, variables = frame.f_code, frame.f_locals
    if code is CACHED_PROPERTY:
        x, name = variables["instance"], variables["self"].attrname
        return [] if x is None or name is None else [(x, name)]
    effects = effects_of(code)
    if not effects.is_read or effects.loud and not by_lines or not effects.are_known(frame, variables):
        return None
    return [(variables[argument], name) for argument, name in effects.attributes]


def loud_lines(frame: FrameType) -> set[int | None]:
    """Return the lines of a frame with arbitrary side effects; None among them stands for an unknown line."""
    return set() if frame.f_code is CACHED_PROPERTY else effects_of(frame.f_code).loud


def _method(x: Any, name: str) -> Any:
    """Look up an attribute without running code of the object's class."""
    if isinstance(x, ModuleType):
        return vars(x).get(name)
    own = dict_of(x) if not isinstance(x, type) else {}
    if name in own:
        return own[name]
    return class_attribute(x.__mro__ if isinstance(x, type) else type(x).__mro__, name)


def shows(function: Any) -> bool:
    """Return whether a call runs Python code, or a profile function observes it, or it only makes an object."""
    kind = type(function)
    if kind in (FunctionType, BuiltinFunctionType, MethodDescriptorType):
        return True
    if kind in (staticmethod, classmethod, MethodType):
        return shows(function.__func__)
    if kind is CACHED:  # a run has its own caches and never sees this one
        return type(getattr(function, "__wrapped__", None)) is FunctionType
    if kind is WrapperDescriptorType:
        return function.__objclass__ in WITH_SLOTS and function.__name__ in READING
    if isinstance(function, type):
        if function in MADE or issubclass(function, BaseException) and function.__module__ == "builtins":
            return True
        return (
            bool(function.__flags__ & HEAP_TYPE) and function.__module__ not in REFERENCING and not is_foreign(function)
        )
    return function is not MISSING and special(kind, "__call__") is not None


def changes_nothing(function: Any) -> bool:
    """Return whether a C function that a profile function observes has no side effects."""
    if function in FUNCTIONS:
        return True
    bound = getattr(function, "__self__", None)
    kind = type(bound)
    if kind in UNCHANGING and bound is not None:
        return True
    if isinstance(bound, CONTAINERS):
        return function.__name__ in READING
    return isinstance(bound, type) and bound in MADE and function.__name__ == "__new__"


def _is_stored_in(x: Any, name: str) -> bool:
    """Return whether assigning an attribute stores into ``__dict__`` or a slot, or runs Python code."""
    if isinstance(x, (type, ModuleType)):
        return False
    if slot_of(type(x), name) is not None:
        return True
    found = class_attribute(type(x).__mro__, name)
    return not hasattr(type(found), "__set__") or special(type(found), "__set__") is not None or type(found) is property


def attribute(x: Any, name: str) -> Any:
    """Return an instance attribute, or ``MISSING``, without running code of the object's class."""
    own = dict_of(x)
    if name in own:
        return own[name]
    slot = slot_of(type(x), name)
    if slot is None:
        return MISSING
    try:
        return slot.__get__(x)
    except AttributeError:
        return MISSING


_found: dict[int, tuple[CodeType, Effects]] = {}
MOST_CODES = 4096


def effects_of(code: CodeType) -> Effects:
    """Return the cached effects of a code object."""
    entry = _found.get(id(code))
    if entry is None:
        if len(_found) >= MOST_CODES:
            _found.clear()
        entry = _found[id(code)] = code, Effects(code)
    return entry[1]


class Stored:
    """The names that a code object stores to."""

    def __init__(self, code: CodeType) -> None:
        found = [*instructions(code)]
        self.variables = [i.argval for i in found if i.opname == "STORE_DEREF" and i.argval in code.co_freevars]
        self.globals = {i.argval for i in found if i.opname == "STORE_GLOBAL"}
        self.attributes = [i.argval for i in found if i.opname == "STORE_ATTR"]


@functools.lru_cache(maxsize=4096)
def stored(code: CodeType) -> Stored:
    return Stored(code)
