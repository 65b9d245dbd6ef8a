"""Values of several kinds: None or a number, one text or another, by a condition that is known only at run time.

Branches and loops can leave a value that has no single form.  If one of its kinds is a constant (None, a text, a class, a
function), the place then holds a ``Choice``: the values that it may be, and a traced number that tells which.  It is
stored, passed and returned as one object.  An operation on it is recorded once for each option, in a branch in which the
value is that option (``distributed``); an error that Python raises for one option is raised in that branch.  In a branch
that has tested the value (``if x is None``), the bounds of the number tell what it still may be (``narrowed``).

Choices are made only if a program is refused without them: elsewhere a value that is not used costs nothing.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, EllipsisType, FunctionType, ModuleType, NotImplementedType
from typing import Any

import numpy as np

from ..ir.derived import Derived, is_known
from ..ir.dynamic import Value
from ..ir.traced_text import Text
from ..values.array_classes import is_traced_array
from .forms import NUMBERS, has_function, numbers_in, rebuilt, same_form
from .instances import held_by_instance, is_instance
from .rows import Rows
from .scopes import UNBOUND, Choice, Conflict, Late
from .traced import Array, Scalar, Storage, Traced, current

CONSTANTS = (type(None), str, bytes, type, ModuleType, EllipsisType, NotImplementedType, np.dtype)


_KINDS = (Traced, *NUMBERS, list, tuple, dict)


def is_constant(x: Any) -> bool:
    """Whether x is a constant that no number is made of: None, a text, a class, a function of a module."""
    return isinstance(x, CONSTANTS) or isinstance(x, (FunctionType, BuiltinFunctionType)) and not has_function(x)


def has_choices(values: Iterable[Any]) -> bool:
    return any(type(x) is Choice for x in values)


def can_choose(a: Any, b: Any) -> bool:
    """Whether a place that holds one of two values can hold a ``Choice`` of them."""
    if any(isinstance(x, (Conflict, Late)) or x is UNBOUND or has_function(x) for x in (a, b)):
        return False
    if type(a) is not type(b) and any(map(is_traced_array, (a, b))):  # two classes of arrays
        return True
    if any(is_constant(x) or type(x) in (Choice, Derived, Text) or is_known(x) for x in (a, b)):
        return True
    return all(isinstance(x, _KINDS) or is_instance(x) for x in (a, b)) and current().allows("may_grow")


def options_of(x: Any) -> tuple[Any, ...]:
    return x.options if type(x) is Choice else (x,)


def which_of(x: Any) -> Any:
    return x.which if type(x) is Choice else 0


def places(options: list[Any], others: tuple[Any, ...]) -> list[int]:
    """Return where each of ``others`` stands among the options, to which those are appended that are not there."""
    found = []
    for x in others:
        place = next((i for i, o in enumerate(options) if same_form(o, x)), len(options))
        if place == len(options):
            options.append(x)
        found.append(place)
    return found


def renumbered(trace: Any, which: Any, table: list[int]) -> Any:
    """Return the position that ``table`` gives for a position."""
    if table == list(range(len(table))):
        return which
    if not isinstance(which, Scalar):
        return table[which]
    found = trace.call(operator.getitem, trace.constant_array(np.array(table)), which)
    trace.builder.integers.atom(found.ir, (), (), (min(table), max(table)))
    return found


def note_bounds(trace: Any, x: Any) -> None:
    """Note between which numbers the position of each choice in an object lies."""
    if isinstance(x, Traced):
        return
    if type(x) is Choice:
        if isinstance(x.which, Scalar):
            trace.builder.integers.atom(x.which.ir, (), (), (0, len(x.options) - 1))
        parts = x.options
    elif type(x) is Rows:
        if isinstance(x.length, Scalar):
            trace.builder.integers.atom(x.length.ir, (), (), (0, x.capacity))
        return
    elif type(x) is Derived:
        parts = x.plain, x.held
    elif isinstance(x, dict) or is_instance(x):
        parts = (x if isinstance(x, dict) else held_by_instance(x)).values()
    else:
        parts = x if isinstance(x, (list, tuple, deque)) else ()
    for e in parts:
        note_bounds(trace, e)


def narrowed(trace: Any, x: Any) -> Any:
    """Return the one option that a choice still can be here, else the choice."""
    if type(x) is not Choice:
        return x
    low, high = interval(trace, x)
    return x.options[low] if low == high else x


def interval(trace: Any, x: Choice) -> tuple[int, int]:
    if not isinstance(x.which, Scalar):
        return x.which, x.which
    low, high = trace.builder.integers.interval(x.which.ir)
    return max(low, 0), min(high, len(x.options) - 1)


def distributed(trace: Any, x: Any, run: Callable[[Any], Any]) -> Any:
    """Return ``run(option)`` of the option that x is at run time."""
    if type(x) is not Choice:
        return run(x)
    low, high = interval(trace, x)

    def from_(place: int) -> Any:
        if place == high:
            return run(x.options[place])
        test: Value = trace.value(trace.call(operator.le, x.which, place))
        if len(x.options) == 2:
            trace.tests_of_choices[test] = x.which
        return trace.branch(test, lambda: run(x.options[place]), lambda: from_(place + 1))

    return from_(low)


def distributed_over(trace: Any, values: list[Any], run: Callable[[list[Any]], Any]) -> Any:
    """Return ``run(values)``, with the options in place of the choices among the values."""
    i = next((i for i, x in enumerate(values) if type(x) is Choice), None)
    if i is None:
        return run(values)
    rest = values[:i], values[i + 1 :]
    return distributed(trace, values[i], lambda o: distributed_over(trace, [*rest[0], o, *rest[1]], run))


def of_two_kinds(x: Any) -> bool:
    """Whether x is a choice between a real and a complex number or array, in this order."""
    if type(x) is not Choice or len(x.options) != 2:
        return False
    return all(map(is_number, x.options)) and [is_complex(o) for o in x.options] == [False, True]


def is_number(x: Any) -> bool:
    return isinstance(x, (Traced, *NUMBERS)) and not is_known(x)


def is_complex(x: Any) -> bool:
    """Whether a number or an array is complex."""
    return x.type.dtype.kind == "c" if isinstance(x, Traced) else isinstance(x, (complex, np.complexfloating))


def with_one_choice(trace: Any, x: Any) -> Any:
    """Return a list or tuple with real or complex items as one choice: they all are real, or they are taken as complex."""
    if type(x) not in (list, tuple) or not any(map(of_two_kinds, x)):
        return x
    which: Any = 0
    for e in filter(of_two_kinds, x):
        which = trace.call(operator.or_, which, e.which)

    def as_complex(e: Choice) -> Any:
        is_real = trace.value(trace.call(operator.le, e.which, 0))
        real, other = (trace.value(o) for o in e.options)
        as_other = trace.wrap(trace.builder.cast(real, other.type.dtype))
        return trace.branch(is_real, lambda: as_other, lambda: e.options[1])

    found = Choice(
        which,
        [
            type(x)([e.options[0] if of_two_kinds(e) else e for e in x]),
            type(x)([as_complex(e) if of_two_kinds(e) else e for e in x]),
        ],
    )
    note_bounds(trace, found)
    return found


def distributed_call(trace: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function for each option of it and of its arguments."""

    def run(values: list[Any]) -> Any:
        function, *rest = values
        return trace.call(function, *rest[: len(args)], **dict(zip(kwargs, rest[len(args) :])))

    return distributed_over(trace, [function, *args, *kwargs.values()], run)


def holds_choices(x: Any) -> bool:
    """Whether a list or tuple has items that are choices."""
    return type(x) in (list, tuple) and has_choices(x)


def distributed_items(trace: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a function that only reads its arguments for each option of the items of lists and tuples among them."""
    place = next(i for i, x in enumerate(args) if holds_choices(x))

    def run(items: list[Any]) -> Any:
        return trace.call(function, *args[:place], type(args[place])(items), *args[place + 1 :], **kwargs)

    return distributed_over(trace, list(args[place]), run)


def chosen_before(trace: Any, first: Any, last: Any) -> Choice | None:
    """Return the choice that a loop carries in a place that holds ``first`` before it and ``last`` after an iteration.

    The numbers and arrays of options that ``first`` is not are zeros.  None if an array's shape is not known there.
    """
    options = list(options_of(first))
    count = len(options)
    places(options, options_of(last))
    for i in range(count, len(options)):
        numbers = numbers_in(options[i])
        if any(isinstance(x, Array) and not x.type.is_static for x in numbers):
            return None
        options[i] = rebuilt(options[i], iter([_zero(trace, x) for x in numbers]), lambda x: trace.new(x))
    return Choice(which_of(first), options)


def _zero(trace: Any, x: Any) -> Any:
    if isinstance(x, Array):
        return Array(Storage(trace.builder.zeros(x.type.shape, x.type.dtype)))
    kind = trace.value(x).type
    if kind.shape:  # a column
        return Scalar(trace.builder.zeros(kind.shape, kind.dtype))
    return kind.number(0)


def chosen_after(trace: Any, general: Choice, last: Any) -> Choice | None:
    """Return ``last``, the value after an iteration, as a choice among the options at its start; None if it has others.

    An option that ``last`` is not keeps its numbers.
    """
    options = list(general.options)
    table = places(options, options_of(last))
    if len(options) > len(general.options):
        return None
    for place, x in zip(table, options_of(last)):
        options[place] = x
    return Choice(renumbered(trace, which_of(last), table), options)
