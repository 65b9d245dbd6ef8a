"""Generators: functions that stop at each ``yield`` and resume when their next item is taken.

The code still to be run is a stack of frames, such as ``("block", statements, i)``: the next statement is the i-th.
The stack consists of immutable values, and the generator's state is the name of a stack, so that branches and loops can
compare and restore it.
"""

from __future__ import annotations

import ast
from typing import Any
from weakref import WeakKeyDictionary

from ..errors import BadInput, MorulaError
from ..source.trees import fill_locations, nodes
from ..source.yields import has_yield
from .iterators import Iterator, iterator_of, known
from .resumed import Frame, Returned, Run
from .scopes import Scope
from .traced import current


class Suspended(Iterator):
    """A generator object; ``frames`` are its initial frames."""

    def __init__(self, scope: Scope, frames: list[Frame], name: str) -> None:
        self.scope = scope
        self.name = name
        self.stacks: dict[str, tuple[Frame, ...]] = {}
        self.state: Any = self.state_of(frames)
        self.start = self.state

    @property
    def is_fresh(self) -> bool:
        return self.state == self.start

    def step(self, trace: Any) -> Any:
        return self.resume(trace, None)

    def finish(self, trace: Any) -> None:
        self.move(trace, state=self.state_of([]))

    def send(self, x: Any) -> Any:
        return self.resume(current(), x)

    def throw(self, error: Any, *more: Any) -> Any:
        if isinstance(error, type):
            error = more[0] if more and isinstance(more[0], BaseException) else error(*more[:1])
        return self.resume(current(), None, error)

    def close(self) -> None:
        try:
            self.resume(current(), None, GeneratorExit())
        except (GeneratorExit, StopIteration):
            return
        raise RuntimeError("generator ignored GeneratorExit")

    def refuse_if_left(self, trace: Any) -> None:
        """Refuse a generator left inside a ``try`` whose clean-up Python would run when it deletes the generator."""
        states = [self.state] if isinstance(self.state, str) else list(self.stacks)
        for frames in map(self.stacks.__getitem__, states):
            nodes = [f[1] for f in frames if f[0] == "with" or f[0] == "try" and cleans_up(f[1], f[2])]
            if nodes:
                what = "with whose __exit__" if isinstance(nodes[0], ast.With) else "try whose except or finally"
                error = BadInput(
                    f"the generator {self.name} is left before its end, inside a {what} Python would run when it deletes the "
                    "generator; take all of its items, or call its close()"
                )
                trace.scopes.append(self.scope)
                try:
                    trace.statements.locate(error, nodes[0])
                finally:
                    trace.scopes.pop()
                raise error

    def state_of(self, frames: list[Frame]) -> str:
        """Return the name of a stack; equal stacks have one name."""
        parts = ((f[0], *(p if isinstance(p, (int, str)) else id(p) for p in f[1:])) for f in frames)
        name = repr(tuple(parts))
        self.stacks[name] = tuple(frames)
        return name

    def resume(self, trace: Any, sent: Any, thrown: BaseException | None = None) -> Any:
        """Run until the next ``yield`` and return its value."""
        state = known(self.state)
        if state == "running":
            raise ValueError("generator already executing")
        frames = list(self.stacks[state])
        if not frames or state == self.start:
            if thrown is not None:
                self.finish(trace)
                raise thrown
            if not frames:
                raise StopIteration
            if sent is not None:
                raise TypeError("can't send non-None value to a just-started generator")
        self.move(trace, state="running")
        line, tries, handled = trace.builder.line, list(trace.tries), list(trace.handled)
        trace.scopes.append(self.scope)
        self.scope.caller = line
        depth = len(trace.scopes)
        try:
            found = Run(trace, self, frames, sent, thrown).run()
        except Exception as error:
            if isinstance(error, MorulaError):
                raise
            frames.clear()
            if isinstance(error, StopIteration) and not isinstance(error, Returned):
                raise RuntimeError("generator raised StopIteration") from error
            if isinstance(error, Returned):
                raise StopIteration(error.value) from None
            raise
        finally:
            del trace.scopes[depth - 1 :]
            trace.builder.line, trace.tries, trace.handled = line, tries, handled
            if self.state == "running":
                self.move(trace, state=self.state_of(frames))
        return found


def cleans_up(node: ast.Try, phase: str = "body") -> bool:
    """Whether a ``try``, left in this phase, runs something when its generator is closed."""
    names = [getattr(h.type, "id", None) for h in node.handlers if h.type is not None]
    catches = len(names) < len(node.handlers) or not {"BaseException", "GeneratorExit"}.isdisjoint(names)
    return bool(node.finalbody) or phase == "body" and catches


def may_clean_up(node: Any) -> bool:
    """Whether a generator has a ``yield`` in a ``try`` or ``with`` that runs something when the generator is closed."""
    around = (n for n in nodes(node) if isinstance(n, ast.With) or isinstance(n, ast.Try) and cleans_up(n))
    return any(map(has_yield, around))


def started(trace: Any, node: Any, scope: Scope) -> Suspended:
    """Return the generator for a call of the function ``node``."""
    made = trace.new(Suspended(scope, [("block", node.body, 0)], scope.name))
    if may_clean_up(node):
        trace.suspended.append(made)
    return made


_loops: WeakKeyDictionary[ast.GeneratorExp, ast.For] = WeakKeyDictionary()


def loop_of(node: ast.GeneratorExp) -> ast.For:
    """Return a generator expression as a loop that yields."""
    if node not in _loops:
        body: ast.stmt = ast.Expr(ast.Yield(node.elt))
        for part in reversed(node.generators):
            for test in reversed(part.ifs):
                body = ast.If(test, [body], [])
            body = ast.For(part.target, part.iter, [body], [])
        _loops[node] = fill_locations(ast.copy_location(body, node))  # type: ignore[assignment]
    return _loops[node]


class Generator(Suspended):
    """A generator expression; ``node`` and ``first`` let a loop over it from its start become one operation."""

    def __init__(self, trace: Any, node: ast.GeneratorExp, scope: Scope, around: Scope, first: Any) -> None:
        self.node = node
        self.around = around
        self.first = first
        loop = loop_of(node)
        super().__init__(scope, [("for", loop, iterator_of(trace, first))], "<genexpr>")
