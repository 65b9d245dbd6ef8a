"""Rewrites conditions, comparisons, ``and`` and ``or``, whose meaning a class may define (``__bool__``, ``__lt__``)."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any

from ...source.trees import copied

Node = Any

COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}


class Conditions(ast.NodeTransformer):
    prefix: str
    in_comprehension: bool

    def runtime(self, name: str, *args: Node, at: Node) -> ast.Call:
        """Return a call of one of the engine's functions; subclasses define this method and the next."""
        raise NotImplementedError

    def temporary(self) -> str:
        raise NotImplementedError

    def is_asked(self, node: Node) -> bool:
        """Whether an expression is a call of a built-in function that returns a bool."""
        raise NotImplementedError

    def visit_BoolOp(self, node: ast.BoolOp) -> Node:
        """Rewrite ``a and b``, which returns an operand and asks all but the last for their truth."""
        *first, last = node.values
        node.values = [*map(self.operand, first), self.visit(last)]
        return self.runtime("chosen", node, at=node)

    def operand(self, node: Node) -> Node:
        """Rewrite an operand to carry its truth value, so that no enclosing operator asks for it again."""
        if isinstance(node, ast.BoolOp):
            node.values = [self.operand(v) for v in node.values]
            return node
        if (
            isinstance(node, (ast.Compare, ast.Constant))
            or self.is_asked(node)
            or isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.Not)
        ):
            return self.visit(node)
        return self.unless_plain(
            [self.visit(node)], "compared", lambda x: x, lambda x: self.runtime("operand", x, at=node), node
        )

    def visit_Compare(self, node: ast.Compare) -> Node:
        """Rewrite a comparison: ``a < b`` may call a method in Python, and ``a < b < c`` evaluates ``b`` once."""
        plain = (ast.Is, ast.IsNot)
        if all(isinstance(op, plain) for op in node.ops):
            return self.generic_visit(node)
        if len(node.ops) > 1:
            plainly = self.in_comprehension and not all(map(is_simple, node.comparators[:-1]))
            return self.generic_visit(node) if plainly else self.chain(node)
        return self.comparison(self.visit(node.left), node.ops[0], self.visit(node.comparators[0]), node)

    def comparison(self, left: Node, op: Node, right: Node, at: Node) -> Node:
        if type(op) in COMPARE:
            return self.unless_plain([left, right], "compared", lambda a, b: ast.Compare(a, [op], [b]),
                lambda a, b: self.runtime(COMPARE[type(op)], a, b, at=at), at)  # fmt: skip
        if isinstance(op, (ast.In, ast.NotIn)):
            found = self.runtime("contains", left, right, at=at)
            return found if isinstance(op, ast.In) else located(ast.UnaryOp(ast.Not(), found), at)
        return located(ast.Compare(left, [op], [right]), at)

    def chain(self, node: ast.Compare) -> Node:
        left = self.visit(node.left)
        values: list[Node] = []
        for i, (op, comparator) in enumerate(zip(node.ops, node.comparators)):
            right = self.visit(comparator)
            if i < len(node.ops) - 1 and not is_simple(right):
                name = self.temporary()
                kept = located(ast.NamedExpr(ast.Name(name, ast.Store()), right), comparator)
                values.append(self.comparison(left, op, kept, node))
                left = located(ast.Name(name, ast.Load()), comparator)
            else:
                values.append(self.comparison(left, op, right, node))
                left = copy.copy(right)
        return located(ast.BoolOp(ast.And(), values), node)

    def condition(self, test: Node) -> Node:
        """Rewrite an expression of which only the truth value is used."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test.operand = self.condition(test.operand)
            return test
        if isinstance(test, ast.BoolOp):
            test.values = [self.condition(v) for v in test.values]
            return test
        if isinstance(test, (ast.Compare, ast.Constant)) or self.is_asked(test):
            return self.visit(test)
        new = self.visit(test)
        return self.unless_plain([new], "compared", lambda x: x, lambda x: self.runtime("truth", x, at=test), test)

    def unless_plain(
        self, operands: list[Node], kinds: str, plain: Callable[..., Node], recorded: Callable[..., Node], at: Node
    ) -> Node:
        """Return ``plain(*operands)`` guarded by a test that the class of each is in ``kinds``, else ``recorded``.

        In a comprehension no assignment expression can keep an operand, so compound operands are always recorded.
        """
        if self.in_comprehension and not all(map(is_simple, operands)):
            return recorded(*operands)
        tests: list[Node] = []
        again: list[Node] = []
        for x in operands:
            if is_simple(x):
                again.append(x)
            else:
                again.append(ast.Name(self.temporary(), ast.Load()))
                x = ast.NamedExpr(ast.Name(again[-1].id, ast.Store()), x)
            if not isinstance(x, ast.Constant):
                kind = ast.Call(ast.Name(self.prefix + "type", ast.Load()), [x], [])
                tests.append(ast.Compare(kind, [ast.In()], [ast.Name(self.prefix + kinds, ast.Load())]))
        if not tests:
            return plain(*operands)
        test = tests[0]
        for other in tests[1:]:  # `&` instead of `and`: all operands have to be evaluated
            test = ast.BinOp(test, ast.BitAnd(), other)
        first, second = [copied(x) for x in again], again
        return located(ast.IfExp(test, plain(*first), recorded(*second)), at)

    def visit_IfExp(self, node: ast.IfExp) -> Node:
        node.test = self.condition(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node


def is_simple(node: Node) -> bool:
    return isinstance(node, (ast.Name, ast.Constant))


def located(node: Any, at: Node) -> Any:
    ast.copy_location(node, at)
    return node
