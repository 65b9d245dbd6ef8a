"""The stack of a sweep, threaded through its blocks.

While a sweep is written, every push and pop acts on the placeholder ``CURRENT``. Afterwards ``thread`` replaces it by
the stack's current version at each operation: loops carry the stack, branches return it. The backward sweep visits
blocks in exactly the reverse order, so one stack serves the whole program.
"""

from __future__ import annotations

from ...ir.dynamic import Block, Operation, Value
from ...ir.typed import STACK

CURRENT = Value("stack", STACK)


def thread(block: Block, stack: Value) -> Value:
    """Replace ``CURRENT`` throughout a block that begins with ``stack``, and return the stack at its end."""
    return _thread(block, stack, _touching(block, set()))


def touches(block: Block) -> bool:
    """Whether a block pushes or pops."""
    return any(CURRENT in op.operands or any(map(touches, op.blocks)) for op in block.operations)


def _touching(block: Block, found: set[Operation]) -> set[Operation]:
    """The operations that push or pop, or contain one that does."""
    for op in block.operations:
        before = len(found)
        for inner in op.blocks:
            _touching(inner, found)
        if len(found) > before or CURRENT in op.operands:
            found.add(op)
    return found


def _thread(block: Block, stack: Value, touching: set[Operation]) -> Value:
    for op in block.operations:
        if op not in touching:
            continue
        if op.kind == "call":
            op.operands = [stack if v is CURRENT else v for v in op.operands]
            stack = op.results[-1]
            continue
        if op.kind == "if":
            for branch in op.blocks:
                branch.results.append(_thread(branch, stack, touching))
        else:
            op.operands.append(stack)
            for inner in op.blocks:
                inner.parameters.append(Value("stack", STACK))
            body = op.blocks[-1]
            body.results.append(_thread(body, body.parameters[-1], touching))
        stack = Value("stack", STACK)
        op.results.append(stack)
    return stack
