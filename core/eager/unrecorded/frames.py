"""Frames that run unrecorded: generators, iterators and threads that were started before the derivative was taken.

Recorded code is rewritten code; a frame that was already running executes the original.  Its results are constants,
unless it can reach values that depend on the inputs: then a cotangent that arrives at a result is refused.
"""

from __future__ import annotations

import functools
import gc
import itertools
import weakref
from collections.abc import Callable, Iterator
from types import CodeType, CoroutineType, FrameType, FunctionType, GeneratorType
from typing import Any

from ...rules.connected import connected
from ...source.definitions import user_frame
from ...values.numbers import PASSIVE
from ...values.program_state import Reach, referents
from ..recorded.tape import Tape, enclosing_tapes
from .opaque import note
from .opaque_calls import Recording

OF_ITERTOOLS = {x for x in vars(itertools).values() if isinstance(x, type) and x.__module__ == "itertools"}

BY_INDEX = {reversed, type(iter(type("Indexed", (), {"__getitem__": lambda self, i: i})()))}
"""Iterators that call ``__getitem__`` of a class in Python."""

LAZY: set[type] = {GeneratorType, map, filter, zip, enumerate, type(iter(int, 1)), *BY_INDEX}
LAZY |= {x for x in OF_ITERTOOLS if hasattr(x, "__next__")}
"""Generators, and iterators in C that call functions or take from other iterators."""

CALCULATING = (itertools.accumulate,)
"""Iterators that compute even if they are given no function."""

QUIET = {type(iter(x)) for x in ((), [], range(0), {}, set(), "", {}.values(), {}.items())}
QUIET |= {list, tuple, dict, set, int, float, str, bool, type(None)}
"""Iterators in C over containers, and data: they call nothing."""

RECORDED = "generators that record"
"""Key in a tape's memory for weak references to such generators, by identity."""

REWRITTEN = object()
"""A constant in the code of recorded generators, which identifies those that only move values and name no tape."""

MOVING = PASSIVE | {float, complex, list, tuple, dict, set, frozenset}
"""Classes whose call only converts to a number or stores its arguments."""


def is_recorded(tape: Tape, x: Any) -> bool:
    """Whether the computations of ``x``, an iterator or a function that it calls, are recorded on ``tape``."""
    kind = type(x)
    if kind in QUIET:
        return True
    if kind is GeneratorType:
        return x.gi_frame is None or runs_recorded(tape, x.gi_frame)  # without a frame it has ended
    if kind is CoroutineType:
        return False
    if kind is Recording:
        return leads_to(x.tape, tape)
    if kind is functools.partial and x.args and type(x.args[0]) is Tape:  # a function of the engine
        return leads_to(x.args[0], tape)
    if kind not in LAZY and kind not in OF_ITERTOOLS:
        in_python = isinstance(getattr(kind, "__next__", None), FunctionType)
        return x in MOVING if isinstance(x, type) else not callable(x) and not in_python
    parts = _parts(x)
    if kind in BY_INDEX and any(isinstance(getattr(type(p), "__getitem__", None), FunctionType) for p in parts):
        return False
    if isinstance(x, CALCULATING) and not any(type(p) is Recording for p in parts):
        return False
    for p in parts:
        if type(p) not in QUIET and not is_recorded(tape, p):
            return False
    return True


def runs_recorded(tape: Tape, frame: FrameType) -> bool:
    """Whether a frame runs code that was rewritten to record on ``tape``, which is then one of its variables."""
    code = frame.f_code
    entry = _named_like_tapes.get(id(code))
    names = _names_like_tapes(code) if entry is None else entry[1]
    if names:
        variables = frame.f_locals
        tapes = [x for x in map(variables.get, names) if type(x) is Tape]
        if tapes:
            return tapes[0] is tape or any(leads_to(x, tape) for x in tapes)
    return code.co_consts[-1:] == (REWRITTEN,)


_named_like_tapes: dict[int, tuple[CodeType, list[str]]] = {}
MOST_CODES = 4096


def _names_like_tapes(code: CodeType) -> list[str]:
    """Return the names of variables that may hold the tape on which code records."""
    if len(_named_like_tapes) >= MOST_CODES:
        _named_like_tapes.clear()
    found = [n for n in (*code.co_varnames[:1], *code.co_freevars) if n.endswith("tape")]
    _named_like_tapes[id(code)] = code, found
    return found


def _parts(x: Any) -> list[Any]:
    """Return the functions that an iterator in C calls and the iterators that it takes from."""
    parts = referents(x)
    if type(x) is not itertools.chain:
        return parts
    found: list[Any] = []
    for p in parts:
        if type(p) in (_of_tuple, _of_list):
            found += itertools.chain.from_iterable(gc.get_referents(p))
        else:
            found.append(p)
    return found


_of_tuple, _of_list = type(iter(())), type(iter([]))


def leads_to(own: Any, tape: Tape) -> bool:
    """Whether ``tape`` is ``own`` or encloses it, so that records on ``own`` also appear on ``tape``."""
    while type(own) is Tape:
        if own is tape:
            return True
        own = own.parent
    return False


def take(tape: Tape, iterator: Any, step: Callable[..., Any], *sent: Any) -> Any:
    """Return ``step(*sent)``, a step of an iterator; note the result on each tape on which it is not recorded."""
    seen = tape.memory.get(RECORDED)
    if seen is not None:
        reference = seen.get(id(iterator))
        if reference is not None and reference() is iterator:
            return step(*sent)
    outside = [enclosing for enclosing in enclosing_tapes(tape) if not is_recorded(enclosing, iterator)]
    if not outside and type(iterator) is GeneratorType:
        tape.memory.setdefault(RECORDED, {})[id(iterator)] = weakref.ref(iterator)
    if not outside:
        return step(*sent)
    reached = tuple(Reach(iterator, sent).values)
    says = functools.partial(_refused, _where(iterator), user_frame())

    def come_out(y: Any) -> None:
        for enclosing in outside:
            note(enclosing, y, iterator, reached, says)

    try:
        y = connected.advanced(tape, says, step, *sent)  # notes what the frame stores
    except StopIteration as end:
        come_out(end.value)
        raise
    come_out(y)
    return y


def followed(tape: Tape, x: Any) -> Any:
    """Return the iterator to use in place of ``x``: one that notes each value if ``x`` runs unrecorded."""
    enclosing: Tape | None = tape
    while enclosing is not None:
        if not is_recorded(enclosing, x):
            return _taken(tape, x)
        enclosing = enclosing.parent
    return x


def _taken(tape: Tape, x: Any) -> Iterator[Any]:
    send = getattr(x, "send", None)
    value = None
    while True:
        try:
            y = take(tape, x, next, x) if send is None or value is None else take(tape, x, send, value)
        except StopIteration as end:
            return end.value
        value = yield y


def _where(iterator: Any) -> str:
    if type(iterator) is GeneratorType and iterator.gi_frame is not None:
        code = iterator.gi_code
        return f"the generator {iterator.__qualname__} ({code.co_filename}:{iterator.gi_frame.f_lineno})"
    return f"an iterator of {type(iterator).__module__}.{type(iterator).__qualname__}".replace("builtins.", "")


def _refused(what: str, taken: tuple[str, int]) -> str:
    return (
        f"{what} was created before the differentiated function was called, so its operations are not recorded; the value that "
        f"it returned or stored at {taken[0]}:{taken[1]} depends on differentiated arguments and influences the output. Create it "
        "inside the differentiated function, or let it read differentiated values only through morula.stop_gradient."
    )
