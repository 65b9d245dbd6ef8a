"""Rewrites a ``match`` statement whose patterns look into objects to ``if`` statements that record what they read."""

from __future__ import annotations

import ast
from typing import Any

from ...source.trees import nodes
from .expressions import Expressions, located

Node = Any
LOOKING = (ast.MatchSequence, ast.MatchMapping, ast.MatchClass)


class Patterns(Expressions):
    def statements(self, body: list[Node]) -> list[Node]:
        """Rewrite a list of statements; subclasses define this."""
        raise NotImplementedError

    def visit_Match(self, node: ast.Match) -> Node:
        if not any(isinstance(p, LOOKING) for case in node.cases for p in nodes(case.pattern)):
            node.subject = self.visit(node.subject)
            for case in node.cases:
                case.guard = None if case.guard is None else self.condition(case.guard)
                case.body = self.statements(case.body)
            return node
        subject, done = self.temporary(), self.temporary()
        result: list[Node] = [
            located(ast.Assign([ast.Name(subject, ast.Store())], self.visit(node.subject)), node),
            located(ast.Assign([ast.Name(done, ast.Store())], ast.Constant(False)), node),
        ]
        for case in node.cases:
            result.append(self.case(case, subject, done))
        return result

    def case(self, case: ast.match_case, subject: str, done: str) -> Node:
        """Rewrite a case: if not ``done`` and the pattern matches, bind its names; if the guard holds, run the body."""
        names: list[str] = []
        pattern = self.pattern(case.pattern, names)
        at = case.pattern
        found = self.temporary()
        matched = self.runtime("match", pattern, ast.Name(subject, ast.Load()), at=at)
        kept = ast.NamedExpr(ast.Name(found, ast.Store()), matched)
        body: list[Node] = [ast.Assign([ast.Name(done, ast.Store())], ast.Constant(True)), *self.statements(case.body)]
        if case.guard is not None:
            body = [ast.If(self.condition(case.guard), body, [])]
        if names:
            targets = ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())
            body.insert(0, ast.Assign([targets], ast.Name(found, ast.Load())))
        test = ast.BoolOp(
            ast.And(),
            [
                ast.UnaryOp(ast.Not(), ast.Name(done, ast.Load())),
                ast.Compare(kept, [ast.IsNot()], [ast.Constant(None)]),
            ],
        )
        return located(ast.If(test, body, []), at)

    def pattern(self, node: Node, names: list[str]) -> Node:
        """Return an expression that builds the pattern, and append the names that it binds to ``names``."""
        if isinstance(node, ast.MatchValue):
            return self.runtime("value", self.visit(node.value), at=node)
        if isinstance(node, ast.MatchSingleton):
            return self.runtime("singleton", ast.Constant(node.value), at=node)
        if isinstance(node, ast.MatchOr):
            return self.alternatives(node, names)
        if isinstance(node, ast.MatchSequence):
            stars = [i for i, p in enumerate(node.patterns) if isinstance(p, ast.MatchStar)]
            parts = [self.pattern(p, names) for p in node.patterns]
            return self.runtime("sequence", ast.Constant(stars[0] if stars else None), *parts, at=node)
        if isinstance(node, ast.MatchMapping):
            parts = [self.pattern(p, names) for p in node.patterns]
            keys = ast.Tuple([self.visit(key) for key in node.keys], ast.Load())
            if node.rest is not None:
                names.append(self.mangle(node.rest))
            return self.runtime("mapping_of", keys, ast.Constant(node.rest is not None), *parts, at=node)
        if isinstance(node, ast.MatchClass):
            parts = [self.pattern(p, names) for p in (*node.patterns, *node.kwd_patterns)]
            attributes = ast.Tuple([ast.Constant(self.mangle(a)) for a in node.kwd_attrs], ast.Load())
            count = ast.Constant(len(node.patterns))
            return self.runtime("instance", self.visit(node.cls), count, attributes, *parts, at=node)
        # MatchAs and MatchStar
        inner = getattr(node, "pattern", None)
        made = None if inner is None else self.pattern(inner, names)
        if node.name is None:
            return located(ast.Name(self.prefix + "anything", ast.Load()), node)
        names.append(self.mangle(node.name))
        if made is not None:
            return self.runtime("named", made, at=node)
        return located(ast.Name(self.prefix + "capture", ast.Load()), node)

    def alternatives(self, node: ast.MatchOr, names: list[str]) -> Node:
        bound: list[list[str]] = [[] for _ in node.patterns]
        parts = [self.pattern(p, own) for p, own in zip(node.patterns, bound)]
        names += bound[0]
        orders = [ast.Tuple([ast.Constant(own.index(name)) for name in bound[0]], ast.Load()) for own in bound]
        return self.runtime("either", ast.Tuple(orders, ast.Load()), *parts, at=node)
