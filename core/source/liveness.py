"""Which local variables a loop needs and leaves: its inputs, and what is read of it afterwards.

Both analyses walk the syntax tree once (loops until nothing changes).  They err on the safe side: a variable counts as
read wherever its name may be read, and as assigned only where every path assigns it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any

from .trees import nodes

Names = frozenset[str]
NOTHING: Names = frozenset()
LOOPS = (ast.For, ast.While)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def read_by(*trees: Any) -> Names:
    """Return the names that expressions or statements may read, also in functions that they define."""
    found: set[str] = set()
    waiting = [t for t in trees if t is not None]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Store):
                found.add(node.id)
        elif isinstance(node, _COMPREHENSIONS):  # its variables are its own
            own = frozenset().union(*(bound_by(g.target) for g in node.generators))
            found |= read_by(*ast.iter_child_nodes(node)) - own
        else:
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                found.add(node.target.id)
            waiting += ast.iter_child_nodes(node)
    return frozenset(found)


def bound_by(tree: Any) -> Names:
    """Return the names that a statement or expression binds in its own scope, on some path."""
    found: set[str] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                found.add(node.id)
        elif isinstance(node, _SCOPES) and not isinstance(node, ast.Lambda):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
        if isinstance(node, _COMPREHENSIONS):
            found |= {n.target.id for n in nodes(node) if isinstance(n, ast.NamedExpr)}
        elif not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return frozenset(found)


def outermost_loops(body: list[Any]) -> list[Any]:
    """Return the outermost loops of a block, also those in its conditions.

    After a loop in a ``try`` or a ``with``, variables may be read that it had assigned before it raised.
    """
    found = []
    for s in body:
        if isinstance(s, LOOPS):
            found.append(s)
        elif isinstance(s, ast.If):
            found += outermost_loops(s.body) + outermost_loops(s.orelse)
    return found


class Loops:
    """For each loop in a function's body, by identity: the variables read after it, and those assigned before it.

    ``assigned`` are the variables that every path to the loop assigns, ``live`` those that some path from its end may
    read.  Parameters are ``assigned`` everywhere.
    """

    def __init__(self, body: Sequence[ast.stmt], parameters: Iterable[str]) -> None:
        self.live: dict[int, Names] = {}
        self.assigned: dict[int, Names] = {}
        self._before(body, NOTHING, NOTHING, NOTHING)
        self._after(body, frozenset(parameters))

    def inputs(self, loop: ast.For | ast.While) -> Names:
        """Return the names that the loop may read before it assigns them, or leave as they are and read later."""
        left = self.live[id(loop)]
        return Loops((), ())._before([loop], NOTHING, NOTHING, NOTHING) | left & bound_by(loop)

    # What may be read, backwards. ``out`` and ``again`` are live where a ``break`` and a ``continue`` lead.

    def _before(self, body: Sequence[ast.stmt], live: Names, out: Names, again: Names) -> Names:
        for statement in reversed(body):
            live = self._before_one(statement, live, out, again)
        return live

    def _before_one(self, s: Any, live: Names, out: Names, again: Names) -> Names:
        if isinstance(s, (ast.Return, ast.Raise)):
            return read_by(s)
        if isinstance(s, ast.Break):
            return out
        if isinstance(s, ast.Continue):
            return again
        if isinstance(s, ast.If):
            ways = [self._before(body, live, out, again) for body in (s.body, s.orelse)]
            return read_by(s.test) | ways[0] | ways[1]
        if isinstance(s, LOOPS):
            self.live[id(s)] = self.live.get(id(s), NOTHING) | live
            end = self._before(s.orelse, live, out, again)
            head = end
            target = bound_by(s.target) if isinstance(s, ast.For) and isinstance(s.target, ast.Name) else NOTHING
            condition = read_by(s.test) if isinstance(s, ast.While) else read_by(s.target)
            while True:
                found = head | condition | self._before(s.body, head, live, head) - target
                if found == head:
                    break
                head = found
            return head | read_by(s.iter) if isinstance(s, ast.For) else head
        if isinstance(s, ast.With):
            return read_by(*s.items) | self._before(s.body, live | out | again, out, again)
        if isinstance(s, (ast.Try, ast.Match)) or type(s).__name__ == "TryStar":
            for part in _bodies(s):
                self._before(part, live | read_by(s) | out | again, out, again)
            return read_by(s) | live | out | again
        if isinstance(s, (ast.Assign, ast.AnnAssign, ast.Expr, ast.AugAssign)):
            return (live - _surely_bound(s)) | read_by(s)
        return live | read_by(s)

    # What is assigned, forwards.

    def _after(self, body: Sequence[ast.stmt], known: Names) -> Names | None:
        """Return what is assigned after a body, None if its end is not reached."""
        for s in body:
            after = self._after_one(s, known)
            if after is None:
                return None
            known = after
        return known

    def _after_one(self, s: Any, known: Names) -> Names | None:
        if isinstance(s, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            return None
        if isinstance(s, ast.If):
            ways = [w for w in (self._after(s.body, known), self._after(s.orelse, known)) if w is not None]
            return frozenset.intersection(*ways) if ways else None
        if isinstance(s, LOOPS):
            self.assigned[id(s)] = known
            inside = known | bound_by(s.target) if isinstance(s, ast.For) else known
            self._after(s.body, inside - _deleted(s))
            self._after(s.orelse, known - _deleted(s))
            return known - _deleted(s)
        if isinstance(s, ast.With):
            bound = frozenset().union(*(bound_by(i.optional_vars) for i in s.items if i.optional_vars is not None))
            inside = self._after(s.body, known | bound)  # the manager may suppress an exception
            return None if inside is None else known - _deleted(s)
        if _bodies(s):
            for part in _bodies(s):
                self._after(part, known - _deleted(s))
            return known - _deleted(s)
        return (known | _surely_bound(s) | _defined(s)) - _deleted(s)


def _bodies(s: Any) -> list[Any]:
    """Return the blocks of a ``try`` or ``match``."""
    parts = (*getattr(s, "handlers", ()), *getattr(s, "cases", ()))
    if not isinstance(s, (ast.Try, ast.Match)) and type(s).__name__ != "TryStar":
        return []
    return [*(getattr(s, name, []) for name in ("body", "orelse", "finalbody")), *(part.body for part in parts)]


def _surely_bound(s: Any) -> Names:
    """Return the names that a simple statement assigns whatever happens in it."""
    if isinstance(s, ast.Assign):
        return frozenset().union(*map(bound_by, s.targets))
    if isinstance(s, ast.AugAssign) or isinstance(s, ast.AnnAssign) and s.value is not None:
        return bound_by(s.target)
    return NOTHING


def _defined(s: Any) -> Names:
    return bound_by(s) if isinstance(s, (*_SCOPES, ast.Import, ast.ImportFrom)) else NOTHING


def _deleted(s: Any) -> Names:
    """Return the names that a statement may delete: by ``del``, or at the end of ``except ... as``."""
    found = {n.id for n in nodes(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Del)}
    return frozenset(found | {n.name for n in nodes(s) if isinstance(n, ast.ExceptHandler) and n.name})
