"""The syntax tree of a function, rewritten so that what computes calls the tape.

Control flow, exceptions and generators are kept as they are.  ``a * b`` becomes ``_mul(_tape, a, b)``, ``f(x)``
``_call(_tape, f, x)``, ``a[i] = v`` ``_setitem(_tape, a, i, v)``; what Python would do by itself (comparisons, truth,
iteration, unpacking) is handed to a function where a class may define it.
"""

from __future__ import annotations

import ast
import builtins
import copy
from types import FunctionType, ModuleType
from typing import Any

from .errors import NoDerivative
from .source import describe, owner_class

Node = Any

BINARY = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
COMPARE = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
# Calls of these see the frame that they are called from.
FRAME_BOUND = {"locals", "vars", "dir", "globals"}


def type_parameters() -> dict[str, Any]:
    return {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}


class Rewriter(ast.NodeTransformer):
    def __init__(self, function: FunctionType, prefix: str) -> None:
        self.function = function
        self.prefix = prefix
        self.owner = owner_class(function)
        code = function.__code__
        self.local = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
        self.first = code.co_varnames[0] if code.co_argcount else None
        self.temporaries = 0
        self.in_comprehension = False  # where no assignment expression can stand

    def definition(self, node: Node) -> ast.FunctionDef:
        """The instrumented definition: no decorators, defaults or annotations; these belong to the function object."""
        arguments: ast.arguments = node.args
        parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        parameters += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
        for parameter in parameters:
            parameter.annotation = None
            parameter.arg = self.mangle(parameter.arg)
        new = ast.arguments(
            posonlyargs=[ast.arg(self.prefix + "tape"), *arguments.posonlyargs],
            args=arguments.args,
            vararg=arguments.vararg,
            kwonlyargs=arguments.kwonlyargs,
            kw_defaults=[None for _ in arguments.kwonlyargs],
            kwarg=arguments.kwarg,
            defaults=[],
        )
        body: list[Node]
        if isinstance(node, ast.Lambda):
            body = [ast.copy_location(ast.Return(self.visit(node.body)), node.body)]
        else:
            body = self.statements(node.body)
        # A name of its own: the user's name must stay the global, or the variable, that it was.
        result = ast.FunctionDef(self.prefix + "recorded", new, body, [], **type_parameters())
        return ast.copy_location(result, node)

    def statements(self, body: list[Node]) -> list[Node]:
        result: list[Node] = []
        for statement in body:
            new = self.visit(statement)
            result += new if isinstance(new, list) else [new]
        return result

    def runtime(self, name: str, *args: Node, at: Node) -> ast.Call:
        tape = ast.Name(self.prefix + "tape", ast.Load())
        return _located(ast.Call(ast.Name(self.prefix + name, ast.Load()), [tape, *args], []), at)

    def mangle(self, name: str) -> str:
        if self.owner and name.startswith("__") and not name.endswith("__") and "." not in name:
            return f"_{self.owner.lstrip('_')}{name}"
        return name

    # Expressions

    def visit_Name(self, node: ast.Name) -> Node:
        node.id = self.mangle(node.id)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> Node:
        return self.runtime(BINARY[type(node.op)], self.visit(node.left), self.visit(node.right), at=node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Node:
        if isinstance(node.op, ast.Not):
            node.operand = self.condition(node.operand)
            return node
        if isinstance(node.operand, ast.Constant):
            return node
        return self.runtime(UNARY[type(node.op)], self.visit(node.operand), at=node)

    def visit_Attribute(self, node: ast.Attribute) -> Node:
        if isinstance(self.constant(node.value), ModuleType):
            return node
        node.attr = self.mangle(node.attr)
        node.value = self.visit(node.value)
        if not isinstance(node.ctx, ast.Load):
            return node
        return self.runtime("getattr", node.value, ast.Constant(node.attr), at=node)

    def visit_Subscript(self, node: ast.Subscript) -> Node:
        node.value, index = self.visit(node.value), self.index(node.slice)
        if not isinstance(node.ctx, ast.Load):
            node.slice = index
            return node
        return self.runtime("getitem", node.value, index, at=node)

    def index(self, node: Node) -> Node:
        """A subscript's index as an expression: ``a:b`` as ``slice(a, b)``."""
        if isinstance(node, ast.Slice):
            parts: list[Node] = [
                ast.Constant(None) if p is None else self.visit(p) for p in (node.lower, node.upper, node.step)
            ]
            return _located(ast.Call(ast.Name(self.prefix + "slice", ast.Load()), parts, []), node)
        if isinstance(node, ast.Tuple):
            node.elts = [self.index(e) for e in node.elts]
            return node
        return self.visit(node)

    def visit_Call(self, node: ast.Call) -> Node:
        function = node.func
        if isinstance(function, ast.Name) and function.id not in self.local:
            if function.id in FRAME_BOUND:
                return self.generic_visit(node)
            if function.id in ("eval", "exec") and self.constant(function) is getattr(builtins, function.id):
                scopes = [ast.Call(ast.Name(name, ast.Load()), [], []) for name in ("globals", "locals")]
                return self.runtime("text", function, *scopes, *map(self.visit, node.args), at=node)
            if function.id == "super" and not node.args:
                names: list[Node] = [ast.Name("__class__", ast.Load()), ast.Name(str(self.first), ast.Load())]
                return _located(ast.Call(function, names, []), node)
        arguments = [self.argument(a) for a in node.args]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        for keyword in keywords:
            if keyword.arg is None:
                keyword.value = self.runtime("mapping", keyword.value, at=keyword.value)
        if isinstance(function, ast.Attribute) and not isinstance(self.constant(function.value), ModuleType):
            name = ast.Constant(self.mangle(function.attr))
            new = self.runtime("method", self.visit(function.value), name, *arguments, at=node)
        else:
            new = self.runtime("call", self.visit(function), *arguments, at=node)
        new.keywords = keywords
        return _located(new, node)

    def argument(self, node: Node) -> Node:
        if isinstance(node, ast.Starred):
            node.value = self.runtime("iterate", self.visit(node.value), at=node)
            return node
        return self.visit(node)

    def visit_Starred(self, node: ast.Starred) -> Node:
        return self.argument(node) if isinstance(node.ctx, ast.Load) else self.generic_visit(node)

    def visit_ListComp(self, node: Any) -> Node:
        outer, self.in_comprehension = self.in_comprehension, True
        node = self.generic_visit(node)
        self.in_comprehension = outer
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def visit_comprehension(self, node: ast.comprehension) -> Node:
        node.iter = self.runtime("iterate", self.visit(node.iter), at=node.iter)
        node.ifs = [self.condition(test) for test in node.ifs]
        node.target = self.visit(node.target)
        if isinstance(node.target, (ast.Tuple, ast.List)):
            # A target that unpacks an array is given its entries one by one, each on the tape.
            name = self.temporary()
            node.iter = _unpacked(self, node.iter, name)
        return node

    def visit_YieldFrom(self, node: ast.YieldFrom) -> Node:
        node.value = self.runtime("iterate", self.visit(node.value), at=node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Node:
        self.defaults(node.args)
        return node

    def visit_Dict(self, node: ast.Dict) -> Node:
        node = self.generic_visit(node)  # type: ignore[assignment]
        for i, key in enumerate(node.keys):
            if key is None:
                node.values[i] = self.runtime("mapping", node.values[i], at=node.values[i])
        return node

    def visit_Compare(self, node: ast.Compare) -> Node:
        """``a < b`` may be a method in Python; ``a < b < c`` evaluates ``b`` once."""
        plain = (ast.Is, ast.IsNot)
        if all(isinstance(op, plain) or _is_text(e) for op, e in zip(node.ops, node.comparators)) or _is_text(
            node.left
        ):
            return self.generic_visit(node)
        if len(node.ops) > 1:
            return self.generic_visit(node) if self.in_comprehension else self.chain(node)
        return self.comparison(self.visit(node.left), node.ops[0], self.visit(node.comparators[0]), node)

    def comparison(self, left: Node, op: Node, right: Node, at: Node) -> Node:
        if type(op) in COMPARE:
            return self.runtime(COMPARE[type(op)], left, right, at=at)
        if isinstance(op, (ast.In, ast.NotIn)):
            found = self.runtime("contains", left, right, at=at)
            return found if isinstance(op, ast.In) else _located(ast.UnaryOp(ast.Not(), found), at)
        return _located(ast.Compare(left, [op], [right]), at)

    def chain(self, node: ast.Compare) -> Node:
        left = self.visit(node.left)
        values: list[Node] = []
        for i, (op, comparator) in enumerate(zip(node.ops, node.comparators)):
            right = self.visit(comparator)
            if i < len(node.ops) - 1 and not _is_simple(right):
                name = self.temporary()
                kept = _located(ast.NamedExpr(ast.Name(name, ast.Store()), right), comparator)
                values.append(self.comparison(left, op, kept, node))
                left = _located(ast.Name(name, ast.Load()), comparator)
            else:
                values.append(self.comparison(left, op, right, node))
                left = copy.copy(right)
        return _located(ast.BoolOp(ast.And(), values), node)

    def condition(self, test: Node) -> Node:
        """An expression of which only the truth matters."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test.operand = self.condition(test.operand)
            return test
        if isinstance(test, ast.BoolOp):
            test.values = [self.condition(v) for v in test.values]
            return test
        new = self.visit(test)
        if isinstance(test, (ast.Compare, ast.Constant)):
            return new
        return self.runtime("truth", new, at=test)

    def visit_IfExp(self, node: ast.IfExp) -> Node:
        node.test = self.condition(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    # Statements

    def visit_If(self, node: Any) -> Node:
        node.test = self.condition(node.test)
        node.body, node.orelse = self.statements(node.body), self.statements(node.orelse)
        return node

    visit_While = visit_If

    def visit_Assert(self, node: ast.Assert) -> Node:
        node.test = self.condition(node.test)
        if node.msg is not None:
            node.msg = self.visit(node.msg)
        return node

    def visit_FunctionDef(self, node: Any) -> Node:
        """The body of a nested function stays as it was written; it is instrumented when it is called."""
        self.defaults(node.args)
        return self.decorated(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def defaults(self, arguments: ast.arguments) -> None:
        arguments.defaults = [self.visit(d) for d in arguments.defaults]
        arguments.kw_defaults = [d if d is None else self.visit(d) for d in arguments.kw_defaults]

    def visit_ClassDef(self, node: ast.ClassDef) -> Node:
        """The statements of the body run here and now."""
        outer, self.owner = self.owner, node.name
        node.body = self.statements(node.body)
        self.owner = outer
        node.bases = [self.argument(b) for b in node.bases]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return self.decorated(node)

    def decorated(self, node: Any) -> Node:
        if all(isinstance(self.constant(d), (type, ModuleType)) or _is_plain(self, d) for d in node.decorator_list):
            return node
        decorators, node.decorator_list = node.decorator_list, []
        result: list[Node] = []
        names = []
        for decorator in decorators:  # evaluated in order, before the definition; applied in reverse
            names.append(self.temporary())
            value = self.visit(decorator)
            result.append(_located(ast.Assign([ast.Name(names[-1], ast.Store())], value), decorator))
        result.append(node)
        for name, decorator in zip(reversed(names), reversed(decorators)):
            defined = ast.Name(self.mangle(node.name), ast.Load())
            value = self.runtime("call", ast.Name(name, ast.Load()), defined, at=decorator)
            result.append(_located(ast.Assign([ast.Name(self.mangle(node.name), ast.Store())], value), decorator))
        return result

    def visit_Assign(self, node: ast.Assign) -> Node:
        node.value = self.visit(node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            node.targets = [self.visit(node.targets[0])]
            return node
        if len(node.targets) == 1:
            return self.assign(node.targets[0], node.value, node)
        name = self.temporary()
        result = [_located(ast.Assign([ast.Name(name, ast.Store())], node.value), node)]
        for target in node.targets:
            result += self.assign(target, ast.Name(name, ast.Load()), node)
        return result

    def assign(self, target: Node, value: Node, at: Node) -> list[Node]:
        """Statements that assign ``value`` to any kind of target."""
        if isinstance(target, ast.Name):
            return [_located(ast.Assign([self.visit(target)], value), at)]
        if isinstance(target, ast.Attribute):
            if isinstance(self.constant(target.value), ModuleType):
                return [_located(ast.Assign([target], value), at)]
            name = ast.Constant(self.mangle(target.attr))
            return self.store("setattr", self.visit(target.value), name, value, at)
        if isinstance(target, ast.Subscript):
            return self.store("setitem", self.visit(target.value), self.index(target.slice), value, at)
        if isinstance(target, ast.Starred):
            return self.assign(target.value, value, at)
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise NoDerivative(f"an assignment to {ast.unparse(target)} in {describe(self.function)} is not understood")
        # Names are assigned at once; other targets afterwards, from temporaries, in Python's order.
        later: list[tuple[Node, str]] = []
        elements: list[Node] = []
        for element in target.elts:
            star = isinstance(element, ast.Starred)
            inner = element.value if star else element  # type: ignore[attr-defined]
            if isinstance(inner, ast.Name):
                new: Node = self.visit(inner)
            else:
                temporary = self.temporary()
                later.append((inner, temporary))
                new = ast.Name(temporary, ast.Store())
            elements.append(ast.Starred(new, ast.Store()) if star else new)
        names = ast.Tuple(elements, ast.Store())
        result = [_located(ast.Assign([names], self.runtime("unpack", value, at=at)), at)]
        for inner, temporary in later:
            result += self.assign(inner, ast.Name(temporary, ast.Load()), at)
        return result

    def store(self, kind: str, container: Node, key: Node, value: Node, at: Node) -> list[Node]:
        before: list[Node] = []
        if not _is_simple(value) and not (_is_simple(container) and _is_simple(key)):
            # Python evaluates the value before the container and the key.
            name = self.temporary()
            before = [_located(ast.Assign([ast.Name(name, ast.Store())], value), value)]
            value = ast.Name(name, ast.Load())
        return [*before, _located(ast.Expr(self.runtime(kind, container, key, value, at=at)), at)]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Node:
        if node.value is None:
            # A bare annotation makes a name local and does nothing else.
            if isinstance(node.target, ast.Name) and node.simple:
                node.annotation = ast.Constant(None)
                return self.generic_visit(node)
            return _located(ast.Pass(), node)
        return self.assign(node.target, self.visit(node.value), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Node:
        in_place = "i" + BINARY[type(node.op)].rstrip("_")
        value = self.visit(node.value)
        if isinstance(node.target, ast.Name):
            target = self.visit(node.target)
            new = self.runtime(in_place, ast.Name(target.id, ast.Load()), value, at=node)
            return _located(ast.Assign([target], new), node)
        container = self.visit(node.target.value)
        if isinstance(node.target, ast.Attribute):
            kind, key = "update_attr", ast.Constant(self.mangle(node.target.attr))
        else:
            kind, key = "update_item", self.index(node.target.slice)
        update = ast.Name(self.prefix + in_place, ast.Load())
        return _located(ast.Expr(self.runtime(kind, update, container, key, value, at=node)), node)

    def visit_Delete(self, node: ast.Delete) -> Node:
        result: list[Node] = []
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                call = self.runtime("delitem", self.visit(target.value), self.index(target.slice), at=node)
                result.append(_located(ast.Expr(call), node))
            else:
                visited: Node = self.generic_visit(target)
                result.append(_located(ast.Delete([visited]), node))
        return result

    def visit_For(self, node: ast.For) -> Node:
        target = node.target
        node.iter = self.visit(node.iter)
        if not _is_call_of(node.iter, "range", self):
            node.iter = self.runtime("iterate", node.iter, at=node.iter)
        body = self.statements(node.body)
        if isinstance(target, ast.Name):
            node.target = self.visit(target)
        else:
            name = self.temporary()
            node.target = _located(ast.Name(name, ast.Store()), target)
            body = [*self.assign(target, ast.Name(name, ast.Load()), target), *body]
        node.body, node.orelse = body, self.statements(node.orelse)
        return node

    def visit_With(self, node: ast.With) -> Node:
        """Several managers as nested statements: a later one may use what an earlier one gave."""
        item, *others = node.items
        if others:
            inner = _located(ast.With(others, node.body), others[0].context_expr)
            body = [self.visit_With(inner)]
        else:
            body = self.statements(node.body)
        item.context_expr = self.runtime("enter", self.visit(item.context_expr), at=item.context_expr)
        target = item.optional_vars
        if target is not None and not isinstance(target, ast.Name):
            name = self.temporary()
            item.optional_vars = _located(ast.Name(name, ast.Store()), target)
            body = [*self.assign(target, ast.Name(name, ast.Load()), node), *body]
        elif target is not None:
            item.optional_vars = self.visit(target)
        return _located(ast.With([item], body), node)

    def unchanged(self, node: Any) -> Node:
        return node

    visit_MatchClass = visit_MatchValue = visit_Import = visit_ImportFrom = unchanged

    def visit_Global(self, node: Any) -> Node:
        node.names = [self.mangle(n) for n in node.names]
        return node

    visit_Nonlocal = visit_Global

    # What is known before the function runs

    def temporary(self) -> str:
        self.temporaries += 1
        return f"{self.prefix}t{self.temporaries}"

    def constant(self, node: Node) -> Any:
        """The object that a global name or a module's attribute stands for, or None."""
        if isinstance(node, ast.Name) and node.id not in self.local:
            return self.function.__globals__.get(node.id, getattr(builtins, node.id, None))
        if isinstance(node, ast.Attribute):
            parent = self.constant(node.value)
            return vars(parent).get(node.attr) if isinstance(parent, ModuleType) else None
        return None


def _is_plain(visitor: Rewriter, decorator: Node) -> bool:
    """Whether a decorator only wraps (``staticmethod``, ``dataclass``, ``functools.wraps(f)``) and runs no numerics."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    module = getattr(visitor.constant(target), "__module__", None)
    return module in ("builtins", "functools", "dataclasses", "contextlib", "abc", "enum", "typing")


def _unpacked(visitor: Rewriter, iterable: Node, name: str) -> Node:
    element = visitor.runtime("unpack", ast.Name(name, ast.Load()), at=iterable)
    generator = ast.comprehension(ast.Name(name, ast.Store()), iterable, [], 0)
    return _located(ast.GeneratorExp(element, [generator]), iterable)


def _is_call_of(node: Node, name: str, visitor: Rewriter) -> bool:
    """Whether an instrumented node is a call of the built-in ``name``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == visitor.prefix + "call"
        and len(node.args) > 1
        and visitor.constant(node.args[1]) is getattr(builtins, name)
    )


def _is_text(node: Node) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes, type(None)))


def _is_simple(node: Node) -> bool:
    return isinstance(node, (ast.Name, ast.Constant))


def _located(node: Any, at: Node) -> Any:
    ast.copy_location(node, at)
    return ast.fix_missing_locations(node)
