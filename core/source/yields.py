"""Statements with a ``yield`` inside of an expression, as statements in which each ``yield`` stands alone.

``f(a, (yield b), c)`` becomes ``.1 = f; .2 = a; .3 = yield b; .1(.2, .3, c)``: what Python evaluates before a ``yield``
is kept in a variable that no program can name.
"""

from __future__ import annotations

import ast
from weakref import WeakKeyDictionary

from .trees import fill_locations

YIELDS = (ast.Yield, ast.YieldFrom)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)

_with_yield: WeakKeyDictionary[ast.AST, bool] = WeakKeyDictionary()
_apart: WeakKeyDictionary[ast.AST, list[ast.stmt] | None] = WeakKeyDictionary()
_tests: WeakKeyDictionary[ast.AST, tuple[list[ast.stmt], ast.expr] | None] = WeakKeyDictionary()


def has_yield(node: ast.AST | None) -> bool:
    """Whether a statement or an expression yields; functions defined inside it do not count."""
    if node is None:
        return False
    if node not in _with_yield:
        inside = not isinstance(node, _FUNCTIONS) and any(map(has_yield, ast.iter_child_nodes(node)))
        _with_yield[node] = isinstance(node, YIELDS) or inside
    return _with_yield[node]


def is_apart(statement: ast.stmt) -> bool:
    """Whether no ``yield`` is inside of an expression of a statement, apart from the blocks in it and a ``while``'s test."""
    if isinstance(statement, ast.With):
        return len(statement.items) == 1 and not has_yield(statement.items[0])
    parts = [n for n in ast.iter_child_nodes(statement) if isinstance(n, ast.expr)]
    if isinstance(statement, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return)) and isinstance(statement.value, YIELDS):
        parts = [n for n in parts if n is not statement.value] + [n for n in [statement.value.value] if n is not None]
    return isinstance(statement, ast.While) or not any(map(has_yield, parts))


def apart(statement: ast.stmt) -> list[ast.stmt] | None:
    """Return the statements that do what a statement does, with each ``yield`` alone; None if there are none."""
    if statement not in _apart:
        split = _Split(statement)
        made = getattr(split, f"of_{type(statement).__name__}", split.refuse)(statement)
        _apart[statement] = None if made is None else split.located([*split.before, *made])
    return _apart[statement]


def apart_from_test(statement: ast.While) -> tuple[list[ast.stmt], ast.expr] | None:
    """Return the statements to run before each test of a ``while``, and what is then tested; None if there are none."""
    if statement not in _tests:
        split = _Split(statement)
        test = split.expression(statement.test)
        found = None if test is None else ast.copy_location(ast.Expr(test), statement)
        _tests[statement] = None if found is None else (split.located(split.before), fill_locations(found).value)
    return _tests[statement]


class _Split:
    """Takes one statement apart; ``before`` are the statements that come first."""

    def __init__(self, statement: ast.stmt) -> None:
        self.statement = statement
        self.before: list[ast.stmt] = []
        self.count = 0

    def located(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        return [fill_locations(ast.copy_location(s, self.statement)) for s in statements]

    def refuse(self, _: ast.AST) -> None:
        return None

    def name(self) -> str:
        self.count += 1
        return f".{self.statement.lineno}.{self.statement.col_offset}.{self.count}"

    def kept(self, x: ast.expr) -> ast.expr:
        """Return a variable for the present value of an expression that does not yield."""
        if isinstance(x, ast.Constant):
            return x
        if isinstance(x, ast.Starred):
            return ast.Starred(self.kept(ast.List([x], ast.Load())), ast.Load())
        if isinstance(x, ast.FormattedValue):
            return ast.FormattedValue(self.kept(ast.JoinedStr([x])), -1, None)
        if isinstance(x, ast.Slice):
            parts = [None if e is None else self.kept(e) for e in (x.lower, x.upper, x.step)]
            return ast.Slice(*parts)  # type: ignore[return-value]
        name = self.name()
        self.before.append(ast.Assign([ast.Name(name, ast.Store())], x))
        return ast.Name(name, ast.Load())

    def expression(self, x: ast.expr) -> ast.expr | None:
        """Return an expression for what is left to evaluate after ``before``; None if it cannot be taken apart."""
        if not has_yield(x):
            return x
        return getattr(self, f"of_{type(x).__name__}", self.in_order)(x)

    def in_order(self, x: ast.expr) -> ast.expr | None:
        """Take apart an expression whose parts are evaluated in the order of its fields."""
        parts = self.parts([p for p in ast.iter_child_nodes(x) if isinstance(p, (ast.expr, ast.keyword))])
        if parts is None or isinstance(x, ast.Compare) and len(x.ops) > 1:
            return None
        rest = iter(parts)
        fields = {}
        for name, held in ast.iter_fields(x):
            if isinstance(held, list):
                held = [next(rest) if isinstance(e, (ast.expr, ast.keyword)) else e for e in held]
            fields[name] = next(rest) if isinstance(held, ast.expr) else held
        return type(x)(**fields)

    def parts(self, parts: list[ast.expr | ast.keyword]) -> list[ast.expr | ast.keyword] | None:
        """Take apart expressions that are evaluated one after the other."""
        last = max(i for i, p in enumerate(parts) if has_yield(p))
        found: list[ast.expr | ast.keyword] = []
        for i, part in enumerate(parts):
            value = part.value if isinstance(part, ast.keyword) else part
            left = self.expression(value)
            if left is None:
                return None
            if i < last:
                is_mapping = isinstance(part, ast.keyword) and part.arg is None
                left = self.kept(ast.Dict([None], [left]) if is_mapping else left)
            found.append(ast.keyword(part.arg, left) if isinstance(part, ast.keyword) else left)
        return found

    def of_Yield(self, x: ast.Yield | ast.YieldFrom) -> ast.expr | None:
        value = None if x.value is None else self.expression(x.value)
        if value is None and x.value is not None:
            return None
        return self.kept(type(x)(value))  # type: ignore[arg-type]

    of_YieldFrom = of_Yield

    def of_Await(self, _: ast.Await) -> None:
        return None

    of_Dict = of_Await  # keys and values take turns

    def of_NamedExpr(self, x: ast.NamedExpr) -> ast.expr | None:
        value = self.expression(x.value)
        return None if value is None else ast.NamedExpr(x.target, value)

    def branch(self, name: str, x: ast.expr) -> list[ast.stmt] | None:
        """Return the statements that put the value of an expression into a variable."""
        outer, self.before = self.before, []
        left = self.expression(x)
        inner, self.before = self.before, outer
        return None if left is None else [*inner, ast.Assign([ast.Name(name, ast.Store())], left)]

    def of_BoolOp(self, x: ast.BoolOp) -> ast.expr | None:
        name = self.name()
        first = self.branch(name, x.values[0])
        others = x.values[1] if len(x.values) == 2 else ast.BoolOp(x.op, x.values[1:])
        rest = self.branch(name, others)
        if first is None or rest is None:
            return None
        test = ast.Name(name, ast.Load())
        self.before += [
            *first,
            ast.If(test, rest, []) if isinstance(x.op, ast.And) else ast.If(test, [ast.Pass()], rest),
        ]
        return ast.Name(name, ast.Load())

    def of_IfExp(self, x: ast.IfExp) -> ast.expr | None:
        name = self.name()
        test = self.expression(x.test)
        then, other = self.branch(name, x.body), self.branch(name, x.orelse)
        if test is None or then is None or other is None:
            return None
        self.before.append(ast.If(test, then, other))
        return ast.Name(name, ast.Load())

    # Statements

    def of_value(self, node: ast.Expr | ast.Return) -> list[ast.stmt] | None:
        value = self.expression(node.value)  # type: ignore[arg-type]
        return None if value is None else [type(node)(value)]

    of_Expr = of_Return = of_value

    def of_Assign(self, node: ast.Assign | ast.AnnAssign) -> list[ast.stmt] | None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        value = self.expression(node.value)  # type: ignore[arg-type]
        if value is None:
            return None
        if not any(map(has_yield, targets)):
            return [ast.Assign(targets, value)]  # type: ignore[list-item,return-value]
        value = self.kept(value)
        for target in targets:
            left = self.expression(target)
            if left is None or isinstance(target, (ast.Tuple, ast.List)) and has_yield(target):
                return None
            self.before.append(ast.Assign([left], value))
        return []

    of_AnnAssign = of_Assign

    def of_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt] | None:
        target = node.target
        if isinstance(target, ast.Name):
            place: ast.expr | None = target
        elif isinstance(target, ast.Attribute):
            owner = self.expression(target.value)
            place = None if owner is None else ast.Attribute(self.kept(owner), target.attr, ast.Store())
        else:
            pair = [target.value, target.slice]
            parts = self.parts(pair) if any(map(has_yield, pair)) else pair
            place = (
                None if parts is None else ast.Subscript(*(self.kept(p) for p in parts), ast.Store())  # type: ignore[arg-type]
            )
        if place is None:
            return None
        held = self.kept(_loaded(place))
        value = self.expression(node.value)
        if value is None:
            return None
        return [ast.AugAssign(ast.Name(held.id, ast.Store()), node.op, value), ast.Assign([place], held)]  # type: ignore[attr-defined]

    def of_If(self, node: ast.If) -> list[ast.stmt] | None:
        test = self.expression(node.test)
        return None if test is None else [ast.If(test, node.body, node.orelse)]

    def of_For(self, node: ast.For) -> list[ast.stmt] | None:
        iterable = None if has_yield(node.target) else self.expression(node.iter)
        return None if iterable is None else [ast.For(node.target, iterable, node.body, node.orelse)]

    def of_With(self, node: ast.With) -> list[ast.stmt] | None:
        first, *others = node.items
        manager = None if has_yield(first.optional_vars) else self.expression(first.context_expr)
        body: list[ast.stmt] = [ast.With(others, node.body)] if others else node.body
        return None if manager is None else [ast.With([ast.withitem(manager, first.optional_vars)], body)]

    def of_Raise(self, node: ast.Raise) -> list[ast.stmt] | None:
        parts = self.parts([p for p in (node.exc, node.cause) if p is not None])
        return None if parts is None else [ast.Raise(*parts)]  # type: ignore[arg-type]

    def of_Assert(self, node: ast.Assert) -> list[ast.stmt] | None:
        test = None if has_yield(node.msg) else self.expression(node.test)
        return None if test is None else [ast.Assert(test, node.msg)]


def _loaded(place: ast.expr) -> ast.expr:
    """Return the expression that reads a place."""
    fields = {**dict(ast.iter_fields(place)), "ctx": ast.Load()}
    return type(place)(**fields)
