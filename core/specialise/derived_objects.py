"""What the program does with objects of classes derived from numbers and texts (``derived``): attributes, methods, calls."""

from __future__ import annotations

import functools
import math
import types
from typing import Any

import numpy as np

from ..errors import BadInput
from ..ir.derived import BASES, Derived, Parent, as_key, derived_of, example, plain, real
from ..ir.traced_text import Text
from ..values.attributes import MISSING, bound_to, class_attribute, no_attribute
from .arguments import has_traced
from .functions_of_subclasses import ELSEWHERE
from .objects import TracedMethod
from .operators import OPERATORS, as_numpys
from .scopes import Late
from .surface import find
from .traced import FUNCTIONS, Scalar

_TEXTS = {"__repr__": repr, "__str__": str, "__format__": format}
_OF_C = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
_BUILTIN = (types.BuiltinFunctionType, types.MethodWrapperType)


class DerivedObjects:
    """The part of the interpreter that knows objects of classes derived from numbers and texts."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace
        self.exist = False

    def new(self, base: type, cls: type, *args: Any) -> Any:
        """``float.__new__(cls, x)``, or that of another base."""
        found = plain(self.trace.call(base, *args))
        if not has_traced(found):
            return self.trace.new(real(cls, found, {}))
        if any(vars(c).get("__slots__") for c in cls.__mro__):
            raise BadInput(
                f"a {cls.__name__} of a {base.__name__} that is not known while compiling cannot be compiled, since its class has slots; "
                f"keep its attributes in a __dict__"
            )
        self.exist = True
        return Derived(cls, found, self.trace.new({}))

    def known(self, x: Any) -> Derived:
        """Return a known object as one of the program, whose attributes can no longer be changed under its other names."""
        found = derived_of(x)
        self.trace.tied[id(x)] = (
            x,
            f"a {type(x).__name__} may be one of two, depending on a condition that is not known while compiling, so it cannot be "
            "changed; copy it first",
        )
        self.trace.new(found.held)
        return found

    def list_of(self, text: Text) -> Derived:
        """Return the list of texts that a text makes."""
        self.exist = True
        return Derived(list, text, {})

    # Attributes

    def attribute(self, x: Derived, name: str, mro: tuple[type, ...] | None = None) -> Any:
        """Return an attribute, of the classes after one for ``super``."""
        trace = self.trace
        if x.cls is list and hasattr(list, name):
            x.refuse()
        static = class_attribute(x.cls.__mro__ if mro is None else mro, name)
        if name == "__class__":
            return x.cls
        if mro is None and x.cls.__dictoffset__:
            if name == "__dict__":
                return x.held
            is_data = hasattr(type(static), "__set__") or hasattr(type(static), "__delete__")
            if name in x.held and not is_data:
                late = x.held[name]
                if isinstance(late, Late) and static is not MISSING:  # on one path, the class's attribute is found
                    absent = trace.value(late.absent)
                    return trace.branch(absent, lambda: self.of_class(x, name, static), lambda: late.x)
                return trace.expressions.settled(x.held, name, AttributeError, no_attribute(x.cls, name))
        if static is MISSING:
            lookup = class_attribute(x.cls.__mro__, "__getattr__")
            if mro is None and isinstance(lookup, types.FunctionType):
                return trace.calls.call_function(lookup, (x, name), {})
            raise AttributeError(
                no_attribute(x.cls, name) if mro is None else f"'super' object has no attribute '{name}'"
            )
        return self.of_class(x, name, static)

    def of_class(self, x: Derived, name: str, static: Any) -> Any:
        """Return what an attribute of the class gives for an object."""
        trace = self.trace
        if isinstance(static, types.FunctionType):
            return types.MethodType(static, x)
        if isinstance(static, property) and static.fget is not None:
            return trace.call(static.fget, x)
        if isinstance(static, (staticmethod, classmethod)):
            return static.__get__(None, x.cls)
        if isinstance(static, functools.cached_property):
            found = trace.call(static.func, x)
            trace.touch(x.held)
            x.held[name] = found
            return found
        getter = getattr(type(static), "__get__", None)
        if isinstance(getter, types.FunctionType):
            return trace.call(getter, static, x, x.cls)
        if name in _TEXTS and isinstance(static, _OF_C):
            return functools.partial(_TEXTS[name], x.plain)
        if name == "__init__":
            return _initialised
        if name == "__setattr__":
            return functools.partial(self.set_attribute, x)
        if isinstance(static, _OF_C):
            return trace.attribute(x.plain, name)
        if isinstance(static, property):
            raise AttributeError(f"property '{name}' of '{x.cls.__name__}' object has no getter")
        if getter is not None:
            x.refuse()
        return trace.objects.of_class(x.cls, name)

    def set_attribute(self, x: Derived, name: str, value: Any) -> None:
        """``object.__setattr__``."""
        static = class_attribute(x.cls.__mro__, name)
        if isinstance(static, property) and static.fset is not None:
            self.trace.call(static.fset, x, value)
            return
        setter = getattr(type(static), "__set__", None)
        if isinstance(setter, types.FunctionType):
            self.trace.call(setter, static, x, value)
            return
        if setter is not None or not x.cls.__dictoffset__:
            setattr(example(x), name, value)  # raises what Python raises
            x.refuse()
        self.trace.touch(x.held)
        x.held[name] = value

    # Calls

    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function that is not written in Python; ``ELSEWHERE`` if objects of derived classes make no difference to it."""
        kind = type(function)
        owner = bound_to(function) if kind in _BUILTIN else None
        if any(owner is base for base in BASES) and function.__name__ == "__new__" and has_traced(args):
            return self.new(owner, *args, **kwargs)
        if not self.exist or function in OPERATORS:
            return ELSEWHERE
        if kind in _OF_C and args and type(args[0]) is Derived and issubclass(args[0].cls, function.__objclass__):
            if function is object.__setattr__:
                return self.set_attribute(*args)
            if function is object.__getattribute__:
                return self.attribute(*args)
            if function.__name__ in _TEXTS:
                return self.trace.call(_TEXTS[function.__name__], *map(plain, args))
            return self.trace.call(function, *map(plain, args), **kwargs)
        if function is super and len(args) == 2 and type(args[1]) is Derived:
            return Parent(*args)
        if isinstance(owner, dict) and function.__name__ in ("get", "__getitem__", "__contains__") and args:
            key = as_key(args[0])
            return ELSEWHERE if key is args[0] else self.trace.call(function, key, *args[1:])
        is_method = kind is TracedMethod or isinstance(owner, str) and function.__name__ not in ("format", "join")
        if is_method or owner is math or function in FUNCTIONS or find(function) is not None:
            given = [*args, *kwargs.values()]
            found = [self.given(x, isinstance(function, np.ufunc)) for x in given]
            if any(x is not y for x, y in zip(given, found)):
                return self.trace.call(function, *found[: len(args)], **dict(zip(kwargs, found[len(args) :])))
        return ELSEWHERE

    def given(self, x: Any, is_strong: bool, depth: int = 4) -> Any:
        """Return an argument with numbers and texts in place of the objects; NumPy takes an object for a number of its own."""
        if type(x) is Derived and x.cls is not list:
            return as_numpys(self.trace, x.plain) if is_strong and isinstance(x.plain, Scalar) else x.plain
        if type(x) in (list, tuple) and depth:
            items: Any = x
            found = [self.given(e, False, depth - 1) for e in items]
            return x if all(a is b for a, b in zip(items, found)) else type(x)(found)
        return x


def _initialised() -> None:
    """``object.__init__``, bound."""
