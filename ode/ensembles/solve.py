"""``ensemble``: a function of one member, called for all members of an ensemble."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...core import BadInput, lowering, tree
from .captures import captured
from .jobs import Workers, computed, usable_cores
from .members import PYTHON, Members, is_array, rows

TARGETS = ("auto", "native", "xla", PYTHON)


def ensemble(
    solve: Callable[..., Any],
    *parameters: Any,
    in_axes: int | None | Sequence[int | None] = 0,
    executor: Any = None,
    size: int | None = None,
    target: str = "auto",
    progress: bool = False,
) -> Any:
    """Return ``solve(*parameters)`` of each member of an ensemble; each member takes its own steps and branches.

    The members are cut into jobs of equal sizes. A job is compiled once by ``vmap``; what cannot be compiled is called by Python,
    for one member after the other. Without an executor, threads of this process compute the jobs, one on each core. Derivatives
    are computed by the same workers, by pulling back or pushing forward each job; nothing is stored for them but the
    parameters, so reverse mode solves again. The order of the results is that of the members.

    Args:
        solve: the function of one member; it returns numbers, arrays, or containers of them, with the same shapes for all
            members. An executor in other processes needs a function that can be sent there, such as one of a module.
        parameters: numbers and arrays in any containers. Members lie along one axis of all arrays; other leaves are the
            same for all.
        in_axes: the axis of the members, or None for a parameter that is the same for all; or one of these for each parameter.
        executor: what computes the jobs: an object with ``submit(f, *args)`` that returns a future with ``result()``, such as a
            ``concurrent.futures.ProcessPoolExecutor`` or a ``dask.distributed.Client``. XLA does not survive a fork: start
            processes by "spawn".
        size: the number of members in a job; by default there are 8 jobs for each core of this machine.
        target: "native", "xla" or "auto", as for ``jit``; or "python", which compiles nothing.
        progress: show a bar with the number of members that are done.

    Returns:
        The results in the structure of one, with a leading axis of members in each number and array.

    Raises:
        BadInput: an argument has the wrong type or value, or the numbers of members differ or are zero.
        Exception: those of ``solve``; their notes say in which members of the ensemble they were raised.

    Within ``jit`` this is ``vmap(solve, in_axes)``; an executor is refused there.

    >>> from morula.ode import odesolve
    >>> def end(rate):
    ...     return odesolve(lambda t, y: -rate * y, 1.0, [0.0, 1.0]).y[-1]
    >>> rates = np.linspace(0.0, 2.0, 5)
    >>> bool(np.allclose(ensemble(end, rates), np.exp(-rates), rtol=1e-5))
    True
    """
    axes = _axes(solve, parameters, in_axes)
    if target not in TARGETS:
        raise BadInput(f"ensemble: target is {target!r}; expected one of {', '.join(map(repr, TARGETS))}")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise BadInput(
            f"ensemble: executor is {type(executor).__name__}, which has no submit(f, *args); give for example a "
            "concurrent.futures.ProcessPoolExecutor or a dask.distributed.Client"
        )
    if size is not None and (isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1):
        raise BadInput(f"ensemble: size is {size!r}; expected the number of members in a job, at least 1")
    count = _count(parameters, axes)
    given = [p if axis is None else _first(p, axis) for p, axis in zip(parameters, axes)]
    jobs = -(-count // int(size)) if size is not None else min(count, 8 * usable_cores())
    length = -(-count // jobs)
    starts = range(0, count, length)
    held, arguments = captured(solve), []
    for start in starts:
        which: Any = slice(start, start + length)
        if start + length > count and target != PYTHON:  # one program for all jobs: the last member fills the last job
            which = np.minimum(np.arange(start, start + length), count - 1)
        arguments.append((held, *(p if axis is None else rows(p, which) for p, axis in zip(given, axes))))
    workers = Workers(executor, [min(length, count - start) for start in starts], bool(progress))
    job = Members(solve, tuple(axis is None for axis in axes), target)
    results = computed(workers, job, arguments, "ensemble")
    return tree.rebuild(
        results[0], lambda _, *xs: np.concatenate(xs)[:count], *results[1:], is_leaf=is_array, is_shared=False
    )


def _compiled(
    solve: Callable[..., Any],
    *parameters: Any,
    in_axes: Any = 0,
    executor: Any = None,
    size: int | None = None,
    target: str = "auto",
    progress: bool = False,
) -> Any:
    if executor is not None:
        raise BadInput(
            "ensemble: a compiled function cannot use an executor; call ensemble outside of it (it compiles the members), or leave "
            "out executor"
        )
    axes = _axes(solve, parameters, in_axes)
    _count(parameters, axes)
    return Members(solve, tuple(axis is None for axis in axes), target).batched(
        captured(solve), *(p if axis is None else _first(p, axis) for p, axis in zip(parameters, axes))
    )


for _target in ("native", "xla"):
    lowering(ensemble, _target)(_compiled)


def _axes(solve: Any, parameters: Any, in_axes: Any) -> tuple[int | None, ...]:
    if not callable(solve):
        raise BadInput(f"ensemble: solve is {type(solve).__name__}; expected the function of one member")
    if not parameters:
        raise BadInput("ensemble: there are no parameters; give arrays with an axis of members, after solve")
    axes = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(parameters)
    if len(axes) != len(parameters):
        raise BadInput(f"ensemble: in_axes has {len(axes)} entries for {len(parameters)} parameters")
    for axis in axes:
        if axis is not None and (isinstance(axis, bool) or not isinstance(axis, (int, np.integer))):
            raise BadInput(f"ensemble: in_axes is {in_axes!r}; expected an int or None, or one for each parameter")
    return axes


def _count(parameters: Any, axes: tuple[int | None, ...]) -> int:
    """Return the number of members."""
    counts: dict[int, str] = {}
    for i, (p, axis) in enumerate(zip(parameters, axes)):
        if axis is None:
            continue

        def note(path: Any, a: Any, axis: int = axis, name: str = f"parameter {i}") -> None:
            if not -a.ndim <= axis < a.ndim:
                raise BadInput(
                    f"ensemble: {tree.spelled(path, name)} has shape {a.shape} and no axis {axis} of members; give None in "
                    "in_axes for what is the same for all members"
                )
            counts.setdefault(a.shape[axis], f"{tree.spelled(path, name)} has {a.shape[axis]}")

        tree.rebuild(p, note, is_leaf=is_array, is_shared=False)
    if len(counts) > 1:
        raise BadInput(f"ensemble: the numbers of members differ: {', '.join(counts.values())}")
    if not counts:
        raise BadInput("ensemble: no parameter has an axis of members; give an array, such as np.array(values)")
    count = next(iter(counts))
    if not count:
        raise BadInput("ensemble: there are no members; the axis has length 0")
    return count


def _first(x: Any, axis: int) -> Any:
    """Return a parameter with its members along the first axis."""
    if axis == 0:
        return x
    return tree.rebuild(x, lambda _, a: np.moveaxis(a, axis, 0), is_leaf=is_array, is_shared=False)
