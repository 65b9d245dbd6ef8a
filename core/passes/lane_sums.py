"""Recognition of sums: carried variables to which a loop's body only adds.

The sum may be a number, an array, or a part of an array that is the same in every iteration.  ``lanes`` needs this for
loops that accumulate.  Without it the native gradients of ``syrk`` and ``syr2k`` (``benchmarks/compilation``)
take 5 times as long, with XLA 2.6 and 3.3 times.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir import typed
from ..ir.dynamic import Block, Operation, Value


class Uses:
    """Def-use information of a loop's body: a value's users are operations, and positions in the body's results."""

    def __init__(self, body: Block) -> None:
        self.maker = {r: o for o in body.operations for r in o.results}
        self.users: dict[Value, list[Any]] = {}
        for o in body.operations:
            for v in o.operands:
                self.users.setdefault(v, []).append(o)
        for k, v in enumerate(body.results):
            self.users.setdefault(v, []).append(k)

    def is_sum(self, parameter: Value, result: Value) -> tuple[Any, ...] | None:
        """Return (adding operation, term, np.add or np.subtract, index) if the body only adds to a carried variable.

        The index is None where the sum is the whole variable; the return value is None for any other variable.
        """
        add = self.maker.get(result)
        if add is None or len(self.users.get(result, ())) != 1:
            return None
        uses = self.users.get(parameter, [])
        if add.callee in (np.add, np.subtract) and uses == [add]:
            return (add, *self.term(add, parameter), None)
        if add.callee is typed.add_at and uses == [add] and add.operands[0] is parameter:
            return add, add.positional[-1], np.add, add.positional[1:-1]
        if add.callee is not typed.setitem or add.operands[0] is not parameter or len(uses) != 2:
            return None
        found = self.added(add)
        read = next(o for o in uses if o is not add)
        if found is None or not isinstance(read, Operation) or len(self.users.get(read.results[0], ())) != 1:
            return None
        return add, *found, add.positional[1:-1]

    def added(self, write: Operation) -> tuple[Value, Any] | None:
        """Return (term, np.add or np.subtract) of a write ``x[i] = x[i] + term``; None for index arrays and others."""
        total = write.positional[-1]
        op = self.maker.get(total)
        if write.callee is not typed.setitem or op is None or op.callee not in (np.add, np.subtract):
            return None
        if "a" in write.named["spec"].constant:
            return None
        for part in op.operands:
            read = self.maker.get(part)
            if read is not None and read.callee is typed.getitem and read.operands[0] is write.operands[0]:
                term, function = self.term(op, part)
                if term is None or not term.type.shape == part.type.shape == total.type.shape:
                    continue
                if self.users[total] == [write] and _part(read) == _part(write):
                    return term, function
        return None

    @staticmethod
    def term(op: Operation, whole: Value) -> tuple[Value | None, Any]:
        a, b = op.operands
        if op.callee is np.subtract:
            return (b, np.subtract) if a is whole else (None, None)
        return (b if a is whole else a), np.add


def _part(op: Operation) -> Any:
    spec = op.named["spec"].constant
    index = op.positional[1 : 1 + sum(e != ":" for e in spec)]
    return spec, tuple(int(v.constant) if v.is_constant and not v.type.shape else v for v in index)
