"""Normalises ``break``, ``continue`` and early ``return`` on the syntax tree, before it is lowered."""

from __future__ import annotations

import ast
from typing import Any

from .trees import fill_locations, nodes


def assigned_by(target: Any) -> set[str]:
    if target is None:
        return set()
    return {n.id for n in nodes(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def assigned(body: list[Any]) -> set[str]:
    return {
        n.id
        for statement in body
        for n in nodes(statement)
        if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del))
    }


def jumps_out(node: Any, kind: type) -> bool:
    """Return whether a statement contains a ``return``, ``break`` or ``continue`` that leaves it."""
    inner = [*getattr(node, "body", []), *getattr(node, "orelse", []), *getattr(node, "finalbody", [])]
    for part in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
        inner += part.body
    for statement in inner:
        if isinstance(statement, kind):
            return True
        is_loop = isinstance(statement, (ast.For, ast.While))
        if is_loop and kind is not ast.Return:
            continue
        if (hasattr(statement, "body") or isinstance(statement, ast.Match)) and not isinstance(
            statement, (ast.FunctionDef, ast.ClassDef)
        ):
            if jumps_out(statement, kind):
                return True
    return False


def always_returns(body: list[Any]) -> bool:
    return any(
        isinstance(s, (ast.Return, ast.Raise))
        or isinstance(s, ast.If) and always_returns(s.body) and always_returns(s.orelse)
        for s in body
    )  # fmt: skip


def always_raises(body: list[Any]) -> bool:
    """Return whether a body certainly raises: every path does, and no jump leaves it before."""
    whole = ast.If(ast.Constant(True), body, [])
    if any(jumps_out(whole, kind) for kind in (ast.Return, ast.Break, ast.Continue)):
        return False
    return any(
        isinstance(s, ast.Raise) or isinstance(s, ast.If) and always_raises(s.body) and always_raises(s.orelse)
        for s in body
    )


def without_continue(body: list[Any]) -> list[Any]:
    """Remove ``continue``: the statements after ``if c: ...; continue`` move into the other branch."""
    for i, statement in enumerate(body):
        if isinstance(statement, ast.Continue):
            return body[:i] or [ast.Pass(lineno=statement.lineno)]
        if isinstance(statement, ast.If) and jumps_out(statement, ast.Continue):
            rest = body[i + 1 :]
            then, other = [without_continue([*b, *([] if _ends(b, ast.Continue) else rest)]) for b in (
                statement.body, statement.orelse)]  # fmt: skip
            return [*body[:i], ast.If(statement.test, then, other or [ast.Pass()], lineno=statement.lineno)]
    return body


def _ends(body: list[Any], kind: type) -> bool:
    return any(isinstance(s, kind) for s in body)


def without_break(body: list[Any], flag: str) -> list[Any]:
    """Replace ``break`` by setting a flag and ``continue``; the loop's condition reads the flag."""

    class Replace(ast.NodeTransformer):
        def visit_Break(self, node: ast.Break) -> Any:
            stop = ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(True))
            return [fill_locations(ast.copy_location(s, node)) for s in (stop, ast.Continue())]

        def visit_For(self, node: Any) -> Any:
            return node

        visit_While = visit_For
        visit_FunctionDef = visit_For

    return [s for statement in body for s in _as_list(Replace().visit(statement))]


def _as_list(x: Any) -> list[Any]:
    return x if isinstance(x, list) else [x]
