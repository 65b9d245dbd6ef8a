"""Which elements of the arguments the results of a typed program may depend on: an abstract interpretation.

    patterns      sets of inputs, as boolean sparse matrices
    abstract      what is known of a value; lanes: all iterations of a loop at once
    interpreter   blocks, branches, element-wise functions, and what operations have in common
    calls         other functions, and operations that move elements
    indexing      parts of arrays
    loops         loops

Each element of a value has a set of input elements. The interpretation follows a program of tangents, as forward mode writes it: its inputs
are the elements of the tangent, so that the sets are the nonzero pattern of the Jacobian, by the rules of the derivatives themselves. Values that depend on
no input are computed if they are ints, such as the indices of a loop. What is not known (a branch, an index, a function of a library) is taken
for all that it may be: the pattern is a superset of the nonzero entries for all numbers.

With a second kind of inputs, the elements of the argument at which the tangent is taken, products of the two kinds are the nonzero entries of the second
derivative: the *nonlinear interactions* of A. Walther, "Computing sparse Hessians with automatic differentiation", ACM TOMS 34 (2008).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...ir.dynamic import Function
from . import calls, indexing  # noqa: F401  what calls do
from .abstract import Abstract
from .loops import Loops
from .patterns import NotSparse, Pattern, check_entries, empty, identity, stacked

__all__ = ["NotSparse", "dependence"]


@dataclass
class Dependence:
    """The pattern of the first result, or of its second derivative.

    ``consulted``: parameters whose values the pattern depends on, with ``"values"``, or ``"zeros"`` if only their zeros count.
    """

    pattern: Pattern
    consulted: frozenset[tuple[int, str]]


def dependence(
    function: Function, tangent: int, numbers: Mapping[int, np.ndarray], argument: int | None = None
) -> Dependence:
    """Return the pattern of the first result of a typed function by its parameter number ``tangent``.

    Args:
        function: typed IR, linear in this parameter.
        tangent: the number of the parameter.
        numbers: the values of other parameters, by their numbers.
        argument: the number of a second parameter: the pattern is then that of the mixed second derivative, whose rows
            stand for its elements.

    Raises:
        NotSparse: a value depends on too many elements.
    """
    kinds = 1 if argument is None else 2
    run = Loops(kinds)
    given = []
    for i, parameter in enumerate(function.parameters):
        size = run.size(parameter)
        if i in (tangent, argument):
            patterns = tuple(identity(size) if j == i else None for j in (tangent, argument)[:kinds])
            given.append(Abstract(size, None, patterns))
        else:
            x = numbers.get(i)
            given.append(run.of(size, None if x is None else np.asarray(x).reshape(1, -1), frozenset([i])))
    for parameter, x in zip(function.parameters, given):
        run.values[parameter] = x, run.lanes
    try:
        y = run.whole(run.block(function.block, run.lanes)[0])
        found = (
            y.patterns[0]
            if argument is None
            else _products(run, *(run.size(function.parameters[i]) for i in (argument, tangent)))
        )
    except NotSparse as error:
        error.line = run.line
        raise
    width = run.size(function.parameters[tangent])
    return Dependence(empty(y.size, width) if found is None else found, frozenset(run.consulted))


def _products(run: Loops, height: int, width: int) -> Pattern:
    """Return the pattern of the products of interacting patterns."""
    pairs = {(id(a), id(b)): (a, b) for a, b in run.interactions}.values()
    if not pairs:
        return empty(height, width)
    a, b = (stacked(each) for each in zip(*pairs))
    counts = np.diff(a.indptr).astype(np.int64), np.diff(b.indptr).astype(np.int64)
    check_entries(int(np.max(counts[0] * counts[1], initial=0)))
    found = a.T.tocsr() @ b
    check_entries(found.nnz)
    found.sum_duplicates()
    return found
