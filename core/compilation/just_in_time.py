"""``jit``: the public function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import BadInput
from ..source.definitions import describe
from ..source.requirements import check_function
from . import targets
from .compiled import Checks
from .jitted import Jitted
from .partial import partly

Function = Callable[..., Any]


def jit(
    f: Function | None = None,
    *,
    target: str = "auto",
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    bounds_check: bool = True,
    overflow_check: bool = True,
    partial: bool = False,
    parallel: bool | int = False,
) -> Any:
    """Return ``f`` compiled, at its first call with a signature: structure, dtypes and shapes of the arguments.

    Numbers and arrays in the arguments, in any containers and objects, are the program's inputs; everything else is a
    compile-time constant.  ``if``, ``while`` and ``for`` on run-time values are compiled, and arrays, lists, dicts and
    objects may be changed in place.  A number needed while compiling (a shape, an index into a list) makes its argument
    static: the program is compiled for its value; ``jit(f).explain`` says so.

    Args:
        f: the function; if omitted, ``jit`` returns a decorator with these options.
        target: ``"native"`` (loops for the CPU, by LLVM), ``"xla"`` (by JAX; CPU, GPU, TPU), or ``"auto"``.
        static_argnums: positions of arguments that are compile-time constants; they need ``__hash__`` and ``__eq__``.
        static_argnames: names of such arguments.
        bounds_check: in native code, check indices that cannot be proved to be in range.
        overflow_check: raise ``OverflowError`` where a Python int needs more than 64 bits; else it wraps around.
        partial: where the function cannot be compiled as a whole, let Python run it between compiled parts: the functions
            that it calls and its loops.  ``explain`` lists the parts, the reasons and the share of time of each.
        parallel: in native code, run loops with independent iterations, and operations on large arrays, in several threads: True for
            one on each core that the process may use, or a number of threads.  Sums may differ in their last digits from those of one
            thread; they are the same in each run with one number of threads.  ``explain`` says how each loop runs, and why.

    Returns:
        A function with the same arguments and results; ``explain`` and ``lower`` describe its programs.

    Raises:
        BadInput: when called: the function cannot be compiled (and is not ``partial``), or a static value has no hash; when made: wrong options,
            or the target's packages are not installed.

    >>> @jit
    ... def power(x, n):
    ...     r = 1.0
    ...     while n > 0:
    ...         n -= 1
    ...         r *= x
    ...     return r
    >>> power(2.0, 10)
    1024.0
    """
    if f is None or isinstance(f, (staticmethod, classmethod)):
        with_options = functools.partial(
            jit,
            target=target,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            bounds_check=bounds_check,
            overflow_check=overflow_check,
            partial=partial,
            parallel=parallel,
        )
        return with_options if f is None else type(f)(with_options(f.__func__))
    check_function(f)
    targets.check(target)
    positions = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    static = _static_arguments(f, positions, names)
    if not isinstance(parallel, (bool, int)) or parallel < 0 or parallel is not False and parallel == 0:
        raise BadInput(f"parallel must be True, False or a number of threads, at least 1; it is {parallel!r}")
    checks = Checks(bounds_check, overflow_check, parallel)
    return partly(f, target, static, checks) if partial else Jitted(f, target, *static, checks)


def _static_arguments(f: Function, positions: tuple[int, ...], names: tuple[str, ...]) -> tuple[set[int], set[str]]:
    """Return the static positions and names, each completed by the other: an argument may be passed either way."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return set(positions), set(names)
    known = [p.name for p in parameters]
    takes_any = {p.kind for p in parameters}
    for i in positions:
        if (
            not isinstance(i, int)
            or inspect.Parameter.VAR_POSITIONAL not in takes_any
            and not -len(known) <= i < len(known)
        ):
            raise BadInput(f"static_argnums {i!r} is out of range: {describe(f)} has {len(known)} argument(s)")
    for name in names:
        if name not in known and inspect.Parameter.VAR_KEYWORD not in takes_any:
            raise BadInput(f"static_argnames {name!r} is not an argument of {describe(f)}: it has {', '.join(known)}")
    found = {i % len(known) if i < 0 else i for i in positions} | {known.index(n) for n in names if n in known}
    return found, {*names, *(known[i] for i in found if i < len(known))}
