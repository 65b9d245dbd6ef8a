"""A Python function -> IR, from its syntax tree.

Names become SSA values: a branch gives the names that it assigns, a loop carries those that its body assigns.  Early
returns and ``continue`` are normalised by moving what follows into the other branch.  What has no structured form here
(exceptions, generators, nested functions, ``with``) raises ``Unstructured``, and the recorded tier takes the function.
"""

from __future__ import annotations

import ast
import builtins
import operator
from types import FunctionType, ModuleType
from typing import Any

from .expressions import BINARY, UNARY
from .ir import Block, Function, Method, Operation, Value
from .normalise import always_raises, always_returns, assigned, assigned_by, leaves, without_break, without_continue
from .rules import find_rule
from .source import describe, syntax_tree
from .vocabulary import UNPACK, Defaults, Unstructured, leave_if, leave_unless, make_list, make_tuple

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


STATIC = (str, type(None))
"""Classes of arguments for whose very value a function is compiled: names of methods, and what is left out."""

FOLDED = {operator.is_, operator.is_not, operator.eq, operator.ne, operator.not_, operator.lt, operator.gt}
FOLDED |= {operator.le, operator.ge}
PLAIN = (*STATIC, bool, int, float)


def lower(function: FunctionType, static: dict[int, Any] | None = None) -> tuple[Function, list[tuple[Any, str, Any]]]:
    """The IR of ``function`` and its guards: the globals that were read, as (namespace, name, object).

    The free variables of a closure are parameters after the function's own.  ``static`` gives the values of parameters,
    by their position, that are known: branches that they decide are not read.
    """
    return _Lowering(function, static or {}).function()


class _Lowering:
    def __init__(self, function: FunctionType, static: dict[int, Any]) -> None:
        self.python, self.static = function, static
        self.guards: list[tuple[Any, str, Any]] = []
        self.block = Block()
        code = function.__code__
        self.local = {*code.co_varnames, *code.co_cellvars}
        self.line = code.co_firstlineno

    def fail(self, node: Any, what: str) -> Any:
        line = getattr(node, "lineno", self.line)
        raise Unstructured(f"{what} in {describe(self.python)}, line {line}, has no structured form")

    def function(self) -> tuple[Function, list[tuple[Any, str, Any]]]:
        code = self.python.__code__
        tree = syntax_tree(self.python)
        arguments = tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or code.co_flags & 0x2A0:
            self.fail(tree, "a starred or keyword-only parameter, a generator or a coroutine")
        if code.co_cellvars:
            self.fail(tree, "a variable shared with a nested function")
        names = [*code.co_varnames[: code.co_argcount], *code.co_freevars]
        parameters = [Value(name) for name in names]
        environment = dict(zip(names, parameters))
        environment |= {names[i]: Value(constant=value) for i, value in self.static.items()}
        body = [ast.Return(tree.body, lineno=tree.lineno)] if isinstance(tree, ast.Lambda) else tree.body
        result = self.statements(body, environment)
        self.block.results = [Value(constant=None) if result is None else result]
        name = code.co_name.strip("<>")
        return Function(name, parameters, self.block, code.co_filename), self.guards

    # Statements: each sequence gives the value that it returns, or None if it runs off its end.

    def statements(self, body: list[Any], env: Environment) -> Value | None:
        for i, statement in enumerate(body):
            self.line = getattr(statement, "lineno", self.line)
            rest = body[i + 1 :]
            if isinstance(statement, ast.Return):
                return Value(constant=None) if statement.value is None else self.expression(statement.value, env)
            if isinstance(statement, ast.If):
                condition = self.expression(statement.test, env)
                taken = self.decided(condition)
                if taken is not None:
                    return self.statements([*(statement.body if taken else statement.orelse), *rest], env)
                if always_raises(statement.body):
                    self.emit("call", leave_if, [condition], results=0)
                    return self.statements([*statement.orelse, *rest], env)
                if always_raises(statement.orelse):
                    self.emit("call", leave_unless, [condition], results=0)
                    return self.statements([*statement.body, *rest], env)
                if not leaves(statement, ast.Return):
                    self.branch(statement, condition, env)
                    continue
                if always_returns(statement.body):
                    statement = ast.If(statement.test, statement.body, [*statement.orelse, *rest], lineno=self.line)
                elif always_returns(statement.orelse):
                    statement = ast.If(statement.test, [*statement.body, *rest], statement.orelse, lineno=self.line)
                else:
                    self.fail(statement, "a return on one path of several")
                return self.returning_branch(statement, condition, env)
            getattr(self, f"do_{type(statement).__name__}", self.unknown)(statement, env)
        return None

    def unknown(self, statement: Any, env: Environment) -> None:
        self.fail(statement, f"the statement {type(statement).__name__}")

    def decided(self, condition: Value) -> bool | None:
        """Which way a condition goes that is known already."""
        return bool(condition.constant) if condition.is_constant and isinstance(condition.constant, PLAIN) else None

    def returning_branch(self, node: ast.If, condition: Value, env: Environment) -> Value:
        def branch(body: list[Any]) -> Block:
            with_block = self.nested(lambda inner: [self.statements(body, inner) or Value(constant=None)], env)
            return with_block

        return self.emit("if", None, [condition], blocks=[branch(node.body), branch(node.orelse)])

    def do_Pass(self, node: ast.Pass, env: Environment) -> None: ...

    def do_Expr(self, node: ast.Expr, env: Environment) -> None:
        if not isinstance(node.value, ast.Constant):
            self.expression(node.value, env)

    def do_Assign(self, node: ast.Assign, env: Environment) -> None:
        value = self.expression(node.value, env)
        for target in node.targets:
            self.assign(target, value, env)

    def do_AnnAssign(self, node: ast.AnnAssign, env: Environment) -> None:
        if node.value is not None:
            self.assign(node.target, self.expression(node.value, env), env)

    def do_AugAssign(self, node: ast.AugAssign, env: Environment) -> None:
        function = getattr(operator, "i" + BINARY[type(node.op)].rstrip("_"))
        if isinstance(node.target, ast.Name):
            old = self.expression(ast.Name(node.target.id, ast.Load(), lineno=node.lineno), env)
            self.assign(node.target, self.call(function, old, self.expression(node.value, env)), env)
        elif isinstance(node.target, ast.Subscript):
            container = self.expression(node.target.value, env)
            index = self.index(node.target.slice, env)
            old = self.call(operator.getitem, container, index)
            new = self.call(function, old, self.expression(node.value, env))
            self.emit("call", operator.setitem, [container, index, new], results=0)
        else:
            self.fail(node, "an update of an attribute")

    def assign(self, target: Any, value: Value, env: Environment) -> None:
        if isinstance(target, ast.Name):
            if not value.is_constant and not value.name:
                value.name = target.id
            env[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)) and not any(isinstance(e, ast.Starred) for e in target.elts):
            made = self.display(value)
            if made is not None and len(made) == len(target.elts):
                for element, part in zip(target.elts, made):
                    self.assign(element, part, env)
                return
            parts = self.emit("call", UNPACK, [value], results=len(target.elts), several=True)
            for element, part in zip(target.elts, parts):
                self.assign(element, part, env)
        elif isinstance(target, ast.Subscript):
            container = self.expression(target.value, env)
            self.emit("call", operator.setitem, [container, self.index(target.slice, env), value], results=0)
        elif isinstance(target, ast.Attribute):
            container = self.expression(target.value, env)
            self.emit("call", setattr, [container, Value(constant=target.attr), value], results=0)
        else:
            self.fail(target, "this target of an assignment")

    def display(self, value: Value) -> list[Value] | None:
        """The elements of a tuple or list that was just written down, so that unpacking it costs nothing."""
        for op in self.block.operations:
            if value in op.results and op.kind == "call" and op.callee in (make_tuple, make_list):
                return op.operands
        return None

    def do_Assert(self, node: ast.Assert, env: Environment) -> None:
        self.emit("call", leave_unless, [self.expression(node.test, env)], results=0)

    def branch(self, node: ast.If, condition: Value, env: Environment) -> None:
        names = sorted(assigned(node.body) | assigned(node.orelse))
        ends: list[Environment] = []

        def branch(body: list[Any]) -> Block:
            def run(inner: Environment) -> list[Value]:
                self.statements(body, inner)
                ends.append(inner)
                return []

            return self.nested(run, env)

        blocks = [branch(node.body), branch(node.orelse)]
        names = [n for n in names if any(e.get(n, UNDEFINED) is not env.get(n, UNDEFINED) for e in ends)]
        kept = [n for n in names if all(e.get(n, UNDEFINED) is not UNDEFINED for e in ends)]
        for block, end in zip(blocks, ends):
            block.results = [end[n] for n in kept]
        results = self.emit("if", None, [condition], blocks=blocks, results=len(kept), several=True)
        for name, value in zip(kept, results):
            value.name = name
            env[name] = value
        for name in names:
            if name not in kept:
                env[name] = UNDEFINED

    def do_While(self, node: ast.While, env: Environment) -> None:
        if node.orelse or leaves(node, ast.Return):
            self.fail(node, "a loop with an else or a return")
        names, body, test = self.carried(node, env)
        initial = [env[n] for n in names]
        condition = self.part(lambda inner: self.expression(test, inner), env, names)
        block = self.nested(lambda inner: self.loop_body(body, inner, names), env, names)
        results = self.emit("while", None, initial, blocks=[condition, block], results=len(names), several=True)
        self.after_loop(names, results, node, env)

    def do_For(self, node: ast.For, env: Environment) -> None:
        if node.orelse or leaves(node, ast.Return) or leaves(node, ast.Break):
            self.fail(node, "a for loop with an else, a break or a return")
        iterable = self.expression(node.iter, env)
        if iterable.is_constant:
            self.fail(node, "a loop over a constant")
        names, body, _ = self.carried(node, env)
        item = Value(node.target.id if isinstance(node.target, ast.Name) else "item")

        def run(inner: Environment) -> list[Value]:
            self.assign(node.target, item, inner)
            return self.loop_body(body, inner, names)

        block = self.nested(run, env, names)
        block.parameters.insert(0, item)
        initial = [env[n] for n in names]
        results = self.emit("for", None, [iterable, *initial], blocks=[block], results=len(names), several=True)
        self.after_loop(names, results, node, env)

    def carried(self, node: Any, env: Environment) -> tuple[list[str], list[Any], Any]:
        """The names that a loop carries, its body and its test, with ``break`` made into a condition."""
        body, test = list(node.body), getattr(node, "test", None)
        if leaves(node, ast.Break):
            flag = f"_break{node.lineno}"
            env[flag] = Value(constant=False)
            body = without_break(body, flag)
            test = ast.BoolOp(ast.And(), [ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load())), test], lineno=node.lineno)
            self.local.add(flag)
            ast.fix_missing_locations(test)
        body = without_continue(body)
        names = [n for n in sorted(assigned(body)) if env.get(n, UNDEFINED) is not UNDEFINED]
        return names, body, test

    def loop_body(self, body: list[Any], env: Environment, names: list[str]) -> list[Value]:
        self.statements(body, env)
        if any(env[n] is UNDEFINED for n in names):
            self.fail(body[0], "a variable that only some iterations assign")
        return [env[n] for n in names]

    def after_loop(self, names: list[str], results: list[Value], node: Any, env: Environment) -> None:
        for name in assigned(node.body) | assigned_by(getattr(node, "target", None)):
            env[name] = UNDEFINED
        for name, value in zip(names, results):
            value.name = name
            env[name] = value

    def nested(self, run: Any, env: Environment, names: list[str] | None = None) -> Block:
        """A nested block: ``run`` lowers into it, from an environment of its own, and gives its results."""
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
        """A nested block that gives one value; a name assigned in it would not be known outside."""

        def value(inner: Environment) -> list[Value]:
            before = dict(inner)
            found = run(inner)
            if inner != before:
                self.fail(None, "an assignment inside a condition")
            return [found]

        return self.nested(value, env, names)

    # Expressions

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
        namespace: Any = self.python.__globals__
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
        """``x in (...)``, where both are known."""
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
        return Value(constant=(left.constant in among) is isinstance(op, ast.In))

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
        if type(callee) is FunctionType:
            operands, names = self.bound(callee, operands, names)
        return self.emit("call", callee, operands, keywords=tuple(names))

    def bound(self, callee: FunctionType, operands: list[Value], names: list[str]) -> tuple[list[Value], list[str]]:
        """The arguments of a call in the order of the parameters, defaults filled in, if these are all positional."""
        from .call import HANDLERS

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
        self.block.operations.append(Operation(kind, callee, operands, keywords, blocks or [], values, line=self.line))
        return values if several or not results else values[0]
