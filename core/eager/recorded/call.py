"""Recorded calls: by a handler, by a rule, or by recording the callee's source."""

from __future__ import annotations

import dataclasses
import functools
import operator
import types
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from ...exclusion import undo
from ...recursion import DeepRecursion, is_raised
from ...rules import find_model, find_rule
from ...rules.connected import connected
from ...rules.registry import CALLERS, HANDLERS, Handler, key_of
from ...source.definitions import InIntegers, NoSource
from ...values.numbers import NUMBERS, REAL, Int, is_exact, is_of_exact, referent
from ...values.reachable import is_foreign
from ..arrays.arrays import (
    array_method,
    call_rule,
    is_operator,
    number_method,
    operator_method,
    plain_number,
    recorded_call,
)
from ..arrays.dispatch import dispatched
from ..arrays.integers import same_integer
from ..arrays.models import call_compiled, call_model
from ..arrays.ufunc_methods import ufunc_method
from ..rewriting.instrument import instrument, template_of
from ..structured.functions import is_structured
from ..unrecorded.opaque_calls import call_opaque, call_past_the_class
from ..unrecorded.unasking import BOUND_BY_TYPE
from ..unrecorded.unread import call_unread
from . import known
from .access import class_attribute, entry_of, get_attribute, getitem, load_attribute, next_entry, special
from .compiled_calls import NOT_COMPILED, call_compiled_form
from .construct import CONTAINERS, construct, initialise_dataclass, make, maker, number_subclass, over_iterables
from .containers import container_method
from .operate import OPERATORS
from .stores import remove_attribute, setitem, store_attribute
from .tape import Tape

call = Tape.call


def caller(function: Any) -> Handler:
    """Return the recorded form of any callable object."""
    if type(function) is MethodType and type(function.__func__) is FunctionType:
        method, x = function.__func__, function.__self__
        return lambda tape, /, *args, **kwargs: known.functions[method](tape, x, *args, **kwargs)
    return lambda tape, /, *args, **kwargs: call(tape, function, *args, **kwargs)


def method_caller(name: str) -> Handler:
    """Return the recorded form ``(tape, x, ...)`` of a call of the method ``name``."""
    found = _method_callers.get(name)
    if found is None:
        found = _method_callers[name] = lambda tape, x, /, *a, **named: call_method(tape, x, name, *a, **named)
    return found


_method_callers: dict[str, Handler] = {}


def bound(tape: Tape, x: Any, name: str) -> Callable[..., Any]:
    """Return the recorded ``x.name``, called without a tape argument."""
    return lambda *args, **kwargs: call_method(tape, x, name, *args, **kwargs)


def _how(function: Any) -> Handler:
    """Return the recorded form of a function or a class, for any arguments."""
    if type(function) is BuiltinFunctionType and type(function.__self__) is str and function.__name__ in OF_TEXT:
        return lambda tape, /, *args, **kwargs: (
            _call_other(tape, function, args, kwargs)
            if kwargs or not all(type(x) in TEXTUAL for x in args)
            else function(*args)
        )
    if function in HANDLERS:
        return HANDLERS[function]
    rule = find_rule(function)
    if function in HANDLERS:  # ``find_rule`` may have loaded the handlers of a library
        return HANDLERS[function]
    if rule is not None:
        if isinstance(function, type):
            return lambda tape, /, *args, **kwargs: (
                call_rule(tape, rule, args, kwargs) if args else construct(tape, function, args, kwargs)
            )
        if rule.is_zero:
            return _of_zero(rule)
        return recorded_call(rule)
    if type(function) is FunctionType:
        model = find_model(function)
        if model is not None:
            return lambda tape, /, *args, **kwargs: call_model(tape, model, args, kwargs)
        if is_of_exact(function):
            return lambda tape, /, *args, **kwargs: call_opaque(tape, function, args, kwargs)
        return lambda tape, /, *args, **kwargs: _call_python(tape, function, args, kwargs)
    if isinstance(function, type):
        return maker(function)
    return lambda tape, /, *args, **kwargs: _call_other(tape, function, args, kwargs)


OF_TEXT = {
    "startswith",
    "endswith",
    "strip",
    "lstrip",
    "rstrip",
    "split",
    "rsplit",
    "lower",
    "upper",
    "replace",
    "find",
}
OF_TEXT |= {"isdigit", "isalpha", "isidentifier", "casefold", "title", "rfind", "splitlines", "partition", "rpartition"}
"""Methods of strings that only move text."""

TEXTUAL = {str, int, bool, type(None)}


def _of_zero(rule: Any) -> Handler:
    """Return the recorded form of a function whose derivative is zero: plain numbers need no record."""

    def call_zero(tape: Tape, /, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return call_rule(tape, rule, args, kwargs)
        for x in args:
            if type(x) not in REAL:
                return call_rule(tape, rule, args, kwargs)
        y = rule.function(*args)
        if tape.observer is not None:
            tape.observer.rounded(tape, rule.function, args, y)
        return y

    return call_zero


def _call_other(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call something that is neither a Python function nor a bound Python method."""
    kind = type(function)
    if kind is types.MethodWrapperType and function.__name__ in ("__get__", "__setattr__"):
        return _call_bound(tape, function, function.__self__, args, kwargs)
    key = key_of(function)
    handler = HANDLERS.get(key)
    if handler is None and key is not function:  # it has no hash that may be computed, so it is in no other table
        return _call_object(tape, function, args, kwargs)
    if handler is not None:
        return handler(tape, *args, **kwargs)
    if isinstance(function, type):
        return _how(function)(tape, *args, **kwargs)
    rule = find_rule(function)
    if rule is not None:
        return call_rule(tape, rule, args, kwargs)
    if kind is functools.partial:
        return call(tape, function.func, *function.args, *args, **{**function.keywords, **kwargs})
    if kind in CALLERS:
        return CALLERS[kind](tape, function, *args, **kwargs)
    if isinstance(function, (BuiltinFunctionType, types.MethodWrapperType)):  # some methods are of a derived class
        bound = function.__self__
        if function.__name__ == "__call__" and not isinstance(bound, type):
            if type(special(type(bound), "__call__")) is FunctionType:
                return call_past_the_class(tape, function, args, kwargs)
            return call(tape, bound, *args, **kwargs)
        if bound is not None and not isinstance(bound, types.ModuleType):
            return _call_bound(tape, function, bound, args, kwargs)
    elif kind is types.MethodDescriptorType or kind is types.WrapperDescriptorType:
        if function.__objclass__ is not type and args:
            return _call_unbound(tape, function, args, kwargs)
    implementation = function._implementation if kind is type(np.sum) else None  # type: ignore[union-attr]
    if isinstance(implementation, FunctionType):
        y = dispatched(tape, function, args, kwargs)
        return _call_python(tape, implementation, args, kwargs) if y is NotImplemented else y
    if special(kind, "__call__") is not None:
        return _call_object(tape, function, args, kwargs)
    return call_compiled(tape, function, args, kwargs)


def call_method(tape: Tape, x: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    """Call ``x.name(*args, **kwargs)``, recorded on ``tape``."""
    kind = type(x)
    in_c = METHODS_IN_C.get(kind)
    if in_c is not None and name != "__class__":
        return in_c(tape, x, name, args, kwargs)
    if kind is type:
        method = _class_method(x, name)
        if method is not None:
            return known.functions[method](tape, *args, **kwargs)
    else:
        found = known.methods(name).get(kind)
        if found is not None and name not in getattr(x, "__dict__", ()):
            return known.functions[found](tape, x, *args, **kwargs)
    if name == "__class__" or isinstance(x, np.ndarray) and not hasattr(np.ndarray, name):
        return call(tape, get_attribute(tape, x, name), *args, **kwargs)  # not a method, or only a subclass's
    if isinstance(x, (np.ndarray, np.generic)):
        return array_method(tape, x, name, args, kwargs)
    if isinstance(x, np.ufunc):
        return ufunc_method(tape, x, name, args, kwargs)
    if is_exact(kind):
        return call_opaque(tape, getattr(x, name), args, kwargs)
    method = getattr(kind, name, None)
    if type(method) is FunctionType and name not in getattr(x, "__dict__", ()):
        plain = getattr(kind, "__getattribute__", None) is object.__getattribute__
        if plain and not isinstance(x, (type, types.ModuleType)) and not _is_static(kind, name):
            known.enter(name, kind, method)
            return call(tape, method, x, *args, **kwargs)
    return call(tape, get_attribute(tape, x, name), *args, **kwargs)


def _of_container(tape: Tape, x: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return container_method(tape, getattr(x, name), args, kwargs)


METHODS_IN_C: dict[type, Handler] = {
    **{kind: array_method if issubclass(kind, (np.ndarray, np.generic)) else number_method for kind in NUMBERS},
    **dict.fromkeys((list, dict, set, tuple, str), _of_container),
}
"""Handlers of the methods of built-in classes: ``handler(tape, x, name, args, kwargs)``."""


def _class_method(cls: type, name: str) -> Any:
    """Return ``cls.name`` if it is a Python function that needs no binding, else None."""
    raw = class_attribute(cls.__mro__, name)
    function = raw.__func__ if type(raw) is staticmethod else raw
    if type(function) is not FunctionType:
        return None
    return function


def _is_static(kind: type, name: str) -> bool:
    for cls in kind.__mro__:
        if name in cls.__dict__:
            return type(cls.__dict__[name]) is not FunctionType
    return True


def _call_python(tape: Tape, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if tape.observer is None and is_structured(function):
        y = call_compiled_form(tape, function, args, kwargs, _call_python)
        if y is not NOT_COMPILED:
            return y
    try:
        recorded = instrument(function)
    except InIntegers:
        return call_opaque(tape, function, args, kwargs)
    except NoSource:
        # Do not search for its source again in this run.
        if function in known.functions:
            known.functions.enter(function, lambda tape, /, *args, **kwargs: _call_unread(tape, function, args, kwargs))
        return _call_unread(tape, function, args, kwargs)
    if known.runs:
        # A function without a compiled form for this call is recorded in all later calls too; reverse mode may have one.
        found = (
            recorded if tape.tangents is None or not is_structured(function) else _in_forward_mode(function, recorded)
        )
        known.functions.settle(function, found, template_of(function).is_current)
    if is_raised():
        return recorded(tape, *args, **kwargs)
    raised = DeepRecursion()
    ending = [raised.end]
    try:
        raised.begin()
        return recorded(tape, *args, **kwargs)
    finally:
        try:
            undo(ending)
        except BaseException:
            undo(ending)
            raise


def _in_forward_mode(function: FunctionType, recorded: Handler) -> Handler:
    """Return the form of a function that is recorded on tapes of forward mode, and called as in general on others."""

    def call_in_mode(tape: Tape, /, *args: Any, **kwargs: Any) -> Any:
        return (
            recorded(tape, *args, **kwargs) if tape.tangents is not None else _call_python(tape, function, args, kwargs)
        )

    return call_in_mode


def _call_unread(tape: Tape, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if function.__name__ == "__init__" and args and dataclasses.is_dataclass(args[0]):
        return initialise_dataclass(tape, function, args, kwargs)
    return call_unread(tape, function, args, kwargs)


def _call_object(tape: Tape, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    recorded = getattr(type(x), "__morula_call__", None)
    if recorded is not None:
        return recorded(x, tape, *args, **kwargs)
    if type(x) is weakref.CallableProxyType:
        return call(tape, referent(x), *args, **kwargs)
    method = special(type(x), "__call__")
    if method is None:
        return call_opaque(tape, x, args, kwargs)
    return call(tape, method, x, *args, **kwargs)


def _call_bound(tape: Tape, function: Any, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a C method bound to ``x``; ``super()`` gives one that a Python class overrides."""
    kind = type(x)
    name = function.__name__
    if type(function) is types.MethodWrapperType:
        if name == "__get__" and kind in BOUND_BY_TYPE and not kwargs:
            return function(*args)
        if name == "__setattr__" and function.__objclass__ is object and not issubclass(kind, np.ndarray):
            return store_attribute(tape, x, *args)
    handler = HANDLERS.get(getattr(kind, name, None))
    if handler is not None:
        return handler(tape, x, *args, **kwargs)
    if isinstance(x, (np.ndarray, np.generic)):
        return array_method(tape, x, name, args, kwargs, overridden=True)
    if isinstance(x, (float, complex)) or kind in NUMBERS:
        return number_method(tape, plain_number(tape, x), name, args, kwargs)
    if isinstance(x, np.ufunc):
        return ufunc_method(tape, x, name, args, kwargs)
    if type(function) is types.MethodWrapperType:
        plainly_done = PAST_THE_CLASS.get((function.__objclass__, name))
        if plainly_done is not None:
            return plainly_done(tape, x, *args)
    if isinstance(x, dict) and name == "__getitem__":
        return entry_of(tape, x, *args)
    if isinstance(x, type) and name == "__call__":  # from the __call__ of a metaclass
        return make(tape, x, args, kwargs)
    if name == "__new__" and args and isinstance(x, type) and issubclass(x, (float, complex, np.inexact)):
        return number_subclass(tape, args[0], functools.partial(function, args[0]), args[1:], kwargs)
    if isinstance(x, type):
        run = call_opaque if is_foreign(x) else over_iterables
        return run(tape, function, args, kwargs)
    if isinstance(x, (np.flatiter, memoryview)) and name in ("__getitem__", "__setitem__"):
        return (getitem if name == "__getitem__" else setitem)(tape, x, *args)
    if kind is np.flatiter and name == "__next__":
        return next_entry(tape, x)
    if kind is np.flatiter and name in ("copy", "__array__"):
        return call(tape, np.array, x)
    if isinstance(x, CONTAINERS) or not is_foreign(kind):
        return container_method(tape, function, args, kwargs)
    return call_compiled(tape, function, args, kwargs)


def _get(tape: Tape, x: Any, instance: Any, owner: Any = None) -> Any:
    return property.__get__(x, instance, owner) if instance is None or x.fget is None else tape.call(x.fget, instance)


PROPERTY: dict[str, Handler] = {
    "__get__": _get,
    "__set__": lambda tape, x, instance, v: tape.call(x.fset, instance, v),
    "__delete__": lambda tape, x, instance: tape.call(x.fdel, instance),
}
"""The methods of a property, by name."""

PAST_THE_CLASS: dict[tuple[Any, str], Handler] = {
    (object, "__setattr__"): store_attribute,
    (object, "__getattribute__"): load_attribute,
    (object, "__delattr__"): remove_attribute,
    (type, "__setattr__"): store_attribute,
    (type, "__getattribute__"): lambda tape, cls, name: load_attribute(tape, cls, name, type.__getattribute__),
    **{(property, name): method for name, method in PROPERTY.items()},
}
"""Handlers of the attribute methods that ``super()`` reaches, by class and name."""


def _call_unbound(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call an unbound C method, as in ``float.__mul__(a, b)``, ``list.append(l, x)``, ``np.ndarray.sum(a)``."""
    x, *rest = args
    cls = function.__objclass__
    if cls is property and isinstance(x, property) and function.__name__ in PROPERTY and not kwargs:
        return PROPERTY[function.__name__](tape, *args)
    if issubclass(cls, (np.ndarray, np.generic)) and isinstance(x, (np.ndarray, np.generic)):
        return array_method(tape, x, function.__name__, tuple(rest), kwargs, overridden=True)
    if cls in (float, complex, int) and isinstance(x, cls) and is_operator(function.__name__):
        plain = [plain_number(tape, a) for a in args]
        if all(type(a) in NUMBERS for a in plain):
            return operator_method(tape, plain[0], function.__name__, tuple(plain[1:]))
    if issubclass(cls, CONTAINERS) or not is_foreign(cls):
        bound = function.__get__(x) if isinstance(x, cls) else functools.partial(function, x)
        return container_method(tape, bound, tuple(rest), kwargs) if isinstance(x, cls) else bound(*rest, **kwargs)
    return call_opaque(tape, function, args, kwargs)


def enter(tape: Tape, manager: Any) -> Any:
    """Return the context manager of a ``with`` statement, its methods recorded if they are Python."""
    if special(type(manager), "__enter__") is not None or type(manager).__exit__ in HANDLERS:
        return _Entered(tape, manager)
    return manager


class _Entered:
    def __init__(self, tape: Tape, manager: Any) -> None:
        self.tape, self.manager = tape, manager

    def __enter__(self) -> Any:
        return call(self.tape, special(type(self.manager), "__enter__") or type(self.manager).__enter__, self.manager)

    def __exit__(self, *exception: Any) -> Any:
        return call(
            self.tape, special(type(self.manager), "__exit__") or type(self.manager).__exit__, self.manager, *exception
        )


for _recorded, _function in OPERATORS.values():
    HANDLERS[_function] = _recorded
HANDLERS[type.__call__] = lambda tape, cls, *args, **kwargs: make(tape, cls, args, kwargs)
HANDLERS[abs] = HANDLERS[operator.abs]
HANDLERS[Int] = same_integer
connected.how = _how
connected.call_other = _call_other
connected.calls = {
    "call": call,
    "method": call_method,
    "enter": enter,
    "caller": caller,
    "method_caller": method_caller,
    "bound": bound,
}
