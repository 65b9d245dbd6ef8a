"""Functions with a rule that write into their arguments, to return a result or to use the memory as workspace.

``overwrite_a=True`` allows SciPy to destroy an argument.  The function runs with the flags that it was given.  The tape
records the call without the flag; then the destruction of the arguments, which the backward sweep undoes like every
write; then a write of the result if it lies in the memory of an argument.  The backward sweep refuses a cotangent that
reaches the destroyed contents.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rules.table import Rule
from ...values.memory import owner
from ...values.numbers import call_on
from ..recorded.stores import setitem
from ..recorded.tape import Tape, snapshot
from ..unrecorded.opaque import Opaque, note_overwritten
from .apply import record_rule

FLAG = "overwrite_"


def overwritten(rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the arguments that a call may destroy, by the flag that allows it.

    NumPy's ``overwrite_input`` means the first argument; a flag that names no parameter stands for all arguments.
    """
    given = (*zip(rule.parameters, args), *kwargs.items())
    flags = [name for name, value in given if name.startswith(FLAG) and value]
    return {flag: _named(rule.parameters, flag.removeprefix(FLAG)) for flag in flags}


def _named(parameters: tuple[str, ...], name: str) -> tuple[str, ...]:
    return (name,) if name in parameters else parameters[:1] if name == "input" else parameters


def apply_overwriting(
    tape: Tape, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], flags: dict[str, tuple[str, ...]]
) -> Any:
    """Run and record a call that writes into the arguments in ``rule.writes`` and may destroy those in ``flags``."""
    given = {**dict(zip(rule.parameters, args)), **kwargs}
    named = dict.fromkeys([*rule.writes, *(name for names in flags.values() for name in names)])
    arrays = [given[name] for name in named if isinstance(given.get(name), np.ndarray) and given[name].flags.writeable]
    is_forward = (
        tape.tangents is not None
    )  # the rule then needs the contents before the call at once, with their tangents
    before = [tape.call(np.copy, a) if is_forward else call_on(tape.parent, np.copy, a) for a in arrays]
    y = call_on(tape.parent, rule.function, *args, **kwargs)
    left: tuple[Any, ...] = tuple(given[n] for n in rule.writes)
    result = y if isinstance(y, np.ndarray) or not left else left[0] if len(left) == 1 else left
    places = {id(owner(a)) for a in arrays}
    parts = result if isinstance(result, tuple) else (result,)
    inside = [isinstance(e, np.ndarray) and id(owner(e)) in places for e in parts]
    apart = tuple(call_on(tape.parent, np.copy, e) if within else e for e, within in zip(parts, inside))
    args = tuple(False if name in flags else x for name, x in zip(rule.parameters, args))
    kwargs = {name: x for name, x in kwargs.items() if name not in flags}
    if is_forward:
        copies = {id(a): old for a, old in zip(arrays, before)}
        args = tuple(copies.get(id(x), x) for x in args)
        kwargs = {name: copies.get(id(x), x) for name, x in kwargs.items()}
    record_rule(tape, rule, apart if isinstance(result, tuple) else apart[0], args, kwargs)
    for a, old in zip(arrays, before):
        note_overwritten(tape, a, old, Opaque(rule.function, snapshot((*args, *kwargs.values())), overwrites=True))
    for e, copied, within in zip(parts, apart, inside):
        if within:
            place = e.view(np.ndarray)
            place.flags.writeable = True  # the function may have made its result read-only
            setitem(tape, place, ..., copied)
    return y
