"""Reverse mode on typed IR: makes a forward sweep and a backward sweep, both typed IR again, from a program.

    activity        which values have a cotangent
    sweep           the adjoint of blocks: calls and branches
    loops           the adjoint of loops, and how the values of each iteration are saved
    by_rule         adjoints of NumPy and SciPy functions, from the table of rules (``formulas`` writes its formulas)
    structural      adjoints of typed IR's own operations: indexing, shapes, stacks
    recursion       functions that call themselves
    cotangents      accumulation of the cotangent of each value
    residuals       which values are saved and which recomputed: a ``minimum_cut``
    rereading       values that loops need not save because an array still holds them
    storage         how values of variable length are saved
    checkpoint      loops of any length in memory of a fixed size
    stacks          the stack that loops push on, threaded through the program
    strong_zero     products in which a cotangent of zero gives zero

The sweeps are ordinary typed functions: they can be inlined into one program, compiled separately, or reversed again.
Stacks have cotangents too: the adjoint of a push is a pop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...ir import typed
from ...ir.dynamic import Block, Function, Operation, Value
from ...ir.typed import STACK
from ..inline import copy_function, rename
from .activity import active_values, check_active, may_have_cotangent
from .recursion import Called
from .residuals import size
from .stacks import thread, touches
from .strong_zero import strengthen
from .sweep import Sweep

__all__ = ["Sweeps", "reverse"]


@dataclass
class Sweeps:
    """The two sweeps of a function.

    ``forward`` takes the function's parameters and returns its results followed by the residuals. ``backward`` takes
    the residuals and a cotangent for each inexact result, and returns one for each active parameter, of the parameter's
    type.
    """

    forward: Function
    backward: Function


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
    made = copy_function(function)
    values = active_values(made, active)
    sweep = Sweep(made.block, made.parameters, values, target, Called(is_differentiated))
    seeds, adjoint = sweep.whole(made, active, [may_have_cotangent(v) for v in made.block.results])
    saved: list[Value] = []

    def keep(values: list[Value]) -> None:
        saved.extend(values)
        sweep.restored.update((v, Value(v.name, v.type)) for v in values)

    sweep.finish(made.block, adjoint, _Weights(made.parameters).of, keep)
    parameters = [sweep.restored[v] for v in saved]
    made.block.results += saved
    rename(made.block, sweep.replaced)
    rename(adjoint, sweep.restored)
    rename(Block(parameters), sweep.restored)
    if touches(made.block):
        stack = Value("stack", STACK)
        made.block.operations.insert(0, Operation("call", typed.stack_new, results=[stack]))
        made.block.results.append(thread(made.block, stack))
        parameters.append(Value("stack", STACK))
        thread(adjoint, parameters[-1])
    backward = Function(f"{function.name}_backward", [*parameters, *seeds], adjoint, function.filename)
    if is_strong:
        strengthen(backward, seeds)
    return Sweeps(Function(f"{function.name}_forward", made.parameters, made.block, function.filename), backward)


class _Weights:
    """The cost of saving a value of the outermost block: zero for scalars and parameters, else its size in bytes."""

    def __init__(self, parameters: Sequence[Value]) -> None:
        self.parameters = set(parameters)

    def of(self, value: Value) -> float:
        if value in self.parameters or value.type is not STACK and not value.type.shape:
            return 0.0
        return size(value.type)
