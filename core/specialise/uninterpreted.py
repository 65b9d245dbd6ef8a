"""Calls of functions that are not interpreted: C functions, and library functions without traced arguments."""

from __future__ import annotations

import datetime
import functools
import types
from contextlib import nullcontext
from typing import Any

import numpy as np

from ..errors import BadInput
from ..faults import in_words, kind_of
from ..rules.connected import connected
from ..rules.registry import ADJOINTS, TANGENTS, key_of
from ..source.definitions import describe
from ..values.array_classes import is_traced_array
from ..values.attributes import bound_to
from ..values.items import items_of
from .after_run import TIMES, Today, time_after_run
from .arguments import depends_on_traced, has_traced
from .clocks import CLOCKS, read
from .constants import as_known, called_on_known, is_of_arrays
from .containers import CONTAINERS, ON_ENTRIES
from .functions_in_c import library_of, result_of
from .generators import STATES, Generators, writes
from .growing_lists import spread
from .impure import is_impure, refuse_effects
from .instances import is_instance
from .iterators import Drawn, Iterator as Iterating, refuse_next
from .keys import hashing
from .locks import is_made, is_outside
from .state import content
from .surface.python_numbers import INSTEAD
from .traced import WHOLE, NeedsConcrete

_HOLDING = ("append", "appendleft", "insert", "setdefault", "__setitem__")
"""Methods of containers that store an argument as it is."""


class Uninterpreted:
    """The part of the interpreter that calls uninterpreted functions."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace
        self.generators = Generators(trace)

    def call_in_c(self, library: str, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function of ``ctypes`` or cffi while the program runs: one that was given a derivative only computes."""
        like, key = result_of(function), key_of(function)
        if like is not None and not kwargs and (key in ADJOINTS or key in TANGENTS):
            return connected.call_python(self.trace, function, like, *args)
        declared = "(argtypes, restype)" if library == "ctypes" else "(ffi.cdef)"
        raise BadInput(
            f"a function of {library}, {_name(function)}, cannot be compiled; call it through mo.callback(f, result_like, x), or give "
            f"it a derivative with @mo.adjoint and declare the types of numbers that it takes and returns {declared}"
        )

    def call_real(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function as Python does; containers, iterators and arrays that it makes become the program's."""
        asked = self.trace.asked
        if not isinstance(bound_to(function), CONTAINERS) or function.__name__ not in _HOLDING:
            args = tuple(spread(self.trace, x) for x in args)
            kwargs = {name: spread(self.trace, x) for name, x in kwargs.items()}
        library = library_of(function)
        if library is not None:
            return self.call_in_c(library, function, args, kwargs)
        if is_outside(self.trace, bound_to(function)):
            return self.trace.outside.locks.called(function, args, kwargs)
        if function in self.trace.called:  # NumPy's and Python's protocols have only called back
            raise BadInput(f"{describe(function)} cannot be compiled for these arguments; call it through mo.callback")
        refuse_effects(function, self.trace.made)
        array = next((x for x in (bound_to(function), *args, *kwargs.values()) if is_traced_array(x)), None)
        if array is not None and not _only_holds(function):
            raise BadInput(
                f"{describe(function)} of a {kind_of(array)}, a subclass of ndarray, cannot be compiled; pass np.asarray(x), or use "
                "mo.callback"
            )
        for x in (bound_to(function), *args, *kwargs.values()):
            if hasattr(type(x), "__next__") and id(x) not in self.trace.made:
                refuse_next(x)  # the function may take items
        if is_impure(function):
            if function in CLOCKS and not args and not kwargs:
                return read(self.trace, function)
            if function in TIMES:
                return time_after_run(function, args, kwargs)
            if function == datetime.date.today:
                return self.trace.outside.guards.setdefault(("today",), Today()).found
            if not writes(function):
                args = tuple(as_known(self.trace, x) for x in args)
                kwargs = {name: as_known(self.trace, x) for name, x in kwargs.items()}
            function, args = self.generators.prepared(function, args, kwargs)
            found = self.generators.selected(function, args, kwargs)
            if found is not NotImplemented:
                return found
        if is_of_arrays(function) and depends_on_traced((args, kwargs)):
            found = called_on_known(self.trace, function, args, kwargs)
            if found is not NotImplemented:
                return self.take_in(found)
        self.generators.load()
        holders = [x for x in (bound_to(function), *args, *kwargs.values()) if isinstance(x, CONTAINERS)]
        for x in holders[getattr(function, "__name__", "") in ON_ENTRIES :]:
            self.trace.refuse_unknown_entries(x)
        before = [content(x) for x in holders]
        self.trace.called.append(function)
        try:
            with hashing(self.trace) if not _makes_sets(function) else nullcontext():
                found = function(*args, **kwargs)
        except NeedsConcrete as error:
            if function is min or function is max:
                error.args = (f"the order of the lists or tuples that min or max compares; {INSTEAD}",)
            elif WHOLE in error.args[0]:
                raise BadInput(_of_c(function)) from None
            else:
                error.args, error.is_of_c = (f"{_name(function)}: {error.args[0]}",), True
            raise
        except TypeError as error:
            text = str(error)
            is_own = in_words(text) != text or "not numpy.ndarray" in text
            only_holds = isinstance(function, type) and issubclass(function, BaseException)
            if only_holds or not is_own and not has_traced(args) and not has_traced(kwargs):
                raise
            if not isinstance(error, BadInput):
                text = f"{describe(function)} cannot be compiled for these arguments: {text}"
            raise BadInput(_of_c(function) if is_own else text) from None
        except Exception:
            if self.trace.asked is None or self.trace.asked is asked:
                raise
            raise self.trace.asked from None  # C code has replaced the error by its own
        finally:
            self.trace.called.pop()
            for x, held in zip(holders, before):
                if self.trace.containers.note_change(x, held):
                    self.check_keys(x)
        self.generators.save(function, args, found)
        if (
            isinstance(found, CONTAINERS)
            and id(found) not in self.trace.made
            and not self.trace.outside.is_outside(found)
        ):
            self.check_keys(found)
            self.trace.new(found)
        elif hasattr(type(found), "__next__") and not isinstance(found, Iterating) and id(found) not in self.trace.made:
            found = (
                self.trace.new(Drawn(found))
                if type(found).__module__ in ("builtins", "itertools", "_collections")
                else self.trace.new(found)
            )
        elif isinstance(found, frozenset):
            self.check_keys(found)
        elif is_instance(found) and getattr(function, "__name__", "") == "__new__" or is_made(found):
            self.trace.new(found)
        return found if getattr(function, "__name__", "") in STATES else self.take_in(found)

    def check_keys(self, x: Any) -> None:
        """Refuse keys of a dict, or elements of a set, that cannot be such in compiled code."""
        for key in items_of(x) if isinstance(x, (dict, set, frozenset)) else ():
            self.trace.expressions.key(key, not isinstance(x, dict))

    def take_in(self, x: Any) -> Any:
        if type(x) is np.ndarray and x.dtype.kind in "biufc":
            return self.trace.constant_array(x)
        if type(x) in (tuple, list) and any(type(e) is np.ndarray for e in x):
            return type(x)(self.take_in(e) for e in x)
        return x


def _makes_sets(function: Any) -> bool:
    """Whether a function puts its arguments into a set, which may hold numbers that are not known while compiling."""
    return function is set or function is frozenset or isinstance(bound_to(function), (set, frozenset))


def _only_holds(function: Any) -> bool:
    """Whether a call only stores its arguments, or compares their identities."""
    if isinstance(function, type):
        return issubclass(function, (tuple, BaseException, super, functools.partial, types.MethodType))
    return isinstance(bound_to(function), CONTAINERS)


def _of_c(function: Any) -> str:
    owner = bound_to(function)
    is_method = owner is not None and not isinstance(owner, types.ModuleType)
    name = f"{type(owner).__name__}.{function.__name__}" if is_method else _name(function)
    return (
        f"{name} cannot be compiled: it is written in C, or reads arrays that are not known while compiling; "
        "call it through mo.callback(f, result_like, x)"
    )


def _name(function: Any) -> str:
    """Return a function's name for messages, or its class's."""
    return describe(function if hasattr(function, "__name__") else type(function))
