"""Batching on typed IR: makes, of a program for one sample, the program for all samples of a batch.

    varying      which values differ between samples, and where samples take different ways
    sweep        blocks for all samples: calls, and branches and loops under masks
    structural   typed IR's own operations, reductions and products
    indexing     parts of arrays
    functions    functions of NumPy and SciPy
    rules        functions with a rule for batches
    in_turn      what is computed for one sample after the other
    vectors      samples in groups that fill a processor's registers

For XLA, every operation acts on all samples at once. For native code, a program whose samples take different ways becomes a loop
over samples, each of which takes its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import BadInput
from ...ir import typed
from ...ir.dynamic import Block, Function, Value, walk
from ...ir.typed import INT64, STACK, Dim
from ..dead_code import remove_dead_code
from ..inline import copy_function, rename
from .functions import TRANSFORMS
from .in_turn import run_in_turn
from .rules import without_rules
from .sweep import Sweep
from .varying import OF_LANES, Varying, ragged, refuse_own_lengths
from .vectors import WIDTH, in_cache, in_vectors, run_in_groups

__all__ = ["batch", "without_rules"]


def batch(
    function: Function,
    varying: Sequence[bool],
    lanes: int | Dim,
    target: str = "native",
    axis: Any = None,
    report: list[str] | None = None,
    alike: Sequence[bool] = (),
) -> Function:
    """Return the function for all samples of a batch.

    It takes the function's parameters, those that vary with the samples along a new first axis, and returns the results with the
    samples along a new first axis, all of them.

    Args:
        function: typed IR; it is not changed.
        varying: for each parameter, whether samples differ in it.
        lanes: the number of samples, at least one.
        target: ``"native"`` or ``"xla"``.
        axis: the name of the samples' axis in ``lane_index``, ``lane_sum`` and ``lanes_joined``.
        alike: for each result, whether it must not depend on the sample; it is returned once then.
        report: gets a text that says how the samples are computed.

    Raises:
        BadInput: the length of an array differs between samples, or the program cannot be batched for this target.
    """
    function, number = _with_number(function, axis)
    alike = alike or [False] * len(function.block.results)
    found = Varying(function, [*varying, True], axis)

    def of_function(other: Function) -> Function:
        return batch(other, [True] * len(other.parameters), lanes, target)

    sweep = Sweep(lanes, found, target, axis, of_function)
    if any(on and v in found for v, on in zip(function.block.results, alike)):
        raise BadInput("vmap: out_axes is None for a result that differs between samples; give it an axis")
    parameters = [sweep.fresh(p, p in found) for p in function.parameters[:-1]]
    with sweep.builder.block() as made:
        sweep.copy.known[number] = sweep.builder.iota(lanes)
        turns = target == "native" and takes_turns(function, found, axis)
        size = lanes if target != "native" else group_size(function, found, lanes, axis, turns)
        if report is not None:
            report.append(how(found, size, lanes, turns, target))
        if turns and size == 1:
            run_in_turn(sweep, function.block)
        elif turns or size != lanes:
            form = "xla" if turns else target
            made.results = run_in_groups(sweep, function, size, lambda rest, on: batch(rest, on, size, form, axis))
        else:
            refuse_own_lengths(ragged(function.block, found), found)
            sweep.block(function.block)
        if not made.results:
            made.results = [sweep.get(v) if on else sweep.whole(v) for v, on in zip(function.block.results, alike)]
    return remove_dead_code(Function(f"{function.name}_batch", parameters, made, function.filename))


def _with_number(function: Function, axis: Any) -> tuple[Function, Value]:
    """Return a copy of a function whose last parameter is the number of the sample, in place of ``lane_index``."""
    made, number = copy_function(function), Value("lane", INT64)
    found: list[Value] = []
    _drop_numbers(made.block, axis, found)
    rename(made.block, dict.fromkeys(found, number))
    made.parameters = [*made.parameters, number]
    return made, number


def _drop_numbers(block: Block, axis: Any, found: list[Value]) -> None:
    kept = []
    for op in block.operations:
        for inner in op.blocks:
            _drop_numbers(inner, axis, found)
        if op.callee is typed.lane_index and op.named["axis"].constant == axis:
            found += op.results
        else:
            kept.append(op)
    block.operations = kept


def group_size(function: Function, varying: Varying, lanes: int | Dim, axis: Any, turns: bool) -> int | Dim:
    """The number of samples that native code computes at once: one, those of a group, or all of them."""
    if turns:
        return WIDTH if in_vectors(function, varying, lanes) else 1
    return lanes if _combines(function, axis) else in_cache(function, varying, lanes)


def takes_turns(function: Function, varying: Varying, axis: Any) -> bool:
    """Whether native code runs the whole program for one sample after the other.

    It does so unless all samples at once have a gain, as products with one matrix have, or unless samples need each other.
    """
    operations = [*walk(function.block)]
    if _combines(function, axis):
        return False
    if any(isinstance(op.callee, Function) or op.callee in (typed.debug_print, typed.callback) for op in operations):
        return True
    has_stack = any(r.type is STACK for op in operations for r in op.results)
    if any(True for _ in ragged(function.block, varying)) or has_stack and varying.diverging:
        return True
    return not any(_gains(op, varying) for op in operations)


def _combines(function: Function, axis: Any) -> bool:
    """Whether samples need each other."""
    return any(op.callee in OF_LANES and op.named["axis"].constant == axis for op in walk(function.block))


def _gains(op: Any, varying: Varying) -> bool:
    if op.callee is typed.with_rule:
        return varying.any(op.positional)
    if op.callee in (np.matmul, np.linalg.solve) and op.operands[-1].type.ndim + op.operands[0].type.ndim > 2:
        return varying.any(op.operands) and any(v not in varying and v.type.ndim > 1 for v in op.operands)
    return op.callee in TRANSFORMS and varying.any(op.positional)


def how(varying: Varying, size: int | Dim, lanes: int | Dim, turns: bool, target: str) -> str:
    """Say how the samples are computed, for ``explain``."""
    diverging = sorted({(op.line, {"range": "for"}.get(op.kind, op.kind)) for op in varying.diverging})
    where = ", ".join(f"`{kind}` at line {line}" for line, kind in diverging)
    if turns and size == 1:
        return "one sample after the other, in a native loop" + (
            f"; samples take different ways at {where}" if where else ""
        )
    count = f"{size} samples at once, in a native loop" if turns or size != lanes else "all samples at once"
    if not where:
        return count
    masked = turns or target != "native"
    return f"{count}, {'under masks' if masked else 'in turn'} where they take different ways: {where}"
