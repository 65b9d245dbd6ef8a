"""Sweeps of functions that call themselves: each call pushes its residuals on the program's one stack."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.dynamic import Block, Function, Operation, Value
from ...ir.typed import STACK
from ..inline import copy_function, rename
from .activity import active_values, has_cotangent, may_have_cotangent
from .cotangents import Cotangents
from .loops import push
from .reruns import gather, scatter
from .residuals import size
from .stacks import CURRENT, thread
from .sweep import Sweep


@dataclass
class Pair:
    """The two sweeps of a called function.

    ``forward`` takes the function's parameters and the stack, and returns its results and the stack. ``backward`` takes
    a cotangent for each result that has one and the stack, and returns the cotangents of the parameters and the stack.
    """

    forward: Function
    backward: Function


class Called:
    """The sweeps of the functions that a program calls, each written once."""

    def __init__(self, is_differentiated: bool = False) -> None:
        self.is_differentiated = is_differentiated  # whether a derivative will be taken of these sweeps
        self.pairs: dict[tuple[Function, tuple[bool, ...]], Pair] = {}

    def pair(self, function: Function, given: tuple[bool, ...]) -> Pair:
        """The sweeps of a function; ``given`` says which of its results have a cotangent."""
        if (function, given) in self.pairs:
            return self.pairs[function, given]
        made = copy_function(function)
        gather(made.block)
        made.name = f"{function.name}_forward"
        pair = Pair(made, Function(f"{function.name}_backward", [], Block(), function.filename))
        self.pairs[function, given] = pair
        wanted = [has_cotangent(p) for p in made.parameters]
        sweep = Sweep(made.block, made.parameters, active_values(made, wanted, given), "native", self)
        seeds, adjoint = sweep.whole(made, wanted, given)
        sweep.finish(made.block, adjoint, lambda v: size(v.type), lambda values: push(sweep, made.block, values))
        rename(made.block, sweep.replaced)
        rename(adjoint, sweep.restored)
        scatter(made.block)
        scatter(adjoint)
        for block, parameters in ((made.block, made.parameters), (adjoint, seeds)):
            parameters.append(Value("stack", STACK))
            block.results.append(thread(block, parameters[-1]))
        pair.backward.parameters, pair.backward.block = seeds, adjoint
        return pair

    def adjoint(self, sweep: Sweep, op: Operation, cotangents: Cotangents, dys: list[Value | None]) -> None:
        """Write the adjoint of a call, which calls the callee's backward sweep."""
        b = sweep.builder
        pair = self.pair(op.callee, tuple(dy is not None for dy in dys))
        given = [dy for dy in dys if dy is not None]
        operands = [v for v in op.operands if may_have_cotangent(v)]
        types = [p.type for p in op.callee.parameters if may_have_cotangent(p)]
        op.callee = pair.forward
        op.operands.append(CURRENT)
        op.results.append(Value("stack", STACK))
        gs = b.call(pair.backward, [*given, CURRENT], [*types, STACK])
        for value, g in zip(operands, gs):
            cotangents.add(value, g)
