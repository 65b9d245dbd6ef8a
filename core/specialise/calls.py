"""Calls: Python functions are interpreted, classes instantiated, functions of NumPy looked up in ``traced``."""

from __future__ import annotations

import ast
import dis
import functools
import itertools
import operator
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import BadInput, MorulaError
from ..faults import kind_of
from ..ir.derived import Derived, Parent
from ..ir.traced_text import Text
from ..rules.connected import connected
from ..rules.registry import ADJOINTS, LOWERINGS, TANGENTS, key_of
from ..source.definitions import NoSource, describe
from . import surface
from .arguments import depends_on_traced, has_traced
from .as_numbers import with_floats
from .batch_rules import has_rule, trace_by_rule
from .builtin_functions import SPECIAL, like, python_type
from .callable_objects import caller_of
from .choices import distributed, distributed_call, distributed_items, has_choices, holds_choices, with_one_choice
from .constants import called_on_known
from .containers import CONTAINERS
from .contents import opened, read_by
from .driven import of_library
from .formatting import is_told
from .functions_of_subclasses import ELSEWHERE
from .instances import has_array, is_instance, is_of_python
from .iterators import advance, iterator_of, refuse_endless
from .lowerings import lowered
from .objects import LIBRARIES, TracedMethod
from .operators import OPERATORS
from .overrides import is_overridable, replaced
from .printed import of_stream
from .raising import Ended
from .range_in_python import Range
from .scopes import REFUSALS, Choice, Closure, Conflict, Scope, definition_of, local_names
from .sequences import sequence_of
from .surface.arguments import NUMBERS
from .surface.memory_order import method_named, note_call
from .suspended import has_yield, started
from .text_functions import at_run_time
from .text_methods import has_text, method as text_method
from .traced import ALWAYS, BY_RULE, EFFECTS, FUNCTIONS, Array, NeedsConcrete, Scalar, Storage, Traced
from .unfit_arguments import OF_TRACES, refuse_arguments, refuse_form

_CREATE = frozenset((np.zeros, np.ones, np.empty, np.full, np.zeros_like, np.ones_like, np.empty_like, np.full_like))
_BY_CONTENT = frozenset(
    (
        np.nonzero,
        np.flatnonzero,
        np.argwhere,
        np.unique,
        np.repeat,
        np.argsort,
        np.lexsort,
        np.searchsorted,
        np.bincount,
    )
    + (np.setdiff1d, np.intersect1d, np.union1d, np.setxor1d, np.isin)
)
"""Functions that give new arrays of places, or arrays whose lengths depend on the content of their arguments."""
_SETTLED = {*LIBRARIES, __name__.partition(".")[0]}
"""Packages whose functions are assumed never to be replaced."""

_DESCRIPTORS = (
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)
_STANDING_FOR = (SPECIAL, FUNCTIONS, TANGENTS, ADJOINTS, BY_RULE)
"""What is done in place of interpreting a library's function."""
_INTERPRETED = (types.FunctionType, types.MethodType, functools.partial, Closure)


_METHODS = (types.MethodType, types.BuiltinFunctionType)


class Calls:
    """The part of the interpreter that handles calls."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    def eval_Call(self, node: ast.Call) -> Any:
        if self.trace.may_choose and isinstance(node.func, ast.Attribute):
            owner, name = self.trace.expressions.expression(node.func.value), node.func.attr
            if type(owner) is Choice and self.trace.allows("may_grow"):  # each option has a method of its own
                args, kwargs = self.arguments(node)
                return distributed(
                    self.trace, owner, lambda o: self.call(self.trace.attribute(o, name), *args, **kwargs)
                )
            function = self.trace.attribute(owner, name)
        else:
            function = self.trace.expressions.expression(node.func)
        if function is super and not node.args:
            return self.super_()
        args, kwargs = self.arguments(node)
        self.trace.go_to(node)
        return self.call(function, *args, **kwargs)

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """Evaluate a call's arguments."""
        args = self.trace.expressions.elements(node.args)
        kwargs: dict[str, Any] = {}
        for k in node.keywords:
            if k.arg is None:
                more = self.trace.expressions.expression(k.value)
                self.trace.refuse_unknown_entries(more)
                kwargs.update(opened(self.trace, more))
            else:
                kwargs[k.arg] = self.trace.expressions.expression(k.value)
        return args, kwargs

    def super_(self) -> Any:
        scope = self.trace.scope
        root = scope
        while root.parent is not None:
            root = root.parent
        first = next(iter(root.vars.values()))
        if "__class__" not in root.cells:
            raise RuntimeError("super(): __class__ cell not found")
        cls = root.cells["__class__"].cell_contents
        return Parent(cls, first) if type(first) is Derived else super(cls, first)  # type: ignore[misc]

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call any function: interpret it, trace it, or call it at once."""
        self.trace.steps.take()
        if self.trace.part_frame is not None:
            found = self.trace.part_frame.call(self.trace, function, args, kwargs)
            if found is not NotImplemented:
                return found
        if self.trace.may_choose and not _takes_choices(function):
            args = tuple(with_one_choice(self.trace, x) for x in args)
        if self.trace.may_choose and not _takes_choices(function) and has_choices((function, *args, *kwargs.values())):
            return distributed_call(self.trace, function, args, kwargs)
        if has_rule(self.trace, function):
            return trace_by_rule(self.trace, function, args, kwargs)
        if LOWERINGS and (found := lowered(self.trace, function)) is not None:
            return found(*args, **kwargs)
        key = key_of(function)
        if key is not function:  # it has no hash that may be computed: in no table but two
            if key in ADJOINTS or key in TANGENTS:
                found = self.with_derivative(function, args, kwargs)
                if found is not NotImplemented:
                    return found
            method = type(function).__call__
            if isinstance(method, types.FunctionType):
                return self.call(method, function, *args, **kwargs)
            return self.trace.uninterpreted.call_real(function, args, kwargs)
        reads = type(function) in (type(np.sum), np.ufunc)  # those of ``operator`` may write into a list
        if self.trace.may_choose and reads and function in FUNCTIONS and any(map(holds_choices, args)):
            return distributed_items(self.trace, function, args, kwargs)
        if type(function) not in _INTERPRETED:
            found = self.trace.arrays.call(function, args, kwargs)
            if found is not ELSEWHERE:
                return found
        special = SPECIAL.get(function) or of_library(function)
        if self.trace.outside.has_containers and (special is not None or type(function) not in _INTERPRETED):
            function, args, kwargs = read_by(self.trace, function, args, kwargs, special is None)
        body = FUNCTIONS.get(function)
        if is_overridable(function):
            found = replaced(self.trace, function, args, kwargs)
            if found is not NotImplemented:
                return found
            if any(map(has_array, args)):
                args = tuple(self.call(np.asarray, x) if has_array(x) else x for x in args)
        if self.trace.level and function in TANGENTS:
            return connected.call_with_custom_tangent(self.trace, function, args, kwargs)
        if self.trace.level and function in ADJOINTS:
            return connected.call_with_adjoint(self.trace, function, args, kwargs)
        if self.trace.level and function in BY_RULE and (has_traced(args) or has_traced(kwargs)):
            since = next(Storage.count)
            found = connected.call_by_rule(self.trace, function, args, kwargs)
            if found is not NotImplemented:
                return note_call(found, since, function, args, kwargs)
        if special is not None:
            found = special(self.trace, *args, **kwargs)
            if found is not NotImplemented:
                return found
        found = self.trace.derived.call(function, args, kwargs) if type(function) not in _INTERPRETED else ELSEWHERE
        if found is not ELSEWHERE:
            return found
        if body is None and special is None and (has_traced(args) or has_traced(kwargs)):
            body = surface.find(function)
        if function in _BY_CONTENT and (has_traced(args) or has_traced(kwargs)):
            found = called_on_known(self.trace, function, args, kwargs)
            if found is not NotImplemented:
                return self.trace.uninterpreted.take_in(found)
        if body is not None and (function in _CREATE or function in EFFECTS or has_traced(args) or has_traced(kwargs)):
            if not self.trace.operators.overloaded(function, args):
                try:
                    since = next(Storage.count)
                    return note_call(body(self.trace, *args, **kwargs), since, function, args, kwargs)
                except TypeError as error:
                    refuse_form(function, error)
                    raise
        kind = type(function)
        if kind is types.FunctionType:
            return self.call_function(function, args, kwargs)
        if kind is Closure:
            return self.call_closure(function, args, kwargs)
        if kind in _METHODS:
            found = of_stream(self.trace, function, args)
            if found is not NotImplemented:
                return found
        if kind is types.MethodType:
            owner = self.trace.uninterpreted.generators.own(function.__self__)
            return self.call(function.__func__, owner, *args, **kwargs)
        if kind is TracedMethod:
            since, x = next(Storage.count), function.x
            if type(x) is Choice:  # the method of an array that is real or complex
                name = function.name
                return distributed(self.trace, x, lambda o: self.call(self.trace.attribute(o, name), *args, **kwargs))
            return note_call(
                function.body(self.trace, x, *args, **kwargs), since, method_named(function.name), (x, *args), kwargs
            )
        caller = caller_of(kind)
        if caller is not None:
            return caller(self.trace, function, args, kwargs)
        if isinstance(function, type):
            return self.trace.objects.construct(function, args, kwargs)
        if kind is types.BuiltinFunctionType and function in OPERATORS:
            return self.trace.operators.call(function, args)
        if kind is types.BuiltinFunctionType or kind is types.MethodWrapperType:
            owner = function.__self__
            if isinstance(owner, str) and function.__name__ not in ("format", "join") and has_text(args):
                return text_method(self.trace, owner, function.__name__, args, kwargs)
            if isinstance(owner, _DESCRIPTORS) and function.__name__ == "__get__" and isinstance(args[0], Traced):
                function(like(args[0]), *args[1:], **kwargs)  # raises what Python raises
                return self.trace.attribute(args[0], owner.__name__)
            if type(owner) is np.ndarray or isinstance(owner, NUMBERS) and has_traced(args):
                inside = self.from_outside(owner)
                if inside is not owner:  # an array of objects or texts stays what it is
                    return self.call(self.trace.attribute(inside, function.__name__), *args, **kwargs)
            converted = with_floats(self.trace, function, args)
            if converted is not args:
                return self.call(function, *converted, **kwargs)
            return self.trace.containers.call_builtin(function, args, kwargs)
        handler = function.__morula_trace__ if hasattr(kind, "__morula_trace__") else None
        if handler is not None:
            return handler(self.trace, *args, **kwargs)
        if kind in (types.MethodDescriptorType, types.WrapperDescriptorType) and args:
            if isinstance(args[0], CONTAINERS):
                return self.trace.containers.call_builtin(function.__get__(args[0]), args[1:], kwargs)
            x, owner = args[0], function.__objclass__
            if owner is str and isinstance(x, (str, Text)) and (function is str.join or any(map(is_told, args))):
                return self.method_of_string(function.__name__, x, args[1:], kwargs)
            if isinstance(x, NUMBERS) and isinstance(x, owner) and has_traced(args[1:]):
                x = self.from_outside(x)
            if isinstance(x, Traced) and function is object.__getattribute__:
                return self.trace.attribute(*args)
            if isinstance(x, Traced) and issubclass(python_type(x), owner):
                is_numpys = owner in (int, float, complex) and not x.type.weak
                x = self.call(owner, x) if is_numpys else x
                return self.call(self.trace.attribute(x, function.__name__), *args[1:], **kwargs)
        if function in (object.__setattr__, object.__delattr__) and is_instance(args[0]):
            if function is object.__setattr__ and self.trace.objects.set_by_descriptor(*args):
                return None
            self.trace.touch_attributes(args[0])
        implementation = function._implementation if type(function) is type(np.sum) else None
        if isinstance(implementation, types.FunctionType) and (has_traced(args) or has_traced(kwargs)):
            return self.call_function(implementation, args, kwargs, always=True)
        method = getattr(kind, "__call__", None)
        if not callable(function):
            if isinstance(function, (Traced, np.generic)):
                like(function)() if isinstance(function, Traced) else function()  # raises Python's own error
            raise TypeError(f"'{kind_of(function)}' object is not callable")
        if isinstance(method, types.FunctionType):
            is_library = kind.__module__.partition(".")[0] in LIBRARIES
            if not is_library or depends_on_traced((function, args, kwargs)):
                return self.call(method, function, *args, **kwargs)
        return self.trace.uninterpreted.call_real(function, args, kwargs)

    def with_derivative(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function without a hash that was given a derivative; NotImplemented outside of derivatives."""
        if self.trace.level and key_of(function) in TANGENTS:
            return connected.call_with_custom_tangent(self.trace, function, args, kwargs)
        if self.trace.level:
            return connected.call_with_adjoint(self.trace, function, args, kwargs)
        return NotImplemented

    def method_of_string(self, name: str, x: Any, args: Any, kwargs: Any) -> Any:
        """Call ``str.name`` of a string or a text, whatever methods its own class has."""
        x = str.__str__(x) if isinstance(x, str) else x
        if name.startswith("__"):
            return self.call(getattr(operator, name), x, *args)
        return self.call(self.trace.attribute(x, name), *args, **kwargs)

    def from_outside(self, x: Any) -> Any:
        """Return the program's value for the array or number of a bound method."""
        return (
            self.trace.outside.read(self.trace, [x], 0, x)
            if type(x) is np.ndarray
            else Scalar(self.trace.builder.constant(x))
        )

    # Python functions

    def call_function(self, function: Any, args: Any, kwargs: Any, always: bool = False) -> Any:
        if function in REFUSALS:
            return function(*args, **kwargs)
        module = function.__module__ or ""
        is_library = module.partition(".")[0] in LIBRARIES and not (
            module == "collections"
            and args
            and self.trace.outside.is_outside(args[0])  # the dicts of a ChainMap may change
        )
        if not always and is_library and not has_traced(args) and not has_traced(kwargs):
            if self.trace.outside.has_containers:
                function, args, kwargs = read_by(self.trace, function, args, kwargs, True)
            # Decorators of functools keep the program's functions as they are; but ``update_wrapper`` reads and sets their attributes.
            is_decorator = module == "functools" and function is not functools.update_wrapper
            depends = has_traced if is_decorator else depends_on_traced
            if not depends(args) and not depends(kwargs):
                return self.trace.uninterpreted.call_real(function, args, kwargs)
        if function in ALWAYS:
            return ALWAYS[function](self.trace, *args, **kwargs)
        if module.startswith(OF_TRACES) and not module.endswith("_in_python"):
            return function(*args, **kwargs)
        found = at_run_time(self.trace, function, args, kwargs)
        return self.interpret(function, args, kwargs) if found is NotImplemented else found

    def interpret(self, function: types.FunctionType, args: Any, kwargs: Any) -> Any:
        """Interpret a call of a function that has source."""
        try:
            node = definition_of(function)
        except NoSource as error:
            if has_traced(args) and _has_loop(function.__code__):  # Python would unroll it
                raise BadInput(str(error)) from None
            return self.trace.uninterpreted.call_real(function, args, kwargs)
        if isinstance(node, ast.AsyncFunctionDef):
            raise BadInput(
                f"{describe(function)} is an async function, which cannot be compiled, because compiled code cannot wait; "
                "compile the functions that it calls"
            )

        if (function.__module__ or "").partition(".")[0] not in _SETTLED:
            self.trace.outside.run(function)

        def run(args: Any, kwargs: Any) -> Any:
            scope = Scope(local_names(node), None, function, function.__qualname__)
            self.bind(scope, node, args, kwargs, function.__defaults__ or (), function.__kwdefaults__ or {}, function)
            return self.run_body(scope, node)

        try:
            return self.trace.recursive_calls.recursive(function, args, kwargs, run)
        except BadInput as error:
            error.through.append(function)
            raise

    def call_closure(self, function: Closure, args: Any, kwargs: Any) -> Any:

        def run(args: Any, kwargs: Any) -> Any:
            scope = Scope(local_names(function.node), function.scope, None, function.__name__)
            scope.callee = function
            self.bind(scope, function.node, args, kwargs, function.defaults, function.keyword_defaults, None)
            return self.run_body(scope, function.node)

        return self.trace.recursive_calls.recursive(function, args, kwargs, run)

    def run_body(self, scope: Scope, node: Any) -> Any:
        self.trace.new(scope.vars)
        self.trace.scopes.append(scope)
        line = scope.caller = self.trace.builder.line
        try:
            if isinstance(node, ast.Lambda):
                self.trace.go_to(node.body)
                return self.body_of_lambda(node)
            if any(map(has_yield, node.body)):
                return started(self.trace, node, scope)
            jump = (
                self.trace.statements.run(node.body)
                if self.trace.ways is not None
                else self.trace.statements.run_forking(node.body)
            )
        finally:
            self.trace.scopes.pop()
            self.trace.builder.line = line
        return None if jump is None else self.returned(jump)

    def body_of_lambda(self, node: ast.Lambda) -> Any:
        try:
            return self.trace.expressions.expression(node.body)
        except MorulaError as error:
            self.trace.statements.locate(error, node.body)
            raise

    def returned(self, jump: Any, otherwise: Any = None) -> Any:
        if jump.dead:
            raise Ended
        condition = jump.conditions.get("return", False)
        if condition is True or jump.covers and jump.conditions.keys() == {"return"}:
            return jump.value
        return self.trace.branch(self.trace.value(condition), lambda: jump.value, lambda: otherwise)

    def bind(self, scope: Scope, node: Any, args: Any, kwargs: Any, defaults: Any, by_name: Any, function: Any) -> None:
        """Bind a call's arguments to the parameters as Python does."""
        a = node.args
        parameters = [*a.posonlyargs, *a.args]
        names = [p.arg for p in parameters]
        given = dict(zip(names, args))
        if len(args) > len(names):
            if a.vararg is None:
                refuse_arguments(node, scope.qualname, args, kwargs)
            given[a.vararg.arg] = tuple(args[len(names) :])
        elif a.vararg is not None:
            given[a.vararg.arg] = ()
        rest = self.trace.new({})  # made here: what is removed from it later is no change of an earlier object
        allowed = {p.arg for p in (*a.args, *a.kwonlyargs)}
        for k, x in kwargs.items():
            if k in allowed:
                if k in given:
                    refuse_arguments(node, scope.qualname, args, kwargs)
                given[k] = x
            elif a.kwarg is not None:
                rest[k] = x
            else:
                refuse_arguments(node, scope.qualname, args, kwargs)
        if a.kwarg is not None:
            given[a.kwarg.arg] = rest
        for place, (p, x) in enumerate(zip(names[len(names) - len(defaults) :], defaults)):
            if p not in given:
                given[p] = (
                    x if function is None else self.trace.outside.read(self.trace, function.__defaults__, place, x)
                )
        for p, x in by_name.items():
            if p not in given:
                given[p] = x if function is None else self.trace.outside.read(self.trace, function.__kwdefaults__, p, x)
        if any(p not in given for p in (*names, *(k.arg for k in a.kwonlyargs))):
            refuse_arguments(node, scope.qualname, args, kwargs)
        scope.vars.update(given)

    # Operators and built-in functions

    def iterate(self, x: Any) -> Iterator[Any]:
        """Iterate over anything whose length is known while compiling."""
        if isinstance(x, (Choice, Conflict)):
            x.refuse()
        if isinstance(x, Scalar):
            raise TypeError("'float' object is not iterable")
        if isinstance(x, (Array, Range)):
            sequence = sequence_of(self.trace, x)
            if sequence is None:
                raise TypeError("iteration over a 0-d array")
            if not isinstance(sequence.length, (int, np.integer)):
                raise NeedsConcrete(self.trace.value(sequence.length), "the number of iterations")
            return (sequence.item(i) for i in range(int(sequence.length)))
        return self.drawn(iterator_of(self.trace, x))

    def drawn(self, iterator: Any) -> Iterator[Any]:
        """Yield the items of an iterator lazily."""
        for count in itertools.count():
            refuse_endless(iterator, count)
            try:
                item = advance(self.trace, iterator)
            except StopIteration:
                return
            yield item


def _has_loop(code: types.CodeType) -> bool:
    return any(i.opname == "FOR_ITER" or "JUMP_BACKWARD" in i.opname for i in dis.get_instructions(code))


def _takes_choices(function: Any) -> bool:
    """Whether a function is interpreted, so that its arguments may be choices: they are distributed inside of it.

    Distributed over its call, they would have it interpreted once for each combination of their options.
    """
    if type(function) is types.FunctionType:
        is_library = (function.__module__ or "").partition(".")[0] in LIBRARIES
        return not is_library or not any(function in table for table in _STANDING_FOR) and not surface.find(function)
    return type(function) in (Closure, types.MethodType) or isinstance(function, type) and is_of_python(function)
