"""``vmap``: a function for one sample becomes a function for a batch, and operations on all samples of a batch.

``batched`` is the whole of it: it takes samples out of the arguments, calls ``lanes``, and puts the results of all samples into the
structure of one. ``lanes`` calls a function for each sample; in a traced program, ``specialise.batches`` makes one function for all.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ..api import Transformed
from ..eager.recorded.call import call
from ..eager.recorded.tape import Tape
from ..errors import BadInput, MorulaError
from ..faults import prune
from ..source.definitions import describe, name_of
from ..source.requirements import check_function
from ..specialise.batches import trace_index, trace_joined, trace_lanes, trace_sum, without_axis
from ..specialise.traced import always_traces
from ..values import tree
from ..values.attributes import public_names
from ..values.layout import scan
from .compiled import Checks
from .compiled_operations import record_call
from .jitted import Jitted

Function = Callable[..., Any]
Axes = Any


def vmap(f: Function, in_axes: Axes = 0, out_axes: Axes = 0, axis_name: str | None = None) -> Function:
    """Return a function that calls ``f``, written for one sample, for all samples of a batch.

    The function is compiled for the types of its arguments. XLA computes all samples at once: an ``if`` whose condition differs
    between samples computes both branches and selects, and a loop runs until it has ended for all samples. Native code does so where it
    pays, as in products with one matrix; else it loops over the samples, each of which takes its own way. What cannot be compiled is
    called by Python, for one sample after the other; ``vmap(f).explain(*args)`` says what was chosen.

    Args:
        f: a function of one sample. Its arguments are copies: writing into them does not change the batch.
        in_axes: the axis of the samples in the arrays of each positional argument: an int for all arguments; or a tuple with an entry for
            each: an int, None for an argument that is the same for all samples, or lists, tuples and dicts of these in its structure.
            Ints, bools and strings within an argument are the same for all samples, as are keyword arguments.
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


def _check_axes(name: str, axes: Any) -> None:
    if isinstance(axes, (list, tuple, dict)):
        for e in axes.values() if isinstance(axes, dict) else axes:
            _check_axes(name, e)
    elif axes is not None and (not isinstance(axes, (int, np.integer)) or isinstance(axes, bool)):
        raise BadInput(f"vmap: {name} must be an int, None, or lists, tuples and dicts of these, not {axes!r}")


class Batched:
    """A function of a batch; ``vmap`` makes it."""

    def __init__(self, f: Function, in_axes: Axes, out_axes: Axes, axis_name: str | None) -> None:
        functools.update_wrapper(self, f, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=())
        self.made = f, in_axes, out_axes, axis_name
        self.kept = _Programs(self.made)

    @property
    def programs(self) -> _Programs:
        """The programs of this function, or of another one with the same code that closes over the same objects."""
        identity = _identity(self.made[0])  # of now: closures may be given other contents
        key = (identity, *map(repr, self.made[1:]))
        found = _PROGRAMS.get(key)
        if found is not self.kept and found is not None and _identity(found.program.made[0]) == identity:
            return found
        _PROGRAMS.pop(key, None)
        _PROGRAMS[key] = self.kept  # the last one was used last
        while len(_PROGRAMS) > MOST_PROGRAMS:
            del _PROGRAMS[next(iter(_PROGRAMS))]
        return self.kept

    @property
    def compiled(self) -> Jitted:
        return self.programs.compiled

    @property
    def program(self) -> _Program:
        return self.kept.program

    def __repr__(self) -> str:
        f, in_axes, *_ = self.made
        return f"vmap({getattr(f, '__qualname__', None) or repr(f)}{'' if in_axes == 0 else f', in_axes={in_axes!r}'})"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __dir__(self) -> list[str]:
        return public_names(self, "explain")

    def __copy__(self) -> Batched:
        return self

    def __deepcopy__(self, memo: Any) -> Batched:
        """Return itself: functions are not copied."""
        return self

    def __reduce__(self) -> Any:
        return name_of(self, self.made[0]) or (vmap, self.made)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.run(args, kwargs, lambda: self.compiled(*args, **kwargs), lambda: self.program(*args, **kwargs))
        except Exception as error:
            prune(error)
            raise

    def __morula_call__(self, tape: Tape, *args: Any, **kwargs: Any) -> Any:
        return self.run(
            args,
            kwargs,
            lambda: record_call(tape, self.compiled, args, kwargs),
            lambda: call(tape, self.program, *args, **kwargs),
        )

    def __morula_trace__(self, trace: Any, *args: Any, **kwargs: Any) -> Any:
        return trace.call(self.program, *args, **kwargs)

    def run(self, args: Any, kwargs: Any, compiled: Callable[[], Any], in_turn: Callable[[], Any]) -> Any:
        """Run the compiled function, or, where it cannot be compiled, the function for one sample after the other."""
        key, refused = self.key(args, kwargs), self.programs.refused
        if key not in refused:
            try:
                return compiled()
            except MorulaError as error:
                if isinstance(error, BatchError):
                    raise
                refused.add(key)
        return in_turn()

    def key(self, args: Any, kwargs: Any) -> Any:
        try:
            return scan((args, kwargs))[1]
        except MorulaError:
            return None

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
            return self.compiled.explain(*args, **kwargs)
        except BatchError as error:
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


MOST_PROGRAMS = 64
_PROGRAMS: dict[Any, _Programs] = {}
"""The programs of the functions that ``vmap`` was called with last: ``vmap(f)`` may be written where it is called."""


def _identity(f: Any) -> Any:
    """Return what tells a function apart: its code and what it closes over, its transformation and the function in it."""
    if isinstance(f, Transformed):
        transform, inner, *options = f.made
        return transform, _identity(inner), repr(options)
    if type(f) is not FunctionType:
        return _Same(f)
    held = [f.__globals__, f.__defaults__, f.__kwdefaults__, *(_content(cell) for cell in f.__closure__ or ())]
    return f.__code__, *map(_Same, held)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is assigned later
        return cell


class _Same:
    """An object as a key that is equal to the same object only."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __hash__(self) -> int:
        return id(self.x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.x is other.x


class BatchError(BadInput):
    """The arguments or results of a batch do not fit: an error on every path."""


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


def batched(
    f: Function, in_axes: Axes, out_axes: Axes, axis_name: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return ``f`` of all samples in the arguments."""
    axes = in_axes if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
    if len(axes) != len(args):
        raise BatchError(f"vmap: in_axes has {len(axes)} entries, but {describe(f)} was given {len(args)} arguments")
    arrays: list[Any] = []
    places: list[str] = []
    for i, (x, axis) in enumerate(zip(args, axes)):
        _collect(x, axis, f"argument {i}", arrays, places)
    _check_counts(f, arrays, places)

    def of_one(samples: Sequence[Any]) -> tuple[list[Any], list[Any], Any]:
        left = iter(samples)
        y = f(*[_of_sample(x, axis, left) for x, axis in zip(args, axes)], **kwargs)
        leaves: list[Any] = []
        alike: list[Any] = []
        return leaves, alike, _sorted(y, out_axes, leaves, alike)

    axis = axis_name if axis_name is not None else of_one
    leaves, alike, y = lanes(of_one, arrays, axis, describe(f))
    return _joined(y, out_axes, iter(leaves), iter(alike))


def is_number(x: Any) -> bool:
    """Whether x is a number, a bool or an array of numbers or bools."""
    return isinstance(x, (int, float, complex)) or isinstance(x, (np.ndarray, np.generic)) and x.dtype.kind in "biufc"


def _is_mapped(x: Any) -> bool:
    return isinstance(x, (float, complex)) or isinstance(x, (np.ndarray, np.generic))


def _parts(x: Any, axes: Any, what: str) -> list[tuple[Any, Any]]:
    """The parts of a container with their axes, which are given for each."""
    if isinstance(axes, dict):
        if not isinstance(x, dict) or x.keys() != axes.keys():
            raise BatchError(
                f"vmap: the axes of {what} have the keys {sorted(map(str, axes))}; it is a {type(x).__name__} without these"
            )
        return [(x[k], a) for k, a in axes.items()]
    if not isinstance(x, (list, tuple)) or len(x) != len(axes):
        raise BatchError(
            f"vmap: the axes of {what} are {len(axes)} entries; it is a {type(x).__name__} of another length"
        )
    return list(zip(x, axes))


def _collect(x: Any, axes: Any, what: str, arrays: list[Any], places: list[str]) -> None:
    """Append the mapped arrays of an argument, with the samples along their first axis, and their names."""
    if axes is None:
        return
    if isinstance(axes, (list, tuple, dict)):
        for part, a in _parts(x, axes, what):
            _collect(part, a, what, arrays, places)
        return

    def note(path: tree.Path, leaf: Any) -> Any:
        place = tree.spelled(path, what)
        if not -np.ndim(leaf) <= axes < np.ndim(leaf):
            kind = f"an array of shape {np.shape(leaf)}" if np.ndim(leaf) else "a number"
            raise BatchError(
                f"vmap: {place} is {kind} and has no axis {axes}; pass an array with an axis of samples, or None in in_axes for what is "
                "the same for all samples"
            )
        places.append(f"axis {axes} of {place}")
        arrays.append(np.moveaxis(leaf, axes, 0) if axes else leaf)
        return leaf

    tree.rebuild(x, note, is_leaf=_is_mapped)


def _check_counts(f: Function, arrays: Sequence[Any], places: Sequence[str]) -> None:
    if not arrays:
        raise BatchError(f"vmap: no argument of {describe(f)} has an array with samples; pass one, and check in_axes")
    for x, place in zip(arrays, places):
        n, first = np.shape(x)[0], np.shape(arrays[0])[0]
        if n != first:
            raise BatchError(
                f"vmap: the numbers of samples differ: {places[0]} has length {first}, but {place} has length {n}"
            )
        if n == 0:
            raise BatchError(f"vmap: there are no samples: {place} has length 0")


def _of_sample(x: Any, axes: Any, samples: Any) -> Any:
    """Return an argument with the arrays of one sample in the places of those of all."""
    if axes is None:
        return x
    if isinstance(axes, (list, tuple, dict)):
        return _filled(x, axes, [_of_sample(part, a, samples) for part, a in _parts(x, axes, "an argument")])
    return tree.rebuild(x, lambda path, leaf: next(samples), is_leaf=_is_mapped)


def _sorted(y: Any, axes: Any, leaves: list[Any], alike: list[Any]) -> Any:
    """Append the numbers and arrays of a result, those with an axis of samples and those without; return its structure.

    The structure has zeros in their places.
    """
    if isinstance(axes, (list, tuple, dict)):
        made = [_sorted(part, a, leaves, alike) for part, a in _parts(y, axes, "the result")]
        return _filled(y, axes, made)

    def zero(path: tree.Path, leaf: Any) -> Any:
        (alike if axes is None else leaves).append(leaf)
        return 0.0

    return tree.rebuild(y, zero, is_leaf=is_number, is_shared=False)


def _filled(x: Any, axes: Any, parts: list[Any]) -> Any:
    """Return a container like x that holds these parts, in the order of the axes."""
    if isinstance(axes, dict):
        return dict(zip(axes, parts))
    return parts if isinstance(x, list) else getattr(type(x), "_make", type(x))(parts)


def _joined(y: Any, axes: Any, leaves: Any, alike: Any) -> Any:
    """Return the structure of a result with the results of all samples."""
    if isinstance(axes, (list, tuple, dict)):
        return _filled(y, axes, [_joined(part, a, leaves, alike) for part, a in _parts(y, axes, "the result")])

    def whole(path: tree.Path, leaf: Any) -> Any:
        if axes is None:
            return next(alike)
        x = next(leaves)
        if not -np.ndim(x) <= axes < np.ndim(x):
            raise BatchError(f"vmap: out_axes is {axes}, but the results of all samples have {np.ndim(x)} axes")
        return np.moveaxis(x, 0, axes) if axes else x

    return tree.rebuild(y, whole, is_leaf=is_number, is_shared=False)


def lanes(of_one: Function, arrays: Sequence[Any], axis: Any, name: str) -> tuple[list[Any], list[Any], Any]:
    """Call a function with each sample of the arrays, one after the other.

    It returns numbers and arrays, others that must be the same for each sample, and the structure that holds them.

    Returns:
        The first ones of all samples, joined along a new first axis; the others; and the structure of the last sample.
    """
    found: list[Any] = []
    for i in range(len(arrays[0])):
        found.append(of_one([np.array(x[i]) if np.ndim(x) > 1 else x[i] for x in arrays]))
    leaves, alike, y = found[-1]
    for other in found[:-1]:
        for name_, a, b in (("results", other[0], leaves), ("results", other[1], alike)):
            if [np.shape(v) for v in a] != [np.shape(v) for v in b]:
                raise BatchError(
                    f"vmap: {name} returned {name_} of shapes {_shapes(a)} for one sample, and of {_shapes(b)} for another; return arrays of one shape"
                )
        for a, b in zip(other[1], alike):
            if not np.array_equal(a, b):
                raise BatchError(
                    f"vmap: out_axes is None for a result of {name} that differs between samples; give it an axis"
                )
    return [np.stack([e[0][k] for e in found]) for k in range(len(leaves))], alike, y


def _shapes(values: Sequence[Any]) -> str:
    return ", ".join(str(np.shape(v)) for v in values)


# Operations on all samples


def _lane_sum(x: Any, axis_name: Any) -> Any:
    raise BatchError(_alone("psum", axis_name))


def _lanes_joined(x: Any, axis_name: Any) -> Any:
    raise BatchError(_alone("all_gather", axis_name))


def axis_index(axis_name: str) -> int:
    """Return the number of the sample, in a function under ``vmap(..., axis_name=...)``.

    Args:
        axis_name: the name of the samples' axis.

    Raises:
        BadInput: no ``vmap`` around the call has this name, or its function cannot be compiled.

    >>> vmap(lambda x: x * axis_index("i"), axis_name="i")(np.array([5.0, 6.0, 7.0]))
    array([ 0.,  6., 14.])
    """
    raise BatchError(_alone("axis_index", axis_name))


def _alone(function: str, axis_name: Any) -> str:
    return f"{without_axis(function, axis_name)}, or the function under vmap cannot be compiled: vmap(f).explain(*args) says why"


always_traces(lanes)(trace_lanes)
always_traces(_lane_sum)(trace_sum)
always_traces(_lanes_joined)(trace_joined)
always_traces(axis_index)(trace_index)


def psum(x: Any, axis_name: str) -> Any:
    """Return the sum of x over all samples of a batch, in a function under ``vmap(..., axis_name=...)``.

    Args:
        x: a number, an array, or a structure of them.
        axis_name: the name of the samples' axis.

    Raises:
        BadInput: no ``vmap`` around the call has this name; samples reach the call in a branch or loop that not all of them take; or the
            function cannot be compiled.

    >>> vmap(lambda x: x / psum(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    return tree.rebuild(x, lambda path, leaf: _lane_sum(leaf, axis_name), is_leaf=is_number)


def pmean(x: Any, axis_name: str) -> Any:
    """Return the mean of x over all samples of a batch; see ``psum``.

    >>> vmap(lambda x: x - pmean(x, "i"), axis_name="i")(np.array([1.0, 3.0]))
    array([-1.,  1.])
    """
    count = _lane_sum(1.0, axis_name)
    return tree.rebuild(x, lambda path, leaf: _lane_sum(leaf, axis_name) / count, is_leaf=is_number)


def pmax(x: Any, axis_name: str) -> Any:
    """Return the greatest x of all samples of a batch, element by element; see ``psum``.

    >>> vmap(lambda x: x / pmax(x, "i"), axis_name="i")(np.array([1.0, 4.0]))
    array([0.25, 1.  ])
    """
    return tree.rebuild(x, lambda path, leaf: np.max(_lanes_joined(leaf, axis_name), axis=0), is_leaf=is_number)


def pmin(x: Any, axis_name: str) -> Any:
    """Return the least x of all samples of a batch, element by element; see ``psum``.

    >>> vmap(lambda x: x - pmin(x, "i"), axis_name="i")(np.array([1.0, 4.0]))
    array([0., 3.])
    """
    return tree.rebuild(x, lambda path, leaf: np.min(_lanes_joined(leaf, axis_name), axis=0), is_leaf=is_number)


def all_gather(x: Any, axis_name: str) -> Any:
    """Return the x of all samples of a batch along a new first axis; see ``psum``.

    >>> vmap(lambda x: np.sort(all_gather(x, "i")), axis_name="i")(np.array([2.0, 1.0]))
    array([[1., 2.],
           [1., 2.]])
    """
    return tree.rebuild(x, lambda path, leaf: _lanes_joined(leaf, axis_name), is_leaf=is_number)
