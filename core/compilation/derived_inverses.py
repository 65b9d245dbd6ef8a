"""Inverses of iterations in eager loops: an iteration is traced, and its inverse is derived and run by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..emit import typed_python
from ..errors import BadInput
from ..ir.dynamic import Value
from ..passes.dead_code import remove_dead_code
from ..passes.inline import inline, uses
from ..passes.inversion import derived, not_derived
from ..passes.simplify import simplify
from ..specialise import specialise
from ..specialise.traced import NeedsConcrete, Traced, always_traces
from ..values.layout import scan
from .transformed_calls import captured_by_hand

__all__ = ["derived_inverse"]

_STATE = (int, float, complex, np.number, np.ndarray, str, type(None))


def derived_inverse(
    body: Callable[..., Any],
    items: tuple[Any, ...],
    after: tuple[Any, ...],
    read: tuple[Any, ...],
    written: tuple[int, ...],
) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """Return the inverse of an iteration ``body(*items, *state, *read)``, which returns the next state.

    It also writes into the arrays among ``read`` at the places ``written``, which ``after`` holds after the state.
    The inverse takes the leaves of ``(items, after, read)``, for values of the types of the given ones; ints among
    ``read`` are known. It returns the state before the iteration; None stands for a variable that the iteration does
    not read.

    Raises:
        BadInput: the iteration cannot be compiled, or no inverse follows from it.
    """
    if not all(isinstance(x, _STATE) for x in after):
        raise BadInput(
            "its variables must be numbers and arrays; declare the inverse of an iteration with morula.invertible"
        )
    leaves, first = scan((items, after, read, written))[0], len(scan((items, after))[0])
    known = [i for i, x in enumerate(leaves) if i >= first and type(x) is int]
    try:
        program = specialise(before_iteration, (body, items, after, read, written), {}, known)
    except NeedsConcrete as error:
        raise BadInput(
            "its inverse would be another program for each number, because an iteration needs a number as an index of a "
            "list or as a length; loop over the list itself, or declare the inverse with morula.invertible"
        ) from error
    if program.written or program.updates:
        raise BadInput("an iteration changes an array or an object other than the variables that it assigns")
    run = typed_python.build(simplify(remove_dead_code(program.function)))

    def inverse(leaves: Sequence[Any]) -> tuple[Any, ...]:
        given = [leaves[i] for i in program.leaves]
        given += [source.read() for source in program.hidden]
        with np.errstate(all="ignore"):  # the drift tells
            return program.result([np.asarray(x) for x in run(*given)], given, ())

    return inverse


def before_iteration(body: Any, items: Any, after: Any, read: Any, written: Any) -> Any:
    """Stand for the inverse of an iteration in a traced program."""
    raise NotImplementedError


@always_traces(before_iteration)
def _before_iteration(trace: Any, body: Any, items: Any, after: Any, read: Any, written: Any) -> Any:
    places = [i for i, x in enumerate(after) if isinstance(x, Traced)]
    values = [trace.value(after[i]) for i in places]
    names, count = body.__code__.co_varnames[len(items) :], len(after) - len(written)
    names = (*names[:count], *(names[count + j] for j in written))
    parameters = [Value(names[i], v.type) for i, v in zip(places, values)]

    def run() -> tuple[list[Value], Any]:
        state = list(after)
        for i, p in zip(places, parameters):
            state[i] = trace.wrap(p)
        arrays = dict(zip(written, state[count:]))
        found = trace.call(body, *items, *state[:count], *(arrays.get(j, x) for j, x in enumerate(read)))
        found = (*found, *state[count:])
        if [i for i, x in enumerate(found) if isinstance(x, Traced)] != places:
            raise BadInput("its variables must have the same types before and after an iteration")
        return [trace.value(found[i]) for i in places], None

    made = captured_by_hand(trace, "iteration", parameters, run, "an iteration")
    if [v.type for v in made.asked] != [v.type for v in values]:
        raise BadInput("its variables must have the same types before and after an iteration")
    step = made.function
    read = {*uses(step.block.operations), *step.block.results}
    wanted = [i for i, p in enumerate(parameters) if p in read]
    inverse = derived(step, 0, len(places), wanted)
    if inverse.missing:
        raise BadInput(not_derived([names[places[i]] for i in inverse.missing]))
    found = inline(trace.builder, inverse.function, [*values, *made.free])
    state: list[Any] = [None] * len(after)
    for i, v in zip(inverse.found, found):
        state[places[i]] = trace.wrap(v)
    return tuple(state)
