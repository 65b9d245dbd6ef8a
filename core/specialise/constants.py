"""Numbers that the program computes from constants alone, where compiling needs them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.dynamic import Block, Function, Value
from ..ir.evaluate import evaluate
from .traced import Traced


def as_known(trace: Any, x: Any) -> Any:
    """Return the number or array that a traced value is in each run of the program; x itself if it may differ."""
    found = _constant(trace, trace.value(x)) if isinstance(x, Traced) else None
    if found is None:
        return x
    if found.ndim:
        return found.copy()
    return found.item() if x.type.weak else found[()]


def _constant(trace: Any, value: Value) -> np.ndarray | None:
    made_by = trace.builder.makers()
    needed, waiting = {}, [value]
    while waiting:
        v = waiting.pop()
        if v.is_constant or v in needed:
            continue
        op = made_by.get(v)
        if op is None or op.kind != "call" or op.may_raise:
            return None
        needed[v] = op
        waiting += op.operands
    wanted = set(map(id, needed.values()))
    operations = [op for opened, _ in trace.builder.open for op in opened if id(op) in wanted]
    return np.asarray(evaluate(Function("constant", [], Block([], operations, [value])), [])[0])
