"""What the operations of recorded Python code do: operators, subscripts, attributes, iteration, unpacking.

Instrumented code calls these with its tape where the source has an operator.  On numbers and arrays they compute, and
record the operands with the rule; on objects of a class they follow Python's protocol into the class's own methods.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from .cotangents import conform
from .rules.table import RULES, Rule, pull, scaling
from .tape import Cotangents, Int, Tape, is_fancy, owner

REAL = {float, np.float64, Int}
PASSIVE = {int, bool, str, bytes, type(None), np.bool_, slice, range, type, type(...), FunctionType, ModuleType}
PASSIVE |= {np.dtype(c).type for c in "bhilqpBHILQP"}
NUMBERS = {float, complex, Int, np.ndarray} | {np.dtype(c).type for c in "efdgFDG"} | (PASSIVE & {int, bool, np.bool_})
NUMBERS |= {np.dtype(c).type for c in "bhilqpBHILQP"}
NO_KEYWORDS: dict[str, Any] = {}

Operation = Callable[..., Any]


def evaluate(parent: Tape | None, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call ``function`` on the tape of the enclosing derivative, or plainly where there is none."""
    if parent is None:
        return function(*args, **kwargs)
    from .call import call

    return call(parent, function, *args, **kwargs)


def differentiable(x: Any) -> bool:
    """Whether a cotangent can belong to ``x``: an inexact number or array, an ``Int``, or a sequence of such."""
    kind = type(x)
    if kind in PASSIVE:
        return False
    if kind is np.ndarray or isinstance(x, np.ndarray):
        return x.dtype.kind in "fcO"
    if kind in NUMBERS:
        return True
    if isinstance(x, (tuple, list)):
        return any(map(differentiable, x))
    return isinstance(x, (float, complex, np.inexact))


def pull_back(table: Cotangents, y: Any, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The backward step of an operation with a rule."""
    dy = table.take(y)
    if dy is None:
        return
    for x, g in zip(args, table.run(pull, rule, dy, y, args, kwargs)):
        if g is not None:
            table.add(x, g)
    if kwargs or None in rule.given:
        # NaN stands for a derivative that nobody knows: it goes wherever the derivative would, and no further.
        for x in (*(x for x, given in zip(args, rule.given) if given is None), *kwargs.values()):
            if isinstance(x, (float, complex, np.inexact)) or (isinstance(x, np.ndarray) and x.dtype.kind in "fc"):
                table.unknown.add(rule.function)
                table.add(x, np.full_like(x, np.nan) if isinstance(x, np.ndarray) else type(x)(np.nan))


def pull_back_binary(table: Cotangents, y: Any, rule: Rule, a: Any, b: Any) -> None:
    """``pull_back`` for an element-wise function of two operands, those that cannot be reached left out."""
    dy = table.take(y)
    if dy is None:
        return
    if table.evaluate is not None:
        for x, g in zip((a, b), table.run(pull, rule, dy, y, (a, b), NO_KEYWORDS)):
            table.add(x, g)
        return
    left, right = rule.partials
    if type(a) not in PASSIVE:
        table.add(a, conform(scaling(left)(dy, left(y, a, b)), a))  # type: ignore[operator,misc]
    if type(b) not in PASSIVE:
        table.add(b, conform(scaling(right)(dy, right(y, a, b)), b))  # type: ignore[operator,misc]


def _binary(function: Operation, method: str, reflected: str) -> Operation:
    def operation(tape: Tape, a: Any, b: Any) -> Any:
        ka, kb = type(a), type(b)
        if ka in NUMBERS and kb in NUMBERS:
            if ka in PASSIVE and kb in PASSIVE:
                return function(a, b)
            y = function(a, b) if tape.parent is None else operation(tape.parent, a, b)
            ky = type(y)
            if ky is np.ndarray:
                if y.dtype.kind not in "fc":
                    return y if y.dtype.kind != "O" else _refuse_objects(function)
            elif ky in PASSIVE:
                if ky is not int:
                    return y
                y = Int(y)
            rule = RULES.get(function)
            if rule is None or rule.is_zero:
                return y
            if rule.partials:
                tape.records.append((pull_back_binary, y, rule, a, b))
            else:
                tape.records.append((pull_back, y, rule, (a, b), NO_KEYWORDS))
            return y
        return _binary_protocol(tape, operation, function, method, reflected, a, b)

    operation.__name__ = method.strip("_")
    return operation


def _binary_protocol(
    tape: Tape, operation: Operation, function: Operation, method: str, reflected: str, a: Any, b: Any
) -> Any:
    """Python's protocol for ``a op b``: the right operand first if its class is derived from the left one's."""
    from .call import call

    ka, kb = type(a), type(b)
    forward, backward = getattr(ka, method, None), getattr(kb, reflected, None)
    own = [m for m in (forward, backward) if isinstance(m, FunctionType)]
    if not own:
        if isinstance(a, np.ndarray) and isinstance(b, (list, tuple)):
            return operation(tape, a, call(tape, np.array, b))
        if isinstance(b, np.ndarray) and isinstance(a, (list, tuple)) and ka is not str:
            return operation(tape, call(tape, np.array, a), b)
        if differentiable(a) and differentiable(b) and isinstance(a, (np.ndarray, float, complex)):
            return call(tape, function, a, b)
        return function(a, b)
    if ka is kb or (kb is not ka and backward is forward):
        attempts = [(forward, a, b)]
    elif issubclass(kb, ka) and backward is not getattr(ka, reflected, None):
        attempts = [(backward, b, a), (forward, a, b)]
    else:
        attempts = [(forward, a, b), (backward, b, a)]
    if isinstance(a, (np.ndarray, np.generic)) and isinstance(backward, FunctionType):
        # NumPy gives way to a class that overrides its operators or has a higher priority.
        if getattr(b, "__array_ufunc__", 0) is None or getattr(b, "__array_priority__", 0) > 0 or not np.ndim(a):
            attempts.reverse()
    for m, x, other in attempts:
        if m is None:
            continue
        y = call(tape, m, x, other) if isinstance(m, FunctionType) else m(x, other)
        if y is not NotImplemented:
            return y
    return function(a, b)  # raises the TypeError that Python would raise


def _refuse_objects(function: Operation) -> Any:
    from .errors import NoDerivative

    raise NoDerivative(
        f"{function.__name__} on an array of dtype object computes inside NumPy on Python objects, where derivatives "
        "cannot follow; use a float or complex dtype, or a list comprehension"
    )


def _unary(function: Operation, method: str) -> Operation:
    def operation(tape: Tape, a: Any) -> Any:
        from .call import call

        own = getattr(type(a), method, None)
        if isinstance(own, FunctionType):
            return call(tape, own, a)
        if type(a) in PASSIVE:
            return function(a)
        return apply_rule(tape, RULES[function], (a,), NO_KEYWORDS)

    return operation


def _in_place(plain: Operation, function: Operation, method: str) -> Operation:
    def operation(tape: Tape, a: Any, b: Any) -> Any:
        from .call import call

        own = getattr(type(a), method, None)
        if isinstance(own, FunctionType):
            y = call(tape, own, a, b)
            return plain(tape, a, b) if y is NotImplemented else y
        if isinstance(a, np.ndarray):
            y = plain(tape, a, b)
            if isinstance(y, np.ndarray) and (y.shape != a.shape or not np.can_cast(y.dtype, a.dtype, "same_kind")):
                return function(a, b)  # raises what NumPy raises
            setitem(tape, a, ..., y)
            return a
        if type(a) in NUMBERS or own is None:
            return plain(tape, a, b)
        return function(a, iterate(tape, b))

    return operation


OPERATORS: dict[str, tuple[Operation, Operation]] = {}
"""The recorded form of each operator, by the name of its function in ``operator``, beside that function."""

for _name, _symbol in (
    *(("add", "add"), ("sub", "sub"), ("mul", "mul"), ("truediv", "truediv"), ("floordiv", "floordiv")),
    *(("mod", "mod"), ("pow", "pow"), ("matmul", "matmul"), ("and_", "and"), ("or_", "or"), ("xor", "xor")),
    *(("lshift", "lshift"), ("rshift", "rshift")),
):
    _function = getattr(operator, _name)
    _plain = _binary(_function, f"__{_symbol}__", f"__r{_symbol}__")
    OPERATORS[_name] = _plain, _function
    _function = getattr(operator, "i" + _symbol)
    OPERATORS["i" + _symbol] = _in_place(_plain, _function, f"__i{_symbol}__"), _function
for _name, _method in (("neg", "__neg__"), ("pos", "__pos__"), ("invert", "__invert__"), ("abs", "__abs__")):
    OPERATORS[_name] = _unary(getattr(operator, _name), _method), getattr(operator, _name)


def apply_rule(tape: Tape, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function that has a rule, and record it if a cotangent can pass through."""
    y = evaluate(tape.parent, rule.function, *args, **kwargs)
    args, kwargs = rule.positional(args, kwargs)
    if rule.is_zero or not any(map(differentiable, args)):
        return y
    if type(y) is np.ndarray:
        if y.dtype.kind not in "fc":
            return y if y.dtype.kind != "O" else _refuse_objects(rule.function)
        if y.base is not None and any(isinstance(a, np.ndarray) and owner(a) is owner(y) for a in args):
            return y
    elif type(y) is int:
        y = Int(y)
    if any(y is a for a in args):
        return y
    tape.records.append((pull_back, y, rule, snapshot(args), kwargs))
    return y


def snapshot(x: Any) -> Any:
    """A sequence as it is now: lists may change before the backward sweep, and arrays are restored by it."""
    if isinstance(x, (tuple, list)):
        parts = [snapshot(e) if isinstance(e, (tuple, list)) else e for e in x]
        return tuple(parts) if isinstance(x, tuple) and not hasattr(x, "_fields") else parts
    return x


def getitem(tape: Tape, a: Any, i: Any) -> Any:
    kind = type(a)
    if kind is list or kind is dict or kind is tuple:
        return a[i]
    if isinstance(a, np.ndarray):
        y = a[i] if tape.parent is None else getitem(tape.parent, a, i)
        if a.dtype.kind in "fc" and not (isinstance(y, np.ndarray) and y.base is not None and owner(y) is owner(a)):
            tape.records.append((_getitem_back, y, a, snapshot(i)))
        return y
    own = getattr(kind, "__getitem__", None)
    if isinstance(own, FunctionType):
        from .call import call

        return call(tape, own, a, i)
    if isinstance(a, np.flatiter):
        return getitem(tape, np.reshape(a.base, -1), i)
    return a[i]


def _getitem_back(table: Cotangents, y: Any, a: np.ndarray, index: Any) -> None:
    dy = table.take(y)
    if dy is not None:
        table.add_at(a, index, dy)


def setitem(tape: Tape, a: Any, i: Any, v: Any) -> None:
    if isinstance(a, np.ndarray):
        if a.dtype.kind == "O":
            a[i] = v
            return
        if isinstance(v, (list, tuple)):
            from .call import call

            v = call(tape, np.array, v)
        parent = tape.parent
        if parent is None:
            old = _read(a, i)
            a[i] = v
        else:
            old = evaluate(parent, _read, a, i)
            setitem(parent, a, i, v)
        tape.written.add(id(a) if a.base is None else id(owner(a)))
        tape.records.append((_setitem_back, a, i if type(i) is int else snapshot(i), old, v))
        return
    own = getattr(type(a), "__setitem__", None)
    if isinstance(own, FunctionType):
        from .call import call

        call(tape, own, a, i, v)
    elif isinstance(a, np.flatiter):
        setitem(tape, np.reshape(a.base, -1), i, v)
    else:
        a[i] = iterate(tape, v) if type(i) is slice else v


def _read(a: np.ndarray, i: Any) -> Any:
    entry = a[i]
    return np.copy(entry) if isinstance(entry, np.ndarray) else entry


def _setitem_back(table: Cotangents, a: np.ndarray, index: Any, old: Any, v: Any) -> None:
    if table.evaluate is None and type(index) is int and a.ndim == 1:
        # One entry of a vector: what filling an array in a loop spends its time on.
        table.redo.append((a, index, a[index]))
        a[index] = old
        if a.dtype.kind in "fc" and table.reached(a):
            window = table.window(a)
            g = window[index]
            window[index] = 0
            if type(v) not in PASSIVE:
                table.add(v, g if type(v) is float or type(v) is np.float64 else conform(g, v))
        return
    table.redo.append((a, index, table.run(_read, a, index)))
    table.write(a, index, old)
    if a.dtype.kind not in "fc" or not table.reached(a):
        return
    window = table.window(a)
    g = table.run(_read, window, index)
    table.write(window, index, 0)
    if differentiable(v):
        if is_fancy(index):
            g = table.run(operator.mul, g, _last_writes(a.shape, index))
        table.add(v, table.run(conform, g, v))


def _last_writes(shape: tuple[int, ...], index: Any) -> np.ndarray:
    """Which entries of ``v`` in ``a[index] = v`` stay: where an index names an entry twice, the last one does."""
    places = np.zeros(shape, dtype=np.intp)
    order = np.arange(np.size(places[index])).reshape(np.shape(places[index]))
    places[index] = order
    return places[index] == order


def iterate(tape: Tape, x: Any) -> Any:
    """What a ``for`` loop, a call's ``*args`` or a built-in function runs over in place of ``x``."""
    kind = type(x)
    if kind is list or kind is tuple or kind is range or kind is dict or kind is str:
        return x
    if isinstance(x, np.ndarray):
        return _entries(tape, x) if x.ndim == 1 and x.dtype.kind in "fc" else x
    if isinstance(x, np.flatiter):
        return _entries(tape, np.reshape(x.base, -1))
    if isinstance(x, np.ndenumerate):
        array = x.iter.base
        return ((i, getitem(tape, array, i)) for i in np.ndindex(array.shape))
    own = getattr(kind, "__iter__", None)
    if isinstance(own, FunctionType):
        from .call import call

        iterator = call(tape, own, x)
        return _advance(tape, iterator) if isinstance(getattr(type(iterator), "__next__", None), FunctionType) else (
            iterate(tape, iterator) if iterator is not x else iterator
        )  # fmt: skip
    if own is None and isinstance(getattr(kind, "__getitem__", None), FunctionType):
        return _by_index(tape, x)
    return x


def _entries(tape: Tape, x: np.ndarray) -> Iterator[Any]:
    for i in range(len(x)):
        yield getitem(tape, x, i)


def _advance(tape: Tape, iterator: Any) -> Iterator[Any]:
    from .call import call

    step = type(iterator).__next__
    while True:
        try:
            value = call(tape, step, iterator)
        except StopIteration:
            return
        yield value


def _by_index(tape: Tape, x: Any) -> Iterator[Any]:
    i = 0
    while True:
        try:
            value = getitem(tape, x, i)
        except IndexError:
            return
        yield value
        i += 1


def unpack(tape: Tape, x: Any) -> Iterable[Any]:
    """The right side of ``a, b = x``."""
    return iterate(tape, x)


def get_attribute(tape: Tape, x: Any, name: str) -> Any:
    kind = type(x)
    if isinstance(x, (np.ndarray, np.generic)):
        from .rules.methods import ATTRIBUTES

        if name in ATTRIBUTES and isinstance(x, (np.inexact, np.ndarray)) and name != "flat":
            return apply_rule(tape, RULES[ATTRIBUTES[name]], (x,), NO_KEYWORDS)
        return getattr(x, name)
    if kind is ModuleType or kind is type:
        return getattr(x, name)
    if kind is float or kind is complex or kind is Int:
        return _number_attribute(tape, x, name)
    from .call import call

    own = getattr(kind, "__getattribute__", None)
    if isinstance(own, FunctionType):
        return call(tape, own, x, name)
    static = getattr(kind, name, None)
    if static is None or type(static) is FunctionType:
        if isinstance(x, type):
            return getattr(x, name)
        fallback = getattr(kind, "__getattr__", None)
        if isinstance(fallback, FunctionType) and not hasattr(kind, name):
            try:
                return object.__getattribute__(x, name)
            except AttributeError:
                return call(tape, fallback, x, name)
        return getattr(x, name)
    if type(static) is property:
        return call(tape, static.fget, x) if static.fget is not None else getattr(x, name)
    raw = _class_attribute(kind, name)
    getter = getattr(type(raw), "__get__", None)
    if isinstance(getter, FunctionType):
        stored = getattr(x, "__dict__", None)
        if stored is not None and name in stored and not hasattr(type(raw), "__set__"):
            return stored[name]
        return call(tape, getter, raw, x, kind)
    return getattr(x, name)


def _number_attribute(tape: Tape, x: Any, name: str) -> Any:
    if name in ("real", "imag"):
        return apply_rule(tape, RULES[getattr(np, name)], (x,), NO_KEYWORDS) if type(x) is complex else getattr(x, name)
    return getattr(x, name)


def _class_attribute(kind: type, name: str) -> Any:
    for cls in kind.__mro__:
        if name in cls.__dict__:
            return cls.__dict__[name]
    return None


def set_attribute(tape: Tape, x: Any, name: str, v: Any) -> None:
    from .call import call

    if isinstance(x, np.ndarray):
        if name in ("real", "imag", "flat"):
            view = get_attribute(tape, x, name) if name != "flat" else np.reshape(x, -1)
            setitem(tape, view, ..., v)
        else:
            setattr(x, name, v)
        return
    own = getattr(type(x), "__setattr__", None)
    if isinstance(own, FunctionType):
        call(tape, own, x, name, v)
        return
    raw = _class_attribute(type(x), name)
    if type(raw) is property and raw.fset is not None:
        call(tape, raw.fset, x, v)
    elif isinstance(getattr(type(raw), "__set__", None), FunctionType):
        call(tape, type(raw).__set__, raw, x, v)
    else:
        setattr(x, name, v)


def delete_item(tape: Tape, x: Any, i: Any) -> None:
    own = getattr(type(x), "__delitem__", None)
    if isinstance(own, FunctionType):
        from .call import call

        call(tape, own, x, i)
    else:
        del x[i]


def update_item(tape: Tape, in_place: Operation, x: Any, i: Any, v: Any) -> None:
    """``x[i] op= v``."""
    old = getitem(tape, x, i)
    new = in_place(tape, old, v)
    if not (new is old and isinstance(x, np.ndarray) and owner(new) is owner(x)):
        setitem(tape, x, i, new)


def update_attribute(tape: Tape, in_place: Operation, x: Any, name: str, v: Any) -> None:
    """``x.name op= v``."""
    old = get_attribute(tape, x, name)
    new = in_place(tape, old, v)
    if not (new is old and isinstance(x, np.ndarray)):
        set_attribute(tape, x, name, new)
