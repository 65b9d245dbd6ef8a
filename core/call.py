"""How a call is made while a tape records: by handler, by rule, or by recording the callee's own source."""

from __future__ import annotations

import dataclasses
import functools
import operator
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from .errors import NoDerivative
from .instrument import instrument
from .operate import NUMBERS, OPERATORS, PASSIVE, apply_rule, differentiable, evaluate, get_attribute, iterate, setitem
from .rules import find_rule
from .source import NoSource, describe
from .structured import compiled_for
from .tape import Cotangents, Int, Tape, owner

Handler = Callable[..., Any]

HANDLERS: dict[Any, Handler] = {}
"""Functions that are called as ``handler(tape, *args, **kwargs)``: operators, builtins, mutators, morula's own."""

CALLERS: dict[type, Handler] = {}
"""Callable objects of built-in classes, by class: ``caller(tape, object, *args)``."""

CONTAINER_MODULES = {"itertools", "_collections", "collections", "_heapq", "_bisect", "_functools", "_operator"}
CONTAINERS = (list, dict, set, tuple, frozenset, str, bytes, types.GeneratorType, np.flatiter)


def handles(*functions: Any) -> Callable[[Handler], Handler]:
    """Register a handler for some functions."""

    def register(handler: Handler) -> Handler:
        for function in functions:
            HANDLERS[function] = handler
        return handler

    return register


def call(tape: Tape, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)``, recorded on ``tape``."""
    try:
        handler = HANDLERS.get(function)
    except TypeError:  # an unhashable callable object
        return _call_object(tape, function, args, kwargs)
    if handler is not None:
        return handler(tape, *args, **kwargs)
    kind = type(function)
    if kind is FunctionType:
        rule = find_rule(function)
        if rule is not None:
            return _call_rule(tape, rule, args, kwargs)
        return _call_python(tape, function, args, kwargs)
    if kind is MethodType:
        return call(tape, function.__func__, function.__self__, *args, **kwargs)
    if isinstance(function, type):
        rule = find_rule(function)
        if rule is not None and args:
            return _call_rule(tape, rule, args, kwargs)
        return construct(tape, function, args, kwargs)
    rule = find_rule(function)
    if rule is not None:
        return _call_rule(tape, rule, args, kwargs)
    if kind is functools.partial:
        return call(tape, function.func, *function.args, *args, **{**function.keywords, **kwargs})
    if kind in CALLERS:
        return CALLERS[kind](tape, function, *args, **kwargs)
    if kind is functools._lru_cache_wrapper:
        return _call_cached(tape, function, args, kwargs)
    if kind is BuiltinFunctionType or kind is types.MethodWrapperType:
        bound = function.__self__
        if bound is not None and not isinstance(bound, (types.ModuleType, type)):
            return call_method(tape, bound, function.__name__, *args, **kwargs)
    elif kind is types.MethodDescriptorType or kind is types.WrapperDescriptorType:
        if function.__objclass__ is not type and args:
            return _call_unbound(tape, function, args, kwargs)
    implementation = getattr(function, "_implementation", None)
    if isinstance(implementation, FunctionType):
        return _call_python(tape, implementation, args, kwargs)
    if isinstance(getattr(kind, "__call__", None), FunctionType):
        return _call_object(tape, function, args, kwargs)
    return call_opaque(tape, function, args, kwargs)


def call_method(tape: Tape, x: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    """``x.name(*args, **kwargs)``, recorded on ``tape``."""
    kind = type(x)
    if isinstance(x, (np.ndarray, np.generic)):
        return _array_method(tape, x, name, args, kwargs)
    if kind in NUMBERS:
        return _number_method(tape, x, name, args, kwargs)
    if kind in (list, dict, set, tuple, str):
        return _container_method(tape, x, name, args, kwargs)
    if isinstance(x, np.ufunc):
        return _ufunc_method(tape, x, name, args, kwargs)
    method = getattr(kind, name, None)
    if type(method) is FunctionType and name not in getattr(x, "__dict__", ()):
        plain = getattr(kind, "__getattribute__", None) is object.__getattribute__
        if plain and not isinstance(x, (type, types.ModuleType)) and not _is_static(kind, name):
            return call(tape, method, x, *args, **kwargs)
    function = get_attribute(tape, x, name)
    if isinstance(function, BuiltinFunctionType | types.MethodWrapperType) and function.__self__ is x:
        return _container_method(tape, x, name, args, kwargs)
    return call(tape, function, *args, **kwargs)


def _is_static(kind: type, name: str) -> bool:
    for cls in kind.__mro__:
        if name in cls.__dict__:
            return type(cls.__dict__[name]) is not FunctionType
    return True


def _call_python(tape: Tape, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not kwargs:
        values = parameters(function, args)
        if values is not None:
            compiled = compiled_for(function, values)
            if compiled is not None:
                try:
                    y, saved = evaluate(tape.parent, compiled.forward, *values)
                    fits = compiled.fits(y)
                except Exception:
                    fits = False  # the recorded form raises it again, on the user's lines
                if fits:
                    if type(y) is int and any(type(x) is Int for x in values):
                        y = Int(y)
                    tape.records.append((_pull_compiled, y, compiled, saved, values))
                    return y
    try:
        recorded = instrument(function)
    except NoSource:
        if function.__name__ == "__init__" and args and dataclasses.is_dataclass(args[0]):
            return _initialise_dataclass(tape, function, args, kwargs)
        return call_opaque(tape, function, args, kwargs)
    return recorded(tape, *args, **kwargs)


def parameters(function: FunctionType, args: Sequence[Any]) -> tuple[Any, ...] | None:
    """The arguments of a call and the contents of the closure, or None if they do not fit one to one."""
    if function.__code__.co_argcount != len(args):
        return None
    if function.__closure__ is None:
        return tuple(args)
    try:
        return (*args, *(cell.cell_contents for cell in function.__closure__))
    except ValueError:  # a variable that is not assigned yet
        return None


def _pull_compiled(table: Cotangents, y: Any, compiled: Any, saved: Any, values: tuple[Any, ...]) -> None:
    dy = table.take(y)
    if dy is None:
        return
    gradients = iter(table.run(compiled.pull, saved, dy, y))
    for x, is_active in zip(values, compiled.active):
        if is_active:
            table.add(x, next(gradients))


def _call_object(tape: Tape, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    recorded = getattr(type(x), "__morula_call__", None)
    if recorded is not None:
        return recorded(x, tape, *args, **kwargs)
    method = getattr(type(x), "__call__", None)
    if not isinstance(method, FunctionType):
        return call_opaque(tape, x, args, kwargs)
    return call(tape, method, x, *args, **kwargs)


def _call_rule(tape: Tape, rule: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if any(isinstance(x, Iterator) for x in args):  # math.fsum and math.prod take any iterable
        args = tuple(list(iterate(tape, x)) if isinstance(x, Iterator) else x for x in args)
    for i, x in enumerate(args):
        if type(x) not in NUMBERS and not isinstance(x, (tuple, list)):
            overridden = _override(tape, rule.function, x, args, kwargs)
            if overridden is not NotImplemented:
                return overridden
            converted = _as_number(tape, rule.function, x)
            if converted is not x:
                return _call_rule(tape, rule, (*args[:i], converted, *args[i + 1 :]), kwargs)
    out = kwargs.get("out")
    where = kwargs.get("where", True) if isinstance(rule.function, np.ufunc) else True
    if out is None and where is True:
        if isinstance(rule.function, np.ufunc) and len(args) > rule.function.nin:
            kwargs = {**kwargs, "out": args[rule.function.nin]}
            return _call_rule(tape, rule, args[: rule.function.nin], kwargs)
        return apply_rule(tape, rule, args, kwargs)
    kept = {k: v for k, v in kwargs.items() if k not in ("out", "where" if where is not True else "out")}
    if isinstance(out, tuple):
        (out,) = out
    y = apply_rule(tape, rule, args, {k: v for k, v in kept.items() if k != "casting"})
    if where is not True:
        y = call(tape, np.where, where, y, 0.0 if out is None else out)
    if out is None:
        return y
    if not np.can_cast(np.result_type(y), out.dtype, kwargs.get("casting", "same_kind")):
        return rule.function(*args, **kwargs)  # raises what NumPy raises
    setitem(tape, out, ..., y)
    return out


def _override(tape: Tape, function: Any, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a class's own ``__array_ufunc__`` or ``__array_function__``, written in Python."""
    if isinstance(function, np.ufunc):
        own = getattr(type(x), "__array_ufunc__", None)
        if isinstance(own, FunctionType):
            return call(tape, own, x, function, "__call__", *args, **kwargs)
    elif type(function).__name__ == "_ArrayFunctionDispatcher":
        own = getattr(type(x), "__array_function__", None)
        if isinstance(own, FunctionType):
            return call(tape, own, x, function, (type(x),), args, kwargs)
    return NotImplemented


def _as_number(tape: Tape, function: Any, x: Any) -> Any:
    """What the conversions that C code makes implicitly (``__float__``, ``__array__``) give for an object."""
    names = ("__array__",) if isinstance(function, np.ufunc) or "numpy" in str(type(function)) else ()
    for name in (*names, "__float__", "__complex__"):
        own = getattr(type(x), name, None)
        if isinstance(own, FunctionType):
            return call(tape, own, x)
    return x


def _array_method(tape: Tape, x: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from .mutation import MUTATORS
    from .rules.methods import METHODS

    if name in MUTATORS and isinstance(x, np.ndarray):
        return MUTATORS[name](tape, x, *args, **kwargs)
    own = getattr(type(x), name, None)
    if isinstance(own, FunctionType):  # a method of a subclass written in Python
        return call(tape, own, x, *args, **kwargs)
    if name in OPERATOR_METHODS:
        return OPERATOR_METHODS[name](tape, x, *args)
    found = METHODS.get(name)
    if found is None or not differentiable(x) and not any(map(differentiable, args)):
        return call_opaque(tape, getattr(x, name), args, kwargs)
    function, adapt = found
    args, kwargs = adapt(x, *args, **kwargs) if adapt is not None else ((x, *args), kwargs)
    y = call(tape, function, *args, **kwargs)
    if isinstance(y, np.ndarray) and y is x and name in ("copy", "flatten"):
        return call(tape, np.copy, x)
    return y


def _number_method(tape: Tape, x: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if name == "conjugate" and type(x) is complex:
        return call(tape, np.conjugate, x)
    if name in OPERATOR_METHODS:
        return OPERATOR_METHODS[name](tape, x, *args)
    return getattr(x, name)(*args, **kwargs)


def _ufunc_method(tape: Tape, ufunc: np.ufunc, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    from .mutation import add_at
    from .rules.methods import UFUNC_METHODS

    if name == "at" and ufunc in (np.add, np.subtract):
        return add_at(tape, ufunc, *args)
    function = UFUNC_METHODS.get((ufunc, name))
    if function is None:
        return call_opaque(tape, getattr(ufunc, name), args, kwargs)
    if name in ("reduce", "accumulate") and len(args) == 1 and "axis" not in kwargs:
        kwargs = {**kwargs, "axis": 0}
    return call(tape, function, *args, **kwargs)


def _container_method(tape: Tape, x: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A method of a built-in container or iterator: it moves references, and what it is given is iterated here."""
    if "key" in kwargs and kwargs["key"] is not None:
        kwargs = {**kwargs, "key": functools.partial(call, tape, kwargs["key"])}
    if name in ("extend", "update", "union", "intersection", "extendleft", "__init__", "fromkeys"):
        args = tuple(iterate(tape, a) for a in args)
    return getattr(x, name)(*args, **kwargs)


def _call_unbound(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``float.__mul__(a, b)``, ``list.append(l, x)``, ``np.ndarray.sum(a)``."""
    x, *rest = args
    cls = function.__objclass__
    if issubclass(cls, (np.ndarray, np.generic)) and type(x) in (np.ndarray, *NUMBERS):
        return _array_method(tape, x, function.__name__, tuple(rest), kwargs)
    if cls in (float, complex, int) and function.__name__ in OPERATOR_METHODS:
        plain = [cls(a) if type(a) is not cls and isinstance(a, cls) and type(a) not in NUMBERS else a for a in args]
        if all(type(a) in NUMBERS for a in plain):
            return OPERATOR_METHODS[function.__name__](tape, *plain)
    if function.__name__ in ("__init__", "extend", "update"):
        rest = [iterate(tape, a) for a in rest]
    if issubclass(cls, CONTAINERS) or cls is object or issubclass(cls, BaseException) or cls.__module__ == "builtins":
        return function(x, *rest, **kwargs)
    return call_opaque(tape, function, args, kwargs)


def _call_cached(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``functools.lru_cache``: a cache for this tape, as a value kept from elsewhere has lost its derivative."""
    cache = tape.memory.setdefault(id(function), {})
    key = (args, tuple(sorted(kwargs.items())))
    if key not in cache:
        cache[key] = call(tape, function.__wrapped__, *args, **kwargs)
    return cache[key]


def construct(tape: Tape, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make an instance of a class, its ``__new__`` and ``__init__`` recorded."""
    meta_call = getattr(type(cls), "__call__", None)
    if isinstance(meta_call, FunctionType) and type(cls).__module__ != "enum":
        return call(tape, meta_call, cls, *args, **kwargs)
    recorded = getattr(cls, "__morula_construct__", None)
    if recorded is not None:
        return recorded(tape, *args, **kwargs)
    new, init = cls.__new__, cls.__init__
    if not isinstance(new, FunctionType) and not isinstance(init, FunctionType):
        if issubclass(cls, CONTAINERS) or cls.__module__ in CONTAINER_MODULES or cls.__module__ == "builtins":
            return _construct_container(tape, cls, args, kwargs)
        if cls.__flags__ & (1 << 9):  # a class statement made it
            return _number_subclass(tape, cls, cls(*args, **kwargs), args)
        return call_opaque(tape, cls, args, kwargs)
    if isinstance(new, FunctionType):
        x = call(tape, new, cls, *args, **kwargs)
    elif new is object.__new__:
        x = new(cls)
    else:
        x = _number_subclass(tape, cls, new(cls, *args, **kwargs), args)
    if isinstance(x, cls):
        if isinstance(init, FunctionType):
            call(tape, type(x).__init__, x, *args, **kwargs)
        elif init is not object.__init__:
            type(x).__init__(x, *(iterate(tape, a) for a in args), **kwargs)
    return x


def _number_subclass(tape: Tape, cls: type, x: Any, args: tuple[Any, ...]) -> Any:
    """A new object of a class derived from ``float`` or ``complex`` carries on the value that it was made from."""
    if issubclass(cls, (float, complex)) and args and differentiable(args[0]):
        tape.records.append((_pass_on, x, args[0]))
    return x


def _pass_on(table: Cotangents, y: Any, x: Any) -> None:
    table.add(x, table.take(y))


def _construct_container(tape: Tape, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A built-in container or iterator, over arguments whose entries are on the tape and functions that record."""
    inside = [recording(tape, a) if _is_python_callable(a) else iterate(tape, a) for a in args]
    named = {k: recording(tape, v) if _is_python_callable(v) else v for k, v in kwargs.items()}
    return cls(*inside, **named)


def recording(tape: Tape, function: Any) -> Any:
    """``function`` for a caller written in C: calling it records on ``tape``."""
    return functools.partial(call, tape, function)


def _is_python_callable(x: Any) -> bool:
    return isinstance(x, (FunctionType, MethodType, functools.partial)) or x in (operator.add, operator.mul)


def _initialise_dataclass(tape: Tape, init: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The ``__init__`` that ``@dataclass`` made: it stores its arguments, then calls ``__post_init__``."""
    x = args[0]
    after = getattr(type(x), "__post_init__", None)
    if not isinstance(after, FunctionType):
        init(*args, **kwargs)
        return
    passed: list[Any] = []
    # The generated code is run on a stand-in class whose __post_init__ only collects its arguments.
    stand_in = type("stand_in", (), {"__post_init__": lambda self, *init_only: passed.extend(init_only)})
    blank = stand_in()
    init.__get__(blank)(*args[1:], **kwargs)
    for name, value in blank.__dict__.items():
        object.__setattr__(x, name, value)
    call(tape, after, x, *passed)


def call_opaque(tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function without rule or source: it is run, and a cotangent that reaches its result is an error."""
    moves = getattr(function, "__module__", None) in CONTAINER_MODULES or isinstance(
        getattr(function, "__self__", None), CONTAINERS
    )
    if moves:
        return _construct_container(tape, function, args, kwargs)
    inside = [recording(tape, a) if type(a) in (FunctionType, MethodType) else a for a in args]
    named = {k: recording(tape, v) if type(v) in (FunctionType, MethodType) else v for k, v in kwargs.items()}
    y = evaluate(tape.parent, function, *inside, **named)
    inputs = [*args, *kwargs.values()]
    if _may_carry(y) and any(map(_may_carry, inputs)) and not any(y is a for a in inputs):
        shared = [a for a in inputs if isinstance(a, np.ndarray)]
        if not (isinstance(y, np.ndarray) and any(owner(a) is owner(y) for a in shared)):
            tape.records.append((_no_derivative, y, function, user_frame()))
    return y


def _may_carry(x: Any) -> bool:
    if isinstance(x, (tuple, list)):
        return any(map(_may_carry, x))
    return type(x) not in PASSIVE and differentiable(x)


def _no_derivative(table: Cotangents, y: Any, function: Any, where: str) -> None:
    dy = table.take(y)
    parts = dy if isinstance(dy, list) else [dy]
    if any(p is not None and np.any(p != 0) for p in parts):
        name = describe(function)
        raise NoDerivative(
            f"{name}, called at {where}, has no derivative rule and no Python source to differentiate, and its result "
            "influences the output. Give it a derivative:\n"
            f"    @morula.adjoint({getattr(function, '__name__', 'f')})\n"
            "    def _(*args):\n"
            f"        return {getattr(function, '__name__', 'f')}(*args), lambda dy: ...  "
            "# one cotangent per argument\n"
            "or wrap the argument in morula.stop_gradient if no derivative should pass."
        )


def user_frame() -> str:
    """File and line of the innermost frame that is not morula's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(__package__):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def enter(tape: Tape, manager: Any) -> Any:
    """The context manager of a ``with`` statement, its methods recorded if they are Python."""
    if isinstance(getattr(type(manager), "__enter__", None), FunctionType):
        return _Entered(tape, manager)
    return manager


class _Entered:
    def __init__(self, tape: Tape, manager: Any) -> None:
        self.tape, self.manager = tape, manager

    def __enter__(self) -> Any:
        return call(self.tape, type(self.manager).__enter__, self.manager)

    def __exit__(self, *exception: Any) -> Any:
        return call(self.tape, type(self.manager).__exit__, self.manager, *exception)


OPERATOR_METHODS: dict[str, Handler] = {}
for _name, (_recorded, _function) in OPERATORS.items():
    HANDLERS[_function] = _recorded
    OPERATOR_METHODS[f"__{_name.strip('_')}__"] = _recorded
    OPERATOR_METHODS.setdefault(f"__r{_name.strip('_')}__", lambda tape, a, b, op=_recorded: op(tape, b, a))
HANDLERS[abs] = HANDLERS[operator.abs]
HANDLERS[Int] = lambda tape, x: Int(x)
