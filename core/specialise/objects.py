"""Objects of classes written in Python: created, read and changed by the traced program."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
import types
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import BadInput
from ..faults import kind_of
from ..ir.derived import BASES, Derived, Parent
from ..ir.traced_text import Text
from ..source.definitions import describe
from ..values.array_classes import is_array_class, is_traced_array
from ..values.attributes import has_dict, no_attribute
from .arguments import depends_on_traced, has_traced
from .array_subclasses import is_of_numbers
from .builtin_functions import like, python_type, take_dict
from .choices import distributed
from .instances import Slots, is_instance, is_of_python
from .scopes import UNBOUND, Choice, Closure, Conflict, Late
from .text_methods import method
from .traced import ATTRIBUTES, METHODS, Array, Traced, current
from .unopened import LooksInto, Part

_BINDING = ("builtins", "types", "functools")
"""Modules of descriptors in C that only bind or read, or that are followed."""

LIBRARIES = frozenset(
    (
        "numpy",
        "scipy",
        "math",
        "cmath",
        "operator",
        "_operator",
        "functools",
        "itertools",
        "builtins",
        "copy",
        "collections",
        "importlib",
        "_frozen_importlib",
        "_frozen_importlib_external",
    )
)
"""Packages whose functions are called at once if no argument is traced."""


class TracedMethod:
    """A bound method of a traced number or array."""

    def __init__(self, body: Callable[..., Any], x: Traced, name: str) -> None:
        self.body = body
        self.x = x
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.body(current(), self.x, *args, **kwargs)


TracedMethod.__name__ = "builtin_function_or_method"  # for Python's messages


class Objects:
    """The part of the interpreter that creates objects and reads and sets their attributes."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    def construct(self, cls: type, args: Any, kwargs: Any) -> Any:
        own_call = type(cls).__call__ is not type.__call__  # a metaclass with its own way of creating objects
        is_error = issubclass(cls, BaseException) and isinstance(cls.__init__, types.FunctionType)
        is_error = is_error and isinstance(cls.__new__, types.BuiltinFunctionType)
        of_c = issubclass(cls, tuple) or issubclass(cls, BaseException) and not is_error
        holds_unknown = is_of_python(cls) and has_traced((args, kwargs))
        is_of_numpy = cls.__module__ == "numpy" and not is_array_class(cls)
        is_called_at_once = cls.__module__ == "builtins" or is_of_numpy and not holds_unknown
        if is_called_at_once or of_c or own_call:
            found = self.trace.uninterpreted.call_real(cls, args, kwargs)
            return self.trace.new(found) if isinstance(found, BaseException) else found
        new, init = cls.__new__, cls.__init__
        if is_error:
            made = cls.__new__(cls, *args, **kwargs)
            self.trace.new(made)
            if dataclasses.is_dataclass(cls) and _is_generated(init):
                self.fill_dataclass(made, cls, args, kwargs)
            else:
                self.trace.calls.call_function(init, (made, *args), kwargs)
            return made
        if isinstance(new, types.FunctionType):
            made = self.trace.calls.call_function(new, (cls, *args), kwargs)
            kind = python_type(made) if type(made) is Derived else type(made)
            if not issubclass(kind, cls):
                return made
            cls, init = kind, kind.__init__  # __new__ may choose a derived class
        elif new is object.__new__ or new is dict.__new__ and isinstance(init, types.FunctionType):
            made = new(cls)
        elif new is np.ndarray.__new__:
            made = self.trace.arrays.new(cls, *args, **kwargs)
        elif has_traced((args, kwargs)) and any(new is base.__new__ for base in BASES):
            made = self.trace.call(new, cls, *args, **kwargs)
        else:
            return self.trace.uninterpreted.call_real(cls, args, kwargs)
        if not is_traced_array(made) and type(made) is not Derived:  # it may be an older one, and is known already
            self.trace.new(made)
        if dataclasses.is_dataclass(cls) and _is_generated(init):
            self.fill_dataclass(made, cls, args, kwargs)
        elif isinstance(init, types.FunctionType):
            self.trace.calls.call_function(init, (made, *args), kwargs)
        return made

    def fill_dataclass(self, made: Any, cls: Any, args: Any, kwargs: Any) -> None:
        bound = inspect.signature(cls).bind(*args, **kwargs).arguments
        later = []
        for f in dataclasses.fields(cls):
            if f.name in bound:
                x = bound[f.name]
            elif f.default is not dataclasses.MISSING:
                x = f.default
            elif f.default_factory is not dataclasses.MISSING:
                x = self.trace.call(f.default_factory)
            else:
                continue
            self.fill_field(made, f.name, x)
        for name, kind in getattr(cls, "__annotations__", {}).items():
            if isinstance(kind, dataclasses.InitVar) and name in bound:
                later.append(bound[name])
        post = getattr(cls, "__post_init__", None)
        if isinstance(post, types.FunctionType):
            self.trace.calls.call_function(post, (made, *later), {})

    def fill_field(self, made: Any, name: str, x: Any) -> None:
        """Set a field as the ``__init__`` of a dataclass does, which passes by the ``__setattr__`` of a frozen one."""
        setter = type(made).__setattr__
        if isinstance(setter, types.FunctionType) and not made.__dataclass_params__.frozen:
            self.trace.calls.call_function(setter, (made, name, x), {})
        elif not self.set_by_descriptor(made, name, x):
            object.__setattr__(made, name, x)

    def set_by_descriptor(self, x: Any, name: str, value: Any) -> bool:
        """Set an attribute by a property, or by the ``__set__`` in Python of a descriptor; return whether there is one."""
        static = inspect.getattr_static(type(x), name, None)
        if isinstance(static, property) and static.fset is not None:
            self.trace.call(static.fset, x, value)
            return True
        descriptor = getattr(type(static), "__set__", None)
        if isinstance(descriptor, types.FunctionType):
            self.trace.call(descriptor, static, x, value)
            return True
        return False

    def of_function(self, x: Any) -> dict[str, Any] | None:
        """Return the attributes of a function from outside, which then are a dict from outside; None for others."""
        function = x.__func__ if type(x) is types.MethodType else x
        if type(function) is not types.FunctionType or id(function) in self.trace.made:
            return None
        self.trace.outside.note(function.__dict__)
        return function.__dict__

    def attributes_of(self, x: Any) -> dict[str, Any]:
        """``vars(x)``, which is outside if x is."""
        held = self.of_function(x)
        if held is not None:
            return held
        found = vars(x)
        return self.trace.outside.read(self.trace, [found], 0, found) if self.trace.outside.is_outside(x) else found

    def set_shape(self, x: Array, shape: Any) -> None:
        """Set an array's shape, if no condition or loop around can leave it as it was."""
        made = self.trace.call(self.trace.attribute(x, "reshape"), shape, copy=False)
        if made.type.shape == x.type.shape:
            return
        is_given = any(x is a for a in self.trace.given_arrays)
        if is_given or self.trace.resolved(x.region) is not self.trace.region:
            raise BadInput(
                "compiled code can only set the shape of an array that it has made on the same path; use reshape"
            )
        x.view, x.type = made.view, made.type

    def attribute(self, x: Any, name: str) -> Any:
        if type(x) is Choice:
            return distributed(self.trace, x, lambda o: self.attribute(o, name))
        if isinstance(x, Conflict):
            x.refuse()
        if type(x) is Part:
            raise LooksInto(x)
        if type(x) is Closure and name in x.named:
            return x.named[name]
        if type(x) is Derived:
            return self.trace.derived.attribute(x, name)
        if type(x) is Parent:
            return self.trace.derived.attribute(x.x, name, x.mro)
        if isinstance(x, Text):
            found = getattr("", name)  # raises what Python raises
            if not callable(found) or isinstance(found, type):
                return found
            return TracedMethod(lambda trace, x, *args, **kwargs: method(trace, x, name, args, kwargs), x, name)
        if isinstance(x, Traced):
            kind = python_type(x)
            is_traced = name in ATTRIBUTES or name in METHODS
            if not hasattr(kind, name) or not is_traced and not hasattr(like(x), name):
                raise AttributeError(no_attribute(kind, name))
            if name == "__class__":
                return kind
            if name in ATTRIBUTES:
                return ATTRIBUTES[name](self.trace, x)
            if name in METHODS:
                return TracedMethod(METHODS[name], x, name)
            if name in ("__doc__", "__module__"):
                return getattr(kind, name)
            raise BadInput(
                f".{name} of a {kind.__name__} cannot be compiled; use it outside of the compiled function, or in mo.callback"
            )
        x = self.trace.arrays.inside(x)
        if is_of_numbers(getattr(x, "__self__", x) if type(x) is super else x):
            found = self.trace.arrays.attribute(x, name)
            if found is not NotImplemented:
                return found
        if isinstance(x, (types.ModuleType, type)):
            if isinstance(x, type):
                return self.of_class(x, name)
            assigned = self.trace.outside.variables.value(self.trace, x.__dict__, name)
            if assigned is not UNBOUND:
                return assigned
            if name not in x.__dict__ and not hasattr(x, name):
                self.trace.outside.miss(self.trace, x.__dict__, name)
            found = getattr(x, name)
            if isinstance(x, types.ModuleType) and (x.__name__ or "").partition(".")[0] not in LIBRARIES:
                return self.trace.outside.read(self.trace, x.__dict__, name, found)
            return found
        own = self.of_function(x) if name == "__dict__" or not hasattr(type(x), name) else None
        if own is not None:
            if name == "__dict__":
                return own
            if name in own:
                found = self.trace.expressions.settled(own, name, AttributeError, no_attribute(python_type(x), name))
                return self.trace.outside.read(self.trace, own, name, found)
            self.trace.outside.miss(self.trace, own, name)
        if name == "__dict__":
            take_dict(self.trace, x)
            if self.trace.outside.is_outside(x):
                return self.attributes_of(x)
        held = x.__dict__ if has_dict(x) else None
        static = inspect.getattr_static(type(x), name, UNBOUND)
        getter = getattr(type(static), "__get__", None)
        is_own = isinstance(getter, types.FunctionType) and not isinstance(static, functools.cached_property)
        if is_own and not hasattr(type(static), "__morula_trace__"):
            is_data = hasattr(type(static), "__set__") or hasattr(type(static), "__delete__")
            if is_data or not isinstance(held, dict) or name not in held:
                return self.trace.call(getter, static, x, type(x))
        if isinstance(held, dict) and name in held:
            if not isinstance(static, property):
                late = held[name]
                if isinstance(late, Late) and isinstance(static, functools.cached_property):
                    return self.trace.branch(
                        self.trace.value(late.absent), lambda: self.cache(x, name, static), lambda: late.x
                    )
                if isinstance(late, Late) and static is not UNBOUND:  # on one path, the class's attribute is found
                    return self.trace.branch(
                        self.trace.value(late.absent), lambda: self.of_class(x, name), lambda: late.x
                    )
                found = self.trace.expressions.settled(held, name, AttributeError, no_attribute(type(x), name), x)
                return (
                    self.trace.outside.read(self.trace, held, name, found)
                    if self.trace.outside.is_outside(x)
                    else found
                )
        elif isinstance(static, types.MemberDescriptorType) and self.trace.outside.is_outside(x):
            if name not in Slots(x):
                self.trace.outside.miss(self.trace, Slots(x), name)
        elif isinstance(held, dict) and self.trace.outside.is_outside(x):
            self.trace.outside.miss(self.trace, held, name)  # guards that no attribute of the object hides the class's
        if isinstance(static, property) and static.fget is not None:
            return self.trace.call(static.fget, x)
        if isinstance(static, functools.cached_property):
            return self.cache(x, name, static)
        assigned = self.trace.outside.variables.of_class(self.trace, type(x), name)
        if assigned is not UNBOUND:
            return assigned
        if static is UNBOUND and not isinstance(x, super):
            lookup = getattr(type(x), "__getattr__", None)
            if isinstance(lookup, types.FunctionType):
                return self.trace.calls.call_function(lookup, (x, name), {})
        try:
            found = self.of_class(x, name)
        except TypeError as error:
            if getter is None or type(static).__module__ in _BINDING or not depends_on_traced((x,)):
                raise
            raise BadInput(
                f"the attribute {name} of a {kind_of(x)} is computed by code written in C, which cannot be compiled; read it outside of "
                f"the compiled function, or through mo.callback ({error})"
            ) from None
        if isinstance(x, tuple) and name in getattr(type(x), "_fields", ()) and self.trace.outside.is_outside(x):
            return self.trace.outside.read(self.trace, x, type(x)._fields.index(name), found)  # type: ignore[attr-defined]
        is_slot = isinstance(static, types.MemberDescriptorType) and self.trace.outside.is_outside(x)
        return self.trace.outside.read(self.trace, Slots(x), name, found) if is_slot else found

    def cache(self, x: Any, name: str, static: functools.cached_property[Any]) -> Any:
        found = self.trace.call(static.func, x)
        if id(x) in self.trace.made and not self.trace.outside.is_outside(x):
            self.trace.touch_attributes(x)
            x.__dict__[name] = found
        return found

    def of_class(self, x: Any, name: str) -> Any:
        """Return an attribute found through the class; data attributes are read from outside, like globals."""
        assigned = self.trace.outside.variables.of_class(self.trace, x, name) if isinstance(x, type) else UNBOUND
        if assigned is not UNBOUND:
            return assigned
        if is_instance(x) and isinstance(x.__dict__.get(name) if has_dict(x) else None, Late):
            found = getattr(type(x), name)
        else:
            found = getattr(x, name)
        for cls in (x if isinstance(x, type) else type(x)).__mro__:
            if name in cls.__dict__:
                raw = cls.__dict__[name]
                is_data = raw is found and not hasattr(type(raw), "__get__")
                if is_data and cls.__module__.partition(".")[0] not in LIBRARIES:
                    return self.trace.outside.read(self.trace, cls, name, found)
                break
        return found

    def set_attribute(self, x: Any, name: str, value: Any) -> None:
        if type(x) is Choice:
            return distributed(self.trace, x, lambda o: self.set_attribute(o, name, value))
        if type(x) is Closure and name in x.named:
            x.named[name] = value
            return
        if type(x) is Derived:
            setter = x.cls.__setattr__
            if isinstance(setter, types.FunctionType):
                self.trace.calls.call_function(setter, (x, name, value), {})
            else:
                self.trace.derived.set_attribute(x, name, value)
            return
        if isinstance(x, Traced):
            if name in ("real", "imag", "flat"):
                self.trace.call(operator.setitem, self.attribute(x, name), ..., value)
                return
            if name == "shape" and isinstance(x, Array):
                return self.set_shape(x, value)
            kind = python_type(x)
            module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
            if not hasattr(like(x), name):
                raise AttributeError(no_attribute(kind, name))
            raise BadInput(
                f"compiled code cannot set {name} of a {module}{kind.__name__}; make a new array or number instead"
            )
        if self.set_by_descriptor(x, name, value):
            return
        static = inspect.getattr_static(type(x), name, None)
        if isinstance(x, type):
            self.trace.outside.variables.set_of_class(self.trace, x, name, value)
            return
        if isinstance(x, types.ModuleType):
            if type(x) is types.ModuleType and x.__name__.partition(".")[0] not in LIBRARIES:
                self.trace.outside.variables.assign(self.trace, x.__dict__, name, value)
                return
            raise BadInput(
                f"compiled code cannot set {name} of {x.__name__}, a module of a library; store the value in an object that is an "
                "argument"
            )
        setter = type(x).__setattr__
        if isinstance(setter, types.FunctionType) and not dataclasses.is_dataclass(x):
            self.trace.calls.call_function(setter, (x, name, value), {})
            return
        if is_traced_array(x):
            self.trace.arrays.set_attribute(x, name, value)
            return
        if not is_instance(x) and not has_dict(x):
            if static is None:
                setattr(x, name, value)  # raises what Python raises
            if isinstance(x, defaultdict) and name == "default_factory" and self.trace.made_in(x) is self.trace.region:
                x.default_factory = value
                return
            raise BadInput(f"compiled code cannot set attributes of a {kind_of(x)}, which stores them in C")
        own = self.of_function(x)
        if own is None:
            self.trace.touch_attributes(x)
            setattr(x, name, value)
        elif static is None:
            self.trace.touch(own)
            own[name] = value
        else:
            raise BadInput(f"compiled code cannot set {name} of {describe(x)}, a function from outside")


def _is_generated(function: Any) -> bool:
    return function.__code__.co_filename.startswith("<") if isinstance(function, types.FunctionType) else False
