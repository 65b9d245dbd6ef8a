"""Forward mode on typed IR: makes, of a program, the program that also computes tangents.

    sweep           the tangents of blocks: calls, branches, loops, functions that call themselves
    tangents        the tangent of each value
    by_rule         tangents of NumPy and SciPy functions, from the table of rules
    structural      tangents of typed IR's own operations: indexing, shapes, stacks
    transposition   tangents where only a pullback is known: the transpose of the pullback

Each operation is followed by those that compute the tangents of its results, so nothing is saved. The result is an ordinary
typed function, which either mode differentiates again. The tangent of a stack is the stack of the tangents of its inexact values.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.dynamic import Function
from ..dead_code import remove_dead_code
from ..inline import copy_function, rename
from ..reverse.activity import check_active, may_have_cotangent
from ..reverse.strong_zero import strengthen
from .sweep import Called, Sweep

__all__ = ["forward"]


def forward(
    function: Function,
    active: Sequence[bool],
    target: str = "native",
    is_strong: bool = False,
    is_differentiated: bool = True,
    directions: int = 1,
) -> Function:
    """Return the function that also computes tangents.

    It takes the function's parameters, then a tangent for each active one; it returns the function's results, then a tangent
    for each inexact one. With several ``directions``, there are as many tangents for each in turn.

    Args:
        function: typed IR; it is not changed.
        active: for each parameter, whether it varies.
        target: ``"native"`` or ``"xla"``, for the loops of pullbacks that are transposed.
        is_strong: whether a tangent of zero contributes zero also in products with Inf and NaN (``reverse.strong_zero``).
        is_differentiated: whether the result may itself be differentiated.
        directions: how many tangents a value has.

    Raises:
        NoDerivative: a tangent reaches a call whose rule does not compile.
        BadInput: an active parameter is neither a float nor complex, or an array of these.
    """
    check_active(function, active)
    made = copy_function(function)
    called = Called(is_differentiated, directions)
    seeds = called.seeds([p for p, on in zip(made.parameters, active) if on])
    sweep = Sweep(target, called)
    results = sweep.whole(made, active, seeds, [may_have_cotangent(v) for v in made.block.results])
    found = Function(f"{function.name}_forward", [*made.parameters, *seeds], made.block, function.filename)
    made.block.results += results
    rename(made.block, sweep.replaced)
    if is_strong:
        strengthen(found, seeds)
    return remove_dead_code(found)
