"""``autobatch``: a function that calls itself for the parts of a structure, for many structures at once."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import FunctionType
from typing import Any

import numpy as np

from ..eager.recorded.call import call
from ..eager.recorded.tape import Tape
from ..errors import BadInput, MorulaError
from ..exclusion import one_at_a_time
from ..faults import prune
from ..source.definitions import LikeAFunction, describe, name_of
from ..source.requirements import check_function
from ..specialise.parts import IntsAreDifferentiated, Outdated
from ..values import tree
from ..values.attributes import public_names
from ..values.layout import scan
from .frame_batches import execute
from .frame_plans import Plan, planned
from .frames import Kinds, flat
from .samples import Function


def autobatch(f: Function, in_axes: Sequence[int | None] | int = 0) -> Function:
    """Return a function that calls ``f`` for many samples whose structures differ, such as trees, and runs equal work together.

    ``f`` calls itself, or functions that call themselves, for the parts of its arguments. Calls for parts that look alike (both parts of an
    inner node of a tree, say) and that do not wait for each other are computed by one compiled program, for all samples, and so
    are their derivatives. A program is compiled for each kind of place that there is, not for each structure.

    Args:
        f: a function of one sample, with positional arguments.
        in_axes: for each argument, 0 for a list with an entry for each sample, or None for what is the same for all samples; an int is
            for all arguments.

    Returns:
        A function that returns the list of the results of ``f``. If ``f`` is not suited, it calls ``f`` for one sample after the other, by
        Python; ``explain(*args)`` says why.

    Raises:
        BadInput: ``f`` is not callable or ``in_axes`` is not of this form; when called: the lists differ in length, or are empty.

    Source: "dynamic batching", Looks et al. (2017); Neubig, Goldberg and Dyer (2017).

    >>> def total(w, node):
    ...     if isinstance(node, tuple):
    ...         return np.tanh(w * (total(w, node[0]) + total(w, node[1])))
    ...     return 1.0 * node
    >>> batch = autobatch(total, in_axes=(None, 0))
    >>> values = batch(0.5, [(1, (2, 3)), (4, 5), 6])
    >>> np.allclose(values, [total(0.5, (1, (2, 3))), total(0.5, (4, 5)), 6.0])
    True
    """
    check_function(f)
    axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,)
    for axis in axes:
        if axis is not None and (isinstance(axis, bool) or axis != 0):
            raise BadInput(f"autobatch: in_axes must be 0 or None for each argument, not {in_axes!r}")
    return Autobatched(f, in_axes)


class Autobatched(LikeAFunction):
    """A function of many samples; ``autobatch`` makes it."""

    def __init__(self, f: Function, in_axes: Any) -> None:
        functools.update_wrapper(self, f, updated=())
        self.__wrapped__ = f
        self.in_axes = in_axes
        self.kinds: dict[Any, Kinds] = {}  # by the number of arguments and the types of what is shared
        self.reason = ""  # why Python calls the function

    def __repr__(self) -> str:
        f = self.__wrapped__
        return f"autobatch({getattr(f, '__qualname__', None) or repr(f)}, in_axes={self.in_axes!r})"

    def __dir__(self) -> list[str]:
        return public_names(self, "explain")

    def __reduce__(self) -> Any:
        f = self.__wrapped__
        return name_of(self, f) or (autobatch, (f, self.in_axes))

    def __call__(self, *args: Any) -> Any:
        try:
            return _run(self, args)
        except Exception as error:
            prune(error)
            raise

    def __morula_call__(self, tape: Tape, *args: Any) -> Any:
        return _run(self, args, tape)

    def __morula_trace__(self, trace: Any, *args: Any) -> Any:
        return trace.call(_in_turn, self, args)

    def explain(self, *args: Any) -> str:
        """Print and return how the calls for these arguments are computed.

        Args:
            *args: the arguments of a call.

        Raises:
            BadInput: the arguments are not those of a batch.

        >>> def size(node):
        ...     return size(node[0]) + size(node[1]) if isinstance(node, tuple) else 1.0
        >>> text = autobatch(size).explain([((1, 2), 3), (4, 5)])
        8 calls of 2 kinds, computed in 3 runs of compiled programs
        """
        plan = _plan(self, args)
        if plan is None:
            text = f"{_count(self, args)} samples, one after the other by Python: {self.reason}"
        else:
            kinds = len(plan.works)
            text = f"{plan.count} calls of {kinds} kinds, computed in {plan.calls} runs of compiled programs"
        print(text)
        return text


def _axes(batch: Autobatched, args: tuple[Any, ...]) -> Sequence[int | None]:
    axes = batch.in_axes if isinstance(batch.in_axes, (tuple, list)) else (batch.in_axes,) * len(args)
    name = describe(batch.__wrapped__)
    if len(axes) != len(args):
        raise BadInput(f"autobatch: in_axes has {len(axes)} entries, but {name} was given {len(args)} arguments")
    given = [(i, x) for i, (x, axis) in enumerate(zip(args, axes)) if axis is not None]
    if not given:
        raise BadInput(f"autobatch: no argument of {name} is a list of samples; give one of them the axis 0 in in_axes")
    for i, x in given:
        if not isinstance(x, (list, tuple)):
            raise BadInput(
                f"autobatch: argument {i} of {name} is a {type(x).__name__}; pass a list with an entry for each sample, or None in in_axes"
            )
        if len(x) != len(given[0][1]):
            raise BadInput(
                f"autobatch: the numbers of samples differ: argument {given[0][0]} has {len(given[0][1])}, but argument {i} has {len(x)}"
            )
    if not len(given[0][1]):
        raise BadInput(f"autobatch: there are no samples: argument {given[0][0]} is empty")
    return axes


def _divided(batch: Autobatched, args: tuple[Any, ...]) -> tuple[list[Any], list[Any]]:
    """Return the arguments that are the same for all samples, and the lists of samples."""
    axes = _axes(batch, args)
    shared = [x for x, axis in zip(args, axes) if axis is None]
    return shared, [x for x, axis in zip(args, axes) if axis is not None]


def _count(batch: Autobatched, args: tuple[Any, ...]) -> int:
    return len(_divided(batch, args)[1][0])


def _plan(batch: Autobatched, args: tuple[Any, ...]) -> Plan | None:
    """Return how a batch is computed; None if Python calls the function."""
    shared, samples = _divided(batch, args)
    f = batch.__wrapped__
    if type(f) is not FunctionType:
        batch.reason = f"{describe(f)} is not a function of Python"
    if batch.reason:
        return None
    try:
        key = len(args), scan(shared)[1]
        with one_at_a_time:
            if key not in batch.kinds:
                batch.kinds[key] = Kinds(f, _arguments(_axes(batch, args), shared))
            return planned(batch.kinds[key], shared, list(zip(*samples)))
    except IntsAreDifferentiated:
        return None
    except MorulaError as error:
        batch.reason = str(error)
        return None


def _arguments(axes: Sequence[int | None], shared: list[Any]) -> list[tuple[str, int]]:
    """Return what the arguments of ``f`` are: objects of a frame, or parts of what is shared."""
    place, objects, found = 1, 0, []
    left = iter(shared)
    for axis in axes:
        if axis is None:
            found.append(("shared", place))
            place += len(flat(next(left)))
        else:
            found.append(("object", objects))
            objects += 1
    return found


def _numbered_plan(batch: Autobatched, args: tuple[Any, ...]) -> Plan | None:
    """Return a plan that knows which of the samples' numbers and arrays its frames read."""
    axes = _axes(batch, args)
    apart = [tree.rebuild(x, _another) if axis is not None else x for x, axis in zip(args, axes)]
    plan = _plan(batch, tuple(apart))
    if plan is not None:
        plan.number(tree.leaves(_divided(batch, tuple(apart))[1]))
    return plan


def _another(path: tree.Path, leaf: Any) -> Any:
    """Return an equal number that is an object of its own."""
    if isinstance(leaf, np.ndarray):
        return leaf
    opposite = -leaf
    return -opposite


def _in_turn(batch: Autobatched, args: tuple[Any, ...]) -> list[Any]:
    f, axes = batch.__wrapped__, _axes(batch, args)
    return [f(*[x if axis is None else x[i] for x, axis in zip(args, axes)]) for i in range(_count(batch, args))]


def _run(batch: Autobatched, args: tuple[Any, ...], tape: Tape | None = None) -> list[Any]:
    """Run a batch, on a tape if one is given."""

    def run(function: Any, *args: Any) -> Any:
        return function(*args) if tape is None else call(tape, function, *args)

    for _ in range(2):
        plan = _plan(batch, args)
        if plan is None:
            break
        leaves: list[Any] = []
        if tape is not None and plan.is_differentiated(tape):
            plan = _numbered_plan(batch, args)
            leaves = call(tape, tree.leaves, _divided(batch, args)[1])
        try:
            return run(execute, plan, _divided(batch, args)[0], leaves)
        except Outdated:
            batch.kinds.clear()
    return run(_in_turn, batch, args)
