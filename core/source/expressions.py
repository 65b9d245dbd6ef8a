"""Lowers the expressions of a function to operations of the IR."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ..ir.dynamic import Block, Method, Operation, Value
from ..ir.vocabulary import Defaults, Unstructured, larger, largest, make_list, make_tuple, smaller, smallest
from ..rules import find_rule
from ..rules.registry import HANDLERS
from .definitions import describe
from .operator_names import BINARY, UNARY

Environment = dict[str, Value]

COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
UNDEFINED = Value("undefined")


PASSED_BY_VALUE = (str, type(None))
"""Classes of arguments that a function is specialised on: method names and omitted arguments."""

STATIC = (*PASSED_BY_VALUE, ModuleType, np.ufunc, type(np.sum))
"""Classes of arguments and variables of a closure whose value is a compile-time constant; modules and functions of NumPy, too."""

FOLDED = {operator.is_, operator.is_not, operator.eq, operator.ne, operator.not_, operator.lt, operator.gt}
FOLDED |= {operator.le, operator.ge}
PLAIN = (*PASSED_BY_VALUE, bool, int, float)


class Expressions:
    """Lowers expressions; ``statements`` adds the statements."""

    python: FunctionType
    guards: list[tuple[Any, str, Any]]
    block: Block
    local: set[str]
    line: int
    assign: Callable[[Any, Value, Environment], None]

    def fail(self, node: Any, what: str) -> Any:
        line = getattr(node, "lineno", self.line)
        raise Unstructured(
            f"{what} in {describe(self.python)}, line {line}, has no structured form; morula.show(f) prints the code that runs"
        )

    def decided(self, condition: Value) -> bool | None:
        """Return the truth of a constant condition, else None."""
        return bool(condition.constant) if condition.is_constant and isinstance(condition.constant, PLAIN) else None

    def display(self, value: Value) -> list[Value] | None:
        """Return the elements of a tuple or list display of this block, so that unpacking it needs no operation."""
        for op in self.block.operations:
            if value in op.results and op.kind == "call" and op.callee in (make_tuple, make_list):
                return op.operands
        return None

    def nested(self, run: Any, env: Environment, names: list[str] | None = None) -> Block:
        """Return a nested block; ``run`` lowers into it from a copy of the environment and returns its results."""
        outer, self.block = self.block, Block()
        inner = dict(env)
        for name in names or ():
            parameter = Value(name)
            self.block.parameters.append(parameter)
            inner[name] = parameter
        self.block.results = run(inner)
        block, self.block = self.block, outer
        return block

    def part(self, run: Any, env: Environment, names: list[str] | None = None) -> Block:
        """Return a nested block with one result; it may not assign names, which would be unknown outside."""

        def value(inner: Environment) -> list[Value]:
            before = dict(inner)
            found = run(inner)
            if inner != before:
                self.fail(None, "an assignment inside a condition")
            return [found]

        return self.nested(value, env, names)

    def expression(self, node: Any, env: Environment) -> Value:
        self.line = getattr(node, "lineno", self.line)
        method = getattr(self, f"value_{type(node).__name__}", None)
        if method is None:
            return self.fail(node, f"the expression {type(node).__name__}")
        return method(node, env)

    def value_Constant(self, node: ast.Constant, env: Environment) -> Value:
        return Value(constant=node.value)

    def value_Name(self, node: ast.Name, env: Environment) -> Value:
        name = node.id
        if name in env:
            return env[name] if env[name] is not UNDEFINED else self.fail(node, f"{name}, assigned on some paths only,")
        if name in self.local:
            return self.fail(node, f"{name}, read before it is assigned,")
        namespace: Any = self.python.__globals__  # type: ignore[attr-defined]
        if name not in namespace:
            namespace = builtins.__dict__
            if name not in namespace:
                return self.fail(node, f"the unknown name {name}")
        return self.guarded(namespace, name)

    def guarded(self, namespace: Any, name: str) -> Value:
        found = namespace[name]
        if namespace is not builtins.__dict__:
            self.guards.append((namespace, name, found))
        return Value(constant=found)

    def value_Attribute(self, node: ast.Attribute, env: Environment) -> Value:
        container = self.expression(node.value, env)
        if container.is_constant and isinstance(container.constant, ModuleType):
            space = vars(container.constant)
            return (
                self.guarded(space, node.attr) if node.attr in space else self.fail(node, f"the attribute {node.attr}")
            )
        return self.call(getattr, container, Value(constant=node.attr))

    def value_BinOp(self, node: ast.BinOp, env: Environment) -> Value:
        left = self.expression(node.left, env)
        return self.call(getattr(operator, BINARY[type(node.op)]), left, self.expression(node.right, env))

    def value_UnaryOp(self, node: ast.UnaryOp, env: Environment) -> Value:
        operand = self.expression(node.operand, env)
        if operand.is_constant and isinstance(node.op, ast.USub) and isinstance(operand.constant, (int, float)):
            return Value(constant=-operand.constant)
        name = "not_" if isinstance(node.op, ast.Not) else UNARY[type(node.op)]
        return self.call(getattr(operator, name), operand)

    def value_Compare(self, node: ast.Compare, env: Environment) -> Value:
        left = self.expression(node.left, env)
        return self.comparison(left, node.ops, node.comparators, node, env)

    def comparison(self, left: Value, ops: list[Any], rest: list[Any], node: Any, env: Environment) -> Value:
        if type(ops[0]) not in COMPARE:
            first = self.membership(left, ops[0], rest[0], node, env)
            right = UNDEFINED
        else:
            right = self.expression(rest[0], env)
            first = self.call(COMPARE[type(ops[0])], left, right)
        if len(ops) == 1:
            return first
        if right is UNDEFINED:
            self.fail(node, "a chain of tests for membership")
        later = self.part(lambda inner: self.comparison(right, ops[1:], rest[1:], node, inner), env)
        return self.emit("if", None, [first], blocks=[later, Block(results=[first])])

    def membership(self, left: Value, op: Any, container: Any, node: Any, env: Environment) -> Value:
        """Fold ``x in (...)`` of constants."""
        found = self.expression(container, env)
        made = self.display(found)
        if made is not None and all(v.is_constant for v in made):
            among: Any = tuple(v.constant for v in made)
        elif found.is_constant and isinstance(found.constant, (tuple, frozenset, str)):
            among = found.constant
        else:
            return self.fail(node, "a test for membership")
        if not left.is_constant or not isinstance(left.constant, PLAIN):
            return self.fail(node, "a test for membership")
        if isinstance(among, str) and not isinstance(left.constant, str):
            return self.fail(node, "a test for membership")
        return Value(constant=operator.contains(among, left.constant) is isinstance(op, ast.In))

    def value_BoolOp(self, node: ast.BoolOp, env: Environment) -> Value:
        first = self.expression(node.values[0], env)
        if len(node.values) == 1:
            return first
        rest = ast.BoolOp(node.op, node.values[1:], lineno=node.lineno)
        taken = self.decided(first)
        if taken is not None:
            return self.value_BoolOp(rest, env) if taken is isinstance(node.op, ast.And) else first
        later = self.part(lambda inner: self.value_BoolOp(rest, inner), env)
        blocks = [later, Block(results=[first])]
        return self.emit("if", None, [first], blocks=blocks if isinstance(node.op, ast.And) else blocks[::-1])

    def value_IfExp(self, node: ast.IfExp, env: Environment) -> Value:
        condition = self.expression(node.test, env)
        taken = self.decided(condition)
        if taken is not None:
            return self.expression(node.body if taken else node.orelse, env)
        blocks = [self.part(lambda inner, e=e: self.expression(e, inner), env) for e in (node.body, node.orelse)]
        return self.emit("if", None, [condition], blocks=blocks)

    def value_NamedExpr(self, node: ast.NamedExpr, env: Environment) -> Value:
        value = self.expression(node.value, env)
        self.assign(node.target, value, env)
        return value

    def value_Tuple(self, node: ast.Tuple, env: Environment) -> Value:
        return self.call(make_tuple, *(self.expression(e, env) for e in node.elts))

    def value_List(self, node: ast.List, env: Environment) -> Value:
        return self.call(make_list, *(self.expression(e, env) for e in node.elts))

    def value_Subscript(self, node: ast.Subscript, env: Environment) -> Value:
        return self.call(operator.getitem, self.expression(node.value, env), self.index(node.slice, env))

    def index(self, node: Any, env: Environment) -> Value:
        if isinstance(node, ast.Slice):
            parts = [Value(constant=None) if p is None else self.expression(p, env) for p in (node.lower, node.upper)]
            step = Value(constant=None) if node.step is None else self.expression(node.step, env)
            return self.call(slice, *parts, step)
        if isinstance(node, ast.Tuple):
            return self.call(make_tuple, *(self.index(e, env) for e in node.elts))
        return self.expression(node, env)

    def value_Call(self, node: ast.Call, env: Environment) -> Value:
        if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
            self.fail(node, "a call with starred arguments")
        target = node.func
        leading: list[Value] = []
        if isinstance(target, ast.Attribute):
            container = self.expression(target.value, env)
            if container.is_constant and isinstance(container.constant, ModuleType):
                callee = self.expression(target, env).constant
            else:
                callee, leading = Method(target.attr), [container]
        else:
            function = self.expression(target, env)
            if type(function.constant).__hash__ is None:
                self.fail(node, "a call of an object that cannot be hashed")
            callee, leading = (function.constant, []) if function.is_constant else (operator.call, [function])
        operands = [*leading, *(self.expression(a, env) for a in node.args)]
        operands += [self.expression(k.value, env) for k in node.keywords]
        names = [str(k.arg) for k in node.keywords]
        if (callee is max or callee is min) and len(operands) > 1 and not names:
            of_two, of_many = (larger, largest) if callee is max else (smaller, smallest)
            return self.call(of_two if len(operands) == 2 else of_many, *operands)
        if type(callee) is FunctionType:
            operands, names = self.bound(callee, operands, names)
        return self.emit("call", callee, operands, keywords=tuple(names))

    def bound(self, callee: FunctionType, operands: list[Value], names: list[str]) -> tuple[list[Value], list[str]]:
        """Return a call's arguments in parameter order with defaults filled in, if all parameters are positional."""

        code = callee.__code__
        parameters = code.co_varnames[: code.co_argcount]
        given = len(operands) - len(names)
        if callee in HANDLERS or find_rule(callee) is not None or code.co_flags & 0x0C or code.co_kwonlyargcount:
            return operands, names
        found = dict(zip(parameters, operands[:given]))
        named = dict(zip(names, operands[given:]))
        if given > len(parameters) or named.keys() & found.keys() or not named.keys() <= set(parameters):
            return operands, names
        found |= named
        defaults = callee.__defaults__ or ()
        for name, default in zip(parameters[len(parameters) - len(defaults) :], defaults):
            if name not in found:
                self.guards.append((Defaults(callee), "", callee.__defaults__))
                found[name] = Value(constant=default)
        return ([found[name] for name in parameters], []) if len(found) == len(parameters) else (operands, names)

    def call(self, callee: Any, *operands: Value) -> Value:
        if callee in FOLDED and all(v.is_constant and isinstance(v.constant, PLAIN) for v in operands):
            try:
                return Value(constant=callee(*(v.constant for v in operands)))
            except TypeError as error:
                return self.fail(None, f"a comparison that raises {error!r}")
        return self.emit("call", callee, list(operands))

    def emit(
        self,
        kind: str,
        callee: Any,
        operands: list[Value],
        *,
        keywords: tuple[str, ...] = (),
        blocks: list[Block] | None = None,
        results: int = 1,
        several: bool = False,
    ) -> Any:
        values = [Value() for _ in range(results)]
        op = Operation(kind, callee, operands, keywords, blocks or [], values, line=self.line)
        op.may_raise = callee not in (make_tuple, make_list, getattr, slice)
        self.block.operations.append(op)
        return values if several or not results else values[0]
