"""A function that is compiled for the types of its arguments, at the first call with these types."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import BuiltinMethodType, FunctionType, MethodType
from typing import Any, ClassVar

import numpy as np

from ..eager.recorded.call import call
from ..eager.recorded.tape import OBSERVED, NotANumber, Tape
from ..errors import BadInput, CapacityExceeded
from ..exclusion import need, one_at_a_time, with_locks
from ..faults import prune
from ..source.definitions import LikeAFunction, describe, name_of
from ..specialise.assumed_ranges import ranges_of
from ..specialise.objects import LIBRARIES
from ..specialise.traced import Trace
from ..values.attributes import public_names
from ..values.layout import Static, Unhashable, layout_of, names_of_arguments, scan
from .compiled import CAPACITY, Checks, Compilation, calls_python, specialised
from .compiled_operations import pullback_of, record_call, value_and_gradient_of
from .entry import entry
from .explain import Lowered, explanation
from .recompilation import History

Function = Callable[..., Any]

FACTOR = 16
"""How much larger the capacity of growing lists becomes each time that one was full."""
LARGEST = 1 << 22
"""The largest capacity that is tried."""


class _Form:
    """The programs for one signature: one per value of the static leaves, sparsity pattern and set of read-only arrays written to."""

    def __init__(self) -> None:
        self.static: tuple[int, ...] = ()
        self.written: tuple[int, ...] = ()
        self.patterns: tuple[int, ...] = ()
        self.capacity = CAPACITY
        self.programs: dict[tuple[Any, ...], Compilation] = {}
        self.ranges: dict[int, tuple[int, int]] = {}  # those that the last program assumes

    def values(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        found = tuple(repr(leaves[i]) for i in self.static) + tuple(leaves[i].tobytes() for i in self.patterns)
        return found if not self.written else (*found, *(leaves[i].flags.writeable for i in self.written))


class Jitted(LikeAFunction):
    """A function that is compiled when it is called; ``jit`` makes it."""

    limits: ClassVar[dict[str, Any]] = {}
    """What a program must not exceed: see ``specialised``."""

    def __init__(
        self,
        f: Function,
        target: str,
        static: set[int],
        static_names: set[str],
        checks: Checks,
        is_strong: bool = False,
    ) -> None:
        functools.update_wrapper(self, f, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
        self.target, self.static, self.static_names, self.checks = target, static, static_names, checks
        self.is_strong = is_strong
        self.function, self.first = behind(f)
        self.forms: dict[Any, _Form] = {}
        self.history = History(describe(f))
        self.enter = self.general

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return (self.enter if not OBSERVED else self.general)(*args, **kwargs)
        except Exception as error:
            prune(error)
            raise

    def __dir__(self) -> list[str]:
        return public_names(self, "explain", "lower")

    def __repr__(self) -> str:
        return f"<jit of {describe(self.__wrapped__)}>"  # type: ignore[attr-defined]

    def __reduce__(self) -> Any:
        """Pickle by name, like a function; programs are compiled again."""
        f = self.__wrapped__  # type: ignore[attr-defined]
        made = Jitted, (f, self.target, self.static, self.static_names, self.checks)
        return name_of(self, f) or made

    def __morula_trace__(self, trace: Trace, *args: Any, **kwargs: Any) -> Any:
        """Inline the function into a program that is being traced."""
        return trace.call(self.function, *self.first, *args, **kwargs)

    def __morula_call__(self, tape: Tape, *args: Any, **kwargs: Any) -> Any:
        """Record the call as one operation of the tape."""
        if tape.observer is not None:
            return self.recorded(tape, args, kwargs)
        return record_call(tape, self, args, kwargs)

    def recorded(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record the function from its source, as if it were not compiled."""
        return call(tape, self.__wrapped__, *args, **kwargs)  # type: ignore[attr-defined]

    def has_gradient(self, given: Any) -> bool:
        """Return whether the compiled gradient is to be used; if it cannot be compiled, using it raises the reason."""
        return True

    def has_pull(self, found: Compilation, dy: Any, given: Any) -> bool:
        """Return whether the compiled pullback is to be used."""
        return True

    @functools.cached_property
    def plain(self) -> Jitted:
        """This function without bound or static arguments: the caller passes all."""
        return self if not self.first and not self.static and not self.static_names else self.like(self.function)

    @functools.cached_property
    def with_gradient(self) -> Jitted:
        """The value and gradient by all arguments, for a function with a real scalar result."""
        return self.like(value_and_gradient_of(self.function))

    @functools.cached_property
    def pull(self) -> Jitted:
        """The cotangents of all arguments, as a function of the result's cotangent and the arguments."""
        return self.like(pullback_of(self.function))

    @functools.cached_property
    def strong(self) -> Jitted:
        """This function with strong products (zero cotangent times anything is zero), for runs that gave NaN."""
        f = self.__wrapped__  # type: ignore[attr-defined]
        return Jitted(f, self.target, self.static, self.static_names, self.checks, is_strong=True)

    def like(self, f: Function) -> Jitted:
        return Jitted(f, self.target, set(), set(), self.checks)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Return the traced program for these arguments, whose IR and code can be printed.

        Args:
            *args, **kwargs: the arguments of a call; the function is traced for their types, but does not run.

        Returns:
            An object whose ``as_text(language)`` gives the program as text.

        Raises:
            BadInput: the function cannot be compiled.

        >>> import morula as mo
        >>> mo.jit(lambda x: 2.0 * x).lower(1.0).as_text().splitlines()[0]
        'function <lambda>(%x: float):'
        """
        try:
            return Lowered(self.compilation(*self.given(args, kwargs))[0])
        except Exception as error:
            prune(error)
            raise

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """Print and return a description of the program for these arguments: its target, static values and reasons.

        Args:
            *args, **kwargs: the arguments of a call; the function is compiled for their types, but does not run.

        Returns:
            The text that is printed.

        Raises:
            BadInput: the function cannot be compiled.

        >>> import morula as mo
        >>> text = mo.jit(lambda n: np.zeros(n)).explain(3)
        <lambda> for the target native: ...
        static: n, needed for the shape of an array; ...
        """
        try:
            given = self.given(args, kwargs)
            ranges = ranges_of(scan(given)[0], {})
            made = with_locks(
                lambda: specialised(self.function, *given, self.target, self.checks, ranges=ranges, **self.limits)
            )
            text = explanation(made.compile(keep=True), *given)
        except Exception as error:
            prune(error)
            raise
        print(text)
        return text

    def general(self, *args: Any, **kwargs: Any) -> Any:
        """Find or compile the program for any arguments and run it; the next call tries this program first."""
        return with_locks(lambda: self._general(args, kwargs))

    def _general(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = self.given(args, kwargs)
        found, leaves = self.compilation(*given)
        found.compile()
        need(found.program.locks)
        if not self.first and not found.capacity and not found.program.locks:
            if found.enter is None:
                found.enter = entry(found, layout_of(given), leaves, self.general, self.strongly)
            self.enter = found.enter
        try:
            return found.run(leaves, given)
        except NotANumber:
            return self.strongly(*args, **kwargs)
        except CapacityExceeded:
            self.enlarge(given, found)
            return self.general(*args, **kwargs)

    def enlarge(self, given: tuple[tuple[Any, ...], dict[str, Any]], found: Compilation) -> None:
        """Let the next program for these arguments have lists of larger capacity; the run that filled one had no effects."""
        if found.capacity >= LARGEST or calls_python(found.function.block):
            raise BadInput(
                f"a list in {describe(self.function)} grew beyond {found.capacity} items, the most in compiled code, or in compiled code "
                "that prints or calls Python; write into an array of the greatest length"
            )
        leaves, key = scan(given)
        form = self.forms[key]
        form.capacity = max(form.capacity, found.capacity * FACTOR)
        if form.programs.get(form.values(leaves)) is found:
            del form.programs[form.values(leaves)]

    def strongly(self, *args: Any, **kwargs: Any) -> Any:
        """Rerun with strong products after a NaN; the first run had no effects."""
        return (self.strong.enter if not OBSERVED else self.strong.general)(*args, **kwargs)

    def given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if self.static or self.static_names:
            args = tuple(Static(x) if i in self.static else x for i, x in enumerate(args))
            kwargs = {k: Static(x) if k in self.static_names else x for k, x in kwargs.items()}
        return (*self.first, *args), dict(sorted(kwargs.items()))

    def compilation(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Compilation, list[Any]]:
        """Return the program for these arguments, and their leaves."""
        given = args, kwargs
        try:
            leaves, key = scan(given)
            form = self.forms.get(key)
        except Unhashable as error:
            raise BadInput(f"{describe(self.function)}: {error}") from None
        except BadInput as error:
            raise BadInput(f"{error}\n  in {_refused(args, kwargs, self.function)}") from None
        found = None if form is None else form.programs.get(form.values(leaves))
        if found is not None and found.fits(leaves) and found.is_current():
            return found, leaves
        return with_locks(lambda: self._made(args, kwargs, leaves, key)), leaves

    def _made(self, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any], key: Any) -> Compilation:
        """Return the program, traced now unless another thread has done so meanwhile."""
        given = args, kwargs
        with one_at_a_time:
            form = self.forms.setdefault(key, _Form())
            found = form.programs.get(form.values(leaves))
            if found is None or not found.fits(leaves) or not found.is_current():
                found = specialised(
                    *(
                        self.function,
                        args,
                        kwargs,
                        self.target,
                        self.checks,
                        form.static,
                        0,
                        self.is_strong,
                        form.capacity,
                    ),
                    ranges=ranges_of(leaves, form.ranges),
                    **self.limits,
                )
                form.ranges |= found.program.ranges
                form.static = tuple(sorted({*form.static, *found.static}))
                form.patterns = tuple(sorted({*form.patterns, *found.patterns}))
                form.written = tuple(sorted({*form.written, *found.written}))
                form.programs[form.values(leaves)] = found
                names = names_of_arguments(self.function, layout_of(given))
                self.history.add(names, leaves, found.static, self._fixed(args, kwargs))
            return found

    def _fixed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments that are compile-time constants as a whole, by name."""
        try:
            names = inspect.signature(self.function).parameters
        except (TypeError, ValueError):  # of C
            names = ()
        named = [*zip([*names, *map(str, range(len(args)))], args), *kwargs.items()]
        return {k: x for k, x in named if not scan(x)[0] and not isinstance(x, np.ndarray)}


_HOLDERS = (np.ndarray, list, dict)
"""Classes whose bound methods take their object as an argument, because they may change it."""


def _refused(args: tuple[Any, ...], kwargs: dict[str, Any], f: Function) -> str:
    """Return the name of the argument that cannot be compiled, for messages."""
    names = getattr(getattr(f, "__code__", None), "co_varnames", ())
    for name, x in [*((names[i] if i < len(names) else str(i), x) for i, x in enumerate(args)), *kwargs.items()]:
        try:
            scan(x)
        except BadInput:
            return f"the argument {name} of {describe(f)}"
    return f"the arguments of {describe(f)}"


def behind(f: Function) -> tuple[Function, tuple[Any, ...]]:
    """Return the function behind a callable and its bound arguments: a method's object, a partial's arguments."""
    if isinstance(f, MethodType):
        function, first = behind(f.__func__)
        return function, (*first, f.__self__)
    if isinstance(f, BuiltinMethodType) and type(f.__self__) in _HOLDERS:
        return getattr(type(f.__self__), f.__name__), (f.__self__,)
    if isinstance(f, functools.partial) and not f.keywords:
        function, first = behind(f.func)
        return function, (*first, *f.args)
    if isinstance(f, Jitted):
        return f.function, f.first
    method = getattr(type(f), "__call__", None)
    if isinstance(method, (FunctionType, Jitted)) and not _knows_itself(f):
        function, first = behind(method)
        return function, (*first, f)
    return f, ()


def _knows_itself(f: Any) -> bool:
    """Return whether compiled code calls a callable object as a whole, without tracing its ``__call__``."""
    return hasattr(f, "__morula_trace__") or type(f).__module__.partition(".")[0] in LIBRARIES
