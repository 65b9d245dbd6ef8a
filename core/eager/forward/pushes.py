"""How each kind of record maps the tangents of its operands to those of its results.

``PUSHES`` has a function for each kind whose tangent is simple: element-wise and linear functions, moves, and writes. The pullbacks
of all other kinds are transposed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...errors import NoDerivative
from ...rules.connected import connected
from ...rules.tangents import push, push_strongly
from ...values.memory import blank_memory, corresponding, owner
from ...values.numbers import call_on
from ...values.reachable import reached
from ...values.strong_zero import is_nan
from ..arrays import apply, implicit, integers, models, mutation, plain_calls, records, subclasses
from ..arrays.apply import SINGULAR, unknown_operands
from ..arrays.arrays import pass_on
from ..libraries import builtin_functions
from ..recorded import access, custom, stores
from ..recorded.tape import Cotangents, Record, unknown_derivative
from ..unrecorded import opaque as opaque_records, refused
from ..unrecorded.opaque import Opaque, refusal
from .tangents import Tangents
from .transposed import push_transposed

PUSHES: dict[Any, Callable[[Tangents, Record], None]] = {None: push_transposed}


def pushes(*kinds: Any) -> Callable[[Any], Any]:
    def register(body: Any) -> Any:
        PUSHES.update(dict.fromkeys(kinds, body))
        return body

    return register


# Functions with a rule


@pushes(plain_calls.pull_elementwise)
def _elementwise(tangents: Tangents, record: Record) -> None:
    _, y, rule, args, kwargs = record
    ts = [tangents.get(x) for x in args]
    for t in ts:
        if t is not None:
            tangents.set(y, pushed(tangents, rule, ts, y, args, kwargs))
            return


@pushes(apply.pull_back)
def _by_rule(tangents: Tangents, record: Record) -> None:
    _, y, rule, args, kwargs = record
    ts = [tangents.get(x) for x in args]
    unknown = unknown_operands(rule, args, kwargs) if kwargs or None in rule.given else []
    if any(tangents.varies(x) for x in unknown):
        place = tangents.tape.places.get(id(y))
        return tangents.lose(y, lambda: unknown_derivative(rule.function, place))
    if all(t is None for t in ts):
        return
    t = pushed(tangents, rule, ts, y, args, kwargs)
    if t is NotImplemented:
        push_transposed(tangents, record)
    else:
        tangents.set(y, t)


@pushes(apply.pull_back_binary)
def _by_binary_rule(tangents: Tangents, record: Record) -> None:
    _, y, rule, a, b = record
    ta, tb = tangents.get(a), tangents.get(b)
    if ta is not None or tb is not None:
        tangents.set(y, pushed(tangents, rule, [ta, tb], y, (a, b), {}))


def pushed(tangents: Tangents, rule: Any, ts: Any, y: Any, args: Any, kwargs: Any) -> Any:
    """Return the tangent of a result by the rule's formula, NotImplemented if it has none."""
    try:
        t = (
            push(rule, ts, y, args, kwargs)
            if tangents.tape.parent is None
            else tangents.run(push, rule, ts, y, args, kwargs)
        )
        if t is NotImplemented or t is not None and not (t != t if type(t) is float else _is_nan(t)):
            return t
    except SINGULAR:  # Python's arithmetic raises where NumPy gives inf or NaN
        pass
    of_numpy = [apply.of_numpy(x) for x in args]
    return tangents.run(push_strongly, rule, ts, apply.of_numpy(y), tuple(of_numpy), kwargs)


def _is_nan(t: Any) -> bool:
    if isinstance(t, (float, complex)):
        return t != t
    return any(map(_is_nan, t)) if isinstance(t, (list, tuple)) else is_nan(t)


# Moves of numbers


@pushes(plain_calls.pull_entries)
def _entries(tangents: Tangents, record: Record) -> None:
    _, y, _, entries = record
    ts = [tangents.get(x) for x in entries]
    if any(t is not None for t in ts):
        tangents.set(y, tangents.run(np.array, [0.0 if t is None else t for t in ts]))


@pushes(pass_on, subclasses.of_equal)
def _equal(tangents: Tangents, record: Record) -> None:
    _, y, x = record
    t = tangents.get(x)
    if t is not None:
        tangents.set(y, tangents.run(np.copy, t) if isinstance(t, np.ndarray) else t)


@pushes(access.getitem_back, access.entry_back)
def _getitem(tangents: Tangents, record: Record) -> None:
    _, y, a, index = record
    t = tangents.get(a)
    if t is not None:
        tangents.set(y, tangents.run(_read, t, index))


@pushes(builtin_functions.to_each_term, builtin_functions.to_each_float)
def _sum(tangents: Tangents, record: Record) -> None:
    _, y, terms = record
    ts = [t for t in map(tangents.get, terms) if t is not None]
    if ts:
        tangents.set(y, tangents.run(sum, ts))


@pushes(builtin_functions.to_each_tie)
def _mean_of_ties(tangents: Tangents, record: Record) -> None:
    _, y, ties = record
    ts = [t for t in map(tangents.get, ties) if t is not None]
    if ts:
        tangents.set(y, tangents.run(_mean, ts, len(ties)))


@pushes(records.moved_back)
def _moved(tangents: Tangents, record: Record) -> None:
    _, y, source, places, chosen = record
    index = np.unravel_index(places, source.shape) if source.ndim else ()
    for part, origin in zip(records.numeric_fields(y), records.numeric_fields(source)):
        t = tangents.get(origin)
        if t is not None:
            tangents.latest = tangents.length
            tangents.write(tangents.window(part), chosen, tangents.run(_read, t, tuple(np.asarray(i) for i in index)))


# Writes


@pushes(stores.setitem_back)
def _setitem(tangents: Tangents, record: Record) -> None:
    _, a, index, _, v = record
    tangents.wrote(a)
    if id(owner(a)) not in tangents.arrays and not tangents.varies(v):
        return
    if a.dtype.kind not in "fc":
        return _write_bits(tangents, a, index, v)
    t = tangents.get(v)
    tangents.latest = tangents.length
    window = tangents.window(a)
    tangents.write(window, index, 0.0 if t is None else tangents.run(_of_dtype, t, v, window))


def _write_bits(tangents: Tangents, a: np.ndarray, index: Any, v: Any) -> None:
    """Write integers into memory that may hold floats: a float has no tangent then, if it is overwritten as a whole."""
    holder = owner(a)
    if id(holder) not in tangents.arrays:
        return tangents.note(holder)
    tangents.latest = tangents.length
    mask = blank_memory(holder)
    corresponding(a, holder, mask).view(np.uint8 if a.dtype.kind == "b" else a.dtype)[index] = (
        255 if a.itemsize == 1 else -1
    )
    flat = mask if mask.base is None else mask.base
    written = flat.view(np.uint8).reshape(-1) != 0
    size = holder.dtype.type(0).real.itemsize if isinstance(holder, np.ndarray) and holder.dtype.kind in "fc" else 8
    groups = np.resize(written, (-(-written.size // size), size))
    memory = tangents.arrays[id(holder)][1]
    memory = (memory if memory.base is None else memory.base).view(np.uint8).reshape(-1)
    if tangents.varies(v) or (groups.any(axis=1) & ~groups.all(axis=1)).any():
        tangents.lost = tangents.lost or (lambda: _of_bits(a))
        tangents.write(memory, np.repeat(groups.any(axis=1), size)[: written.size], 255)  # the bits of NaN
    else:
        tangents.write(memory, written, 0)


def _of_bits(a: np.ndarray) -> NoDerivative:
    return NoDerivative(
        f"an array of dtype {a.dtype} writes the bits of floats that depend on the differentiated arguments; no tangent passes "
        "through bits. Convert with astype() instead of view()"
    )


@pushes(mutation.add_at_back)
def _add_at(tangents: Tangents, record: Record) -> None:
    _, a, negative, index, _, b = record
    tangents.wrote(a)
    t = tangents.get(b)
    if t is not None and a.dtype.kind in "fc":
        tangents.latest = tangents.length
        ufunc = np.subtract if negative else np.add
        tangents.run(ufunc.at, tangents.window(a), index, t)


@pushes(stores.objects_back, stores.shape_back, integers.depends_on_bits)
def _nothing(tangents: Tangents, record: Record) -> None:
    """References move without a tangent of their own; memory of tangents has no shape."""


# Calls of code that cannot be followed


@pushes(opaque_records.without_derivative, opaque_records.nothing)
def _opaque(tangents: Tangents, record: Record) -> None:
    y, opaque = record[1:]
    if tangents.depends(opaque):
        _lose_new(tangents, y, opaque)


def _lose_new(tangents: Tangents, y: Any, opaque: Opaque) -> None:
    """Lose the derivative of each result that is not itself one of the inputs."""
    if isinstance(y, (tuple, list)):
        for e in y:
            _lose_new(tangents, e, opaque)
    elif not any(y is x for x in opaque.inputs) and not tangents.varies(y):
        tangents.lose(y, lambda: refusal(opaque))


@pushes(refused.refused_back)
def _refused(tangents: Tangents, record: Record) -> None:
    _, result, _, wrt, call = record
    values: list[Any] = []
    reached(wrt, set(), values=values)
    if any(np.any(t != 0) for t in map(tangents.get, values) if t is not None):
        tangents.lose(result, lambda: refusal(call()))
    else:
        _equal(tangents, record[:3])


@pushes(opaque_records.overwritten)
def _overwritten(tangents: Tangents, record: Record) -> None:
    _, a, _, surely, opaque = record
    tangents.wrote(a)
    if tangents.depends(opaque):
        if surely or not tangents.varies(a):
            tangents.lose(a, lambda: refusal(opaque))
    elif surely and tangents.varies(a):
        tangents.write(tangents.window(a), ..., 0)


@pushes(integers.refuse)
def _integer(tangents: Tangents, record: Record) -> None:
    (y,) = record[1:]
    tangents.lose(y, partial(_error_of, tangents, record))


@pushes(custom.hook_back)
def _hook(tangents: Tangents, record: Record) -> None:
    _, y, g, x, _ = record
    tangents.lose(y, lambda: custom.hook_has_no_tangent(g)) if tangents.varies(x) else None


def _error_of(tangents: Tangents, record: Record) -> NoDerivative:
    table = Cotangents(None)
    table.tape = tangents.tape
    table.add(record[1], 1.0)
    try:
        record[0](table, record)
    except NoDerivative as error:
        return error
    raise AssertionError("the record refuses every cotangent")


# Solutions of equations and programs that model compiled functions


@pushes(implicit.implicit_back)
def _solution(tangents: Tangents, record: Record) -> None:
    """By the implicit function theorem, the tangent of a root x of r is -J^-1 dr, with dr the tangent of r at fixed x."""
    _, y, x, r, evaluation, residual, where = record
    dr = tangents.get(r)
    if dr is None:
        return
    parent = tangents.tape.parent
    table = Cotangents(None if parent is None else partial(call_on, parent), parent)
    try:
        jacobian = implicit.jacobian_of_residual(table, x, r, evaluation, residual, where)
    except NoDerivative as error:
        refused = error
        return tangents.lose(y, lambda: refused)
    dx = tangents.run(np.negative, tangents.run(np.linalg.solve, jacobian, tangents.run(np.reshape, dr, -1)))
    tangents.set(y, tangents.run(np.reshape, dx, y.shape) if isinstance(y, np.ndarray) else tangents.run(_read, dx, 0))


@pushes(models.pull_back_model)
def _model(tangents: Tangents, record: Record) -> None:
    _, y, model, args, _, active, opaque = record
    ts = [tangents.get(x) for x in args]
    if not any(ts[i] is not None for i in active):
        return
    try:
        _, t = connected.run_forward(tangents.tape.parent, model.program, args, ts, {})
    except (TypeError, ValueError, IndexError, AttributeError):
        return tangents.lose(y, lambda: refusal(opaque))  # the model does not cover these arguments
    tangents.set(y, t)


def _read(a: Any, index: Any) -> Any:
    y = a[index]
    return np.copy(y) if isinstance(y, np.ndarray) else y


def _mean(ts: list[Any], n: int) -> Any:
    return sum(ts) / n


def _of_dtype(t: Any, v: Any, window: np.ndarray) -> Any:
    """Return the tangent of a value that is written into an array: real if the array is."""
    return np.real(t) if np.iscomplexobj(t) and window.dtype.kind != "c" else t
