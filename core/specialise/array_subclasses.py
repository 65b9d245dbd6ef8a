"""Arrays of classes derived from ``ndarray``, as NumPy treats them.

Such an array is an object of its class (``values.array_classes``) with a plain traced array.  What the class overrides in Python
is interpreted; an inherited method or a function of NumPy is applied to the plain arrays, and its result gets the class that NumPy
gives it, which calls ``__array_finalize__`` and ``__array_wrap__``.
"""

from __future__ import annotations

import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import BadInput
from ..values.array_classes import ARRAY, array_in, is_inherited, is_subclass_array, is_traced_array, put
from ..values.attributes import bound_to
from ..values.holders import blank
from ..values.items import items_of
from . import classes_of_results, ufunc_protocol
from .arguments import type_of_argument
from .array_methods_in_python import METHODS as IN_PYTHON
from .classes_of_results import reached
from .functions_of_subclasses import ELSEWHERE, OWN
from .overrides import is_overridable, normalised, overrides, replaced, ufunc_of
from .surface import find
from .surface.arguments import is_number
from .surface.operators import UFUNCS
from .surface.shapes import reshape
from .traced import ATTRIBUTES, FUNCTIONS, METHODS, Array, NeedsConcrete, Storage, Traced

_BINARY = {
    f"__{name}__": getattr(operator, name if name not in ("and", "or") else f"{name}_")
    for name in "add sub mul truediv floordiv mod pow and or xor lshift rshift lt le gt ge eq ne".split()
}
OPERATOR_UFUNCS: dict[str, Any] = {name: UFUNCS[function] for name, function in _BINARY.items()}
OPERATOR_UFUNCS |= {"__matmul__": np.matmul, "__divmod__": np.divmod}
OPERATOR_UFUNCS |= {
    f"__r{name[2:]}": ufunc
    for name, ufunc in OPERATOR_UFUNCS.items()
    if name[2:4] not in ("lt", "le", "gt", "ge", "eq", "ne")
}
OPERATOR_UFUNCS |= {
    f"__i{name[2:]}": ufunc for name, ufunc in OPERATOR_UFUNCS.items() if f"__i{name[2:]}" in dir(np.ndarray)
}
OPERATOR_UFUNCS |= {"__neg__": np.negative, "__pos__": np.positive, "__abs__": np.absolute, "__invert__": np.invert}
"""The ufuncs that the operators of arrays call, by the name of the special method."""

_OF_OBJECTS = frozenset(
    "__setattr__ __delattr__ __getattribute__ __init__ __init_subclass__ __dir__ __sizeof__ __subclasshook__ __format__ __str__ __repr__ "
    "__reduce__ __reduce_ex__ __class_getitem__ __hash__".split()
)
"""Methods that NumPy does not define, or that describe the object."""

_AS_IT_IS = frozenset(
    (
        "__getitem__",
        "item",
        "tolist",
        "__len__",
        "__bool__",
        "__float__",
        "__int__",
        "__complex__",
        "__index__",
        "__contains__",
    )
)
_VIEWS = frozenset(("T", "mT", "real", "imag"))


def _is_complex(name: str, array: Array) -> bool:
    """Whether a method rounds the real and the imaginary parts, which are plain arrays."""
    return name == "round" and array.type.dtype.kind == "c"


def is_of_numbers(x: Any) -> bool:
    """Whether x is an array of a class, of a dtype that compiled code has."""
    return is_subclass_array(x) and (is_traced_array(x) or type_of_argument(array_in(x)) is not None)


def _is_numpys(function: Any, owner: Any) -> bool:
    """Whether a method in C that is bound to an array is that of ``ndarray``, or of ``object``."""
    held = [vars(base)[function.__name__] for base in (np.ndarray, object) if function.__name__ in vars(base)]
    return any(hasattr(type(method), "__get__") and method.__get__(owner) == function for method in held)


class ArraySubclasses:
    """The part of the interpreter that knows arrays of classes derived from ``ndarray``."""

    def __init__(self, trace: Any) -> None:
        self.trace = trace

    # Objects

    def made(self, cls: type, array: Array, origin: Any) -> Any:
        """Return a new object of a class with a plain array; ``origin``: what ``__array_finalize__`` is given."""
        if cls is np.ndarray:
            return array
        x = blank(cls)
        put(x, ARRAY, array)
        self.trace.new(x)
        if not is_inherited(cls, "__array_finalize__") and getattr(cls, "__array_finalize__") is not None:  # noqa: B009
            self.trace.call(self.trace.attribute(x, "__array_finalize__"), origin)
        return x

    def plain(self, x: Any) -> Any:
        """Return an argument with plain arrays in place of the objects, at any depth of lists and tuples."""
        if is_of_numbers(x):
            return array_in(self.inside(x))
        if isinstance(x, (list, tuple)) and self.has_object(x):
            items = [self.plain(e) for e in items_of(x)]
            return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)
        if isinstance(x, slice) and any(map(self.has_object, (x.start, x.stop, x.step))):
            return slice(*map(self.plain, (x.start, x.stop, x.step)))
        return x

    def inside(self, x: Any) -> Any:
        """Return the program's object for an array of a class; one from outside becomes an input."""
        if is_subclass_array(x) and not is_traced_array(x):
            return self.trace.outside.read(self.trace, [x], 0, x)
        return x

    def has_object(self, x: Any, depth: int = 4) -> bool:
        """Whether an argument is or contains an array of a class; only its own type is asked: a weak proxy may be dead."""
        if is_subclass_array(x):
            return is_of_numbers(x)
        if issubclass(type(x), (list, tuple)):
            return depth > 0 and any(self.has_object(e, depth - 1) for e in items_of(x))
        return type(x) is slice and any(map(is_of_numbers, (x.start, x.stop, x.step)))

    def as_array(self, x: Any) -> Array:
        """Return a result as an array: a number as one of no dimensions."""
        return x if isinstance(x, Array) else Array(Storage(self.trace.value(x)))

    # Calls

    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function that is not written in Python; ``ELSEWHERE`` if that is no matter of arrays of classes."""
        kind = type(function)
        owner = bound_to(function) if kind in (types.BuiltinFunctionType, types.MethodWrapperType) else None
        if is_of_numbers(owner):
            if not _is_numpys(function, owner):
                return ELSEWHERE
            return self.inherited(self.inside(owner), function.__name__, args, kwargs)
        if owner is np.ndarray and function.__name__ == "__new__":
            return self.new(*args, **kwargs)
        if not any(map(self.has_object, args)) and not any(map(self.has_object, kwargs.values())):
            return ELSEWHERE
        args = tuple(map(self.inside, args))
        kwargs = {k: self.inside(x) for k, x in kwargs.items()}
        if kind in (types.MethodDescriptorType, types.WrapperDescriptorType) and is_of_numbers(args[0]):
            if function.__objclass__ not in (np.ndarray, object):
                return ELSEWHERE
            return self.inherited(args[0], function.__name__, args[1:], kwargs)
        if is_overridable(function):
            found = replaced(self.trace, function, args, kwargs)
            if found is not NotImplemented:
                return found
            ufunc = ufunc_of(function)
            if ufunc is None:
                return self.of_function(function, args, kwargs)
            return ufunc_protocol.apply(self, *ufunc, *normalised(*ufunc, args, kwargs))
        body = OWN.get(function)
        if body is not None:
            return body(self, *args, **kwargs)
        return self.on_plain(function, args, kwargs) if self.takes_memory(function, args) else ELSEWHERE

    def takes_memory(self, function: Any, args: Any) -> bool:
        """Whether a function reads the memory of its arguments, whatever their classes."""
        if isinstance(function, type):
            return issubclass(function, np.generic)
        package = (getattr(function, "__module__", None) or "").partition(".")[0]
        if package in ("math", "cmath"):
            return all(is_inherited(type(x), "__float__") for x in args if is_subclass_array(x))
        return package in ("numpy", "scipy") and (function in FUNCTIONS or find(function) is not None)

    def on_plain(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function with plain arrays in place of the objects."""
        return self.trace.call(function, *map(self.plain, args), **{k: self.plain(x) for k, x in kwargs.items()})

    def of_function(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function of NumPy past its overrides: by its source, which may call methods of the classes, or in C."""
        implementation = function._implementation
        objects = [x for x in classes_of_results.flattened((args, kwargs)) if is_subclass_array(x)]
        if isinstance(implementation, types.FunctionType) and any(reached(type(x)) for x in objects):
            return self.by_source(function, args, kwargs)
        found = self.on_plain(function, args, kwargs)
        return classes_of_results.classified(self, found, implementation, args, kwargs)

    def by_source(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Interpret NumPy's source of a function; if that is refused, and no override is reached, apply it to plain arrays."""
        trace, implementation = self.trace, function._implementation

        def run(_: Any = None) -> Any:
            return trace.calls.call_function(implementation, args, kwargs, always=True)

        if function not in FUNCTIONS or trace.may_fork:
            return run()
        try:
            region = trace.run_region(run)
        except NeedsConcrete:
            raise
        except BadInput as error:
            if not classes_of_results.is_free_of_overrides(self, implementation, args, kwargs):
                raise error
        else:
            trace.commit(region)
            return region.result
        found = self.on_plain(function, args, kwargs)
        return classes_of_results.classified(self, found, implementation, args, kwargs)

    def new(self, cls: type, shape: Any, dtype: Any = float, buffer: Any = None, offset: Any = 0, strides: Any = None, order: Any = None) -> Any:  # fmt: skip
        """``ndarray.__new__``."""
        trace = self.trace
        if buffer is None:
            return self.made(cls, self.as_array(trace.call(np.empty, shape, dtype)), None)
        whole = self.plain(buffer)
        whole = trace.call(np.asarray, whole) if isinstance(whole, np.ndarray) else whole
        if (
            not isinstance(whole, Array)
            or offset
            or strides is not None
            or order not in (None, "C")
            or np.dtype(dtype) != whole.type.dtype
        ):
            raise BadInput(
                "ndarray.__new__ with this buffer, or with offset, strides or order, cannot be compiled; use np.reshape and .view(cls)"
            )
        lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
        flat = reshape(trace, whole, -1, copy=False)
        size = int(np.prod([int(trace.concrete(n, "a length")) for n in lengths]))
        if size > trace.concrete(flat.shape[0], "the length of an array"):
            raise TypeError("buffer is too small for requested array")
        return self.made(
            cls, reshape(trace, trace.call(operator.getitem, flat, slice(0, size)), tuple(lengths), copy=False), None
        )

    # Inherited methods and attributes

    def inherited(self, x: Any, name: str, args: Any, kwargs: Any) -> Any:
        """Call a method that a class inherits from ``ndarray``."""
        trace = self.trace
        special = _METHODS.get(name)
        if special is not None:
            return special(self, x, *args, **kwargs)
        if name in OPERATOR_UFUNCS:
            return self.operator(x, name, args)
        if name in _OF_OBJECTS:
            return self.of_object(x, name, args, kwargs)
        if name in IN_PYTHON and reached(type(x)) and not _is_complex(name, array_in(x)):
            return trace.calls.interpret(IN_PYTHON[name], (x, *args), kwargs)
        array = array_in(x)
        body = METHODS.get(name)
        if body is None:
            trace.attribute(array, name)  # raises
        found = trace.call(
            trace.attribute(array, name), *map(self.plain, args), **{k: self.plain(e) for k, e in kwargs.items()}
        )
        if name == "__getitem__":
            return self.made(type(x), found, x) if isinstance(found, Array) else found
        if found is None or name in _AS_IT_IS:
            return found
        return classes_of_results.classified(self, found, getattr(np.ndarray, name), (x, *args), kwargs)

    def operator(self, x: Any, name: str, args: Any) -> Any:
        """Apply an operator of ``ndarray``; NotImplemented if it leaves it to the class of the other operand."""
        ufunc = OPERATOR_UFUNCS[name]
        if args and ufunc_protocol.defers(self.trace, x, args[0], name):
            return NotImplemented
        if not args:
            return self.trace.call(ufunc, x)
        if (
            name in ("__pow__", "__ipow__")
            and is_number(args[0])
            and not isinstance(args[0], Traced)
            and reached(type(x))
        ):
            faster = ufunc_protocol.of_power(x, args[0])
            if faster is not None:
                return self.trace.call(faster, x, **({"out": (x,)} if name == "__ipow__" else {}))
        if name[2] == "i" and name != "__invert__":
            return self.trace.call(ufunc, x, args[0], out=(x,))
        reflected = f"__{name[3:]}" in OPERATOR_UFUNCS and name[2] == "r" and name != "__rshift__"
        return self.trace.call(ufunc, *((args[0], x) if reflected else (x, args[0])))

    def of_object(self, x: Any, name: str, args: Any, kwargs: Any) -> Any:
        if name == "__setattr__":
            return self.set_attribute(x, *args)
        if name == "__delattr__":
            self.trace.touch(x)
            return object.__delattr__(x, *args)
        if name == "__getattribute__":
            return self.trace.attribute(x, *args)
        if name in ("__init__", "__init_subclass__"):
            return None
        raise BadInput(
            f"{name} of a {type(x).__name__}, an array that is not known while compiling, cannot be compiled; use mo.callback"
        )

    def static(self, x: Any, name: str) -> Any:
        """Return what the classes of an array, or those after a class for ``super``, define under a name."""
        if isinstance(x, super):
            mro = type(x.__self__).__mro__  # type: ignore[attr-defined]
            bases = mro[mro.index(x.__thisclass__) + 1 :]  # type: ignore[attr-defined]
        else:
            bases = type(x).__mro__
        return next((vars(base)[name] for base in bases if name in vars(base)), None)

    def attribute(self, x: Any, name: str) -> Any:
        """Return an attribute that ``ndarray`` defines as data, such as ``shape``; NotImplemented for all others."""
        static = self.static(x, name)
        if isinstance(x, super):
            x = self.inside(x.__self__)  # type: ignore[attr-defined]
            if isinstance(static, property) and static.fget is not None:
                return self.trace.call(static.fget, x)
        if not isinstance(static, types.GetSetDescriptorType) or static.__objclass__ is not np.ndarray:
            return NotImplemented
        array = array_in(x)
        if name not in ATTRIBUTES:
            return self.trace.attribute(array, name)
        found = ATTRIBUTES[name](self.trace, array)
        if name in _VIEWS and isinstance(found, Array):
            return x if found is array and name == "real" else self.made(type(x), found, x)
        return found

    def own(self, x: Any, name: str) -> Any:
        """Return the method that the class of an array defines itself, bound to the array; None if ``ndarray`` does."""
        return self.trace.attribute(x, name) if is_subclass_array(x) and not is_inherited(type(x), name) else None

    def set_attribute(self, x: Any, name: str, value: Any) -> None:
        """Set an attribute past the methods of the class."""
        static = self.static(x, name)
        if isinstance(static, types.GetSetDescriptorType):
            if name == "shape":
                array = reshape(self.trace, array_in(x), value, copy=False)
                if array.type.shape == array_in(x).type.shape:
                    return None
                self.trace.touch(x)
                return put(x, ARRAY, array)
            return self.trace.objects.set_attribute(array_in(x), name, value)
        self.trace.touch(x)
        object.__setattr__(x, name, value)


# Methods with a meaning of their own for classes


def _array_ufunc(of: ArraySubclasses, x: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    out = kwargs.get("out", ())
    if any(map(overrides, (*inputs, *(out if isinstance(out, tuple) else (out,))))):
        return NotImplemented
    return ufunc_protocol.apply(of, ufunc, method, inputs, kwargs)


def _array_function(of: ArraySubclasses, x: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    if not all(issubclass(kind, np.ndarray) for kind in types):
        return NotImplemented
    return of.of_function(function, args, kwargs)


def _array_wrap(of: ArraySubclasses, x: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    if isinstance(x, Traced):
        plain = of.as_array(of.plain(array))
        return of.trace.call(operator.getitem, plain, ()) if return_scalar and not plain.type.ndim else plain
    if type(array) is type(x):
        return array
    return of.made(type(x), of.as_array(of.plain(array)), x)


def _view(of: ArraySubclasses, x: Any, dtype: Any = None, type: Any = None) -> Any:
    if isinstance(dtype, _CLASS) and issubclass(dtype, np.ndarray):
        dtype, type = None, dtype
    kind = _class_of(x) if type is None else type
    if not (isinstance(kind, _CLASS) and issubclass(kind, np.ndarray)):
        raise TypeError("Type must be a sub-type of ndarray type")
    array = array_in(x) if is_subclass_array(x) else of.as_array(x)
    if dtype is not None:
        array = of.trace.call(of.trace.attribute(array, "view"), dtype)
    return of.made(kind, array.viewed(array.view, array.type), x)


def _iter(of: ArraySubclasses, x: Any) -> Any:
    from .iterators import iterator_of

    return iterator_of(of.trace, x)


_CLASS = type
_class_of = lambda x: type(x)  # noqa: E731 (a parameter of ``view`` has this name)

_METHODS: dict[str, Callable[..., Any]] = {
    "__array_ufunc__": _array_ufunc,
    "__array_function__": _array_function,
    "__array_wrap__": _array_wrap,
    "__array_finalize__": lambda of, x, origin: None,
    "__array__": lambda of, x, *args, **kwargs: of.trace.call(
        of.trace.attribute(array_in(x), "__array__"), *args, **kwargs
    ),
    "view": _view,
    "__iter__": _iter,
    "__setitem__": lambda of, x, index, value: of.trace.call(
        operator.setitem, array_in(x), of.plain(index), of.plain(value)
    ),
}


for _name in ("__array_ufunc__", "__array_function__", "__array_wrap__", "__array_finalize__"):
    METHODS[_name] = lambda trace, x, *args, method=_METHODS[_name], **kwargs: method(trace.arrays, x, *args, **kwargs)
