"""Exceptions of compiled programs: recipes stored at compile time, and the exceptions built from them at run time.

Most recipes are a class and a text, in which braces stand for run-time numbers.  All others (several arguments, none, a
number, attributes, a cause or a context) are nested tuples, whose parts consume the run-time numbers in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import BadInput
from ..faults import kind_of
from ..values.attributes import attributes, set_entry
from .derived import Derived, real
from .traced_text import Text, filled

Contexts = dict[int, tuple[BaseException, BaseException | None]]
"""By the ``id`` of an exception: the exception itself, and the one being handled when it was raised."""


class Recipe:
    """How to build an exception: ``exception`` is its class or a nested tuple; ``values`` are its traced numbers."""

    def __init__(self, error: BaseException, contexts: Contexts, is_traced: Callable[[Any], bool]) -> None:
        self.values: list[Any] = []
        self.text = ""
        self.contexts, self.is_traced = contexts, is_traced
        self.around: list[Any] = []
        arg: Any = error.args[0] if len(error.args) == 1 else None
        is_plain = (
            (type(arg) is str or type(arg) is Text and type(arg.template) is str)
            and not attributes(error)
            and not self.chain(error)
        )
        if is_plain and not isinstance(type(error).__init__, type(_new)):
            self.exception: Any = type(error)
            self.text = arg if isinstance(arg, str) else arg.template
            self.values += arg.values if isinstance(arg, Text) else []
        else:
            self.exception = self.whole(error, ())

    def chain(self, error: BaseException) -> tuple[Any, ...]:
        """Return the cause, the context and whether the context is suppressed; empty if there is none of these."""
        context = self.contexts.get(id(error), (error, error.__context__))[1]
        if error.__cause__ is None and context is None and not error.__suppress_context__:
            return ()
        return error.__cause__, context, error.__suppress_context__

    def whole(self, error: BaseException, around: tuple[BaseException, ...]) -> Any:
        around = (*around, error)
        args = tuple(map(self.part, error.args))
        held = tuple((k, self.part(x)) for k, x in attributes(error))
        led: tuple[Any, ...] = ()
        if self.chain(error):
            cause, context, is_suppressed = self.chain(error)
            of_cause = None if cause is None or _is_in(cause, around) else self.whole(cause, around)
            if context is None or _is_in(context, around):
                of_context: Any = None
            else:
                of_context = "cause" if context is cause else self.whole(context, around)
            led = of_cause, of_context, is_suppressed
        return "exception", type(error), args, held, led

    def part(self, x: Any) -> Any:
        if isinstance(x, Text):
            self.values += x.values
            return "text", x.template, len(x.values)
        if self.is_traced(x):
            self.values.append(x)
            return ("number" if x.type.weak else "value",)
        if type(x) in (tuple, list):
            return type(x).__name__, tuple(map(self.part, x))
        if type(x) is Derived:
            return "derived", Held(x.cls), self.part(x.plain), self.part(x.held)
        if x is None or type(x) in (bool, int, float, complex, str, bytes):
            return "constant", type(x).__name__, repr(x), x
        if type(x) is dict:
            return "dict", tuple(x), tuple(map(self.part, x.values()))
        if _holds(x, self.is_traced, set()):
            if type(x).__new__ is object.__new__ and not any(x is other for other in self.around):
                self.around.append(x)
                held = tuple((k, self.part(e)) for k, e in attributes(x))
                self.around.pop()
                return "object", Held(type(x)), held
            raise BadInput(
                f"an exception holds a {kind_of(x)} containing numbers that are not known while compiling; pass the numbers "
                "themselves to the exception"
            )
        return "held", Held(x)


def _is_in(error: BaseException, around: tuple[BaseException, ...]) -> bool:
    return any(e is error for e in around)


def _holds(x: Any, is_traced: Callable[[Any], bool], seen: set[int]) -> bool:
    """Return whether an object contains a traced value."""
    if id(x) in seen or isinstance(x, type):
        return False
    seen.add(id(x))
    parts = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple)) else [e for _, e in attributes(x)]
    return is_traced(x) or isinstance(x, (Derived, Text)) or any(_holds(e, is_traced, seen) for e in parts)


class Held:
    """A compile-time object in an exception, compared by identity."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Held) and other.x is self.x

    def __hash__(self) -> int:
        return id(self.x)


def exception_of(exception: Any, text: str, values: Sequence[Any]) -> BaseException:
    """Build the exception that a program raised from its recipe and run-time numbers."""
    if isinstance(exception, type):
        return exception(text.format(*values) if values else text)
    return _whole(exception, iter(values))


def _new(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    if isinstance(kind.__init__, type(_new)):  # a Python ``__init__`` has already run at compile time
        made = kind.__new__(kind, *args)
        made.args = args
        return made
    return kind(*args)


def _whole(recipe: Any, values: Iterator[Any]) -> BaseException:
    _, kind, args, held, led = recipe
    made = _new(kind, tuple(_part(p, values) for p in args))
    for name, p in held:
        set_entry(made, name, _part(p, values))
    if led:
        cause, context, is_suppressed = led
        made.__cause__ = None if cause is None else _whole(cause, values)
        made.__context__ = (
            made.__cause__ if context == "cause" else None if context is None else _whole(context, values)
        )
        made.__suppress_context__ = is_suppressed
    return made


def _part(part: Any, values: Iterator[Any]) -> Any:
    kind, *rest = part
    if kind == "text":
        template, count = rest
        return filled(template, [next(values) for _ in range(count)])
    if kind == "number":
        return next(values).item()
    if kind == "value":
        return next(values)
    if kind in ("tuple", "list"):
        made = [_part(p, values) for p in rest[0]]
        return tuple(made) if kind == "tuple" else made
    if kind == "derived":
        cls, plain, held = rest
        return real(cls.x, _part(plain, values), _part(held, values))
    if kind == "dict":
        keys, parts = rest
        return dict(zip(keys, [_part(p, values) for p in parts]))
    if kind == "object":
        cls, held = rest
        made = object.__new__(cls.x)
        for name, p in held:
            set_entry(made, name, _part(p, values))
        return made
    return rest[0].x if kind == "held" else rest[-1]
