"""SciPy's ``overwrite_a=True``: a function with a rule that may use the memory of an argument for what it likes.

It runs as it is told to.  On the tape it is the same call without the flag, then the destruction of the arguments, which
the backward sweep undoes like every write, then a write of the result where that lies in the memory of an argument.  So
it is no matter what happened to an argument that nobody reads again; a cotangent of what is left of it is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .apply import record_rule
from .opaque import Opaque, note_overwritten
from .rules.table import Rule
from .stores import setitem
from .tape import Tape, owner, snapshot
from .values import evaluate

FLAG = "overwrite_"


def overwritten(rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, str]:
    """The arguments that a call may overwrite, by the flag that says so; NumPy's ``overwrite_input`` is the first."""
    given = (*zip(rule.parameters, args), *kwargs.items())
    flags = {name: name.removeprefix(FLAG) for name, value in given if name.startswith(FLAG) and value}
    return {flag: name if name in rule.parameters else rule.parameters[0] for flag, name in flags.items()}


def apply_overwriting(
    tape: Tape, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], flags: dict[str, str]
) -> Any:
    """Run and record a call that may overwrite the arguments that ``flags`` name."""
    given = {**dict(zip(rule.parameters, args)), **kwargs}
    arrays = [given[n] for n in flags.values() if isinstance(given.get(n), np.ndarray) and given[n].flags.writeable]
    before = [evaluate(tape.parent, np.copy, a) for a in arrays]
    y = evaluate(tape.parent, rule.function, *args, **kwargs)
    places = {id(owner(a)) for a in arrays}
    parts = y if isinstance(y, tuple) else (y,)
    inside = [isinstance(e, np.ndarray) and id(owner(e)) in places for e in parts]
    apart = tuple(evaluate(tape.parent, np.copy, e) if within else e for e, within in zip(parts, inside))
    args = tuple(False if name in flags else x for name, x in zip(rule.parameters, args))
    kwargs = {name: x for name, x in kwargs.items() if name not in flags}
    record_rule(tape, rule, apart if isinstance(y, tuple) else apart[0], args, kwargs)
    for a, old in zip(arrays, before):
        note_overwritten(tape, a, old, Opaque(rule.function, snapshot((*args, *kwargs.values())), overwrites=True))
    for e, copied, within in zip(parts, apart, inside):
        if within:
            place = e.view(np.ndarray)
            place.flags.writeable = True  # that of the result itself may be withdrawn
            setitem(tape, place, ..., copied)
    return y
