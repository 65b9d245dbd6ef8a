"""``vmap``: a function of one sample becomes a function of a batch, compiled or called for one sample after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..eager.recorded.call import call
from ..eager.recorded.tape import Tape
from ..errors import BadInput, MorulaError
from ..faults import prune
from ..rules.registry import BATCH_RULES, key_of
from ..source.definitions import LikeAFunction, describe, name_of
from ..source.requirements import check_function
from ..values.attributes import public_names
from ..values.layout import scan
from .compiled import Checks
from .compiled_operations import record_call
from .jitted import Jitted
from .recent import Recent
from .samples import Axes, BadBatch, Function, batched


def vmap(f: Function, in_axes: Axes = 0, out_axes: Axes = 0, axis_name: str | None = None) -> Function:
    """Return a function that calls ``f``, written for one sample, for all samples of a batch.

    The function is compiled for the types of its arguments. XLA computes all samples at once: an ``if`` whose condition differs
    between samples computes both branches and selects, and a loop runs until it has ended for all samples. Native code does so where it
    pays, as in products with one matrix; else it loops over the samples, each of which takes its own way. What cannot be compiled is
    called by Python, for one sample after the other; ``vmap(f).explain(*args)`` says what was chosen.

    Args:
        f: a function of one sample. Its arguments are copies: writing into them does not change the batch.
        in_axes: the axis of the samples in the arrays of each positional argument, an int for all arguments; or a tuple with an entry for
            each, which is an int, None for an argument that is the same for all samples, or lists, tuples and dicts of these in its
            structure. Ints, bools and strings within an argument are the same for all samples, as are keyword arguments.
        out_axes: the axis of the samples in the results, in the same forms; None for a result that does not depend on the sample.
        axis_name: a name for the axis of the samples, for ``psum``, ``pmean``, ``pmax``, ``pmin``, ``all_gather`` and ``axis_index``.

    Returns:
        A function of the arguments of ``f``, with arrays of samples in the places of arrays of one, and of numbers.

    Raises:
        BadInput: ``f`` is not callable, or the axes are no ints; when called: an argument lacks the axis, the numbers of samples differ
            or are zero, or samples return different structures or shapes.

    >>> vmap(lambda x, w: x @ w, in_axes=(0, None))(np.eye(3)[:2], np.array([1.0, 2.0, 3.0]))
    array([1., 2.])
    """
    check_function(f)
    for name, axes in (("in_axes", in_axes), ("out_axes", out_axes)):
        _check_axes(name, axes)
    return Batched(f, in_axes, out_axes, axis_name)


def batch_rule(f: Function) -> Callable[[Function], Function]:
    """Give ``f`` a rule for batches; use as the decorator of a function that computes all samples.

    Compiled programs call the rule where ``f`` is called in a function under ``vmap``, with arguments that vary. A derivative within the
    function under ``vmap`` is taken of ``f`` itself, one around ``vmap`` of the rule.

    Args:
        f: a function whose positional arguments are numbers and arrays, and which returns an array or number, or a tuple of these. The decorated function
            is called as ``rule(varies, *args)``: ``varies`` is a tuple with a bool for each argument, and the arguments that vary
            have the samples along their first axis. It returns what ``f`` returns, with the samples along the first axes.

    Returns:
        The decorator, which returns its function unchanged.

    Raises:
        BadInput: ``f`` or the rule is not callable; when compiled: other arguments, or results without an axis of samples.

    >>> def energy(x):
    ...     return x @ x
    >>> @batch_rule(energy)
    ... def _(varies, x):
    ...     return np.sum(x * x, axis=1)
    >>> vmap(energy)(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([ 5., 25.])
    """
    check_function(f)

    def register(rule: Function) -> Function:
        check_function(rule)
        BATCH_RULES[key_of(f)] = rule
        return rule

    return register


def _check_axes(name: str, axes: Any) -> None:
    if isinstance(axes, (list, tuple, dict)):
        for e in axes.values() if isinstance(axes, dict) else axes:
            _check_axes(name, e)
    elif axes is not None and (not isinstance(axes, (int, np.integer)) or isinstance(axes, bool)):
        raise BadInput(f"vmap: {name} must be an int, None, or lists, tuples and dicts of these, not {axes!r}")


class Batched(LikeAFunction):
    """A function of a batch; ``vmap`` makes it."""

    def __init__(self, f: Function, in_axes: Axes, out_axes: Axes, axis_name: str | None) -> None:
        functools.update_wrapper(self, f, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
        self.made = f, in_axes, out_axes, axis_name
        self.kept = _Programs(self.made)

    @property
    def programs(self) -> _Programs:
        """The programs of this function, or of another one with the same code that closes over the same objects."""
        return _RECENT.find(self.made[0], self.made[1:], self.kept)

    @property
    def program(self) -> _Program:
        return self.kept.program

    def __repr__(self) -> str:
        f, in_axes, *_ = self.made
        return f"vmap({getattr(f, '__qualname__', None) or repr(f)}{'' if in_axes == 0 else f', in_axes={in_axes!r}'})"

    def __dir__(self) -> list[str]:
        return public_names(self, "explain")

    def __reduce__(self) -> Any:
        return name_of(self, self.made[0]) or (vmap, self.made)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.run(
                args, kwargs, lambda compiled: compiled(*args, **kwargs), lambda: self.program(*args, **kwargs)
            )
        except Exception as error:
            prune(error)
            raise

    def __morula_call__(self, tape: Tape, *args: Any, **kwargs: Any) -> Any:
        return self.run(
            args,
            kwargs,
            lambda compiled: record_call(tape, compiled, args, kwargs),
            lambda: call(tape, self.program, *args, **kwargs),
        )

    def __morula_trace__(self, trace: Any, *args: Any, **kwargs: Any) -> Any:
        return trace.call(self.program, *args, **kwargs)

    def run(self, args: Any, kwargs: Any, compiled: Callable[[Jitted], Any], in_turn: Callable[[], Any]) -> Any:
        """Run the compiled function, or, where it cannot be compiled, the function for one sample after the other."""
        programs = self.programs
        if not programs.refused or _types(args, kwargs) not in programs.refused:
            try:
                return compiled(programs.compiled)
            except MorulaError as error:
                if isinstance(error, BadBatch):
                    raise
                programs.refused.add(_types(args, kwargs))
        return in_turn()

    def explain(self, *args: Any, **kwargs: Any) -> str:
        """Print and return how the samples of these arguments are computed.

        Args:
            *args, **kwargs: the arguments of a call; the function is compiled for their types, but does not run.

        Returns:
            The text that is printed: whether all samples are computed at once, or one after the other, and why; then the
            description of the compiled program, as of ``jit``.

        Raises:
            BadInput: an argument lacks its axis, or the numbers of samples differ.

        >>> text = vmap(lambda x: x * x).explain(np.ones(3))
        <lambda> for the target native: ...
        """
        try:
            return self.programs.compiled.explain(*args, **kwargs)
        except BadBatch as error:
            prune(error)
            raise
        except MorulaError as error:
            text = f"vmap of {describe(self.made[0])}: one sample after the other, in Python, because it cannot be compiled: {error}"
        print(text)
        return text


class _Programs:
    """The programs of a function of a batch; ``refused``: the types of arguments for which it is not compiled."""

    def __init__(self, made: tuple[Any, ...]) -> None:
        self.program = _Program(made)
        self.compiled = Jitted(self.program, "auto", set(), set(), Checks())
        self.refused: set[Any] = set()


def _types(args: Any, kwargs: Any) -> Any:
    """Return the key of the types of arguments; None where they are no arguments of compiled code."""
    try:
        return scan((args, kwargs))[1]
    except MorulaError:
        return None


_RECENT: Recent[_Programs] = Recent()


class _Program:
    """What ``Batched`` compiles or calls."""

    def __init__(self, made: tuple[Any, ...]) -> None:
        functools.update_wrapper(self, made[0], updated=())
        self.made = made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return batched(*self.made, args, kwargs)

    def __morula_call__(self, tape: Tape, *args: Any, **kwargs: Any) -> Any:
        return call(tape, batched, *self.made, args, kwargs)

    def __morula_trace__(self, trace: Any, *args: Any, **kwargs: Any) -> Any:
        return trace.call(batched, *self.made, args, kwargs)
