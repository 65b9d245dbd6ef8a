"""Lowers the syntax tree of a Python function to IR.

Names become SSA values: an ``if`` returns the names that its branches assign, a loop carries those that its body
assigns.  Early returns and ``continue`` are normalised by moving the rest into the other branch.  Other constructs
(exceptions, generators, nested functions, ``with``) raises ``Unstructured``, and the recorded tier takes the function.
"""

from __future__ import annotations

import ast
import operator
from types import FunctionType
from typing import Any

from ..ir.dynamic import Block, Function, Value
from ..ir.vocabulary import UNPACK, leave_if, leave_unless
from .definitions import syntax_tree
from .expressions import STATIC as STATIC, UNDEFINED, Environment, Expressions
from .jumps import always_raises, always_returns, assigned, assigned_by, jumps_out, without_break, without_continue
from .operator_names import BINARY
from .trees import fill_locations

NEVER = Value("never")  # the result of statements that end in an exception


def lower(function: FunctionType, static: dict[int, Any] | None = None) -> tuple[Function, list[tuple[Any, str, Any]]]:
    """Return the IR of ``function`` and its guards: the globals that it reads, as (namespace, name, object).

    Free variables of a closure become parameters after the function's own.  ``static`` maps positions of parameters to
    compile-time constants; branches that these exclude are not lowered.
    """
    return _Lowering(function, static or {}).function()


class _Lowering(Expressions):
    def __init__(self, function: FunctionType, static: dict[int, Any]) -> None:
        self.python, self.static = function, static
        self.guards: list[tuple[Any, str, Any]] = []
        self.block = Block()
        code = function.__code__
        self.local = {*code.co_varnames, *code.co_cellvars}
        self.line = code.co_firstlineno

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
        if result is NEVER:
            self.fail(tree, "a function that always raises")
        self.block.results = [Value(constant=None) if result is None else result]
        name = code.co_name.strip("<>")
        return Function(name, parameters, self.block, code.co_filename), self.guards

    # Statements: lowering a sequence returns its return value, or None if control reaches its end.

    def statements(self, body: list[Any], env: Environment) -> Value | None:
        for i, statement in enumerate(body):
            self.line = getattr(statement, "lineno", self.line)
            rest = body[i + 1 :]
            if isinstance(statement, ast.Raise):
                return NEVER
            if isinstance(statement, ast.Try) and not statement.finalbody:
                # If it raises, the call is recorded instead, where Python handles the exception.
                return self.statements([*statement.body, *statement.orelse, *rest], env)
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
                if not jumps_out(statement, ast.Return):
                    if self.branch(statement, condition, env):
                        return NEVER
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

    def returning_branch(self, node: ast.If, condition: Value, env: Environment) -> Value:
        def branch(body: list[Any]) -> Block:
            with_block = self.nested(lambda inner: [self.statements(body, inner) or Value(constant=None)], env)
            return with_block

        blocks = [branch(node.body), branch(node.orelse)]
        ends = [block.results[0] for block in blocks]
        if NEVER in ends:
            return self.surviving(condition, blocks, ends)
        return self.emit("if", None, [condition], blocks=blocks)

    def surviving(self, condition: Value, blocks: list[Block], ends: list[Value]) -> Value:
        """Lower an ``if`` with a branch that always raises: check the condition and continue with the other branch."""
        first = ends[0] is NEVER
        if ends[first] is NEVER:
            return NEVER
        self.emit("call", leave_if if first else leave_unless, [condition], results=0)
        self.block.operations += blocks[first].operations
        return ends[first]

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

    def do_Assert(self, node: ast.Assert, env: Environment) -> None:
        self.emit("call", leave_unless, [self.expression(node.test, env)], results=0)

    def branch(self, node: ast.If, condition: Value, env: Environment) -> bool:
        """Lower an ``if`` without a return; True if both branches always raise."""
        names = sorted(assigned(node.body) | assigned(node.orelse))
        ends: list[Environment] = []

        def branch(body: list[Any]) -> Block:
            def run(inner: Environment) -> list[Value]:
                raising.append(self.statements(body, inner) or UNDEFINED)
                ends.append(inner)
                return []

            return self.nested(run, env)

        raising: list[Value] = []
        blocks = [branch(node.body), branch(node.orelse)]
        if NEVER in raising:
            if self.surviving(condition, blocks, raising) is NEVER:
                return True
            env |= ends[raising[0] is NEVER]
            return False
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
        return False

    def do_While(self, node: ast.While, env: Environment) -> None:
        if node.orelse or jumps_out(node, ast.Return):
            self.fail(node, "a loop with an else or a return")
        names, body, test = self.carried(node, env)
        initial = [env[n] for n in names]
        condition = self.part(lambda inner: self.expression(test, inner), env, names)
        block = self.nested(lambda inner: self.loop_body(body, inner, names), env, names)
        results = self.emit("while", None, initial, blocks=[condition, block], results=len(names), several=True)
        self.after_loop(names, results, node, env)

    def do_For(self, node: ast.For, env: Environment) -> None:
        if node.orelse or jumps_out(node, ast.Return) or jumps_out(node, ast.Break):
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
        """Return a loop's carried names, body and test, with ``break`` turned into a condition."""
        body, test = list(node.body), getattr(node, "test", None)
        if jumps_out(node, ast.Break):
            flag = f"_break{node.lineno}"
            env[flag] = Value(constant=False)
            body = without_break(body, flag)
            test = ast.BoolOp(ast.And(), [ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load())), test], lineno=node.lineno)
            self.local.add(flag)
            fill_locations(test)
        body = without_continue(body)
        names = [n for n in sorted(assigned(body)) if env.get(n, UNDEFINED) is not UNDEFINED]
        return names, body, test

    def loop_body(self, body: list[Any], env: Environment, names: list[str]) -> list[Value]:
        if self.statements(body, env) is NEVER:
            self.fail(body[0], "a loop that always raises")
        if any(env[n] is UNDEFINED for n in names):
            self.fail(body[0], "a variable that only some iterations assign")
        return [env[n] for n in names]

    def after_loop(self, names: list[str], results: list[Value], node: Any, env: Environment) -> None:
        for name in assigned(node.body) | assigned_by(getattr(node, "target", None)):
            env[name] = UNDEFINED
        for name, value in zip(names, results):
            value.name = name
            env[name] = value
