"""Find the expressions of a recorded function that can be recorded as one fused operation, and rewrite them.

``self.a * x + math.sqrt(y)`` becomes

    t if type(self) in plain_a and (t := site(tape, self.a, x, y, math.sqrt)) is not AGAIN else <one call per operation>

The site (``fused``) takes the leaves of the expression and applies if all are numbers or arrays.  Python's order of
evaluation is kept: a leaf that may run code (a call, a subscript of an unknown object) is evaluated once, and only if
no operation of the expression precedes it.  Names, attributes of plain instances and items of lists run no code.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from types import BuiltinFunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ...rules import find_rule
from ...source.trees import copied

if TYPE_CHECKING:
    from ..rewriting.expressions import Expressions

Node = Any

OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
OPERATORS |= {ast.Div: operator.truediv, ast.Pow: operator.pow, ast.Mod: operator.mod, ast.FloorDiv: operator.floordiv}
MOST_LEAVES = 16


Tree = tuple[Any, ...]
"""``("leaf", i)``, ``("constant", repr, value)`` or ``("call", function, *trees)``; hashable, to share sites."""


def leaf(i: int) -> Tree:
    return ("leaf", i)


def constant(value: Any) -> Tree:
    return ("constant", repr(value), value)  # 1, 1.0 and True are equal, but not the same constant


def call(function: Any, *trees: Tree) -> Tree:
    return ("call", function, *trees)


class OutOfOrder(Exception):
    """A leaf that may run code follows an operation, so it cannot be evaluated before all operations."""


class Expression:
    """One expression, read as a tree of operations over leaves.

    With ``runs_code`` False, loading a leaf runs no code, so the fallback may load it a second time.  With True, each
    occurrence of a leaf is evaluated once, in Python's order, and kept in a temporary.
    """

    def __init__(self, rewriter: Expressions, runs_code: bool) -> None:
        self.rewriter, self.runs_code = rewriter, runs_code
        self.leaves: list[Node] = []
        self.places: dict[str, int] = {}  # source text of a leaf that runs no code -> its index in leaves
        self.occurrences: list[tuple[Node, int]] = []
        self.functions: dict[Any, Node] = {}
        self.guards: dict[str, Node] = {}
        self.operations = 0
        self.whole = True  # whether all its constants are integers

    def read(self, node: Node) -> Tree:
        """Return the tree of ``node``, and collect its leaves."""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            self.whole &= type(node.value) is int
            return constant(node.value)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            if isinstance(node.operand, ast.Constant) and type(node.operand.value) in (int, float):
                return constant(-node.operand.value)  # type: ignore[operator]
            function, operands = operator.neg, [node.operand]
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            function, operands = OPERATORS[type(node.op)], [node.left, node.right]
        else:
            function, operands = self.function_of(node), getattr(node, "args", [])
            if function is None:
                return self.leaf(node)
            self.functions.setdefault(function, node.func)  # type: ignore[attr-defined]
        return self.operation(function, operands)

    @property
    def counts(self) -> bool:
        """Whether the expression combines one variable with integer constants only, as a counter does."""
        return len(self.leaves) == 1 and not self.functions and self.whole

    def operation(self, function: Any, operands: list[Node]) -> Tree:
        before = len(self.leaves), len(self.occurrences), self.operations
        trees: list[Tree] = []
        try:
            for operand in operands:
                trees.append(self.read(operand))
        except OutOfOrder:
            if not self.runs_code or before[2]:
                raise
            # The operands before the leaf that runs code become leaves themselves.
            del self.leaves[before[0] :], self.occurrences[before[1] :]
            self.operations = before[2]
            trees = [self.leaf(e) for e in operands[: len(trees)]]
            leaves, occurrences = len(self.leaves), len(self.occurrences)
            try:
                trees.append(self.read(operands[len(trees)]))
            except OutOfOrder:
                del self.leaves[leaves:], self.occurrences[occurrences:]
                self.operations = before[2]
                trees.append(self.leaf(operands[len(trees)]))
            trees += [self.leaf(e) for e in operands[len(trees) :]]
        self.operations += 1
        return call(function, *trees)

    def function_of(self, node: Node) -> Any:
        """Return the element-wise built-in or NumPy function that a call names, or None."""
        if not isinstance(node, ast.Call) or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
            return None
        function = self.rewriter.constant(node.func)
        if not isinstance(function, (BuiltinFunctionType, np.ufunc)):
            return None
        rule = find_rule(function)
        if function is abs:
            return function
        if rule is None or len(rule.partials) != len(node.args) or None in rule.partials:
            return None
        return function if getattr(function, "__module__", "") != "cmath" else None

    def leaf(self, node: Node) -> Tree:
        if self.runs_code:
            if self.operations:
                raise OutOfOrder
            place = len(self.leaves)
        elif not self.is_plain(node):
            raise OutOfOrder
        else:
            place = self.places.setdefault(_text(node), len(self.leaves))
        self.occurrences.append((node, place))
        if place == len(self.leaves):
            self.leaves.append(node)
        return leaf(place)

    def is_plain(self, node: Node) -> bool:
        """Whether loading ``node`` runs no code; the guards under which that holds are added to ``guards``, in order."""
        if isinstance(node, ast.Name):
            return True
        if not isinstance(node, (ast.Attribute, ast.Subscript)):
            return False
        container = node.value
        if isinstance(node, ast.Attribute) and isinstance(self.rewriter.constant(container), ModuleType):
            return isinstance(container, ast.Name)
        if not self.is_plain(container):
            return False
        if isinstance(node, ast.Attribute):
            name = self.rewriter.mangle(node.attr)
            self.guards.setdefault(f"{_text(container)}.{name}", self.rewriter.has_plain(container, name))
            return True
        if not self.counts_or_names(node.slice):
            return False
        self.guards.setdefault(
            f"{_text(container)}[]", self.rewriter.is_one_of(self.rewriter.load(copied(container)), "sequences")
        )
        return True

    def counts_or_names(self, index: Node) -> bool:
        """Whether an index is a name, a constant, or a name plus or minus an integer constant."""
        if isinstance(index, (ast.Name, ast.Constant)):
            return True
        if isinstance(index, ast.UnaryOp):
            return isinstance(index.op, ast.USub) and isinstance(index.operand, ast.Constant)
        if not isinstance(index, ast.BinOp) or not isinstance(index.op, (ast.Add, ast.Sub)):
            return False
        left, right = index.left, index.right
        if not (isinstance(left, ast.Name) and isinstance(right, ast.Constant) and type(right.value) is int):
            return False
        self.guards.setdefault(f"{left.id}+", self.rewriter.is_an_int(left))
        return True


def _text(node: Node) -> str:
    """Return the source text of a leaf that runs no code."""
    return node.id if isinstance(node, ast.Name) else ast.unparse(node)


def fuse(rewriter: Expressions, node: Node, apart: Callable[[Node], Node], in_place: bool = False) -> Node | None:
    """Return the fused form of ``node``, or None if it has nothing to fuse or too many leaves.

    ``apart`` writes the fallback, one call per operation.  ``in_place`` says that the root is the operation of
    ``x += y``, which writes to an array and therefore is not fused for arrays.
    """
    for runs_code in (False, True):
        expression = Expression(rewriter, runs_code)
        try:
            tree = expression.read(node)
        except OutOfOrder:
            continue
        if not expression.operations or not 0 < len(expression.leaves) <= MOST_LEAVES:
            return None
        return _write(rewriter, expression, tree, node, apart, in_place)
    return None


def _write(
    rewriter: Expressions, expression: Expression, tree: Tree, node: Node, apart: Callable[[Node], Node], in_place: bool
) -> Node:
    arguments: list[Node] = []
    replaced: dict[int, Any] = {}
    if expression.runs_code:
        for x, _ in expression.occurrences:
            name = rewriter.temporary()
            replaced[id(x)] = ast.copy_location(ast.Name(name, ast.Load()), x)
            value = rewriter.visit(copied(x))
            arguments.append(ast.copy_location(ast.NamedExpr(ast.Name(name, ast.Store()), value), x))
    else:
        arguments = [rewriter.load(copied(x)) for x in expression.leaves]
    arguments += [copied(f) for f in expression.functions.values()]
    function = rewriter.site(tree, len(expression.leaves), tuple(expression.functions), in_place)
    result = rewriter.temporary()
    run = rewriter.runtime(function, *arguments, at=node)
    found = ast.NamedExpr(ast.Name(result, ast.Store()), run)
    test = ast.Compare(found, [ast.IsNot()], [ast.Name(rewriter.prefix + "again", ast.Load())])
    tests = [*expression.guards.values(), test]
    condition = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    other = apart(copied(node, replaced))
    new = ast.IfExp(condition, ast.Name(result, ast.Load()), other)
    if expression.counts and not expression.runs_code and not expression.guards:
        # An int counter has no derivative, and even one call of a site costs more than the operation.
        (variable,) = (rewriter.load(copied(x)) for x in expression.leaves)
        test = rewriter.is_an_int(variable)
        return ast.IfExp(test, rewriter.load(copied(node)), new)
    return new
