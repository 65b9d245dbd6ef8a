"""Functions with a rule for batches (``batch_rule``), in compiled code.

A call in a function of one sample becomes one operation, ``typed.with_rule``. Where its operands vary, ``passes.batch`` writes a call of the
rule in its place; ``without_rules`` writes the function itself in the place of all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import BadInput
from ..ir import typed
from ..ir.builder import text_of_shape
from ..ir.dynamic import Value
from ..passes.inline import inline
from ..rules.connected import connected
from ..rules.registry import BATCH_RULES, key_of
from ..source.definitions import describe
from .arguments import type_of_argument
from .batches import refuse_changes
from .functions import Captured
from .traced import Traced


def has_rule(trace: Any, f: Any) -> bool:
    """Whether a call is to become an operation: not in a derivative within the batch, which is taken of the function itself."""
    if not BATCH_RULES or not trace.axes or trace.level != trace.level_of_batch:
        return False
    key = key_of(f)
    return key in BATCH_RULES and key not in trace.by_own_rule


def trace_by_rule(trace: Any, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name, key = describe(f), key_of(f)
    if not all(isinstance(x, Traced) or type_of_argument(x) is not None for x in args):
        raise BadInput(f"vmap: {name} has a rule for batches, so its positional arguments must be numbers and arrays")
    values = [trace.value(x) for x in args]
    parameters = [Value(v.name, v.type) for v in values]

    def run() -> tuple[list[Value], Any]:
        trace.by_own_rule.append(key)
        try:
            y = trace.call(f, *(trace.wrap(p) for p in parameters), **kwargs)
        finally:
            trace.by_own_rule.pop()
        return [trace.value(e) for e in (y if isinstance(y, tuple) else (y,))], isinstance(y, tuple)

    made = Captured(trace, name, parameters, run)
    if made.raises:
        made.settle(inline(trace.builder, made.function, [*values, *made.free]))
    refuse_changes(trace, made, name)

    def written(builder: Any, batched: Sequence[Value], vary: Sequence[bool]) -> list[Any]:
        """Write a call of the rule for operands with all samples where they vary."""
        flags = tuple(vary[: len(values)])

        def of_all(*xs: Any) -> Any:
            return BATCH_RULES[key](flags, *xs, **kwargs)

        y = connected.trace_into(builder, of_all, batched[: len(values)], {})
        ys = list(y) if isinstance(y, tuple) else [y]
        if len(ys) != len(made.asked) or not all(isinstance(e, Value) for e in ys):
            raise BadInput(
                f"the batch rule of {name} must return {len(made.asked)} arrays, as {name} does, with the samples along their first axes"
            )
        by_result = {v: builder.cast(e, v.type.dtype) for v, e in zip(made.asked, ys)}
        for v, e in by_result.items():
            if e.type.ndim != v.type.ndim + 1:
                raise BadInput(
                    f"the batch rule of {name} returned an array of shape {text_of_shape(e.type.shape)}; {name} returns "
                    f"{text_of_shape(v.type.shape)} for one sample, so an axis of samples must come before"
                )
        return [by_result[v] for v in made.results]

    operands = [*values, *made.free]
    types = [v.type for v in made.results]
    results = trace.builder.call(
        typed.with_rule, operands, types, body=made.function, written=written, count=len(values)
    )
    new = dict(zip(made.results, results))
    ys = [trace.wrap(new[v]) for v in made.asked]
    return tuple(ys) if made.outcome else ys[0]
