"""Handlers for Python's conversions and built-in functions of one or two numbers."""

from __future__ import annotations

from typing import Any

from ...rules import find_rule
from ...rules.registry import HANDLERS, handles
from ...values.numbers import NUMBERS, PASSIVE, is_exact
from ...values.special_methods import answer
from ..recorded.access import place, special
from ..recorded.call import call
from ..recorded.operate import OPERATORS
from ..recorded.tape import Tape
from .arrays import call_rule

ZERO = 0.0  # this object stands for an omitted argument


def _conversion(cls: Any, method: str) -> None:
    def handler(tape: Tape, x: Any = ZERO, /, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            return by_name(tape, x, args, kwargs)
        if type(x) is cls and not args:
            return x
        own = special(type(x), method)
        if own is not None and not is_exact(type(x)):
            return answer(tape, own, method, x)
        if isinstance(x, str) or args and type(x) is int and type(args[0]) is int:
            return cls(x, *args)
        return call_rule(tape, find_rule(cls), (x, *args), {})

    def by_name(tape: Tape, x: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call ``complex(real=..., imag=...)``; other keywords raise."""
        if cls is float or args or not kwargs.keys() <= {"real", "imag"}:
            return cls(x, *args, **kwargs)  # raises what Python raises
        if "real" in kwargs and x is not ZERO:
            return cls(x, **kwargs)  # raises: the real part is given twice
        real = kwargs.get("real", x)
        return handler(tape, real, kwargs["imag"]) if "imag" in kwargs else handler(tape, real)

    HANDLERS[cls] = handler


_conversion(float, "__float__")
_conversion(complex, "__complex__")


@handles(divmod)
def divmod_(tape: Tape, a: Any, b: Any) -> Any:
    for own, x, other in ((special(type(a), "__divmod__"), a, b), (special(type(b), "__rdivmod__"), b, a)):
        if own is not None:
            return call(tape, own, x, other)
    return OPERATORS["floordiv"][0](tape, a, b), OPERATORS["mod"][0](tape, a, b)


@handles(pow)
def pow_(tape: Tape, base: Any, exp: Any, mod: Any = None) -> Any:
    return OPERATORS["pow"][0](tape, base, exp) if mod is None else pow(base, exp, mod)


@handles(round)
def round_(tape: Tape, number: Any, ndigits: Any = None) -> Any:
    own = None if type(number) in PASSIVE or type(number) in NUMBERS else special(type(number), "__round__")
    if own is not None:
        return call(tape, own, number) if ndigits is None else call(tape, own, number, ndigits)
    if tape.observer is not None:
        tape.observer.rounded(tape, round, (number,), None)
    return round(number, place(tape, ndigits))
