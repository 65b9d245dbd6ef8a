"""Loops over generators whose course is not known while compiling: the loop's body runs in place of each ``yield``.

So the generator's own loops and conditions become operations of the program, as those of any function.  The generator
must be at its start, and no ``yield`` may stand in a ``try`` or a ``with``, which would see what the loop's body raises.
"""

from __future__ import annotations

import ast
from typing import Any

from ..errors import BadInput
from ..source.jumps import jumps_out
from ..source.trees import fill_locations, nodes
from ..source.yields import YIELDS, has_yield
from .branches import Jump
from .iterators import UNKNOWN
from .raising import UNKNOWN_END
from .scopes import Conflict
from .suspended import Suspended

_ITEM = ".item"


class Consumer:
    """The body of a loop over a generator, run for each item; ``state`` notes how it was left."""

    def __init__(self, trace: Any, node: ast.For) -> None:
        self.trace = trace
        self.node = node
        self.scope = trace.scope
        self.state = trace.new({"return": False, "broke": False})
        self.may_leave = leaves(trace, node)

    def run(self, node: ast.Yield | ast.YieldFrom) -> Jump | None:
        """Run what a statement that consists of a ``yield`` stands for."""
        if isinstance(node, ast.YieldFrom):
            body = ast.Expr(ast.Yield(ast.Name(_ITEM, ast.Load())))
            loop = ast.For(ast.Name(_ITEM, ast.Store()), node.value, [body], [])
            return self.trace.statements.statement(fill_locations(ast.copy_location(loop, node)))
        return self.take(None if node.value is None else self.trace.expressions.expression(node.value))

    def take(self, x: Any) -> Jump | None:
        """Run the body for one item; return how the generator is left."""
        trace = self.trace
        trace.scopes.append(self.scope)
        try:
            trace.statements.assign(self.node.target, x)
            jump = trace.statements.run(self.node.body)
        except StopIteration:
            raise BadInput(UNKNOWN_END) from None
        finally:
            trace.scopes.pop()
        if jump is None or jump.dead:
            return jump
        leaving = {k: c for k, c in jump.conditions.items() if k != "continue" and c is not False}
        if not leaving:
            return None
        trace.touch(self.state)
        if "return" in leaving:
            self.state["return"], self.state["value"] = leaving["return"], jump.value
        if "break" in leaving:
            self.state["broke"] = leaving["break"]
        return Jump({"return": trace.statements.any_of(Jump(leaving))}, None)


def leaves(trace: Any, node: ast.For | ast.While) -> bool:
    """Whether a loop may be left by ``break`` or ``return``, also by those in what runs in place of its ``yield``s."""
    consumer = trace.scope.consumer
    is_left = consumer is not None and consumer.may_leave and has_yield(node)
    return is_left or any(jumps_out(node, kind) for kind in (ast.Break, ast.Return))


def can_fuse(x: Any) -> bool:
    """Whether the body of a loop over x can run in place of the ``yield``s of x."""
    return isinstance(x, Suspended) and x.is_fresh and all(map(_has_plain_yields, _statements(x)))


def _statements(generator: Suspended) -> list[ast.stmt]:
    ((kind, first, *_),) = generator.stacks[generator.start]
    return first if kind == "block" else [first]


def _has_plain_yields(statement: ast.stmt) -> bool:
    if not has_yield(statement):
        return True
    inside = [n for n in nodes(statement) if has_yield(n)]
    if any(isinstance(n, (ast.Try, ast.TryStar, ast.With, ast.AsyncWith)) for n in inside):
        return False
    yields = [n for n in inside if isinstance(n, YIELDS)]
    alone = [n for n in inside if isinstance(n, ast.Expr) and isinstance(n.value, YIELDS)]
    return len(yields) == len(alone)


def fused(trace: Any, node: ast.For, generator: Suspended) -> Jump | None:
    """Run a loop over a generator."""
    consumer = Consumer(trace, node)
    ((kind, first, *rest),) = generator.stacks[generator.start]
    scope = generator.scope
    generator.move(trace, state=Conflict(UNKNOWN))
    line = scope.caller = trace.builder.line
    outer, scope.consumer = scope.consumer, consumer
    trace.scopes.append(scope)
    depth = len(trace.scopes)
    try:
        jump = trace.statements.run(first) if kind == "block" else trace.loops.for_over(first, *rest)
    except StopIteration as error:
        raise RuntimeError("generator raised StopIteration") from error
    finally:
        del trace.scopes[depth - 1 :]
        scope.consumer, trace.builder.line = outer, line
    if jump is not None and jump.dead:
        return jump
    if consumer.state["return"] is False and consumer.state["broke"] is False:
        generator.finish(trace)
    return trace.loops.after_loop(node, consumer.state)
