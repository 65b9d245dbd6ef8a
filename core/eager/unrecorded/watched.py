"""Watches Python code that C code calls back unrecorded, to detect the values that it stores.

Most callbacks of C code are called by the engine instead, on the tape.  The rest (keys of dicts and sets, extensions,
``pickle``, ``exec``) run unmodified under a profile function.  For code whose bytecode (``effects``) stores only
attributes of its arguments, just these attributes are compared before and after.  From the first line on that may store
anything else, everything that such frames reach by arguments, variables and globals is compared.  A new number counts
as the result of an opaque function, and a cotangent that arrives there is refused.
"""

from __future__ import annotations

import functools
import inspect
import operator
import re
import sys
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar, Token
from types import (
    BuiltinFunctionType,
    CodeType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np

from ...errors import ENGINE
from ...rules.connected import connected
from ...source.effects import (
    CACHED_PROPERTY,
    attribute,
    attributes_stored,
    changes_nothing,
    effects_of,
    loud_lines,
    stored,
)
from ...values.attributes import attributes
from ...values.memory import identity, owner
from ...values.numbers import NUMBER_TYPES, PASSIVE, call_on, is_of_exact
from ...values.program_state import Reach, is_of_engine
from ...values.reachable import contents, reached
from ...values.special_methods import special
from ...values.versions import HEAP_TYPE
from ..arrays.integers import carries, lose
from ..recorded import known
from ..recorded.tape import Tape, snapshot
from .frames import runs_recorded
from .keys import meets_no_other
from .opaque import RANDOM, Opaque, Unrecorded, note, note_overwritten, runs_text
from .opaque_calls import Recording
from .unasking import PLAIN, is_plain_key, runs_no_python
from .watching import Onlooker, innermost, stores_nothing

ASKED = {
    "__del__",
    "__doc__",
    "__module__",
    "__dict__",
    "__weakref__",
    "__init__",
    "__new__",
    "__slots__",
    "__qualname__",
}
ASKED |= {
    "__init_subclass__",
    "__annotations__",
    "__class_getitem__",
    "__post_init__",
    "__match_args__",
    "__set_name__",
}
HOLDING = (list, tuple, set, frozenset, dict, deque)


def answers(kind: type) -> bool:
    """Whether C code that compares, hashes, prints or iterates an instance of a class may run Python code."""
    found = known.answering.get(kind)
    if found is None:
        found = kind not in PLAIN and any(
            name.startswith("__") and name not in ASKED and special(kind, name) is not None
            for cls in kind.__mro__
            if cls.__flags__ & HEAP_TYPE and not (cls.__module__ or "").startswith(ENGINE)
            for name in vars(cls)
        )
        known.enter_answers(kind, found)
    return found


def calls_back(x: Any, depth: int = 3) -> bool:
    """Whether ``answers`` holds for the class of an object or of anything in a container, to the given depth."""
    kind = type(x)
    if kind in PLAIN:
        return False
    if kind is np.ndarray:
        return x.dtype.kind == "O" and _any_calls_back(x.ravel().tolist(), depth)
    if answers(kind):
        return True
    if isinstance(x, weakref.ref):
        return calls_back(x(), depth)
    if not isinstance(x, HOLDING) or not depth:
        return not depth
    return _any_calls_back((*dict.keys(x), *dict.values(x)) if isinstance(x, dict) else x, depth)


def _any_calls_back(entries: Any, depth: int) -> bool:
    kinds = {*map(type, entries)} - PLAIN
    if any(map(answers, kinds)):
        return True
    inner = tuple(k for k in kinds if issubclass(k, HOLDING) or k is np.ndarray)
    return bool(inner) and any(calls_back(e, depth - 1) for e in entries if isinstance(e, inner))


def is_data(x: Any, depth: int = 3) -> bool:
    """Whether an object holds no function, and no object of a Python class, that C code could call."""
    kind = type(x)
    if kind in DATA:
        return True
    if kind is np.ndarray:
        return x.dtype.kind != "O"
    if isinstance(x, type):
        return not x.__flags__ & HEAP_TYPE or issubclass(x, np.generic)
    if kind not in HOLDING or not depth:
        return issubclass(kind, np.dtype) or (kind.__module__ or "").startswith(KEEPING_DATA)
    entries = (*x, *x.values()) if kind is dict else x
    if {*map(type, entries)} <= DATA:
        return True
    return all(is_data(e, depth - 1) for e in entries)


def hashed(tape: Tape, function: Any, key: Any, /, *args: Any) -> Any:
    """Call ``function(*args)``, which looks up or inserts ``key``; watch it if that may run Python code."""
    if is_plain_key(key) or not calls_back(key):
        return function(*args)
    container = getattr(function, "__self__", None)
    if not isinstance(container, (dict, set, frozenset)):
        container = args[0]
    if type(container) in LOOKED_UP or type(container) is defaultdict and function in PAST_THE_FACTORY:
        if meets_no_other(container, key):
            return function(*args)
    return watched(tape, function, *args)


LOOKED_UP = {dict, set, frozenset}
PAST_THE_FACTORY = {operator.contains, operator.setitem, dict.__contains__, dict.__getitem__, dict.__setitem__}
"""Operations of a ``defaultdict`` that do not call its factory; missing keys have been inserted before ``getitem``."""


def run_opaque(tape: Tape, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call an unknown function, watched unless its arguments are data that it cannot call back."""
    bound = getattr(function, "__self__", None)
    quiet = not runs_text(function) and (bound is None or is_data(bound) or isinstance(bound, (type, ModuleType)))
    called = type(function) in CALLED or (getattr(function, "__module__", None) or "").startswith(CALCULATING_MODULES)
    if quiet and called and all(map(is_data, args)) and all(map(is_data, kwargs.values())):
        return call_on(tape.parent, function, *args, **kwargs)
    watch = Watch(tape, function, (args, kwargs))
    watch.noted = getattr(function, "__code__", None)
    y = _run(watch, args, kwargs)
    if watch.first is not None and not any(is_of_exact(type(x)) for x in (*args, *kwargs.values())):
        called = watch.noted is watch.first or runs_text(function)
        if not called:
            watch.given_back(y)
    return y


def watched(tape: Tape, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call ``function(*args, **kwargs)``, and note on the tape the values that unrecorded Python code stores."""
    watch = Watch(tape, function, (args, kwargs))
    y = _run(watch, args, kwargs)
    if watch.first is not None:
        watch.given_back(y)
    return y


def advanced(tape: Tape, says: Callable[[], str], step: Any, /, *args: Any) -> Any:
    """Advance a frame that already runs by ``step(*args)``; note what it stores, with ``says`` for the error's text."""
    watch = Watch(tape, step, (args, {}))
    watch.says = says
    return _run(watch, args, {})


def _run(watch: Watch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make the watched call."""
    enclosing = sys.getprofile()
    watch.outer = outer = innermost.onlooker
    if enclosing is None or callable(enclosing):
        install, before = sys.setprofile, enclosing
    else:  # a profiler written in C could not be reinstalled, so use the trace hook
        install, before = sys.settrace, sys.gettrace()
    watch.enclosing, watch.sees_calls = before, install is sys.setprofile
    parent = None if runs_text(watch.function) else watch.tape.parent
    try:
        innermost.onlooker = watch
        install(watch.event)  # inside ``try``, because a signal may raise right afterwards
        # Call from this frame: another frame of the engine in between would hide the frames below it.
        return watch.function(*args, **kwargs) if parent is None else parent.call(watch.function, *args, **kwargs)
    finally:
        install(before)
        watch.leave()
        innermost.onlooker = outer
        watch.end()


def call_unrecorded(tape: Tape, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a C function that only compares, hashes, prints or moves its arguments; watch it if these may call back."""
    for x in (*args, *kwargs.values()) if kwargs else args:
        if type(x) not in PLAIN and calls_back(x):
            if not kwargs and runs_no_python(function, args):
                break
            return watched(tape, function, *args, **kwargs)
    return call_on(tape.parent, function, *args, **kwargs)


ITERATORS = {GeneratorType, map, filter, zip, enumerate, reversed}
DATA = PLAIN - {FunctionType, ModuleType, type} | {slice, Recording, *ITERATORS}
DATA |= {re.Pattern, re.Match, ContextVar, Token, type(np.zeros(1).flags), type(np.zeros(1).__array_struct__)}
CALLED = {BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, np.ufunc, type, type(np.sum)}
CALLED |= {type(re.compile("").match)}
KEEPING_DATA = (*RANDOM, "_hashlib", "_blake2", "_md5", "_sha")
"""Modules whose objects keep data inside C code and call nothing."""
CALCULATING_MODULES = ("numpy.random", "pandas._libs.lib")
"""Modules of functions compiled from Cython that call only what they are given."""


HOLDING_NOTHING = PASSIVE - NUMBER_TYPES - {bytes, FunctionType, type, ModuleType} | {type(NotImplemented)}


def may_hold(x: Any) -> bool:
    """Whether an object that Python code has stored or returned may hold a computed value."""
    return type(x) not in HOLDING_NOTHING and not (type(x) is tuple and not any(map(may_hold, x)))


class Watch(Onlooker):
    """Watches the unrecorded Python code that runs during one call.

    As long as the frames are known to store only attributes of their arguments, only these attributes are compared.
    From the first line, call or result on that may store more, everything that the frames reach is compared.
    """

    def __init__(self, tape: Tape, function: Any, given: Any) -> None:
        self.tape, self.function = tape, function
        self.says: Callable[[], str] | None = None  # returns the error's text where the default does not fit
        self.given = getattr(function, "__self__", None), given
        self.begun = len(tape.records)
        self.noted: CodeType | None = None  # the code whose result the caller notes
        self.sees_calls = True  # whether the hook gets returns and calls of C functions
        self.inside: FrameType | None = None  # the running frame of the engine or of recorded code
        self.running: list[FrameType] = []  # the running frames that are not recorded
        self.followed: list[FrameType] = []  # frames whose lines are traced
        self.entered: list[tuple[FrameType, list[Any]]] = []  # unrecorded frames with the values of their variables
        # Attributes that they may store: (the code that C called, object, name, value before).
        self.stores: list[tuple[CodeType, Any, str, Any]] = []
        self.first: CodeType | None = None  # the first code called from C that may have stored something
        self.roots: list[Callable[[], Any]] = []  # return the objects that such frames can reach
        self.codes: set[CodeType] = set()
        self.variables: set[tuple[int, str]] = set()  # global variables, by the id of their scope
        self.made: dict[int, Any] = {}  # objects known to be made by such frames
        self.known: set[int] = set()
        self.seen: set[int] = set()
        self.values: list[Any] = []
        self.later: list[Any] = []  # numbers given to later frames, which earlier frames may have computed
        self.arrays: list[tuple[np.ndarray, np.ndarray]] = []

    def event(self, frame: FrameType, event: str, arg: Any) -> Any:
        if self.enclosing is not None:
            self.enclosing(frame, event, arg)
        if self.inside is not None:
            if event == "return" and frame is self.inside:
                self.inside = None
        elif event == "call":
            module = frame.f_globals.get("__name__") or ""
            if is_of_engine(module) or runs_recorded(self.tape, frame):
                self.inside = frame
                return self.event  # a trace function must return itself to get the return event
            if not stores_nothing(module) or frame.f_code is CACHED_PROPERTY:
                self.enter(frame)
        elif self.running and frame is self.running[-1]:
            if event == "return":
                self.running.pop()
                if not self.running and may_hold(arg):
                    self.made[id(arg)] = arg
                if self.first is None and not self.running and frame.f_code is not self.noted and may_hold(arg):
                    self.search(frame.f_code)  # C code may store the result
            elif event == "c_call" and self.first is None and not changes_nothing(arg):
                self.search(self.running[0].f_code)
        return None

    def enter(self, frame: FrameType) -> None:
        """List what a frame can reach before it stores anything, or only the attributes that it is known to store."""
        code, variables = frame.f_code, frame.f_locals
        self.running.append(frame)
        if self.first is None and self.sees_calls and code.co_name != "__init__":
            effects = effects_of(code)
            if effects.stores_nothing and effects.are_known(frame, variables):
                self.entered.append((frame, [*variables.values()]))
                return
        local = variables.values() if code.co_flags & inspect.CO_OPTIMIZED else map(variables.get, code.co_names)
        if code.co_name == "__init__" and code.co_argcount and code.co_varnames[0] in variables:
            x = variables[code.co_varnames[0]]
            self.made[id(x)] = x
        if self.first is not None:
            self.take_down_frame(frame, local, self.add_later)
            return
        self.entered.append((frame, [*local]))
        # Do not replace another trace function, e.g. a debugger's.
        by_lines = self.sees_calls and (sys.gettrace() is None or self.follows)
        loud = loud_lines(frame)
        stored_in = attributes_stored(frame, by_lines) if self.sees_calls else None
        if stored_in is None or None in loud or frame.f_lineno in loud:
            self.search(self.running[0].f_code)
            return
        if loud:
            self.followed.append(frame)
            self.follow(frame)
        for x, name in stored_in:
            self.stores.append((self.running[0].f_code, x, name, attribute(x, name)))

    def line(self, frame: FrameType, event: str, arg: Any) -> Any:
        if self.first is not None:
            return None
        if frame.f_lineno in loud_lines(frame):
            self.search(self.running[0].f_code)
        return self.line

    def search(self, code: CodeType) -> None:
        """List everything that existed before the call; so far only attributes of arguments have been stored."""
        changed = self.changed()
        self.first = changed[0][0] if changed else code
        held: dict[int, dict[str, Any]] = {}
        for _, x, name, old in changed:
            held.setdefault(id(x), {}).setdefault(name, old)
        for x in {id(x): x for _, x, _, _ in changed}.values():
            old = held[id(x)]
            self.seen.add(id(x))
            self.roots.append(lambda x=x, old=old: [x, *(attribute(x, name) for name in old)])
            self.take_down([*contents(x), *old.values(), *(v for name, v in attributes(x) if name not in old)])
        if not runs_text(self.function):  # eval and exec get all variables of the caller
            self.add(self.given)
        for i, (frame, local) in enumerate(self.entered):
            self.take_down_frame(frame, local, self.add_later if i else self.add)

    def changed(self) -> list[tuple[CodeType, Any, str, Any]]:
        """Return the entries of ``stores`` whose attributes have been stored."""
        return [s for s in self.stores if attribute(s[1], s[2]) is not s[3]]

    def take_down_frame(self, frame: FrameType, local: Iterable[Any], add: Callable[[Any], None]) -> None:
        code = frame.f_code
        for x in local:
            add(x)
            self.add_class(x if isinstance(x, type) else type(x))
        stores = stored(code)
        if stores.variables:
            self.roots.append(lambda: [frame.f_locals.get(name) for name in stores.variables])
        if code in self.codes:
            return
        self.codes.add(code)
        space = frame.f_globals
        for name in code.co_names:
            x = space.get(name)
            if isinstance(x, type):
                self.add_class(x)
            elif isinstance(x, ModuleType):
                for own in () if Reach.is_elsewhere(x.__name__) else code.co_names:
                    self.add_variable(vars(x), own, own in stores.attributes)
            elif add == self.add_later and not code.co_flags & inspect.CO_OPTIMIZED:
                add(x)  # the code of a text, whose globals earlier code may have made
                self.roots.append(lambda name=name: [space.get(name)])
            else:
                self.add_variable(space, name, name in stores.globals)

    def add_variable(self, space: dict[str, Any], name: str, is_stored: bool) -> None:
        """Add a global variable, once: a later frame may find another value in it."""
        if (type(space.get(name)) not in PASSIVE or is_stored) and (id(space), name) not in self.variables:
            self.variables.add((id(space), name))
            self.enter_root(lambda: [space.get(name)])

    def add_class(self, cls: type) -> None:
        if cls.__flags__ & HEAP_TYPE and cls not in self.codes:
            self.codes.add(cls)  # type: ignore[arg-type]
            for base in cls.__mro__:
                if base.__flags__ & HEAP_TYPE:
                    self.enter_root(lambda base=base: [x for x in vars(base).values() if type(x) not in CODE])

    def enter_root(self, root: Callable[[], Any]) -> None:
        self.roots.append(root)
        for x in root():
            self.take_down(x)

    def add(self, x: Any) -> None:
        if type(x) not in PASSIVE and id(x) not in self.seen:
            self.roots.append(lambda: x)
            self.take_down(x)

    def add_later(self, x: Any) -> None:
        """Add a variable of a later frame: earlier frames may have made its value."""
        if type(x) in NUMBER_TYPES:
            self.later.append(x)
            return
        if id(x) in self.seen:
            return
        if id(x) not in self.made and not isinstance(x, (*HOLDING, np.ndarray)):
            self.add(x)
            return
        held: list[Any] = []
        reached(x, set(), None, held)
        self.later += held  # not known from before the call, but stored values may depend on it
        self.copy(a for a in held if isinstance(a, np.ndarray) and id(owner(a)) not in self.known)
        if not isinstance(x, np.ndarray):
            self.roots.append(lambda: x)

    def take_down(self, x: Any) -> None:
        first = len(self.values)
        reached(x, self.known, self.seen, self.values)
        self.copy(a for a in self.values[first:] if isinstance(a, np.ndarray))

    def copy(self, arrays: Iterable[np.ndarray]) -> None:
        """Keep copies of the arrays that could be overwritten."""
        for a in arrays:
            if a.dtype.kind in "fc" and a.flags.writeable:
                a = a if type(a) is np.ndarray else a.view(np.ndarray)
                self.arrays.append((a, call_on(self.tape.parent, np.copy, a)))

    def end(self) -> None:
        """Note the values that have been stored, and the writes into arrays."""
        for frame in self.followed:  # frames of generators may go on later
            frame.f_trace = None
        if self.first is None:
            left_behind = [s for s in self.changed() if may_hold(attribute(s[1], s[2]))]
            if not left_behind:
                return
            self.search(left_behind[0][0])
        left: list[Any] = []
        reached([root() for root in self.roots], set(), None, left)
        for tape, opaque in self.origins():
            written = {id(owner(r[1])) for r in tape.records[self.begun :] if isinstance(r[1], np.ndarray)}
            for a, old in self.arrays:
                if a.tobytes() != old.tobytes() and id(owner(a)) not in written:
                    note_overwritten(tape, a, old, opaque)
        self.note(left)

    def given_back(self, y: Any) -> None:
        """Note the result of the call where the caller does not."""
        left: list[Any] = []
        reached(y, set(), None, left)
        self.note(left)

    def note(self, values: list[Any]) -> None:
        """Note the numbers and arrays that did not exist before the call."""
        made = [x for x in values if identity(x) not in self.known]
        for tape, opaque in self.origins() if made else ():
            note(tape, made, opaque.function, opaque.inputs, self.says, later=opaque.later)
            if carries(tape, (*self.values, *self.later)):
                lose(tape, [x for x in made if isinstance(x, (np.ndarray, np.integer))], opaque.function)

    def origins(self) -> Iterator[tuple[Tape, Opaque]]:
        """Yield the tapes that record the call, each with an ``Opaque`` that stands for the unrecorded code."""
        assert self.first is not None
        function, inputs = Unrecorded(self.first, self.function), snapshot(tuple(self.values))
        later = snapshot(tuple(self.later))
        yield self.tape, Opaque(function, inputs, says=self.says, later=later)
        parent = self.tape.parent if runs_text(self.function) else None
        while parent is not None:
            yield parent, Opaque(function, inputs, says=self.says, later=later)
            parent = parent.parent
        outer = self.outer
        while isinstance(outer, Watch):  # a call of an inner derivative's run, made on this tape too
            if outer.tape is not self.tape:
                yield outer.tape, Opaque(function, inputs, says=self.says, later=later)
            outer = outer.outer


CODE = {FunctionType, MethodType, property, staticmethod, classmethod, type, functools.cached_property}


connected.run_opaque = run_opaque
connected.advanced = advanced
