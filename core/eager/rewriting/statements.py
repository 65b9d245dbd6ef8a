"""Rewrites the statements of a function so that operations call the tape.

Control flow, exceptions and generators stay as they are; ``expressions`` rewrites the expressions in them.
``a[i] = v`` becomes ``_setitem(_tape, a, i, v)``; the iterable of a ``for`` goes through ``_iterate``, the context
manager of a ``with`` through ``_enter``.
"""

from __future__ import annotations

import ast
import copy
from types import ModuleType
from typing import Any

from ...errors import NoDerivative
from ...source.definitions import describe
from ...source.operator_names import BINARY
from ...source.templates import type_parameters
from ...source.trees import copied, nodes
from .expressions import Node, is_simple, located
from .patterns import Patterns


class Rewriter(Patterns):
    def definition(self, node: Node) -> ast.FunctionDef:
        """Return the instrumented definition, without decorators, defaults and annotations.

        Defaults belong to the function object and are set when the template is bound.
        """
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
        self.counters = _counters(node)
        body: list[Node]
        if isinstance(node, ast.Lambda):
            body = [ast.copy_location(ast.Return(self.visit(node.body)), node.body)]
        else:
            body = self.statements(node.body)
        # A new name: inside the function, the user's name must keep its meaning as a global or a variable.
        result = ast.FunctionDef(self.prefix + "recorded", new, body, [], **type_parameters())
        return ast.copy_location(result, node)

    def statements(self, body: list[Node]) -> list[Node]:
        result: list[Node] = []
        outer = self.held
        for statement in body:
            self.held = []
            new = self.visit(statement)
            result += self.released(statement, new if isinstance(new, list) else [new])
        self.held = outer
        return result

    def released(self, statement: Node, new: list[Node]) -> list[Node]:
        """Add to a rewritten statement the release of its temporaries, as they must not keep objects alive.

        The temporaries of a test or an iterable are released where the block begins.
        """
        if not self.held or isinstance(statement, (ast.Return, ast.Raise)):
            return new
        names: list[Node] = [ast.Name(name, ast.Store()) for name in self.held]
        release = located(ast.Assign(names, ast.Constant(None)), statement)
        if not isinstance(statement, (ast.If, ast.While, ast.For, ast.With)):
            return [*new, release]
        block = new[-1]
        block.body.insert(0, release)
        if isinstance(statement, (ast.If, ast.While)):
            block.orelse.insert(0, copied(release))
        return new

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
        """Leave the body of a nested function as it is; it is instrumented when it is called."""
        self.name_privately(node)
        self.defaults(node.args)
        private = self.mangle(node.name)
        if private == node.name:
            return self.decorated(node)
        named = ast.Assign([ast.Name(private, ast.Store())], ast.Name(node.name, ast.Load()))
        return self.decorated(node, located(named, node))

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> Node:
        """Rewrite the body of a class, because its statements run within the function."""
        written = sorted({self.mangle(name) for statement in node.body for name in _bound_by(statement)})
        outer, self.owner, self.in_class = (self.owner, self.fusing, self.in_class), node.name, True
        self.fusing = False  # a temporary of a fused expression would become an attribute of the class
        node.body = self.statements(node.body)
        self.owner, self.fusing, self.in_class = outer
        node.bases = [self.argument(b) for b in node.bases]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        named = ast.Name(self.mangle(node.name), ast.Load())
        made = self.runtime("made", named, *map(ast.Constant, written), at=node)
        return self.decorated(node, located(ast.Expr(made), node))

    def decorated(self, node: Any, *after: Node) -> Node:
        if all(isinstance(self.constant(d), (type, ModuleType)) or _is_plain(self, d) for d in node.decorator_list):
            return [node, *after]
        decorators, node.decorator_list = node.decorator_list, []
        result: list[Node] = []
        names = []
        for decorator in decorators:  # evaluated in order before the definition, applied in reverse order
            names.append(self.temporary())
            value = self.visit(decorator)
            result.append(located(ast.Assign([ast.Name(names[-1], ast.Store())], value), decorator))
        result += [node, *after]
        for name, decorator in zip(reversed(names), reversed(decorators)):
            defined = ast.Name(self.mangle(node.name), ast.Load())
            value = self.runtime("call", ast.Name(name, ast.Load()), defined, at=decorator)
            result.append(located(ast.Assign([ast.Name(self.mangle(node.name), ast.Store())], value), decorator))
        return result

    def visit_Assign(self, node: ast.Assign) -> Node:
        node.value = self.visit(node.value)
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            node.targets = [self.visit(node.targets[0])]
            return node
        if len(node.targets) == 1:
            return self.assign(node.targets[0], node.value, node)
        name = self.temporary()
        result = [located(ast.Assign([ast.Name(name, ast.Store())], node.value), node)]
        for target in node.targets:
            result += self.assign(target, ast.Name(name, ast.Load()), node)
        return result

    def assign(self, target: Node, value: Node, at: Node) -> list[Node]:
        """Return statements that assign ``value`` to any kind of target."""
        if isinstance(target, ast.Name):
            return [located(ast.Assign([self.visit(target)], value), at)]
        if isinstance(target, ast.Attribute):
            if isinstance(self.constant(target.value), ModuleType):
                return [located(ast.Assign([target], value), at)]
            name = ast.Constant(self.mangle(target.attr))
            return self.store("setattr", self.visit(target.value), name, value, at)
        if isinstance(target, ast.Subscript):
            return self.store("setitem", self.visit(target.value), self.index(target.slice), value, at)
        if isinstance(target, ast.Starred):
            return self.assign(target.value, value, at)
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise NoDerivative(
                f"an assignment to {ast.unparse(target)} in {describe(self.function)} is not supported; assign to a name, an attribute or an item"
            )
        # Leading names are assigned directly.  From the first other target on, temporaries keep Python's order.
        later: list[tuple[Node, str]] = []
        elements: list[Node] = []
        for element in target.elts:
            star = isinstance(element, ast.Starred)
            inner = element.value if star else element  # type: ignore[attr-defined]
            if isinstance(inner, ast.Name) and not later:
                new: Node = self.visit(inner)
            else:
                temporary = self.temporary()
                later.append((inner, temporary))
                new = ast.Name(temporary, ast.Store())
            elements.append(ast.Starred(new, ast.Store()) if star else new)
        names = ast.Tuple(elements, ast.Store())
        if not isinstance(value, ast.Tuple) or any(isinstance(e, ast.Starred) for e in value.elts):
            value = self.iterated(value, "unpack")
        result = [located(ast.Assign([names], value), at)]
        for inner, temporary in later:
            result += self.assign(inner, ast.Name(temporary, ast.Load()), at)
        return result

    def store(self, kind: str, container: Node, key: Node, value: Node, at: Node) -> list[Node]:
        before: list[Node] = []
        is_plain = self.keeps or isinstance(container, ast.Name) and (kind == "setattr" or is_simple(key))
        if not is_simple(value) and (is_plain or not (is_simple(container) and is_simple(key))):
            # Python evaluates the value before the container and the key.
            name = self.temporary()
            before = [located(ast.Assign([ast.Name(name, ast.Store())], value), value)]
            value = ast.Name(name, ast.Load())
        if not is_plain or _is_of_many(key):
            return [*before, located(ast.Expr(self.runtime(kind, container, key, value, at=at)), at)]
        if is_simple(key):
            first, again = self.twice(container)
        else:  # the key may rebind the container's name
            first, again = self.kept_apart(container)
        place, place_again = self.twice(key)
        if kind == "setattr":
            test: Node = self.is_in(ast.Call(self.runtime_name("type"), [first], []), "store", key.value)
            target: Node = ast.Attribute(again, key.value, ast.Store())
        else:
            test = self.plainly_indexed(first, "changed", place, "keys")
            target = ast.Subscript(again, place_again, ast.Store())
        recorded = self.runtime(kind, copied(again), copied(place_again), value, at=at)
        plain = located(ast.Assign([target], copied(value)), at)
        return [*before, located(ast.If(test, [plain], [located(ast.Expr(recorded), at)]), at)]

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Node:
        if node.value is None:
            if self.in_class:
                return node
            # A bare annotation makes a name local and does nothing else.
            if isinstance(node.target, ast.Name) and node.simple:
                node.annotation = ast.Constant(None)
                return self.generic_visit(node)
            return located(ast.Pass(), node)
        if self.in_class and isinstance(node.target, ast.Name):
            # A class may read its annotations, as a dataclass does.
            node.value = self.visit(node.value)
            return node
        return self.assign(node.target, self.visit(node.value), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> Node:
        in_place = "i" + BINARY[type(node.op)].rstrip("_")
        if isinstance(node.target, ast.Name):

            def apart(sum_: Any) -> Node:
                return self.runtime(in_place, self.visit(sum_.left), self.visit(sum_.right), at=node)

            whole = located(ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value), node)
            new = self.fused(whole, apart, in_place=True) or apart(whole)
            return located(ast.Assign([self.visit(node.target)], new), node)
        target: Any = node.target
        is_attribute = isinstance(target, ast.Attribute)
        index: Any = None if is_attribute else self.index(target.slice)
        may_be_plain = self.keeps and (is_attribute or not _is_of_many(index))
        container = self.visit(target.value)
        if may_be_plain and not is_attribute and not is_simple(index):  # the index may rebind the container's name
            container = self.kept_apart(container)[0]
        else:
            container = self.kept(container)
        if is_attribute:
            name = self.mangle(target.attr)
            kind, read, key = "update_attr", "getattr", ast.Constant(name)
        else:
            name, kind, read, key = "", "update_item", "getitem", self.kept(index)
        update = ast.Name(self.prefix + in_place, ast.Load())

        def recorded(container: Node, first_key: Node) -> Node:
            old = self.runtime(read, _again(container), _again(key), at=node.target)  # before the value is evaluated
            value = self.visit(copied(node.value))
            return located(ast.Expr(self.runtime(kind, container, first_key, old, update, value, at=node)), node)

        if not may_be_plain:
            return recorded(container, key)
        plain = self.update_plainly(node, _again(container), _again(key), in_place)
        other = recorded(_again(container), _again(key))
        if is_attribute:
            test = self.is_in(ast.Call(self.runtime_name("type"), [container], []), "load", name)
        else:
            test = self.plainly_indexed(container, "changed", key, "keys")
        return located(ast.If(test, plain, [other]), node)

    def update_plainly(self, node: Any, container: Node, key: Node, in_place: str) -> list[Node]:
        """Return the statements of ``x.name op= v`` or ``x[i] op= v`` where the old value is loaded without a record.

        They store as an assignment does, as the value may have changed the class.
        """

        def apart(sum_: Any) -> Node:
            return self.runtime(in_place, self.visit(sum_.left), self.visit(sum_.right), at=node)

        if isinstance(node.target, ast.Attribute):
            old: Node = ast.Attribute(container, node.target.attr, ast.Load())
        else:
            old = ast.Subscript(container, key, ast.Load())
        whole = located(ast.BinOp(located(old, node.target), node.op, copied(node.value)), node)
        new = self.fused(whole, apart, in_place=True) or apart(whole)
        kind = "setattr" if isinstance(node.target, ast.Attribute) else "setitem"
        return self.store(kind, copied(container), copied(key), new, node)

    def kept(self, node: Node) -> Node:
        """Return an expression that ``_again`` can repeat, through a temporary if needed, but that is evaluated once."""
        return self.twice(node)[0]

    def visit_Delete(self, node: ast.Delete) -> Node:
        result: list[Node] = []
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                call = self.runtime("delitem", self.visit(target.value), self.index(target.slice), at=node)
                result.append(located(ast.Expr(call), node))
            elif isinstance(target, ast.Attribute):
                name = ast.Constant(self.mangle(target.attr))
                result.append(located(ast.Expr(self.runtime("delattr", self.visit(target.value), name, at=node)), node))
            else:
                visited: Node = self.generic_visit(target)
                result.append(located(ast.Delete([visited]), node))
        return result

    def visit_For(self, node: ast.For) -> Node:
        target = node.target
        over_range = isinstance(node.iter, ast.Call) and self.constant(node.iter.func) is range
        node.iter = self.visit(node.iter)
        if not over_range:
            node.iter = self.iterated(node.iter)
        body = self.statements(node.body)
        if isinstance(target, ast.Name):
            node.target = self.visit(target)
        else:
            name = self.temporary()
            node.target = located(ast.Name(name, ast.Store()), target)
            body = [*self.assign(target, ast.Name(name, ast.Load()), target), *body]
        node.body, node.orelse = body, self.statements(node.orelse)
        return node

    def visit_With(self, node: ast.With) -> Node:
        """Nest several context managers: a later one may use the value of an earlier one."""
        item, *others = node.items
        if others:
            inner = located(ast.With(others, node.body), others[0].context_expr)
            body = [self.visit_With(inner)]
        else:
            body = self.statements(node.body)
        item.context_expr = self.runtime("enter", self.visit(item.context_expr), at=item.context_expr)
        target = item.optional_vars
        if target is not None and not isinstance(target, ast.Name):
            name = self.temporary()
            item.optional_vars = located(ast.Name(name, ast.Store()), target)
            body = [*self.assign(target, ast.Name(name, ast.Load()), node), *body]
        elif target is not None:
            item.optional_vars = self.visit(target)
        return located(ast.With([item], body), node)

    def unchanged(self, node: Any) -> Node:
        return node

    visit_MatchClass = visit_MatchValue = visit_Import = visit_ImportFrom = unchanged

    def visit_Global(self, node: Any) -> Node:
        node.names = [self.mangle(n) for n in node.names]
        return node

    visit_Nonlocal = visit_Global


def _is_of_many(key: Node) -> bool:
    """Whether an index is a display of a tuple or of a slice, which select entries of an array or a part of a list."""
    return isinstance(key, ast.Tuple) or isinstance(key, ast.Call) and getattr(key.func, "id", "").endswith("_slice")


def _again(node: Node) -> Node:
    """Return a second load of an expression that ``kept`` returned."""
    return ast.Name(node.target.id, ast.Load()) if isinstance(node, ast.NamedExpr) else copy.copy(node)


def _bound_by(statement: Node) -> list[str]:
    """Return the names that a statement in the body of a class binds."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    return [n.id for n in nodes(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _counters(node: Node) -> set[str]:
    """Return the variables of a function that are assigned only by loops over a ``range``."""
    found = nodes(node)
    assigned = [n.id for n in found if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    assigned += [a.arg for a in found if isinstance(a, ast.arg)]
    loops = [n for n in found if isinstance(n, (ast.For, ast.comprehension)) and _is_range(n.iter)]
    counting = [n.target.id for n in loops if isinstance(n.target, ast.Name)]
    return {name for name in counting if counting.count(name) == assigned.count(name)}


def _is_range(node: Node) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def _is_plain(visitor: Rewriter, decorator: Node) -> bool:
    """Whether a decorator only wraps (``staticmethod``, ``dataclass``, ``functools.wraps(f)``) and runs no numerics."""
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    module = getattr(visitor.constant(target), "__module__", None)
    return module in ("builtins", "functools", "dataclasses", "contextlib", "abc", "enum", "typing")
