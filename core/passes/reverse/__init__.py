"""Reverse mode on typed IR: makes a forward sweep and a backward sweep, both typed IR again, from a program.

    activity        which values have a cotangent
    sweep           the adjoint of blocks: calls and branches
    loops           the adjoint of loops, and how the values of each iteration are saved
    by_rule         adjoints of NumPy and SciPy functions, from the table of rules (``formulas`` writes its formulas)
    equal_values    adjoints of decompositions where eigenvalues or singular values may be equal
    kept            functions replaced by kernels whose adjoints use the forward sweep's factors again
    structural      adjoints of typed IR's own operations: indexing, shapes, stacks
    recursion       functions that call themselves
    cotangents      accumulation of the cotangent of each value
    residuals       which values are saved and which recomputed: a ``minimum_cut``
    rereading       values that loops need not save because an array still holds them
    storage         how values of variable length are saved
    segments        a loop taken apart: one iteration, segments of iterations, the state between them
    checkpoint      loops that hold few states and recompute iterations from them
    inverses        loops whose states the backward sweep computes by an inverse
    reruns          checkpointed calls, which the backward sweep runs again
    stacks          the stack that loops push on, threaded through the program
    strong_zero     products in which a cotangent of zero gives zero

The sweeps are ordinary typed functions: they can be inlined into one program, compiled separately, or reversed again.
Stacks have cotangents too: the adjoint of a push is a pop.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import typed
from ...ir.dynamic import Block, Function, Operation, Value
from ...ir.memory_policies import MOST_BYTES
from ...ir.typed import STACK
from .activity import check_active
from .bounded import bounded, storeless, unbounded
from .recursion import Called
from .residuals import stored_bytes
from .stacks import thread, touches
from .strong_zero import strengthen
from .sweep import Sweeps, sweeps_of

__all__ = ["Sweeps", "reverse"]


def reverse(
    function: Function,
    active: Sequence[bool],
    target: str = "native",
    is_strong: bool = False,
    is_differentiated: bool = True,
) -> Sweeps:
    """Return the forward and backward sweeps of a typed function.

    Args:
        function: typed IR; it is not changed.
        active: for each parameter, whether its cotangent is wanted.
        target: ``"native"``: loops push residuals on a stack; ``"xla"``: they save them in memory of fixed size.
        is_strong: whether a cotangent of zero contributes zero also in products with Inf and NaN (``strong_zero``).
        is_differentiated: whether the sweeps may themselves be differentiated.

    For complex values the gradient is dL/dx + i dL/dy: a pullback multiplies by the conjugate of the derivative.

    Raises:
        NoDerivative: a cotangent reaches a call whose rule does not compile.
        BadInput: an active parameter is neither a float nor complex, or an array of these.
    """
    check_active(function, active)
    sweeps = _sweeps(function, active, target, is_differentiated)
    forward, backward = sweeps.forward, sweeps.backward
    if touches(forward.block):
        stack = _new_stack(forward.block)
        forward.block.results.append(thread(forward.block, stack))
        given = Value("stack", STACK)
        backward.parameters.insert(len(backward.parameters) - sweeps.seeds, given)
        thread(backward.block, given)
    elif touches(backward.block):
        thread(backward.block, _new_stack(backward.block))
    if is_strong:
        strengthen(backward, backward.parameters[len(backward.parameters) - sweeps.seeds :])
    return sweeps


def _sweeps(function: Function, active: Sequence[bool], target: str, is_differentiated: bool) -> Sweeps:
    def made(function: Function) -> Sweeps:
        return sweeps_of(function, active, target, Called(is_differentiated))

    if target == "native":
        return made(function)
    marked = bounded(function)
    sweeps = storeless(marked, made)
    if stored_bytes(sweeps.forward, len(function.block.results)) > MOST_BYTES:
        plain = unbounded(marked)
        sweeps = sweeps if plain is marked else storeless(plain, made)
    return sweeps


def _new_stack(block: Block) -> Value:
    stack = Value("stack", STACK)
    block.operations.insert(0, Operation("call", typed.stack_new, results=[stack]))
    return stack
