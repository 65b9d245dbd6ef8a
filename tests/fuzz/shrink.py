"""Reduces a failing program: delta debugging on its syntax tree.

Each step removes statements, replaces a compound statement by its body, or replaces an expression by a part of itself
or by a number.  It is kept if the program still fails in the same way.  Large removals are tried before small ones.

Source: A. Zeller and R. Hildebrandt, Simplifying and isolating failure-inducing input, IEEE Trans. Softw. Eng. 28 (2002)
183-200; expressions as in D. R. MacIver and A. F. Donaldson, Test-case reduction via test-case generation, ECOOP 2020.
"""

from __future__ import annotations

import ast
import copy
import itertools
import time
from collections.abc import Callable, Iterator

KEPT = {"program", "arguments", "LEAVES", "ORDER", "THREADS", "TIES", "DUALS"}


def shrink(text: str, fails: Callable[[str], bool], seconds: float = 60.0) -> str:
    """The smallest program found for which ``fails`` still holds, within about ``seconds``."""
    end, tree, progress = time.monotonic() + seconds, ast.parse(text), True
    while progress:
        progress, position = False, 0
        while True:
            # After a success continue at the same position: the earlier changes have just been tried.
            changes = itertools.islice(enumerate(_changes(tree)), position, None)
            for position, (path, value) in changes:
                if time.monotonic() > end:
                    return ast.unparse(tree) + "\n"
                candidate = _text(_changed(tree, path, value))
                if candidate is not None and fails(candidate):
                    tree, progress = ast.parse(candidate), True
                    break
            else:
                break
    return ast.unparse(tree) + "\n"


def _text(tree: ast.Module) -> str | None:
    try:
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        compile(text, "<shrunk>", "exec")
    except (SyntaxError, ValueError, AttributeError):
        return None
    return text


Path = tuple[tuple[str, int | None], ...]


def _changes(tree: ast.Module) -> Iterator[tuple[Path, object]]:
    """The candidate changes in the order of trial: in ``program`` first, then in the rest of the module."""
    own = [i for i, s in enumerate(tree.body) if _name(s) == "program"]
    for i in own:
        yield from _statements(tree.body[i], (("body", i),))
        yield from _replacements(tree.body[i], (("body", i),))
    yield from _statements(tree, ())
    for i, statement in enumerate(tree.body):
        if _name(statement) not in KEPT:
            yield from _replacements(statement, (("body", i),))


def _statements(tree: ast.AST, start: Path) -> Iterator[tuple[Path, object]]:
    for path, body in _bodies(tree, start):
        size = len(body)
        while size:
            for first in range(0, len(body), size):
                if not any(_name(s) in KEPT for s in body[first : first + size]):
                    yield path, body[:first] + body[first + size :] or [ast.Pass()]
            size //= 2
    for path, body in _bodies(tree, start):
        for i, statement in enumerate(body):
            for inner in ("body", "orelse", "finalbody"):
                part = getattr(statement, inner, None)
                if isinstance(part, list) and part and not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                    yield path, [*body[:i], *part, *body[i + 1 :]]


def _replacements(tree: ast.AST, start: Path) -> Iterator[tuple[Path, object]]:
    for path, node in _expressions(tree, start):
        for part in _parts(node):
            yield path, part


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """The candidates to replace an expression: its own parts, and a number."""
    if isinstance(node, ast.Constant):
        return
    if isinstance(node, ast.BinOp) and isinstance(node.left, ast.BinOp):  # a long sum: each of its terms
        yield ast.BinOp(node.left.left, node.op, node.right)
    yield from (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
    if isinstance(node, (ast.List, ast.Tuple)) and len(node.elts) > 1:
        for i in range(len(node.elts)):
            yield type(node)(node.elts[:i] + node.elts[i + 1 :], node.ctx)
    if isinstance(node, ast.Call):
        for child in node.args:
            yield from (c for c in ast.iter_child_nodes(child) if isinstance(c, ast.expr))
    if not isinstance(node, (ast.Name, ast.Attribute)):
        yield ast.Constant(0.7)
    if isinstance(node, ast.Name):
        yield ast.Constant(1.0)


def _bodies(tree: ast.AST, path: Path) -> Iterator[tuple[Path, list[ast.stmt]]]:
    """The lists of statements, outer ones first."""
    for name, value in ast.iter_fields(tree):
        if not isinstance(value, list):
            continue
        if value and isinstance(value[0], ast.stmt):
            yield (*path, (name, None)), value
        for i, item in enumerate(value):
            if isinstance(item, (ast.stmt, ast.excepthandler, ast.match_case)):
                yield from _bodies(item, (*path, (name, i)))


def _expressions(tree: ast.AST, path: Path) -> Iterator[tuple[Path, ast.expr]]:
    """The expressions that are read, outer ones first."""
    for name, value in ast.iter_fields(tree):
        for i, item in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(item, ast.AST):
                continue
            where = (*path, (name, i))
            if isinstance(item, ast.expr) and not isinstance(getattr(item, "ctx", None), (ast.Store, ast.Del)):
                yield where, item
            yield from _expressions(item, where)


def _name(statement: ast.AST) -> str | None:
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    return getattr(statement, "name", None)


def _changed(tree: ast.Module, path: Path, value: object) -> ast.Module:
    """A copy of the tree with another value at a path."""
    result = copy.deepcopy(tree)
    node: object = result
    for name, i in path[:-1]:
        node = getattr(node, name) if i is None else getattr(node, name)[i]
    name, i = path[-1]
    if i is None:
        setattr(node, name, copy.deepcopy(value))
    else:
        getattr(node, name)[i] = copy.deepcopy(value)
    return result
