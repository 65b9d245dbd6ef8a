"""Mangles private names in functions nested in methods, as Python does: ``__x`` becomes ``_Class__x``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any


class PrivateNames(ast.NodeTransformer):
    """Mangles the names in a nested function, except within a class in it, which mangles its own."""

    def __init__(self, mangle: Callable[[str], str]) -> None:
        self.mangle = mangle

    def generic_visit(self, node: Any) -> Any:
        for field in ("id", "attr", "arg", "name", "rest"):
            name = getattr(node, field, None)
            if isinstance(name, str) and not isinstance(node, (ast.alias, ast.FunctionDef, ast.AsyncFunctionDef)):
                setattr(node, field, self.mangle(name))
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            node.names = [*map(self.mangle, node.names)]
        elif isinstance(node, ast.MatchClass):
            node.kwd_attrs = [*map(self.mangle, node.kwd_attrs)]
        return super().generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.name = self.mangle(node.name)
        node.bases = [self.visit(b) for b in node.bases]
        node.keywords = [self.visit(k) for k in node.keywords]
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        return node


def mangled(owner: str, tree: Any) -> Any:
    """Return the tree of a method of the class ``owner`` with its private names mangled."""
    return _PrivateNames(owner).visit(tree)


class _PrivateNames(PrivateNames):
    """Mangles private names in a method, also in the functions that it defines."""

    def __init__(self, owner: str) -> None:
        prefix = f"_{owner.lstrip('_')}"
        super().__init__(lambda name: prefix + name if name.startswith("__") and not name.endswith("__") else name)

    def generic_visit(self, node: Any) -> Any:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.name = self.mangle(node.name)
        return super().generic_visit(node)
