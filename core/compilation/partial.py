"""``jit(f, partial=True)``: what cannot be compiled is run by Python, between compiled parts.

If ``f`` as a whole cannot be compiled for some arguments, Python runs it with its calls and loops redirected
(``division``): each function that it calls and each of its loops is a ``Part``, compiled if it can be, else divided again.
A derivative takes the same way: the recorded program calls compiled parts, each one operation with a compiled pullback.
"""

from __future__ import annotations

import copy
import functools
import operator
import time
import warnings
from collections.abc import Iterable
from types import FunctionType, MethodType
from typing import Any, ClassVar

from ..api import Transformed, pullback
from ..eager.recorded.call import call
from ..eager.recorded.tape import OBSERVED, Tape, around
from ..faults import prune
from ..source.definitions import NoSource, describe, name_of
from .codes import Code, Runs, table_of
from .compiled import Checks, Compilation
from .compiled_operations import record_call
from .division import divided
from .jitted import Jitted, behind
from .race import Race
from .written_arguments import NotCompiled, on_copies, written_places

ENOUGH = 16
"""After how many refused calls a part that has no program is left to Python, or after how many that raise, one after the other."""
MOST_STEPS = 60_000
"""How many calls tracing one part may take; a part that takes more is divided."""
ALLOWANCE = 20.0
"""How many seconds tracing one part may take, and compiling all parts of a program, in addition to as many as have passed
without compiling."""
MOST_FUNCTIONS = 8
"""How many functions of one code (closures) are compiled."""


def _is_plain(cls: type) -> bool:
    """Return whether making an instance does no more than to call an ``__init__`` that is written in Python."""
    is_whole = not getattr(cls, "__abstractmethods__", None)
    return is_whole and cls.__new__ is object.__new__ and type(cls.__init__) is FunctionType


def _initialised(made: Any, returned: Any) -> Any:
    if returned is not None:
        raise TypeError(f"__init__() should return None, not '{type(returned).__name__}'")
    return made


class Parts:
    """The parts of one program; called with a function and its arguments, it runs the function in its best form."""

    def __init__(self, target: str, checks: Checks) -> None:
        self.target, self.checks = target, checks
        self.codes: dict[int, Code] = {}
        self.is_timed = False
        self.inner = 0.0  # seconds in the parts that the running one has called
        self.began, self.compiling = time.perf_counter(), 0.0  # the time, and the seconds of compiling so far
        self.form = ""  # that of the part that ran last

    def __call__(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        kind = type(function)
        if kind is FunctionType:
            return self.part(function)(*args, **kwargs)
        if kind is MethodType and type(function.__func__) is FunctionType:
            return self.part(function.__func__)(function.__self__, *args, **kwargs)
        if kind is type and (initialise := self.initialiser(function)) is not None:
            made = object.__new__(function)
            return _initialised(made, initialise(made, *args, **kwargs))
        return function(*args, **kwargs)

    def __morula_call__(self, tape: Tape, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        kind = type(function)
        if kind is FunctionType:
            return call(tape, self.part(function), *args, **kwargs)
        if kind is MethodType and type(function.__func__) is FunctionType:
            part = self.part(function.__func__)
            if part is not function.__func__:
                return call(tape, part, function.__self__, *args, **kwargs)
        if kind is type and (initialise := self.initialiser(function)) is not None:
            made = object.__new__(function)
            return _initialised(made, call(tape, initialise, made, *args, **kwargs))
        return call(tape, function, *args, **kwargs)

    def initialiser(self, cls: type) -> FunctionType | None:
        """Return the divided ``__init__`` of a class; None if Python makes its instances.

        It is not compiled as a whole: the object that it is given has no attributes yet, so its methods, such as
        ``__hash__`` and ``__repr__``, must not be called.
        """
        if not _is_plain(cls):
            return None
        code = self.code_of(cls.__init__)  # type: ignore[arg-type]
        return None if code.is_kept else self.divided(code, cls.__init__)  # type: ignore[arg-type]

    def part(self, function: FunctionType) -> Any:
        """Return the part for a function; the function itself if Python calls it as it is."""
        code = self.code_of(function)
        if code.is_kept:
            return function
        part = code.parts.get(function)
        if part is None:
            if len(code.parts) >= MOST_FUNCTIONS:
                alone = any(race.is_won_alone for race in code.races)
                return function if alone else self.divided(code, function)
            part = code.parts[function] = Part(function, self, code)
        return part

    def may_compile(self) -> bool:
        """Return whether there is time left to compile further parts."""
        return self.compiling < ALLOWANCE + (time.perf_counter() - self.began - self.compiling)

    def code_of(self, function: FunctionType) -> Code:
        code = self.codes.get(id(function.__code__))
        if code is None:
            code = self.codes[id(function.__code__)] = Code(function)
        return code

    def put_off(self, functions: Iterable[FunctionType], reason: str) -> None:
        """Let functions wait that could not be traced within a larger part, as if their own tracing had been refused."""
        for code in {id(f.__code__): self.code_of(f) for f in functions}.values():
            code.reason = code.reason or reason
            code.put_off()

    def of(self, f: Any) -> Any:
        """Return the part for any callable."""
        function, first = behind(f)
        if type(function) is FunctionType:
            return self.part(function) if not first else Part(f, self, self.code_of(function))
        return Part(f, self, None) if isinstance(f, Transformed) else f

    def loop(self, function: FunctionType) -> Part:
        """Return the part for a loop that has been made a function."""
        code = self.codes[id(function.__code__)] = Code(function, is_loop=True)
        part = code.parts[function] = Part(function, self, code)
        return part

    def divided(self, code: Code, function: FunctionType) -> FunctionType:
        """Return the function with its calls and loops redirected; the function itself if it has none, or no source."""
        if not code.is_divided:
            code.is_divided = True
            try:
                code.template = divided(code.function, self, self.loop, code.is_loop)
            except (NoSource, SyntaxError):
                code.template = None
        return function if code.template is None else code.template.bind(function)

    def timed(self, code: Code | None, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call ``f`` and charge the time to the part, in the form in which it ran."""
        if code is None:
            return f(*args, **kwargs)
        outside, self.inner = self.inner, 0.0
        began = time.perf_counter()
        try:
            return f(*args, **kwargs)
        finally:
            seconds = time.perf_counter() - began
            code.runs[self.form].calls += 1
            code.runs[self.form].seconds += seconds - self.inner
            self.inner = outside + seconds


class Part(Jitted):
    """A function that is compiled where it can be, and else run by Python with its own parts."""

    limits: ClassVar[dict[str, Any]] = {"most": MOST_STEPS, "seconds": ALLOWANCE, "is_pure": True}

    def __init__(self, f: Any, parts: Parts, code: Code | None, static: Any = (set(), set())) -> None:
        super().__init__(f, parts.target, *static, parts.checks)
        self.parts, self.code = parts, code
        self.history.warns = isinstance(self, Program)  # other parts may be called by code that is not the user's
        self.refused: dict[Any, Exception] = {}
        self.failures, self.raised, self.is_left, self.has_programs = 0, 0, False, False
        self.pulled: dict[int, tuple[Compilation, bool]] = {}
        self.races = (Race(), Race()) if code is None else code.races
        self.on_copies: dict[tuple[int, ...], Part] = {}

    def __reduce__(self) -> Any:
        f = self.__wrapped__  # type: ignore[attr-defined]
        return name_of(self, f) or (partly, (f, self.target, (self.static, self.static_names), self.checks))

    def __repr__(self) -> str:
        return f"<partial jit of {describe(self.__wrapped__)}>"  # type: ignore[attr-defined]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if OBSERVED and around(None) is not None:  # Python runs between the parts, and they would be checked alone
                return pullback(self.__wrapped__, *args, **kwargs)[0]  # type: ignore[attr-defined]
            if self.parts.is_timed:
                return self.parts.timed(self.code, self.attempt, args, kwargs)
            return self.attempt(*args, **kwargs)
        except Exception as error:
            prune(error)
            raise

    def attempt(self, *args: Any, **kwargs: Any) -> Any:
        if self.races[0].is_over:
            return self.in_parts(*args, **kwargs)
        return self.fastest(self.races[0], self.in_parts, self.alone, args, kwargs)

    def fastest(self, race: Race, in_parts: Any, alone: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call one of two functions that do the same, and note how long it took, without compiling."""
        if self.code is not None and not self.code.is_tried:  # it would lose before it is compiled
            return in_parts(*args, **kwargs)
        is_alone = race.is_alone()
        compiling, began = self.parts.compiling, time.perf_counter()
        y = (alone if is_alone else in_parts)(*args, **kwargs)
        seconds = time.perf_counter() - began - (self.parts.compiling - compiling)
        race.note(is_alone, seconds, self.parts.form == "compiled")
        return y

    def alone(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.function(*self.first, *args, **kwargs)
        finally:
            self.parts.form = "interpreted"

    def in_parts(self, *args: Any, **kwargs: Any) -> Any:
        if self.is_left:
            return self.by_python(*args, **kwargs)
        try:
            y = self.enter(*args, **kwargs)
        except (
            Exception
        ) as error:  # a compiled program that raises has changed nothing: Python raises again, after all effects
            self.note_raised(error)
            return self.by_python(*args, **kwargs)
        self.raised = 0
        self.parts.form = "compiled"
        return y

    def note_raised(self, error: Exception) -> None:
        """Leave a part to Python whose programs do nothing but raise: where they would print, log, or do what Python does."""
        self.raised += not isinstance(error, NotCompiled)
        self.is_left = self.is_left or self.raised >= ENOUGH

    def general(self, *args: Any, **kwargs: Any) -> Any:
        if self.compiled_for(args, kwargs) is None:
            raise NotCompiled
        return super().general(*args, **kwargs)

    def by_python(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.interpreted()(*self.first, *args, **kwargs)
        finally:
            self.parts.form = "interpreted"

    def interpreted(self) -> Any:
        """Return the function that Python runs in place of ``self.function``."""
        f = self.function
        if isinstance(f, Transformed):
            return self.derivative
        return f if self.code is None or self.code.is_kept else self.parts.divided(self.code, f)

    @functools.cached_property
    def derivative(self) -> Any:
        """The derivative again, of a function that has parts."""
        transform, inner, *rest = self.function.made  # type: ignore[attr-defined]
        return transform(self.parts.of(inner), *rest)

    def compiled_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Compilation | None:
        """Return the program for these arguments, compiled; None if there is none, or not yet."""
        code = self.code
        if code is not None and code.wait > 0 and not self.has_programs:  # the arguments may hold many objects
            code.wait -= 1
            return None
        try:
            return self.compilation(*self.given(args, kwargs))[0]
        except NotCompiled:
            return None
        except Exception as error:  # whatever is wrong with the program, Python will say
            self.failures += 1
            self.is_left = self.is_left or self.failures >= ENOUGH and not self.has_programs
            if self.code is not None:
                self.code.reason = self.code.reason or str(error)
            return None

    def _made(self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any], key: Any) -> Compilation:
        if key in self.refused:
            raise self.refused[key]
        code = self.code
        if not self.parts.may_compile():
            raise NotCompiled
        if code is not None:
            if code.wait > 0:
                code.wait -= 1
                raise NotCompiled
            code.put_off()
        compiling, began = self.parts.compiling, time.perf_counter()
        try:
            with warnings.catch_warnings():  # what it warns of does not happen if the program is refused
                warnings.filterwarnings("ignore", "print in compiled code", RuntimeWarning)
                found = super()._made(args, kwargs, leaves, key)
            found.compile()
        except Exception as error:
            self.refused[key] = error
            through = getattr(error, "through", ())
            self.parts.put_off((f for f in through if f is not self.function), str(error))
            if key in self.forms:
                self.forms[key].programs.pop(self.forms[key].values(leaves), None)
            raise
        finally:
            self.parts.compiling = compiling + time.perf_counter() - began
        self.has_programs = True
        return found

    # Derivatives

    def __morula_call__(self, tape: Tape, *args: Any, **kwargs: Any) -> Any:
        """Record the call as one operation with a compiled pullback, or the function that Python runs."""
        if self.races[1].is_over:
            return self.record_parts(tape, *args, **kwargs)
        return self.fastest(self.races[1], self.record_parts, self.record_alone, (tape, *args), kwargs)

    def record_alone(self, tape: Tape, *args: Any, **kwargs: Any) -> Any:
        try:
            return call(tape, self.function, *self.first, *args, **kwargs)
        finally:
            self.parts.form = "interpreted"

    def record_parts(self, tape: Tape, *args: Any, **kwargs: Any) -> Any:
        found = None if self.is_left else self.compiled_for(args, kwargs)
        if found is not None:
            try:
                y = (
                    self.record_writes(tape, args, kwargs)
                    if found.program.written
                    else record_call(tape, self, args, kwargs)
                )
            except Exception as error:  # as in ``in_parts``: nothing has changed, and what did run has no effects
                self.note_raised(error)
            else:
                self.raised = 0
                self.parts.form = "compiled"
                return y
        try:
            return call(tape, self.interpreted(), *self.first, *args, **kwargs)
        finally:
            self.parts.form = "interpreted"

    def recorded(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        raise NotCompiled

    def like(self, f: Any) -> Part:
        return Part(f, self.parts, None)

    def has_gradient(self, given: Any) -> bool:
        part: Any = self.with_gradient
        return self._noted(part.compiled_for(given, {}) is not None)

    def has_pull(self, found: Compilation, dy: Any, given: Any) -> bool:
        part: Any = self.pull
        if id(found) not in self.pulled:
            self.pulled[id(found)] = found, self._noted(part.compiled_for((dy, *given), {}) is not None)
        return self.pulled[id(found)][1]

    def _noted(self, is_compiled: bool) -> bool:
        if not is_compiled and self.code is not None:
            self.code.reason = self.code.reason or "its derivative cannot be compiled"
        return is_compiled

    def record_writes(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record a call that writes into arrays: a function of copies gives the new elements, which are stored."""
        given = self.given(args, kwargs)
        places = written_places(self.compilation(*given)[0], given)
        if places not in self.on_copies:
            self.on_copies[places] = self.like(on_copies(self.function, places))
        y, new = call(tape, self.on_copies[places], *given[0], **given[1])
        for place, elements in zip(places, new):
            call(tape, operator.setitem, given[0][place], Ellipsis, elements)
        return y


def partly(f: Any, target: str, static: tuple[set[int], set[str]], checks: Checks) -> Part:
    """Return the program of which ``f`` is the outermost part."""
    parts = Parts(target, checks)
    function, _ = behind(f)
    code = parts.code_of(function) if type(function) is FunctionType else None
    if code is not None:
        code.wait = 0
    made = Program(f, parts, code, static)
    if code is not None and not made.first:
        code.parts[function] = made
    return made


class Program(Part):
    """The outermost part."""

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """Run the function twice on copies of these arguments, and print and return what became of its parts.

        The first run compiles, the second one is timed.

        Args:
            *args, **kwargs: the arguments of a call; they are copied, but other effects of the function happen.

        Returns:
            The text that is printed: the program, if the whole was compiled; else one line for each part.
        """
        if self.compiled_for(args, kwargs) is not None:
            return super().explain(*args, **kwargs)
        parts = self.parts
        self(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        for code in parts.codes.values():
            code.runs = {"compiled": Runs(), "interpreted": Runs()}
        parts.is_timed, parts.inner = True, 0.0
        try:
            self(*copy.deepcopy(args), **copy.deepcopy(kwargs))
        finally:
            parts.is_timed = False
        text = "\n".join(table_of([code for code in parts.codes.values() if not code.is_kept]))
        print(text)
        return text
